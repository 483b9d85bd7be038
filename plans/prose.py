"""A plan stated in words -> `Plan`: a numbered or bulleted list, an item a step, in the order given.

That is how most agents state plans (docs/conventions.md; every plan in TRAIL's recordings). Such a plan says nothing of
results and little of tools: a step has a tool where it names exactly one that there is, and what it depends on is known
by the order alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from gpa.plans.plan import Dependency, Plan, PlanStep

_ITEM = re.compile(
    r"[ \t]{0,3}(?:\*\*)?(?:(?:step[ \t]+)?(\d{1,3})[.):](?!\d)|[-*\u2022](?=[ \t]))(?:\*\*)?[ \t]*(\S.*)",
    re.IGNORECASE,
)
_STATE = re.compile(r"[ \t]*\[[a-z][a-z_ -]{1,20}\]$", re.IGNORECASE)
"""How far an item of a to-do list is (`[in_progress]`): no part of the plan."""
_BREAK = re.compile(r"[ \t]*(?:\#|</?\w+>|```|$)")
"""A line that ends an item: a heading, a tag, a fence, an empty one."""


class _Item(Struct):
    number: int | None
    lines: list[str]


def read_prose(text: str, tools: Iterable[str] = ()) -> Plan | None:
    """The longest list in a text as a plan; None when there is none.

    Args:
        text: As stated.
        tools: Names to look for in the items.
    """
    found = max(_lists(text), key=len, default=[])
    named = {name: re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])", re.IGNORECASE) for name in tools}
    steps = []
    for number, item in enumerate(found, 1):
        words = _STATE.sub("", " ".join(" ".join(item.lines).split()))
        mentioned = [name for name, pattern in named.items() if pattern.search(words)]
        needs = (Dependency(str(number - 1), "order"),) if number > 1 else ()
        tool = mentioned[0] if len(mentioned) == 1 else ""
        steps.append(PlanStep(str(number), tool, words, dependencies=needs, place=f"item {number}"))
    return (
        Plan(tuple(steps), notes=("stated in words: one step an item, each after the one before",)) if steps else None
    )


def _lists(text: str) -> Iterator[list[_Item]]:
    """Runs of items: numbered ones that count up, or bulleted ones. Bullets below a number belong to its item."""
    current: list[_Item] = []
    is_open = False
    for line in text.splitlines():
        match = _ITEM.match(line)
        number = int(match[1]) if match and match[1] else None
        if match and number is None and current and current[-1].number is not None:
            match = None  # a bullet below a number
            is_open = True
        if match is None:
            is_open = is_open and _BREAK.match(line) is None
            if is_open and current:
                current[-1].lines.append(line.strip())
            elif line.lstrip().startswith("#") and current:
                yield current
                current = []
            continue
        if current and number is not None and number <= (current[-1].number or 0):
            yield current
            current = []
        current.append(_Item(number, [match[2]]))
        is_open = True
    if current:
        yield current
