"""TRAIL / Patronus: `{trace_id, spans: [...]}` with spans nested in `child_spans`, ISO times and durations.

Source: the files of patronus-ai/trail-benchmark. Attribute values are strings throughout, token counts too.
Patronus' own decorator records a call's arguments and result only as log records (`logs`), which become events.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gpa.ingest.formats.format import Format, Note
from gpa.ingest.formats.parts import events_of, links_of, recorded_ids
from gpa.ingest.formats.values import (
    SPAN_DIGITS,
    TRACE_DIGITS,
    any_id,
    attributes_of,
    kind_of,
    list_of,
    shown,
    status_of,
    text_of,
    time_ns,
)
from gpa.ingest.spans import Attributes, Event, Scope, Span

_DURATION = re.compile(
    r"P(?:(\d{1,6})W)?(?:(\d{1,6})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,12})(?:[.,](\d{1,9})\d*)?S)?)?"
).fullmatch


def duration_ns(value: object) -> int:
    """Nanoseconds of an ISO 8601 duration (`PT1M48.75533S`), 0 when it is none; years and months have no length."""
    match = _DURATION(value) if isinstance(value, str) else None
    if match is None:
        return 0
    weeks, days, hours, minutes, seconds, fraction = match.groups("0")
    whole = ((int(weeks) * 7 + int(days)) * 24 + int(hours)) * 3600 + int(minutes) * 60 + int(seconds)
    return whole * 1_000_000_000 + int(fraction.ljust(9, "0"))


def _matches(value: Any) -> bool:
    if isinstance(value, list):
        value = value[0] if value else None
    if not isinstance(value, dict):
        return False
    spans = value.get("spans")
    if isinstance(spans, list):
        return bool(spans) and isinstance(spans[0], dict) and ("child_spans" in spans[0] or "span_name" in spans[0])
    return "child_spans" in value and "span_id" in value


def _read(value: Any, note: Note) -> Iterator[Span]:
    resources = _Resources()
    scopes: dict[tuple[object, object], Scope] = {}
    # A stack, not recursion: spans may nest deeper than Python calls can.
    stack: list[tuple[Any, str | None, object]] = []
    for document in reversed(value if isinstance(value, list) else [value]):
        if isinstance(document, dict):
            top = document["spans"] if isinstance(document.get("spans"), list) else [document]
            stack.extend((record, None, document.get("trace_id")) for record in reversed(top))
    while stack:
        record, parent_id, trace_id = stack.pop()
        if not isinstance(record, dict):
            note(f"skipped an entry of type {type(record).__name__} among the spans (expected an object)")
            continue
        span = _span(record, parent_id, trace_id, resources, scopes)
        if span is None:
            note(f"skipped span {shown(record.get('span_name'))}: it has no span_id or no trace_id")
        else:
            yield span
        children = record.get("child_spans")
        if children and isinstance(children, list):
            inside = span.span_id if span else parent_id
            trace_id = record.get("trace_id") or trace_id
            stack.extend((child, inside, trace_id) for child in reversed(children))


def _span(
    record: dict[str, Any],
    parent_id: str | None,
    trace_id: object,
    resources: _Resources,
    scopes: dict[tuple[object, object], Scope],
) -> Span | None:
    recorded_trace = record.get("trace_id") or trace_id
    recorded_span = record.get("span_id")
    trace = any_id(recorded_trace, TRACE_DIGITS)
    span_id = any_id(recorded_span, SPAN_DIGITS)
    if trace is None or span_id is None:
        return None
    attributes = attributes_of(record.get("span_attributes"))
    if span_id != recorded_span or trace != recorded_trace:
        attributes = attributes | recorded_ids(recorded_trace, recorded_span)
    start_ns = time_ns(record.get("timestamp"))
    lasted_ns = duration_ns(record.get("duration"))
    events = events_of(record.get("events"))
    logs = record.get("logs")
    return Span(
        trace_id=trace,
        span_id=span_id,
        parent_id=any_id(record.get("parent_span_id"), SPAN_DIGITS) or parent_id,
        name=text_of(record.get("span_name")),
        kind=kind_of(record.get("span_kind")),
        start_ns=start_ns,
        end_ns=start_ns + lasted_ns if start_ns else 0,
        status=status_of(record.get("status_code")),
        status_message=text_of(record.get("status_message")),
        attributes=attributes,
        events=(*events, *map(_log, list_of(logs))) if logs else events,
        links=links_of(record.get("links")),
        resource=resources.of(record),
        scope=_scope(record, scopes),
    )


def _log(record: Any) -> Event:
    """A log record as an event: its body holds `function.name`, `function.arguments`, `function.output`."""
    if not isinstance(record, dict):
        return Event(name="log", body=record)
    return Event(
        name="log",
        time_ns=time_ns(record.get("timestamp")),  # without a zone: UTC, as the span's times are
        attributes=attributes_of(record.get("log_attributes")),
        body=record.get("body"),
    )


def _scope(record: dict[str, Any], scopes: dict[tuple[object, object], Scope]) -> Scope:
    name, version = text_of(record.get("scope_name")), text_of(record.get("scope_version"))
    scope = scopes.get((name, version))
    if scope is None:
        scope = scopes[name, version] = Scope(name=name, version=version)
    return scope


class _Resources:
    """One dict for spans in a row with equal resources: a file repeats the same resource on every span."""

    __slots__ = ("_service", "_source", "_value")

    def __init__(self) -> None:
        self._source: object = None
        self._service: object = None
        self._value: Attributes = {}

    def of(self, record: dict[str, Any]) -> Attributes:
        source, service = record.get("resource_attributes"), record.get("service_name")
        if self._changed(source, service):
            self._source, self._service = source, service
            self._value = attributes_of(source)
            if service and "service.name" not in self._value:
                self._value = self._value | {"service.name": service}
        return self._value

    def _changed(self, source: object, service: object) -> bool:
        try:
            return source != self._source or service != self._service
        except RecursionError:  # nested too deeply to compare
            return True


FORMAT = Format(
    name="trail",
    about="TRAIL benchmark and Patronus: nested spans with ISO durations",
    matches=_matches,
    read=_read,
)
