"""OpenAI Agents SDK: what its own exporter posts, `{"data": [{"object": "trace"}, {"object": "trace.span"}]}`.

Source: openai-agents-python, `tracing/span_data.py`. What has a name in the GenAI conventions gets it; every other
field of `span_data` stands under `openai_agents.`. Ids are not hex: what follows `trace_` and `span_` is the id where
that is hex, else the id is derived. `response` spans hold a response id and token counts, no content: the exporter
never sends it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpa.ingest.formats.format import Format, Note
from gpa.ingest.formats.parts import recorded_ids
from gpa.ingest.formats.values import (
    SPAN_DIGITS,
    TRACE_DIGITS,
    any_id,
    dict_of,
    epoch_ns,
    first,
    hex_id,
    list_of,
    shown,
    text_of,
)
from gpa.ingest.spans import Attributes, Span

_OBJECTS = ("trace", "trace.span")
_OPERATIONS = {
    "agent": "invoke_agent",
    "generation": "chat",
    "response": "chat",
    "function": "execute_tool",
    "task": "invoke_workflow",
    "turn": "agent_step",
}
_FIELDS = {
    "agent": {"name": "gen_ai.agent.name"},
    "generation": {"model": "gen_ai.request.model"},
    "response": {"response_id": "gen_ai.response.id", "model": "gen_ai.request.model"},
    "function": {
        "name": "gen_ai.tool.name",
        "input": "gen_ai.tool.call.arguments",
        "output": "gen_ai.tool.call.result",
    },
    "handoff": {"from_agent": "gen_ai.agent.name", "to_agent": "gen_ai.transfer.target.name"},
    "custom": {"data": "openai_agents.output"},
    "turn": {"agent_name": "gen_ai.agent.name"},
    "task": {"name": "gen_ai.workflow.name"},
    "transcription": {"model": "gen_ai.request.model"},
    "speech": {"model": "gen_ai.request.model"},
}
"""Fields of `span_data` by its type that the GenAI conventions have a name for."""
_USAGE = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}
_SETTINGS = ("temperature", "top_p", "max_tokens", "frequency_penalty", "presence_penalty")


def _matches(value: Any) -> bool:
    if isinstance(value, dict) and isinstance(value.get("data"), list):
        value = value["data"]
    if isinstance(value, list):
        value = value[0] if value else None
    return isinstance(value, dict) and value.get("object") in _OBJECTS


def _read(value: Any, note: Note) -> Iterator[Span]:
    if isinstance(value, dict) and isinstance(value.get("data"), list):
        value = value["data"]
    records = value if isinstance(value, list) else [value]
    traces = {text_of(r.get("id")): r for r in records if isinstance(r, dict) and r.get("object") == "trace"}
    for record in records:
        if not isinstance(record, dict) or record.get("object") not in _OBJECTS:
            note(f"skipped an entry of type {type(record).__name__} that is no trace or trace.span")
        elif record["object"] == "trace.span":
            span = _span(record, traces.get(text_of(record.get("trace_id")), {}))
            if span is None:
                note(f"skipped span {shown(dict_of(record.get('span_data')).get('name'))}: it has no id or no trace_id")
            else:
                yield span


def _span(record: dict[str, Any], trace: dict[str, Any]) -> Span | None:
    trace_id = _id(record.get("trace_id"), "trace_", TRACE_DIGITS)
    span_id = _id(record.get("id"), "span_", SPAN_DIGITS)
    if trace_id is None or span_id is None:
        return None
    kind, data = _span_data(record)
    attributes = _attributes(kind, data) | recorded_ids(record["trace_id"], record["id"])
    if trace.get("group_id"):
        attributes["gen_ai.conversation.id"] = trace["group_id"]
    if trace.get("workflow_name"):
        attributes.setdefault("gen_ai.workflow.name", trace["workflow_name"])
    for key, value in dict_of(trace.get("metadata")).items():
        attributes[f"openai_agents.trace.metadata.{key}"] = value
    error = record.get("error")
    if isinstance(error, dict) and error.get("data"):
        attributes["openai_agents.error.data"] = error["data"]
    return Span(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=_id(record.get("parent_id"), "span_", SPAN_DIGITS),
        name=_name(kind, data),
        start_ns=epoch_ns(record.get("started_at")),
        end_ns=epoch_ns(record.get("ended_at")),
        status="error" if error else "unset",
        status_message=_failure(error) if isinstance(error, dict) else text_of(error),
        attributes=attributes,
    )


def _id(value: object, prefix: str, digits: int) -> str | None:
    bare = value.removeprefix(prefix) if isinstance(value, str) else value
    return hex_id(bare, digits) or any_id(value, digits)


def _span_data(record: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Type and fields. The SDK's own `task` and `turn` travel as `custom` spans with the real type inside."""
    data = dict_of(record.get("span_data"))
    inner = dict_of(data.get("data"))
    if data.get("type") == "custom" and inner.get("sdk_span_type"):
        return text_of(inner["sdk_span_type"]), {k: v for k, v in inner.items() if k != "sdk_span_type"}
    return text_of(data.get("type")), data


