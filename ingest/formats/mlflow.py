"""MLflow: what `Trace.to_json` writes, `{info, data: {spans}}`, of MLflow 3 and 2.

Source: recorded files and mlflow's `entities/trace.py`. Version 3 writes ids as base64, version 2 as `0x` hex inside
`context`. Attribute values stay as they are: each is JSON text of its value, as it is over OTLP.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpa.ingest.formats.format import Format, Note
from gpa.ingest.formats.parts import dropped_by, events_of, links_of, recorded_ids
from gpa.ingest.formats.values import (
    SPAN_DIGITS,
    TRACE_DIGITS,
    any_id,
    attributes_of,
    dict_of,
    epoch_ns,
    first,
    kind_of,
    list_of,
    shown,
    status_of,
    text_of,
)
from gpa.ingest.spans import Attributes, Span


def _matches(value: Any) -> bool:
    if isinstance(value, list):
        value = value[0] if value else None
    return (
        isinstance(value, dict)
        and isinstance(value.get("data"), dict)
        and isinstance(value["data"].get("spans"), list)
        and "info" in value
    )


def _read(value: Any, note: Note) -> Iterator[Span]:
    for trace in value if isinstance(value, list) else [value]:
        if not _matches(trace):
            note(f"skipped an entry of type {type(trace).__name__} (expected info and data.spans)")
            continue
        info = dict_of(trace["info"])
        resource = _resource(info)
        trace_id = text_of(first(info, "trace_id", "request_id")).removeprefix("tr-")
        for record in trace["data"]["spans"]:
            span = _span(record, trace_id, resource) if isinstance(record, dict) else None
            if span is None:
                name = record.get("name") if isinstance(record, dict) else record
                note(f"skipped span {shown(name)}: it has no span_id or no trace_id")
            else:
                yield span


def _resource(info: dict[str, Any]) -> Attributes:
    """The trace's tags and metadata (`mlflow.trace.session`, `mlflow.source.name`...); version 2 has other keys."""
    return dict_of(info.get("tags")) | dict_of(first(info, "trace_metadata", "request_metadata"))


def _span(record: dict[str, Any], info_trace_id: str, resource: Attributes) -> Span | None:
    context = dict_of(record.get("context")) or record
    recorded_trace, recorded_span = context.get("trace_id") or info_trace_id, context.get("span_id")
    trace_id = any_id(recorded_trace, TRACE_DIGITS)
    span_id = any_id(recorded_span, SPAN_DIGITS)
    if trace_id is None or span_id is None:
        return None
    attributes = attributes_of(record.get("attributes"))
    attributes = attributes | recorded_ids(recorded_trace, recorded_span)
    status = dict_of(record.get("status")) or {"code": first(record, "status", "status_code")}
    return Span(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=any_id(first(record, "parent_span_id", "parent_id"), SPAN_DIGITS),
        name=text_of(record.get("name")),
        kind=kind_of(record.get("kind")),
        start_ns=epoch_ns(first(record, "start_time_unix_nano", "start_time_ns", "start_time")),
        end_ns=epoch_ns(first(record, "end_time_unix_nano", "end_time_ns", "end_time")),
        status=status_of(first(status, "code", "status_code")),
        status_message=text_of(first(status, "message", "description") or record.get("status_message")),
        attributes=attributes,
        events=events_of(record.get("events")),
        links=links_of(list_of(record.get("links"))),
        resource=resource,
        dropped=dropped_by(record, "dropped_{}_count"),
    )


FORMAT = Format(
    name="mlflow",
    about="MLflow Trace JSON (`Trace.to_json`)",
    matches=_matches,
    read=_read,
)
