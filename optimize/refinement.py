"""Plans refined by a model, many at a time: bounded, and resumed for nothing.

Every answer a run used is kept in a log (`gpa.optimize.log`), bad ones included, so that a run that was killed is
repeated word for word without a question and goes on from there; within a run, what was asked before is not asked
again, so that a step nobody touched costs nothing in the next pass.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from gpa.judges.model import Client, Outcome, Reply, ReplyError, Request
from gpa.judges.model.request import Effort
from gpa.optimize.lineage import Limits, Progress, refine
from gpa.optimize.log import Log
from gpa.optimize.repairs import MAX_TOKENS, Clean, StepModel
from gpa.plans.lineage import Lineage
from gpa.plans.palette import Palette
from gpa.plans.plan import Plan

_FINAL = frozenset({"refusal", "max_tokens", "context_window_exceeded", "invalid_request"})
"""Failures that would be the same again; the others say something of the world, and are not kept."""


class Subject(NamedTuple):
    """A plan to refine."""

    id: str
    plan: Plan
    query: str


class Budget(NamedTuple):
    """What may be asked; None: as much as it takes. Money is the client's ledger's to watch."""

    max_calls: int | None = None
    """Questions about one plan, those put again and those answered from log or cache included."""
    max_seconds: float | None = None
    """Of the whole run."""


class Refined(NamedTuple):
    """What came of a plan."""

    subject: Subject
    lineage: Lineage
    calls: int
    """Different questions put to the model for it, whoever answered."""


class Replay:
    """A client with a memory of one run and a bound on questions about one plan."""

    def __init__(
        self, client: Client, log: Log, budget: Budget, *, until: float | None = None, offline: bool = False
    ) -> None:
        self._client, self._log, self._budget, self._until = client, log, budget, until
        self._offline = offline
        self._asked: set[str] = set()

    @property
    def name(self) -> str:
        """The model's."""
        return self._client.name

    @property
    def context_window(self) -> int:
        """The model's."""
        return self._client.context_window

    @property
    def calls(self) -> int:
        """Different questions so far."""
        return len(self._asked)

    async def complete(self, request: Request) -> Outcome:
        """What the log has, else what the client says; `budget` when nothing more may be asked."""
        if request.key not in self._asked and (bound := self._bound()):
            return ReplyError(error_type="budget", message=bound)
        self._asked.add(request.key)
        known = self._log.get(request)
        if known is not None:
            return known
        outcome = await self._client.complete(request)
        if isinstance(outcome, Reply) or outcome.error_type in _FINAL:
            self._log.put(request, outcome)
        elif self._offline and outcome.retryable:  # whoever sends the requests is to send it again
            return outcome.model_copy(update={"error_type": "missing"})
        return outcome

    def forget(self, request: Request) -> None:
        """Drop the answer from the cache of answers; the log of this run keeps it, for the run is to be repeatable."""
        self._client.forget(request)

    def _bound(self) -> str:
        most = self._budget.max_calls
        if most is not None and self.calls >= most:
            return f"all {most} questions are used"
        if self._until is not None and time.monotonic() >= self._until:
            return f"the time of {self._budget.max_seconds:g} s is up"
        return ""


async def refine_all(
    subjects: Sequence[Subject],
    client: Client,
    palette: Palette,
    log: Log,
    *,
    limits: Limits | None = None,
    budget: Budget | None = None,
    clean: Clean | None = None,
    max_tokens: int = MAX_TOKENS,
    effort: Effort | None = None,
    offline: bool = False,
    on_step: Callable[[Subject, Progress], None] | None = None,
) -> list[Refined]:
    """The lineage of each plan, in order. Cancelled, every one ends with what there is of it, as `interrupted`."""
    allowed = budget or Budget()
    until = None if allowed.max_seconds is None else time.monotonic() + allowed.max_seconds

    async def one(subject: Subject) -> Refined:
        replay = Replay(client, log, allowed, until=until, offline=offline)
        model = StepModel(replay, palette, clean=clean, max_tokens=max_tokens, effort=effort)

        def told(progress: Progress) -> None:
            if on_step is not None:
                on_step(subject, progress)

        lineage = await refine(
            subject.plan,
            model.evaluator(subject.id),
            model.optimiser(subject.id, subject.query),
            limits,
            on_step=told,
        )
        return Refined(subject, lineage, replay.calls)

    tasks = [asyncio.create_task(one(subject)) for subject in subjects]
    try:
        await asyncio.gather(*tasks)
    except asyncio.CancelledError:
        await asyncio.wait(tasks)
    return [_done(task, subject) for task, subject in zip(tasks, subjects, strict=True)]


def _done(task: asyncio.Task[Refined], subject: Subject) -> Refined:
    if task.cancelled():  # before it had begun
        return Refined(subject, Lineage((subject.plan,), status="interrupted", message="stopped by hand"), 0)
    return task.result()


def log_settings(model: str) -> Mapping[str, str]:
    """What the log of a run says it is; limits may change from one start to the next."""
    return {"work": "plan refine", "model": model}
