"""OTLP in protobuf: every message of traces or logs is read, and holds what the same in JSON would."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord as LogMessage
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData, ResourceLogs, ScopeLogs
from opentelemetry.proto.metrics.v1.metrics_pb2 import Gauge, Metric, MetricsData, ResourceMetrics, ScopeMetrics
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, TracesData
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage

from gpa.errors import FormatError
from gpa.ingest.formats import detect, otlp, otlp_json
from gpa.ingest.spans import Event, LogRecord, Span

TRACE = "5b8efff798038103d269b633813fc60c"
SPAN = "eee19b7ec3c1b174"
PARENT = "eee19b7ec3c1b173"
TRACE_BYTES, SPAN_BYTES = bytes.fromhex(TRACE), bytes.fromhex(SPAN)
NS = 1_544_712_660_000_000_000


def read_json(value: Any) -> tuple[list[Any], list[str]]:
    notes: list[str] = []
    return list(otlp_json.FORMAT.read(value, notes.append)), notes


def read_protobuf(data: bytes) -> tuple[list[Any], list[str]]:
    notes: list[str] = []
    return list(otlp.FORMAT.read(data, notes.append)), notes


def any_message(value: Any) -> AnyValue:
    match value:
        case None:
            return AnyValue()
        case bool():
            return AnyValue(bool_value=value)
        case int():
            return AnyValue(int_value=value)
        case float():
            return AnyValue(double_value=value)
        case str():
            return AnyValue(string_value=value)
        case bytes():
            return AnyValue(bytes_value=value)
        case list():
            return AnyValue(array_value=ArrayValue(values=map(any_message, value)))
        case _:
            return AnyValue(kvlist_value=KeyValueList(values=pairs_message(value)))


def pairs_message(attributes: dict[str, Any]) -> list[KeyValue]:
    return [KeyValue(key=key, value=any_message(value)) for key, value in attributes.items()]


def any_json(value: Any) -> dict[str, Any]:
    match value:
        case None:
            return {}
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case str():
            return {"stringValue": value}
        case bytes():
            return {"bytesValue": base64.b64encode(value).decode()}
        case list():
            return {"arrayValue": {"values": [any_json(item) for item in value]}}
        case _:
            return {"kvlistValue": {"values": pairs_json(value)}}


def pairs_json(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": any_json(value)} for key, value in attributes.items()]


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
    | st.binary(max_size=20)
)
KEYS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
ATTRIBUTES = st.dictionaries(
    KEYS,
    st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3)),
    max_size=4,
)


@settings(max_examples=60, deadline=None)
@given(attributes=ATTRIBUTES, resource=ATTRIBUTES, body=ATTRIBUTES)
def test_protobuf_and_json_of_any_values_read_equal(
    attributes: dict[str, Any], resource: dict[str, Any], body: dict[str, Any]
) -> None:
    message = SpanMessage(
        trace_id=TRACE_BYTES,
        span_id=SPAN_BYTES,
        name="n",
        kind=SpanMessage.SPAN_KIND_SERVER,
        start_time_unix_nano=NS,
        attributes=pairs_message(attributes),
        events=[SpanMessage.Event(name="e", attributes=pairs_message(body))],
    )
    held = ResourceSpans(scope_spans=[ScopeSpans(spans=[message])])
    held.resource.attributes.extend(pairs_message(resource))
    record = {
        "traceId": TRACE,
        "spanId": SPAN,
        "name": "n",
        "kind": 2,
        "startTimeUnixNano": str(NS),
        "attributes": pairs_json(attributes),
        "events": [{"name": "e", "attributes": pairs_json(body)}],
    }
    value = {"resourceSpans": [{"resource": {"attributes": pairs_json(resource)}, "scopeSpans": [{"spans": [record]}]}]}
    expected = Span(
        trace_id=TRACE,
        span_id=SPAN,
        name="n",
        kind="server",
        start_ns=NS,
        attributes=attributes,
        events=(Event("e", 0, body),),
        resource=resource,
    )
    assert read_json(value) == ([expected], [])
    assert read_protobuf(TracesData(resource_spans=[held]).SerializeToString()) == ([expected], [])


def traces(count: int = 1) -> TracesData:
    spans = [SpanMessage(name=f"{n}", trace_id=TRACE_BYTES, span_id=bytes([n + 1] * 8)) for n in range(count)]
    return TracesData(resource_spans=[ResourceSpans(scope_spans=[ScopeSpans(spans=[span])]) for span in spans])


def logs() -> LogsData:
    record = LogMessage(
        trace_id=TRACE_BYTES, span_id=SPAN_BYTES, event_name="e", body=AnyValue(string_value="b"), time_unix_nano=NS
    )
    return LogsData(resource_logs=[ResourceLogs(scope_logs=[ScopeLogs(log_records=[record])])])


def metrics() -> MetricsData:
    metric = Metric(name="m" * 16, description="d" * 8, gauge=Gauge())
    return MetricsData(resource_metrics=[ResourceMetrics(scope_metrics=[ScopeMetrics(metrics=[metric])])])


def names(items: list[Any]) -> list[str]:
    return [item.event.name if isinstance(item, LogRecord) else item.name for item in items]


SIGNALS: dict[str, tuple[bytes, list[str]]] = {
    "traces": (traces(2).SerializeToString(), ["0", "1"]),
    "messages joined": (traces(1).SerializeToString() * 2, ["0", "0"]),
    "logs": (logs().SerializeToString(), ["e"]),
    "metrics": (metrics().SerializeToString(), []),
    "nothing": (b"", []),
    "a resource without spans": (TracesData(resource_spans=[ResourceSpans()]).SerializeToString(), []),
    "Tempo's TraceByIDResponse": (
        b"\x0a" + bytes([len(traces().SerializeToString())]) + traces().SerializeToString(),
        ["0"],
    ),
}


@pytest.mark.parametrize(("data", "expected"), SIGNALS.values(), ids=SIGNALS)
def test_a_message_tells_its_signal(data: bytes, expected: list[str]) -> None:
    assert detect(data) is otlp.FORMAT
    items, notes = read_protobuf(data)
    assert (names(items), notes) == (expected, [])


def test_a_cut_off_message_gives_its_whole_part() -> None:
    data = traces(3).SerializeToString()
    items: list[Any] = []
    message = f"the message is cut off: {len(data) * 2 // 3} of {len(data) - 5} bytes are whole"
    with pytest.raises(FormatError, match=message):
        items.extend(otlp.FORMAT.read(data[:-5], print))
    assert names(items) == ["0", "1"]


def test_a_span_message_without_ids_is_skipped_with_a_note() -> None:
    data = traces(2)
    data.resource_spans[0].scope_spans[0].spans[0].span_id = b""
    items, notes = read_protobuf(data.SerializeToString())
    assert (names(items), notes) == (["1"], ["skipped a span without trace_id or span_id"])


GARBAGE: dict[str, Callable[[], bytes]] = {
    "random after the tag": lambda: b"\x0a\x05hello",
    "only a tag": lambda: b"\x0a",
    "endless length": lambda: b"\x0a" + b"\xff" * 20,
}


def with_wrong_byte(message: TracesData | LogsData) -> bytes:
    """The message with the first byte of a two-byte letter of a text gone wrong."""
    return message.SerializeToString().replace("\u00fc".encode(), b"\xff\xfc")


def test_text_that_is_no_utf8_is_replaced_as_in_json() -> None:
    held = traces(2)
    held.resource_spans[1].resource.attributes.add(key="k").value.array_value.values.add(string_value="Z\u00fcrich")
    held.resource_spans[1].scope_spans[0].spans[0].name = "\u00fc"
    items, notes = read_protobuf(with_wrong_byte(held))
    assert names(items) == ["0", "\ufffd\ufffd"]
    assert items[1].resource == {"k": ["Z\ufffd\ufffdrich"]}
    assert notes == ["invalid UTF-8 in protobuf was replaced by U+FFFD"]


@pytest.mark.parametrize("where", ["body", "attribute"])
def test_logs_with_text_that_is_no_utf8_are_read(where: str) -> None:
    held = logs()
    record = held.resource_logs[0].scope_logs[0].log_records[0]
    value = record.body if where == "body" else record.attributes.add(key="k").value
    value.string_value = "\u00fc" * 80
    (item,), notes = read_protobuf(with_wrong_byte(held))
    assert "\ufffd" * 160 in (item.event.body, item.event.attributes.get("k"))
    assert notes == ["invalid UTF-8 in protobuf was replaced by U+FFFD"]
    assert list(otlp.logs_of(with_wrong_byte(held), print)) == [item]


def test_a_message_nested_too_deeply_for_the_parser_is_told_from_other_bytes() -> None:
    held = traces()
    value = held.resource_spans[0].resource.attributes.add(key="k").value
    for _ in range(60):
        value = value.array_value.values.add()
    with pytest.raises(FormatError, match="bytes that cannot be parsed"):
        read_protobuf(held.SerializeToString())
    somebody_elses = TracesData(resource_spans=[ResourceSpans(scope_spans=[ScopeSpans(spans=[SpanMessage(name="n")])])])
    with pytest.raises(FormatError, match="found 9 other bytes"):
        read_protobuf(somebody_elses.SerializeToString())


@pytest.mark.parametrize("make", GARBAGE.values(), ids=GARBAGE)
def test_bytes_that_are_no_message_raise(make: Callable[[], bytes]) -> None:
    with pytest.raises(FormatError, match="expected an OTLP protobuf message of traces or logs, found"):
        read_protobuf(make())
