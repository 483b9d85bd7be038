"""What pydantic-ai and Logfire say of their agents and tools (docs/conventions.md C6)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpa.ingest import dialects
from gpa.ingest.dialects import pydantic_ai
from gpa.ingest.dialects.call import Message
from tests.ingest.dialects.producers import CALL, RESULT, span

RUN = [
    {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]},
    {"role": "user", "parts": [{"type": "text", "content": "Weather?"}]},
    {
        "role": "assistant",
        "parts": [{"type": "tool_call", "id": "c1", "name": "weather", "arguments": '{"city":"Oslo"}'}],
    },
    {"role": "user", "parts": [{"type": "tool_call_response", "id": "c1", "name": "weather", "result": "rain"}]},
    {"role": "assistant", "parts": [{"type": "text", "content": "It rains."}]},
]
EVENTS = [
    {"event.name": "gen_ai.system.message", "role": "system", "content": "Be brief.", "gen_ai.message.index": 0},
    {"event.name": "gen_ai.user.message", "role": "user", "content": "Weather?", "gen_ai.message.index": 0},
    {"event.name": "gen_ai.assistant.message", "role": "assistant", "content": "It rains.", "gen_ai.message.index": 1},
]


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("agent run", {"agent_name": "ada", "all_messages_events": json.dumps(EVENTS), "final_result": "It rains."}),
        ("agent run", {"agent_name": "ada", "pydantic_ai.all_messages": json.dumps(RUN), "final_result": "It rains."}),
        (
            "invoke_agent ada",
            {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "ada", "pydantic_ai.all_messages": RUN},
        ),
    ],
    ids=["format 1", "format 2", "format 3 and later, without a final result"],
)
def test_a_pydantic_ai_agent_is_asked_and_answers(name: str, attributes: dict[str, Any]) -> None:
    found = dialects.read(span(name, attributes))
    assert (found.kind, found.agent) == ("agent", "ada")
    assert found.input == (Message("system", "Be brief."), Message("user", "Weather?"))
    assert found.output == (Message("assistant", "It rains."),)


def test_earlier_runs_of_the_conversation_are_not_asked_again() -> None:
    attributes = {"pydantic_ai.all_messages": json.dumps(RUN + RUN[1:2] + RUN[-1:]), "pydantic_ai.new_message_index": 5}
    found = pydantic_ai.read(span("agent run", attributes))
    assert found is not None
    assert found.input == (Message("user", "Weather?"),)


def test_an_old_pydantic_ai_tool() -> None:
    attributes = {
        "gen_ai.tool.name": "weather",
        "gen_ai.tool.call.id": "c1",
        "tool_arguments": '{"city":"Oslo"}',
        "tool_response": "rain",
    }
    found = dialects.read(span("running tool", attributes))
    assert (found.kind, found.name, found.input, found.output, found.hidden) == (
        "tool",
        "weather",
        (CALL,),
        (RESULT,),
        False,
    )


def test_logfire_placeholders_make_no_step() -> None:
    assert dialects.read(
        span("chat m", {"logfire.span_type": "pending_span", "gen_ai.operation.name": "chat"})
    ).placeholder


def test_tools_in_the_request_parameters() -> None:
    parameters = {
        "function_tools": [{"name": "weather", "parameters_json_schema": {"type": "object"}}],
        "output_tools": [],
    }
    found = pydantic_ai.read(span("chat m", {"model_request_parameters": json.dumps(parameters)}))
    assert found is not None
    assert [(tool.name, tool.parameters) for tool in found.tools] == [("weather", {"type": "object"})]
