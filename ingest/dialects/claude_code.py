"""Claude Code's traces: spans `claude_code.*` with attributes that have no prefix.

Content is opt-in and arrives as attributes, as span events (`tool.output`), or as log events joined to the span. Values
are cut at 60 KB; withheld ones read `<REDACTED>`. Facts: docs/conventions.md C13.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpa.ingest.dialects import chat
from gpa.ingest.dialects.attributes import count, text, word
from gpa.ingest.dialects.call import Call, Kind, Message, Tool, Usage
from gpa.ingest.dialects.failure import failure
from gpa.ingest.dialects.json_text import recover
from gpa.ingest.dialects.semconv import recorded_result
from gpa.ingest.spans import Span

_KINDS: dict[str, Kind] = {"interaction": "agent", "llm_request": "llm", "tool": "tool"}
_REDACTED = ("<REDACTED>", "__REDACTED__", "", None)
_ARGUMENTS = ("tool_input", "input", "tool_parameters", "parameters", "arguments")
_RESULTS = ("tool_output", "output", "result", "tool_result", "content", "error")
_DETAILS = ("file_path", "full_command", "skill_name", "subagent_type")
_CUT = "truncated: recorded content was cut"


def read(span: Span) -> Call | None:
    """The call of a Claude Code span, or None."""
    if not span.name.startswith("claude_code."):
        return None
    attributes = span.attributes
    operation = word(attributes, "span.type") or span.name.removeprefix("claude_code.")
    kind = _KINDS.get(operation, "other")
    given: tuple[Message, ...] = ()
    said: tuple[Message, ...] = ()
    tools: tuple[Tool, ...] = ()
    notes: list[str] = []
    name = ""
    if kind == "tool":
        name = word(attributes, "tool_name", "gen_ai.tool.name")
        given, said = _tool(span, name, notes)
    elif kind == "llm":
        name = word(attributes, "model", "gen_ai.request.model")
        given, said, tools = _model_call(span, notes)
    elif kind == "agent":
        given = _messages(span, ("user_prompt", "prompt"), "user")
        said = _messages(span, ("assistant_response", "response"), "assistant")
    succeeded = attributes.get("success")
    return Call(
        kind=kind,
        operation=operation,
        name=name,
        agent="Claude Code" if kind == "agent" else "",
        agent_id=word(attributes, "agent_id"),
        input=given,
        output=said,
        tools=tools,
        model=word(attributes, "model", "gen_ai.request.model"),
        response_id=word(attributes, "gen_ai.response.id", "request_id"),
        finish_reason=word(attributes, "stop_reason"),
        conversation_id=word(attributes, "session.id"),
        usage=_usage(span) if kind == "llm" else None,
        error=failure(span) or (word(attributes, "error") or "failed" if succeeded in (False, "false") else ""),
        hidden=kind != "other"
        and not said
        and all(not message.text and message.arguments is None for message in given),
        notes=tuple(dict.fromkeys(notes)),
    )


def _sources(span: Span) -> Iterator[dict[str, Any]]:
    """The attributes of the span, then those of its events and log records."""
    yield span.attributes
    for event in span.events:
        yield event.attributes
        if isinstance(event.body, dict):
            yield event.body


def _value(span: Span, keys: tuple[str, ...]) -> Any:
    for source in _sources(span):
        for key in keys:
            if (value := source.get(key)) is not None and not (isinstance(value, str) and value in _REDACTED):
                return value
    return None


def _messages(span: Span, keys: tuple[str, ...], role: str) -> tuple[Message, ...]:
    value = _value(span, keys)
    return () if value is None else (Message(role, text(value)),)


def _tool(span: Span, name: str, notes: list[str]) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    call_id = word(span.attributes, "tool_use_id", "gen_ai.tool.call.id")
    given, cut = recover(_value(span, _ARGUMENTS))
    notes += [_CUT] * cut
    if given is None:
        given = {key: span.attributes[key] for key in _DETAILS if span.attributes.get(key) not in (None, "")} or None
    result = _value(span, _RESULTS)
    said = () if result is None else (Message("tool", recorded_result(result), name, call_id),)
    return (Message("assistant", "", name, call_id, chat.arguments(given)),), said


def _model_call(span: Span, notes: list[str]) -> tuple[tuple[Message, ...], tuple[Message, ...], tuple[Tool, ...]]:
    """The request and response bodies that `OTEL_LOG_RAW_API_BODIES` logs, else the single texts."""
    bodies = {}
    for event in span.events:
        name = text(event.attributes.get("event.name") or event.name).removeprefix("claude_code.")
        if name in {"api_request_body", "api_response_body"}:
            bodies[name], cut = recover(event.attributes.get("body", event.body))
            notes += [_CUT] * cut
    request, response = bodies.get("api_request_body"), bodies.get("api_response_body")
    given = (
        chat.messages(request)
        if request is not None
        else _messages(span, ("user_prompt", "prompt", "new_context"), "user")
    )
    if response is not None:
        said = chat.messages(response, "assistant")
    else:
        said = _messages(span, ("assistant_response", "response", "response.model_output"), "assistant")
    return given, said, chat.tools(request) if isinstance(request, dict) else ()


def _usage(span: Span) -> Usage | None:
    get = span.attributes.get
    if get("input_tokens") is None and get("output_tokens") is None:
        return None
    return Usage(
        input_tokens=count(get("input_tokens")),
        output_tokens=count(get("output_tokens")),
        cached_tokens=count(get("cache_read_tokens")),
        cache_write_tokens=count(get("cache_creation_tokens")),
    )
