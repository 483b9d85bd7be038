"""JavaScript SDK objects: private fields, HrTime, resources, kinds counted from zero."""

from __future__ import annotations

from typing import Any

import pytest

from gpa.ingest.formats.javascript import FORMAT
from gpa.ingest.spans import Event, Link, LogRecord, Scope, Span

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN = "00f067aa0ba902b7"
PARENT = "00000000000000aa"
CONTEXT = {"traceId": TRACE, "spanId": SPAN, "traceFlags": 1}
SECOND = 1_742_402_482
RECORD: dict[str, Any] = {
    "_spanContext": CONTEXT,
    "kind": 2,
    "parentSpanContext": {"traceId": TRACE, "spanId": PARENT},
    "attributes": {"k": "v"},
    "links": [{"context": "[Circular]"}, {"context": CONTEXT, "attributes": {"l": 1}}],
    "events": [{"name": "e", "attributes": {"a": 1}, "time": [SECOND, 7], "droppedAttributesCount": 0}],
    "startTime": [SECOND, 1],
    "endTime": [SECOND, 3],
    "resource": {"_rawAttributes": [["service.name", "s"]], "_asyncAttributesPending": False},
    "instrumentationScope": {"name": "n", "version": "1"},
    "_droppedAttributesCount": 4,
    "name": "op",
    "status": {"code": 2, "message": "bad"},
}
LOG: dict[str, Any] = {
    "resource": {},
    "instrumentationScope": {"name": "n"},
    "attributes": {"event.name": "gemini_cli.api_request"},
    "_hrTime": [SECOND, 0],
    "_spanContext": CONTEXT,
    "_body": "text",
}


def read(value: Any) -> tuple[list[Span | LogRecord], list[str]]:
    noted: list[str] = []
    assert FORMAT.matches(value)
    return list(FORMAT.read(value, noted.append)), noted


def one(**fields: Any) -> Span:
    (span,), noted = read(RECORD | fields)
    assert noted == []
    assert isinstance(span, Span)
    return span


def test_every_field_of_a_span_is_kept() -> None:
    assert one() == Span(
        trace_id=TRACE,
        span_id=SPAN,
        parent_id=PARENT,
        name="op",
        kind="client",
        start_ns=SECOND * 10**9 + 1,
        end_ns=SECOND * 10**9 + 3,
        status="error",
        status_message="bad",
        attributes={"k": "v"},
        events=(Event("e", SECOND * 10**9 + 7, {"a": 1}),),
        links=(Link(TRACE, SPAN, {"l": 1}),),
        resource={"service.name": "s"},
        scope=Scope("n", "1"),
        dropped=4,
    )


def test_sdk_1_names() -> None:
    old = {key: value for key, value in RECORD.items() if key not in {"parentSpanContext", "instrumentationScope"}}
    old |= {"parentSpanId": PARENT, "instrumentationLibrary": {"name": "n"}, "resource": {"_attributes": {"a": "b"}}}
    (span,), _ = read(old)
    assert isinstance(span, Span)
    assert (span.parent_id, span.scope.name, span.resource) == (PARENT, "n", {"a": "b"})


@pytest.mark.parametrize(("code", "kind"), list(enumerate(["internal", "server", "client", "producer", "consumer"])))
def test_kinds_count_from_zero(code: int, kind: str) -> None:
    assert one(kind=code).kind == kind


def test_what_the_console_exporter_prints() -> None:
    record = {
        "resource": {"attributes": {"service.name": "s"}},
        "instrumentationScope": {"name": "n"},
        "traceId": TRACE,
        "parentSpanContext": {"spanId": PARENT},
        "name": "op",
        "id": SPAN,
        "kind": 0,
        "timestamp": SECOND * 10**6 + 5,
        "duration": 7.5,
        "attributes": {},
        "status": {"code": 0},
        "events": [],
        "links": [],
    }
    (span,), noted = read(record)
    assert noted == []
    assert isinstance(span, Span)
    assert (span.span_id, span.parent_id, span.resource) == (SPAN, PARENT, {"service.name": "s"})
    assert (span.start_ns, span.duration_ns) == (SECOND * 10**9 + 5_000, 7_500)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {
            "_hrTime": None,
            "hrTime": [SECOND, 0],
            "_spanContext": None,
            "spanContext": CONTEXT,
            "_body": None,
            "body": "text",
        },
    ],
    ids=["SDK 2", "SDK 1"],
)
def test_a_log_record_is_joined_by_its_context(fields: dict[str, Any]) -> None:
    event = Event("gemini_cli.api_request", SECOND * 10**9, LOG["attributes"], "text")
    assert read(LOG | fields) == ([LogRecord(TRACE, SPAN, event)], [])


def test_a_log_record_of_no_span_is_noted() -> None:
    assert read(LOG | {"_spanContext": None}) == ([], ["skipped log record 'gemini_cli.api_request': it names no span"])


def test_what_is_no_object_of_the_sdk_is_noted() -> None:
    spans, noted = read([RECORD, RECORD | {"_spanContext": {}}, 5])
    assert len(spans) == 1
    assert noted == [
        "skipped span 'op': its spanId or traceId is not hex",
        "skipped an entry of type int (expected an object of the JavaScript SDK)",
    ]


def test_metrics_are_passed_over() -> None:
    assert read({"resource": {}, "scopeMetrics": []}) == ([], [])
