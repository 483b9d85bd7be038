"""Spans in any order -> complete traces, in bounded memory.

A trace may be spread over a whole file and over several files, and nothing marks its end, so traces are handed out
only when the input is at its end. Until then spans stay in memory up to a budget; beyond it they move to a temporary
file, each trace's as a chain of chunks. Cost is linear: a span is written and read back at most once.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from sys import getsizeof
from typing import IO, Any, Self

import msgspec
from msgspec import Struct, structs

from gpa.errors import InputError
from gpa.ingest.compression import compression_of
from gpa.ingest.files import MAX_BYTES, Paths, as_list, read_spans
from gpa.ingest.problems import OnProblem, Problem, collect, in_short, raise_fatal
from gpa.ingest.spans import Event, LogRecord, Span, Trace

MEMORY_BYTES = 96 << 20
"""What spans may take in memory before they move to disk."""

_LEAST_BYTES = 16 << 20
_TRACE_BYTES = 300
"""What one trace id costs in memory, buffered spans aside."""
_SPAN_BYTES = 500
_EVENT_BYTES = 150
_SLOT_BYTES = 40
_CONTAINERS = frozenset({dict, list})
_LENGTH = 8
_DECODED = 12
"""How many times its bytes a file of small spans takes in memory, at the most."""


def read_traces(
    path_or_paths: Paths,
    *,
    max_bytes: int = MAX_BYTES,
    memory_bytes: int = MEMORY_BYTES,
    on_problem: OnProblem | None = None,
) -> Iterator[Trace]:
    """Every trace of the input, in order of first appearance, with log records joined to their spans.

    Args:
        path_or_paths: files, folders (read recursively, sorted), glob patterns, `-` for stdin.
        max_bytes: limit on what one compressed file may unpack to, and on any single JSON document or message.
        memory_bytes: how much the spans of unfinished traces may take; more are kept in a temporary file. The
            largest trace is held in memory once whatever the budget.
        on_problem: told about each problem as it is found. Without it, problems that are not fatal are logged.

    Raises:
        InputError: without `on_problem`, after every trace: all fatal problems, one a line.
    """
    problems: list[Problem] = []
    report = on_problem or collect(problems)
    paths = as_list(path_or_paths)  # an iterator can be read once only
    items = read_spans(paths, max_bytes=max_bytes, on_problem=report)
    lonely: Counter[str] = Counter()
    count = 0
    budget = None if _is_small(paths, memory_bytes) else memory_bytes
    for trace_id, spans, logs in gathered(items, memory_bytes=budget):
        if spans:
            count += 1
            yield with_logs(trace_id, spans, logs)
        else:
            lonely[trace_id] = len(logs)
    if lonely:
        message = (
            f"{lonely.total()} log records of {len(lonely)} traces whose spans are not there: {in_short([*lonely])}"
        )
        report(Problem(in_short(paths), message, fatal=not count))
    raise_fatal(problems)


def _is_small(paths: list[str], memory_bytes: int) -> bool:
    """Whether these are plain files of a few MB, which need no budget: weighing each span takes a tenth of the time."""
    size = 0
    for path in paths:
        try:
            with Path(path).open("rb") as file:
                if compression_of(file.read(4)):
                    return False
                size += os.fstat(file.fileno()).st_size
        except OSError:  # a folder, a pattern, stdin, nothing at all
            return False
    return size * _DECODED <= memory_bytes


def with_logs(trace_id: str, spans: Iterable[Span], logs: Iterable[LogRecord]) -> Trace:
    """The trace, each log record an event of its span, by time and then arrival.

    Source: OTLP logs data model; records of one span may share a time or have none.
    """
    logs = list(logs)
    if not logs:
        return Trace(trace_id, spans)
    spans = list(spans)
    ids = {span.span_id for span in spans}
    events: dict[str, list[Event]] = {}
    seen: dict[tuple[str, str, int, int], list[Event]] = {}
    missing = repeated = 0
    for log in logs:
        event = log.event
        alike = seen.setdefault((log.span_id, event.name, event.time_ns, log.repeat), [])
        if log.span_id not in ids:
            missing += 1
        elif event.time_ns and event in alike:
            repeated += 1  # the same export sent twice, or in two files
        else:
            alike.append(event)
            events.setdefault(log.span_id, []).append(event)
    for index, span in enumerate(spans):
        found = events.get(span.span_id)
        if found:
            joined = sorted((*span.events, *found), key=lambda event: event.time_ns)
            spans[index] = structs.replace(span, events=tuple(joined))
    warnings = []
    if repeated:
        warnings.append(f"{repeated} duplicate log records dropped")
    if missing:
        warnings.append(f"{missing} log records name spans that are not in the trace")
    return Trace(trace_id, spans, warnings=warnings)


def gathered(
    items: Iterable[Span | LogRecord], *, memory_bytes: int | None = MEMORY_BYTES
) -> Iterator[tuple[str, list[Span], list[LogRecord]]]:
    """The spans and log records of each trace, in order of arrival, traces in order of first appearance.

    Without `memory_bytes` all stay in memory.
    """
    written: dict[str, int | None] = {}  # where the last chunk of each trace is, None before the first
    chunks: dict[str, _Chunk] = {}
    held = 0
    with _Overflow() as overflow:
        for item in items:
            trace_id = item.trace_id
            chunk = chunks.get(trace_id)
            if chunk is None:
                chunk = chunks[trace_id] = _Chunk(written.setdefault(trace_id, None))
            if isinstance(item, Span):
                chunk.spans.append(item)
            else:
                chunk.logs.append(item)
            if memory_bytes is None:
                continue
            held += _weight(item)
            if held > max(_LEAST_BYTES, memory_bytes - _TRACE_BYTES * len(written)):
                for trace_id, chunk in chunks.items():
                    written[trace_id] = overflow.write(chunk)
                chunks.clear()
                held = 0
        for trace_id, offset in written.items():
            spans, logs = overflow.read(offset)
            chunk = chunks.pop(trace_id, None)
            if chunk:
                spans += chunk.spans
                logs += chunk.logs
            yield trace_id, spans, logs


class _Chunk(Struct, array_like=True):
    """What one trace has in memory, or had when it moved to disk, and where its chunk before that one is."""

    before: int | None = None
    spans: list[Span] = []
    logs: list[LogRecord] = []


class _Overflow:
    """A temporary file of chunks; it is made when it is first written to."""

    __slots__ = ("_decoder", "_encoder", "_file", "_kept")

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._encoder = msgspec.msgpack.Encoder()
        self._decoder = msgspec.msgpack.Decoder(_Chunk)
        self._kept: dict[int, _Chunk] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file:
            self._file.close()

    def write(self, chunk: _Chunk) -> int:
        """Append a chunk and return where it is.

        Raises:
            InputError: the temporary file cannot be written.
        """
        try:
            data = self._encoder.encode(chunk)
        except (OverflowError, RecursionError, TypeError, ValueError):
            # Values that MessagePack cannot hold (integers beyond 64 bits, nesting as deep as calls go): rare enough
            # to stay in memory. Negative keys cannot be offsets.
            key = -1 - len(self._kept)
            self._kept[key] = chunk
            return key
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="gpa-")  # noqa: SIM115 - closed by __exit__
            offset = self._file.tell()
            self._file.write(len(data).to_bytes(_LENGTH, "big"))
            self._file.write(data)
        except OSError as error:
            raise InputError(f"{tempfile.gettempdir()}: cannot keep spans there: {error.strerror or error}") from error
        return offset

    def read(self, offset: int | None) -> tuple[list[Span], list[LogRecord]]:
        """What the chain of chunks that ends at `offset` holds, in the order it was written."""
        chunks: list[_Chunk] = []
        while offset is not None:
            if offset < 0:
                chunk = self._kept.pop(offset)
            else:
                chunk = self._decoder.decode(self._data(offset))
                _share_resources(chunk.spans)
            chunks.append(chunk)
            offset = chunk.before
        spans = [span for chunk in reversed(chunks) for span in chunk.spans]
        return spans, [log for chunk in reversed(chunks) for log in chunk.logs]

    def _data(self, offset: int) -> bytes:
        file = self._file
        assert file is not None  # only `write` makes offsets
        file.seek(offset)
        return file.read(int.from_bytes(file.read(_LENGTH), "big"))


def _share_resources(spans: list[Span]) -> None:
    """One resource for neighbours with equal ones, as it was before they were written."""
    for before, span in pairwise(spans):
        if span.resource == before.resource:
            structs.force_setattr(span, "resource", before.resource)


def _weight(item: Span | LogRecord) -> int:
    """About how many bytes the item takes in memory, its resource aside, which it shares with others."""
    if isinstance(item, LogRecord):
        return _SPAN_BYTES + _event_weight(item.event)
    weight = _SPAN_BYTES + _value_weight(item.attributes)
    if item.events:
        weight += sum(map(_event_weight, item.events))
    return weight


def _event_weight(event: Event) -> int:
    weight = _EVENT_BYTES + _value_weight(event.attributes)
    return weight if event.body is None else weight + getsizeof(event.body) + _value_weight(event.body)


def _value_weight(value: object) -> int:
    """What a container takes with everything in it, nothing for a plain value. Not recursive: values may be deep."""
    weight = 0
    stack = [value]
    while stack:
        held = stack.pop()
        if isinstance(held, dict):
            values: Collection[Any] = held.values()
        elif isinstance(held, list):
            values = held
        else:
            continue
        weight += _SLOT_BYTES * len(values) + sum(map(getsizeof, values))
        if not _CONTAINERS.isdisjoint(map(type, values)):
            stack.extend(values)
    return weight
