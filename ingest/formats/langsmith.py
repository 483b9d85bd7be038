"""LangSmith runs: one an object, lists, answers of `runs/query`, create-and-patch batches, recorded multipart posts.

A run becomes a span with the attributes LangSmith's own OpenTelemetry bridge writes, so that both read alike:

| run | attribute |
| --- | --- |
| `run_type` | `langsmith.span.kind`, `gen_ai.operation.name` |
| `name`, `session_name`, `tags` | `langsmith.trace.name`, `langsmith.trace.session_name`, `langsmith.span.tags` |
| `inputs`, `outputs` | `gen_ai.prompt`, `gen_ai.completion`: the values themselves, not their JSON text |
| `extra.metadata.*`, `extra.invocation_params` | `langsmith.metadata.*`, `langsmith.invocation_params` |
| `serialized` | `gen_ai.serialized.name`; a tool's own description as `gen_ai.tool.description` |

Source: recorded payloads and langsmith-sdk's `_internal/otel`. A run arrives as create, then patch: both halves of one
value are merged here by id; halves in different lines have the same span id and are merged with the trace.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpa.ingest.formats.capture import request_body, request_path
from gpa.ingest.formats.format import Format, Note
from gpa.ingest.formats.parts import recorded_ids
from gpa.ingest.formats.values import (
    SPAN_DIGITS,
    TRACE_DIGITS,
    any_id,
    dict_of,
    epoch_ns,
    first,
    list_of,
    shown,
    text_of,
    time_ns,
)
from gpa.ingest.spans import Attributes, Event, Span

_OPERATIONS = {"llm": "chat", "tool": "execute_tool", "embedding": "embeddings", "retriever": "retrieval"}
_EMPTY: tuple[object, ...] = (None, "", [], {})
_PARTS = frozenset({"inputs", "outputs", "events", "extra", "error", "serialized"})
"""Fields of a run that a multipart post sends apart from it (`post.<id>.inputs`)."""
_DOTTED_STAMP = 22
"""Characters of a `dotted_order` segment before the run's id: `20241011T205824544431Z`."""


def _matches(value: Any) -> bool:
    if "/runs" in request_path(value):
        return True
    if isinstance(value, dict):
        for key in ("post", "patch", "runs"):
            listed = value.get(key)
            if isinstance(listed, list) and listed and _is_run(listed[0]):
                return True
    if isinstance(value, list):
        value = value[0] if value else None
    return _is_run(value)


def _is_run(value: Any) -> bool:
    return isinstance(value, dict) and ("run_type" in value or "dotted_order" in value)


def _read(value: Any, note: Note) -> Iterator[Span]:
    merged: dict[str, dict[str, Any]] = {}
    # A stack, not recursion, for `child_runs` may nest; reversed, so that runs come out in their order.
    stack = list(reversed(_listed(value)))
    while stack:
        run = stack.pop()
        if not isinstance(run, dict):
            note(f"skipped an entry of type {type(run).__name__} among the runs (expected an object)")
            continue
        stack.extend(reversed(list_of(run.get("child_runs"))))
        key = text_of(run.get("id")) or _segment(run, -1)
        merged[key] = _merge(merged[key], run) if key in merged else run
    for key, run in merged.items():
        span = _span(key, run)
        if span is None:
            note(f"skipped run {shown(run.get('name'))}: it has neither id nor dotted_order")
        else:
            yield span


def _listed(value: Any) -> list[Any]:
    if request_path(value):
        value = request_body(value)
        if isinstance(value, dict) and any(key.startswith(("post.", "patch.")) for key in value):
            return _of_form(value)
    if isinstance(value, dict) and not _is_run(value):
        return [run for key in ("post", "patch", "runs") for run in list_of(value.get(key))]
    return value if isinstance(value, list) else [value]


def _of_form(fields: dict[str, Any]) -> list[Any]:
    """Runs of a multipart post: `post.<id>` holds the run, `post.<id>.inputs` and others its large fields."""
    runs: dict[str, dict[str, Any]] = {}
    for name, value in fields.items():
        owner, _, part = name.rpartition(".")
        if part in _PARTS and owner in fields:
            runs[owner] = runs.get(owner, {}) | {part: value}
        elif isinstance(value, dict) and name.startswith(("post.", "patch.")):
            runs[name] = value | runs.get(name, {})
    return list(runs.values())


