"""Spans captured in this process are what their OTLP export would be read as."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Link, SpanKind, Status, StatusCode

from gpa.errors import UsageError
from gpa.ingest.capture import Capture, capture
from gpa.ingest.files import read_spans
from gpa.ingest.sdk_spans import span_of
from gpa.ingest.spans import Span

TEXT = st.text(max_size=8)
NAMES = st.text("abc.", min_size=1, max_size=6)
VALUES = st.one_of(TEXT, st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), st.lists(TEXT))
ATTRIBUTES: st.SearchStrategy[dict[str, Any]] = st.dictionaries(NAMES, VALUES, max_size=4)


def exported(finished: tuple[ReadableSpan, ...], folder: Path) -> list[Span]:
    """The spans as the SDK's own OTLP encoder writes them and `gpa` reads them."""
    path = folder / "spans.pb"
    path.write_bytes(encode_spans(finished).SerializeToString())
    return [one for one in read_spans(path) if isinstance(one, Span)]


@given(
    name=st.text(min_size=1, max_size=8),
    attributes=ATTRIBUTES,
    events=st.lists(st.tuples(TEXT, ATTRIBUTES), max_size=3),
    kind=st.sampled_from(SpanKind),
    status=st.sampled_from(StatusCode),
    resource=ATTRIBUTES,
)
def test_a_span_is_what_its_export_is_read_as(
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    attributes: dict[str, Any],
    events: list[tuple[str, dict[str, Any]]],
    kind: SpanKind,
    status: StatusCode,
    resource: dict[str, Any],
) -> None:
    kept = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource(resource), shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    tracer = provider.get_tracer("scope", "1.2")
    with tracer.start_as_current_span("parent") as parent:
        links = [Link(parent.get_span_context(), attributes)]
        with tracer.start_as_current_span(name, kind=kind, attributes=attributes, links=links) as span:
            for event, about in events:
                span.add_event(event, about)
            span.set_status(Status(status, "why" if status is StatusCode.ERROR else None))
    finished = kept.get_finished_spans()
    expected = exported(finished, tmp_path_factory.mktemp("otlp"))
    assert sorted(map(span_of, finished), key=lambda one: one.span_id) == sorted(expected, key=lambda one: one.span_id)


def test_blocks_may_be_nested_and_what_ends_outside_is_complete() -> None:
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("t")
    with capture() as outer:
        tracer.start_span("before").end()
        with capture() as inner:
            late = tracer.start_span("within")
        late.set_attribute("a", 1)
        late.end()
        tracer.start_span("after").end()
    tracer.start_span("outside").end()
    assert [span.name for span in outer.spans] == ["before", "within", "after"]
    assert [(span.name, span.attributes, span.end_ns > 0) for span in inner.spans] == [("within", {"a": 1}, True)]


def test_it_is_a_trace_when_there_is_one() -> None:
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("t")
    with capture() as captured:
        with pytest.raises(UsageError, match="expected one captured trace, found 0: no span was recorded"):
            _ = captured.trace
        with tracer.start_as_current_span("root"):
            tracer.start_span("child").end()
        assert [span.name for span in captured.trace.spans] == ["root", "child"]
        assert captured.transcript.trace_id == captured.trace.trace_id
        tracer.start_span("another root").end()
        with pytest.raises(UsageError, match="expected one captured trace, found 2"):
            _ = captured.transcript
        assert len(captured.transcripts) == 2
        captured.clear()
        assert repr(captured) == "Capture(0 spans)"


def test_recorded_spans_are_held_the_same_way() -> None:
    spans = [Span("a" * 32, "b" * 16, name="one"), Span("c" * 32, "d" * 16, name="two")]
    assert [trace.trace_id for trace in Capture(spans).traces] == ["a" * 32, "c" * 32]


def test_without_the_sdk_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gpa.ingest.sdk_spans", None)
    with pytest.raises(UsageError, match=r"needs opentelemetry-sdk, .* pip install 'agent-gpa\[otel\]'"), capture():
        pass
