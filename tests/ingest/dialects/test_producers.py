"""What single producers add to, or do differently from, the GenAI conventions (docs/conventions.md C6 to C14)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.ingest import dialects
from gpa.ingest.dialects import agent_framework, claude_code, google_adk, pydantic_ai, strands
from gpa.ingest.dialects.call import Call, Message, Usage
from gpa.ingest.spans import Event, Scope, Span

CALL = Message("assistant", "", "weather", "c1", {"city": "Oslo"})
RESULT = Message("tool", "rain", "weather", "c1")
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather", "gen_ai.tool.call.id": "c1"}


def span(name: str, attributes: dict[str, Any], *events: Event, scope: str = "") -> Span:
    return Span("t", "s", name=name, attributes=attributes, events=events, scope=Scope(scope))


# pydantic-ai ---------------------------------------------------------------------------------------------------------

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


# Strands -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "events",
    [
        [
            Event("gen_ai.tool.message", attributes={"role": "tool", "content": '{"city": "Oslo"}', "id": "c1"}),
            Event("gen_ai.choice", attributes={"message": '[{"text": "rain"}]', "id": "c1"}),
        ],
        [
            Event(
                "gen_ai.client.inference.operation.details",
                attributes={
                    "gen_ai.input.messages": json.dumps(
                        [
                            {
                                "role": "tool",
                                "parts": [
                                    {"type": "tool_call", "name": "weather", "id": "c1", "arguments": {"city": "Oslo"}}
                                ],
                            }
                        ]
                    )
                },
            ),
            Event(
                "gen_ai.client.inference.operation.details",
                attributes={
                    "gen_ai.output.messages": json.dumps(
                        [
                            {
                                "role": "tool",
                                "parts": [{"type": "tool_call_response", "id": "c1", "response": [{"text": "rain"}]}],
                            }
                        ]
                    )
                },
            ),
        ],
    ],
    ids=["per-message events", "details events"],
)
def test_a_strands_tool(events: list[Event]) -> None:
    found = dialects.read(span("execute_tool weather", TOOL, *events))
    assert (found.kind, found.input, found.output) == ("tool", (CALL,), (RESULT,))


def test_a_failed_strands_tool_has_its_result_as_error() -> None:
    event = Event("gen_ai.choice", attributes={"message": '[{"text": "no such city"}]'})
    found = dialects.read(span("execute_tool weather", {**TOOL, "gen_ai.tool.status": "error"}, event))
    assert found.error == "no such city"


def test_a_strands_cycle_repeats_nothing() -> None:
    event = Event("gen_ai.user.message", attributes={"content": '[{"text": "Weather?"}]'})
    found = strands.read(span("execute_event_loop_cycle", {"event_loop.cycle_id": "1"}, event))
    assert found == Call(operation="execute_event_loop_cycle", name="execute_event_loop_cycle")


def test_the_tool_names_of_a_strands_agent() -> None:
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "ada",
        "gen_ai.agent.tools": '["weather"]',
    }
    assert [tool.name for tool in dialects.read(span("invoke_agent ada", attributes)).tools] == ["weather"]


# Google ADK ----------------------------------------------------------------------------------------------------------

REQUEST = {
    "model": "m",
    "config": {"system_instruction": "Be brief.", "tools": [{"function_declarations": [{"name": "weather"}]}]},
    "contents": [{"role": "user", "parts": [{"text": "Weather?"}]}],
}
RESPONSE = {
    "content": {
        "role": "model",
        "parts": [{"function_call": {"id": "c1", "name": "weather", "args": {"city": "Oslo"}}}],
    },
    "finish_reason": "STOP",
    "usage_metadata": {"prompt_token_count": 7, "candidates_token_count": 8},
}


def test_a_model_call_of_adk_1() -> None:
    attributes = {
        "gen_ai.system": "gcp.vertex.agent",
        "gen_ai.request.model": "m",
        "gcp.vertex.agent.llm_request": json.dumps(REQUEST),
        "gcp.vertex.agent.llm_response": json.dumps(RESPONSE),
        "gcp.vertex.agent.session_id": "k",
    }
    found = dialects.read(span("call_llm", attributes, scope="gcp.vertex.agent"))
    assert (found.kind, found.operation, found.model, found.conversation_id) == ("llm", "call_llm", "m", "k")
    assert found.input == (Message("system", "Be brief."), Message("user", "Weather?"))
    assert found.output == (CALL,)
    assert (found.finish_reason, found.usage, [tool.name for tool in found.tools]) == ("STOP", Usage(7, 8), ["weather"])


def test_a_tool_of_adk_1() -> None:
    attributes = {
        **TOOL,
        "gcp.vertex.agent.tool_call_args": '{"city":"Oslo"}',
        "gcp.vertex.agent.tool_response": '{"result": "rain"}',
    }
    found = dialects.read(span("execute_tool weather", attributes, scope="gcp.vertex.agent"))
    assert (found.input, found.output, found.hidden) == ((CALL,), (RESULT,), False)


@pytest.mark.parametrize(("arguments", "result"), [("{}", "{}"), ("N/A", "<not serializable>")])
def test_switched_off_content_of_adk_is_hidden(arguments: str, result: str) -> None:
    attributes = {**TOOL, "gcp.vertex.agent.tool_call_args": arguments, "gcp.vertex.agent.tool_response": result}
    found = dialects.read(span("execute_tool weather", attributes))
    assert found.hidden
    assert found.input == (Message("assistant", "", "weather", "c1"),)


def test_merged_tool_calls_of_adk_make_no_step() -> None:
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "(merged tools)"}
    assert dialects.read(span("execute_tool (merged)", attributes, scope="gcp.vertex.agent")).placeholder


def test_the_agent_span_of_the_first_adk() -> None:
    found = google_adk.read(span("agent_run [ada]", {}, scope="gcp.vertex.agent"))
    assert found is not None
    assert (found.kind, found.agent) == ("agent", "ada")


# MS Agent Framework, AutoGen -----------------------------------------------------------------------------------------


def test_messages_of_the_agent_framework_count_once() -> None:
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text", "content": "Weather?"}, null]}]',
        "gen_ai.response.finish_reasons": '["tool_calls"]',
    }
    event = Event("gen_ai.user.message", body={"content": "Weather?"})
    found = dialects.read(span("chat m", attributes, event, scope="agent_framework"))
    assert (found.input, found.finish_reason) == ((Message("user", "Weather?"),), "tool_calls")


@pytest.mark.parametrize(
    ("name", "attributes", "shown"),
    [
        ("executor.process writer", {"executor.id": "writer"}, "writer"),
        ("workflow.run", {"workflow.name": "report"}, "report"),
        ("edge_group.process", {"edge_group.type": "FanOut"}, "FanOut"),
        ("message.send", {"message.type": "Draft"}, "Draft"),
        ("autogen publish group_topic", {}, "autogen publish group_topic"),
    ],
)
def test_workflow_steps_are_named(name: str, attributes: dict[str, Any], shown: str) -> None:
    found = agent_framework.read(span(name, attributes))
    assert found is not None
    assert (found.kind, found.name) == ("other", shown)


# Gemini CLI ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_key", "said_key"), [("gen_ai.input.messages", "gen_ai.output.messages"), ("input-json", "output-json")]
)
def test_a_gemini_cli_tool(given_key: str, said_key: str) -> None:
    request = {"callId": "c1", "name": "weather", "args": {"city": "Oslo"}, "prompt_id": "p"}
    done = {
        "status": "success",
        "response": {"responseParts": [{"functionResponse": {"name": "weather", "response": {"output": "rain"}}}]},
    }
    attributes = {
        "gen_ai.operation.name": "tool_call",
        "gen_ai.tool.name": "weather",
        "gen_ai.tool.call_id": "c1",
        given_key: json.dumps(request),
        said_key: json.dumps(done),
    }
    found = dialects.read(span("tool_call", attributes, scope="gemini-cli"))
    assert (found.kind, found.input, found.output, found.error) == ("tool", (CALL,), (RESULT,), "")


def test_a_gemini_cli_model_call() -> None:
    attributes = {
        "gen_ai.operation.name": "llm_call",
        "gen_ai.input.messages": json.dumps({"request": REQUEST, "userPromptId": "p", "model": "m"}),
        "gen_ai.output.messages": json.dumps(
            {"response": {"candidates": [{"content": RESPONSE["content"]}]}, "durationMs": 3}
        ),
    }
    found = dialects.read(span("llm_call", attributes, scope="gemini-cli"))
    assert found.kind == "llm"
    assert (found.input, found.output) == ((Message("system", "Be brief."), Message("user", "Weather?")), (CALL,))


# Claude Code ---------------------------------------------------------------------------------------------------------


def test_a_claude_code_interaction() -> None:
    found = dialects.read(
        span("claude_code.interaction", {"span.type": "interaction", "user_prompt": "Fix it.", "session.id": "k"})
    )
    assert (found.kind, found.agent, found.conversation_id, found.input) == (
        "agent",
        "Claude Code",
        "k",
        (Message("user", "Fix it."),),
    )


def test_withheld_prompts_of_claude_code_are_hidden() -> None:
    found = claude_code.read(span("claude_code.interaction", {"span.type": "interaction", "user_prompt": "<REDACTED>"}))
    assert found is not None
    assert (found.input, found.hidden) == ((), True)


def test_a_claude_code_tool() -> None:
    attributes = {"span.type": "tool", "tool_name": "weather", "tool_use_id": "c1"}
    event = Event("tool.output", attributes={"tool_input": '{"city":"Oslo"}', "output": "rain"})
    found = dialects.read(span("claude_code.tool", attributes, event))
    assert (found.kind, found.name, found.input, found.output) == ("tool", "weather", (CALL,), (RESULT,))


def test_a_claude_code_model_call_with_its_bodies() -> None:
    request = {
        "model": "m",
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "Weather?"}],
        "tools": [{"name": "weather", "input_schema": {}}],
    }
    response = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Oslo"}}],
    }
    attributes = {
        "span.type": "llm_request",
        "model": "m",
        "gen_ai.request.model": "m",
        "input_tokens": 2,
        "output_tokens": 12,
        "cache_read_tokens": 84,
        "cache_creation_tokens": 7,
        "stop_reason": "tool_use",
        "success": True,
    }
    events = [
        Event("", attributes={"event.name": "api_request_body", "body": json.dumps(request)}),
        Event("claude_code.api_response_body", attributes={"body": json.dumps(response)}),
    ]
    found = dialects.read(span("claude_code.llm_request", attributes, *events))
    assert (found.kind, found.model, found.finish_reason, found.usage) == ("llm", "m", "tool_use", Usage(2, 12, 84, 7))
    assert (found.input, found.output) == ((Message("system", "Be brief."), Message("user", "Weather?")), (CALL,))
    assert [tool.name for tool in found.tools] == ["weather"]


def test_a_failed_claude_code_request_says_so() -> None:
    found = claude_code.read(
        span("claude_code.llm_request", {"span.type": "llm_request", "success": False, "error": "overloaded"})
    )
    assert found is not None
    assert found.error == "overloaded"


# All of them ---------------------------------------------------------------------------------------------------------

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.just('[{"a"'),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["role", "parts", "content", "response", "args"]), inner, max_size=3)
    ),
    max_leaves=8,
)
_NAMES = st.sampled_from(
    [
        *(
            "pydantic_ai.all_messages",
            "all_messages_events",
            "final_result",
            "tool_arguments",
            "tool_response",
            "events",
        ),
        *(
            "pydantic_ai.new_message_index",
            "model_request_parameters",
            "event_loop.cycle_id",
            "gen_ai.agent.tools",
            "body",
        ),
        *(
            "gcp.vertex.agent.llm_request",
            "gcp.vertex.agent.llm_response",
            "gcp.vertex.agent.tool_call_args",
            "content",
        ),
        *(
            "gcp.vertex.agent.tool_response",
            "input-json",
            "output-json",
            "gen_ai.operation.name",
            "user_prompt",
            "message",
        ),
        *(
            "tool_name",
            "input_tokens",
            "success",
            "executor.id",
            "gen_ai.input.messages",
            "gen_ai.output.messages",
            "span.type",
        ),
    ]
)
_SPANS = st.sampled_from(
    [
        "agent run",
        "running tools",
        "call_llm",
        "execute_tool (merged)",
        "claude_code.tool",
        "claude_code.llm_request",
        "workflow.run",
        "chat",
    ]
)
_EVENT_NAMES = st.sampled_from(["gen_ai.tool.message", "gen_ai.choice", "api_request_body", "tool.output"])


@given(st.dictionaries(_NAMES, _VALUES), _SPANS, st.sampled_from(["", "gemini-cli", "gcp.vertex.agent"]), _EVENT_NAMES)
def test_no_value_raises(attributes: dict[str, Any], name: str, scope: str, event: str) -> None:
    found = dialects.read(span(name, attributes, Event(event, attributes=attributes, body=attributes), scope=scope))
    assert all(isinstance(message, Message) for message in found.input + found.output)


@pytest.mark.parametrize(
    ("name", "key"),
    [("claude_code.tool", "success"), ("chat m", "exception.escaped"), ("ToolMessage", "output.value")],
)
def test_a_list_where_a_word_belongs_costs_nothing(name: str, key: str) -> None:
    attributes = {key: [], "input.value": {"id": [[]], "lc": 1, "type": [], "name": "a", "parameters": {}}}
    found = dialects.read(span(name, attributes, Event("exception", attributes=attributes)))
    assert found.kind in {"tool", "llm", "agent", "retrieval", "other"}
