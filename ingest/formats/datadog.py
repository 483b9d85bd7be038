"""Datadog: traces as the agent's API takes them, a list of traces that are lists of spans, or spans one a line.

Source: Datadog's agent API (`/v0.4/traces`). Ids are 64-bit numbers, a 128-bit trace id has its upper half in the tag
`_dd.p.tid`; times are nanoseconds; texts stand in `meta`, numbers in `metrics`. Written without recordings to check it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpa.ingest.formats.format import Format, Note
from gpa.ingest.formats.parts import events_of, links_of
from gpa.ingest.formats.values import SPAN_DIGITS, TRACE_DIGITS, dict_of, hex_id, kind_of, shown, text_of, time_ns
from gpa.ingest.spans import Attributes, Span

_KEYS = frozenset({"trace_id", "span_id", "start", "duration"})
_CONTENT = frozenset({"meta", "metrics", "resource", "meta_struct"})
_IDS = 2**64
"""Ids are unsigned 64-bit numbers; JavaScript writes them as text."""


def _matches(value: Any) -> bool:
    for _ in range(2):
        if isinstance(value, list) and value:
            value = value[0]
    return isinstance(value, dict) and value.keys() >= _KEYS and not value.keys().isdisjoint(_CONTENT)


def _read(value: Any, note: Note) -> Iterator[Span]:
    for item in value if isinstance(value, list) else [value]:
        trace = item if isinstance(item, list) else [item]
        upper = _upper_half(trace)
        for record in trace:
            span = _span(record, upper) if isinstance(record, dict) else None
            if span is not None:
                yield span
            elif isinstance(record, dict):
                note(f"skipped span {shown(record.get('name'))}: span_id or trace_id is no 64-bit number")
            else:
                note(f"skipped an entry of type {type(record).__name__} among the spans (expected an object)")


def _upper_half(trace: list[Any]) -> str:
    """The upper 64 bits of a trace's id in hex, which only its first span carries."""
    for record in trace:
        half = dict_of(record.get("meta")).get("_dd.p.tid") if isinstance(record, dict) else None
        if half:
            return hex_id(half, SPAN_DIGITS) or ""
    return ""


def _span(record: dict[str, Any], upper: str) -> Span | None:
    lower, span_id = _id(record.get("trace_id")), _id(record.get("span_id"))
    if lower is None or span_id is None:
        return None
    attributes: Attributes = dict_of(record.get("metrics")) | dict_of(record.get("meta"))
    attributes |= dict_of(record.get("meta_struct"))
    events, links = attributes.pop("events", None), attributes.pop("_dd.span_links", None)
    for key, name in (("name", "operation.name"), ("type", "span.type")):
        if record.get(key):
            attributes.setdefault(name, record[key])
    start_ns = time_ns(record.get("start"))
    failed = bool(record.get("error"))
    service = record.get("service")
    return Span(
        trace_id=(upper + lower).zfill(TRACE_DIGITS),
        span_id=span_id,
        parent_id=_id(record.get("parent_id")),
        name=text_of(record.get("resource") or record.get("name")),
        kind=kind_of(attributes.pop("span.kind", "")),
        start_ns=start_ns,
        end_ns=start_ns + time_ns(record.get("duration")) if start_ns else 0,
        status="error" if failed else "unset",
        status_message=text_of(attributes.get("error.message") or attributes.get("error.msg")) if failed else "",
        attributes=attributes,
        events=events_of(events),
        links=links_of(links),
        resource={"service.name": service} if service else {},
    )


def _id(value: object) -> str | None:
    if isinstance(value, str) and value.isdecimal() and len(value) <= 20:
        value = int(value)
    if not isinstance(value, int) or not 0 < value < _IDS:
        return None
    return hex_id(value, SPAN_DIGITS)


FORMAT = Format(
    name="datadog",
    about="Datadog agent API: lists of traces, or one span a line",
    matches=_matches,
    read=_read,
)
