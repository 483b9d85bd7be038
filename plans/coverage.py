"""Does a plan serve every requirement, and does every step serve one? A deterministic gate.

A step serves a requirement when its tool has a capability that the mapping names for it *and* its arguments meet what
the requirement says: a grouping must hold all the columns, a time axis needs a step that knows time and, where the
column is not of a temporal type yet, one that parses it. What a step claims to serve is checked, never trusted.
Infrastructure (loading, filtering) serves nothing by itself and counts where a step that serves something needs it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from gpa.plans.capabilities import CapabilityMapping, Need, Registry
from gpa.plans.plan import KNOWN, Plan, PlanStep
from gpa.plans.requirements import Requirements

Types = Mapping[str, str]
"""Column -> `temporal`, `numeric` or `categorical`."""


class Unfounded(Struct, frozen=True):
    """A step says it serves a requirement that it does not."""

    step: str
    requirement: str


class OutOfOrder(Struct, frozen=True):
    """A drawing step stands before the step that groups what it should draw."""

    step: str
    before: str


class Coverage(Struct, frozen=True):
    """What of the requirements a plan covers."""

    covered: dict[str, tuple[str, ...]]
    """Requirement -> ids of the steps that serve it."""
    missing: tuple[str, ...]
    unjustified: tuple[str, ...]
    """Ids of steps that serve no requirement."""
    unknown: tuple[str, ...]
    """Ids of steps that serve none as far as can be told: they name no tool, or one that is not in the registry."""
    unfounded: tuple[Unfounded, ...]
    out_of_order: tuple[OutOfOrder, ...]
    payload: tuple[str, ...]
    """What to tell a model that is to mend the plan, a line each; empty when there is nothing to mend."""
    steps: int

    @property
    def ok(self) -> bool:
        """Whether there is nothing to mend: all is covered, in order, by known tools, and nothing is superfluous."""
        return not self.payload

    @property
    def rate(self) -> float:
        """Covered requirements of all, 1.0 when there are none."""
        total = len(self.covered) + len(self.missing)
        return len(self.covered) / total if total else 1.0

    @property
    def unjustified_rate(self) -> float:
        """Unjustified steps of all, 0.0 when there are none."""
        return len(self.unjustified) / self.steps if self.steps else 0.0


def coverage(
    plan: Plan,
    requirements: Requirements,
    registry: Registry,
    mapping: CapabilityMapping,
    *,
    types: Types | None = None,
    cover_metrics: bool = False,
    failed: Collection[str] = (),
) -> Coverage:
    """How the plan serves the requirements.

    Args:
        plan: What was planned, or what was done (`gpa.plans.executed`).
        requirements: What was asked for.
        registry: The tools and their capabilities; a tool that is not in it can do what its name says, if anything.
        mapping: Which capabilities serve what.
        types: The columns of the data by type: a temporal one need not be parsed.
        cover_metrics: Whether each metric has to be served by itself.
        failed: Ids of steps that were done in vain: they serve nothing, but were no superfluous thing to try.
    """
    plan = replace(plan, steps=tuple(_with_names(step, registry) for step in plan))
    can = {step.id: mapping.capabilities(step.tool, registry) for step in plan}
    asked = _Asked(requirements, mapping, types or {}, frozenset(failed))
    serving = {
        requirement: _serving(requirement, plan.steps, can, asked)
        for requirement in requirements.ids(cover_metrics=cover_metrics)
    }
    covered = {requirement: steps for requirement, (steps, complete) in serving.items() if complete}
    missing = tuple(requirement for requirement in serving if requirement not in covered)
    # A step that does its part of a requirement is justified even where another part is missing.
    useful = {step for steps, _ in serving.values() for step in steps}
    useful |= _preparing(plan, useful, can, mapping)
    idle = [step for step in plan if step.id not in useful]
    unknown = tuple(step.id for step in idle if registry.get(step.tool) is None and can[step.id] <= {step.tool})
    unjustified = tuple(step.id for step in idle if step.id not in unknown)
    out_of_order = tuple(_out_of_order(plan.steps, can, requirements, mapping))
    unfounded = tuple(
        Unfounded(step.id, claim)
        for step in plan
        for claim in step.satisfies
        if step.id not in serving.get(claim, ((), False))[0]
    )
    return Coverage(
        covered=covered,
        missing=missing,
        unjustified=unjustified,
        unknown=unknown,
        unfounded=unfounded,
        out_of_order=out_of_order,
        payload=tuple(_payload(plan, requirements, missing, _Idle(unjustified, unknown), out_of_order)),
        steps=len(plan),
    )


class _Asked(NamedTuple):
    """What decides whether a step serves a requirement."""

    requirements: Requirements
    mapping: CapabilityMapping
    types: Types
    failed: frozenset[str]


class _Idle(NamedTuple):
    """Steps that serve nothing."""

    unjustified: Sequence[str]
    unknown: Sequence[str]


def _with_names(step: PlanStep, registry: Registry) -> PlanStep:
    tool = registry.get(step.tool)
    arguments = step.arguments if tool is None else tool.named(step.arguments)
    return step if arguments is step.arguments else replace(step, arguments=arguments)


def _preparing(
    plan: Plan, useful: Collection[str], can: Mapping[str, frozenset[str]], mapping: CapabilityMapping
) -> set[str]:
    """The infrastructure that a useful step needs; any earlier one where the plan does not say what flows where."""
    needs = plan.dependencies(KNOWN)
    told = any(needs.values())
    found: set[str] = set()
    waited_for: set[str] = set()
    for step in reversed(plan.steps):
        prepares = not can[step.id].isdisjoint(mapping.infrastructure)
        if prepares and step.id not in useful and (step.id in waited_for if told else waited_for):
            found.add(step.id)
        if step.id in useful or step.id in found:
            waited_for |= {*needs[step.id], step.id}
    return found


def _serving(
    requirement: str, steps: Sequence[PlanStep], can: Mapping[str, frozenset[str]], asked: _Asked
) -> tuple[tuple[str, ...], bool]:
    """The steps that do a part of a requirement, and whether together they serve it."""
    requirements, mapping, types, failed = asked
    kind, _, label = requirement.partition(".")
    if kind == "group_by":
        columns = _plain(requirements.group_by)
        found = [s.id for s in _able(steps, can, mapping.group_by) if columns <= _named(s, mapping.group_by.parameters)]
        return tuple(found), not failed.issuperset(found)
    if kind == "time":
        aware = [step.id for step in _able(steps, can, mapping.time)]
        prepared = [step.id for step in steps if not can[step.id].isdisjoint(mapping.time.prepare)]
        needless = not mapping.time.prepare or types.get(requirements.time.column) == "temporal"
        order = {step.id: place for place, step in enumerate(steps)}
        return tuple(sorted({*prepared, *aware}, key=order.__getitem__)), not failed.issuperset(aware) and (
            needless or not failed.issuperset(prepared)
        )
    if kind == "metrics":
        column = _plain((label,))
        found = [s.id for s in _able(steps, can, mapping.metrics) if column <= _named(s, mapping.metrics.parameters)]
        return tuple(found), not failed.issuperset(found)
    alternatives = (mapping.analysis if kind == "analysis" else mapping.outputs).get(label, ())
    found = [step.id for step in steps if not can[step.id].isdisjoint(alternatives)]
    return tuple(found), not failed.issuperset(found)


def _able(steps: Iterable[PlanStep], can: Mapping[str, frozenset[str]], need: Need) -> list[PlanStep]:
    return [step for step in steps if not can[step.id].isdisjoint(need.capabilities)]


def _named(step: PlanStep, parameters: Iterable[str]) -> set[str]:
    """The columns that these parameters of a step name."""
    found: set[str] = set()
    for name in parameters:
        found |= _plain(_texts(step.arguments.get(name)))
    return found


def _texts(value: Any) -> list[str]:
    waiting, found = [value], []
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            found += one.split(",")
        elif isinstance(one, dict | list | tuple):  # `{"revenue": "sum"}` names columns by its keys
            waiting.extend(one)
    return found


def _plain(columns: Iterable[str]) -> set[str]:
    """Column names as they are compared: case and the blanks around them say nothing."""
    return {column.strip().casefold() for column in columns if column.strip()}


def _out_of_order(
    steps: Sequence[PlanStep],
    can: Mapping[str, frozenset[str]],
    requirements: Requirements,
    mapping: CapabilityMapping,
) -> Iterable[OutOfOrder]:
    """Drawing steps before the first one that groups, where the question asks for groups or a time axis."""
    if not (requirements.group_by or requirements.time.column):
        return
    grouping = next((n for n, s in enumerate(steps) if not can[s.id].isdisjoint(mapping.group_by.capabilities)), None)
    if grouping is None:
        return  # that is missing, not out of order
    for step in steps[:grouping]:
        if not can[step.id].isdisjoint(mapping.plots):
            yield OutOfOrder(step.id, steps[grouping].id)


def _payload(
    plan: Plan,
    requirements: Requirements,
    missing: Sequence[str],
    idle: _Idle,
    out_of_order: Sequence[OutOfOrder],
) -> Iterator[str]:
    names = _names(plan)
    if missing:
        yield "Missing coverage: " + ", ".join(_said(one, requirements) for one in missing)
    if idle.unjustified:
        yield "Remove unjustified steps: " + ", ".join(names[step] for step in idle.unjustified)
    tools = tuple(dict.fromkeys(tool for step in idle.unknown if (tool := plan.step(step).tool)))
    if tools:
        yield "Unknown tools: " + ", ".join(tools)
    yield from (f"Move {names[one.step]} after {names[one.before]}" for one in out_of_order)


def _said(requirement: str, requirements: Requirements) -> str:
    if requirement == "group_by":
        return f"group_by=[{', '.join(requirements.group_by)}]"
    return f"time={requirements.time.column}" if requirement == "time" else requirement


def _names(plan: Plan) -> dict[str, str]:
    """Step -> its tool, with the id where several steps use the same one."""
    counts = Counter(step.tool for step in plan)
    return {
        step.id: step.tool if step.tool and counts[step.tool] == 1 else f"{step.tool or 'step'} (step {step.id})"
        for step in plan
    }
