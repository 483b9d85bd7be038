"""Phoenix: spans of its REST API and client, plain or in the `otlpv1` form, as a page, a list or one a line.

Source: recorded answers of the server. The plain form has OpenInference's kind in `span_kind` and `[]` for no
attributes; `otlpv1` is no valid OTLP JSON: snake case, every member of a value present with null, no resource.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpa.ingest.formats.format import Format, Note
from gpa.ingest.formats.openinference import flatten
from gpa.ingest.formats.parts import dropped_by, events_of, links_of, resource_of, scope_of
from gpa.ingest.formats.values import (
    SPAN_DIGITS,
    TRACE_DIGITS,
    attributes_of,
    dict_of,
    epoch_ns,
    hex_id,
    kind_of,
    shown,
    status_of,
    text_of,
    time_ns,
)
from gpa.ingest.spans import Attributes, Span

SPAN_KIND = "openinference.span.kind"


def _matches(value: Any) -> bool:
    if isinstance(value, dict) and isinstance(value.get("data"), list):
        data = value["data"]
        return _is_span(data[0]) if data else "next_cursor" in value
    if isinstance(value, list):
        value = value[0] if value else None
    return _is_span(value)


def _is_span(value: Any) -> bool:
    return _is_plain(value) or _is_otlp(value)


def _is_plain(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and "span_kind" in value
        and isinstance(value.get("context"), dict)
        and "span_id" in value["context"]
    )


def _is_otlp(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() >= {"trace_id", "span_id", "start_time_unix_nano"}


def _more(value: Any) -> str:
    return "next_cursor is set" if isinstance(value, dict) and value.get("next_cursor") else ""


def _read(value: Any, note: Note) -> Iterator[Span]:
    if isinstance(value, dict) and isinstance(value.get("data"), list):
        value = value["data"]
    for item in value if isinstance(value, list) else [value]:
        if _is_plain(item):
            span = _plain(item)
        elif _is_otlp(item):
            span = _otlp(item)
        else:
            note(f"skipped an entry of type {type(item).__name__} among the spans (expected a Phoenix span)")
            continue
        if span is None:
            note(f"skipped span {shown(item.get('name'))}: its span_id or trace_id is not hex")
        else:
            yield span


def _plain(record: dict[str, Any]) -> Span | None:
    context = record["context"]
    trace_id = hex_id(context.get("trace_id"), TRACE_DIGITS)
    span_id = hex_id(context.get("span_id"), SPAN_DIGITS)
    if trace_id is None or span_id is None:
        return None
    return Span(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=hex_id(record.get("parent_id"), SPAN_DIGITS),
        name=text_of(record.get("name")),
        start_ns=epoch_ns(record.get("start_time")),
        end_ns=epoch_ns(record.get("end_time")),
        status=status_of(record.get("status_code")),
        status_message=text_of(record.get("status_message")),
        attributes=with_kind(flatten(attributes_of(record.get("attributes"))), record.get("span_kind")),
        events=events_of(record.get("events")),
        resource=resource_of(record.get("resource")),
    )


def _otlp(record: dict[str, Any]) -> Span | None:
    trace_id = hex_id(record["trace_id"], TRACE_DIGITS)
    span_id = hex_id(record["span_id"], SPAN_DIGITS)
    if trace_id is None or span_id is None:
        return None
    status = dict_of(record.get("status"))
    return Span(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=hex_id(record.get("parent_span_id"), SPAN_DIGITS),
        name=text_of(record.get("name")),
        kind=kind_of(record.get("kind")),
        start_ns=time_ns(record["start_time_unix_nano"]),
        end_ns=time_ns(record.get("end_time_unix_nano")),
        status=status_of(status.get("code")),
        status_message=text_of(status.get("message")),
        attributes=flatten(attributes_of(record.get("attributes"))),
        events=events_of(record.get("events")),
        links=links_of(record.get("links")),
        resource=resource_of(record.get("resource")),
        scope=scope_of(record.get("scope")),
        dropped=dropped_by(record, "dropped_{}_count"),
    )


def with_kind(attributes: Attributes, kind: object) -> Attributes:
    """The attributes with OpenInference's span kind: Phoenix moves it to a field of the span, UNKNOWN for none."""
    if not isinstance(kind, str) or kind in {"", "UNKNOWN"} or SPAN_KIND in attributes:
        return attributes
    return attributes | {SPAN_KIND: kind}


FORMAT = Format(
    name="phoenix",
    about="Arize Phoenix: REST pages and client spans, plain or otlpv1",
    matches=_matches,
    read=_read,
    more=_more,
)
