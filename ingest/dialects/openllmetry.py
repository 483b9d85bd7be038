"""OpenLLMetry (Traceloop) spans of both eras.

Up to 0.53 the conversation is flattened into `gen_ai.prompt.{i}.*` and `gen_ai.completion.{i}.*`; later packages write
the semantic conventions, read by `semconv`. The framework spans around (`traceloop.*`) are the same in both.
Facts: docs/conventions.md C3.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from gpa.ingest.dialects import chat
from gpa.ingest.dialects.attributes import count, text, word
from gpa.ingest.dialects.call import Call, Kind, Message, Tool, Usage
from gpa.ingest.dialects.failure import failure
from gpa.ingest.dialects.flat import Columns, Fields, Items, columns, in_order, items
from gpa.ingest.dialects.json_text import structure, unquoted
from gpa.ingest.dialects.langchain import origin
from gpa.ingest.dialects.payload import answer, conversation, tool_exchange
from gpa.ingest.spans import Span

_TELLTALE = frozenset(
    ("traceloop.span.kind", "llm.request.type", "gen_ai.prompt", "gen_ai.completion", "traceloop.entity.input")
)
_MAYBE = frozenset(
    ("gen_ai.system", "gen_ai.request.model", "gen_ai.response.model", "llm.usage.total_tokens", "llm.vendor")
)
_INDEXED = ("gen_ai.prompt.", "gen_ai.completion.", "llm.prompts.", "llm.completions.")
_PROPERTIES = "traceloop.association.properties"
_REQUESTS: dict[str, Kind] = {"chat": "llm", "completion": "llm", "embedding": "retrieval", "rerank": "retrieval"}
_FRAMEWORK: dict[str, Kind] = {"agent": "agent", "tool": "tool", "workflow": "other", "task": "other"}


def read(span: Span) -> Call | None:
    """The call an OpenLLMetry span records, or None for a span of another convention."""
    attributes = span.attributes
    if "langsmith.span.kind" in attributes:
        return None  # its bridge fills gen_ai.prompt and gen_ai.completion too
    if attributes.keys().isdisjoint(_TELLTALE) and (
        attributes.keys().isdisjoint(_MAYBE) or not any(key.startswith(_INDEXED) for key in attributes)
    ):
        return None
    recorded = attributes.get("traceloop.span.kind")
    if isinstance(recorded, str):
        return _framework(span, attributes, recorded)
    if "traceloop.entity.input" in attributes and not any(key.startswith(_INDEXED) for key in attributes):
        return _framework(span, attributes, "")
    return _model_call(span, attributes)


# Model calls ---------------------------------------------------------------------------------------------------------


def _model_call(span: Span, attributes: Mapping[str, Any]) -> Call:
    request = word(attributes, "llm.request.type")
    found = columns(attributes)
    prompts = items(found, "gen_ai.prompt") or items(found, "llm.prompts")
    completions = items(found, "gen_ai.completion") or items(found, "llm.completions")
    sent = _conversation(prompts, "user") or chat.messages(attributes.get("gen_ai.prompt"))
    said = _conversation(completions, "assistant") or chat.messages(attributes.get("gen_ai.completion"), "assistant")
    kind = _REQUESTS.get(request) or ("llm" if sent or said or word(attributes, "gen_ai.request.model") else "other")
    run = origin(attributes, _PROPERTIES)
    return Call(
        kind=kind,
        operation=word(attributes, "gen_ai.operation.name") or request,
        name=_model(attributes),
        agent=word(attributes, "gen_ai.agent.name") or run.agent,
        input=sent,
        output=said if kind == "llm" else (),
        tools=_functions(items(found, "llm.request.functions")),
        model=_model(attributes),
        response_id=word(attributes, "gen_ai.response.id"),
        finish_reason=next((r for fields in in_order(completions) if (r := word(fields, "finish_reason"))), ""),
        conversation_id=_conversation_id(attributes, run.thread),
        usage=_usage(attributes),
        error=failure(span),
        hidden=kind == "llm" and not sent and not said and "gen_ai.input.messages" not in attributes,
        notes=_losses(prompts),
    )


def _conversation(gathered: Items, role: str) -> tuple[Message, ...]:
    return tuple(part for fields in in_order(gathered) for part in chat.messages(_message(fields, role), role))


def _message(fields: Fields, role: str) -> dict[str, Any]:
    """The chat message that flattened fields were: `content`, `tool_calls.{j}.{id,name,arguments}`, `tool_call_id`."""
    message: dict[str, Any] = {"role": fields.get("role") or role, "content": _content(fields.get("content"))}
    if call_id := fields.get("tool_call_id"):
        message["tool_call_id"] = call_id
    if thinking := fields.get("reasoning"):
        message["reasoning"] = thinking
    nested: Columns = columns(fields) if len(fields) > 2 else {}
    if calls := items(nested, "tool_calls"):
        message["tool_calls"] = [_call(call) for call in in_order(calls)]
    elif name := fields.get("function_call.name"):
        message["tool_calls"] = [{"name": text(name), "arguments": fields.get("function_call.arguments")}]
    return message


def _call(fields: Fields) -> dict[str, Any]:
    return {key: fields.get(key, fields.get(f"function.{key}")) for key in ("id", "name", "arguments")}


def _content(content: object) -> Any:
    """Content parts are dumped as a JSON list; other JSON is what somebody said."""
    if isinstance(content, str) and content[:2] == "[{":
        found = structure(content)
        if isinstance(found, list) and all(isinstance(part, dict) and "type" in part for part in found):
            return found
    return content if isinstance(content, str | list | dict) or content is None else text(content)


def _losses(prompts: Items) -> tuple[str, ...]:
    missing = max(prompts) + 1 - len(prompts) if prompts else 0
    return (f"{missing} input messages were dropped by the producer's attribute limit",) if missing else ()


def _functions(gathered: Items) -> tuple[Tool, ...]:
    return tuple(
        _tool(
            text(fields.get("name")),
            text(fields.get("description")),
            text(fields.get("parameters", fields.get("input_schema"))),
        )
        for fields in in_order(gathered)
    )


@lru_cache(maxsize=512)
def _tool(name: str, description: str, parameters: str) -> Tool:
    schema = structure(parameters)
    return Tool(name, description, schema if isinstance(schema, dict) else {})


def _model(attributes: Mapping[str, Any]) -> str:
    return word(attributes, "gen_ai.response.model", "gen_ai.request.model", "llm.response.model", "llm.request.model")


def _usage(attributes: Mapping[str, Any]) -> Usage | None:
    usage = Usage(
        input_tokens=_count(attributes, "input_tokens", "prompt_tokens"),
        output_tokens=_count(attributes, "output_tokens", "completion_tokens"),
        cached_tokens=_count(attributes, "cache_read.input_tokens", "cache_read_input_tokens"),
        cache_write_tokens=_count(attributes, "cache_creation.input_tokens", "cache_creation_input_tokens"),
        reasoning_tokens=_count(attributes, "reasoning_tokens"),
    )
    return usage if usage != Usage() else None


def _count(attributes: Mapping[str, Any], *names: str) -> int:
    for name in names:
        for prefix in ("gen_ai.usage.", "llm.usage."):
            if found := count(attributes.get(prefix + name)):
                return found
    return 0


# Framework spans -----------------------------------------------------------------------------------------------------


def _framework(span: Span, attributes: Mapping[str, Any], recorded: str) -> Call:
    given, returned = attributes.get("traceloop.entity.input"), attributes.get("traceloop.entity.output")
    if isinstance(returned, str):
        returned = unquoted(returned)
    run = origin(attributes, _PROPERTIES)
    kind = _FRAMEWORK.get(recorded, "other")
    if recorded == "workflow" and span.scope.name.endswith(".langchain"):
        kind = "agent"  # LangGraph's own agents have no span of kind agent before 0.60
    named = (
        word(attributes, "gen_ai.agent.name")
        if kind == "agent"
        else word(attributes, "gen_ai.tool.name")
        if kind == "tool"
        else ""
    )
    name = named or word(attributes, "traceloop.entity.name") or span.name
    error = failure(span)
    sent: tuple[Message, ...] = ()
    said: tuple[Message, ...] = ()
    if kind == "tool":
        sent, said, told = tool_exchange(name, given, returned, call_id=word(attributes, "gen_ai.tool.call.id"))
        error = error or told
    elif kind == "agent":
        sent = chat.messages(attributes.get("gen_ai.system_instructions"), "system") + conversation(given, "user")
        said = answer(returned)
    else:
        sent, said = conversation(given, "user"), conversation(returned, "assistant")
    return Call(
        kind=kind,
        operation=recorded,
        name=name,
        agent=name if kind == "agent" else word(attributes, "gen_ai.agent.name") or run.agent,
        description=word(attributes, "gen_ai.tool.description", "gen_ai.agent.description"),
        input=sent,
        output=said,
        conversation_id=_conversation_id(attributes, run.thread),
        error=error,
        hidden=kind == "tool" and given is None and returned is None,
    )


def _conversation_id(attributes: Mapping[str, Any], thread: str) -> str:
    return word(attributes, "gen_ai.conversation.id", f"{_PROPERTIES}.session_id") or thread
