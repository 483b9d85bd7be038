"""The plans that each agent of a run states, one after the other, as lineages: what replanning changed.

Plans in JSON or as calls are read as such, plans in words as lists. They are scored by the same rules as any other; a
plan in words is not held to a form it does not use.
"""

from __future__ import annotations

from msgspec import Struct

from gpa.ingest.transcript import Transcript
from gpa.plans.lineage import Lineage, Revision, plan_diff, plan_key
from gpa.plans.metrics import Metric, PlanScore
from gpa.plans.palette import Palette
from gpa.plans.plan import Plan, PlanStep
from gpa.plans.plan_text import call_of, step_text
from gpa.plans.prose import read_prose
from gpa.plans.scoring import score_plan
from gpa.plans.validation import validate

_BY_RESULTS: tuple[Metric, ...] = ("format", "dependencies", "redundancy")
_BY_TOOLS: tuple[Metric, ...] = ("tool_prompt_alignment", "step_executability")


class Unread(Struct, frozen=True):
    """A stated plan that is no part of the lineage, and why."""

    label: str
    why: str


class Version(Struct, frozen=True):
    """One plan of an agent."""

    label: str
    """The step of the trace that states it."""
    plan: Plan
    in_words: bool
    score: PlanScore
    """By the rules."""


class Replans(Struct, frozen=True):
    """What one agent planned in the course of a run."""

    trace_id: str
    agent: str
    versions: tuple[Version, ...]
    """Each differs from the one before it."""
    lineage: Lineage
    restated: int = 0
    """How often the plan was stated again as it was."""
    unread: tuple[Unread, ...] = ()


def replans(transcript: Transcript, palette: Palette) -> tuple[Replans, ...]:
    """The lineage of each agent that states a plan, in the order in which they first do."""
    by_agent: dict[str, list[tuple[str, str]]] = {}
    for stated in transcript.plans:
        by_agent.setdefault(stated.agent, []).append((stated.label, stated.text))
    return tuple(_of_agent(transcript.trace_id, agent, stated, palette) for agent, stated in by_agent.items())


def _of_agent(trace_id: str, agent: str, stated: list[tuple[str, str]], palette: Palette) -> Replans:
    versions: list[Version] = []
    revisions: list[Revision] = []
    unread: list[Unread] = []
    restated = 0
    for label, text in stated:
        plan, in_words, why = _read(text, palette)
        if plan is None:
            unread.append(Unread(label, why))
        elif versions and plan_key(plan) == plan_key(versions[-1].plan):
            restated += 1
        else:
            if versions:
                before = versions[-1]
                line = _in_words if in_words and before.in_words else step_text
                diff = plan_diff(before.plan, plan, (before.label, label), line)
                revisions.append(Revision(diff, step=label))
            versions.append(Version(label, plan, in_words, _score(plan, palette, in_words=in_words)))
    plans = tuple(version.plan for version in versions)
    lineage = Lineage(plans, tuple(revisions), "replanned")
    return Replans(trace_id, agent, tuple(versions), lineage, restated, tuple(unread))


def _read(text: str, palette: Palette) -> tuple[Plan | None, bool, str]:
    """The plan, whether it is in words, and why there is none."""
    found = validate(text)
    names_tools = found.plan is not None and any(step.tool for step in found.plan)
    if names_tools and found.usable is not None:
        return found.usable, False, ""
    plan = read_prose(text, [tool.name for tool in palette.tools])
    if plan is not None:
        return plan, True, ""
    return None, True, "; ".join(map(str, found.rejected)) if names_tools else "it is neither steps nor a list"


def _in_words(step: PlanStep) -> str:
    return call_of(step) if step.text else step.instruction


def _score(plan: Plan, palette: Palette, *, in_words: bool) -> PlanScore:
    failed: dict[Metric, str] = {}
    if in_words:
        failed = dict.fromkeys(_BY_RESULTS, "the plan is stated in words: it names no results")
    if not any(step.tool for step in plan):
        failed |= dict.fromkeys(_BY_TOOLS, "no step names a tool of the palette")
    return score_plan(plan, palette, failed=failed)
