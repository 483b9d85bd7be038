"""Spans of conventions nobody described: name, input and output are found by what attributes are usually called.

Also the few producers whose attributes have no prefix to tell them by (Claude Code's traces, joined `patronus.sdk`
logs), and the infrastructure around agents (HTTP, databases, remote calls).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpa.ingest.dialects import chat
from gpa.ingest.dialects.attributes import count, text, word
from gpa.ingest.dialects.call import Call, Kind, Message, Usage
from gpa.ingest.dialects.failure import exception, failure
from gpa.ingest.dialects.payload import CUT, answer, conversation, documents, is_cut, passage, readable, tool_exchange
from gpa.ingest.spans import Span

# Whole keys, most telling first; then the last word of any key, for prefixes nobody knows.
_INPUTS = (
    *(
        "input.value",
        "input",
        "inputs",
        "tool_arguments",
        "gen_ai.tool.call.arguments",
        "tool.arguments",
        "tool.input",
        "tool_input",
    ),
    *(
        "function.arguments",
        "arguments",
        "args",
        "prompt",
        "user_prompt",
        "query",
        "question",
        "request",
        "messages",
        "task",
    ),
)
_OUTPUTS = (
    *(
        "output.value",
        "output",
        "outputs",
        "tool_response",
        "gen_ai.tool.call.result",
        "tool.result",
        "tool.output",
        "tool_output",
    ),
    *("function.output", "result", "response", "completion", "answer", "final_result"),
)
_INPUT_WORDS = frozenset(
    ("input", "inputs", "arguments", "args", "prompt", "query", "question", "request", "messages", "user_prompt")
)
_OUTPUT_WORDS = frozenset(("output", "outputs", "result", "response", "completion", "answer"))
_TOOL_NAMES = ("gen_ai.tool.name", "tool.name", "tool_name", "mcp.tool.name")
_CALL_IDS = ("gen_ai.tool.call.id", "tool.call.id", "tool_call_id", "tool_use_id", "tool.id")
_AGENTS = ("gen_ai.agent.name", "agent.name", "agent_name", "graph.node.id")
_MODELS = ("gen_ai.response.model", "gen_ai.request.model", "model", "model_name", "llm.model", "model.name")
_THREADS = (
    "gen_ai.conversation.id",
    "session.id",
    "conversation.id",
    "conversation_id",
    "session_id",
    "thread_id",
    "thread.id",
)
_USAGE: dict[str, tuple[str, ...]] = {
    "input_tokens": (
        "input_tokens",
        "gen_ai.usage.input_tokens",
        "prompt_tokens",
        "usage.input_tokens",
        "usage.prompt_tokens",
    ),
    "output_tokens": ("output_tokens", "gen_ai.usage.output_tokens", "completion_tokens", "usage.output_tokens"),
    "cached_tokens": ("cache_read_tokens", "gen_ai.usage.cache_read.input_tokens", "cached_tokens"),
    "cache_write_tokens": ("cache_creation_tokens", "gen_ai.usage.cache_creation.input_tokens"),
    "reasoning_tokens": ("reasoning_tokens", "gen_ai.usage.reasoning.output_tokens"),
}
_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("llm", "llm_request", "generation", "chat", "completion", "chat_model", "model"), "llm"),
    **dict.fromkeys(("tool", "tool_call", "function", "mcp_tool"), "tool"),
    **dict.fromkeys(("agent", "interaction", "agent_run", "subagent"), "agent"),
    **dict.fromkeys(("retriever", "retrieval", "embedding", "reranker"), "retrieval"),
}
_TYPES = ("span.type", "span_type", "type", "run_type")
_NAMES: tuple[tuple[str, Kind], ...] = (
    ("execute_tool ", "tool"),
    ("running tool: ", "tool"),
    ("invoke_agent ", "agent"),
    ("tools/call ", "tool"),
)
_TRANSPORT = ("url.", "http.")
"""Attributes of the way a request took: `url.query` is nobody's query."""
_NOTHING = ("", "<null>", None)
_MANY = 256


