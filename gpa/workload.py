"""What is left to judge: of each transcript the dimensions that the store has no result for, judge by judge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from gpa.ingest.transcript import Transcript
from gpa.judges.run import Judge, Task, Work
from gpa.judges.verdict import DIMENSIONS, AnyResult, Failure
from gpa.sources import Unread

if TYPE_CHECKING:
    from gpa.judging import Bench
    from gpa.store import Store


@dataclass
class Run:
    """Everything an evaluation is done with."""

    judges: tuple[Judge, ...]
    """One, or one for each sample."""
    wanted: tuple[str, ...]
    concurrency: int
    """Transcripts in work at a time."""
    store: Store | None = None
    rehearsal: bool = False
    """Nothing is written to the store."""
    bench: Bench | None = None
    names: Mapping[str, str] = field(default_factory=lambda: DIMENSIONS)


class Stored(NamedTuple):
    """What the store has of a transcript while it is judged."""

    transcript_hash: str
    """Empty: its results are not kept."""
    results: tuple[AnyResult, ...]


def work_of(found: Iterable[Transcript | Unread], run: Run, stored: dict[int, Stored]) -> Iterator[Work]:
    """What is left to judge of each transcript; what the store has goes to `stored`."""
    for number, one in enumerate(found):
        if isinstance(one, Unread):
            stored[number] = Stored("", ())
            tasks = tuple(Task(_WithoutTranscript(judge, one.error), run.wanted) for judge in run.judges)
            yield Work(number, Transcript(one.trace_id, "", (), ()), tasks)
            continue
        stored[number] = Stored("", ()) if run.store is None else _known(run.store, one, run)
        have = {(result.judge, result.sample) for result in stored[number].results}
        left = [
            (judge, tuple(dimension for dimension in run.wanted if (dimension, judge.sample) not in have))
            for judge in run.judges
        ]
        yield Work(number, one, tuple(Task(judge, dimensions) for judge, dimensions in left if dimensions))


def _known(store: Store, transcript: Transcript, run: Run) -> Stored:
    from gpa.store import Key, transcript_hash

    digest = transcript_hash(transcript)
    keys = [
        Key(dimension, judge.rubric_hash(dimension), judge.model, judge.sample)
        for judge in run.judges
        for dimension in run.wanted
    ]
    return Stored(digest, tuple(store.known(digest, keys).values()))


class _WithoutTranscript:
    """Stands in for a judge where there is no transcript: every judgement fails with what went wrong."""

    def __init__(self, judge: Judge, error: Exception) -> None:
        self.model, self.sample, self.rubric_hash = judge.model, judge.sample, judge.rubric_hash
        self._error = error

    async def judge(self, _transcript: Transcript, _dimensions: Sequence[str]) -> Sequence[AnyResult]:
        raise self._error


def is_unasked(result: AnyResult) -> bool:
    """Whether this is the failure of a request that was only written down: nothing to keep."""
    return isinstance(result, Failure) and result.error_type == "missing"
