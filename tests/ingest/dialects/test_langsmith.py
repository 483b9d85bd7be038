"""LangSmith runs, bridged or exported, are read as what they are (docs/conventions.md F9, C11)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from gpa.ingest.dialects.call import Call, Message, Tool, Usage
from gpa.ingest.dialects.langsmith import read
from gpa.ingest.spans import Span
from tests.ingest.dialects import arbitrary
from tests.ingest.dialects.recorded import needs_recordings, otlp


def reading(kind: str, attributes: dict[str, Any], name: str = "run") -> Call:
    found = read(Span("t", "s", name=name, attributes={"langsmith.span.kind": kind, **attributes}))
    assert found is not None
    return found


def constructor(name: str, **kwargs: Any) -> dict[str, Any]:
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name], "kwargs": kwargs}


def test_a_span_of_another_convention_is_not_read() -> None:
    assert read(Span("t", "s", attributes={"gen_ai.prompt": "x"})) is None


SENT = {
    "messages": [[constructor("SystemMessage", content="Be brief."), constructor("HumanMessage", content="Weather?")]]
}
SAID = {
    "generations": [
        [
            {
                "text": "I look.",
                "generation_info": {"finish_reason": "tool_calls"},
                "message": constructor(
                    "AIMessage",
                    type="ai",
                    content="I look.",
                    tool_calls=[{"name": "w", "args": {"city": "Oslo"}, "id": "c1"}],
                ),
            }
        ]
    ]
}


@pytest.mark.parametrize("encode", [json.dumps, lambda value: value], ids=["bridge: JSON text", "export: values"])
def test_everything_a_model_call_says(encode: Any) -> None:
    found = reading(
        "llm",
        {
            "gen_ai.prompt": encode(SENT),
            "gen_ai.completion": encode(SAID),
            "gen_ai.request.model": "gpt",
            "gen_ai.usage.input_tokens": 71,
            "gen_ai.usage.output_tokens": 35,
            "gen_ai.tool.definitions": encode(
                [{"type": "function", "function": {"name": "w", "parameters": {"type": "object"}}}]
            ),
            "langsmith.metadata.lc_agent_name": "helper",
            "langsmith.metadata.thread_id": "t-9",
            "langsmith.metadata.usage_metadata": encode({"input_token_details": {"cache_read": 7}}),
        },
    )
    assert found == Call(
        kind="llm",
        operation="llm",
        name="gpt",
        agent="helper",
        input=(Message("system", "Be brief."), Message("user", "Weather?")),
        output=(Message("assistant", "I look."), Message("assistant", "", "w", "c1", {"city": "Oslo"})),
        tools=(Tool("w", "", {"type": "object"}),),
        model="gpt",
        finish_reason="tool_calls",
        conversation_id="t-9",
        usage=Usage(71, 35, 7),
    )


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        (
            "System: Be brief.\nHuman: Line one\nline two\nAI: Rain.\nTool: wet",
            [
                Message("system", "Be brief."),
                Message("user", "Line one\nline two"),
                Message("assistant", "Rain."),
                Message("tool", "wet"),
            ],
        ),
        ("Just a prompt with Human: inside", [Message("user", "Just a prompt with Human: inside")]),
        ("", []),
    ],
    ids=["a conversation as text", "a prompt", "nothing"],
)
def test_prompts(prompt: str, expected: list[Message]) -> None:
    assert list(reading("llm", {"gen_ai.prompt": {"prompts": [prompt]}}).input) == expected


@pytest.mark.parametrize(
    ("inputs", "arguments"),
    [
        ({"city": "Oslo"}, {"city": "Oslo"}),
        ({"input": "{'city': 'Oslo'}"}, {"city": "Oslo"}),
        ({"input": "Oslo"}, {"input": "Oslo"}),
        (None, {}),
    ],
    ids=["by name", "LangChain's repr", "a parameter called input", "none"],
)
def test_tool(inputs: Any, arguments: Any) -> None:
    output = {"output": {"content": "rain", "type": "tool", "name": "w", "tool_call_id": "c1", "status": "error"}}
    found = reading("tool", {"gen_ai.prompt": inputs, "gen_ai.completion": output}, name="w")
    assert found.input == (Message("assistant", "", "w", "c1", arguments),)
    assert (found.output, found.error) == ((Message("tool", "rain", "w", "c1"),), "rain")


def test_the_key_of_a_tools_output_is_not_its_result() -> None:
    found = reading("tool", {"gen_ai.prompt": {}, "gen_ai.completion": '{"output": "rain"}'}, name="w")
    assert found.output == (Message("tool", "rain", "w"),)


@pytest.mark.parametrize(
    ("kind", "metadata", "expected"),
    [
        ("chain", {}, "other"),
        ("chain", {"ls_integration": "langchain_create_agent"}, "agent"),
        ("chain", {"ls_integration": "langchain_create_agent", "langgraph_node": "model"}, "other"),
        ("chain", {"lc_agent_name": "run", "langgraph_node": "tools"}, "agent"),
        ("retriever", {}, "retrieval"),
        ("prompt", {}, "other"),
        ("parser", {}, "other"),
    ],
    ids=["chain", "agent", "node of an agent", "agent inside an agent", "retriever", "prompt", "parser"],
)
def test_kind(kind: str, metadata: dict[str, str], expected: str) -> None:
    attributes = {f"langsmith.metadata.{key}": value for key, value in metadata.items()}
    assert reading(kind, attributes).kind == expected


def test_a_run_that_holds_nothing_is_hidden() -> None:
    assert reading("llm", {"gen_ai.prompt": {}, "gen_ai.completion": {}}).hidden


@given(
    arbitrary.attributes(
        *("gen_ai.prompt", "gen_ai.completion", "gen_ai.tool.definitions", "langsmith.metadata.usage_metadata"),
        *("langsmith.metadata", "gen_ai.usage.input_tokens", "gen_ai.tool.call.id", "langsmith.span.kind"),
    )
)
def test_no_attribute_value_raises(attributes: dict[str, Any]) -> None:
    for kind in ("llm", "tool", "chain", "retriever", None):
        read(Span("t", "s", attributes={**attributes, "langsmith.span.kind": kind} if kind else attributes))


@needs_recordings
def test_recorded_messages_equal_the_raw_attributes() -> None:
    calls = 0
    for span in otlp("otel/generated/langsmith/langgraph_otel.traces.jsonl"):
        found = read(span)
        assert found is not None
        if found.kind == "llm":
            calls += 1
            (recorded,) = json.loads(span.attributes["gen_ai.prompt"])["messages"]
            texts = [entry["kwargs"]["content"] for entry in recorded if entry["kwargs"]["content"]]
            assert [part.text for part in found.input if part.text] == texts
    assert calls == 3
