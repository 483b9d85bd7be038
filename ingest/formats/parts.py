"""Events, links and scopes of JSON formats that write them as plain objects, under the names each of them chose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import structs

from gpa.ingest.formats.values import (
    SPAN_DIGITS,
    TRACE_DIGITS,
    any_id,
    attributes_of,
    dict_of,
    epoch_ns,
    first,
    hex_id,
    list_of,
    text_of,
    time_ns,
)
from gpa.ingest.spans import Attributes, Event, Link, LogRecord, Scope

RECORDED_TRACE_ID = "gpa.recorded.trace_id"
RECORDED_SPAN_ID = "gpa.recorded.span_id"
"""Attributes that keep an id which was not hex: the span carries an id derived from it."""

_NO_SCOPE = Scope()
_NANO = ("timeUnixNano", "time_unix_nano", "timestamp_ns")


def recorded_ids(trace_id: object, span_id: object) -> Attributes:
    """Attributes that keep those ids which are not hex, so that a person finds the span again in the file."""
    kept: Attributes = {}
    if hex_id(trace_id, TRACE_DIGITS) is None:
        kept[RECORDED_TRACE_ID] = trace_id
    if hex_id(span_id, SPAN_DIGITS) is None:
        kept[RECORDED_SPAN_ID] = span_id
    return kept


def events_of(value: object) -> tuple[Event, ...]:
    """The events of a list (or of its JSON text), in order; what is no object becomes an event's body."""
    if not value:
        return ()
    return tuple(event_of(item) if isinstance(item, dict) else Event(name="", body=item) for item in list_of(value))


def event_of(item: dict[str, Any]) -> Event:
    """One event; keys may be capitalised (Patronus), snake case (OTLP by field name) or camel case."""
    nanoseconds = first(item, *_NANO)
    return Event(
        name=text_of(first(item, "name", "Name", "event_name", "eventName")),
        time_ns=epoch_ns(first(item, "timestamp", "Timestamp", "time"))
        if nanoseconds is None
        else time_ns(nanoseconds),
        attributes=attributes_of(first(item, "attributes", "Attributes", "event_attributes")),
        body=item.get("body"),
    )


def with_repeats(logs: Iterable[LogRecord]) -> Iterator[LogRecord]:
    """The log records of one request, each that is said again told from the first: only whole requests are retried."""
    seen: dict[tuple[str, str, int], list[Event]] = {}
    for log in logs:
        if not log.event.time_ns:  # nobody takes it for one sent again
            yield log
            continue
        alike = seen.setdefault((log.span_id, log.event.name, log.event.time_ns), [])
        repeat = alike.count(log.event) if alike else 0
        alike.append(log.event)
        yield structs.replace(log, repeat=repeat) if repeat else log


def links_of(value: object) -> tuple[Link, ...]:
    """The links of a list (or of its JSON text) that name a span, wherever the ids stand in them."""
    if not value:
        return ()
    found = []
    for item in list_of(value):
        if not isinstance(item, dict):
            continue
        context = dict_of(item.get("context")) or item
        trace_id = any_id(first(context, "trace_id", "traceId", "traceID"), TRACE_DIGITS)
        span_id = any_id(first(context, "span_id", "spanId", "spanID"), SPAN_DIGITS)
        if trace_id and span_id:
            found.append(Link(trace_id=trace_id, span_id=span_id, attributes=attributes_of(item.get("attributes"))))
    return tuple(found)


def scope_of(value: object, version: object = None) -> Scope:
    """The scope of `{name, version}`, or of a bare name with its version beside it."""
    name = value
    if isinstance(value, dict):
        name, version = value.get("name"), value.get("version")
    return Scope(name=text_of(name), version=text_of(version)) if name or version else _NO_SCOPE


def scope_of_tags(attributes: Attributes) -> Scope:
    """The scope that a format without one carries as tags, taken out of the attributes.

    OpenTelemetry to non-OTLP mapping; `otel.library.*` is the name until 1.15, exporters write both for years.
    """
    library = attributes.pop("otel.library.name", None), attributes.pop("otel.library.version", None)
    name, version = attributes.pop("otel.scope.name", None), attributes.pop("otel.scope.version", None)
    return scope_of(name or library[0], version or library[1])


def dropped_by(record: Mapping[str, Any], *patterns: str) -> int:
    """How many attributes, events and links the producer says it dropped, under keys such as `dropped_{}_count`."""
    total = 0
    for pattern in patterns:
        for what in ("attributes", "events", "links", "Attributes", "Events", "Links"):
            count = record.get(pattern.format(what))
            if isinstance(count, str) and count.isdecimal():
                count = int(count[:9])
            if isinstance(count, int):
                total += max(0, count)
    return total


def error_text(value: object) -> str:
    """What an API says under `error` or `errors`: a text, an object with a message, or a list of those."""
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, dict):
        value = first(value, "msg", "message", "detail", "title", "error") or value
    return text_of(value) if value else ""


def resource_of(value: object) -> dict[str, Any]:
    """The resource's attributes, whether they stand in `attributes` or are the object itself."""
    resource = dict_of(value)
    inner = resource.get("attributes")
    return attributes_of(inner) if isinstance(inner, dict | list) else resource
