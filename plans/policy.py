"""Which model calls decided on tool calls, what each proposed, and what came of it.

A decision is a model call whose output holds tool calls, a plan that names tools (`[{"tool": ..., "args": ...}]`,
`$0 = search(...)`), or code that calls some. A tool call belongs to the model call that asked for it; one that nobody
asked for to the latest plan that has it, by name and arguments, then by name; else to the model call before it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Literal

from msgspec import Struct

from gpa.ingest.history import canonical
from gpa.ingest.tool_calls import ToolCall
from gpa.ingest.transcript import Step, Transcript
from gpa.plans.executed import named_arguments
from gpa.plans.placeholders import filled_in
from gpa.plans.plan import Plan, PlanStep
from gpa.plans.plan_reading import try_plan
from gpa.plans.trajectory import value_key

_EMPTY = frozenset({"", "[]", "{}", "()", "null", "none", '""', "''", "[[]]", "nan", "undefined"})
"""Results that say nothing: the paper counts them as failures."""
_NOTHING = re.compile(
    r"\W*(?:no (?:valid )?(?:results?|matches|data|records?)(?: (?:were )?found)?|nothing found)\W*", re.IGNORECASE
)
_CODE = re.compile(r"```\s*(?:py|python|js|javascript)|<code>", re.IGNORECASE)
_MAX_PLAN = 200_000
"""Characters of an output that are searched for a plan."""


class Decision(Struct, frozen=True):
    """A model call that led to tool calls, or planned some."""

    label: str
    planned: Plan
    executed: tuple[int, ...]
    """Numbers of the tool calls that ran because of it."""
    done: dict[str, int]
    """Planned step -> number of the call that ran it unchanged, here or after a later decision."""
    left: tuple[PlanStep, ...]
    """Planned steps that did not run because of it."""
    trigger: Literal["start", "failure", "eager"]

    def continues(self, steps: Sequence[PlanStep]) -> bool:
        """Whether it planned exactly these steps."""
        return [_form(step) for step in self.planned] == [_form(step) for step in steps]


def decisions(transcript: Transcript, calls: Sequence[ToolCall]) -> tuple[Decision, ...]:
    """Every decision, in the order of the trace."""
    place = {step.label: at for at, step in enumerate(transcript.steps)}
    when = [_when(call, place) for call in calls]
    stated = stated_plans(transcript, calls)
    owner = _attributed(calls, stated, place)
    by_owner: dict[str, list[int]] = {}
    for number, label in enumerate(owner):
        if label:
            by_owner.setdefault(label, []).append(number)
    labels = sorted({*stated, *by_owner}, key=place.__getitem__)
    order = sorted(range(len(calls)), key=when.__getitem__)
    times = [when[number] for number in order]
    found = []
    begun = -1
    for label in labels:
        at = place[label]
        own = by_owner.get(label, [])
        before = order[: bisect_left(times, at)]
        since = [number for number in before if when[number] > begun] or before[-1:]
        planned = stated.get(label) or _asked(calls, own)
        found.append(
            Decision(
                label=label,
                planned=planned,
                executed=tuple(own),
                done=_done(planned, calls, [number for number in range(len(calls)) if when[number] >= at]),
                left=_left(planned, calls, own),
                trigger="start" if not before else "failure" if any(failed(calls[n]) for n in since) else "eager",
            )
        )
        begun = at
    return tuple(found)


def stated_plans(transcript: Transcript, calls: Sequence[ToolCall]) -> dict[str, Plan]:
    """Label of a model call -> the plan in its output, of those that name the tools there are and ask for none."""
    place = {step.label: at for at, step in enumerate(transcript.steps)}
    tools = {tool.name for agent in transcript.agents for tool in agent.tools} | {call.tool for call in calls}
    times = sorted(_when(call, place) for call in calls)
    return dict(_stated(transcript, tools, {call.asked for call in calls}, times))


def failed(call: ToolCall) -> bool:
    """Whether a call ended in an error or gave no valid result."""
    if call.error:
        return True
    if not call.answered or call.arguments == "":  # what the producer did not export is not empty
        return False
    text = call.result.strip()
    return text.lower() in _EMPTY or (len(text) < 60 and _NOTHING.fullmatch(text) is not None)


def runs(step: PlanStep, call: ToolCall) -> bool:
    """Whether the call is the planned step, unchanged: its placeholders may have become anything."""
    if step.tool.lower() != call.tool.lower():
        return False
    if not step.arguments:
        return bool(step.instruction) or call.arguments in (None, "", {})
    given = named_arguments(call.arguments)
    positional = all(name.isdigit() for name in step.arguments)
    if len(given) != len(step.arguments) or not (positional or given.keys() == step.arguments.keys()):
        return False
    pairs = (
        zip(step.arguments.values(), given.values(), strict=True)
        if positional
        else ((value, given[name]) for name, value in step.arguments.items())
    )
    return all(_fits(planned, actual) for planned, actual in pairs)


def _fits(planned: Any, actual: Any) -> bool:
    if isinstance(planned, dict) and isinstance(actual, dict):
        return planned.keys() == actual.keys() and all(_fits(planned[key], actual[key]) for key in planned)
    if isinstance(planned, list) and isinstance(actual, list):
        return len(planned) == len(actual) and all(map(_fits, planned, actual))
    form = filled_in(planned) if isinstance(planned, str) else None
    if form is not None:
        return (
            form.pattern == ".*" or form.fullmatch(actual if isinstance(actual, str) else canonical(actual)) is not None
        )
    return value_key(planned, "text") == value_key(actual, "text")


def _stated(
    transcript: Transcript, tools: Collection[str], asking: Collection[str], times: Sequence[int]
) -> Iterator[tuple[str, Plan]]:
    """The plans in the outputs of model calls that ask for no tool: steps that name tools there are."""
    lowered = {tool.lower() for tool in tools}
    for at, step in enumerate(transcript.steps):
        if step.kind != "llm" or step.label in asking:
            continue
        plan = _plan_of(step, lowered, executed=bisect_left(times, at))
        if plan is not None:
            yield step.label, plan


def _plan_of(step: Step, tools: Collection[str], executed: int) -> Plan | None:
    for message in step.output:
        text = message.text
        if message.role != "assistant" or message.tool_name or len(text) > _MAX_PLAN or _CODE.search(text):
            continue
        if not any(tool in text.lower() for tool in tools):
            continue
        plan, problems = try_plan(text)
        if problems and executed:  # a continuation, whose steps are numbered on from those executed before it
            continued, fewer = try_plan(text, start_index=executed)
            plan = continued if len(fewer) < len(problems) else plan
        known = [one for one in plan or () if one.tool.lower() in tools]
        if plan is not None and known and 2 * len(known) >= len(plan):
            return Plan(tuple(one for one in plan if one.tool), plan.repairs, plan.notes)
    return None


def _attributed(calls: Sequence[ToolCall], stated: dict[str, Plan], place: dict[str, int]) -> list[str]:
    """For each call the label of the decision it ran because of, empty when there is none."""
    taken: set[tuple[str, str]] = set()
    owners = []
    for call in calls:
        if call.asked:
            owners.append(call.asked)
            continue
        at = _when(call, place)
        plans = [(label, plan) for label, plan in reversed(stated.items()) if place[label] < at]
        found = next(_candidates(call, plans, taken), None)
        # A model call after the plan, of the agent that ran the call, is nearer than a plan that only has its name.
        owners.append(found[0] if found else call.before)
        if found:
            taken.add(found)
    return owners


def _candidates(
    call: ToolCall, plans: Sequence[tuple[str, Plan]], taken: Collection[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    for exact in (True, False):
        for label, plan in plans:
            for step in plan:
                alike = runs(step, call) if exact else step.tool.lower() == call.tool.lower()
                if alike and (label, step.id) not in taken:
                    yield label, step.id


def _when(call: ToolCall, place: dict[str, int]) -> int:
    """Where in the trace a call ran; where it was asked for when that is all there is."""
    return place.get(call.ran, place.get(call.asked, place.get(call.before, -1)))


def _asked(calls: Sequence[ToolCall], numbers: Sequence[int]) -> Plan:
    """The calls of one model output, or of the code it wrote, as a plan."""
    steps = []
    for number in numbers:
        call = calls[number]
        steps.append(PlanStep(str(number), tool=call.tool, arguments=named_arguments(call.arguments)))
    return Plan(tuple(steps))


def _done(plan: Plan, calls: Sequence[ToolCall], numbers: Sequence[int]) -> dict[str, int]:
    found: dict[str, int] = {}
    free = list(numbers)
    for step in plan:
        # A step is not the planned one when what it was to work on never came.
        if any(needed not in found or failed(calls[found[needed]]) for needed in step.needs):
            continue
        number = next((number for number in free if runs(step, calls[number])), None)
        if number is not None:
            found[step.id] = number
            free.remove(number)
    return found


def _left(plan: Plan, calls: Sequence[ToolCall], own: Sequence[int]) -> tuple[PlanStep, ...]:
    """The planned steps that none of the decision's own calls ran, not even with other arguments."""
    free = list(own)
    left = []
    for step in plan:
        number = next((n for n in free if runs(step, calls[n])), None)
        if number is None:
            number = next((n for n in free if calls[n].tool.lower() == step.tool.lower()), None)
        if number is None:
            left.append(step)
        else:
            free.remove(number)
    return tuple(left)


def _form(step: PlanStep) -> tuple[str, str]:
    return step.tool.lower(), canonical(step.arguments)
