"""Langfuse observations: its SDK's spans and its exports, which share these attributes.

Facts: docs/conventions.md C7, F8.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpa.ingest.dialects import chat
from gpa.ingest.dialects.attributes import count, text, word
from gpa.ingest.dialects.call import Call, Kind, Tool, Usage
from gpa.ingest.dialects.failure import failure
from gpa.ingest.dialects.json_text import structure
from gpa.ingest.dialects.langchain import origin, tool_message
from gpa.ingest.dialects.payload import (
    CUT,
    Exchange,
    answer,
    conversation,
    documents,
    is_cut,
    passage,
    readable,
    tool_exchange,
)
from gpa.ingest.dialects.tool_definitions import is_definition
from gpa.ingest.spans import Span

_TYPE = "langfuse.observation.type"
_INPUT = "langfuse.observation.input"
_OUTPUT = "langfuse.observation.output"
_METADATA = "langfuse.observation.metadata"
_KINDS: dict[str, Kind] = {
    "generation": "llm",
    "agent": "agent",
    "tool": "tool",
    "retriever": "retrieval",
    "embedding": "retrieval",
}
_USAGE: dict[str, tuple[str, ...]] = {
    "input_tokens": ("input", "input_tokens", "prompt_tokens", "promptTokens"),
    "output_tokens": ("output", "output_tokens", "completion_tokens", "completionTokens"),
    "cached_tokens": (
        "input_cached_tokens",
        "input_cache_read",
        "cache_read_input_tokens",
        "prompt_details.cache_read",
    ),
    "cache_write_tokens": ("input_cache_creation", "cache_creation_input_tokens"),
    "reasoning_tokens": ("output_reasoning_tokens", "output_reasoning", "completion_details.reasoning"),
}


def read(span: Span) -> Call | None:
    """The call a Langfuse observation records, or None for a span of another convention."""
    attributes = span.attributes
    if _TYPE not in attributes and _INPUT not in attributes and _OUTPUT not in attributes:
        return None
    operation = text(attributes.get(_TYPE)).lower()
    run = origin(attributes, _METADATA)
    kind = _KINDS.get(operation, "other")
    if kind == "other" and run.is_agent(span.name):
        kind = "agent"
    notes: list[str] = []
    given, returned = attributes.get(_INPUT), attributes.get(_OUTPUT)
    if kind == "llm":
        given, returned = readable(given, notes), readable(returned, notes)
    elif is_cut(given) or is_cut(returned):
        notes.append(CUT)
    if kind == "other" and (result := tool_message(structure(returned))) and result.name == span.name:
        kind = "tool"  # LangChain's JS integration records tools as spans
    sent, said, error = _content(kind, span, attributes, given, returned)
    agent = word(attributes, "gen_ai.agent.name", f"{_METADATA}.agent_name") or run.agent
    model = word(attributes, "langfuse.observation.model.name", "gen_ai.response.model", "gen_ai.request.model")
    name = agent or span.name if kind == "agent" else model or span.name if kind == "llm" else span.name
    return Call(
        kind=kind,
        operation=operation,
        name=name,
        agent=name if kind == "agent" else agent,
        input=sent,
        output=said,
        tools=_tools(attributes, given) if kind in {"llm", "agent"} else (),
        model=model,
        conversation_id=word(attributes, "session.id", "langfuse.session.id") or run.thread,
        usage=_usage(structure(attributes.get("langfuse.observation.usage_details"))),
        error=failure(span) or _error(attributes) or error,
        hidden=kind in {"llm", "tool"} and given is None and returned is None,
        notes=tuple(notes),
    )


def _content(kind: Kind, span: Span, attributes: Mapping[str, Any], given: Any, returned: Any) -> Exchange:
    if kind == "llm":
        return Exchange(chat.messages(given), chat.messages(returned, "assistant"))
    if kind == "tool":
        name = word(attributes, "gen_ai.tool.name") or span.name
        call_id = word(attributes, "gen_ai.tool.call.id", f"{_METADATA}.tool_call_id")
        return tool_exchange(name, given, returned, call_id=call_id)
    if kind == "retrieval":
        return Exchange(passage(given, "user"), documents(returned))
    # A root that was given nothing stands for the trace, whose input and output are told apart from it.
    given = attributes.get("langfuse.trace.input") if given is None else given
    returned = attributes.get("langfuse.trace.output") if returned is None else returned
    said = answer(returned) if kind == "agent" else conversation(returned, "assistant")
    return Exchange(conversation(given, "user"), said)


def _tools(attributes: Mapping[str, Any], given: Any) -> tuple[Tool, ...]:
    """Definitions of their own attribute, of the request, or standing among the messages (LangGraph)."""
    for key in ("langfuse.observation.tool_definitions", "gen_ai.tool.definitions"):
        if found := chat.tools(attributes.get(key)):
            return found
    if isinstance(given, Mapping):
        if tools := given.get("tools"):
            return chat.tools(tools)
        given = given.get("messages")
    if isinstance(given, list) and any(is_definition(entry) for entry in given):
        return chat.tools(given)
    return ()


def _error(attributes: Mapping[str, Any]) -> str:
    if text(attributes.get("langfuse.observation.level")).upper() != "ERROR":
        return ""
    return word(attributes, "langfuse.observation.status_message") or "error"


def _usage(recorded: Any) -> Usage | None:
    if not isinstance(recorded, Mapping):
        return None
    return Usage(
        **{field: next((n for key in keys if (n := count(recorded.get(key)))), 0) for field, keys in _USAGE.items()}
    )
