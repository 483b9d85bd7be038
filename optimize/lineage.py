"""A plan repaired step by step until a whole pass finds nothing to change: its lineage.

One step is looked at with the steps it depends on, and nothing else: what is wrong with it must show there. Then the
plan is repaired, first that step, then whatever the others need to stay coherent with it. The loop is Algorithm 1 of
tool-aware planning (section C5) with two stops of its own, without which it may go on for ever (section g, 10): edits
per pass are capped, and a plan that was there before can end it. Who evaluates and who repairs is given; a failure of
either is recorded, and the step left as it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from gpa.errors import UsageError
from gpa.plans.lineage import (
    Diagnosis,
    Lineage,
    Outcome,
    Revision,
    Stage,
    Status,
    StepFailure,
    Visit,
    plan_diff,
    plan_key,
)
from gpa.plans.plan import Plan, PlanStep

MAX_PASSES = 4
INVALID = "invalid_answer"
"""Error type of an answer that there is and that cannot be used, also when asked again."""


class Limits(NamedTuple):
    """When to stop although there is more to change."""

    max_passes: int = MAX_PASSES
    max_edits: int | None = None
    """Accepted per pass; None: three for each step the pass begins with, and ten more."""
    stop_on_repeat: bool = False
    """Stop before a plan comes back that was there before (A, B, A)."""


class Fault(NamedTuple):
    """No diagnosis or no proposal, and why."""

    error_type: str
    message: str
    stop: Status | None = None
    """What the lineage ends with when asking on is pointless; None: the next step may fare better."""


class Proposal(NamedTuple):
    """The plan as it should be."""

    plan: Plan
    change0: str
    """What was done to the step."""
    change1: str
    """What the others needed for it."""


class Progress(NamedTuple):
    """Where a loop is."""

    pass_number: int
    step: int
    """Counted from 1."""
    steps: int
    plans: int
    """In the lineage so far."""


Evaluate = Callable[[PlanStep, tuple[PlanStep, ...]], Awaitable[Diagnosis | Fault]]
"""What is wrong with a step, given the steps it depends on. It never sees the query."""
Repair = Callable[[Plan, PlanStep, Diagnosis], Awaitable[Proposal | Fault]]
"""The plan with that step repaired."""


async def refine(
    plan: Plan,
    evaluate: Evaluate,
    repair: Repair,
    limits: Limits | None = None,
    *,
    on_step: Callable[[Progress], None] | None = None,
) -> Lineage:
    """The lineage of a plan. Cancelled, it ends with what there is, as `interrupted`.

    Args:
        plan: The first one; at least one step.
        evaluate: Says what is wrong with a step.
        repair: Makes a new plan of that.
        limits: When to stop.
        on_step: Told before each step that is looked at.

    Raises:
        UsageError: limits that allow nothing.
    """
    loop = _Loop(plan, evaluate, repair, limits or Limits(), on_step)
    try:
        status, message = await loop.run()
    except asyncio.CancelledError:
        status, message = "interrupted", "stopped by hand"
    return loop.lineage(status, message)


class _Loop:
    def __init__(
        self,
        plan: Plan,
        evaluate: Evaluate,
        repair: Repair,
        limits: Limits,
        on_step: Callable[[Progress], None] | None,
    ) -> None:
        if limits.max_passes < 1 or (limits.max_edits is not None and limits.max_edits < 0):
            raise UsageError(f"expected at least one pass and no negative number of edits, found {limits}")
        self._evaluate, self._repair, self._limits, self._on_step = evaluate, repair, limits, on_step
        self._plans = [plan]
        self._seen = {plan_key(plan)}
        self._revisions: list[Revision] = []
        self._failures: list[StepFailure] = []
        self._visits: list[Visit] = []
        self._pass = 0

    async def run(self) -> tuple[Status, str]:
        """Why it ended, and what is to be said of that."""
        while self._pass < self._limits.max_passes:
            self._pass += 1
            before = len(self._plans), len(self._failures)
            stopped = await self._one_pass()
            if stopped is not None:
                return stopped
            if len(self._plans) == before[0]:
                failed = len(self._failures) - before[1]
                return ("incomplete", f"{failed} of its steps failed in the last pass") if failed else ("clean", "")
        return "max_passes", f"pass {self._pass} still changed it"

    def lineage(self, status: Status, message: str) -> Lineage:
        """What there is so far."""
        return Lineage(
            tuple(self._plans),
            tuple(self._revisions),
            status,
            self._pass,
            tuple(self._failures),
            tuple(self._visits),
            message,
        )

    @property
    def _plan(self) -> Plan:
        return self._plans[-1]

    async def _one_pass(self) -> tuple[Status, str] | None:
        """Look at every step; why everything ends here, or None at the end of the plan."""
        cap = 3 * len(self._plan) + 10 if self._limits.max_edits is None else self._limits.max_edits
        edits = at = 0
        while at < len(self._plan):
            step, length = self._plan.steps[at], len(self._plan)
            if self._on_step is not None:
                self._on_step(Progress(self._pass, at + 1, length, len(self._plans)))
            needed = set(step.needs)
            diagnosis = await self._evaluate(step, tuple(one for one in self._plan if one.id in needed))
            if isinstance(diagnosis, Fault):
                if stop := self._failed(step, "evaluator", diagnosis):
                    return stop
                at += 1
                continue
            if diagnosis.is_clean:
                self._visited(step, "kept", diagnosis)
                at += 1
                continue
            if edits >= cap:
                return "capped", f"{cap} edits in pass {self._pass}, and step {step.id} wants another"
            proposal = await self._repair(self._plan, step, diagnosis)
            if isinstance(proposal, Fault):
                if stop := self._failed(step, "optimiser", proposal, diagnosis):
                    return stop
                at += 1
                continue
            if stop := self._taken(step, diagnosis, proposal):
                return stop
            edits += self._visits[-1].outcome == "edited"
            if len(self._plan) == length:  # of another length: the same place is looked at again
                at += 1
        return None

    def _taken(self, step: PlanStep, diagnosis: Diagnosis, proposal: Proposal) -> tuple[Status, str] | None:
        """Take the proposed plan up, unless it is the one there is."""
        key = plan_key(proposal.plan)
        if key == plan_key(self._plan):
            self._visited(step, "same", diagnosis)
            return None
        if self._limits.stop_on_repeat and key in self._seen:
            self._visited(step, "repeated", diagnosis)
            return "repeated", f"the repair of step {step.id} in pass {self._pass} gives a plan that was there before"
        number = len(self._plans)
        self._revisions.append(
            Revision(
                plan_diff(self._plan, proposal.plan, (f"plan {number}", f"plan {number + 1}")),
                self._pass,
                step.id,
                diagnosis.tags,
                diagnosis.reasons,
                proposal.change0,
                proposal.change1,
            )
        )
        self._plans.append(proposal.plan)
        self._seen.add(key)
        self._visited(step, "edited", diagnosis)
        return None

    def _failed(
        self, step: PlanStep, stage: Stage, fault: Fault, diagnosis: Diagnosis | None = None
    ) -> tuple[Status, str] | None:
        """Keep the failure; why everything ends with it, if it does."""
        if fault.stop is not None:
            return fault.stop, fault.message
        self._failures.append(StepFailure(self._pass, step.id, stage, fault.error_type, fault.message))
        self._visited(step, "refused" if stage == "optimiser" and fault.error_type == INVALID else "failed", diagnosis)
        return None

    def _visited(self, step: PlanStep, outcome: Outcome, diagnosis: Diagnosis | None) -> None:
        self._visits.append(Visit(self._pass, step.id, outcome, diagnosis.tags if diagnosis else ()))
