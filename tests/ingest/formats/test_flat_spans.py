"""Flat spans: every spelling of the same span, log events, sessions."""

from __future__ import annotations

from typing import Any

import pytest

from gpa.ingest.formats.flat_spans import FORMAT
from gpa.ingest.formats.parts import RECORDED_SPAN_ID, RECORDED_TRACE_ID
from gpa.ingest.spans import Event, LogRecord, Scope, Span

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN = "00f067aa0ba902b7"
PARENT = "00000000000000aa"
NS = 1_742_402_482_123_456_789
SNAKE: dict[str, Any] = {
    "trace_id": TRACE,
    "span_id": SPAN,
    "parent_span_id": PARENT,
    "name": "op",
    "kind": "INTERNAL",
    "start_time": NS,
    "end_time": NS + 5,
    "attributes": {"k": "v"},
    "scope": {"name": "n", "version": "1"},
    "status": {"code": "ERROR", "message": "bad"},
    "span_events": [{"event_name": "e", "timestamp": NS, "attributes": {"a": 1}}],
    "resource": {"attributes": {"service.name": "s"}},
}
CAMEL: dict[str, Any] = {
    "traceId": TRACE,
    "spanId": SPAN,
    "parentSpanId": PARENT,
    "name": "op",
    "kind": 1,
    "startTimeUnixNano": str(NS),
    "endTimeUnixNano": str(NS + 5),
    "attributes": [{"key": "k", "value": {"stringValue": "v"}}],
    "scope": {"name": "n", "version": "1"},
    "status": {"code": 2, "message": "bad"},
    "events": [{"name": "e", "timeUnixNano": NS, "attributes": [{"key": "a", "value": {"intValue": "1"}}]}],
    "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "s"}}]},
}
FLAT: dict[str, Any] = {
    "trace_id": TRACE.upper(),
    "span_id": "0x" + SPAN,
    "parent_id": PARENT,
    "span_name": "op",
    "span_kind": "SPAN_KIND_INTERNAL",
    "start_time": "2025-03-19T16:41:22.123456789Z",
    "duration_ns": 5,
    "span_attributes": '{"k": "v"}',
    "scope_name": "n",
    "scope_version": "1",
    "status_code": "Error",
    "status_message": "bad",
    "events": [{"Name": "e", "Timestamp": "2025-03-19T16:41:22.123456789Z", "Attributes": {"a": 1}}],
    "resource_attributes": {"service.name": "s"},
}
EXPECTED = Span(
    trace_id=TRACE,
    span_id=SPAN,
    parent_id=PARENT,
    name="op",
    kind="internal",
    start_ns=NS,
    end_ns=NS + 5,
    status="error",
    status_message="bad",
    attributes={"k": "v"},
    events=(Event("e", NS, {"a": 1}),),
    resource={"service.name": "s"},
    scope=Scope("n", "1"),
)


def read(value: Any) -> tuple[list[Span | LogRecord], list[str]]:
    noted: list[str] = []
    assert FORMAT.matches(value)
    return list(FORMAT.read(value, noted.append)), noted


@pytest.mark.parametrize("record", [SNAKE, CAMEL, FLAT], ids=["snake case", "camel case", "one level"])
@pytest.mark.parametrize("wrap", [lambda r: r, lambda r: [r], lambda r: {"spans": [r]}], ids=["line", "list", "spans"])
def test_every_spelling_reads_the_same(wrap: Any, record: dict[str, Any]) -> None:
    assert read(wrap(record)) == ([EXPECTED], [])


def test_the_session_around_spans_is_theirs() -> None:
    (span,), _ = read({"session_id": "s-1", "span_count": 1, "spans": [SNAKE]})
    assert isinstance(span, Span)
    assert span.attributes == {"k": "v", "session.id": "s-1"}
    own = SNAKE | {"attributes": {"session.id": "own"}}
    (span,), _ = read({"session_id": "s-1", "spans": [own]})
    assert isinstance(span, Span)
    assert span.attributes == {"session.id": "own"}


def test_the_trace_id_around_spans_is_theirs() -> None:
    bare = {key: value for key, value in SNAKE.items() if key != "trace_id"}
    assert read({"trace_id": TRACE, "spans": [bare]}) == ([EXPECTED], [])


def test_ids_that_are_not_hex_are_kept_beside_derived_ones() -> None:
    parent = SNAKE | {"trace_id": "live-trace-1", "span_id": "chain-root", "parent_span_id": None}
    child = SNAKE | {"trace_id": "live-trace-1", "span_id": "llm-1", "parent_span_id": "chain-root"}
    (first, second), noted = read([parent, child])
    assert noted == []
    assert isinstance(first, Span)
    assert isinstance(second, Span)
    assert second.parent_id == first.span_id
    assert second.attributes == {"k": "v", RECORDED_TRACE_ID: "live-trace-1", RECORDED_SPAN_ID: "llm-1"}


def test_a_log_event_of_cloudwatch_is_joined_to_its_span() -> None:
    record = {
        "resource": {"attributes": {}},
        "scope": {"name": "n"},
        "observedTimeUnixNano": NS,
        "severityNumber": 9,
        "body": {"input": {"messages": []}},
        "attributes": {"event.name": "n"},
        "traceId": TRACE,
        "spanId": SPAN,
    }
    event = Event("n", NS, {"event.name": "n"}, {"input": {"messages": []}})
    assert read([SNAKE, record]) == ([EXPECTED, LogRecord(TRACE, SPAN, event)], [])


def test_content_in_the_body_of_an_event_is_kept() -> None:
    (span,), _ = read(SNAKE | {"span_events": [{"event_name": "e", "body": {"output": 1}}]})
    assert isinstance(span, Span)
    assert span.events == (Event("e", 0, {}, {"output": 1}),)


def test_a_bad_span_costs_only_itself() -> None:
    spans, noted = read([SNAKE, SNAKE | {"span_id": ""}, "text"])
    assert spans == [EXPECTED]
    assert noted == [
        "skipped span 'op': it has no span id or no trace id",
        "skipped an entry of type str among the spans (expected an object)",
    ]
