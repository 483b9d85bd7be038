"""pydantic-ai and Logfire, where they differ from the GenAI conventions.

Agent spans hold the whole run in `pydantic_ai.all_messages` (before version 2 of the format: `all_messages_events`)
and the answer in `final_result`; old tool spans have `tool_arguments` and `tool_response`; Logfire sends a placeholder
when a span starts. Facts: docs/conventions.md C6.
"""

from __future__ import annotations

from typing import Any

from gpa.ingest.dialects import chat, legacy_events
from gpa.ingest.dialects.attributes import word
from gpa.ingest.dialects.call import Call, Message
from gpa.ingest.dialects.json_text import recover, structure
from gpa.ingest.dialects.semconv import SYSTEM, conversation, recorded_result
from gpa.ingest.spans import Attributes, Span

_ALL, _ALL_EVENTS = "pydantic_ai.all_messages", "all_messages_events"
_PARAMETERS = "model_request_parameters"


def read(span: Span) -> Call | None:
    """What pydantic-ai's own attributes tell of a call, or None when the span has none of them."""
    attributes = span.attributes
    if attributes.get("logfire.span_type") == "pending_span":
        return Call(placeholder=True)
    if "tool_response" in attributes or "tool_arguments" in attributes:
        return _tool(span)
    if _ALL in attributes or _ALL_EVENTS in attributes or "final_result" in attributes or span.name == "agent run":
        return _agent(span)
    if "tools" in attributes and span.name.startswith("running "):  # `running 2 tools`: a wrapper
        return Call(operation="running tools", name=span.name)
    if _PARAMETERS in attributes and "gen_ai.tool.definitions" not in attributes:
        return Call(tools=_tools(attributes[_PARAMETERS]))
    return None


def _tool(span: Span) -> Call:
    attributes = span.attributes
    name = word(attributes, "gen_ai.tool.name")
    call_id = word(attributes, "gen_ai.tool.call.id")
    result = attributes.get("tool_response")
    return Call(
        kind="tool",
        name=name,
        input=(Message("assistant", "", name, call_id, chat.arguments(attributes.get("tool_arguments"))),),
        output=() if result is None else (Message("tool", recorded_result(result), name, call_id),),
    )


def _agent(span: Span) -> Call:
    attributes = span.attributes
    notes: list[str] = []
    given, said = _run(attributes, notes)
    result = attributes.get("final_result")
    if result is not None and result != "":
        said = (Message("assistant", recorded_result(result)),)
    name = word(attributes, "gen_ai.agent.name", "agent_name")
    return Call(
        kind="agent",
        name=name,
        agent=name,
        model=word(attributes, "gen_ai.request.model", "model_name"),
        input=given,
        output=said,
        hidden=not any(message.text for message in given + said),
        notes=tuple(notes),
    )


def _run(attributes: Attributes, notes: list[str]) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """What the agent was asked (up to its first turn) and what it said last; the model calls hold the rest."""
    instructions: tuple[Message, ...] = ()
    if SYSTEM in attributes:
        instructions = conversation(attributes[SYSTEM], "system", notes)
    if _ALL in attributes:
        entries = recover(attributes[_ALL])[0]
        first = attributes.get("pydantic_ai.new_message_index")
        if isinstance(entries, list) and isinstance(first, int) and 0 < first < len(entries):
            entries = entries[first:]  # what is before belongs to earlier runs of the conversation
        whole = conversation(attributes[_ALL] if isinstance(entries, str) else entries, "user", notes)
    elif _ALL_EVENTS in attributes:
        told = legacy_events.from_attribute(attributes[_ALL_EVENTS])
        whole = told.input + told.output if told else ()
    else:
        whole = ()
    turn = next((index for index, message in enumerate(whole) if message.role not in {"system", "user"}), len(whole))
    last = whole[-1:] if turn < len(whole) and whole[-1].role == "assistant" else ()
    return instructions + whole[:turn], last


def _tools(value: Any) -> tuple[Any, ...]:
    parameters = structure(value)
    if not isinstance(parameters, dict):
        return ()
    offered = [
        entry
        for key in ("function_tools", "output_tools")
        if isinstance(parameters.get(key), list)
        for entry in parameters[key]
    ]
    return chat.tools(offered)
