"""Jaeger JSON: the query API and UI export, Elasticsearch spans, and the domain model's JSON.

Field for field after Jaeger's `internal/uimodel` and its translation from OTLP: times are microseconds, references
stand for parents and links, and what OTLP has fields for (status, scope, kind) travels as tags. The Elasticsearch and
anonymiser form has the process inside the span. API v3 is OTLP and is read as OTLP.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gpa.errors import FormatError
from gpa.ingest.formats.format import Format, Note
from gpa.ingest.formats.parts import dropped_by, error_text, scope_of_tags
from gpa.ingest.formats.values import (
    SPAN_DIGITS,
    TRACE_DIGITS,
    dict_of,
    first,
    hex_id,
    kind_of,
    list_of,
    micro_ns,
    shown,
    status_of,
    text_of,
    time_ns,
)
from gpa.ingest.spans import Attributes, Event, Link, Span, Status

_GO_DURATION = re.compile(r"(\d{1,12})(?:\.(\d{1,9})\d*)?(ns|us|µs|ms|s|m|h)")
_UNIT_NS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_TYPED_VALUES = ("vStr", "vBool", "vInt64", "vFloat64", "vBinary")


def _matches(value: Any) -> bool:
    if isinstance(value, dict):
        data = value.get("data")
        if isinstance(data, list):
            return _is_trace(data[0]) if data else value.keys() >= {"data", "total", "limit", "offset"}
        spans = value.get("spans")
        return _is_trace(value) or _is_span(value) or (isinstance(spans, list) and bool(spans) and _is_span(spans[0]))
    return isinstance(value, list) and bool(value) and (_is_span(value[0]) or _is_trace(value[0]))


def _is_trace(value: Any) -> bool:
    return isinstance(value, dict) and "spans" in value and "processes" in value


def _is_span(value: Any) -> bool:
    if isinstance(value, dict) and "_source" in value:  # a hit of an Elasticsearch dump
        value = value["_source"]
    return isinstance(value, dict) and "operationName" in value and ("traceID" in value or "traceId" in value)


def _read(value: Any, note: Note) -> Iterator[Span]:
    if isinstance(value, dict):
        if error := error_text(value.get("errors")):
            if not value.get("data"):
                raise FormatError(f"expected traces, found the error of a store: {shown(error)}")
            note(f"the store says: {shown(error)}")
        value = value["data"] if isinstance(value.get("data"), list) else [value]
    for item in value:
        if not isinstance(item, dict):
            note(f"skipped an entry of type {type(item).__name__} among the traces (expected an object)")
            continue
        record = item.get("_source", item)
        if isinstance(record, dict) and "operationName" in record:
            records, processes = [record], {}
        else:
            records, processes = list_of(item.get("spans")), dict_of(item.get("processes"))
        yield from _spans(records, processes, note)


def _spans(records: list[Any], processes: dict[str, Any], note: Note) -> Iterator[Span]:
    resources = {key: _resource(process) for key, process in processes.items()}
    for record in records:
        if not isinstance(record, dict):
            note(f"skipped an entry of type {type(record).__name__} among the spans (expected an object)")
            continue
        resource = resources.get(text_of(record.get("processID")))
        span = _span(record, _resource(record.get("process")) if resource is None else resource)
        if span is None:
            note(f"skipped span {shown(record.get('operationName'))}: spanID or traceID is not hex")
        else:
            yield span


def _span(record: dict[str, Any], resource: Attributes) -> Span | None:
    trace_id = hex_id(first(record, "traceID", "traceId"), TRACE_DIGITS)
    span_id = hex_id(first(record, "spanID", "spanId"), SPAN_DIGITS)
    if trace_id is None or span_id is None:
        return None
    attributes = _attributes(record)
    status, message = _status(attributes)
    parent_id, links = _references(record, trace_id)
    start_ns = _time(record.get("startTime"))
    if warnings := list_of(record.get("warnings")):
        attributes["jaeger.warnings"] = warnings
    return Span(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=parent_id,
        name=text_of(record.get("operationName")),
        kind=kind_of(attributes.pop("span.kind", "")),
        start_ns=start_ns,
        end_ns=start_ns + _duration(record.get("duration")) if start_ns else 0,
        status=status,
        status_message=message,
        attributes=attributes,
        events=tuple(_event(log) for log in list_of(record.get("logs")) if isinstance(log, dict)),
        links=links,
        resource=resource,
        scope=scope_of_tags(attributes),
        dropped=dropped_by(attributes, "otel.dropped_{}_count"),
    )


def _attributes(record: dict[str, Any]) -> Attributes:
    found = _tags(record.get("tags"))
    # Elasticsearch with "tags as fields" moves tags into `tag`, dots replaced by `@`.
    for key, value in dict_of(record.get("tag")).items():
        found.setdefault(key.replace("@", "."), value)
    return found


def _tags(value: object) -> Attributes:
    return {text_of(tag["key"]): _tag_value(tag) for tag in list_of(value) if isinstance(tag, dict) and "key" in tag}


def _tag_value(tag: dict[str, Any]) -> Any:
    kind = text_of(first(tag, "type", "vType")).lower()
    value = tag["value"] if "value" in tag else first(tag, *_TYPED_VALUES)
    if value is None and "vType" in tag:
        value = {"bool": False, "int64": 0, "float64": 0.0}.get(kind, "")  # the domain model omits zeros
    if not isinstance(value, str) or kind in {"string", "binary", ""}:
        return value
    try:  # beyond 2^53, numbers are written as text; Elasticsearch writes all of them so
        return value == "true" if kind == "bool" else int(value) if kind == "int64" else float(value)
    except ValueError:
        return value


def _status(attributes: Attributes) -> tuple[Status, str]:
    """Status and message, taken out of the tags that carry them (OTLP-to-Jaeger mapping of the specification)."""
    status = status_of(attributes.pop("otel.status_code", None))
    message = text_of(attributes.pop("otel.status_description", None))
    if attributes.get("error") is True or attributes.get("error") == "true":
        del attributes["error"]
        status = "error"
    return status, message


def _references(record: dict[str, Any], trace_id: str) -> tuple[str | None, tuple[Link, ...]]:
    """The parent (first CHILD_OF in the same trace, else the old `parentSpanID`) and the other references as links."""
    parent_id, links = None, []
    for reference in list_of(record.get("references")):
        if not isinstance(reference, dict):
            continue
        trace = hex_id(first(reference, "traceID", "traceId"), TRACE_DIGITS)
        span = hex_id(first(reference, "spanID", "spanId"), SPAN_DIGITS)
        if trace is None or span is None:
            continue
        # CHILD_OF is the domain model's zero value, which its JSON leaves out.
        if (
            parent_id is None
            and trace == trace_id
            and text_of(reference.get("refType")) in {"CHILD_OF", "child-of", ""}
        ):
            parent_id = span
        else:
            links.append(Link(trace_id=trace, span_id=span))
    return parent_id or hex_id(first(record, "parentSpanID", "parentSpanId"), SPAN_DIGITS), tuple(links)


def _event(log: dict[str, Any]) -> Event:
    fields = _tags(log.get("fields"))
    name = fields.pop("event", "")
    return Event(name=text_of(name), time_ns=_time(log.get("timestamp")), attributes=fields)


def _resource(process: object) -> Attributes:
    process = dict_of(process)
    resource = _attributes(process)
    if process.get("serviceName"):
        resource["service.name"] = process["serviceName"]
    return resource


def _time(value: object) -> int:
    """A time in nanoseconds: microseconds, or ISO 8601 in the domain model."""
    return micro_ns(value) or (time_ns(value) if isinstance(value, str) else 0)


def _duration(value: object) -> int:
    """A duration in nanoseconds: microseconds, or Go's text (`1m2.5s`) in the domain model."""
    if not isinstance(value, str) or value.isdecimal():
        return micro_ns(value)
    return sum(
        int(whole + fraction.ljust(9, "0")) * _UNIT_NS[unit] // 1_000_000_000
        for whole, fraction, unit in _GO_DURATION.findall(value)
    )


FORMAT = Format(
    name="jaeger",
    about="Jaeger UI and query API (`data[]`), Elasticsearch spans, domain model JSON",
    matches=_matches,
    read=_read,
)
