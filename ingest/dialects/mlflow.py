"""MLflow spans, from a trace file or over OTLP: every value is a JSON-encoded text.

Facts: docs/conventions.md F10, C12.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpa.ingest.dialects import chat
from gpa.ingest.dialects.attributes import count, text, word
from gpa.ingest.dialects.call import Call, Kind, Usage
from gpa.ingest.dialects.failure import failure
from gpa.ingest.dialects.json_text import decode
from gpa.ingest.dialects.langchain import origin
from gpa.ingest.dialects.payload import Exchange, answer, conversation, documents, passage, tool_exchange
from gpa.ingest.spans import Span

_TELLTALE = frozenset(("mlflow.spanType", "mlflow.spanInputs", "mlflow.spanOutputs", "mlflow.traceRequestId"))
_KINDS: dict[str, Kind] = {
    "CHAT_MODEL": "llm",
    "LLM": "llm",
    "AGENT": "agent",
    "TOOL": "tool",
    "RETRIEVER": "retrieval",
    "EMBEDDING": "retrieval",
    "RERANKER": "retrieval",
    "MEMORY": "retrieval",
}


def read(span: Span) -> Call | None:
    """The call an MLflow span records, or None for a span of another convention."""
    attributes = span.attributes
    if attributes.keys().isdisjoint(_TELLTALE):
        return None
    operation = text(_value(attributes, "mlflow.spanType"))
    run = origin(attributes, "metadata")
    kind = _KINDS.get(operation, "other")
    if kind == "other" and run.is_agent(span.name):
        kind = "agent"
    given, returned = _value(attributes, "mlflow.spanInputs"), _value(attributes, "mlflow.spanOutputs")
    inputs = given if isinstance(given, Mapping) else {}
    model = text(_value(attributes, "mlflow.llm.model")) or word(inputs, "model")
    sent, said, error = _content(kind, span, attributes, given, returned)
    name = run.agent or span.name if kind == "agent" else model or span.name if kind == "llm" else span.name
    return Call(
        kind=kind,
        operation=operation,
        name=name,
        agent=name if kind == "agent" else run.agent,
        input=sent,
        output=said,
        tools=chat.tools(_value(attributes, "mlflow.chat.tools") or inputs.get("tools"))
        if kind in {"llm", "agent"}
        else (),
        model=model,
        finish_reason=_finish_reason(returned),
        conversation_id=text(_value(attributes, "mlflow.trace.session"))
        or word(span.resource, "mlflow.trace.session")
        or run.thread,
        usage=_usage(_value(attributes, "mlflow.chat.tokenUsage")),
        error=failure(span) or error,
        hidden=kind in {"llm", "tool"} and given is None and returned is None,
    )


def _content(kind: Kind, span: Span, attributes: Mapping[str, Any], given: Any, returned: Any) -> Exchange:
    if kind == "llm":
        return Exchange(chat.messages(given), chat.messages(returned, "assistant"))
    if kind == "tool":
        return tool_exchange(span.name, given, returned, call_id=text(_value(attributes, "tool_call_id")))
    if kind == "retrieval":
        return Exchange(passage(given, "user"), documents(returned))
    said = answer(returned) if kind == "agent" else conversation(returned, "assistant")
    return Exchange(conversation(given, "user"), said)


def _value(attributes: Mapping[str, Any], key: str) -> Any:
    """The attribute, decoded once; what is no JSON stays as it is, since some writers forget to encode."""
    value = attributes.get(key)
    return decode(value) if isinstance(value, str) else value


def _finish_reason(returned: Any) -> str:
    choices = returned.get("choices") if isinstance(returned, Mapping) else None
    return (
        word(choices[0], "finish_reason")
        if isinstance(choices, list) and choices and isinstance(choices[0], dict)
        else ""
    )


def _usage(recorded: Any) -> Usage | None:
    if not isinstance(recorded, Mapping):
        return None
    return Usage(
        input_tokens=count(recorded.get("input_tokens")),
        output_tokens=count(recorded.get("output_tokens")),
        cached_tokens=count(recorded.get("cache_read_input_tokens")),
        cache_write_tokens=count(recorded.get("cache_creation_input_tokens")),
    )
