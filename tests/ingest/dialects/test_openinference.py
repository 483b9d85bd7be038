"""OpenInference spans of every sub-dialect are read as what they are (docs/conventions.md C4)."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.ingest.dialects.call import Call, Message, Tool, Usage
from gpa.ingest.dialects.openinference import read
from gpa.ingest.spans import Event, Scope, Span
from tests.ingest.dialects import arbitrary
from tests.ingest.dialects.recorded import flat, needs_recordings, otlp, trail

KIND = "openinference.span.kind"
IN, OUT = "llm.input_messages", "llm.output_messages"


def call(name: str, arguments: Any, call_id: str = "") -> Message:
    return Message("assistant", "", name, call_id, arguments)


def reading(attributes: dict[str, Any], name: str = "span", **rest: Any) -> Call:
    found = read(Span("t", "s", name=name, attributes=attributes, **rest))
    assert found is not None
    return found


def test_a_span_of_another_convention_is_not_read() -> None:
    assert read(Span("t", "s", attributes={"gen_ai.operation.name": "chat", "http.method": "GET"})) is None


MESSAGES: dict[str, tuple[dict[str, Any], list[Message]]] = {
    "role and text": ({"role": "user", "content": "hello"}, [Message("user", "hello")]),
    "roles of other conventions": ({"role": "human", "content": "hello"}, [Message("user", "hello")]),
    "synthetic roles of smolagents stay": (
        {"role": "tool-call", "content": "Calling tools:\n[{'id': 'c1'}]"},
        [Message("tool-call", "Calling tools:\n[{'id': 'c1'}]")],
    ),
    "tool result": (
        {"role": "tool", "content": "rain", "tool_call_id": "c1", "name": "weather"},
        [Message("tool", "rain", "weather", "c1")],
    ),
    "empty tool result": ({"role": "tool", "content": "", "tool_call_id": "c1"}, [Message("tool", "", "", "c1")]),
    "tool result in parts": (
        {
            "role": "tool",
            "tool_call_id": "c1",
            "contents.0.message_content.type": "text",
            "contents.0.message_content.text": "a",
            "contents.1.message_content.text": "b",
        },
        [Message("tool", "a\nb", "", "c1")],
    ),
    "text and calls": (
        {
            "role": "assistant",
            "content": "Let me look.",
            "tool_calls.1.tool_call.function.name": "clock",
            "tool_calls.0.tool_call.id": "c1",
            "tool_calls.0.tool_call.function.name": "weather",
            "tool_calls.0.tool_call.function.arguments": '{"city": "Oslo"}',
        },
        [Message("assistant", "Let me look."), call("weather", {"city": "Oslo"}, "c1"), call("clock", {})],
    ),
    "call index that runs on over the whole conversation": (
        {"role": "assistant", "tool_calls.2.tool_call.id": "c3", "tool_calls.2.tool_call.function.name": "clock"},
        [call("clock", {}, "c3")],
    ),
    "arguments cut in the middle stay text": (
        {
            "role": "assistant",
            "tool_calls.0.tool_call.function.name": "weather",
            "tool_calls.0.tool_call.function.arguments": '{"city": "Os',
        },
        [call("weather", '{"city": "Os')],
    ),
    "function call of old": (
        {"role": "assistant", "function_call_name": "weather", "function_call_arguments_json": '{"city": "Oslo"}'},
        [call("weather", {"city": "Oslo"})],
    ),
    "content parts in order": (
        {
            "role": "user",
            "contents.1.message_content.type": "image",
            "contents.1.message_content.image.image.url": "https://example.org/a.png",
            "contents.0.message_content.type": "text",
            "contents.0.message_content.text": "What is this?",
        },
        [Message("user", "What is this?"), Message("user", "[image https://example.org/a.png]")],
    ),
    "thinking": (
        {
            "role": "assistant",
            "contents.0.message_content.type": "reasoning",
            "contents.0.message_content.text": "Oslo is in Norway.",
            "contents.1.message_content.type": "text",
            "contents.1.message_content.text": "It rains.",
        },
        [Message("reasoning", "Oslo is in Norway."), Message("assistant", "It rains.")],
    ),
    "encrypted thinking is counted": (
        {
            "role": "assistant",
            "contents.0.message_content.type": "reasoning",
            "contents.0.message_content.data": "x" * 1200,
        },
        [Message("reasoning", "[encrypted reasoning, 1,200 characters]")],
    ),
    "tool_use parts add to the calls": (
        {
            "role": "assistant",
            "contents.0.message_content.type": "tool_use",
            "contents.0.tool_call.id": "c1",
            "contents.0.tool_call.function.name": "weather",
            "contents.0.tool_call.function.arguments": "{}",
            "tool_calls.0.tool_call.id": "c1",
            "tool_calls.0.tool_call.function.name": "weather",
            "tool_calls.1.tool_call.id": "c2",
            "tool_calls.1.tool_call.function.name": "clock",
        },
        [call("weather", {}, "c1"), call("clock", {}, "c2")],
    ),
    "the same text in content and contents is one": (
        {"role": "user", "content": "hello", "contents.0.message_content.text": "hello"},
        [Message("user", "hello")],
    ),
    "malformed content of the Claude Agent SDK": (
        {"role": "assistant", "content.0": "I look it up."},
        [Message("assistant", "I look it up.")],
    ),
    "a call whose role was dropped": ({"tool_calls.0.tool_call.function.name": "clock"}, [call("clock", {})]),
    "a text whose role was dropped keeps none": ({"content": "hello"}, [Message("", "hello")]),
    "content as a list of lines": ({"role": "user", "content": ["a", "b"]}, [Message("user", "a\nb")]),
    "a call without an id in both places is one": (
        {
            "role": "assistant",
            "contents.0.tool_call.function.name": "clock",
            "tool_calls.0.tool_call.function.name": "clock",
        },
        [call("clock", {})],
    ),
    "parts that hold nothing": (
        {
            "role": "assistant",
            "contents.0.message_content.type": "reasoning",
            "contents.1.message_content.type": "image",
            "contents.2.message_content.type": "tool_use",
            "contents.3.message_content.text": "",
            "tool_calls.0.tool_call.reasoning_signature": "x",
        },
        [],
    ),
    "empty assistant message": ({"role": "assistant", "content": ""}, []),
    "wrong types": (
        {"role": 5, "content": {"a": [1]}, "tool_calls.0.tool_call.id": [1]},
        [
            Message("assistant", '{"a":[1]}'),
            call("", {}, "[1]"),
        ],
    ),
}


@pytest.mark.parametrize(("fields", "expected"), MESSAGES.values(), ids=MESSAGES)
def test_message(fields: dict[str, Any], expected: list[Message]) -> None:
    attributes = {f"{IN}.0.message.{key}": value for key, value in fields.items()}
    assert list(reading({KIND: "LLM", **attributes}).input) == expected


def test_messages_stand_in_the_order_of_their_numbers() -> None:
    attributes: dict[str, Any] = {KIND: "LLM"}
    for number in sorted(range(12), key=str):
        attributes[f"{IN}.{number}.message.content"] = f"text {number}"
        attributes[f"{IN}.{number}.message.role"] = "user"
    assert [message.text for message in reading(attributes).input] == [f"text {number}" for number in range(12)]


def test_everything_a_model_call_says() -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    definition = {"type": "function", "function": {"name": "weather", "description": "d", "parameters": schema}}
    found = reading(
        {
            KIND: "LLM",
            f"{IN}.0.message.role": "user",
            f"{IN}.0.message.content": "Weather?",
            f"{OUT}.0.message.role": "assistant",
            f"{OUT}.0.message.content": "Rain.",
            "llm.model_name": "gpt-4o",
            "llm.request.model_name": "gpt",
            "llm.finish_reason": "stop",
            "llm.tools.0.tool.json_schema": json.dumps(definition),
            "llm.token_count.prompt": "23",
            "llm.token_count.completion": 19.0,
            "llm.token_count.prompt_details.cache_read": 7,
            "llm.token_count.completion_details.reasoning": float("nan"),
            "session.id": "s-1",
            "metadata": '{"lc_agent_name": "weather_agent", "langgraph_node": "model"}',
        }
    )
    assert found == Call(
        kind="llm",
        operation="LLM",
        name="gpt-4o",
        agent="weather_agent",
        input=(Message("user", "Weather?"),),
        output=(Message("assistant", "Rain."),),
        tools=(Tool("weather", "d", schema),),
        model="gpt-4o",
        finish_reason="stop",
        conversation_id="s-1",
        usage=Usage(input_tokens=23, output_tokens=19, cached_tokens=7),
    )


UNFLATTENED: dict[str, dict[str, Any]] = {
    "dataframe cells": {KIND: "LLM", IN: [{"message.role": "user", "message.content": "hi"}]},
    "dataframe cells as JSON text": {KIND: "LLM", IN: '[{"message.role": "user", "message.content": "hi"}]'},
    "nested objects": {KIND: "LLM", IN: [{"message": {"role": "user", "content": "hi"}}]},
    "a whole namespace as an object": {
        "openinference": {"span": {"kind": "LLM"}},
        "llm": {"input_messages": [{"message": {"role": "user", "content": "hi"}}]},
    },
    "input.value of a chat": {KIND: "LLM", "input.value": '{"messages": [{"role": "user", "content": "hi"}]}'},
    "input.value of a completion": {KIND: "LLM", "input.value": "hi"},
    "input.value of LlamaIndex": {KIND: "LLM", "input.value": '{"args": ["hi"]}'},
    "prompts": {KIND: "LLM", "llm.prompts.0.prompt.text": "hi"},
    "prompts of old": {KIND: "LLM", "llm.prompts": ["hi"]},
    "the kind was dropped": {"llm.model_name": "m", f"{IN}.0.message.role": "user", f"{IN}.0.message.content": "hi"},
}


@pytest.mark.parametrize("attributes", UNFLATTENED.values(), ids=UNFLATTENED)
def test_one_question_in_many_forms(attributes: dict[str, Any]) -> None:
    found = reading(attributes)
    assert (found.kind, found.input) == ("llm", (Message("user", "hi"),))


OUTPUTS: dict[str, tuple[dict[str, Any], Message]] = {
    "choices": ({"llm.choices.0.completion.text": "yes"}, Message("assistant", "yes")),
    "function_call": ({"llm.function_call": '{"name": "f", "arguments": "{}"}'}, call("f", {})),
    "output.value of an API": (
        {"output.value": '{"choices": [{"message": {"role": "assistant", "content": "yes"}}]}'},
        Message("assistant", "yes"),
    ),
    "output.value as text": ({"output.value": "yes"}, Message("assistant", "yes")),
}


@pytest.mark.parametrize(("attributes", "expected"), OUTPUTS.values(), ids=OUTPUTS)
def test_one_answer_in_many_forms(attributes: dict[str, Any], expected: Message) -> None:
    assert reading({KIND: "LLM", **attributes}).output == (expected,)


def dropped_head(**more: Any) -> dict[str, Any]:
    """The third message without its role, and the fourth: the first two fell to the attribute limit."""
    return {
        KIND: "LLM",
        f"{IN}.2.message.content": "c",
        f"{IN}.3.message.role": "user",
        f"{IN}.3.message.content": "d",
        **more,
    }


def test_messages_dropped_by_the_attribute_limit_are_noted() -> None:
    found = reading(dropped_head())
    assert found.input == (Message("", "c"), Message("user", "d"))
    assert found.notes == (
        "the first 2 input messages were dropped by the producer's attribute limit",
        "the role of 1 input messages was dropped by the producer's attribute limit",
    )


def test_holes_between_messages_are_noted() -> None:
    numbered = {f"{IN}.{number}.message.{key}": "x" for number in (0, 3) for key in ("role", "content")}
    assert reading({KIND: "LLM", **numbered}).notes == (
        "2 input messages inside the conversation were dropped by the producer's attribute limit",
    )


def test_input_value_restores_what_the_attribute_limit_dropped() -> None:
    whole = [
        {"role": role, "content": text}
        for role, text in (("system", "a"), ("user", "b"), ("assistant", "c"), ("user", "d"))
    ]
    found = reading(dropped_head(**{"input.value": json.dumps({"messages": whole})}))
    assert [message.text for message in found.input] == ["a", "b", "c", "d"]
    assert found.notes == ()


def test_reprs_in_input_value_restore_nothing() -> None:
    reprs = json.dumps({"messages": ["ChatMessage(role=<MessageRole.SYSTEM: 'system'>)"] * 9})
    assert [message.text for message in reading(dropped_head(**{"input.value": reprs})).input] == ["c", "d"]


def test_a_complete_list_is_kept_though_other_attributes_were_dropped() -> None:
    attributes = {KIND: "LLM", f"{IN}.0.message.role": "user", f"{IN}.0.message.content": "a"}
    found = reading(attributes, dropped=3)
    assert (found.input, found.notes) == ((Message("user", "a"),), ())


@pytest.mark.parametrize(
    "attributes",
    [
        {f"{IN}.0.message.role": "user", f"{IN}.0.message.content": "__REDACTED__"},
        {"input.value": "__REDACTED__", "output.value": "__REDACTED__"},
        {"llm.model_name": "m"},
    ],
    ids=["messages", "values", "nothing recorded"],
)
def test_hidden_content_is_hidden_and_not_said(attributes: dict[str, Any]) -> None:
    found = reading({KIND: "LLM", **attributes})
    assert (found.hidden, found.input, found.output) == (True, (), ())


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ('{"previous_response_id": "resp_1"}', True),
        ({"previous_response_id": "resp_1"}, True),
        ('{"previous_response_id": null}', False),
        ('{"temperature": 0}', False),
        (None, False),
    ],
    ids=["text", "object", "null", "absent", "no parameters"],
)
def test_a_call_that_continues_a_response_sends_only_what_is_new(parameters: object, expected: bool) -> None:
    assert reading({KIND: "LLM", "llm.invocation_parameters": parameters}).delta is expected


TOOLS: dict[str, tuple[dict[str, Any], Any, str]] = {
    "an object": ({"input.value": '{"city": "Oslo"}', "output.value": "rain"}, {"city": "Oslo"}, "rain"),
    "smolagents by name": (
        {
            "input.value": '{"args": [], "sanitize_inputs_outputs": true, "kwargs": {"city": "Oslo"}}',
            "output.value": "rain",
        },
        {"city": "Oslo"},
        "rain",
    ),
    "smolagents by position": (
        {
            "input.value": '{"args": ["Oslo"], "sanitize_inputs_outputs": true, "kwargs": {"unit": "C"}}',
            "tool.parameters": '{"unit": {"type": "string"}, "city": {"type": "string"}}',
            "output.value": "rain",
        },
        {"city": "Oslo", "unit": "C"},
        "rain",
    ),
    "smolagents by position, parameters unknown": (
        {"input.value": '{"args": ["Oslo", 2], "sanitize_inputs_outputs": true, "kwargs": {}}', "output.value": "rain"},
        {"args": ["Oslo", 2]},
        "rain",
    ),
    "a bare value": ({"input.value": "Oslo", "output.value": "rain"}, "Oslo", "rain"),
    "a bare value, one parameter known": (
        {
            "input.value": "Oslo",
            "tool.json_schema": {"name": "w", "parameters": {"properties": {"city": {"type": "string"}}}},
        },
        {"city": "Oslo"},
        "",
    ),
    "a bare number, one parameter known": (
        {"input.value": "3", "tool.parameters": '{"type": "object", "properties": {"days": {"type": "integer"}}}'},
        {"days": 3},
        "",
    ),
    "a parameter spread over keys": (
        {"input.value": "Oslo", "tool.parameters.properties.city.type": "string", "tool.parameters.type": "object"},
        {"city": "Oslo"},
        "",
    ),
    "a Python repr": ({"input.value": "{'city': 'Oslo', 'days': None}"}, {"city": "Oslo", "days": None}, ""),
    "a broken repr": ({"input.value": "{'city': 'Os"}, "{'city': 'Os", ""),
    "code in a repr": ({"input.value": "{'city': exit()}"}, "{'city': exit()}", ""),
    "arguments in tool.parameters": (
        {"tool.parameters": '{"city": "Oslo"}', "output.value": "rain"},
        {"city": "Oslo"},
        "rain",
    ),
    "a dumped tool message": (
        {"input.value": "{}", "output.value": '{"type": "tool", "data": {"content": "rain", "tool_call_id": "c1"}}'},
        {},
        "rain",
    ),
    "a tool message in a state update": (
        {
            "input.value": "{}",
            "output.value": json.dumps(
                [{"graph": None, "update": {"messages": [{"content": "rain", "tool_call_id": "c1", "type": "tool"}]}}]
            ),
        },
        {},
        "rain",
    ),
    "a result of MCP": (
        {"output.value": {"content": [{"type": "text", "text": "rain"}], "isError": False}},
        {},
        "rain",
    ),
    "a result that is data": ({"output.value": '{"rain": true}'}, {}, '{"rain": true}'),
}


@pytest.mark.parametrize(("attributes", "arguments", "result"), TOOLS.values(), ids=TOOLS)
def test_tool_call(attributes: dict[str, Any], arguments: Any, result: str) -> None:
    found = reading({KIND: "TOOL", "tool.name": "weather", **attributes}, name="SimpleTool")
    (sent,) = found.input
    assert (found.kind, found.name, sent.tool_name, sent.arguments) == ("tool", "weather", "weather", arguments)
    assert "\n".join(message.text for message in found.output) == result


def test_a_tool_message_gives_its_call_id_to_the_call() -> None:
    message = {"type": "tool", "data": {"content": "no such city", "tool_call_id": "c1", "status": "error"}}
    found = reading(
        {KIND: "TOOL", "tool.name": "weather", "input.value": "Atlantis", "output.value": json.dumps(message)}
    )
    assert found.input == (call("weather", "Atlantis", "c1"),)
    assert found.output == (Message("tool", "no such city", "weather", "c1"),)
    assert found.error == "no such city"


def test_a_tool_carries_its_own_definition() -> None:
    found = reading(
        {
            KIND: "TOOL",
            "tool.name": "final_answer",
            "tool.description": "Ends the run.",
            "tool.parameters": json.dumps(
                {"answer": {"type": "any", "description": "d"}, "note": {"type": "string", "nullable": True}}
            ),
            "input.value": '{"args": ["42"], "sanitize_inputs_outputs": false, "kwargs": {}}',
        }
    )
    properties = {"answer": {"description": "d"}, "note": {"type": "string", "nullable": True}}
    schema = {"type": "object", "properties": properties, "required": ["answer"]}
    assert found.tools == (Tool("final_answer", "Ends the run.", schema),)
    assert found.input == (call("final_answer", {"answer": "42"}),)


def test_a_failed_tool_tells_its_error() -> None:
    event = Event("exception", attributes={"exception.type": "RuntimeError", "exception.message": "backend down"})
    found = reading({KIND: "TOOL", "tool.name": "web"}, status="error", events=(event,))
    assert (found.error, found.hidden) == ("RuntimeError: backend down", True)


def test_a_handoff_is_a_tool_call_of_its_own_operation() -> None:
    found = reading({KIND: "TOOL", "input.value": "triage", "output.value": "billing"}, name="handoff to billing")
    assert (found.kind, found.operation, found.name) == ("tool", "handoff", "handoff to billing")


AGENTS: dict[str, tuple[str, dict[str, Any], str]] = {
    "agent.name": ("run", {"agent.name": "triage", "graph.node.id": "n"}, "triage"),
    "graph.node.id": ("Hello", {"graph.node.id": "triage"}, "triage"),
    "smolagents": ("CodeAgent.run", {}, "CodeAgent"),
    "CrewAI": ("Senior Researcher._execute_core", {}, "Senior Researcher"),
    "Claude Agent SDK": ("ClaudeAgentSDK.query", {}, "ClaudeAgentSDK"),
    "LangGraph as a chain": ("LangGraph", {KIND: "CHAIN"}, "LangGraph"),
    "create_agent as a chain": ("w", {KIND: "CHAIN", "metadata": '{"ls_integration": "langchain_create_agent"}'}, "w"),
    "the agent's own span by name": (
        "w",
        {KIND: "CHAIN", "metadata": {"lc_agent_name": "w", "langgraph_node": "x"}},
        "w",
    ),
    "a name alone": ("planner", {}, "planner"),
}


@pytest.mark.parametrize(("name", "attributes", "expected"), AGENTS.values(), ids=AGENTS)
def test_agent_name(name: str, attributes: dict[str, Any], expected: str) -> None:
    found = reading({KIND: "AGENT", **attributes}, name=name)
    assert (found.kind, found.agent, found.name) == ("agent", expected, expected)


@pytest.mark.parametrize(
    ("name", "attributes", "scope"),
    [
        ("Agent workflow", {KIND: "AGENT"}, ""),
        ("My workflow", {KIND: "AGENT"}, "openinference.instrumentation.openai_agents"),
        ("turn", {KIND: "CHAIN"}, "openinference.instrumentation.openai_agents"),
        ("model", {KIND: "CHAIN", "metadata": '{"lc_agent_name": "w", "langgraph_node": "model"}'}, ""),
        ("check", {KIND: "GUARDRAIL"}, ""),
        ("judge", {KIND: "EVALUATOR"}, ""),
        ("?", {KIND: ["LLM"], "input.value": "x"}, ""),
    ],
    ids=["OpenAI Agents workflow", "named workflow", "turn", "graph node", "guardrail", "evaluator", "wrong type"],
)
def test_what_wraps_agents_is_none(name: str, attributes: dict[str, Any], scope: str) -> None:
    assert reading(attributes, name=name, scope=Scope(scope)).kind == "other"


def test_a_smolagents_run_tells_its_task_and_its_tools() -> None:
    found = reading(
        {
            KIND: "AGENT",
            "input.value": '{"task": "Find it.", "stream": false, "additional_args": {"file": "a.txt"}}',
            "output.value": "found",
            "smolagents.tools_names": '["search", "final_answer"]',
            "smolagents.managed_agents.0.name": "reader",
            "smolagents.managed_agents.0.description": "Reads.",
        },
        name="CodeAgent.run",
    )
    assert found.input == (Message("user", "Find it."), Message("user", 'additional_args: {"file":"a.txt"}'))
    assert found.output == (Message("assistant", "found"),)
    assert found.tools == (Tool("search"), Tool("final_answer"), Tool("reader", "Reads."))


def test_the_empty_step_object_of_smolagents_is_left_out() -> None:
    found = reading(
        {KIND: "CHAIN", "input.value": '{"memory_step": "ActionStep(step_number=1)"}', "output.value": "logs"},
        name="Step 1",
    )
    assert (found.input, found.output) == ((), (Message("assistant", "logs"),))


def test_a_recovered_step_tells_its_error() -> None:
    recovery = Event("agent.step_recovery", attributes={"message": "tool failed", "severity": "expected"})
    assert reading({KIND: "CHAIN"}, name="Step 1", status="ok", events=(recovery,)).error == "tool failed"


def test_of_a_graph_state_an_agent_says_its_answer() -> None:
    state = [
        {"type": "human", "data": {"content": "Weather?"}},
        {"type": "ai", "data": {"content": "Let me look.", "tool_calls": [{"name": "w", "args": {}, "id": "c1"}]}},
        {"type": "tool", "data": {"content": "rain", "tool_call_id": "c1"}},
        {"type": "ai", "data": {"content": "It rains."}},
    ]
    found = reading(
        {
            KIND: "AGENT",
            "input.value": '{"messages": [{"role": "user", "content": "Weather?"}]}',
            "output.value": json.dumps({"messages": state}),
        },
        name="w",
    )
    assert (found.input, found.output) == ((Message("user", "Weather?"),), (Message("assistant", "It rains."),))


def test_a_chain_shows_the_messages_of_its_state() -> None:
    found = reading(
        {KIND: "CHAIN", "input.value": '{"messages": [{"type": "human", "data": {"content": "Weather?"}}]}'}
    )
    assert found.input == (Message("user", "Weather?"),)


RETRIEVALS: dict[str, tuple[dict[str, Any], list[str], list[str]]] = {
    "documents": (
        {
            KIND: "RETRIEVER",
            "input.value": "rain?",
            "retrieval.documents.1.document.content": "second",
            "retrieval.documents.0.document.content": "first",
            "retrieval.documents.0.document.id": "d1",
            "retrieval.documents.0.document.score": 0.5,
        },
        ["rain?"],
        ["[d1, score 0.5] first", "second"],
    ),
    "documents as objects": (
        {KIND: "RETRIEVER", "retrieval.documents": [{"document": {"content": "first"}}]},
        [],
        ["first"],
    ),
    "documents in output.value": (
        {KIND: "RETRIEVER", "output.value": '{"documents": [{"page_content": "first", "metadata": {}}]}'},
        [],
        ["first"],
    ),
    "reranker": (
        {KIND: "RERANKER", "reranker.query": "rain?", "reranker.output_documents.0.document.content": "best"},
        ["rain?"],
        ["best"],
    ),
    "embedding": (
        {KIND: "EMBEDDING", "embedding.embeddings.0.embedding.text": "rain", "output.value": "[0.1]"},
        ["rain"],
        [],
    ),
}


@pytest.mark.parametrize(("attributes", "sent", "said"), RETRIEVALS.values(), ids=RETRIEVALS)
def test_retrieval(attributes: dict[str, Any], sent: list[str], said: list[str]) -> None:
    found = reading(attributes)
    assert found.kind == "retrieval"
    assert ([message.text for message in found.input], [message.text for message in found.output]) == (sent, said)


ARBITRARY = arbitrary.attributes(
    *(KIND, "input.value", "output.value", IN, OUT, "llm", "metadata", "llm.tools", "llm.prompts", "llm.function_call"),
    *(
        "tool.name",
        "tool.parameters",
        "tool.json_schema",
        "retrieval.documents",
        "smolagents.tools_names",
        "session.id",
    ),
    *(f"{IN}.0.message.role", f"{IN}.0.message.content", f"{IN}.7.message.tool_calls.0.tool_call.function.arguments"),
    *(f"{OUT}.0.message.contents.0.message_content.image", "llm.token_count.prompt", "llm.invocation_parameters"),
    *("tool.parameters.a", "tool.parameters.a.b", "llm.tools.0.tool.json_schema", "smolagents.task"),
)


@given(ARBITRARY, st.sampled_from(["LLM", "TOOL", "AGENT", "CHAIN", "RETRIEVER", "EMBEDDING", None]))
def test_no_attribute_value_raises(attributes: dict[str, Any], kind: str | None) -> None:
    if kind:
        attributes = {**attributes, KIND: kind}
    read(Span("t", "s", name="n", attributes=attributes, status="error"))


@given(
    st.lists(st.tuples(st.sampled_from(["user", "assistant", "system"]), st.text(min_size=1)), max_size=20),
    st.randoms(),
)
def test_every_text_is_read_once_and_in_order(conversation: list[tuple[str, str]], random: Any) -> None:
    pairs = [
        pair
        for number, (role, text) in enumerate(conversation)
        for pair in ((f"{IN}.{number}.message.role", role), (f"{IN}.{number}.message.content", text))
    ]
    random.shuffle(pairs)
    found = reading({KIND: "LLM", **dict(pairs)})
    assert [(message.role, message.text) for message in found.input] == conversation


# Recordings: every text under `llm.input_messages.{i}` and `llm.output_messages.{i}` is read once, by ascending i.

_TEXT = re.compile(r"(\d+)\.message\.(?:content|contents\.(\d+)\.message_content\.text|content\.(\d+))").fullmatch
_CALL = re.compile(r"(\d+)\.message\.tool_calls\.(\d+)\.tool_call\.function\.name").fullmatch


def in_index_order(attributes: dict[str, Any], prefix: str, pattern: Any) -> list[str]:
    found = []
    for key, value in attributes.items():
        if key.startswith(f"{prefix}.") and (match := pattern(key.removeprefix(f"{prefix}."))) and value:
            found.append(([int(number) for number in match.groups() if number], value))
    return [value for _, value in sorted(found, key=lambda pair: pair[0])]


def assert_messages_equal_raw_attributes(span: Span) -> None:
    found = read(span)
    assert found is not None
    for prefix, sequence in ((IN, found.input), (OUT, found.output)):
        texts, calls = (in_index_order(span.attributes, prefix, pattern) for pattern in (_TEXT, _CALL))
        if texts or calls:
            assert [message.text for message in sequence if message.text] == texts
            assert [
                message.tool_name for message in sequence if message.role == "assistant" and message.tool_name
            ] == calls


GENERATED = "otel/generated"
OTLP = [
    f"{GENERATED}/langgraph_openinference/react_agent_weather.traces.jsonl",
    f"{GENERATED}/langgraph_openinference/tool_error.traces.jsonl",
    f"{GENERATED}/openai_agents_openinference/handoff_chat_completions.traces.jsonl",
    f"{GENERATED}/smolagents_openinference/smolagents_codeagent_3steps.traces.jsonl",
    f"{GENERATED}/smolagents_openinference/smolagents_streaming_error.traces.jsonl",
    f"{GENERATED}/sdk_limits/langgraph_oi_count128.traces.jsonl",
    f"{GENERATED}/sdk_limits/langgraph_oi_value_length.traces.jsonl",
]
FLAT = [
    f"otel/public/strands_evals_live_spans/{name}_live_spans.json"
    for name in ("openinference", "openai_agents_openinference", "claude")
]


@needs_recordings
@pytest.mark.parametrize("path", [*OTLP, *FLAT])
def test_recorded_messages_equal_the_raw_attributes(path: str) -> None:
    spans = list(otlp(path) if path.endswith("jsonl") else flat(path))
    checked = [span for span in spans if any(key.startswith((f"{IN}.", f"{OUT}.")) for key in span.attributes)]
    for span in checked:
        if span.attributes.get(KIND) == "LLM" or "claude" in path:
            assert_messages_equal_raw_attributes(span)
    assert checked


@needs_recordings
def test_trail_messages_equal_the_raw_attributes() -> None:
    spans = [span for span in trail() if span.attributes.get(KIND) == "LLM"]
    for span in spans:
        assert_messages_equal_raw_attributes(span)
    assert len(spans) > 800


@needs_recordings
def test_every_recorded_tool_span_has_its_arguments_by_name() -> None:
    tools = [span for span in trail() if span.attributes.get(KIND) == "TOOL"]
    for span in tools:
        found = read(span)
        assert found is not None
        assert found.name == span.attributes["tool.name"]
        recorded = json.loads(span.attributes["input.value"])
        arguments = found.input[0].arguments
        assert "args" not in arguments
        assert len(arguments) == len(recorded["args"]) + len(recorded["kwargs"])
