"""What a report is made of: the results of a run, each once, and the transcripts they are about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from gpa.evaluation import Evaluation
from gpa.ingest.problems import Problem
from gpa.ingest.transcript import Transcript
from gpa.locations import latest


@dataclass(frozen=True)
class Judged:
    """A run as it is reported."""

    name: str
    """Of the store or file, without its folder."""
    evaluation: Evaluation
    store: str = ""
    """Where the transcripts are; empty when `traces` alone has them."""
    traces: tuple[str, ...] = ()
    """Files or folders of traces, for results that come without transcripts."""
    problems: list[Problem] = field(default_factory=list)
    """What could not be read of them."""

    def transcripts(self) -> Iterator[Transcript]:
        """The transcripts of judged traces; of a trace that has several, the last one is the newest."""
        wanted = set(self.evaluation.trace_ids)
        if self.store:
            from gpa.store import open_store

            with open_store(self.store, must_exist=True) as store:
                yield from (transcript for transcript in store.transcripts() if transcript.trace_id in wanted)
        if self.traces:
            from gpa.ingest.assembly import read_traces
            from gpa.ingest.transcript import transcribe

            for trace in read_traces(self.traces, on_problem=self.problems.append):
                if trace.trace_id in wanted:
                    yield transcribe(trace)


def judged(location: str | Path, *, model: str | None = None, traces: Iterable[str | Path] = ()) -> Judged:
    """The results in a store or a file of result lines, of one model or of all.

    Raises `InputError` or `StoreError` when they cannot be read.
    """
    from gpa.store import is_store

    evaluation = Evaluation.load(location)
    results = latest(result for result in evaluation.results if model in {None, result.model})
    return Judged(
        name=name_of(location),
        evaluation=Evaluation(results),
        store=str(location) if is_store(location) else "",
        traces=tuple(map(str, traces)),
    )


def name_of(location: str | Path) -> str:
    """The name of a file or database, without its folder, and without the options of a URL: a password may be one."""
    name = Path(str(location)).name
    return name.partition("?")[0] if "://" in str(location) else name