def _name(kind: str, data: dict[str, Any]) -> str:
    if kind == "handoff":
        return f"handoff to {text_of(data.get('to_agent'))}"
    return text_of(data.get("name")) or kind


def _failure(error: dict[str, Any]) -> str:
    """`Error running tool: KeyError: ...`: the message says where it failed, the data why."""
    data = error.get("data")
    why = first(data, "error", "message") if isinstance(data, dict) else data
    return ": ".join(filter(None, map(text_of, (error.get("message"), data if why is None else why))))


def _attributes(kind: str, data: dict[str, Any]) -> Attributes:
    attributes: Attributes = {"openai_agents.span.type": kind, "gen_ai.operation.name": _OPERATIONS.get(kind, kind)}
    names = _FIELDS.get(kind, {})
    for key, value in data.items():
        if value is not None and key != "type":
            attributes[names.get(key, f"openai_agents.{key}")] = value
    if kind in {"generation", "response"}:
        _model_call(attributes)
    elif kind == "guardrail":
        attributes["openai_agents.output"] = {"triggered": data.get("triggered")}
    elif kind == "agent" and isinstance(data.get("tools"), list):
        attributes["gen_ai.tool.definitions"] = [{"type": "function", "name": text_of(name)} for name in data["tools"]]
    usage = dict_of(attributes.pop("openai_agents.usage", None))
    # The turn and the task repeat the sum of their calls: only the call itself counts.
    prefix = "gen_ai.usage" if kind in {"generation", "response"} else "openai_agents.usage"
    for key, value in usage.items():
        attributes[f"{prefix}.{_USAGE.get(key, key)}"] = value
    return attributes


def _model_call(attributes: Attributes) -> None:
    """Renames what a model call holds: messages, settings."""
    for ours, theirs in (("input", "gen_ai.input.messages"), ("output", "gen_ai.output.messages")):
        content = attributes.pop(f"openai_agents.{ours}", None)
        if isinstance(content, str):
            content = [{"role": "user" if ours == "input" else "assistant", "content": content}]
        if content:
            attributes[theirs] = [_message(item) for item in content] if isinstance(content, list) else content
    settings = dict_of(attributes.get("openai_agents.model_config"))
    for key in _SETTINGS:
        if settings.get(key) is not None:
            attributes[f"gen_ai.request.{key}"] = settings[key]


def _message(message: Any) -> Any:
    """A chat message or Responses item in the conventions' form, `{role, parts}`; anything else as it is."""
    if not isinstance(message, dict) or "parts" in message:
        return message
    if "role" not in message:
        return _item(message)
    content, parts = message.get("content"), []
    if message["role"] == "tool":
        parts.append({"type": "tool_call_response", "id": message.get("tool_call_id"), "response": content})
    elif isinstance(content, list):
        parts.extend(_part(part) for part in content)
    elif content:
        parts.append({"type": "text", "content": content})
    for call in list_of(message.get("tool_calls")):
        function = dict_of(call.get("function")) if isinstance(call, dict) else {}
        if function:
            name, arguments = function.get("name"), function.get("arguments")
            parts.append({"type": "tool_call", "id": call.get("id"), "name": name, "arguments": arguments})
        else:
            parts.append(call)
    named = {key: message[key] for key in ("name", "finish_reason") if message.get(key)}
    return {"role": message["role"], "parts": parts} | named


def _item(item: dict[str, Any]) -> Any:
    """An item of the Responses API that is not a message."""
    match item.get("type"):
        case "function_call":
            call = {key: item.get(key) for key in ("name", "arguments")}
            return {"role": "assistant", "parts": [{"type": "tool_call", "id": item.get("call_id")} | call]}
        case "function_call_output":
            response = {"type": "tool_call_response", "id": item.get("call_id"), "response": item.get("output")}
            return {"role": "tool", "parts": [response]}
        case _:
            return item


def _part(part: Any) -> Any:
    """Text parts under the conventions' key; images and others as they are."""
    text = first(part, "text", "refusal") if isinstance(part, dict) else part
    return {"type": "text", "content": text} if isinstance(text, str) else part


FORMAT = Format(
    name="openai-agents",
    about="OpenAI Agents SDK's own trace export",
    matches=_matches,
    read=_read,
)
