"""A trace flattened and checked, in a process of its own: the receiver goes on acknowledging meanwhile.

A process also bounds what one trace can do: when it is out of memory, the trace has failures for results and the next
one gets a new process. `Assessor(jobs=0)` does the same work in the caller's thread.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import NamedTuple

from gpa.ingest.spans import Trace
from gpa.ingest.transcript import Transcript, transcribe
from gpa.judges import scoring
from gpa.judges.checks import CHECKS
from gpa.judges.checks.selection import select
from gpa.judges.checks.suppressions import Suppression
from gpa.judges.verdict import AnyResult, Failure
from gpa.store import transcript_hash

ATTEMPTS = 2
"""Processes that a trace may cost before it counts as what ended them."""


class Checked(NamedTuple):
    """What the checks made of a trace."""

    transcript: Transcript
    transcript_hash: str
    results: tuple[AnyResult, ...]


class Assessor:
    """Runs the checks; `close` it."""

    def __init__(
        self,
        jobs: int = 1,
        *,
        dimensions: Sequence[str],
        checks: Sequence[str] | None = None,
        skip_checks: Sequence[str] = (),
        suppressions: tuple[Suppression, ...] = (),
    ) -> None:
        self._jobs = jobs
        self._dimensions = tuple(dimensions)
        self._suppressions = suppressions
        self._checks = select(checks, skip_checks)
        # Checks hold functions, so only their names go to another process.
        self._names = None if self._checks == CHECKS else tuple(check.name for check in self._checks)
        self._pool: ProcessPoolExecutor | None = None

    def keys(self) -> dict[str, str]:
        """Dimension -> the rubric hash that results of these checks have."""
        return {code: scoring.rubric_hash(code, self._checks, self._suppressions) for code in self._dimensions}

    async def assess(self, trace: Trace) -> Checked:
        """The transcript with a result for each dimension; failures when the trace breaks what reads it."""
        work = partial(checked, trace, self._dimensions, self._names, self._suppressions)
        if not self._jobs:
            return work()
        for _ in range(ATTEMPTS):
            pool = self._opened()
            try:
                return await asyncio.get_running_loop().run_in_executor(pool, work)
            except BrokenProcessPool:
                if self._pool is pool:  # several traces may have been in it
                    self._pool = None
                    pool.shutdown(wait=False)
            except Exception:  # noqa: BLE001 - values nested too deeply to be sent to a process
                return work()
        error = RuntimeError("the process that read the trace ended; it may have been out of memory")
        return _failed(trace.trace_id, error, self.keys())

    def _opened(self) -> ProcessPoolExecutor:
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self._jobs, mp_context=context, initializer=_follow_parent)
        return self._pool

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


def checked(
    trace: Trace, dimensions: tuple[str, ...], names: tuple[str, ...] | None, suppressions: tuple[Suppression, ...]
) -> Checked:
    """The transcript of the trace with the results of the checks; never raises over what a trace may hold."""
    checks = select(names)
    try:
        transcript = transcribe(trace)
        results = scoring.judge(transcript, dimensions, checks=checks, suppressions=suppressions)
        return Checked(transcript, transcript_hash(transcript), results)
    except Exception as error:  # noqa: BLE001 - a bug over one trace must not cost the others
        hashes = {code: scoring.rubric_hash(code, checks, suppressions) for code in dimensions}
        return _failed(trace.trace_id, error, hashes)


def _failed(trace_id: str, error: Exception, hashes: dict[str, str]) -> Checked:
    empty = Transcript(trace_id, "", (), ())
    results = tuple(
        Failure(
            trace_id=trace_id,
            judge=code,
            model=scoring.MODEL,
            error_type=type(error).__name__,
            message=str(error) or "no message",
            rubric_hash=digest,
        )
        for code, digest in hashes.items()
    )
    return Checked(empty, transcript_hash(empty), results)


def _follow_parent() -> None:
    """Leave Ctrl-C and SIGTERM to the parent, and end when it does: killed, it cannot tell its processes."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, name="follow-parent", daemon=True).start()
