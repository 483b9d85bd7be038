"""Where a trajectory leaves the gold one: each difference tagged, at the call that holds it.

The tags are those of the annotators' guide of the Traxgen paper: missing_tool, extra_tool, wrong_order, bad_param,
wrong_condition, agent_violation.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import Literal, get_args

from msgspec import Struct

from gpa.plans.assignment import maximum_assignment
from gpa.plans.calls import ToolCall, Trajectory
from gpa.plans.located import shown
from gpa.plans.trajectory import Values, value_key

Tag = Literal["missing_tool", "extra_tool", "wrong_order", "bad_param", "wrong_condition", "agent_violation"]
TAGS: tuple[Tag, ...] = get_args(Tag)


class Difference(Struct, frozen=True):
    """One way in which a trajectory is not the gold one."""

    tag: Tag
    tool: str
    gold: int | None
    """Index of the gold call it is about; None for a call that gold does not have."""
    predicted: int | None
    """Index of the call that holds it; for a missing one, of the call made in its stead; None: after the last call."""
    message: str


def differences(
    gold: Trajectory, predicted: Trajectory, *, conditional: Collection[str] = (), values: Values = "typed"
) -> tuple[Difference, ...]:
    """Every difference, in the order of the calls.

    Args:
        gold: The gold trajectory that is nearest.
        predicted: What was done.
        conditional: Tools the workflow has, though not under this user's conditions: calling one of them is
            `wrong_condition` rather than `extra_tool`.
        values: How parameters are compared.
    """
    matched = aligned(gold, predicted, values)
    found = [
        *_missing(gold, matched, predicted),
        *_extra(predicted, matched, set(conditional) - {call.tool for call in gold}),
        *_misplaced(gold, matched),
        *_parameters(gold, predicted, matched, values),
        *_agents(gold, predicted, matched),
    ]
    end = len(predicted)
    return tuple(sorted(found, key=lambda one: end if one.predicted is None else one.predicted))


def aligned(gold: Trajectory, predicted: Trajectory, values: Values = "typed") -> dict[int, int]:
    """Index of each gold call -> index of the call of the same tool that answers it best: by parameters, then order."""
    places: defaultdict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for at, call in enumerate(gold):
        places[call.tool][0].append(at)
    for at, call in enumerate(predicted):
        places[call.tool][1].append(at)
    found: dict[int, int] = {}
    for wanted, given in places.values():
        if len(wanted) == 1 == len(given):
            found[wanted[0]] = given[0]
        elif wanted and given:
            weights = {
                (row, column): 1.0 + _alike(gold[row], predicted[column], values) - 1e-3 * _apart(a, b, wanted, given)
                for a, row in enumerate(wanted)
                for b, column in enumerate(given)
            }
            found.update(maximum_assignment(weights))
    return found


def _apart(row: int, column: int, wanted: Sequence[int], given: Sequence[int]) -> float:
    """How far apart two calls of a tool stand among the calls of that tool, 0-1."""
    return abs(row - column) / max(len(wanted), len(given))


def _alike(gold: ToolCall, predicted: ToolCall, values: Values) -> float:
    if values == "none":
        return 1.0
    wanted, given = (
        {(name, value_key(value, values)) for name, value in call.arguments.items()} for call in (gold, predicted)
    )
    return 2 * len(wanted & given) / (len(wanted) + len(given)) if wanted or given else 1.0


def _missing(gold: Trajectory, matched: dict[int, int], predicted: Trajectory) -> Iterator[Difference]:
    for at, call in enumerate(gold):
        if at not in matched:
            before = max((matched[other] for other in range(at) if other in matched), default=-1)
            instead = before + 1 if before + 1 < len(predicted) else None
            yield Difference("missing_tool", call.tool, at, instead, f"{call.tool} should have been called")


def _extra(predicted: Trajectory, matched: dict[int, int], conditional: Collection[str]) -> Iterator[Difference]:
    used = set(matched.values())
    right = {predicted[at].tool for at in used}
    for at, call in enumerate(predicted):
        if at in used:
            continue
        if call.tool in conditional:
            message = f"{call.tool} was called although the workflow's conditions rule it out here"
            yield Difference("wrong_condition", call.tool, None, at, message)
        else:
            message = "was called once more than it should" if call.tool in right else "should not have been called"
            yield Difference("extra_tool", call.tool, None, at, f"{call.tool} {message}")


def _misplaced(gold: Trajectory, matched: dict[int, int]) -> Iterator[Difference]:
    """Calls outside the longest run that stands in the gold order: the fewest that have to move."""
    order = sorted(matched.items(), key=lambda edge: edge[1])
    kept = _longest_increasing([row for row, _ in order])
    for row, column in order:
        if row not in kept:
            before = next((gold[other].tool for other in range(row - 1, -1, -1) if other in kept), "")
            place = f"after {before}" if before else "first of all"
            yield Difference("wrong_order", gold[row].tool, row, column, f"{gold[row].tool} belongs {place}")


def _longest_increasing(numbers: Sequence[int]) -> set[int]:
    """The members of a longest increasing subsequence of different numbers (patience sorting)."""
    tops: list[int] = []
    under: dict[int, int | None] = {}
    for number in numbers:
        at = bisect_left(tops, number)
        under[number] = tops[at - 1] if at else None
        tops[at : at + 1] = [number]
    found: set[int] = set()
    top = tops[-1] if tops else None
    while top is not None:
        found.add(top)
        top = under[top]
    return found


def _parameters(
    gold: Trajectory, predicted: Trajectory, matched: dict[int, int], values: Values
) -> Iterator[Difference]:
    if values == "none":
        return
    for row, column in matched.items():
        wanted, given = gold[row].arguments, predicted[column].arguments
        wrong = [
            f"{name}: expected {shown(wanted[name])}, found {shown(given[name])}"
            for name in wanted
            if name in given and value_key(wanted[name], values) != value_key(given[name], values)
        ]
        wrong += [f"{name}: expected {shown(wanted[name])}, found nothing" for name in wanted if name not in given]
        wrong += [
            f"{name}: expected no such parameter, found {shown(given[name])}" for name in given if name not in wanted
        ]
        if wrong:
            yield Difference("bad_param", gold[row].tool, row, column, f"{gold[row].tool}: {'; '.join(wrong)}")


def _agents(gold: Trajectory, predicted: Trajectory, matched: dict[int, int]) -> Iterator[Difference]:
    """Calls by another agent than the workflow's; not where the trace calls none of its agents by the same name."""
    known = {call.agent for call in gold if call.agent}
    if not known & {call.agent for call in predicted}:
        return
    for row, column in matched.items():
        wanted, given = gold[row].agent, predicted[column].agent
        if wanted and given and wanted != given:
            message = f"{gold[row].tool} is {wanted}'s to call, found {given} calling it"
            yield Difference("agent_violation", gold[row].tool, row, column, message)
