"""MLflow spans, every value of which is JSON text, are read as what they are (docs/conventions.md C12)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from gpa.ingest.dialects.call import Call, Message, Tool, Usage
from gpa.ingest.dialects.mlflow import read
from gpa.ingest.spans import Span
from tests.ingest.dialects import arbitrary
from tests.ingest.dialects.recorded import needs_recordings, otlp


def reading(name: str = "span", **values: Any) -> Call:
    attributes = {f"mlflow.{key.replace('__', '.')}": json.dumps(value) for key, value in values.items()}
    found = read(Span("t", "s", name=name, attributes=attributes, resource={"mlflow.trace.session": "s-1"}))
    assert found is not None
    return found


def test_a_span_of_another_convention_is_not_read() -> None:
    assert read(Span("t", "s", attributes={"input.value": "x"})) is None


def test_everything_a_model_call_says() -> None:
    function = {"name": "w", "description": "d", "parameters": {"type": "object"}}
    call = {"id": "c1", "type": "function", "function": {"name": "w", "arguments": '{"city": "Oslo"}'}}
    found = reading(
        spanType="CHAT_MODEL",
        spanInputs={"messages": [{"role": "user", "content": "Weather?", "tool_calls": None}]},
        spanOutputs={
            "choices": [
                {"message": {"role": "assistant", "content": "I look.", "tool_calls": [call]}, "finish_reason": "stop"}
            ]
        },
        chat__tools=[{"type": "function", "function": function}],
        chat__tokenUsage={"input_tokens": 71, "output_tokens": 35, "total_tokens": 106, "cache_read_input_tokens": 7},
        llm__model="gpt",
    )
    assert found == Call(
        kind="llm",
        operation="CHAT_MODEL",
        name="gpt",
        input=(Message("user", "Weather?"),),
        output=(Message("assistant", "I look."), Message("assistant", "", "w", "c1", {"city": "Oslo"})),
        tools=(Tool("w", "d", {"type": "object"}),),
        model="gpt",
        finish_reason="stop",
        conversation_id="s-1",
        usage=Usage(71, 35, 7),
    )


@pytest.mark.parametrize(
    ("recorded", "kind"),
    [
        *(("LLM", "llm"), ("AGENT", "agent"), ("TOOL", "tool"), ("RETRIEVER", "retrieval"), ("EMBEDDING", "retrieval")),
        *(("CHAIN", "other"), ("WORKFLOW", "other"), ("UNKNOWN", "other"), (None, "other"), (["LLM"], "other")),
    ],
)
def test_kind(recorded: object, kind: str) -> None:
    assert reading(spanType=recorded).kind == kind


def test_a_tool_has_its_arguments_and_the_content_of_its_message() -> None:
    message = {"content": "rain", "type": "tool", "name": "w", "tool_call_id": "c1", "status": "success"}
    found = reading("w", spanType="TOOL", spanInputs={"city": "Oslo"}, spanOutputs=message)
    assert found.input == (Message("assistant", "", "w", "c1", {"city": "Oslo"}),)
    assert found.output == (Message("tool", "rain", "w", "c1"),)


def test_an_agent_answers_with_the_end_of_its_state() -> None:
    state = [{"type": "human", "content": "Weather?"}, {"type": "ai", "content": "Rain."}]
    found = reading("w", spanType="AGENT", spanInputs={"messages": state[:1]}, spanOutputs={"messages": state})
    assert (found.agent, found.input, found.output) == (
        "w",
        (Message("user", "Weather?"),),
        (Message("assistant", "Rain."),),
    )


def test_retrieved_documents() -> None:
    found = reading(
        spanType="RETRIEVER", spanInputs="rain?", spanOutputs=[{"page_content": "wet", "metadata": {}, "id": "d1"}]
    )
    assert (found.input, found.output) == ((Message("user", "rain?"),), (Message("tool", "[d1] wet"),))


def test_values_that_were_not_encoded_are_taken_as_they_are() -> None:
    found = read(Span("t", "s", attributes={"mlflow.spanType": "LLM", "mlflow.spanInputs": "Weather?"}))
    assert found is not None
    assert (found.kind, found.input) == ("llm", (Message("user", "Weather?"),))


@given(
    arbitrary.attributes(
        *("mlflow.spanType", "mlflow.spanInputs", "mlflow.spanOutputs", "mlflow.chat.tools", "mlflow.chat.tokenUsage"),
        *("mlflow.llm.model", "metadata", "tool_call_id", "mlflow.trace.session"),
    )
)
def test_no_attribute_value_raises(attributes: dict[str, Any]) -> None:
    for kind in ("LLM", "TOOL", "AGENT", "RETRIEVER", None):
        read(Span("t", "s", attributes={**attributes, "mlflow.spanType": json.dumps(kind)} if kind else attributes))


@needs_recordings
def test_recorded_messages_equal_the_raw_attributes() -> None:
    calls = 0
    for span in otlp("otel/generated/mlflow/otlp_export.traces.jsonl"):
        found = read(span)
        assert found is not None
        if found.kind == "llm":
            calls += 1
            recorded = json.loads(span.attributes["mlflow.spanInputs"])["messages"]
            assert [part.text for part in found.input if part.text] == [
                entry["content"] for entry in recorded if entry["content"]
            ]
    assert calls == 3
