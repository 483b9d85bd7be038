"""Zipkin v2 JSON: a list of spans, a list of such lists (the query API), one span a line, or recorded posts.

Source: zipkin-api's zipkin2-api.yaml and the specification's OTLP-to-Zipkin mapping: times are microseconds, tag values
are text, status travels as the tags `otel.status_code` and `error`, an event as the annotation `"name": {attributes}`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpa.ingest.formats.capture import request_body, request_path
from gpa.ingest.formats.format import Format, Note
from gpa.ingest.formats.parts import RECORDED_SPAN_ID, dropped_by, scope_of_tags
from gpa.ingest.formats.values import (
    SPAN_DIGITS,
    TRACE_DIGITS,
    derived_id,
    dict_of,
    hex_id,
    kind_of,
    list_of,
    load_json,
    micro_ns,
    shown,
    status_of,
    text_of,
)
from gpa.ingest.spans import Attributes, Event, Span, Status

_Ids = tuple[str | None, str | None]
"""Trace id and span id."""
_MARKS = frozenset(
    {"localEndpoint", "remoteEndpoint", "annotations", "tags", "timestamp", "duration", "name", "kind", "parentId"}
)
_STRANGERS = frozenset({"type", "startTime", "spanId", "run_type", "instrumentationScope", "resource"})


def _matches(value: Any) -> bool:
    if request_path(value).endswith("/api/v2/spans"):
        return True
    for _ in range(2):
        if isinstance(value, list) and value:
            value = value[0]
    return (
        isinstance(value, dict)
        and "traceId" in value
        and "id" in value
        and not value.keys().isdisjoint(_MARKS)
        and value.keys().isdisjoint(_STRANGERS)
    )


def _read(value: Any, note: Note) -> Iterator[Span]:
    if request_path(value):
        value = request_body(value)
    records = []
    for item in value if isinstance(value, list) else [value]:
        for record in item if isinstance(item, list) else [item]:
            if isinstance(record, dict):
                records.append(record)
            else:
                note(f"skipped an entry of type {type(record).__name__} among the spans (expected an object)")
    senders = {_ids(record) for record in records if not _receives(record)}
    receivers = _receivers(records, senders)
    for record in records:
        trace_id, span_id = ids = _ids(record)
        if trace_id is None or span_id is None:
            note(f"skipped span {shown(record.get('name'))}: id or traceId is not hex")
            continue
        parent_id = hex_id(record.get("parentId"), SPAN_DIGITS)
        endpoint = _endpoint(record)
        if _receives(record) and ids in senders:
            parent_id = span_id
        elif parent_id:
            parent_id = receivers.get((trace_id, parent_id), {}).get(endpoint, parent_id)
        own_id = receivers.get(ids, {}).get(endpoint, span_id) if _receives(record) else span_id
        span = _span(record, trace_id, own_id, parent_id)
        if own_id != span_id:
            note("sides of a call share a span id: receivers get derived ones, the recorded is in gpa.recorded.span_id")
            span.attributes[RECORDED_SPAN_ID] = record.get("id")
        yield span


def _receivers(records: list[dict[str, Any]], senders: set[_Ids]) -> dict[_Ids, dict[str, str]]:
    """The ids, by endpoint, of those who received a call under a span id that is somebody else's.

    B3 lets the ends of a call share one id, with several receivers of one message. The sender keeps it, or the first
    receiver where the sender is elsewhere; at each other endpoint it stands for another span, also as a parent.
    """
    first: dict[_Ids, str] = {}
    found: dict[_Ids, dict[str, str]] = {}
    for record in records:
        trace_id, span_id = ids = _ids(record)
        if not _receives(record) or trace_id is None or span_id is None:
            continue
        endpoint = _endpoint(record)
        if ids in senders or first.setdefault(ids, endpoint) != endpoint:
            found.setdefault(ids, {})[endpoint] = derived_id(SPAN_DIGITS, trace_id, span_id, endpoint)
    return found


def _receives(record: dict[str, Any]) -> bool:
    return record.get("shared") is True or record.get("kind") == "SERVER"


def _endpoint(record: dict[str, Any]) -> str:
    return text_of(record.get("localEndpoint"))


def _ids(record: dict[str, Any]) -> _Ids:
    return hex_id(record.get("traceId"), TRACE_DIGITS), hex_id(record.get("id"), SPAN_DIGITS)


def _span(record: dict[str, Any], trace_id: str, span_id: str, parent_id: str | None) -> Span:
    attributes = dict(dict_of(record.get("tags")))
    status, message = _status(attributes)
    start_ns = micro_ns(record.get("timestamp"))
    remote = dict_of(record.get("remoteEndpoint"))
    for key, name in (("serviceName", "peer.service"), ("ipv4", "network.peer.address"), ("port", "network.peer.port")):
        if remote.get(key):
            attributes.setdefault(name, remote[key])
    local = dict_of(record.get("localEndpoint"))
    return Span(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=parent_id,
        name=text_of(record.get("name")),
        kind=kind_of(record.get("kind")),
        start_ns=start_ns,
        end_ns=start_ns + micro_ns(record.get("duration")) if start_ns else 0,
        status=status,
        status_message=message,
        attributes=attributes,
        events=tuple(_event(item) for item in list_of(record.get("annotations")) if isinstance(item, dict)),
        resource={
            name: local[key]
            for key, name in (("serviceName", "service.name"), ("ipv4", "host.ip"), ("port", "server.port"))
            if local.get(key)
        },
        scope=scope_of_tags(attributes),
        dropped=dropped_by(attributes, "otel.dropped_{}_count"),
    )


def _status(attributes: Attributes) -> tuple[Status, str]:
    """Status and message, taken out of the tags: `error` present means failed, whatever it says."""
    status = status_of(attributes.pop("otel.status_code", None))
    if "error" not in attributes:
        return status, ""
    message = text_of(attributes.pop("error"))
    if message == "false":
        return status, ""
    return "error", "" if message == "true" else message


def _event(annotation: dict[str, Any]) -> Event:
    """An annotation as an event: `"name": {attributes}` by the specification, the same in braces from Python."""
    time = micro_ns(annotation.get("timestamp"))
    text = text_of(annotation.get("value"))
    if text.startswith(('"', '{"')) and text.endswith("}"):
        read = load_json(text if text.startswith("{") else f"{{{text}}}")
        if isinstance(read, dict) and len(read) == 1:
            ((name, attributes),) = read.items()
            if isinstance(attributes, dict):
                return Event(name=name, time_ns=time, attributes=attributes)
    return Event(name=text, time_ns=time)


FORMAT = Format(
    name="zipkin",
    about="Zipkin v2: lists of spans, one span a line, or recorded posts",
    matches=_matches,
    read=_read,
)
