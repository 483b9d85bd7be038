"""The spans that code records in this process, as traces: no exporter, no files, no network.

Log records, in which some instrumentations put message content, are not captured.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from gpa.errors import UsageError
from gpa.ingest.spans import Span, Trace
from gpa.ingest.transcript import Transcript, transcribe

Key = tuple[int, int]
"""Trace id and span id as the SDK has them."""

NO_SPANS = "no span was recorded while the code ran (is it instrumented? is a sampler dropping everything?)"


class Capture:
    """Spans of this process, or recorded ones, as traces. Spans that have not ended yet are there without an end."""

    def __init__(self, recorded: Iterable[Span] = ()) -> None:
        self._recorded = tuple(recorded)
        self._live: dict[Key, Any] = {}
        self.active = False
        """Whether spans are still added."""

    @property
    def spans(self) -> tuple[Span, ...]:
        """Every span so far, in the order they started."""
        if not self._live:
            return self._recorded
        from gpa.ingest.sdk_spans import span_of

        return (*self._recorded, *map(span_of, tuple(self._live.values())))

    @property
    def traces(self) -> tuple[Trace, ...]:
        """The spans by trace, in the order of their first spans."""
        by_trace: dict[str, list[Span]] = {}
        for span in self.spans:
            by_trace.setdefault(span.trace_id, []).append(span)
        return tuple(Trace(trace_id, spans) for trace_id, spans in by_trace.items())

    @property
    def trace(self) -> Trace:
        """The one trace there is. Raises `UsageError` when there is none or several."""
        traces = self.traces
        if len(traces) != 1:
            raise UsageError(f"expected one captured trace, found {len(traces)}{'' if traces else ': ' + NO_SPANS}")
        return traces[0]

    @property
    def transcripts(self) -> tuple[Transcript, ...]:
        """The traces as transcripts."""
        return tuple(map(transcribe, self.traces))

    @property
    def transcript(self) -> Transcript:
        """The one trace as a transcript. Raises `UsageError` when there is none or several."""
        return transcribe(self.trace)

    def clear(self) -> None:
        """Forget the spans so far."""
        self._recorded = ()
        self._live.clear()

    def add(self, key: Key, span: Any) -> None:
        """Keep a span of the SDK; the last state of it counts."""
        self._live[key] = span

    def __repr__(self) -> str:
        return f"Capture({len(self._recorded) + len(self._live)} spans)"


@contextmanager
def capture() -> Iterator[Capture]:
    """What code records as long as the block lasts, in any thread or task; blocks may be nested.

    Raises `UsageError` when the OpenTelemetry SDK is not installed, or the process has a tracer provider that takes no
    span processors.
    """
    try:
        from gpa.ingest.sdk_spans import installed
    except ImportError as error:
        raise UsageError(
            "capturing spans needs opentelemetry-sdk, which is not installed: pip install 'agent-gpa[otel]'"
        ) from error
    router = installed()
    captured = Capture()
    captured.active = True
    router.begin(captured)
    try:
        yield captured
    finally:
        captured.active = False
        router.end(captured)
