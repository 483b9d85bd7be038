"""OpenInference model calls tell their messages, tools and usage, in every form they are recorded in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpa.ingest.dialects.call import Call, Message, Tool, Usage
from tests.ingest.dialects.messages import call
from tests.ingest.dialects.openinference import IN, KIND, OUT, reading


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
