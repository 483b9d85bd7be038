"""Flat span objects with plain attributes, in a list, under `spans`, or one a line.

The reader for what has no format of its own. Written by strands-evals (`start_time` in integer nanoseconds,
`span_events`), AWS CloudWatch (`aws/spans` records, log events of the runtime group) and scripts that dump spans from
any SDK. Keys may be snake or camel case. Ask it last: it takes any object that names a trace and a span.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import structs

from gpa.ingest.formats.format import Format, Note
from gpa.ingest.formats.parts import dropped_by, event_of, events_of, links_of, recorded_ids, resource_of, scope_of
from gpa.ingest.formats.values import (
    SPAN_DIGITS,
    TRACE_DIGITS,
    any_id,
    attributes_of,
    epoch_ns,
    first,
    kind_of,
    shown,
    status_of,
    text_of,
    time_ns,
)
from gpa.ingest.spans import Attributes, LogRecord, Span

_TRACE = ("trace_id", "traceId")
_SPAN = ("span_id", "spanId")
_PARENT = ("parent_span_id", "parentSpanId", "parent_id", "parentId")
_NAME = ("name", "span_name", "spanName", "operation_name", "operationName")
_START = ("start_time", "startTime", "start_timestamp", "start", "timestamp")
_END = ("end_time", "endTime", "end_timestamp", "end")
_START_NANO = ("start_time_unix_nano", "startTimeUnixNano", "start_time_ns", "start_ns")
_END_NANO = ("end_time_unix_nano", "endTimeUnixNano", "end_time_ns", "end_ns")
_DURATION_NANO = ("durationNano", "duration_nano", "duration_ns")
_ATTRIBUTES = ("attributes", "span_attributes", "spanAttributes")
_EVENTS = ("span_events", "spanEvents", "events")
_LINKS = ("span_links", "spanLinks", "links")
_RESOURCE = ("resource", "resource_attributes", "resourceAttributes")
_SCOPE = ("scope", "instrumentation_scope", "instrumentationScope", "instrumentation_library")
_SEVERITY = frozenset(
    {"severityNumber", "severity_number", "severityText", "observedTimeUnixNano", "observed_timestamp"}
)


def _matches(value: Any) -> bool:
    if isinstance(value, dict):
        spans = value.get("spans")
        if isinstance(spans, list) and spans:
            return _has(spans[0], _SPAN) and (_has(spans[0], _TRACE) or _has(value, _TRACE))
    if isinstance(value, list):
        value = value[0] if value else None
    return _has(value, _TRACE) and _has(value, _SPAN)


def _has(value: Any, keys: tuple[str, ...]) -> bool:
    return isinstance(value, dict) and not value.keys().isdisjoint(keys)


def _read(value: Any, note: Note) -> Iterator[Span | LogRecord]:
    around: dict[str, Any] = {}
    if isinstance(value, dict) and isinstance(value.get("spans"), list):
        around, value = value, value["spans"]
    session = first(around, "session_id", "sessionId")
    for record in value if isinstance(value, list) else [value]:
        if not isinstance(record, dict):
            note(f"skipped an entry of type {type(record).__name__} among the spans (expected an object)")
            continue
        recorded_trace = first(record, *_TRACE) or first(around, *_TRACE)
        recorded_span = first(record, *_SPAN)
        trace_id = any_id(recorded_trace, TRACE_DIGITS)
        span_id = any_id(recorded_span, SPAN_DIGITS)
        if trace_id is None or span_id is None:
            note(f"skipped span {shown(first(record, *_NAME))}: it has no span id or no trace id")
            continue
        if _is_log(record):
            yield _log(record, trace_id, span_id)
            continue
        attributes = attributes_of(first(record, *_ATTRIBUTES))
        if session and "session.id" not in attributes:
            attributes = attributes | {"session.id": session}
        if span_id != recorded_span or trace_id != recorded_trace:
            attributes = attributes | recorded_ids(recorded_trace, recorded_span)
        yield _span(record, trace_id, span_id, attributes)


def _span(record: dict[str, Any], trace_id: str, span_id: str, attributes: Attributes) -> Span:
    status = first(record, "status", "status_code", "statusCode")
    message = first(record, "status_message", "statusMessage", "status_description")
    if isinstance(status, dict):
        message = first(status, "message", "description", "status_message") or message
        status = first(status, "code", "status_code", "statusCode")
    start_ns = _time(record, _START_NANO, _START)
    end_ns = _time(record, _END_NANO, _END)
    if not end_ns and start_ns:
        lasted = first(record, *_DURATION_NANO)
        end_ns = start_ns + time_ns(lasted) if isinstance(lasted, int | str) else 0
    return Span(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=any_id(first(record, *_PARENT), SPAN_DIGITS),
        name=text_of(first(record, *_NAME)),
        kind=kind_of(first(record, "kind", "span_kind", "spanKind")),
        start_ns=start_ns,
        end_ns=end_ns,
        status=status_of(status),
        status_message=text_of(message),
        attributes=attributes,
        events=events_of(first(record, *_EVENTS)),
        links=links_of(first(record, *_LINKS)),
        resource=resource_of(first(record, *_RESOURCE)),
        scope=scope_of(
            first(record, *_SCOPE) or first(record, "scope_name", "scopeName"),
            first(record, "scope_version", "scopeVersion"),
        ),
        dropped=dropped_by(record, "dropped_{}_count", "dropped{}Count"),
    )


def _is_log(record: dict[str, Any]) -> bool:
    """CloudWatch keeps message content in log events with the span's ids: they have a body and no beginning."""
    return "body" in record and (not record.keys().isdisjoint(_SEVERITY) or not _time(record, _START_NANO, _START[:-1]))


def _log(record: dict[str, Any], trace_id: str, span_id: str) -> LogRecord:
    event = event_of(record)
    if not event.time_ns:
        event = structs.replace(event, time_ns=time_ns(first(record, "observedTimeUnixNano", "observed_timestamp")))
    if not event.name:
        event = structs.replace(event, name=text_of(event.attributes.get("event.name")))
    return LogRecord(trace_id=trace_id, span_id=span_id, event=event)


def _time(record: dict[str, Any], nano: tuple[str, ...], other: tuple[str, ...]) -> int:
    """Nanoseconds where the key says so, else whatever unit the number's size says."""
    value = first(record, *nano)
    return epoch_ns(first(record, *other)) if value is None else time_ns(value)


FORMAT = Format(
    name="flat-spans",
    about="flat span objects with trace and span ids (strands-evals, CloudWatch, own dumps)",
    matches=_matches,
    read=_read,
)