def _merge(create: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """The run with what the patch says, where it says anything; metadata of both."""
    merged = create | {key: value for key, value in patch.items() if value not in _EMPTY}
    before, after = dict_of(create.get("extra")), dict_of(patch.get("extra"))
    if before and after:
        metadata = dict_of(before.get("metadata")) | dict_of(after.get("metadata"))
        merged["extra"] = before | after | {"metadata": metadata}
    return merged


def _segment(run: dict[str, Any], index: int) -> str:
    """The id in one segment of `dotted_order`: -1 the run, -2 its parent, 0 the trace; empty when there is none."""
    segments = text_of(run.get("dotted_order")).split(".")
    return segments[index][_DOTTED_STAMP:] if -len(segments) <= index < len(segments) else ""


def _span(run_id: str, run: dict[str, Any]) -> Span | None:
    recorded_trace = text_of(run.get("trace_id")) or _segment(run, 0) or run_id
    trace_id = any_id(recorded_trace, TRACE_DIGITS)
    span_id = any_id(run_id, SPAN_DIGITS)
    if trace_id is None or span_id is None:
        return None
    attributes = _attributes(run) | recorded_ids(recorded_trace, run_id)
    error = text_of(run.get("error"))
    return Span(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=any_id(text_of(run.get("parent_run_id")) or _segment(run, -2), SPAN_DIGITS),
        name=text_of(run.get("name")),
        start_ns=epoch_ns(run.get("start_time")) or _dotted_start(run),
        end_ns=epoch_ns(run.get("end_time")),
        status="error" if error or run.get("status") == "error" else "ok" if run.get("end_time") else "unset",
        status_message=error,
        attributes=attributes,
        events=tuple(_event(event) for event in list_of(run.get("events")) if isinstance(event, dict)),
    )


def _dotted_start(run: dict[str, Any]) -> int:
    """The start time in the last segment of `dotted_order`: all that a patch without its create says of it."""
    stamp = text_of(run.get("dotted_order")).rpartition(".")[2][:_DOTTED_STAMP]
    return time_ns(f"{stamp[:15]}.{stamp[15:21]}Z") if len(stamp) == _DOTTED_STAMP else 0


def _attributes(run: dict[str, Any]) -> Attributes:
    kind = text_of(run.get("run_type"))
    extra = dict_of(run.get("extra"))
    metadata = dict_of(extra.get("metadata"))
    attributes: Attributes = {
        "langsmith.span.kind": kind,
        "gen_ai.operation.name": _OPERATIONS.get(kind, kind),
        "langsmith.trace.name": run.get("name"),
        "langsmith.trace.session_name": run.get("session_name"),
        "langsmith.span.tags": ", ".join(map(text_of, list_of(run.get("tags")))),
        "gen_ai.prompt": run.get("inputs"),
        "gen_ai.completion": run.get("outputs"),
        "gen_ai.serialized.name": dict_of(run.get("serialized")).get("name"),
        "langsmith.invocation_params": extra.get("invocation_params"),
    }
    attributes |= {f"langsmith.metadata.{key}": value for key, value in metadata.items()}
    if kind == "llm":
        attributes |= _model(run, metadata, dict_of(extra.get("invocation_params")))
    elif kind == "tool":
        attributes |= _tool(run)
    return {key: value for key, value in attributes.items() if value not in _EMPTY}


def _model(run: dict[str, Any], metadata: dict[str, Any], params: dict[str, Any]) -> Attributes:
    inputs, outputs = dict_of(run.get("inputs")), dict_of(run.get("outputs"))
    usage = dict_of(first(outputs, "usage_metadata", "usage")) or dict_of(metadata.get("usage_metadata"))
    usage = usage or dict_of(dict_of(outputs.get("llm_output")).get("token_usage")) or run
    cached = dict_of(first(usage, "input_token_details", "prompt_tokens_details"))
    spent = dict_of(first(usage, "output_token_details", "completion_tokens_details"))
    return {
        "gen_ai.provider.name": metadata.get("ls_provider"),
        "gen_ai.request.model": metadata.get("ls_model_name")
        or first(params, "model", "model_name")
        or inputs.get("model"),
        "gen_ai.response.model": outputs.get("model") or dict_of(outputs.get("llm_output")).get("model_name"),
        "gen_ai.tool.definitions": first(params, "tools", "functions") or inputs.get("tools"),
        "gen_ai.usage.input_tokens": first(usage, "input_tokens", "prompt_tokens"),
        "gen_ai.usage.output_tokens": first(usage, "output_tokens", "completion_tokens"),
        "gen_ai.usage.cache_read.input_tokens": first(cached, "cache_read", "cached_tokens"),
        "gen_ai.usage.cache_write.input_tokens": cached.get("cache_creation"),
        "gen_ai.usage.reasoning.output_tokens": first(spent, "reasoning", "reasoning_tokens"),
    }


def _tool(run: dict[str, Any]) -> Attributes:
    output = dict_of(dict_of(run.get("outputs")).get("output"))
    return {
        "gen_ai.tool.name": run.get("name"),
        "gen_ai.tool.description": dict_of(run.get("serialized")).get("description"),
        "gen_ai.tool.call.id": output.get("tool_call_id"),
    }


def _event(event: dict[str, Any]) -> Event:
    """`{name, time, kwargs}`: a start, an end, or one streamed token."""
    rest = {key: value for key, value in event.items() if key not in {"name", "time"} and value not in _EMPTY}
    return Event(name=text_of(event.get("name")), time_ns=epoch_ns(event.get("time")), attributes=rest)


FORMAT = Format(
    name="langsmith",
    about="LangSmith runs: objects, lists, API answers, batches and recorded posts",
    matches=_matches,
    read=_read,
)
