"""Spans of the Vercel AI SDK up to 6, and of 7 with its legacy telemetry.

AI SDK 7 itself writes the semantic conventions; its `inputSchema` tool definitions and off-schema parts are known to
`chat`. Facts: docs/conventions.md C5.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpa.ingest.dialects import chat
from gpa.ingest.dialects.attributes import count, text, word
from gpa.ingest.dialects.call import Call, Kind, Message, Usage
from gpa.ingest.dialects.failure import failure
from gpa.ingest.dialects.json_text import structure
from gpa.ingest.dialects.payload import passage, readable, tool_exchange
from gpa.ingest.spans import Span

_TELLTALE = frozenset(("ai.operationId", "ai.toolCall.name", "ai.prompt.messages", "ai.prompt"))
_MODEL_CALLS = (".doGenerate", ".doStream")
_METADATA = "ai.telemetry.metadata."
_THREADS = ("sessionId", "threadId", "conversationId", "chatId")


def read(span: Span) -> Call | None:
    """The call an AI SDK span records, or None for a span of another convention."""
    attributes = span.attributes
    if attributes.keys().isdisjoint(_TELLTALE):
        return None
    operation = word(attributes, "ai.operationId") or word(attributes, "operation.name").partition(" ")[0] or span.name
    kind = _kind(operation, attributes)
    function = word(attributes, "gen_ai.agent.name", "ai.telemetry.functionId")
    if kind == "tool":
        return _tool_call(span, attributes, function)
    notes: list[str] = []
    sent = _sent(attributes, notes) if kind != "retrieval" else _values(attributes)
    said = _said(attributes, notes) if kind != "retrieval" else ()
    model = word(attributes, "ai.response.model", "gen_ai.response.model", "ai.model.id", "gen_ai.request.model")
    return Call(
        kind=kind,
        operation=operation,
        name=(function or operation) if kind == "agent" else model,
        agent=function or (operation if kind == "agent" else ""),
        input=sent,
        output=said,
        tools=chat.tools(attributes.get("ai.prompt.tools")),
        model=model,
        response_id=word(attributes, "ai.response.id", "gen_ai.response.id"),
        finish_reason=word(attributes, "ai.response.finishReason", "ai.result.finishReason", "ai.finishReason"),
        conversation_id=word(attributes, *(_METADATA + key for key in _THREADS)),
        usage=_usage(attributes),
        error=failure(span),
        hidden=kind in {"llm", "agent"} and not sent and not said,
        notes=tuple(notes),
    )


def _kind(operation: str, attributes: Mapping[str, Any]) -> Kind:
    if operation.startswith("ai.toolCall") or "ai.toolCall.name" in attributes:
        return "tool"
    if operation.endswith(_MODEL_CALLS) or "ai.prompt.messages" in attributes:
        return "llm"
    if operation.startswith(("ai.embed", "ai.rerank")):
        return "retrieval"
    return "agent"  # ai.generateText, ai.streamObject, ...: the loop around the model calls


def _sent(attributes: Mapping[str, Any], notes: list[str]) -> tuple[Message, ...]:
    for key in ("ai.prompt.messages", "ai.prompt"):
        if (value := attributes.get(key)) is not None:
            return chat.messages(readable(value, notes))
    return ()


def _said(attributes: Mapping[str, Any], notes: list[str]) -> tuple[Message, ...]:
    """Thinking, text or object, then calls; the attributes were `ai.result.*` before version 4."""

    def response(key: str) -> Any:
        value = attributes.get(f"ai.response.{key}")
        return attributes.get(f"ai.result.{key}") if value is None else value

    said = [*chat.messages(response("reasoning"), "reasoning"), *passage(response("text"), "assistant")]
    if not any(message.role == "assistant" for message in said):
        said += passage(response("object"), "assistant")
    calls = readable(response("toolCalls"), notes)
    for call in calls if isinstance(calls, list) else []:
        if isinstance(call, dict):
            given = chat.arguments(call.get("input", call.get("args")))
            said.append(Message("assistant", "", text(call.get("toolName")), text(call.get("toolCallId")), given))
    return tuple(said)


def _values(attributes: Mapping[str, Any]) -> tuple[Message, ...]:
    """What was embedded: one value, or a list of JSON texts; what was reranked: a query."""
    values = structure(attributes.get("ai.values", attributes.get("ai.value", attributes.get("ai.query"))))
    return tuple(
        Message("user", said) for value in (values if isinstance(values, list) else [values]) if (said := text(value))
    )


def _tool_call(span: Span, attributes: Mapping[str, Any], agent: str) -> Call:
    name = word(attributes, "ai.toolCall.name") or span.name
    call_id = word(attributes, "ai.toolCall.id")
    given = attributes.get("ai.toolCall.args", attributes.get("ai.toolCall.input"))
    returned = attributes.get("ai.toolCall.result", attributes.get("ai.toolCall.output"))
    sent, said, error = tool_exchange(name, given, returned, call_id=call_id)
    return Call(
        kind="tool",
        operation="ai.toolCall",
        name=name,
        agent=agent,
        input=sent,
        output=said,
        error=failure(span) or error or text(attributes.get("ai.toolCall.error")),
        hidden=given is None and returned is None,
    )


def _usage(attributes: Mapping[str, Any]) -> Usage | None:
    def tokens(*keys: str) -> int:
        return next((found for key in keys if (found := count(attributes.get(key)))), 0)

    usage = Usage(
        input_tokens=tokens(
            "ai.usage.inputTokens", "ai.usage.promptTokens", "ai.usage.tokens", "gen_ai.usage.input_tokens"
        ),
        output_tokens=tokens("ai.usage.outputTokens", "ai.usage.completionTokens", "gen_ai.usage.output_tokens"),
        cached_tokens=tokens("ai.usage.cachedInputTokens"),
        reasoning_tokens=tokens("ai.usage.reasoningTokens"),
    )
    return usage if usage != Usage() else None
