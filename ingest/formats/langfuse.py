"""Langfuse: trace exports of the UI and API, lists of observations, and rows of the blob storage export.

An observation becomes a span whose attributes are those Langfuse's own SDK writes (`langfuse.observation.*`, and
`langfuse.trace.*` on the root), so that an export and OTLP of the same run read alike. What Langfuse kept of the
original OTel attributes, under `attributes` in the metadata, stands beside them. Source: Langfuse's export files, API
reference and "blob storage export fields" (the same names in snake case).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpa.ingest.formats.format import Format, Note
from gpa.ingest.formats.parts import recorded_ids, scope_of
from gpa.ingest.formats.values import (
    SPAN_DIGITS,
    TRACE_DIGITS,
    any_id,
    dict_of,
    epoch_ns,
    first,
    list_of,
    load_json,
    shown,
    text_of,
)
from gpa.ingest.spans import Attributes, Span

_PARENT = ("parentObservationId", "parent_observation_id")
_TRACE = ("traceId", "trace_id")
_FIELDS = {
    "langfuse.observation.input": ("input",),
    "langfuse.observation.output": ("output",),
    "langfuse.observation.model.name": ("model", "providedModelName", "provided_model_name"),
    "langfuse.observation.model.parameters": ("modelParameters", "model_parameters"),
    "langfuse.observation.usage_details": ("usageDetails", "usage_details", "usage"),
    "langfuse.observation.cost_details": ("costDetails", "cost_details"),
    "langfuse.observation.level": ("level",),
    "langfuse.observation.status_message": ("statusMessage", "status_message"),
    "langfuse.observation.completion_start_time": ("completionStartTime", "completion_start_time"),
    "langfuse.observation.prompt.name": ("promptName", "prompt_name"),
    "langfuse.observation.prompt.version": ("promptVersion", "prompt_version"),
    "langfuse.observation.tool_definitions": ("toolDefinitions", "tool_definitions"),
    "langfuse.observation.tool_calls": ("toolCalls", "tool_calls"),
    "langfuse.environment": ("environment",),
    "langfuse.release": ("release",),
    "langfuse.version": ("version",),
    "langfuse.trace.name": ("traceName", "trace_name"),
    "langfuse.trace.tags": ("tags",),
    "user.id": ("userId", "user_id"),
    "session.id": ("sessionId", "session_id"),
}
_TRACE_FIELDS = {
    "langfuse.trace.name": "name",
    "langfuse.trace.input": "input",
    "langfuse.trace.output": "output",
    "langfuse.trace.tags": "tags",
    "langfuse.trace.public": "public",
}
_CONTEXT_FIELDS = ("user.id", "session.id", "langfuse.release")
"""Fields of the trace that the SDK writes on every span."""
_OTEL_METADATA = frozenset({"attributes", "resourceAttributes", "scope"})
_EMPTY: tuple[object, ...] = (None, "", [], {}, "{}", "[]")


def _matches(value: Any) -> bool:
    if isinstance(value, dict) and isinstance(value.get("data"), list):
        value = value["data"]
    if isinstance(value, list):
        value = value[0] if value else None
    return _is_export(value) or _is_trace(value) or _is_observation(value)


def _is_export(value: Any) -> bool:
    return (
        isinstance(value, dict) and isinstance(value.get("trace"), dict) and isinstance(value.get("observations"), list)
    )


def _is_trace(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("observations"), list) and "id" in value


def _is_observation(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and "id" in value
        and not value.keys().isdisjoint(_TRACE)
        and (
            not value.keys().isdisjoint(_PARENT)
            or ("type" in value and ("startTime" in value or "start_time" in value))
        )
    )


def _more(value: Any) -> str:
    meta = value.get("meta") if isinstance(value, dict) else None
    if not isinstance(meta, dict):
        return ""
    if meta.get("cursor"):  # version 2 of the API
        return "meta.cursor is set"
    page, pages = meta.get("page"), meta.get("totalPages")
    return f"{page} of {pages}" if isinstance(page, int) and isinstance(pages, int) and page < pages else ""


def _read(value: Any, note: Note) -> Iterator[Span]:
    if isinstance(value, dict) and isinstance(value.get("data"), list):
        value = value["data"]
    loose = []
    for item in value if isinstance(value, list) else [value]:
        if _is_export(item):
            inner = list_of(item["trace"].get("observations"))
            yield from _trace_spans(item["trace"], [*inner, *item["observations"]], note)
        elif _is_trace(item):
            yield from _trace_spans(item, item["observations"], note)
        elif _is_observation(item):
            loose.append(item)
        else:
            note(f"skipped an entry of type {type(item).__name__} that is no Langfuse trace or observation")
    if loose:
        yield from _trace_spans({}, loose, note)


def _trace_spans(trace: dict[str, Any], listed: list[Any], note: Note) -> Iterator[Span]:
    observations = _merged(listed)
    context = {key: found for key in _CONTEXT_FIELDS if (found := first(trace, *_FIELDS[key])) not in _EMPTY}
    if not observations and trace:
        # A trace without observations still has its input and output: one span, of the trace itself.
        start = first(trace, "timestamp", "createdAt")
        observations = {"": {"id": f"trace {trace.get('id')}", "name": trace.get("name"), "startTime": start}}
    root = _root(observations)
    for key, record in observations.items():
        recorded_trace = first(record, *_TRACE) or trace.get("id")
        trace_id = any_id(recorded_trace, TRACE_DIGITS)
        span_id = any_id(record.get("id"), SPAN_DIGITS)
        if trace_id is None or span_id is None:
            note(f"skipped observation {shown(record.get('name'))}: it has no id or no traceId")
            continue
        metadata = load_json(record.get("metadata"))
        attributes = _attributes(record, metadata, context)
        if trace and key == root:
            attributes |= _trace_attributes(trace)
        attributes |= recorded_ids(recorded_trace, record.get("id"))
        yield _span(record, trace_id, span_id, attributes, dict_of(metadata) or dict_of(trace.get("metadata")))


def _span(
    record: dict[str, Any], trace_id: str, span_id: str, attributes: Attributes, metadata: dict[str, Any]
) -> Span:
    start_ns = epoch_ns(first(record, "startTime", "start_time"))
    failed = text_of(record.get("level")).upper() == "ERROR"
    return Span(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=any_id(first(record, *_PARENT), SPAN_DIGITS),
        name=text_of(record.get("name")),
        start_ns=start_ns,
        end_ns=epoch_ns(first(record, "endTime", "end_time")) or (start_ns if record.get("type") == "EVENT" else 0),
        status="error" if failed else "unset",
        status_message=text_of(first(record, "statusMessage", "status_message")) if failed else "",
        attributes=attributes,
        resource=dict_of(metadata.get("resourceAttributes")),
        scope=scope_of(dict_of(metadata.get("scope"))),
    )


def _merged(listed: list[Any]) -> dict[str, dict[str, Any]]:
    """Observations by id: the UI export lists each twice, once without input, output and metadata."""
    observations: dict[str, dict[str, Any]] = {}
    for record in listed:
        if not isinstance(record, dict):
            continue  # trace lists of the API hold bare ids here
        key = text_of(record.get("id"))
        known = observations.get(key)
        if known is None:
            observations[key] = record
        else:
            observations[key] = known | {name: value for name, value in record.items() if value not in _EMPTY}
    return observations


def _root(observations: dict[str, dict[str, Any]]) -> str:
    """Key of the observation that stands for the trace: the earliest whose parent is not here."""
    tops = [key for key, record in observations.items() if text_of(first(record, *_PARENT)) not in observations]
    return min(tops, key=lambda key: epoch_ns(first(observations[key], "startTime", "start_time")), default="")


def _attributes(record: dict[str, Any], metadata: Any, context: Attributes) -> Attributes:
    attributes = dict(dict_of(metadata.get("attributes"))) if isinstance(metadata, dict) else {}
    attributes["langfuse.observation.type"] = text_of(record.get("type")).lower() or "span"
    for key, names in _FIELDS.items():
        for name in names:
            if (value := record.get(name)) not in _EMPTY:
                attributes[key] = value
                break
    for key, value in context.items():
        attributes.setdefault(key, value)
    return attributes | _metadata("langfuse.observation.metadata", metadata)


def _trace_attributes(trace: dict[str, Any]) -> Attributes:
    """What the SDK writes about the trace on its root span."""
    found = {key: _decoded(trace[name]) for key, name in _TRACE_FIELDS.items() if trace.get(name) not in _EMPTY}
    return found | _metadata("langfuse.trace.metadata", load_json(trace.get("metadata")))


def _metadata(prefix: str, metadata: Any) -> Attributes:
    if isinstance(metadata, dict):
        return {f"{prefix}.{key}": value for key, value in metadata.items() if key not in _OTEL_METADATA}
    return {} if metadata in _EMPTY else {prefix: metadata}


def _decoded(value: Any) -> Any:
    """The UI export encodes a trace's input and output as JSON once more, also when they are bare text."""
    if isinstance(value, str) and len(value) > 1 and value[0] == value[-1] == '"':
        wrapped = load_json(f"[{value}]")
        if isinstance(wrapped, list) and len(wrapped) == 1:
            return wrapped[0]
    return value


FORMAT = Format(
    name="langfuse",
    about="Langfuse trace exports, API answers and observation rows",
    matches=_matches,
    read=_read,
    more=_more,
)
