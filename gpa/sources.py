"""What an evaluation is given (paths, traces, transcripts) as transcripts, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from gpa.errors import UsageError
from gpa.ingest.spans import Trace
from gpa.ingest.transcript import Transcript, transcribe

Source = str | Path | Trace | Transcript
"""What can be evaluated: a path (file, folder, glob), a trace, or a transcript."""


class Unread(NamedTuple):
    """A trace that could not be flattened: a bug, which costs this trace and no other."""

    trace_id: str
    error: Exception


def transcripts(traces: Source | Iterable[Source], unreadable: list[str]) -> Iterator[Transcript | Unread]:
    """The transcripts of all sources; what of the paths cannot be read is added to `unreadable`, one line each.

    Neighbouring paths are read together, since a trace can be spread over files.
    """
    sources: Iterable[Source] = (traces,) if isinstance(traces, str | Path | Trace | Transcript) else traces
    paths: list[str | Path] = []
    for source in sources:
        if isinstance(source, str | Path):
            paths.append(source)
            continue
        yield from _read(paths, unreadable)
        paths = []
        if not isinstance(source, Trace | Transcript):
            raise UsageError(f"traces: expected paths, Trace or Transcript objects, found {type(source).__name__}")
        yield source if isinstance(source, Transcript) else _transcribed(source)
    yield from _read(paths, unreadable)


def _read(paths: list[str | Path], unreadable: list[str]) -> Iterator[Transcript | Unread]:
    if not paths:
        return
    from gpa.ingest.assembly import read_traces
    from gpa.ingest.problems import Problem

    def noted(problem: Problem) -> None:
        if problem.fatal:
            unreadable.append(f"{problem.where}: {problem.message}")

    yield from map(_transcribed, read_traces(paths, on_problem=noted))


def _transcribed(trace: Trace) -> Transcript | Unread:
    try:
        return transcribe(trace)
    except Exception as error:  # noqa: BLE001 - a bug over one trace must not cost the others
        return Unread(trace.trace_id, error)
