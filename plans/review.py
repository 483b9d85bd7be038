"""A trace beside what was asked for: its stated plans, what was done, and what changed between the two.

A plan is only what an agent stated (a plan is never made up from what was done), and only if it names a known tool:
prose covers nothing and misses nothing that could be told by rules. Of an agent that plans again, all plans count for
what is covered (a later one often holds only what is left), and the last one for what had to be done.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct
from msgspec.structs import replace

from gpa.ingest.transcript import Transcript
from gpa.plans.capabilities import CapabilityMapping, Registry
from gpa.plans.coverage import Coverage, coverage
from gpa.plans.executed import executed_plan
from gpa.plans.grain import Policy, auto_grain
from gpa.plans.observed import end_of, observed
from gpa.plans.parameter_changes import ParameterChange, changes_of, paired
from gpa.plans.plan import Plan
from gpa.plans.plan_reading import try_plan
from gpa.plans.requirement_files import Asked
from gpa.plans.requirements import Grain


class Rules(Struct, frozen=True):
    """What a trace is held against, besides what was asked for."""

    registry: Registry
    mapping: CapabilityMapping
    cover_metrics: bool = False
    grain_policy: Policy = "literal"
    ignore: frozenset[str] = frozenset()
    """Tools whose calls are passed over."""


class Stated(Struct, frozen=True):
    """A plan that an agent stated, and what it covers."""

    label: str
    """The step that states it."""
    agent: str
    plan: Plan
    coverage: Coverage


class Done(Struct, frozen=True):
    """The calls that were made, as a plan, and what they cover."""

    plan: Plan
    coverage: Coverage
    span_ids: dict[str, tuple[str, ...]]
    """Step of `plan` -> the spans that hold the call."""
    failed: tuple[str, ...]
    """Steps whose call failed."""


class Changed(Struct, frozen=True):
    """A parameter that was not called as planned."""

    tool: str
    change: ParameterChange
    span_ids: tuple[str, ...]


class NotDone(Struct, frozen=True):
    """A planned step that no call was made for."""

    step: str
    tool: str
    span_ids: tuple[str, ...]
    """Where the run ended without it."""


class Review(Struct, frozen=True):
    """A trace beside what was asked for."""

    trace_id: str
    asked: Asked
    plans: tuple[Stated, ...]
    """Different plans that name a known tool, in the order they were stated."""
    in_prose: int
    """Stated plans that name no known tool: nothing is said of them."""
    missing: tuple[str, ...]
    """Requirements that none of the plans covers; empty without a plan."""
    done: Done
    changes: tuple[Changed, ...]
    not_done: tuple[NotDone, ...]
    plan_spans: dict[str, str]
    """Label of a plan's step -> its span."""
    grain: Grain
    """How fine to look at the time axis: as asked, else by the rules where the data's span is known."""


def review(transcript: Transcript, asked: Asked, rules: Rules) -> Review:
    """What the transcript's plans and calls cover of what was asked for; never raises over what a trace may hold."""
    plans, in_prose = _stated(transcript, asked, rules)
    done = _done(transcript, asked, rules, {step.tool for one in plans for step in one.plan})
    covered = {requirement for one in plans for requirement in one.coverage.covered}
    wanted = asked.requirements.ids(cover_metrics=rules.cover_metrics)
    end = end_of(transcript)
    changes, not_done = _compared(plans, done, asked, rules, (end,) if end else ())
    return Review(
        trace_id=transcript.trace_id,
        asked=asked,
        plans=plans,
        in_prose=in_prose,
        missing=tuple(one for one in wanted if one not in covered) if plans else (),
        done=done,
        changes=changes,
        not_done=not_done,
        plan_spans={one.label: transcript.step(one.label).span_id for one in plans},
        grain=grain_of(asked, rules.grain_policy),
    )


def _known(tool: str, rules: Rules) -> bool:
    """Whether anything is known of a tool: the registry has it, or its name says what it can do."""
    return rules.registry.get(tool) is not None or not rules.mapping.needed.isdisjoint(
        rules.mapping.capabilities(tool, rules.registry)
    )


def without_tools(plan: Plan, tools: Collection[str]) -> Plan:
    """The plan without the steps that call these tools."""
    return replace(plan, steps=tuple(step for step in plan if step.tool not in tools))


def covered_by(plan: Plan, asked: Asked, rules: Rules, *, failed: Collection[str] = ()) -> Coverage:
    """What a plan covers of what was asked for."""
    return coverage(
        plan,
        asked.requirements,
        rules.registry,
        rules.mapping,
        types=asked.types,
        cover_metrics=rules.cover_metrics,
        failed=failed,
    )


def grain_of(asked: Asked, policy: Policy = "literal") -> Grain:
    """The grain the user asked for, else the one that fits the time column, else `unknown`."""
    time = asked.requirements.time
    if time.grain != "unknown":
        return time.grain
    axis = next((one for one in asked.columns if one.name.casefold() == time.column.casefold()), None)
    if axis is None or axis.span_days is None:
        return "unknown"
    return auto_grain(axis.span_days, axis.points or 0, policy=policy)


def _stated(transcript: Transcript, asked: Asked, rules: Rules) -> tuple[tuple[Stated, ...], int]:
    found: list[Stated] = []
    in_prose = 0
    for stated in transcript.plans:
        plan, _ = try_plan(stated.text, where=stated.label)
        if plan is None or not any(_known(step.tool, rules) for step in plan):
            in_prose += 1  # a word before a parenthesis makes no tool
            continue
        plan = without_tools(plan, rules.ignore)
        # To-do lists are stated again after every step: the same plan is told once.
        if not any(one.agent == stated.agent and one.plan.steps == plan.steps for one in found):
            found.append(Stated(stated.label, stated.agent, plan, covered_by(plan, asked, rules)))
    return tuple(found), in_prose


def _done(transcript: Transcript, asked: Asked, rules: Rules, planned: Collection[str]) -> Done:
    seen = observed(transcript, known={*rules.registry.names, *planned}, ignore=rules.ignore)
    plan = executed_plan(seen.calls, transcript.goal, start=1)
    failed = tuple(step.id for step, call in zip(plan, seen.calls, strict=True) if call.error)
    spans = {step.id: held for step, held in zip(plan, seen.span_ids, strict=True)}
    return Done(plan, covered_by(plan, asked, rules, failed=failed), spans, failed)


def _compared(
    plans: Sequence[Stated], done: Done, asked: Asked, rules: Rules, end: tuple[str, ...]
) -> tuple[tuple[Changed, ...], tuple[NotDone, ...]]:
    """What of each agent's last plan was done with other parameters, or not at all; calls are made for one plan."""
    columns = [column.name for column in asked.columns]
    changes: list[Changed] = []
    not_done: list[NotDone] = []
    left = done.plan
    for stated in {one.agent: one for one in plans}.values():
        pairs = paired(stated.plan, left, registry=rules.registry, columns=columns, failed=done.failed)
        taken = {call.id for _, call in pairs}
        made = {step.id for step, _ in pairs}
        left = replace(left, steps=tuple(step for step in left if step.id not in taken))
        for step, call in pairs:
            tool = rules.registry.get(step.tool)
            spans = done.span_ids[call.id]
            changes += (Changed(step.tool, one, spans) for one in changes_of(step, call, tool, columns=columns))
        not_done += (NotDone(step.id, step.tool, end) for step in stated.plan if step.tool and step.id not in made)
    return tuple(changes), tuple(not_done)
