"""Traces in, results out: judged, stored as they arrive, resumed, summed up, exported.

Three outcomes are never mixed: a score, not applicable, could not be judged. Means are over scores alone.
"""

from __future__ import annotations

import asyncio
import io
import math
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from gpa.errors import UsageError
from gpa.ingest import html
from gpa.ingest.spans import Trace
from gpa.ingest.transcript import Transcript
from gpa.judges.checks.selection import select
from gpa.judges.checks.suppressions import load_suppressions
from gpa.judges.result_lines import read_lines, result_line
from gpa.judges.run import Checks
from gpa.judges.run import run as judged
from gpa.judges.scoring import MODEL
from gpa.judges.verdict import DIMENSIONS, GRAVITY, AnyResult, Failure, Finding, NotApplicable, Severity, Verdict
from gpa.sources import Source, transcripts
from gpa.workload import Run, Stored, is_unasked, work_of

if TYPE_CHECKING:
    from gpa.judges.model import Model
    from gpa.judging import Bench, Judging, OnBatch, Spending

EXIT_OK = 0
EXIT_BELOW = 1
EXIT_INPUT = 2
EXIT_FAILED = 3


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is; given to the `progress` callback after each trace."""

    done: int
    """Traces judged so far."""
    total: int | None
    """Traces in all, None while that is not known."""
    trace_id: str
    results: tuple[AnyResult, ...]
    """The results of this trace, in the order of the dimensions."""
    reused: int
    """How many of them were in the store already."""
    warnings: int = 0
    """Repaired or missing parts of this trace."""
    spending: Spending | None = None
    """Of the LLM judges, so far."""


@dataclass(frozen=True, slots=True)
class Summary:
    """One dimension over all traces."""

    dimension: str
    name: str
    mean: float | None
    """Mean score, 0-3, over the traces that have one; None when no trace has."""
    scored: int
    not_applicable: int
    failed: int
    findings: int


@dataclass(frozen=True, slots=True)
class Located:
    """A finding with the trace it is in and every dimension it stands under."""

    trace_id: str
    dimensions: tuple[str, ...]
    finding: Finding


@dataclass(frozen=True)
class Evaluation:
    """The results of a run: traces in the order they came, dimensions in theirs."""

    results: tuple[AnyResult, ...]
    reused: int = 0
    """Results taken from the store instead of being judged again."""
    unreadable: tuple[str, ...] = ()
    """One line for each path, or part of one, that could not be read."""
    names: Mapping[str, str] = field(default_factory=lambda: DIMENSIONS)
    """What the codes of the dimensions stand for, in order; a folder of rubrics can add some."""
    spending: Spending | None = None
    """What LLM judges took in this run."""

    @property
    def trace_ids(self) -> tuple[str, ...]:
        """The traces that have results, each once."""
        return tuple(dict.fromkeys(result.trace_id for result in self.results))

    def summary(self) -> tuple[Summary, ...]:
        """One row for each dimension that was asked for."""
        return tuple(
            _summary(
                dimension,
                self.names.get(dimension, dimension),
                [result for result in self.results if result.judge == dimension],
            )
            for dimension in dict.fromkeys((*self.names, *(result.judge for result in self.results)))
            if any(result.judge == dimension for result in self.results)
        )

    def worst(self, limit: int = 10, *, at_least: Severity = "LOW") -> tuple[Located, ...]:
        """The gravest findings, each once however many dimensions it stands under."""
        found: dict[tuple[str, Finding], list[str]] = {}
        for result in self.results:
            if isinstance(result, Verdict):
                for finding in result.findings:
                    if GRAVITY[finding.severity] >= GRAVITY[at_least]:
                        dimensions = found.setdefault((result.trace_id, finding), [])
                        if result.judge not in dimensions:
                            dimensions.append(result.judge)
        located = [Located(trace_id, tuple(dimensions), finding) for (trace_id, finding), dimensions in found.items()]
        return tuple(sorted(located, key=lambda one: -GRAVITY[one.finding.severity])[:limit])

    def exit_code(self, fail_under: float | None = None) -> int:
        """What a command ends with: 0 when all is judged and well.

        2 when an input could not be read, else 1 when the mean score of a dimension is below `fail_under` (0-3), else 3
        when something could not be judged. Raises `UsageError` for a `fail_under` that is no number.
        """
        if fail_under is not None and math.isnan(fail_under):  # no mean is below it: it would let everything through
            raise UsageError(f"fail_under: expected a number from 0 to 3, found {fail_under}")
        if self.unreadable:
            return EXIT_INPUT
        means = [row.mean for row in self.summary() if row.mean is not None]
        if fail_under is not None and means and min(means) < fail_under:
            return EXIT_BELOW
        return EXIT_FAILED if any(isinstance(result, Failure) for result in self.results) else EXIT_OK

    def to_jsonl(self, file: str | Path | IO[str] | IO[bytes]) -> None:
        """Write one result a line: `"type"` first, then `"schema"`."""
        if isinstance(file, str | Path):
            with Path(file).expanduser().open("wb") as opened:
                opened.writelines(map(result_line, self.results))
            return
        write: Callable[[Any], object] = file.write
        is_text = isinstance(file, io.TextIOBase) or getattr(file, "encoding", None) is not None
        for line in map(result_line, self.results):
            write(line.decode() if is_text else line)

    def to_frame(self, of: Literal["results", "findings"] = "results") -> Any:
        """The results, or their findings, as a pandas DataFrame, one row each. Needs pandas."""
        from gpa.frames import findings_frame, results_frame

        return findings_frame(self.results) if of == "findings" else results_frame(self.results)

    def _repr_html_(self) -> str:
        """What a notebook shows: scores by dimension, and the gravest findings."""
        rows = [
            (
                html.text(f"{row.dimension} {row.name}"),
                "-" if row.mean is None else f"{row.mean:.2f}",
                *map(str, (row.scored, row.not_applicable, row.failed, row.findings)),
            )
            for row in self.summary()
        ]
        found = [
            (
                html.severity(one.finding.severity),
                html.text(" ".join(one.dimensions)),
                html.text(one.finding.check or one.finding.category),
                html.text(one.finding.problem),
                html.text(one.trace_id),
            )
            for one in self.worst()
        ]
        scores = html.table(("dimension", "mean (0-3)", "scored", "n/a", "failed", "findings"), rows)
        gravest = html.table(("severity", "dimensions", "what", "problem", "trace"), found) if found else ""
        count = len(self.trace_ids)
        return f"<div><b>{count} trace{'s' * (count != 1)}</b>{scores}{gravest}</div>"

    @classmethod
    def load(cls, path: str | Path) -> Evaluation:
        """The results in a JSON Lines file or a store (SQLite file or database URL).

        Raises `InputError` for a line that is not a result, `StoreError` for a store that cannot be read.
        """
        from gpa.store import is_store, open_store

        if is_store(path):
            with open_store(path, must_exist=True) as store:
                return cls(tuple(store.results()))
        return cls(tuple(read_lines(Path(path).expanduser())))


def evaluate(
    traces: Source | Iterable[Source],
    *,
    dimensions: Iterable[str] | None = None,
    model: str | Model | None = None,
    judging: Judging | None = None,
    store: str | Path | None = None,
    checks: Iterable[str] | None = None,
    skip_checks: Iterable[str] = (),
    suppress: str | Path | None = None,
    jobs: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    on_batch: OnBatch | None = None,
) -> Evaluation:
    """Judge traces by the checks, or by a model; works inside a running event loop (a notebook) too.

    Args:
        traces: Paths, `Trace`s or `Transcript`s, one or many; an iterator is read as it is judged.
        dimensions: Codes (`LC`, `TC`, ...) to judge; all when None.
        model: None or `"checks"` for the checks; `provider/name` (`anthropic/claude-sonnet-5-5`), or a model, for LLM
            judges in their place.
        judging: How LLM judges are asked, and what they may cost.
        store: SQLite file or database URL: results are written as they arrive, and those already there are reused.
        checks: Names of the checks to run (`gpa checks`); all when None.
        skip_checks: Names of checks to leave out.
        suppress: TOML file of muted findings, see `gpa.judges.checks.suppressions`.
        jobs: Processes that run the checks; 1 when None, more pays off for thousands of long traces only.
        progress: Called after each trace.
        on_batch: Called with id, status, requests done and requests in all, whenever a batch was looked at.

    Raises:
        UsageError: An unknown dimension, model, check or number of jobs; options that contradict each other.
        InputError: A file that is named (muted findings, notes, examples, prices, responses) cannot be read.
        StoreError: The store or the response cache is none, or of another schema.
    """

    def start() -> Evaluation:
        return asyncio.run(
            aevaluate(
                traces,
                dimensions=dimensions,
                model=model,
                judging=judging,
                store=store,
                checks=checks,
                skip_checks=skip_checks,
                suppress=suppress,
                jobs=jobs,
                progress=progress,
                on_batch=on_batch,
            )
        )

    return _in_thread(start) if _in_event_loop() else start()


async def aevaluate(
    traces: Source | Iterable[Source],
    *,
    dimensions: Iterable[str] | None = None,
    model: str | Model | None = None,
    judging: Judging | None = None,
    store: str | Path | None = None,
    checks: Iterable[str] | None = None,
    skip_checks: Iterable[str] = (),
    suppress: str | Path | None = None,
    jobs: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    on_batch: OnBatch | None = None,
) -> Evaluation:
    """Judge traces by the checks, or by a model; see `evaluate`."""
    if jobs is not None and jobs < 1:
        raise UsageError(f"jobs: expected at least 1, found {jobs}")
    async with AsyncExitStack() as stack:
        if model is None or model == MODEL:
            if judging is not None:
                raise UsageError(f"judging: expected a model (model='provider/name'), found {MODEL}")
            wanted = _wanted(dimensions, tuple(DIMENSIONS))
            suppressions = () if suppress is None else load_suppressions(suppress)
            judge = Checks(jobs or 1, checks=select(checks, skip_checks), suppressions=suppressions)
            run = Run((stack.enter_context(judge),), wanted, concurrency=2 * (jobs or 1))
        else:
            _refuse_check_options({"checks": checks, "skip_checks": skip_checks, "suppress": suppress, "jobs": jobs})
            from gpa.judging import Judging, opened

            judging = judging or Judging()
            bench = await stack.enter_async_context(opened(model, judging, on_batch=on_batch))
            run = llm_run(bench, judging, dimensions)
        if store is not None:
            from gpa.store import open_store

            run.store = stack.enter_context(open_store(store))
        return await evaluated(traces, run, progress)


def llm_run(bench: Bench, judging: Judging, dimensions: Iterable[str] | None) -> Run:
    """How LLM judges go about an evaluation."""
    # The first request on a transcript goes alone, so as many transcripts as requests. A batch gathers all there are.
    concurrency = sys.maxsize if judging.batch else judging.concurrency
    return Run(bench.judges, _wanted(dimensions, tuple(bench.names)), concurrency, bench=bench, names=bench.names)


async def evaluated(
    traces: Source | Iterable[Source], run: Run, progress: Callable[[Progress], None] | None = None
) -> Evaluation:
    """The traces judged."""
    unreadable: list[str] = []
    total = (
        len(traces) if isinstance(traces, Sequence) and all(isinstance(t, Trace | Transcript) for t in traces) else None
    )
    finished: dict[int, tuple[AnyResult, ...]] = {}
    stored: dict[int, Stored] = {}
    reused = 0
    work = work_of(transcripts(traces, unreadable), run, stored)
    async for (number, transcript, _), new in judged(work, concurrency=run.concurrency):
        digest, known = stored.pop(number)
        keep = [result for result in new if not is_unasked(result)]
        if run.store is not None and digest and not run.rehearsal:
            if keep:
                run.store.save(transcript, digest, keep)
            if known:
                run.store.put_last(digest, known)
        finished[number] = results = _in_order(run.wanted, (*known, *new))
        reused += len(known)
        if progress is not None:
            spending = None if run.bench is None else run.bench.spending()
            warnings = len(transcript.warnings)
            trace_id = transcript.trace_id
            progress(Progress(len(finished), total, trace_id, results, len(known), warnings, spending))
    return Evaluation(
        tuple(result for number in sorted(finished) for result in finished[number]),
        reused,
        tuple(unreadable),
        run.names,
        None if run.bench is None else run.bench.spending(final=True),
    )


def _refuse_check_options(options: Mapping[str, object]) -> None:
    for name, value in options.items():
        if value not in (None, ()):
            raise UsageError(f"{name}: expected no model (it is about the checks), found one")


def _wanted(dimensions: Iterable[str] | None, known: tuple[str, ...]) -> tuple[str, ...]:
    if dimensions is None:
        return known
    codes = [dimensions] if isinstance(dimensions, str) else list(dimensions)
    for code in codes:
        if code not in known:
            raise UsageError(f"dimensions: expected some of {' '.join(known)}, found {code!r}")
    if not codes:
        raise UsageError(f"dimensions: expected some of {' '.join(known)}, found none")
    return tuple(code for code in known if code in codes)


def _in_order(wanted: Sequence[str], results: Iterable[AnyResult]) -> tuple[AnyResult, ...]:
    return tuple(sorted(results, key=lambda result: (wanted.index(result.judge), result.sample)))


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _in_thread(start: Callable[[], Evaluation]) -> Evaluation:
    """The evaluation, run in a thread of its own: an event loop cannot be nested in the caller's."""
    done: list[Evaluation] = []
    failed: list[BaseException] = []

    def target() -> None:
        try:
            done.append(start())
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            failed.append(error)

    thread = threading.Thread(target=target, name="gpa-evaluate")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return done[0]


def _summary(dimension: str, name: str, results: Sequence[AnyResult]) -> Summary:
    verdicts = [result for result in results if isinstance(result, Verdict)]
    return Summary(
        dimension=dimension,
        name=name,
        mean=sum(verdict.score for verdict in verdicts) / len(verdicts) if verdicts else None,
        scored=len(verdicts),
        not_applicable=sum(isinstance(result, NotApplicable) for result in results),
        failed=sum(isinstance(result, Failure) for result in results),
        findings=sum(len(verdict.findings) for verdict in verdicts),
    )
