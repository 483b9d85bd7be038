"""How far ahead an agent plans: one call at a time, a whole plan, or something in between (arXiv 2605.08477).

Everything is measured on a transcript: which model call proposed which tool calls, whether calls of one proposal depend
on each other, what made the agent decide again. No model is asked, and each label comes with what it rests on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import Literal, get_args

from msgspec import Struct

from gpa.ingest.tool_calls import ToolCall
from gpa.ingest.transcript import Transcript
from gpa.plans.code_acts import acts
from gpa.plans.executed import executed_plan
from gpa.plans.plan import KNOWN, Plan
from gpa.plans.policy import Decision, decisions, failed
from gpa.plans.tokens_spent import TokenSplit, token_split

Label = Literal[
    "trivial",
    "single-step",
    "single-step concurrent",
    "full-horizon static",
    "full-horizon lazy",
    "hybrid",
]
LABELS: tuple[Label, ...] = get_args(Label)
Trigger = Literal["failure", "eager"]

BUDGET = 30
"""Tool calls an episode may take in the paper."""
PLANNED_SHARE = 0.5
"""Share of all calls that a first plan must hold to be a whole plan though no dependency in it is seen."""


class Replan(Struct, frozen=True):
    """A model call that changed what was left of a plan."""

    label: str
    trigger: Trigger
    """`failure`: the call before it failed or gave nothing. `eager`: it did not."""


class Batch(Struct, frozen=True):
    """What one model call proposed, and what became of it."""

    label: str
    """The step of the model call."""
    planned: int
    """Tool calls it proposed."""
    executed: int
    """Tool calls that ran because of it (H of the paper)."""
    unchanged: int
    """Planned calls that ran as planned and did not fail."""
    internal: int
    """Dependencies between its own calls, as far as they are known."""
    trigger: Trigger | Literal["start"]
    """What it followed: the beginning, a failed call, or one that did not fail."""


class Horizon(Struct, frozen=True):
    """The planning horizon of one trace. Shares are 0-1; None where there is nothing to divide by."""

    trace_id: str
    label: Label
    evidence: str
    """What the label rests on, in a sentence."""
    calls: int
    batches: tuple[Batch, ...]
    mean_horizon: float | None
    """Tool calls per decision that led to any."""
    monitoring_rate: float | None
    """Decisions that led to calls, per call: 1 when every call is decided on after the last result."""
    replans: tuple[Replan, ...]
    plan_survival: float | None
    """Share of the first plan's calls that ran unchanged and did not fail; None without a plan of two calls."""
    depth: int
    """Nodes on the longest chain of known dependencies between calls."""
    breadth: float
    planned_depth: int | None
    """The same of the first plan."""
    planned_breadth: float | None
    unknown_dependencies: int
    """Calls after a first result of which only the order is known."""
    distinct: int
    """Different calls: tool and arguments."""
    redundant: int
    """Calls beyond the distinct ones."""
    failures: int
    """Calls that failed or gave nothing."""
    identical_retries: int
    """Failed calls whose agent made the very same call next: a local trap."""
    beyond_budget: int
    """Calls beyond the 30th."""
    tokens: TokenSplit
    calls_ns: int
    """Time of all tool calls added up."""
    critical_ns: int
    """The longest chain of dependent calls, which is how fast it could have been."""

    @property
    def repeats(self) -> bool:
        """Whether any call was made twice."""
        return self.redundant > 0

    @property
    def redundancy(self) -> float | None:
        """Share of calls that repeat another."""
        return self.redundant / self.calls if self.calls else None

    @property
    def failure_rate(self) -> float | None:
        """Share of calls that failed or gave nothing."""
        return self.failures / self.calls if self.calls else None


def measure_horizon(transcript: Transcript, *, budget: int = BUDGET) -> Horizon:
    """The planning horizon of a transcript; never raises over what a trace may hold."""
    calls = acts(transcript)
    made = decisions(transcript, calls)
    plan = executed_plan(calls, _known(transcript))
    batches = tuple(_batches(made, calls, plan))
    acting = [batch for batch in batches if batch.executed]
    label, evidence = classify(batches, len(calls))
    first = next((one for one in made if len(one.planned.steps) > 1), None)
    shape = plan.topology(KNOWN)
    planned = first.planned.topology(KNOWN) if first else None
    counts = Counter((call.tool, call.key) for call in calls)
    durations = [transcript.step(call.ran).duration_ns if call.ran else 0 for call in calls]
    return Horizon(
        trace_id=transcript.trace_id,
        label=label,
        evidence=evidence,
        calls=len(calls),
        batches=batches,
        mean_horizon=fmean(batch.executed for batch in acting) if acting else None,
        monitoring_rate=len(acting) / len(calls) if calls else None,
        replans=tuple(_replans(made, batches)),
        plan_survival=_survival(made, batches),
        depth=shape.depth,
        breadth=shape.breadth,
        planned_depth=planned.depth if planned else None,
        planned_breadth=planned.breadth if planned else None,
        unknown_dependencies=sum(any(one.basis == "order" for one in step.dependencies) for step in plan),
        distinct=len(counts),
        redundant=len(calls) - len(counts),
        failures=sum(map(failed, calls)),
        identical_retries=_identical_retries(calls),
        beyond_budget=max(0, len(calls) - budget),
        tokens=token_split(transcript, [one.label for one in made], calls),
        calls_ns=sum(durations),
        critical_ns=_critical(plan, durations),
    )


