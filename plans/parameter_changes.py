"""What changed between a planned call and the one that was made: safe repairs, and changes of what was meant.

Filling in the data itself or a default, and the case of a column's name, are safe: they are applied and recorded.
Everything that could change the answer (a grouping, a metric, the grain of a time axis, any other value) is semantic:
it is refused, and the plan has to be made anew.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from gpa.ingest.history import canonical
from gpa.plans.assignment import maximum_assignment
from gpa.plans.capabilities import RegisteredTool, Registry
from gpa.plans.placeholders import placeholders
from gpa.plans.plan import Plan, PlanStep

Kind = Literal["safe", "semantic"]

MANY = 40
"""Calls of one tool beyond which planned and made ones are paired in order: weighing all against all takes too long."""


class ParameterChange(Struct, frozen=True):
    """One parameter that is not what was planned. `before` and `after` are None where it was absent."""

    step: str
    field: str
    before: Any
    after: Any
    kind: Kind
    reason: str

    @property
    def accepted(self) -> bool:
        """Safe changes are applied, semantic ones are not."""
        return self.kind == "safe"


_NO_TOOL = RegisteredTool("")


def parameter_changes(
    planned: PlanStep, done: Mapping[str, Any], tool: RegisteredTool | None = None, *, columns: Collection[str] = ()
) -> tuple[ParameterChange, ...]:
    """How the arguments of the call that was made differ from the planned ones, safe or not.

    A planned placeholder stands for whatever the step before gave: what replaced it is no change.
    """
    return tuple(_changes(planned, done, tool or _NO_TOOL, columns))


def _changes(
    planned: PlanStep, done: Mapping[str, Any], tool: RegisteredTool, columns: Collection[str]
) -> Iterator[ParameterChange]:
    said, made = tool.named(planned.arguments), tool.named(dict(done))
    for name in dict.fromkeys((*said, *made)):
        before, after = said.get(name), made.get(name)
        if canonical(before) == canonical(after) or placeholders(before):
            continue
        kind, reason = _judged(name, before, after, tool, columns)
        yield ParameterChange(planned.id, name, before, after, kind, reason)


def _judged(name: str, before: Any, after: Any, tool: RegisteredTool, columns: Collection[str]) -> tuple[Kind, str]:
    if name in tool.inputs:
        return "safe", f"{name} is the data the tool works on"
    if before is None or after is None:
        if name in tool.defaults and canonical(tool.defaults[name]) == canonical(after if before is None else before):
            return "safe", f"{name} has its default"
        return "semantic", f"{name} was {'added' if before is None else 'left out'}"
    if canonical(_folded(before, columns)) == canonical(_folded(after, columns)):
        return "safe", f"{name} is spelled as the data has it"
    return "semantic", f"{name} is another value"


def _folded(value: Any, columns: Collection[str]) -> Any:
    """The value with the names of columns in lower case; without known columns, every text."""
    if isinstance(value, str):
        folded = value.strip().casefold()
        return folded if not columns or folded in {column.casefold() for column in columns} else value
    if isinstance(value, list | tuple):
        return [_folded(one, columns) for one in value]
    return value


def mended(
    step: PlanStep, tool: RegisteredTool, *, columns: Collection[str] = (), data: Mapping[str, Any] | None = None
) -> tuple[PlanStep, tuple[ParameterChange, ...]]:
    """The step with everything repaired that is safe to repair before it is run, and what that was.

    For agents that run plans; no command does.
    """
    spelled = {column.casefold(): column for column in columns}
    arguments = {
        name: _spelled(value, spelled) if name not in tool.inputs else value for name, value in step.arguments.items()
    }
    for name in tool.inputs:
        if name not in arguments and data and name in data:
            arguments[name] = data[name]
    for name, value in tool.defaults.items():
        arguments.setdefault(name, value)
    return replace(step, arguments=arguments), parameter_changes(step, arguments, tool, columns=columns)


def _spelled(value: Any, columns: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return columns.get(value.strip().casefold(), value)
    if isinstance(value, list | tuple):
        return [_spelled(one, columns) for one in value]
    return value


def paired(
    planned: Plan,
    done: Plan,
    *,
    registry: Registry | None = None,
    columns: Collection[str] = (),
    failed: Collection[str] = (),
) -> tuple[tuple[PlanStep, PlanStep], ...]:
    """Each planned step with the call that was made for it, in the order of the plan.

    Of several calls of its tool the one that changes least of what was meant, then one that did not fail, then the one
    at the same place. A call is made for one planned step.
    """
    asked: dict[str, list[PlanStep]] = defaultdict(list)
    made: dict[str, list[PlanStep]] = defaultdict(list)
    for step in planned:
        if step.tool:
            asked[step.tool].append(step)
    for step in done:
        made[step.tool].append(step)
    found: dict[str, PlanStep] = {}
    for name, steps in asked.items():
        calls, tool = made.get(name, []), registry.get(name) if registry else None
        if min(len(steps), len(calls)) > MANY:
            pairs = [(at, at) for at in range(min(len(steps), len(calls)))]
        else:
            pairs = maximum_assignment(
                {
                    (row, column): _likeness(step, call, tool, columns, failed) - abs(row - column) / 1e3
                    for row, step in enumerate(steps)
                    for column, call in enumerate(calls)
                }
            )
        found.update((steps[row].id, calls[column]) for row, column in pairs)
    return tuple((step, found[step.id]) for step in planned if step.id in found)


def _likeness(
    planned: PlanStep,
    call: PlanStep,
    tool: RegisteredTool | None,
    columns: Collection[str],
    failed: Collection[str],
) -> float:
    """How well a call does what was planned; always positive, for any call of the tool is better than none."""
    changes = changes_of(planned, call, tool, columns=columns)
    semantic = sum(not change.accepted for change in changes)
    return 1e6 / (1 + semantic + 0.3 * (call.id in failed) + 0.01 * (len(changes) - semantic))


def changes_of(
    planned: PlanStep, call: PlanStep, tool: RegisteredTool | None = None, *, columns: Collection[str] = ()
) -> Sequence[ParameterChange]:
    """`parameter_changes` between two steps; none where the plan names the tool and leaves its arguments open."""
    return parameter_changes(planned, call.arguments, tool, columns=columns) if planned.arguments else ()
