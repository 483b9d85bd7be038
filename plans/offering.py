"""Which tools to offer for a set of requirements, and what is done when something they need was not found.

First the search alone; then a wider one; then a question for each capability that is still missing, whose answer comes
before everything else that was found. What each round lacked is kept: it is how good the search is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Sized
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from gpa.errors import InputError
from gpa.plans.capabilities import CapabilityMapping, Registry
from gpa.plans.narrowing import CAPS, FOUND, Index, Narrowed, Scored, narrow, questions, retrieved
from gpa.plans.plan_reading import try_plan
from gpa.plans.requirements import Requirements

WIDER = 3
"""How many times as many tools the second search looks at."""

Needed = tuple[str, ...]
"""Capabilities of which one is enough."""


class Round(Struct, frozen=True):
    """One attempt: how far was searched, and what no tool of the offer could do."""

    limit: int
    missing: tuple[Needed, ...]


class Offer(Struct, frozen=True):
    """The tools to offer, and how they came to be."""

    narrowed: Narrowed
    needed: tuple[Needed, ...]
    missing: tuple[Needed, ...]
    """What no offered tool can do; where no tool of the registry can, no search helps."""
    rounds: tuple[Round, ...]
    added: tuple[str, ...]
    """Tools that only the questions for missing capabilities brought."""

    @property
    def miss_rate(self) -> float:
        """Of what is needed, the share that the first search did not bring: how good the search is."""
        return self._share(self.rounds[0].missing)

    @property
    def left_rate(self) -> float:
        """Of what is needed, the share that the offered tools cannot do."""
        return self._share(self.missing)

    def _share(self, missing: Sized) -> float:
        return len(missing) / len(self.needed) if self.needed else 0.0


def needed(requirements: Requirements, mapping: CapabilityMapping, types: Mapping[str, str]) -> tuple[Needed, ...]:
    """The capabilities that the requirements need, each set of alternatives once."""
    time = requirements.time.column
    found: list[Sequence[str]] = [
        *(mapping.analysis.get(label, ()) for label in requirements.analysis),
        *(mapping.outputs.get(label, ()) for label in requirements.outputs),
        *((mapping.group_by.capabilities,) if requirements.group_by else ()),
        *((mapping.time.capabilities,) if time else ()),
        *((mapping.time.prepare,) if time and types.get(time) != "temporal" else ()),
    ]
    return tuple(dict.fromkeys(tuple(one) for one in found if one))


def unmet(
    wanted: Sequence[Needed], tools: Collection[str], registry: Registry, mapping: CapabilityMapping
) -> tuple[Needed, ...]:
    """What none of the tools can do."""
    had = {one for tool in tools for one in mapping.capabilities(tool, registry)}
    return tuple(one for one in wanted if had.isdisjoint(one))


def offer(
    requirements: Requirements,
    registry: Registry,
    mapping: CapabilityMapping,
    index: Index,
    *,
    question: str = "",
    types: Mapping[str, str] | None = None,
    template: Sequence[str] = (),
    cap: int = CAPS.start,
    limit: int = FOUND,
) -> Offer:
    """The tools for these requirements, with as many further searches as it takes to find what they need.

    Args:
        requirements: What was asked for.
        registry: The tools there are.
        mapping: Which capabilities serve what.
        index: Over the registry.
        question: In the user's words; searched for as well.
        types: The columns of the data by type.
        template: Tools that are offered whatever is found.
        cap: How many tools, `CAPS`.
        limit: Tools that the first search looks at for each question.

    Raises:
        UsageError: `cap` is outside its bounds.
    """
    asked = (*questions(requirements), *((question,) if question.strip() else ()))
    wanted = needed(requirements, mapping, types or {})
    always = [tool for tool in mapping.safety if registry.get(tool) is not None]
    rounds: list[Round] = []
    added: list[str] = []
    narrowed = Narrowed((), (), (), (), ())
    for width in (limit, limit * WIDER, limit * WIDER):
        found = retrieved(asked, index, limit=width)
        if len(rounds) > 1:
            added = _for(rounds[-1].missing, index, registry, mapping)
            found = _first(added, found)
        narrowed = narrow(found, template=template, always=always, cap=cap)
        rounds.append(Round(width, unmet(wanted, narrowed.tools, registry, mapping)))
        if not rounds[-1].missing:
            break
    offered = tuple(tool for tool in added if tool in narrowed.tools)
    return Offer(narrowed, wanted, rounds[-1].missing, tuple(rounds), offered)


def _for(missing: Sequence[Needed], index: Index, registry: Registry, mapping: CapabilityMapping) -> list[str]:
    """For each missing capability the best tool that has it: what the search likes best, else the first by name."""
    found: dict[str, None] = {}
    for alternatives in missing:
        able = [one for one in registry.names if not mapping.capabilities(one, registry).isdisjoint(alternatives)]
        asked = " ".join(alternatives).replace("_", " ")
        ranked = [one.tool for one in index.search(asked, len(registry.tools)) if one.tool in able]
        if able and not found.keys() & set(able):
            found[ranked[0] if ranked else min(able)] = None
    return list(found)


def _first(tools: Sequence[str], found: Sequence[Scored]) -> tuple[Scored, ...]:
    """The found tools with these in front, at the score of the best: they give way last."""
    best = found[0].score if found else 0.0
    return (*(Scored(tool, best) for tool in tools), *(one for one in found if one.tool not in tools))


def load_template(path: str | Path) -> tuple[str, ...]:
    """The tools of a template: a JSON list of names, an object with `curated_tools`, or a plan. Raises `InputError`."""
    try:
        text = Path(path).expanduser().read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
    value: Any = None
    with suppress(msgspec.MsgspecError, RecursionError):
        value = msgspec.json.decode(text)
    curated = value.get("curated_tools", ()) if isinstance(value, dict) else value
    names = [one for one in curated if isinstance(one, str)] if isinstance(curated, list) else []
    plan, problems = (None, ()) if names and value is curated else try_plan(text if value is None else value)
    names += [step.tool for step in plan if step.tool] if plan else []
    if not names:
        why = f": {problems[0].message}" if problems else ""
        raise InputError(f"{path}: expected a template (a list of tools, or a plan), found none{why}")
    return tuple(dict.fromkeys(names))