def read(span: Span) -> Call:
    """The call any span records as far as its attributes can be told apart; never None."""
    attributes = span.attributes
    logged = _logged(span)
    if logged:
        attributes = {**attributes, **logged}
    kind, operation = _kind(span, attributes)
    agent = word(attributes, *_AGENTS)
    model = word(attributes, *_MODELS) if kind == "llm" else ""
    name = _name(span, attributes, kind, agent, model)
    notes: list[str] = []
    given, returned = _content(attributes, _INPUTS, _INPUT_WORDS), _content(attributes, _OUTPUTS, _OUTPUT_WORDS)
    if kind == "llm":
        given, returned = readable(given, notes), readable(returned, notes)
    elif is_cut(given) or is_cut(returned):
        notes.append(CUT)
    error = failure(span) or _error(attributes)
    sent: tuple[Message, ...] = ()
    said: tuple[Message, ...] = ()
    if kind == "tool":
        sent, said, told = tool_exchange(name, given, returned, call_id=word(attributes, *_CALL_IDS))
        error = error or told
    elif kind == "llm":
        sent, said = chat.messages(given), chat.messages(returned, "assistant")
    elif kind == "agent":
        sent, said = conversation(given, "user"), answer(returned)
    elif kind == "retrieval":
        sent, said = passage(given, "user"), documents(returned)
    else:
        sent = conversation(given, "user") or _infrastructure(attributes)
        said = conversation(returned, "assistant")
    return Call(
        kind=kind,
        operation=operation,
        name=name,
        agent=agent or (name if kind == "agent" else ""),
        agent_id=word(attributes, "gen_ai.agent.id", "agent_id", "agent.id"),
        description=word(attributes, "gen_ai.tool.description", "tool.description", "gen_ai.agent.description"),
        input=sent,
        output=said,
        model=model,
        response_id=word(attributes, "gen_ai.response.id", "request_id"),
        finish_reason=word(attributes, "stop_reason", "finish_reason"),
        conversation_id=word(attributes, *_THREADS),
        usage=_usage(attributes) if kind == "llm" else None,
        error=error,
        hidden=kind in {"llm", "tool"} and given is None and returned is None,
        notes=tuple(notes),
    )


def _kind(span: Span, attributes: Mapping[str, Any]) -> tuple[Kind, str]:
    """The kind by a type attribute, a tool's name, a model with token counts, or the span's name."""
    for key in _TYPES:
        if (recorded := word(attributes, key)) and (kind := _KINDS.get(recorded.lower())):
            return kind, recorded
    typed = word(attributes, *_TYPES)
    if typed.startswith("tool."):  # Claude Code: tool.execution and tool.blocked_on_user are phases of a tool
        return "other", typed
    if word(attributes, *_TOOL_NAMES):
        return "tool", typed
    if word(attributes, *_MODELS) and _usage(attributes):
        return "llm", typed
    return next((kind for beginning, kind in _NAMES if span.name.startswith(beginning)), "other"), typed


def _name(span: Span, attributes: Mapping[str, Any], kind: Kind, agent: str, model: str) -> str:
    named = {"tool": word(attributes, *_TOOL_NAMES), "agent": agent, "llm": model}.get(kind, "")
    if named:
        return named
    for beginning, _ in _NAMES:
        if span.name.startswith(beginning) and len(span.name) > len(beginning):
            return span.name[len(beginning) :]
    return span.name


def _content(attributes: Mapping[str, Any], keys: tuple[str, ...], words: frozenset[str]) -> Any:
    for key in keys:
        if (value := attributes.get(key)) not in _NOTHING:
            return value
    if len(attributes) <= _MANY:
        for key, value in attributes.items():
            if key.rpartition(".")[2] in words and value not in _NOTHING and not key.startswith(_TRANSPORT):
                return value
    return None


def _logged(span: Span) -> dict[str, Any]:
    """What log records joined to the span tell about a function call (`patronus.sdk`; docs/conventions.md F12)."""
    told: dict[str, Any] = {}
    for event in span.events:
        body = event.body
        if isinstance(body, Mapping) and "function.name" in body:
            for key in ("function.arguments", "function.output"):
                if (value := body.get(key)) not in _NOTHING and value != {}:
                    told[key] = value
            if "exception.message" in body or "exception.type" in body:
                told["error"] = exception(type(event)(name="exception", attributes=dict(body)))
    return told


def _error(attributes: Mapping[str, Any]) -> str:
    """An error the attributes tell: a message, a type, or a failed HTTP exchange marked as an error."""
    if said := word(attributes, "error.message", "exception.message", "error_message", "error.type"):
        return said
    flag = attributes.get("error")
    if flag is True or (isinstance(flag, str) and flag.lower() == "true"):
        status = text(attributes.get("http.response.status_code", attributes.get("http.status_code")))
        return f"HTTP {status}" if status else "error"
    return flag if isinstance(flag, str) and flag.lower() != "false" else ""


def _infrastructure(attributes: Mapping[str, Any]) -> tuple[Message, ...]:
    """The one line that tells an HTTP request (`GET https://... 404`), a database statement or a remote call.

    Its role is `request`: nobody said it.
    """
    if method := word(attributes, "http.request.method", "http.method"):
        target = word(attributes, "url.full", "http.url", "http.target", "url.path", "http.route")
        status = text(attributes.get("http.response.status_code", attributes.get("http.status_code")))
        return passage(" ".join(part for part in (method, target, status) if part), "request")
    if statement := word(attributes, "db.query.text", "db.statement"):
        return passage(statement, "request")
    if method := word(attributes, "rpc.method", "mcp.method.name"):
        return passage("/".join(part for part in (word(attributes, "rpc.service"), method) if part), "request")
    return ()


def _usage(attributes: Mapping[str, Any]) -> Usage | None:
    usage = Usage(
        **{field: next((n for key in keys if (n := count(attributes.get(key)))), 0) for field, keys in _USAGE.items()}
    )
    return usage if usage != Usage() else None
