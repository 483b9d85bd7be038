"""Complete traces -> results in the store: each revision judged once, whenever the process is killed.

The order is what makes it so. First the results are in the store (with the revision, in one transaction), then the
spool is told that the trace is evaluated. Killed in between, the trace is handed out again: its transcript has the
same hash, so the results are found, nothing is judged or announced again, and only the word to the spool is left.
Checks are kept at once; what a model says about the same trace follows when it is there.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol

from gpa.errors import GpaError
from gpa.ingest.completion import Patience
from gpa.ingest.transcript import Transcript
from gpa.judges.model.reply import RETRYABLE
from gpa.judges.run import Task, Work, run
from gpa.judges.verdict import AnyResult, Failure
from gpa.live.assessing import Assessor, Checked
from gpa.live.policy import Policy
from gpa.store import Arrival, Key, Store

if TYPE_CHECKING:
    from gpa.ingest.spool import Arrived, Ready
    from gpa.judging import Bench

POLL_S = 0.25
"""Between two looks for complete traces when there were none."""
RETRY_S = 5.0
LEASE_S = 900.0
AGAIN_S = (60.0, 600.0)
"""Until a model that could not be reached is asked again, each time; after the last its failure is the result."""
ATTEMPTS = len(AGAIN_S) + 1
_log = logging.getLogger(__name__)


class Source(Protocol):
    """Where complete traces come from: a `Spool`."""

    def complete(self, patience: Patience, *, limit: int = ..., lease_s: float = ...) -> list[Ready]:
        """Traces that are complete, each handed out once."""

    def read(self, ready: Ready) -> Arrived:
        """The trace."""

    def evaluated(self, ready: Ready, session: str | None = None) -> None:
        """Its results are safe."""

    def release(self, ready: Ready, *, again_s: float = ...) -> None:
        """It could not be evaluated now."""


class Evaluated(NamedTuple):
    """A trace whose results are in the store."""

    transcript: Transcript
    transcript_hash: str
    revision: int
    results: tuple[AnyResult, ...]
    """The new ones of one evaluator."""
    start_ns: int
    """When its evaluation began."""


class Counts:
    """What has been done since the start, for people and for `/metrics`."""

    def __init__(self) -> None:
        self.traces = 0
        """Evaluated, each revision counted."""
        self.revised = 0
        """Of them, not the first revision."""
        self.results: Counter[tuple[str, str, str]] = Counter()
        """By dimension, type and evaluator."""
        self.skipped: Counter[str] = Counter()
        """Traces that no model was asked about, by reason."""
        self.postponed = 0
        """Times a trace was put back because the store or the spool was away."""
        self.under_way = 0
        self.version = 0
        """Rises with everything that is new."""
        self.last_error = ""


class Evaluator:
    """Takes complete traces and judges them until it is stopped."""

    def __init__(
        self,
        spool: Source,
        store: Store,
        assessor: Assessor,
        *,
        patience: Patience,
        bench: Bench | None = None,
        asked: Sequence[str] = (),
        policy: Policy | None = None,
        announce: bool = False,
        concurrency: int = 8,
        on_evaluated: Callable[[Evaluated], None] | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._spool, self._store, self._assessor = spool, store, assessor
        self._patience, self._announce = patience, announce
        self._bench, self._asked, self._policy = bench, tuple(asked), policy or Policy()
        self._concurrency, self._on_evaluated, self._now = concurrency, on_evaluated, now
        self._under_way: set[tuple[str, int]] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._day = ""
        self._attempts: Counter[tuple[str, int]] = Counter()
        self.counts = Counts()

    async def run(self, stop: asyncio.Event, *, drain_s: float = 10.0, until_idle: bool = False) -> None:
        """Evaluate until `stop` is set, then finish what is under way within `drain_s`; the rest stays in the spool.

        With `until_idle`, return as soon as nothing is complete and nothing is under way.
        """
        stopped = asyncio.ensure_future(stop.wait())
        try:
            while not stop.is_set():
                started = await self._take()
                if until_idle and not started and not self._tasks:
                    return
                waiting = {stopped, *self._tasks} if len(self._tasks) >= self._concurrency else {stopped}
                pause_s = 0.0 if started and len(self._tasks) < self._concurrency else POLL_S
                await asyncio.wait(waiting, timeout=pause_s, return_when=asyncio.FIRST_COMPLETED)
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=drain_s)
        finally:
            stopped.cancel()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(stopped, *self._tasks, return_exceptions=True)

    async def _take(self) -> int:
        """Start on complete traces, as many as there is room for; how many."""
        room = self._concurrency - len(self._tasks)
        if room <= 0:
            return 0
        try:
            found = await asyncio.to_thread(self._spool.complete, self._patience, limit=room, lease_s=LEASE_S)
        except GpaError as error:
            self._postponed(error)
            await asyncio.sleep(POLL_S)
            return 0
        started = 0
        for ready in found:
            key = (ready.trace_id, ready.revision)
            if key in self._under_way:
                continue  # a judge took longer than the lease
            self._under_way.add(key)
            task = asyncio.create_task(self._one(ready))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            started += 1
        return started

    async def _one(self, ready: Ready) -> None:
        self.counts.under_way += 1
        try:
            start_ns = time.time_ns()
            arrived = await asyncio.to_thread(self._spool.read, ready)
            checked = await self._assessor.assess(arrived.trace)
            arrival = Arrival(ready.revision, arrived.session or "", self._announce)
            await self._keep(checked, self._assessor.keys(), arrival, start_ns)
            if self._bench is not None and not await self._ask(checked, arrival, ready):
                return
            await asyncio.to_thread(self._spool.evaluated, ready, arrived.session)
            self.counts.traces += 1
            self.counts.last_error = ""
            self.counts.revised += ready.revision > 1
            self.counts.version += 1
        except GpaError as error:
            self._postponed(error)
            with suppress(GpaError):
                await asyncio.to_thread(self._spool.release, ready, again_s=RETRY_S)
        except Exception as error:  # noqa: BLE001 - said in full below
            # A bug: kept for later rather than lost, and said in full.
            _log.exception("trace %s revision %d", ready.trace_id, ready.revision)
            self._postponed(error)
            with suppress(GpaError):
                await asyncio.to_thread(self._spool.release, ready, again_s=60.0)
        finally:
            self.counts.under_way -= 1
            self._under_way.discard((ready.trace_id, ready.revision))

    async def _keep(self, checked: Checked, hashes: dict[str, str], arrival: Arrival, start_ns: int) -> None:
        """Write what the checks found, unless a run that was killed has."""
        keys = [Key(result.judge, hashes[result.judge], result.model, result.sample) for result in checked.results]
        known = await asyncio.to_thread(self._store.known, checked.transcript_hash, keys)
        new = [result for result, key in zip(checked.results, keys, strict=True) if key not in known]
        await self._save(checked, new, arrival, start_ns)

    async def _ask(self, checked: Checked, arrival: Arrival, ready: Ready) -> bool:
        """Have the model judge the trace, if the policy says so and the day's budget allows.

        False: the model could not be reached, and the trace is handed out again for what is left to judge.
        """
        assert self._bench is not None
        self._begin_day(self._bench)
        skipped: str | None = self._policy.skips(checked.transcript.trace_id, checked.results)
        if skipped is None and self._bench.client.ledger.refused:
            skipped = "budget spent"
        if skipped is not None:
            self.counts.skipped[skipped] += 1
            return True
        start_ns = time.time_ns()
        tasks = []
        for judge in self._bench.judges:
            keys = [Key(code, judge.rubric_hash(code), judge.model, judge.sample) for code in self._asked]
            known = await asyncio.to_thread(self._store.known, checked.transcript_hash, keys)
            left = tuple(key.judge for key in keys if key not in known)
            if left:
                tasks.append(Task(judge, left))
        new = [result async for done in run([Work(0, checked.transcript, tuple(tasks))]) for result in done.results]
        key = (ready.trace_id, ready.revision)
        if any(map(_may_pass, new)) and self._attempts[key] + 1 < ATTEMPTS:
            await self._save(checked, [result for result in new if not _may_pass(result)], arrival, start_ns)
            await asyncio.to_thread(self._spool.release, ready, again_s=AGAIN_S[self._attempts[key]])
            self._attempts[key] += 1
            return False
        self._attempts.pop(key, None)
        await self._save(checked, new, arrival, start_ns)
        return True

    async def _save(self, checked: Checked, results: Sequence[AnyResult], arrival: Arrival, start_ns: int) -> None:
        await asyncio.to_thread(self._store.save, checked.transcript, checked.transcript_hash, results, arrival)
        for result in results:
            self.counts.results[result.judge, result.type, result.model] += 1
        self.counts.version += 1
        if self._on_evaluated is not None and results:
            evaluated = Evaluated(
                checked.transcript, checked.transcript_hash, arrival.revision, tuple(results), start_ns
            )
            self._on_evaluated(evaluated)

    def _begin_day(self, bench: Bench) -> None:
        """Give the ledger a new day (UTC), less what earlier runs of this day have spent."""
        day = self._now().date().isoformat()
        if day != self._day:
            bench.client.ledger.renew(0.0 if self._day else self._store.spent_usd(day))
            self._day = day

    def _postponed(self, error: Exception) -> None:
        self.counts.postponed += 1
        self.counts.version += 1
        said = f"{type(error).__name__}: {error}"
        if said != self.counts.last_error:
            _log.warning("%s; tried again", error)
        self.counts.last_error = said


def _may_pass(result: AnyResult) -> bool:
    """Whether this is the failure of a request that may well succeed later."""
    return isinstance(result, Failure) and result.error_type in RETRYABLE
