"""Google's Agent Development Kit.

Schema 2 follows the GenAI conventions; here are the attributes `gcp.vertex.agent.*` of schema 1, in which the request
and the response of the model are JSON texts of the Gemini API, and two spans that need a word: the merged tool call,
which repeats the parallel calls before it, and `agent_run [name]` of the first releases. Facts: docs/conventions.md C9.
"""

from __future__ import annotations

from typing import Any

from gpa.ingest.dialects import chat
from gpa.ingest.dialects.attributes import count, word
from gpa.ingest.dialects.call import Call, Message, Usage
from gpa.ingest.dialects.json_text import recover
from gpa.ingest.dialects.semconv import recorded_result
from gpa.ingest.spans import Span

_REQUEST, _RESPONSE = "gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response"
_ARGUMENTS, _RESULT = "gcp.vertex.agent.tool_call_args", "gcp.vertex.agent.tool_response"
_EMPTY = ("", "{}", "N/A", "<not serializable>", None)  # content switched off, or not JSON


def read(span: Span) -> Call | None:
    """The call of an ADK span as far as its own attributes tell it, or None."""
    attributes = span.attributes
    if _ARGUMENTS in attributes or _RESULT in attributes or span.name.startswith("execute_tool ("):
        return _tool(span)
    if _REQUEST in attributes or _RESPONSE in attributes:
        return _model_call(span)
    if span.scope.name != "gcp.vertex.agent":
        return None
    if span.name.startswith("agent_run ["):
        return Call(kind="agent", operation="agent_run", name=span.name[11:-1], agent=span.name[11:-1])
    conversation = word(attributes, "gcp.vertex.agent.session_id")
    return Call(conversation_id=conversation) if conversation else None


def _model_call(span: Span) -> Call:
    request, cut = recover(span.attributes.get(_REQUEST))
    response, cut_too = recover(span.attributes.get(_RESPONSE))
    given: tuple[Message, ...] = ()
    said: tuple[Message, ...] = ()
    if isinstance(request, dict) and request:
        given = chat.messages(request)
    if isinstance(response, dict) and isinstance(content := response.get("content"), dict):
        said = chat.messages({"role": "model", **content}, "assistant")
    return Call(
        kind="llm",
        operation="call_llm",
        name=word(span.attributes, "gen_ai.request.model"),
        model=word(span.attributes, "gen_ai.request.model"),
        input=given,
        output=said,
        tools=chat.tools(request) if isinstance(request, dict) and request else (),
        finish_reason=word(response, "finish_reason") if isinstance(response, dict) else "",
        usage=_usage(response) if isinstance(response, dict) else None,
        error=word(response, "error_message", "error_code") if isinstance(response, dict) else "",
        conversation_id=word(span.attributes, "gcp.vertex.agent.session_id"),
        hidden=not given and not said,
        notes=("truncated: the model's request or response was cut",) if cut or cut_too else (),
    )


def _usage(response: dict[str, Any]) -> Usage | None:
    counts = response.get("usage_metadata")
    if not isinstance(counts, dict):
        return None
    return Usage(
        input_tokens=count(counts.get("prompt_token_count")),
        output_tokens=count(counts.get("candidates_token_count")),
        cached_tokens=count(counts.get("cached_content_token_count")),
        reasoning_tokens=count(counts.get("thoughts_token_count")),
    )


def _tool(span: Span) -> Call:
    attributes = span.attributes
    name = word(attributes, "gen_ai.tool.name") or span.name.removeprefix("execute_tool ")
    call_id = word(attributes, "gen_ai.tool.call.id")
    given, result = attributes.get(_ARGUMENTS), attributes.get(_RESULT)
    # `{}` stands both for a call without arguments and for content switched off: the result decides.
    shown = given not in _EMPTY or result not in _EMPTY
    return Call(
        kind="tool",
        operation="execute_tool",
        name=name,
        description=word(attributes, "gen_ai.tool.description"),
        input=(Message("assistant", "", name, call_id, chat.arguments(given) if shown else None),),
        output=(Message("tool", recorded_result(result), name, call_id),) if shown and result is not None else (),
        hidden=not shown,
        placeholder=span.name == "execute_tool (merged)" or name == "(merged tools)",
    )
