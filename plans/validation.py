"""The validator before scoring: what makes a plan no plan, each with its place.

Reading a plan (`gpa.plans.plan_reading`) is forgiving, for there is something to learn from a plan with a fault. What
may be scored is decided here: steps numbered in order, dependencies on earlier steps only, hence no cycle. Source:
tool-aware planning, section C1.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from gpa.plans.plan import Plan, Problem
from gpa.plans.plan_reading import try_plan
from gpa.plans.pseudo_json import parse

_STRUCTURE = ("depends_on", "id")
_SHOWN = 40


class Validated(NamedTuple):
    """A plan as far as it could be read, and why it may not be scored."""

    plan: Plan | None
    rejected: tuple[Problem, ...]
    """Empty for a plan that may be scored."""
    noted: tuple[Problem, ...]
    """What else is wrong with it: faults of form, which cost points."""

    @property
    def usable(self) -> Plan | None:
        """The plan, None when it is rejected."""
        return None if self.rejected else self.plan


def validate(source: Any, *, where: str = "") -> Validated:
    """The plan in a text or a decoded value, and what the validator says of it."""
    plan, problems = try_plan(source, where=where)
    if plan is None:
        return Validated(None, problems, ())
    rejected = [problem for problem in problems if _breaks(problem)]
    noted = [problem for problem in problems if not _breaks(problem)]
    rejected += [*_numbering(plan, where), *_fields(source, where)]
    return Validated(plan, tuple(rejected), tuple(noted))


def _breaks(problem: Problem) -> bool:
    """Whether it is about ids or dependencies; a wrong placeholder or tool is a fault of form, and costs points."""
    return not problem.step or problem.field.startswith(_STRUCTURE)


def _numbering(plan: Plan, where: str) -> Iterator[Problem]:
    """Steps that are numbered, but not one after the other; other names are the author's own."""
    ids = [step.id for step in plan]
    if not ids or not all(one.isdecimal() and len(one) < 10 for one in ids):
        return
    if int(ids[0]) not in {0, 1}:
        yield Problem(ids[0], "id", f"expected steps numbered from 1, found {ids[0]} first", where)
    for before, after in pairwise(ids):
        if int(after) != int(before) + 1 and after != before:  # an id that occurs twice is named already
            yield Problem(after, "id", f"expected step {int(before) + 1} after step {before}, found {after}", where)


def _fields(source: Any, where: str) -> Iterator[Problem]:
    """Steps in an object by number that lack their call or what they depend on."""
    parsed = parse(source) if isinstance(source, str) else None
    value = source if parsed is None else parsed.value
    while isinstance(value, dict) and len(value) == 1 and isinstance(inner := next(iter(value.values())), dict):
        if next(iter(value)) not in {"plan", "steps"}:
            break
        value = inner
    if not isinstance(value, dict) or not all(str(key).isdecimal() for key in value):
        return
    for key, step in value.items():
        if not isinstance(step, dict):
            yield Problem(str(key), "", f"expected an object with depends_on, found {str(step)[:_SHOWN]!r}", where)
        elif "depends_on" not in step:
            yield Problem(str(key), "depends_on", f"expected a list of steps, found only {', '.join(step)}", where)
