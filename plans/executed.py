"""What was done, as a plan: the tool calls of a transcript with what flows between them.

A call depends on an earlier one when its arguments hold a placeholder for it, or a value that came from its result
(`gpa.plans.flows`). Where neither is seen, only the order is known: a call that its agent decided on after a result
may depend on it, and is linked to the calls before that decision with the basis `order`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from gpa.ingest.tool_calls import ToolCall
from gpa.plans.flows import sources
from gpa.plans.placeholders import placeholders
from gpa.plans.plan import Dependency, Plan, PlanStep


def executed_plan(calls: Sequence[ToolCall], known: str = "", *, start: int = 0) -> Plan:
    """The calls as a plan whose steps are numbered from `start`.

    Args:
        calls: What `gpa.ingest.tool_calls.tool_calls` gives.
        known: Text the agent had before its first call (the goal, its instructions): values in it flow from no call.
        start: Number of the first step.
    """
    arguments = [named_arguments(call.arguments) for call in calls]
    steps: list[PlanStep] = []
    every = zip(calls, arguments, sources(calls, arguments, known), _decided_before(calls), strict=True)
    for at, (call, named, gave, before) in enumerate(every):
        found = {number: Dependency(number, "reference") for number in _referred(call.arguments, at, start)}
        for number in (str(start + one) for one in gave):
            found.setdefault(number, Dependency(number, "value"))
        found = found or {str(start + one): Dependency(str(start + one), "order") for one in before}
        needs = tuple(found.values())
        steps.append(PlanStep(str(start + at), tool=call.tool, arguments=named, dependencies=needs, agent=call.agent))
    return Plan(tuple(steps))


def named_arguments(arguments: Any) -> dict[str, Any]:
    """The arguments of a call by name; what is no object stands under "0"."""
    if isinstance(arguments, dict):
        return {str(name): value for name, value in arguments.items()}
    return {"0": arguments} if arguments not in (None, "") else {}


def _referred(arguments: Any, at: int, start: int) -> Iterator[str]:
    for one in placeholders(arguments):
        if one.certain and one.number is not None and start <= one.number < start + at:
            yield str(one.number)


def _decided_before(calls: Sequence[ToolCall]) -> Iterator[tuple[int, ...]]:
    """For each call those of its agent's decision before the one that led to it; none of calls decided together."""
    decided: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    latest: dict[str, tuple[str, str | None]] = {}
    """Agent -> its latest decision, and the latest that is another."""
    for at, call in enumerate(calls):
        decision = call.asked or call.before
        last, other = latest.get(call.agent, (None, None))
        before = other if decision == last else last
        yield () if before is None else tuple(decided[call.agent, before])
        decided[call.agent, decision].append(at)
        latest[call.agent] = (decision, before)
