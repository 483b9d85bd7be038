"""Spans of the Vercel AI SDK up to 6 are read as what they are (docs/conventions.md C5)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from gpa.ingest.dialects.call import Call, Message, Tool, Usage
from gpa.ingest.dialects.vercel import read
from gpa.ingest.spans import Span
from tests.ingest.dialects import arbitrary


def reading(attributes: dict[str, Any]) -> Call:
    found = read(Span("t", "s", name="span", attributes=attributes))
    assert found is not None
    return found


def test_a_span_of_another_convention_is_not_read() -> None:
    assert read(Span("t", "s", name="ai.generateText", attributes={"gen_ai.operation.name": "chat"})) is None


PROMPT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "Weather?"}]},
    {
        "role": "assistant",
        "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "w", "input": {"city": "Oslo"}}],
    },
    {
        "role": "tool",
        "content": [
            {"type": "tool-result", "toolCallId": "c1", "toolName": "w", "output": {"type": "text", "value": "rain"}}
        ],
    },
]


def test_everything_a_model_call_says() -> None:
    found = reading(
        {
            "ai.operationId": "ai.generateText.doGenerate",
            "operation.name": "ai.generateText.doGenerate helper",
            "ai.telemetry.functionId": "helper",
            "ai.telemetry.metadata.sessionId": "s-1",
            "ai.model.id": "gpt",
            "ai.response.model": "gpt-1",
            "ai.response.id": "r1",
            "ai.prompt.messages": json.dumps(PROMPT),
            "ai.prompt.tools": [
                json.dumps({"type": "function", "name": "w", "description": "d", "inputSchema": {"type": "object"}})
            ],
            "ai.response.reasoning": "Hm.",
            "ai.response.text": "I look again.",
            "ai.response.toolCalls": json.dumps([{"toolCallId": "c2", "toolName": "w", "input": {"city": "Rome"}}]),
            "ai.response.finishReason": "tool-calls",
            "ai.usage.inputTokens": 10,
            "ai.usage.outputTokens": 5,
            "ai.usage.cachedInputTokens": 4,
            "ai.usage.reasoningTokens": 2,
        }
    )
    assert found == Call(
        kind="llm",
        operation="ai.generateText.doGenerate",
        name="gpt-1",
        agent="helper",
        input=(
            Message("system", "Be brief."),
            Message("user", "Weather?"),
            Message("assistant", "", "w", "c1", {"city": "Oslo"}),
            Message("tool", "rain", "w", "c1"),
        ),
        output=(
            Message("reasoning", "Hm."),
            Message("assistant", "I look again."),
            Message("assistant", "", "w", "c2", {"city": "Rome"}),
        ),
        tools=(Tool("w", "d", {"type": "object"}),),
        model="gpt-1",
        response_id="r1",
        finish_reason="tool-calls",
        conversation_id="s-1",
        usage=Usage(10, 5, 4, 0, 2),
    )


def test_attributes_of_version_3() -> None:
    found = reading(
        {
            "ai.operationId": "ai.streamText.doStream",
            "ai.prompt.messages": '[{"role": "user", "content": "Weather?"}]',
            "ai.result.text": "I look.",
            "ai.result.toolCalls": '[{"toolCallId": "c1", "toolName": "w", "args": "{\\"city\\": \\"Oslo\\"}"}]',
            "ai.finishReason": "stop",
            "ai.usage.promptTokens": 3,
            "ai.usage.completionTokens": 2,
        }
    )
    assert found.output == (Message("assistant", "I look."), Message("assistant", "", "w", "c1", {"city": "Oslo"}))
    assert (found.finish_reason, found.usage) == ("stop", Usage(3, 2))


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ({"system": "Be brief.", "prompt": "Weather?"}, (Message("system", "Be brief."), Message("user", "Weather?"))),
        ({"messages": [{"role": "user", "content": "Weather?"}]}, (Message("user", "Weather?"),)),
    ],
    ids=["prompt", "messages"],
)
@pytest.mark.parametrize(("function", "agent"), [("helper", "helper"), (None, "ai.generateText")])
def test_the_outer_span_is_the_agent(
    prompt: Any, expected: tuple[Message, ...], function: str | None, agent: str
) -> None:
    attributes = {"ai.operationId": "ai.generateText", "ai.prompt": json.dumps(prompt), "ai.response.text": "Rain."}
    found = reading({**attributes, "ai.telemetry.functionId": function} if function else attributes)
    assert (found.kind, found.agent, found.name) == ("agent", agent, agent)
    assert (found.input, found.output) == (expected, (Message("assistant", "Rain."),))


def test_an_object_is_what_was_said() -> None:
    found = reading({"ai.operationId": "ai.generateObject.doGenerate", "ai.response.object": '{"rain": true}'})
    assert found.output == (Message("assistant", '{"rain": true}'),)


@pytest.mark.parametrize(
    "attributes",
    [
        {"ai.operationId": "ai.toolCall", "ai.toolCall.args": '{"city": "Oslo"}', "ai.toolCall.result": "rain"},
        {"ai.toolCall.input": {"city": "Oslo"}, "ai.toolCall.output": "rain"},
    ],
    ids=["args and result", "input and output"],
)
def test_tool_call(attributes: dict[str, Any]) -> None:
    found = reading({"ai.toolCall.name": "w", "ai.toolCall.id": "c1", **attributes})
    assert (found.kind, found.name) == ("tool", "w")
    assert found.input == (Message("assistant", "", "w", "c1", {"city": "Oslo"}),)
    assert found.output == (Message("tool", "rain", "w", "c1"),)


def test_embedding() -> None:
    found = reading({"ai.operationId": "ai.embedMany.doEmbed", "ai.values": ['"a"', "b"], "ai.usage.tokens": 4})
    assert (found.kind, [message.text for message in found.input]) == ("retrieval", ['"a"', "b"])
    assert found.usage == Usage(4)


def test_a_call_without_recorded_input_and_output_is_hidden() -> None:
    assert reading({"ai.operationId": "ai.generateText.doGenerate", "ai.model.id": "m"}).hidden


def test_a_cut_prompt_keeps_what_is_there() -> None:
    found = reading({"ai.operationId": "x.doGenerate", "ai.prompt.messages": '[{"role": "user", "content": "Weath'})
    assert found.input == (Message("user", "Weath"),)
    assert found.notes == ("a value was cut by a length limit of the producer",)


@given(
    arbitrary.attributes(
        *(
            "ai.operationId",
            "ai.prompt",
            "ai.prompt.messages",
            "ai.prompt.tools",
            "ai.response.text",
            "ai.response.toolCalls",
        ),
        *(
            "ai.response.object",
            "ai.toolCall.name",
            "ai.toolCall.args",
            "ai.toolCall.result",
            "ai.values",
            "ai.usage.tokens",
        ),
    )
)
def test_no_attribute_value_raises(attributes: dict[str, Any]) -> None:
    read(Span("t", "s", attributes=attributes))
