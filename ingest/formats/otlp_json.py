"""OTLP traces and logs in JSON: resources, scopes, spans, log records.

Reads what the specification says and what is met in practice: proto field names (`resource_spans`), base64 ids,
numeric times, enum names, `instrumentationLibrarySpans` from before proto 0.15, and the wrappers of Tempo and Jaeger.
Source: opentelemetry-proto, docs/specification.md, "JSON Protobuf Encoding". Metrics are recognised and ignored.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from gpa.ingest.formats.format import Format, Note
from gpa.ingest.formats.parts import RECORDED_SPAN_ID, RECORDED_TRACE_ID, scope_of, with_repeats
from gpa.ingest.formats.values import (
    SPAN_DIGITS,
    TRACE_DIGITS,
    any_id,
    any_value,
    attributes_of,
    first,
    hex_id,
    is_status,
    kind_of,
    status_of,
    text_of,
    time_ns,
)
from gpa.ingest.spans import Attributes, Event, Link, LogRecord, Scope, Span, Status

_SPANS = ("resourceSpans", "resource_spans", "batches")
_LOGS = ("resourceLogs", "resource_logs")
_METRICS = ("resourceMetrics", "resource_metrics")
_SCOPES = frozenset({"scopeSpans", "scope_spans", "instrumentationLibrarySpans", "instrumentation_library_spans"})
_SIGNALS = frozenset((*_SPANS, *_LOGS, *_METRICS, *_SCOPES))
_WRAPPERS = ("result", "trace")
"""Jaeger's API v3 puts OTLP into `result`, Tempo's API v2 into `trace`."""

_DROPPED = ("droppedAttributesCount", "droppedEventsCount", "droppedLinksCount")
_FIXED64_DIGITS = 20
_NO_STATUS: tuple[Status, str] = ("unset", "")


def event_name(name: object, attributes: Attributes, body: object) -> str:
    """The name of a log record's event: its own field, the older attribute, or a body that is a text.

    Source: logs data model, `EventName` (proto 1.6); before that semantic conventions had `event.name`.
    """
    return text_of(name) or text_of(attributes.get("event.name")) or (body if isinstance(body, str) else "")


def _matches(value: Any) -> bool:
    if isinstance(value, list):
        value = value[0] if value else None
    if not isinstance(value, dict):
        return False
    if not _SIGNALS.isdisjoint(value):
        return True
    return any(isinstance(value.get(key), dict) and not _SIGNALS.isdisjoint(value[key]) for key in _WRAPPERS)


def _read(value: Any, note: Note) -> Iterator[Span | LogRecord]:
    for document in value if isinstance(value, list) else (value,):
        if not isinstance(document, dict):
            note(f"skipped a {type(document).__name__} among OTLP requests (expected an object)")
            continue
        held = document
        for key in _WRAPPERS:
            if isinstance(held.get(key), dict):
                held = held[key]
        if "PARTIAL" in str(document.get("status", "")):  # Tempo API v2, `status` beside `trace`
            note("the trace is incomplete: its store says status PARTIAL")
        for key in _SPANS:
            if key in held:
                yield from _all_spans(held[key], key, note)
        for key in _LOGS:
            if key in held:
                yield from with_repeats(_all_logs(held[key], key, note))
        if not _SCOPES.isdisjoint(held):  # one ResourceSpans by itself
            yield from _all_spans([held], "resourceSpans", note)


def _all_spans(resources: object, where: str, note: Note) -> Iterator[Span]:
    for holder in _objects(resources, where, note):
        resource = _resource(holder, note)
        found = first(holder, *_SCOPES)
        for scoped in _objects(found, "scopeSpans", note):
            scope = _scope(scoped)
            yield from _spans(_objects(scoped.get("spans"), "spans", note), resource, scope, note)


def _all_logs(resources: object, where: str, note: Note) -> Iterator[LogRecord]:
    for holder in _objects(resources, where, note):
        found = first(holder, "scopeLogs", "scope_logs", "instrumentationLibraryLogs", "instrumentation_library_logs")
        for scoped in _objects(found, "scopeLogs", note):
            for record in _objects(first(scoped, "logRecords", "log_records", "logs"), "logRecords", note):
                log = _log(record, note)
                if log is not None:
                    yield log


def _spans(records: list[dict[str, Any]], resource: Attributes, scope: Scope, note: Note) -> Iterator[Span]:
    """The spans of one scope. This loop is most of the cost of reading: look-ups are plain, rare cases leave it."""
    if records and "_" in "".join(records[0]):
        records = [_camel(record) for record in records]
    recorded_trace: object = None
    trace_id: str | None = None
    parents: dict[object, str | None] = {}
    for record in records:
        if record.get("traceId") != recorded_trace:  # nearly always that of the span before
            recorded_trace = record.get("traceId")
            trace_id = hex_id(recorded_trace, TRACE_DIGITS)
        span_id = hex_id(record.get("spanId"), SPAN_DIGITS)
        attributes = _attributes(record.get("attributes"), note)
        if trace_id is None or span_id is None:
            recorded_trace = None
            trace_id, span_id, attributes = _odd_ids(record, attributes, note)
            if trace_id is None or span_id is None:
                continue
        parent = record.get("parentSpanId")
        if not isinstance(parent, str):
            parent_id = any_id(parent, SPAN_DIGITS)
        elif parent in parents:
            parent_id = parents[parent]
        else:
            parent_id = parents[parent] = any_id(parent, SPAN_DIGITS)
        status = record.get("status")
        code, message = _status(status, note) if status else _NO_STATUS
        events = record.get("events")
        links = record.get("links")
        yield Span(
            trace_id,
            span_id,
            parent_id,
            text_of(record.get("name")),
            kind_of(record.get("kind")),
            _nanoseconds(record.get("startTimeUnixNano")),
            _nanoseconds(record.get("endTimeUnixNano")),
            code,
            message,
            attributes,
            _events(events, note) if events else (),
            _links(links, note) if links else (),
            resource,
            scope,
            _dropped(record, events),
        )


def _log(recorded: dict[str, Any], note: Note) -> LogRecord | None:
    record = _camel(recorded)
    trace_id = any_id(record.get("traceId"), TRACE_DIGITS)
    span_id = any_id(record.get("spanId"), SPAN_DIGITS)
    if trace_id is None or span_id is None:
        note("skipped a log record that names no span (traceId and spanId)")
        return None
    attributes = _attributes(record.get("attributes"), note)
    body = any_value(record.get("body"))
    # `timeUnixNano` may be absent, `observedTimeUnixNano` is set by whoever collected it (logs data model).
    time = time_ns(record.get("timeUnixNano")) or time_ns(record.get("observedTimeUnixNano"))
    name = event_name(first(record, "eventName", "name"), attributes, body)
    return LogRecord(trace_id, span_id, Event(name, time, attributes, body))


def _odd_ids(record: dict[str, Any], attributes: Attributes, note: Note) -> tuple[str | None, str | None, Attributes]:
    """Ids of a span of which one is missing (then None) or no hex (then derived, and the recorded ones kept)."""
    trace_id = any_id(record.get("traceId"), TRACE_DIGITS)
    span_id = any_id(record.get("spanId"), SPAN_DIGITS)
    if trace_id is None:
        note("skipped: span has no traceId (OTLP/JSON needs 32 hex digits)")
    elif span_id is None:
        note("skipped: span has no spanId (OTLP/JSON needs 16 hex digits)")
    else:
        note("span ids are not hex: derived ones stand for them, the recorded ones are in gpa.recorded.*")
        kept = {RECORDED_SPAN_ID: record.get("spanId"), RECORDED_TRACE_ID: record.get("traceId")}
        attributes = attributes | kept
    return trace_id, span_id, attributes


def _resource(holder: dict[str, Any], note: Note) -> Attributes:
    resource = holder.get("resource")
    return _attributes(resource.get("attributes"), note) if isinstance(resource, dict) else {}


def _scope(scoped: dict[str, Any]) -> Scope:
    return scope_of(first(scoped, "scope", "instrumentationLibrary", "instrumentation_library"))


def _status(status: object, note: Note) -> tuple[Status, str]:
    code, message = (status.get("code"), status.get("message")) if isinstance(status, dict) else (status, None)
    found = status_of(code)
    if found == "unset" and not is_status(code):
        note(f"a status is none of OTLP's and counts as unset: {text_of(code)[:40]!r}")
    return found, text_of(message)


def _events(value: object, note: Note) -> tuple[Event, ...]:
    found = []
    for recorded in _objects(value, "events", note):
        record = _camel(recorded)
        attributes = _attributes(record.get("attributes"), note)
        found.append(Event(text_of(record.get("name")), time_ns(record.get("timeUnixNano")), attributes))
    return tuple(found)


def _links(value: object, note: Note) -> tuple[Link, ...]:
    found = []
    for recorded in _objects(value, "links", note):
        record = _camel(recorded)
        trace_id = any_id(record.get("traceId"), TRACE_DIGITS)
        span_id = any_id(record.get("spanId"), SPAN_DIGITS)
        if trace_id and span_id:
            found.append(Link(trace_id, span_id, _attributes(record.get("attributes"), note)))
        else:
            note("skipped a link that names no span")
    return tuple(found)


def _nanoseconds(value: object) -> int:
    """`time_ns`, with the specified form (fixed64 as decimal text) ahead of the others."""
    if isinstance(value, str) and value.isdecimal() and len(value) <= _FIXED64_DIGITS:
        return int(value)
    return time_ns(value)


def _dropped(record: dict[str, Any], events: object) -> int:
    """What the SDK says it left out of the span and its events; not a number counts as none."""
    total = 0
    for key in _DROPPED:
        if key in record:
            total += _count(record[key])
    if isinstance(events, list):
        for event in events:
            if isinstance(event, dict):
                total += _count(first(event, "droppedAttributesCount", "dropped_attributes_count"))
    return total


def _count(value: object) -> int:
    text = str(value)
    return int(text) if text.isdecimal() and len(text) <= _FIXED64_DIGITS else 0


def _attributes(pairs: Any, note: Note) -> Attributes:
    """A `{key, value}` list as a dict, each value plain."""
    if not pairs:
        return {}
    attributes: Attributes = {}
    try:
        for pair in pairs:
            value = pair["value"]
            if "stringValue" in value:
                held = value["stringValue"]
            elif "intValue" in value:
                held = int(value["intValue"])
            else:
                held = None
            attributes[pair["key"]] = any_value(value) if held is None else held
        "".join(attributes)  # a TypeError unless every key is a text
    except (AttributeError, KeyError, TypeError, ValueError):
        return _odd_attributes(pairs, note)
    if len(attributes) != len(pairs):
        note("attribute keys stand twice in one list: the last value is kept")
    return attributes


def _odd_attributes(pairs: object, note: Note) -> Attributes:
    """Attributes whose list is not as specified: an object of plain values, JSON text, missing values."""
    if not isinstance(pairs, list):
        attributes = attributes_of(pairs)
        if not attributes and pairs != "{}":
            note(f"skipped attributes: expected a list of keys and values, found {type(pairs).__name__}")
        return attributes
    attributes = {}
    for pair in pairs:
        if isinstance(pair, dict) and "key" in pair:
            attributes[text_of(pair["key"])] = any_value(pair.get("value"))
        else:
            note("skipped an attribute without a key")
    return attributes


def _objects(value: object, where: str, note: Note) -> list[dict[str, Any]]:
    """The objects of a list; what else is in it, or stands in its place, is noted."""
    if value is None:
        return []
    if not isinstance(value, list):
        note(f"skipped {where}: expected a list, found {type(value).__name__}")
        return []
    for item in value:
        if not isinstance(item, dict):
            note(f"skipped a {type(item).__name__} in {where} (expected an object)")
            return [item for item in value if isinstance(item, dict)]
    return value


def _camel(record: dict[str, Any]) -> dict[str, Any]:
    """The record with `lowerCamelCase` keys: proto field names are not valid OTLP/JSON, collectors read them."""
    if "_" not in "".join(record):
        return record
    return {_camel_key(key): value for key, value in record.items()}


@lru_cache(maxsize=256)
def _camel_key(key: str) -> str:
    head, *rest = key.split("_")
    return head + "".join(word.capitalize() for word in rest)


FORMAT = Format(
    name="otlp",
    about="OTLP JSON: SDKs, the Collector's file exporter, Tempo v1 and v2, Jaeger v3",
    matches=_matches,
    read=_read,
)
