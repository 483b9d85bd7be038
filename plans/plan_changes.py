"""Changes to a template plan: steps added, removed or modified, each with what it serves.

The rules are hard: every step cites a requirement that was asked for, steps that cite none are removed, tools are those
that were offered, and parameters those that the tool has. What breaks them is told in lines that a model can act on.

Reached from Python only, through `gpa.judges.adaptation`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Literal, get_args

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gpa.errors import FormatError
from gpa.plans.capabilities import Registry
from gpa.plans.located import found, meant
from gpa.plans.plan import Plan, PlanStep

Op = Literal["add", "remove", "modify"]
OPS: tuple[Op, ...] = get_args(Op)


class PlanChange(Struct, frozen=True, forbid_unknown_fields=True):
    """One change. Empty fields of a modification leave the step as it is."""

    op: Op
    step: str
    """The step that is changed or removed, or the id of the new one."""
    tool: str = ""
    params: dict[str, Any] = {}
    satisfies: tuple[str, ...] = ()
    rationale: str = ""
    after: str = ""
    """The step that a new one follows; empty: at the end."""


class ChangeError(FormatError):
    """Changes that cannot be made; `lines` says why, each by itself."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = tuple(lines)
        super().__init__("; ".join(lines))


def read_changes(value: Any) -> tuple[PlanChange, ...]:
    """The changes in a decoded value: a list of them, or an object with `changes`. Raises `ChangeError`."""
    listed = value.get("changes") if isinstance(value, dict) else value
    if isinstance(listed, list):
        listed = [_decoded(one) for one in listed]
    try:
        return msgspec.convert(listed, tuple[PlanChange, ...])
    except msgspec.ValidationError as error:
        raise ChangeError([f"changes: {error}"]) from error


def _decoded(change: Any) -> Any:
    """The change with its parameters as an object where they are JSON in a text."""
    if not isinstance(change, dict) or not isinstance(change.get("params"), str):
        return change
    try:
        params = msgspec.json.decode(change["params"] or "{}")
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ChangeError([f"changes: params: expected an object as JSON, found {found(change['params'])}"]) from error
    return {**change, "params": params}


def changed(
    template: Plan,
    changes: Sequence[PlanChange],
    *,
    tools: Collection[str],
    registry: Registry,
    requirements: Collection[str],
) -> Plan:
    """The template with the changes made, without the steps that then cite no requirement.

    Args:
        template: The plan to start from; what its steps cite is kept until they are modified.
        changes: In the order they are made.
        tools: The tools that were offered.
        registry: What parameters they have.
        requirements: The ids that steps may cite.

    Raises:
        ChangeError: everything that is wrong with the changes.
    """
    steps = list(template.steps)
    wrong: list[str] = []
    for change in changes:
        at = next((n for n, step in enumerate(steps) if step.id == change.step), None)
        wrong += _faults(change, at, tools, registry, requirements)
        if change.op == "remove" and at is not None:
            del steps[at]
        elif change.op == "modify" and at is not None:
            steps[at] = _modified(steps[at], change)
        elif change.op == "add" and at is None:
            place = next((n + 1 for n, step in enumerate(steps) if step.id == change.after), len(steps))
            steps.insert(place, _modified(PlanStep(change.step), change))
    if wrong:
        raise ChangeError(wrong)
    kept = [step for step in steps if any(claim in requirements for claim in step.satisfies)]
    left = {step.id for step in kept}
    return Plan(
        tuple(replace(step, dependencies=tuple(d for d in step.dependencies if d.step in left)) for step in kept)
    )


def _modified(step: PlanStep, change: PlanChange) -> PlanStep:
    return replace(
        step,
        tool=change.tool or step.tool,
        arguments={**step.arguments, **change.params},
        satisfies=change.satisfies or step.satisfies,
        rationale=change.rationale or step.rationale,
    )


def _faults(
    change: PlanChange, at: int | None, tools: Collection[str], registry: Registry, requirements: Collection[str]
) -> Iterator[str]:
    place = f"{change.op} {change.step}"
    if change.op == "add" and at is not None:
        yield f"{place}: expected a new step id, found one that is taken"
    if change.op != "add" and at is None:
        yield f"{place}: expected a step of the plan, found {found(change.step)}"
    if change.op == "remove":
        return
    if change.op == "add" and not change.tool:
        yield f"{place}: expected a tool"
    if change.op == "add" and not change.satisfies:
        yield f"{place}: expected at least one requirement in satisfies"
    if change.tool and change.tool not in tools:
        yield f"{place}: unknown tool {found(change.tool)}{meant(change.tool, sorted(tools))}"
    tool = registry.get(change.tool)
    if tool is not None:
        known = (*tool.inputs, *tool.params)
        yield from (
            f"{place}: unknown parameter {found(name)} of {tool.name}{meant(name, known)}"
            for name in change.params
            if name not in known
        )
    for claim in change.satisfies:
        if claim not in requirements:
            yield f"{place}: {found(claim)} was not asked for{meant(claim, sorted(requirements))}"
