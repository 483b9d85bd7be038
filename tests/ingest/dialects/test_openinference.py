"""OpenInference spans of every sub-dialect are read as what they are (docs/conventions.md C4)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.ingest.dialects.call import Message, Tool
from gpa.ingest.dialects.openinference import read
from gpa.ingest.spans import Event, Scope, Span
from tests.ingest.dialects import arbitrary
from tests.ingest.dialects.messages import call
from tests.ingest.dialects.openinference import IN, KIND, OUT, reading


def test_a_span_of_another_convention_is_not_read() -> None:
    assert read(Span("t", "s", attributes={"gen_ai.operation.name": "chat", "http.method": "GET"})) is None


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
