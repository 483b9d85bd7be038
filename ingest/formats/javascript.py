"""Span and log record objects of the JavaScript SDK, dumped with `JSON.stringify` (Gemini CLI's `telemetry.outfile`).

Source: the objects themselves, SDK 1.x and 2.x. Private fields carry the content (`_spanContext`, `_body`), times are
`[seconds, nanoseconds]`, a resource keeps pairs in `_rawAttributes`, and a reference seen before is the text
`[Circular]`. Metrics of the same file are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpa.ingest.formats.format import Format, Note
from gpa.ingest.formats.parts import dropped_by, events_of, links_of, scope_of
from gpa.ingest.formats.values import (
    SPAN_DIGITS,
    TRACE_DIGITS,
    attributes_of,
    dict_of,
    epoch_ns,
    first,
    hex_id,
    list_of,
    shown,
    status_of,
    text_of,
    time_ns,
)
from gpa.ingest.spans import Attributes, Event, LogRecord, Span

_KINDS = ("internal", "server", "client", "producer", "consumer")
"""`SpanKind` of the JavaScript API: one less than OTLP's numbers."""
_CONTEXT = ("_spanContext", "spanContext")
_LOG_TIME = ("_hrTime", "hrTime")
_SCOPE = ("instrumentationScope", "instrumentationLibrary")


def _matches(value: Any) -> bool:
    if isinstance(value, list):
        value = value[0] if value else None
    return _is_metrics(value) or _is_log(value) or _is_span(value)


def _is_metrics(value: Any) -> bool:
    return isinstance(value, dict) and "scopeMetrics" in value


def _is_log(value: Any) -> bool:
    return isinstance(value, dict) and not value.keys().isdisjoint(_LOG_TIME) and "attributes" in value


def _is_span(value: Any) -> bool:
    if not isinstance(value, dict) or "attributes" not in value:
        return False
    if not value.keys().isdisjoint(_CONTEXT):
        return "startTime" in value
    # What `ConsoleSpanExporter` prints: ids at the top, times in microseconds.
    return "traceId" in value and "id" in value and not value.keys().isdisjoint((*_SCOPE, "resource"))


def _read(value: Any, note: Note) -> Iterator[Span | LogRecord]:
    for item in value if isinstance(value, list) else [value]:
        if _is_metrics(item):
            continue
        if _is_log(item):
            record = _log(item)
            if record is None:
                name = dict_of(item.get("attributes")).get("event.name")
                note(f"skipped log record {shown(name)}: it names no span")
            else:
                yield record
        elif _is_span(item):
            span = _span(item)
            if span is None:
                note(f"skipped span {shown(item.get('name'))}: its spanId or traceId is not hex")
            else:
                yield span
        else:
            note(f"skipped an entry of type {type(item).__name__} (expected an object of the JavaScript SDK)")


def _span(record: dict[str, Any]) -> Span | None:
    context = dict_of(first(record, *_CONTEXT)) or {"traceId": record.get("traceId"), "spanId": record.get("id")}
    trace_id = hex_id(context.get("traceId"), TRACE_DIGITS)
    span_id = hex_id(context.get("spanId"), SPAN_DIGITS)
    if trace_id is None or span_id is None:
        return None
    parent = dict_of(record.get("parentSpanContext")).get("spanId") or first(record, "parentSpanId", "parentId")
    status = dict_of(record.get("status"))
    start_ns = epoch_ns(first(record, "startTime", "timestamp"))
    end_ns = epoch_ns(record.get("endTime"))
    if not end_ns and start_ns and isinstance(record.get("duration"), int | float):
        end_ns = start_ns + max(0, int(record["duration"] * 1_000))
    return Span(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=hex_id(parent, SPAN_DIGITS),
        name=text_of(record.get("name")),
        kind=_kind(record.get("kind")),
        start_ns=start_ns,
        end_ns=end_ns,
        status=status_of(status.get("code")),
        status_message=text_of(status.get("message")),
        attributes=attributes_of(record.get("attributes")),
        events=events_of(record.get("events")),
        links=links_of(record.get("links")),
        resource=_resource(record.get("resource")),
        scope=scope_of(first(record, *_SCOPE)),
        dropped=dropped_by(record, "_dropped{}Count", "dropped{}Count"),
    )


def _log(record: dict[str, Any]) -> LogRecord | None:
    context = dict_of(first(record, *_CONTEXT))
    trace_id = hex_id(context.get("traceId"), TRACE_DIGITS)
    span_id = hex_id(context.get("spanId"), SPAN_DIGITS)
    if trace_id is None or span_id is None:
        return None
    attributes = attributes_of(record.get("attributes"))
    return LogRecord(
        trace_id=trace_id,
        span_id=span_id,
        event=Event(
            name=text_of(first(record, "_eventName", "eventName") or attributes.get("event.name")),
            time_ns=time_ns(first(record, *_LOG_TIME)),
            attributes=attributes,
            body=first(record, "_body", "body"),
        ),
    )


def _kind(value: object) -> str:
    if isinstance(value, int) and 0 <= value < len(_KINDS):
        return _KINDS[value]
    return text_of(value).lower()


def _resource(value: object) -> Attributes:
    """SDK 2.x keeps pairs in `_rawAttributes`, 1.x a dict in `_attributes` or `_syncAttributes`."""
    resource = dict_of(value)
    pairs = list_of(resource.get("_rawAttributes"))
    if pairs:
        return {text_of(pair[0]): pair[1] for pair in pairs if isinstance(pair, list) and len(pair) == 2}
    return attributes_of(first(resource, "_attributes", "_syncAttributes", "attributes"))


FORMAT = Format(
    name="javascript",
    about="JavaScript SDK objects dumped as JSON (Gemini CLI's telemetry outfile)",
    matches=_matches,
    read=_read,
)
