"""OTLP in JSON: every spelling met in practice gives the same spans."""

from __future__ import annotations

import base64
import math
from typing import Any

import pytest

from gpa.ingest.formats import detect, otlp_json
from gpa.ingest.spans import Event, Link, LogRecord, Scope, Span

TRACE = "5b8efff798038103d269b633813fc60c"
SPAN = "eee19b7ec3c1b174"
PARENT = "eee19b7ec3c1b173"
TRACE_BYTES, SPAN_BYTES = bytes.fromhex(TRACE), bytes.fromhex(SPAN)
NS = 1_544_712_660_000_000_000


def base64_of(digits: str) -> str:
    return base64.b64encode(bytes.fromhex(digits)).decode()


def spans_of(record: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": [record]}]}]}


def read_json(value: Any) -> tuple[list[Any], list[str]]:
    notes: list[str] = []
    return list(otlp_json.FORMAT.read(value, notes.append)), notes


FULL = {
    "traceId": TRACE.upper(),
    "spanId": SPAN.upper(),
    "parentSpanId": PARENT.upper(),
    "name": "chat",
    "kind": 3,
    "startTimeUnixNano": str(NS),
    "endTimeUnixNano": str(NS + 5),
    "attributes": [{"key": "a", "value": {"stringValue": "b"}}],
    "droppedAttributesCount": 2,
    "droppedEventsCount": 1,
    "events": [
        {
            "timeUnixNano": str(NS + 1),
            "name": "e",
            "attributes": [{"key": "n", "value": {"intValue": "7"}}],
            "droppedAttributesCount": 4,
        }
    ],
    "links": [{"traceId": TRACE, "spanId": PARENT, "attributes": []}],
    "status": {"code": 2, "message": "no"},
}
EXPECTED = Span(
    trace_id=TRACE,
    span_id=SPAN,
    parent_id=PARENT,
    name="chat",
    kind="client",
    start_ns=NS,
    end_ns=NS + 5,
    status="error",
    status_message="no",
    attributes={"a": "b"},
    events=(Event(name="e", time_ns=NS + 1, attributes={"n": 7}),),
    links=(Link(trace_id=TRACE, span_id=PARENT),),
    dropped=7,
)


def snake(value: Any) -> Any:
    if isinstance(value, dict):
        return {"".join(f"_{c.lower()}" if c.isupper() else c for c in key): snake(held) for key, held in value.items()}
    return [snake(item) for item in value] if isinstance(value, list) else value


SPELLINGS: dict[str, Any] = {
    "as specified": spans_of(FULL),
    "a list of requests": [spans_of(FULL)],
    "numeric times": spans_of(FULL | {"startTimeUnixNano": NS, "endTimeUnixNano": NS + 5}),
    "base64 ids": spans_of(
        FULL | {"traceId": base64_of(TRACE), "spanId": base64_of(SPAN), "parentSpanId": base64_of(PARENT)}
    ),
    "enum names": spans_of(
        FULL | {"kind": "SPAN_KIND_CLIENT", "status": {"code": "STATUS_CODE_ERROR", "message": "no"}}
    ),
    "proto field names": snake(spans_of(FULL)),
    "proto field names in the span only": spans_of(snake(FULL)),
    "Tempo v1": {"batches": spans_of(FULL)["resourceSpans"]},
    "Tempo v2": {"trace": spans_of(FULL)},
    "Jaeger v3": {"result": spans_of(FULL)},
    "before proto 0.15": {"batches": [{"instrumentationLibrarySpans": [{"spans": [FULL]}]}]},
    "one ResourceSpans": {"resource": {}, "scopeSpans": [{"spans": [FULL]}]},
    "unknown fields": spans_of(FULL | {"traceState": "x", "flags": 257, "new": {"a": []}}) | {"more": 1},
}


@pytest.mark.parametrize("value", SPELLINGS.values(), ids=SPELLINGS)
def test_every_spelling_gives_the_same_span(value: Any) -> None:
    assert detect(value) is otlp_json.FORMAT
    assert read_json(value) == ([EXPECTED], [])


VALUES: dict[str, tuple[Any, Any]] = {
    "text": ({"stringValue": "x"}, "x"),
    "empty text": ({"stringValue": ""}, ""),
    "true": ({"boolValue": True}, True),
    "integer as text": ({"intValue": "-9007199254740993"}, -9007199254740993),
    "integer": ({"intValue": 3}, 3),
    "double": ({"doubleValue": 1.5}, 1.5),
    "infinity": ({"doubleValue": "-Infinity"}, -math.inf),
    "bytes": ({"bytesValue": "AAE="}, b"\x00\x01"),
    "array": ({"arrayValue": {"values": [{"intValue": "1"}, {}, {"stringValue": "s"}]}}, [1, None, "s"]),
    "empty array": ({"arrayValue": {}}, []),
    "map": ({"kvlistValue": {"values": [{"key": "k", "value": {"boolValue": False}}]}}, {"k": False}),
    "empty value": ({}, None),
    "members that are null": ({"stringValue": None, "intValue": "4", "boolValue": None}, 4),
    "proto field name": ({"string_value": "x"}, "x"),
    "integer that is none": ({"intValue": "many"}, "many"),
    "a plain value": ("bare", "bare"),
    "no value": (None, None),
    "a list where an object belongs": ([1], [1]),
}


@pytest.mark.parametrize(("value", "expected"), VALUES.values(), ids=VALUES)
def test_a_value_becomes_plain(value: Any, expected: Any) -> None:
    (span,), _ = read_json(spans_of(FULL | {"attributes": [{"key": "k", "value": value}]}))
    assert span.attributes == {"k": expected}
    assert type(span.attributes["k"]) is type(expected)


def test_not_a_number_comes_as_text() -> None:
    (span,), _ = read_json(spans_of(FULL | {"attributes": [{"key": "k", "value": {"doubleValue": "NaN"}}]}))
    assert math.isnan(span.attributes["k"])


ROOTS = {
    "absent": {},
    "empty": {"parentSpanId": ""},
    "zeros": {"parentSpanId": "0" * 16},
    "null": {"parentSpanId": None},
}


@pytest.mark.parametrize("parent", ROOTS.values(), ids=ROOTS)
def test_a_root_has_no_parent(parent: dict[str, Any]) -> None:
    (span,), notes = read_json(spans_of({"traceId": TRACE, "spanId": SPAN} | parent))
    assert (span, notes) == (Span(trace_id=TRACE, span_id=SPAN), [])


ODD: dict[str, tuple[dict[str, Any], str]] = {
    "no span id": (FULL | {"spanId": ""}, "skipped: span has no spanId (OTLP/JSON needs 16 hex digits)"),
    "no trace id": (FULL | {"traceId": "0" * 32}, "skipped: span has no traceId (OTLP/JSON needs 32 hex digits)"),
}


@pytest.mark.parametrize(("record", "note"), ODD.values(), ids=ODD)
def test_a_span_without_ids_is_skipped_with_a_note_and_its_neighbour_kept(record: dict[str, Any], note: str) -> None:
    value = {"resourceSpans": [{"scopeSpans": [{"spans": [record, FULL]}]}]}
    assert read_json(value) == ([EXPECTED], [note])


def test_ids_that_are_not_hex_are_kept_beside_derived_ones() -> None:
    (span,), notes = read_json(spans_of({"traceId": "run-1", "spanId": "step one"}))
    assert span.attributes == {"gpa.recorded.span_id": "step one", "gpa.recorded.trace_id": "run-1"}
    assert len(span.trace_id) == 32
    assert len(notes) == 1


def test_an_attribute_key_that_stands_twice_keeps_its_last_value_and_is_noted() -> None:
    pairs = [{"key": "k", "value": {"intValue": str(n)}} for n in range(3)]
    (span,), notes = read_json(spans_of(FULL | {"attributes": pairs}))
    assert span.attributes == {"k": 2}
    assert notes == ["attribute keys stand twice in one list: the last value is kept"]


@pytest.mark.parametrize(("value", "found"), [("x", "str"), (5, "int"), ([5], None), ({"a": "b"}, None), ("{}", None)])
def test_attributes_of_a_wrong_type_are_noted(value: Any, found: str | None) -> None:
    (span,), notes = read_json(spans_of(FULL | {"attributes": value}))
    assert span.attributes == (value if isinstance(value, dict) else {})
    if found:
        assert notes == [f"skipped attributes: expected a list of keys and values, found {found}"]


@pytest.mark.parametrize("code", [7, "BAD", 1.5, [2]], ids=repr)
def test_a_status_that_is_none_is_unset_and_noted(code: Any) -> None:
    (span,), notes = read_json(spans_of(FULL | {"status": {"code": code}}))
    assert span.status == "unset"
    assert [note.startswith("a status is none of OTLP's and counts as unset: ") for note in notes] == [True]


@pytest.mark.parametrize(
    "status", [{}, {"code": 0}, {"code": "STATUS_CODE_UNSET"}, {"code": None}, {"code": 0.0}, None]
)
def test_no_status_is_nothing_to_note(status: Any) -> None:
    (span,), notes = read_json(spans_of(FULL | {"status": status}))
    assert (span.status, notes) == ("unset", [])


def test_resource_and_scope_stand_on_every_span() -> None:
    service = [{"key": "service.name", "value": {"stringValue": "s"}}]
    value = {
        "resourceSpans": [
            {
                "resource": {"attributes": service},
                "scopeSpans": [{"scope": {"name": "lib", "version": "2"}, "spans": [FULL, FULL]}],
            }
        ]
    }
    spans, _ = read_json(value)
    assert [(span.resource, span.scope) for span in spans] == [({"service.name": "s"}, Scope("lib", "2"))] * 2


WRONG_TYPES: dict[str, Any] = {
    "resourceSpans is text": {"resourceSpans": "x"},
    "a resource is a number": {"resourceSpans": [3]},
    "scopeSpans is an object": {"resourceSpans": [{"scopeSpans": {}}]},
    "spans is a number": {"resourceSpans": [{"scopeSpans": [{"spans": 3}]}]},
    "a span is a list": {"resourceSpans": [{"scopeSpans": [{"spans": [[], FULL]}]}]},
    "a request is null": [spans_of(FULL), None],
    "events is text": spans_of(FULL | {"events": "x"}),
    "an event is null": spans_of(FULL | {"events": [None]}),
    "a link without ids": spans_of(FULL | {"links": [{}]}),
    "attributes is a number": spans_of(FULL | {"attributes": 3}),
    "an attribute without a key": spans_of(FULL | {"attributes": [{"value": {"stringValue": "v"}}]}),
    "keys are numbers": spans_of(FULL | {"attributes": [{"key": 1, "value": {"stringValue": "v"}}]}),
    "status is text": spans_of(FULL | {"status": "ERROR"}),
    "times are lists": spans_of(FULL | {"startTimeUnixNano": [], "endTimeUnixNano": {}}),
    "name is an object": spans_of(FULL | {"name": {}}),
    "dropped counts are text": spans_of(FULL | {"droppedAttributesCount": "many"}),
}


@pytest.mark.parametrize("value", WRONG_TYPES.values(), ids=WRONG_TYPES)
def test_wrong_types_never_raise(value: Any) -> None:
    spans, notes = read_json(value)
    assert spans or notes
    assert all(isinstance(key, str) for span in spans for key in span.attributes)


def test_a_value_nested_as_deep_as_a_parser_allows_is_kept() -> None:
    value: dict[str, Any] = {"stringValue": "x"}
    for _ in range(340):
        value = {"arrayValue": {"values": [value]}}
    (span,), _ = read_json(spans_of(FULL | {"attributes": [{"key": "k", "value": value}]}))
    assert span.attributes["k"]


LOG = {"traceId": TRACE, "spanId": SPAN, "timeUnixNano": str(NS), "body": {"stringValue": "text"}}
LOGS: dict[str, tuple[dict[str, Any], Event]] = {
    "eventName": (LOG | {"eventName": "gen_ai.choice"}, Event("gen_ai.choice", NS, {}, "text")),
    "event.name": (
        LOG | {"attributes": [{"key": "event.name", "value": {"stringValue": "gen_ai.choice"}}]},
        Event("gen_ai.choice", NS, {"event.name": "gen_ai.choice"}, "text"),
    ),
    "body": (LOG, Event("text", NS, {}, "text")),
    "observed time": (
        {"traceId": TRACE, "spanId": SPAN, "observedTimeUnixNano": str(NS), "body": {"kvlistValue": {"values": []}}},
        Event("", NS, {}, {}),
    ),
}


@pytest.mark.parametrize(("record", "event"), LOGS.values(), ids=LOGS)
def test_a_log_record_names_its_span_and_event(record: dict[str, Any], event: Event) -> None:
    value = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}
    assert detect(value) is otlp_json.FORMAT
    assert read_json(value) == ([LogRecord(TRACE, SPAN, event)], [])


def test_a_log_record_without_a_span_is_noted() -> None:
    value = {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": {"stringValue": "x"}}]}]}]}
    assert read_json(value) == ([], ["skipped a log record that names no span (traceId and spanId)"])


def test_metrics_are_recognised_and_ignored() -> None:
    value = {"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "m"}]}]}]}
    assert detect(value) is otlp_json.FORMAT
    assert read_json(value) == ([], [])


def test_tempo_says_when_a_trace_is_partial() -> None:
    _, notes = read_json({"trace": spans_of(FULL), "status": "PARTIAL"})
    assert notes == ["the trace is incomplete: its store says status PARTIAL"]
