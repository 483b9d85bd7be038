"""OTLP traces and logs in protobuf, as on the wire. The only module of the formats that imports opentelemetry.

`TracesData`, `ExportTraceServiceRequest` and Tempo's `Trace` have the same field numbers, so one parser reads all;
a message does not say which signal it is, the wire types of its fields do. Messages are flattened as they are:
protobuf's own JSON conversion is slow and writes ids in base64.
Source: opentelemetry-proto, trace.proto, logs.proto, common.proto.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from gpa.errors import FormatError
from gpa.ingest.formats.format import Format, Note
from gpa.ingest.formats.otlp_json import event_name
from gpa.ingest.formats.parts import with_repeats
from gpa.ingest.formats.protobuf_text import with_valid_text
from gpa.ingest.formats.values import kind_of, status_of
from gpa.ingest.spans import Attributes, Event, Link, LogRecord, Scope, Span

if TYPE_CHECKING:
    from google.protobuf.message import Message
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
    from opentelemetry.proto.logs.v1 import logs_pb2
    from opentelemetry.proto.metrics.v1 import metrics_pb2
    from opentelemetry.proto.trace.v1 import trace_pb2

_Message = TypeVar("_Message", bound="Message")

_FIRST_FIELD = 0x0A
"""Tag of field 1, length-delimited: what every OTLP message begins with."""
_TRACE_BYTES = 16
_SPAN_BYTES = 8


def _matches(value: Any) -> bool:
    return isinstance(value, bytes) and (not value or value[0] == _FIRST_FIELD)


def _read(data: bytes, note: Note) -> Iterator[Span | LogRecord]:
    from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
    from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
    from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

    traces = _parsed(TracesData, data)
    if traces and any(span.start_time_unix_nano for span in _each_span(traces)):
        return _spans(traces, note)
    # What follows has no times: fields of the wrong wire type are skipped, so each signal parses as the others.
    logs = _parsed(LogsData, data)
    if logs and any(_is_log(record) for record in _each_log(logs)):
        return _logs(logs, note)
    metrics = _parsed(MetricsData, data)
    if metrics and any(_is_metric(metric) for metric in _each_metric(metrics)):
        return iter(())
    if traces and any(span.trace_id for span in _each_span(traces)):
        return _spans(traces, note)
    end, entry = _entries(data)
    inner = _parsed(TracesData, entry)  # Tempo's TraceByIDResponse wraps the trace once more
    if inner and any(span.trace_id for span in _each_span(inner)):
        return _spans(inner, note)
    if traces and not any(True for _ in _each_span(traces)):
        return iter(())
    if 0 < end < len(data):
        return _cut_off(data, end, note)
    valid_traces = None if traces else _with_valid_text(TracesData, data, note)
    if valid_traces and any(span.trace_id for span in _each_span(valid_traces)):
        return _spans(valid_traces, note)
    valid_logs = None if logs else _with_valid_text(LogsData, data, note)
    if valid_logs and any(_is_log(record) for record in _each_log(valid_logs)):
        return _logs(valid_logs, note)
    raise _not_otlp("of traces or logs", data, parsed=traces is not None)


def _cut_off(data: bytes, end: int, note: Note) -> Iterator[Span | LogRecord]:
    yield from _read(data[:end], note)
    raise FormatError(f"the message is cut off: {end} of {len(data)} bytes are whole")


def _not_otlp(what: str, data: bytes, *, parsed: bool) -> FormatError:
    found = "other bytes" if parsed else "bytes that cannot be parsed (damaged, or nested more than 100 levels deep)"
    return FormatError(f"expected an OTLP protobuf message {what}, found {len(data)} {found}")


def spans_of(data: bytes, note: Note) -> Iterator[Span]:
    """The spans of a message that is known to be of traces."""
    from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

    return _spans(_known(TracesData, data, note), note)


def logs_of(data: bytes, note: Note) -> Iterator[LogRecord]:
    """The log records that name a span, of a message that is known to be of logs."""
    from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

    return _logs(_known(LogsData, data, note), note)


def _known(message: type[_Message], data: bytes, note: Note) -> _Message:
    parsed = _parsed(message, data) or _with_valid_text(message, data, note)
    if parsed is None:
        raise _not_otlp(f"({message.__name__})", data, parsed=False)
    return parsed


def _parsed(message: type[_Message], data: bytes) -> _Message | None:
    from google.protobuf.message import DecodeError

    try:
        return message.FromString(data)
    except DecodeError:
        return None


def _with_valid_text(message: type[_Message], data: bytes, note: Note) -> _Message | None:
    """What was refused by the parser, if only for text that is no UTF-8."""
    valid = with_valid_text(message, data)
    parsed = None if valid is None else _parsed(message, valid)
    if parsed:
        note("invalid UTF-8 in protobuf was replaced by U+FFFD")
    return parsed


def _is_log(record: logs_pb2.LogRecord) -> bool:
    ids = len(record.trace_id) == _TRACE_BYTES and len(record.span_id) == _SPAN_BYTES
    return bool(record.time_unix_nano or record.observed_time_unix_nano or ids)


def _is_metric(metric: metrics_pb2.Metric) -> bool:
    """Its name stands where a span has its trace id, which is hardly ever all printable."""
    return metric.WhichOneof("data") is not None and metric.name.isascii() and metric.name.isprintable()


def _entries(data: bytes) -> tuple[int, bytes]:
    """How far the whole entries of field 1 reach, and the first of them."""
    at, end, entry = 0, 0, b""
    while at < len(data) and data[at] == _FIRST_FIELD:
        length, shift = 0, 0
        at += 1
        while at < len(data) and shift < 64:
            byte = data[at]
            at += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:  # the last byte of a varint
                break
        if at + length > len(data):
            break
        entry = entry or data[at : at + length]
        at += length
        end = at
    return end, entry


def _each_span(traces: trace_pb2.TracesData) -> Iterable[trace_pb2.Span]:
    return (span for held in traces.resource_spans for scoped in held.scope_spans for span in scoped.spans)


def _each_log(logs: logs_pb2.LogsData) -> Iterable[logs_pb2.LogRecord]:
    return (record for held in logs.resource_logs for scoped in held.scope_logs for record in scoped.log_records)


def _each_metric(metrics: metrics_pb2.MetricsData) -> Iterable[metrics_pb2.Metric]:
    return (metric for held in metrics.resource_metrics for scoped in held.scope_metrics for metric in scoped.metrics)


def _spans(traces: trace_pb2.TracesData, note: Note) -> Iterator[Span]:
    for held in traces.resource_spans:
        resource = _attributes(held.resource.attributes, note)
        for scoped in held.scope_spans:
            scope = _scope(scoped.scope)
            for message in scoped.spans:
                trace_id, span_id, parent_id = message.trace_id, message.span_id, message.parent_span_id
                if not (any(trace_id) and any(span_id)):
                    note("skipped a span without trace_id or span_id")
                    continue
                events, links, status = message.events, message.links, message.status
                dropped = message.dropped_attributes_count + message.dropped_events_count + message.dropped_links_count
                yield Span(
                    _hex(trace_id, _TRACE_BYTES),
                    _hex(span_id, _SPAN_BYTES),
                    _hex(parent_id, _SPAN_BYTES) if any(parent_id) else None,
                    message.name,
                    kind_of(message.kind),
                    message.start_time_unix_nano,
                    message.end_time_unix_nano,
                    status_of(status.code),
                    status.message,
                    _attributes(message.attributes, note),
                    tuple(_event(event, note) for event in events) if events else (),
                    tuple(_link(link, note) for link in links) if links else (),
                    resource,
                    scope,
                    dropped + sum(event.dropped_attributes_count for event in events) if events else dropped,
                )


def _logs(logs: logs_pb2.LogsData, note: Note) -> Iterator[LogRecord]:
    return with_repeats(_log_records(logs, note))


def _log_records(logs: logs_pb2.LogsData, note: Note) -> Iterator[LogRecord]:
    for record in _each_log(logs):
        if not (any(record.trace_id) and any(record.span_id)):
            note("skipped a log record that names no span (traceId and spanId)")
            continue
        attributes = _attributes(record.attributes, note)
        body = _value(record.body)
        # `time_unix_nano` may be absent, the observed time is set by whoever collected it (logs data model).
        time_ns = record.time_unix_nano or record.observed_time_unix_nano
        name = event_name(record.event_name, attributes, body)
        yield LogRecord(
            _hex(record.trace_id, _TRACE_BYTES),
            _hex(record.span_id, _SPAN_BYTES),
            Event(name, time_ns, attributes, body),
        )


def _hex(value: bytes, size: int) -> str:
    return value.hex() if len(value) == size else value.hex().zfill(2 * size)


def _event(event: trace_pb2.Span.Event, note: Note) -> Event:
    return Event(event.name, event.time_unix_nano, _attributes(event.attributes, note))


def _link(link: trace_pb2.Span.Link, note: Note) -> Link:
    trace_id, span_id = _hex(link.trace_id, _TRACE_BYTES), _hex(link.span_id, _SPAN_BYTES)
    return Link(trace_id, span_id, _attributes(link.attributes, note))


def _scope(scope: InstrumentationScope) -> Scope:
    return Scope(scope.name, scope.version)


def _attributes(pairs: Any, note: Note) -> Attributes:
    """Key and value pairs as a dict, each value plain."""
    if not pairs:
        return {}
    attributes: Attributes = {}
    for pair in pairs:
        value = pair.value
        kind = value.WhichOneof("value")
        attributes[pair.key] = value.string_value if kind == "string_value" else _value(value)
    if len(attributes) != len(pairs):
        note("attribute keys stand twice in one list: the last value is kept")
    return attributes


def _value(value: AnyValue) -> Any:
    """The plain value. The parser allows 100 levels of messages, so calls cannot run deep."""
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    if kind == "kvlist_value":
        return _plain(value.kvlist_value.values)
    # Nothing set is an empty value; indexes into a table of strings exist in profiles only (common.proto).
    return None if kind is None or kind.endswith("strindex") else getattr(value, kind)


def _plain(pairs: Iterable[KeyValue]) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


FORMAT = Format(
    name="otlp-protobuf",
    about="OTLP protobuf: a request body, the Collector's length-prefixed files, Tempo",
    matches=_matches,
    read=_read,
)
