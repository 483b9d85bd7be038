"""Objects of the Python SDK's console exporters (`ReadableSpan.to_json`), usually pretty-printed one after the other.

Source: opentelemetry-sdk, `trace/__init__.py` and `_logs/_internal/__init__.py`. Ids have a `0x` prefix, times are
ISO 8601 with microseconds, and the instrumentation scope is not written at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpa.ingest.formats.format import Format, Note
from gpa.ingest.formats.parts import events_of, links_of, resource_of
from gpa.ingest.formats.values import (
    SPAN_DIGITS,
    TRACE_DIGITS,
    attributes_of,
    dict_of,
    first,
    hex_id,
    kind_of,
    shown,
    status_of,
    text_of,
    time_ns,
)
from gpa.ingest.spans import Event, LogRecord, Span


def _matches(value: Any) -> bool:
    if isinstance(value, list):
        value = value[0] if value else None
    return _is_span(value) or _is_log(value)


def _is_span(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("context"), dict)
        and "trace_id" in value["context"]
        and "span_kind" not in value  # Phoenix
        and ("kind" in value or "parent_id" in value)
    )


def _is_log(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() >= {"body", "severity_number", "trace_id", "span_id"}


def _read(value: Any, note: Note) -> Iterator[Span | LogRecord]:
    for item in value if isinstance(value, list) else [value]:
        if _is_span(item):
            read: Span | LogRecord | None = _span(item)
        elif _is_log(item):
            read = _log(item)
        else:
            note(f"skipped an entry of type {type(item).__name__} (expected a span or log record of the Python SDK)")
            continue
        if read is None:
            name = item.get("name") or item.get("event_name")
            note(f"skipped record {shown(name)}: its span_id or trace_id is not hex")
        else:
            yield read


def _span(record: dict[str, Any]) -> Span | None:
    context = record["context"]
    trace_id = hex_id(context.get("trace_id"), TRACE_DIGITS)
    span_id = hex_id(context.get("span_id"), SPAN_DIGITS)
    if trace_id is None or span_id is None:
        return None
    status = dict_of(record.get("status")) or {"status_code": record.get("status")}
    return Span(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=hex_id(record.get("parent_id"), SPAN_DIGITS),
        name=text_of(record.get("name")),
        kind=kind_of(record.get("kind")),
        start_ns=time_ns(record.get("start_time")),
        end_ns=time_ns(record.get("end_time")),
        status=status_of(first(status, "status_code", "code")),
        status_message=text_of(first(status, "description", "message")),
        attributes=attributes_of(record.get("attributes")),
        events=events_of(record.get("events")),
        links=links_of(record.get("links")),
        resource=resource_of(record.get("resource")),
    )


def _log(record: dict[str, Any]) -> LogRecord | None:
    trace_id = hex_id(record.get("trace_id"), TRACE_DIGITS)
    span_id = hex_id(record.get("span_id"), SPAN_DIGITS)
    if trace_id is None or span_id is None:
        return None
    attributes = attributes_of(record.get("attributes"))
    return LogRecord(
        trace_id=trace_id,
        span_id=span_id,
        event=Event(
            name=text_of(first(record, "event_name") or attributes.get("event.name")),
            time_ns=time_ns(record.get("timestamp")) or time_ns(record.get("observed_timestamp")),
            attributes=attributes,
            body=record.get("body"),
        ),
    )


FORMAT = Format(
    name="console",
    about="Python SDK console exporter: spans and log records, pretty-printed or one a line",
    matches=_matches,
    read=_read,
)
