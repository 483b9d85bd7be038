"""OpenAI Agents SDK's own export: ids, span types, messages."""

from __future__ import annotations

from typing import Any

import pytest

from gpa.ingest.formats.openai_agents import FORMAT
from gpa.ingest.formats.parts import RECORDED_SPAN_ID, RECORDED_TRACE_ID
from gpa.ingest.formats.values import hex_id
from gpa.ingest.spans import Span, Trace
from gpa.ingest.transcript import transcribe

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
OWN = {RECORDED_SPAN_ID, RECORDED_TRACE_ID, "openai_agents.span.type"}


def read(value: Any) -> tuple[list[Span], list[str]]:
    noted: list[str] = []
    assert FORMAT.matches(value)
    return [span for span in FORMAT.read(value, noted.append) if isinstance(span, Span)], noted


def record(data: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    return {
        "object": "trace.span",
        "id": "span_253130daa90a43de8dbd350b",
        "trace_id": "trace_" + TRACE,
        "parent_id": "span_037fe1c177384d3e97fccb91",
        "started_at": "2025-03-19T16:41:22+00:00",
        "ended_at": "2025-03-19T16:41:23+00:00",
        "span_data": data or {"type": "custom", "name": "c", "data": {}},
        "error": None,
    } | fields


def one(data: dict[str, Any] | None = None, **fields: Any) -> Span:
    (span,), noted = read(record(data, **fields))
    assert noted == []
    return span


def test_ids_lose_their_prefix_and_stand_in_attributes() -> None:
    span = one()
    assert (span.trace_id, span.span_id) == (TRACE, "253130daa90a43de8dbd350b")
    assert span.parent_id == "037fe1c177384d3e97fccb91"
    assert span.attributes[RECORDED_SPAN_ID] == "span_253130daa90a43de8dbd350b"
    assert span.attributes[RECORDED_TRACE_ID] == "trace_" + TRACE


def test_ids_a_user_chose_are_derived_the_same_way_everywhere() -> None:
    parent, child = record(id="span_mine"), record(parent_id="span_mine", trace_id="trace_mine")
    (first, second), _ = read([parent, child])
    assert second.parent_id == first.span_id == hex_id(first.span_id, 16)


@pytest.mark.parametrize(
    ("data", "name", "expected"),
    [
        pytest.param(
            {"type": "agent", "name": "A", "handoffs": ["B"], "tools": ["t"], "output_type": "str"},
            "A",
            {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": "A",
                "gen_ai.tool.definitions": [{"type": "function", "name": "t"}],
                "openai_agents.tools": ["t"],
                "openai_agents.handoffs": ["B"],
                "openai_agents.output_type": "str",
            },
            id="agent",
        ),
        pytest.param(
            {"type": "function", "name": "f", "input": '{"a":1}', "output": "out", "mcp_data": {"server": "s"}},
            "f",
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "f",
                "gen_ai.tool.call.arguments": '{"a":1}',
                "gen_ai.tool.call.result": "out",
                "openai_agents.mcp_data": {"server": "s"},
            },
            id="function",
        ),
        pytest.param(
            {"type": "response", "response_id": "resp_1", "usage": {"input_tokens": 1, "output_tokens": 2}},
            "response",
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.response.id": "resp_1",
                "gen_ai.usage.input_tokens": 1,
                "gen_ai.usage.output_tokens": 2,
            },
            id="response",
        ),
        pytest.param(
            {"type": "handoff", "from_agent": "A", "to_agent": "B"},
            "handoff to B",
            {"gen_ai.operation.name": "handoff", "gen_ai.agent.name": "A", "gen_ai.transfer.target.name": "B"},
            id="handoff",
        ),
        pytest.param(
            {"type": "guardrail", "name": "g", "triggered": True},
            "g",
            {
                "gen_ai.operation.name": "guardrail",
                "openai_agents.name": "g",
                "openai_agents.triggered": True,
                "openai_agents.output": {"triggered": True},
            },
            id="guardrail",
        ),
        pytest.param(
            {
                "type": "custom",
                "name": "turn",
                "data": {"sdk_span_type": "turn", "turn": 1, "agent_name": "A", "usage": {"input_tokens": 9}},
            },
            "turn",
            {
                "gen_ai.operation.name": "agent_step",
                "gen_ai.agent.name": "A",
                "openai_agents.turn": 1,
                "openai_agents.usage.input_tokens": 9,
            },
            id="turn, sent as custom",
        ),
        pytest.param(
            {"type": "mcp_tools", "server": "s", "result": ["t"]},
            "mcp_tools",
            {"gen_ai.operation.name": "mcp_tools", "openai_agents.server": "s", "openai_agents.result": ["t"]},
            id="mcp_tools",
        ),
    ],
)
def test_span_types(data: dict[str, Any], name: str, expected: dict[str, Any]) -> None:
    span = one(data)
    assert span.name == name
    assert {key: value for key, value in span.attributes.items() if key not in OWN} == expected


