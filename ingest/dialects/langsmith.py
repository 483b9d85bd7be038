"""LangSmith: spans of its OpenTelemetry bridge, and runs of its own format.

Both say the same: a kind of run, its inputs and its outputs as JSON of LangChain objects.
Facts: docs/conventions.md C11, F9.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gpa.ingest.dialects import chat
from gpa.ingest.dialects.attributes import count, text, word
from gpa.ingest.dialects.call import Call, Kind, Message, Usage
from gpa.ingest.dialects.failure import failure
from gpa.ingest.dialects.json_text import structure
from gpa.ingest.dialects.langchain import origin
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
from gpa.ingest.spans import Span

_METADATA = "langsmith.metadata"
_KINDS: dict[str, Kind] = {"llm": "llm", "tool": "tool", "retriever": "retrieval", "embedding": "retrieval"}
_TURN = re.compile(r"^(System|Human|AI|Tool|Function): ", re.MULTILINE)
_SPEAKERS = {"System": "system", "Human": "user", "AI": "assistant", "Tool": "tool", "Function": "tool"}


def read(span: Span) -> Call | None:
    """The call a LangSmith run records, or None for a span of another convention."""
    attributes = span.attributes
    if "langsmith.span.kind" not in attributes:
        return None
    operation = text(attributes["langsmith.span.kind"])
    run = origin(attributes, _METADATA)
    kind = _KINDS.get(operation, "other")
    if kind == "other" and run.is_agent(span.name):
        kind = "agent"
    notes: list[str] = []
    given, returned = attributes.get("gen_ai.prompt"), attributes.get("gen_ai.completion")
    if kind == "llm":
        given, returned = readable(given, notes), readable(returned, notes)
    elif is_cut(given) or is_cut(returned):
        notes.append(CUT)
    sent, said, error = _content(kind, span, attributes, given, returned)
    inputs = given if isinstance(given, Mapping) else {}
    model = word(attributes, "gen_ai.response.model", "gen_ai.request.model", f"{_METADATA}.ls_model_name") or word(
        inputs, "model"
    )
    name = run.agent or span.name if kind == "agent" else model or span.name if kind == "llm" else span.name
    offered = attributes.get("gen_ai.tool.definitions") or inputs.get("tools")
    return Call(
        kind=kind,
        operation=operation,
        name=name,
        agent=name if kind == "agent" else word(attributes, "gen_ai.agent.name") or run.agent,
        input=sent,
        output=said,
        tools=chat.tools(offered) if kind in {"llm", "agent"} else (),
        model=model,
        finish_reason=_finish_reason(returned),
        conversation_id=word(attributes, f"{_METADATA}.session_id", f"{_METADATA}.conversation_id") or run.thread,
        usage=_usage(attributes, returned),
        error=failure(span) or error,
        hidden=kind in {"llm", "tool"} and not given and not returned,
        notes=tuple(notes),
    )


def _content(kind: Kind, span: Span, attributes: Mapping[str, Any], given: Any, returned: Any) -> Exchange:
    if kind == "llm":
        return Exchange(_sent(given), chat.messages(returned, "assistant"))
    if kind == "tool":
        call_id = word(attributes, "gen_ai.tool.call.id", f"{_METADATA}.tool_call_id")
        name = word(attributes, "gen_ai.tool.name") or span.name
        inputs = structure(given)
        if isinstance(inputs, dict) and inputs.keys() == {"input"} and text(inputs["input"])[:1] == "{":
            given = inputs["input"]  # LangChain's record of a call by the repr of its arguments
        result = structure(returned)
        if isinstance(result, dict) and result.keys() == {"output"}:
            returned = result["output"]  # whatever a LangChain tool returns stands under this key
        return tool_exchange(name, given, returned or None, call_id=call_id)
    if kind == "retrieval":
        inputs = structure(given)
        query = inputs.get("query", given) if isinstance(inputs, Mapping) else given
        return Exchange(passage(query, "user"), documents(returned))
    said = answer(returned) if kind == "agent" else conversation(returned or None, "assistant")
    return Exchange(conversation(given, "user"), said)


def _sent(given: Any) -> tuple[Message, ...]:
    prompts = given.get("prompts") if isinstance(given, Mapping) else None
    if not isinstance(prompts, list) or not all(isinstance(prompt, str) for prompt in prompts):
        return chat.messages(given)
    return tuple(message for prompt in prompts for message in _turns(prompt))


def _turns(prompt: str) -> list[Message]:
    """The messages of LangChain's text form of a conversation, lines `System: ...`, `Human: ...`; else one message."""
    marks = list(_TURN.finditer(prompt))
    if not marks or marks[0].start():
        return [Message("user", prompt)] if prompt else []
    ends = [mark.start() - 1 for mark in marks[1:]] + [len(prompt)]
    return [Message(_SPEAKERS[mark[1]], prompt[mark.end() : end]) for mark, end in zip(marks, ends, strict=True)]


def _finish_reason(returned: Any) -> str:
    """`generations[0][0].generation_info.finish_reason` of LangChain, `choices[0].finish_reason` of OpenAI."""
    if not isinstance(returned, Mapping):
        return ""
    first = returned.get("generations") or returned.get("choices")
    for _ in range(2):
        first = first[0] if isinstance(first, list) and first else first
    if not isinstance(first, Mapping):
        return ""
    info = first.get("generation_info")
    return word(first, "finish_reason") or (word(info, "finish_reason") if isinstance(info, Mapping) else "")


def _usage(attributes: Mapping[str, Any], returned: Any) -> Usage | None:
    recorded = structure(attributes.get(f"{_METADATA}.usage_metadata"))
    if not isinstance(recorded, Mapping) and isinstance(returned, Mapping):
        recorded = returned.get("usage_metadata") or returned.get("usage")
    recorded = recorded if isinstance(recorded, Mapping) else {}
    taken, given = recorded.get("input_token_details"), recorded.get("output_token_details")
    taken, given = (details if isinstance(details, Mapping) else {} for details in (taken, given))
    usage = Usage(
        input_tokens=count(attributes.get("gen_ai.usage.input_tokens"))
        or count(recorded.get("input_tokens"))
        or count(recorded.get("prompt_tokens")),
        output_tokens=count(attributes.get("gen_ai.usage.output_tokens"))
        or count(recorded.get("output_tokens"))
        or count(recorded.get("completion_tokens")),
        cached_tokens=count(attributes.get("gen_ai.usage.cache_read.input_tokens")) or count(taken.get("cache_read")),
        cache_write_tokens=count(attributes.get("gen_ai.usage.cache_write.input_tokens"))
        or count(taken.get("cache_creation")),
        reasoning_tokens=count(attributes.get("gen_ai.usage.reasoning.output_tokens")) or count(given.get("reasoning")),
    )
    return usage if usage != Usage() else None
