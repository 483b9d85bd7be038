"""Langfuse observations, sent or exported, are read as what they are (docs/conventions.md F8, C7)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from gpa.ingest.dialects.call import Call, Message, Tool, Usage
from gpa.ingest.dialects.langfuse import read
from gpa.ingest.spans import Span
from tests.ingest.dialects import arbitrary

OBSERVATION = "langfuse.observation"


def reading(kind: str, attributes: dict[str, Any], name: str = "observation") -> Call:
    observed = {f"{OBSERVATION}.{key}" if "." not in key else key: value for key, value in attributes.items()}
    found = read(Span("t", "s", name=name, attributes={f"{OBSERVATION}.type": kind, **observed}))
    assert found is not None
    return found


def test_a_span_of_another_convention_is_not_read() -> None:
    assert read(Span("t", "s", attributes={"langfuse.trace.name": "x"})) is None


DEFINITION = {"type": "function", "function": {"name": "w", "description": "d", "parameters": {"type": "object"}}}
CHAT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Weather?"}]
INPUTS: dict[str, Any] = {
    "messages": CHAT,
    "messages as JSON text": json.dumps(CHAT),
    "a request": {"messages": CHAT, "tools": [DEFINITION]},
    "tool definitions among the messages": [*CHAT, {"role": "tool", "content": DEFINITION}],
    "semantic conventions": [
        {"role": entry["role"], "parts": [{"type": "text", "content": entry["content"]}]} for entry in CHAT
    ],
}


@pytest.mark.parametrize("sent", INPUTS.values(), ids=INPUTS)
def test_one_question_in_many_forms(sent: Any) -> None:
    found = reading("generation", {"input": sent})
    assert (found.kind, found.input) == ("llm", (Message("system", "Be brief."), Message("user", "Weather?")))


@pytest.mark.parametrize(
    "attributes",
    [
        {"input": INPUTS["a request"]},
        {"input": INPUTS["tool definitions among the messages"]},
        {"input": CHAT, "tool_definitions": [json.dumps(DEFINITION)]},
        {"input": CHAT, "gen_ai.tool.definitions": json.dumps([DEFINITION])},
    ],
    ids=["request", "among the messages", "own attribute", "attribute kept from the producer"],
)
def test_tool_definitions(attributes: dict[str, Any]) -> None:
    assert reading("generation", attributes).tools == (Tool("w", "d", {"type": "object"}),)


def test_everything_a_generation_says() -> None:
    answer = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "c1", "function": {"name": "w", "arguments": "{}"}}],
    }
    found = reading(
        "generation",
        {
            "input": json.dumps(CHAT),
            "output": json.dumps(answer),
            f"{OBSERVATION}.model.name": "gpt",
            "usage_details": '{"input": 142, "output": 24, "total": 166, "input_cache_read": 7, "output_reasoning": 3}',
            "session.id": "s-1",
            f"{OBSERVATION}.metadata.lc_agent_name": "helper",
        },
    )
    assert found == Call(
        kind="llm",
        operation="generation",
        name="gpt",
        agent="helper",
        input=(Message("system", "Be brief."), Message("user", "Weather?")),
        output=(Message("assistant", "", "w", "c1", {}),),
        model="gpt",
        conversation_id="s-1",
        usage=Usage(142, 24, 7, 0, 3),
    )


@pytest.mark.parametrize(
    ("recorded", "kind"),
    [
        *(
            ("generation", "llm"),
            ("agent", "agent"),
            ("tool", "tool"),
            ("retriever", "retrieval"),
            ("embedding", "retrieval"),
        ),
        *(("span", "other"), ("chain", "other"), ("event", "other"), ("evaluator", "other"), ("GENERATION", "llm")),
    ],
)
def test_kind(recorded: str, kind: str) -> None:
    assert reading(recorded, {"input": "x"}).kind == kind


def test_a_span_that_returns_a_tool_message_of_its_name_is_that_tool() -> None:
    message = {
        "lc": 1,
        "id": ["langchain_core", "messages", "ToolMessage"],
        "kwargs": {"content": "rain", "name": "w", "tool_call_id": "c1"},
    }
    found = reading("span", {"input": {"city": "Oslo"}, "output": message}, name="w")
    assert found.kind == "tool"
    assert found.input == (Message("assistant", "", "w", "c1", {"city": "Oslo"}),)
    assert found.output == (Message("tool", "rain", "w", "c1"),)


def test_a_result_of_mcp_is_its_text() -> None:
    found = reading("tool", {"output": '{"content": [{"type": "text", "text": "rain"}]}'}, name="w")
    assert found.output == (Message("tool", "rain", "w"),)


def test_a_root_without_input_was_given_what_the_trace_was() -> None:
    found = reading("span", {"langfuse.trace.input": "Weather?", "langfuse.trace.output": "Rain."})
    assert (found.input, found.output) == ((Message("user", "Weather?"),), (Message("assistant", "Rain."),))


@pytest.mark.parametrize(
    ("attributes", "error"),
    [
        ({"level": "ERROR", "status_message": "upstream 503"}, "upstream 503"),
        ({"level": "ERROR"}, "error"),
        ({"level": "WARNING", "status_message": "slow"}, ""),
        ({"level": 3}, ""),
    ],
    ids=["error", "error without words", "warning", "wrong type"],
)
def test_error(attributes: dict[str, Any], error: str) -> None:
    assert reading("span", {"input": "x", **attributes}).error == error


def test_a_cut_input_keeps_what_is_there() -> None:
    found = reading("generation", {"input": '[{"role": "user", "content": "Weath'})
    assert found.input == (Message("user", "Weath"),)
    assert found.notes == ("a value was cut by a length limit of the producer",)


def test_a_cut_input_of_a_wrapper_is_noted() -> None:
    found = reading("span", {"input": '{"text": "Weath'})
    assert found.notes == ("a value was cut by a length limit of the producer",)


@given(
    arbitrary.attributes(
        *(
            f"{OBSERVATION}.input",
            f"{OBSERVATION}.output",
            f"{OBSERVATION}.level",
            f"{OBSERVATION}.usage_details",
            f"{OBSERVATION}.metadata",
            f"{OBSERVATION}.model.name",
        ),
        *(
            "langfuse.trace.input",
            "langfuse.trace.output",
            f"{OBSERVATION}.tool_definitions",
            f"{OBSERVATION}.status_message",
        ),
    )
)
def test_no_attribute_value_raises(attributes: dict[str, Any]) -> None:
    for kind in ("generation", "tool", "agent", "retriever", "span", None):
        read(Span("t", "s", attributes={**attributes, f"{OBSERVATION}.type": kind}))