TEXT = {"type": "text", "content": "hi"}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param({"role": "user", "content": "hi"}, {"role": "user", "parts": [TEXT]}, id="text"),
        pytest.param(
            {
                "role": "user",
                "content": [{"type": "input_text", "text": "hi"}, {"type": "input_image", "image_url": "u"}],
            },
            {"role": "user", "parts": [TEXT, {"type": "input_image", "image_url": "u"}]},
            id="parts",
        ),
        pytest.param(
            {
                "role": "assistant",
                "content": "hi",
                "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
            },
            {"role": "assistant", "parts": [TEXT, {"type": "tool_call", "id": "c", "name": "f", "arguments": "{}"}]},
            id="text and call",
        ),
        pytest.param(
            {"role": "tool", "tool_call_id": "c", "content": "out"},
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": "out"}]},
            id="result",
        ),
        pytest.param(
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
            {"role": "assistant", "parts": [{"type": "tool_call", "id": "c", "name": "f", "arguments": "{}"}]},
            id="call of the Responses API",
        ),
        pytest.param(
            {"type": "function_call_output", "call_id": "c", "output": "out"},
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": "out"}]},
            id="result of the Responses API",
        ),
        pytest.param({"type": "reasoning", "summary": []}, {"type": "reasoning", "summary": []}, id="other item"),
        pytest.param({"role": "user", "parts": [TEXT]}, {"role": "user", "parts": [TEXT]}, id="already in parts"),
        pytest.param("hi", "hi", id="no object"),
    ],
)
def test_messages_of_a_generation(message: Any, expected: Any) -> None:
    span = one(
        {"type": "generation", "input": [message], "model": "m", "model_config": {"temperature": 0.5, "top_p": None}}
    )
    assert span.attributes["gen_ai.input.messages"] == [expected]
    assert (span.attributes["gen_ai.request.model"], span.attributes["gen_ai.request.temperature"]) == ("m", 0.5)


def test_a_conversation_given_as_text_is_one_message() -> None:
    attributes = one({"type": "generation", "input": "hi", "output": "hi"}).attributes
    assert attributes["gen_ai.input.messages"] == [{"role": "user", "parts": [TEXT]}]
    assert attributes["gen_ai.output.messages"] == [{"role": "assistant", "parts": [TEXT]}]


def test_an_error_is_the_status() -> None:
    span = one(error={"message": "boom", "data": {"x": 1}})
    assert (span.status, span.status_message) == ("error", 'boom: {"x": 1}')
    assert span.attributes["openai_agents.error.data"] == {"x": 1}
    assert one().status == "unset"


def test_a_failed_tool_says_why() -> None:
    span = one(error={"message": "Error running tool", "data": {"tool_name": "t", "error": "KeyError: no such city"}})
    assert span.status_message == "Error running tool: KeyError: no such city"


@pytest.mark.parametrize(
    ("data", "name", "said"),
    [
        pytest.param({"type": "handoff", "from_agent": "a", "to_agent": "b"}, "handoff to b", [], id="handoff"),
        pytest.param(
            {"type": "guardrail", "name": "g", "triggered": False}, "g", ['{"triggered":false}'], id="guardrail"
        ),
        pytest.param({"type": "custom", "name": "c", "data": {"foo": "bar"}}, "c", ['{"foo":"bar"}'], id="custom"),
        pytest.param({"type": "mcp_tools", "server": "s", "result": ["t1"]}, "mcp_tools", ['["t1"]'], id="mcp_tools"),
    ],
)
def test_a_step_that_is_no_call_keeps_its_name_and_what_it_gave_back(
    data: dict[str, Any], name: str, said: list[str]
) -> None:
    step = transcribe(Trace(TRACE, [one(data)])).steps[0]
    assert (step.name, [message.text for message in step.output]) == (name, said)


def test_the_trace_object_says_workflow_and_conversation() -> None:
    trace = {"object": "trace", "id": "trace_" + TRACE, "workflow_name": "w", "group_id": "g", "metadata": {"k": "v"}}
    (span,), noted = read({"data": [trace, record()]})
    assert noted == []
    assert span.attributes["gen_ai.workflow.name"] == "w"
    assert span.attributes["gen_ai.conversation.id"] == "g"
    assert span.attributes["openai_agents.trace.metadata.k"] == "v"


def test_what_has_no_ids_is_noted() -> None:
    spans, noted = read([record(), record({"type": "function", "name": "f"}, id=None), {"object": "other"}])
    assert len(spans) == 1
    assert noted == [
        "skipped span 'f': it has no id or no trace_id",
        "skipped an entry of type dict that is no trace or trace.span",
    ]