def classify(batches: Sequence[Batch], calls: int) -> tuple[Label, str]:
    """The label, and what it rests on."""
    acting = [batch for batch in batches if batch.executed]
    if calls <= 1:
        return "trivial", f"{calls or 'no'} tool call{'' if calls == 1 else 's'}"
    if not acting:
        return "trivial", f"{calls} tool calls, none of which a recorded model call led to"
    widest = max(batch.executed for batch in acting)
    if widest == 1:
        return "single-step", f"{calls} calls, each decided on by a model call of its own"
    wide = [batch for batch in acting if batch.executed > 1]
    if not any(batch.internal for batch in wide):
        evidence = f"up to {widest} calls decided on at once, none of which needs another one of them"
        return "single-step concurrent", evidence
    first = acting[0]
    later = batches[batches.index(first) + 1 :]
    if first.internal or first.planned >= PLANNED_SHARE * calls:
        eager = [batch for batch in later if batch.trigger == "eager"]
        whole = (
            f"[{first.label}] planned {first.planned} calls"
            f" with {first.internal} dependenc{'y' if first.internal == 1 else 'ies'} between them"
        )
        if not later:
            return "full-horizon static", f"{whole}; nothing was decided afterwards"
        if not eager:
            return (
                "full-horizon lazy",
                f"{whole}; {len(later)} later decision{'s' * (len(later) > 1)}, each after a failure",
            )
        return "hybrid", f"{whole}; [{eager[0].label}] decided again though nothing had failed"
    deep = next(batch for batch in wide if batch.internal)
    return "hybrid", f"[{first.label}] planned {first.planned} of {calls} calls; [{deep.label}] several dependent ones"


def _batches(made: Sequence[Decision], calls: Sequence[ToolCall], plan: Plan) -> list[Batch]:
    known = plan.dependencies(KNOWN)
    found = []
    for one in made:
        numbers = {str(number) for number in one.executed}
        seen = sum(needed in numbers for number in numbers for needed in known[number])
        declared = sum(map(len, one.planned.dependencies(KNOWN).values()))
        found.append(
            Batch(
                label=one.label,
                planned=max(len(one.planned.steps), len(one.executed)),
                executed=len(one.executed),
                unchanged=len([step for step, number in one.done.items() if not failed(calls[number])]),
                internal=max(seen, declared),
                trigger=one.trigger,
            )
        )
    return found


def _replans(made: Sequence[Decision], batches: Sequence[Batch]) -> list[Replan]:
    """Decisions after the first executed call of a plan of several calls that change what was left of it.

    After a failure a plan is always changed, unless the very same calls go on; without one only where calls were left.
    """
    found = []
    current: Decision | None = None
    for one, batch in zip(made, batches, strict=True):
        if current is not None and current.executed:
            left = current.left
            goes_on = one.continues(left)
            if (batch.trigger == "failure" or left) and not goes_on:
                found.append(Replan(one.label, "failure" if batch.trigger == "failure" else "eager"))
        if len(one.planned.steps) > 1 or (current is not None and not one.planned.steps):
            current = one if one.planned.steps else current
        elif one.planned.steps:
            current = None
    return found


def _survival(made: Sequence[Decision], batches: Sequence[Batch]) -> float | None:
    for one, batch in zip(made, batches, strict=True):
        if len(one.planned.steps) > 1:
            return batch.unchanged / len(one.planned.steps)
    return None


def _identical_retries(calls: Sequence[ToolCall]) -> int:
    latest: dict[str, ToolCall] = {}
    found = 0
    for call in calls:
        last = latest.get(call.agent)
        found += last is not None and failed(last) and (last.tool, last.key) == (call.tool, call.key)
        latest[call.agent] = call
    return found


def _critical(plan: Plan, durations: Sequence[int]) -> int:
    ends: dict[str, int] = {}
    for step, duration in zip(plan.steps, durations, strict=True):
        ends[step.id] = duration + max((ends[needed] for needed in step.needs if needed in ends), default=0)
    return max(ends.values(), default=0)


def _known(transcript: Transcript) -> str:
    """What the agents were told before they did anything."""
    told = [message.text for agent in transcript.agents for message in agent.system]
    for step in transcript.steps:
        if step.kind == "llm":
            told += [message.text for message in step.messages if message.role in {"user", "system"}]
            break
    return "\n".join((transcript.goal, *told))
