"""Many judges over many transcripts: bounded, in any order, failures as values.

Nothing here knows what a judge does. The checks are one (`Checks`); a judge that waits for a model is another: at
most `concurrency` transcripts are in work at a time, so memory stays bounded while files are still being read.
"""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import AsyncGenerator, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from types import TracebackType
from typing import NamedTuple, Protocol, Self

from gpa.ingest.transcript import Transcript
from gpa.judges import scoring
from gpa.judges.checks import CHECKS
from gpa.judges.checks.check import Check
from gpa.judges.checks.suppressions import Suppression
from gpa.judges.verdict import AnyResult, Failure

CONCURRENCY = 8


class Judge(Protocol):
    """Judges transcripts in one or more dimensions."""

    @property
    def model(self) -> str:
        """`checks`, or provider/model: part of the resume key."""
        ...

    @property
    def sample(self) -> int:
        """Number of the repetition, 0 for the first: part of the resume key."""
        ...

    def rubric_hash(self, dimension: str) -> str:
        """What the verdicts depend on besides the transcript and the model: part of the resume key."""
        ...

    async def judge(self, transcript: Transcript, dimensions: Sequence[str]) -> Sequence[AnyResult]:
        """One result for each of these dimensions."""
        ...


class Task(NamedTuple):
    """What one judge has to say about a transcript."""

    judge: Judge
    dimensions: tuple[str, ...]


class Work(NamedTuple):
    """A transcript and all that is to be judged in it."""

    number: int
    """Its place in the run: results arrive in any order."""
    transcript: Transcript
    tasks: tuple[Task, ...]


class Judged(NamedTuple):
    """A transcript and its new results."""

    work: Work
    results: tuple[AnyResult, ...]


class Checks:
    """The checks as a judge; `jobs` processes share the transcripts when there is more than one.

    The checks read a transcript far faster than it is read from its file, and a process costs a third of a second to
    start, so more than one is worth it for thousands of long traces only. Processes are spawned, never forked.
    """

    model = scoring.MODEL
    sample = 0

    def __init__(
        self, jobs: int = 1, *, checks: tuple[Check, ...] = CHECKS, suppressions: tuple[Suppression, ...] = ()
    ) -> None:
        self._judge = partial(scoring.judge, checks=checks, suppressions=suppressions)
        self._hash = partial(scoring.rubric_hash, checks=checks, suppressions=suppressions)
        self._pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) if jobs > 1 else None

    def rubric_hash(self, dimension: str) -> str:
        """The hash of the checks that look at the dimension, and of what is muted."""
        return self._hash(dimension)

    async def judge(self, transcript: Transcript, dimensions: Sequence[str]) -> Sequence[AnyResult]:
        """One result for each of these dimensions."""
        if self._pool is None:
            return self._judge(transcript, dimensions)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, self._judge, transcript, tuple(dimensions))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


async def run(work: Iterable[Work], *, concurrency: int = CONCURRENCY) -> AsyncGenerator[Judged, None]:
    """Each piece of work with its results, as they are done; leaving the loop cancels what is under way."""
    pending: list[asyncio.Task[Judged]] = []
    source = iter(work)
    exhausted = False
    try:
        while not exhausted or pending:
            while not exhausted and len(pending) < max(1, concurrency):
                item = next(source, None)
                if item is None:
                    exhausted = True
                else:
                    pending.append(asyncio.ensure_future(_judged(item)))
            if pending:
                await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                done = [task for task in pending if task.done()]
                pending = [task for task in pending if not task.done()]
                for task in done:
                    yield task.result()
    finally:
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)


async def _judged(work: Work) -> Judged:
    results = await asyncio.gather(*(_safely(task, work.transcript) for task in work.tasks))
    return Judged(work, tuple(result for some in results for result in some))


async def _safely(task: Task, transcript: Transcript) -> Sequence[AnyResult]:
    """The judge's results; where it raises, a failure for each of its dimensions."""
    try:
        return await task.judge.judge(transcript, task.dimensions)
    except Exception as error:  # noqa: BLE001 - one judgement that breaks must not cost the others
        return tuple(
            Failure(
                trace_id=transcript.trace_id,
                judge=dimension,
                model=task.judge.model,
                sample=task.judge.sample,
                error_type=type(error).__name__,
                message=str(error) or "no message",
                rubric_hash=task.judge.rubric_hash(dimension),
            )
            for dimension in task.dimensions
        )
