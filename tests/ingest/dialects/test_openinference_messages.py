"""Each message of an OpenInference model call is read as the parts it holds (docs/conventions.md C4, messages)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.ingest.dialects.call import Message
from tests.ingest.dialects.messages import call
from tests.ingest.dialects.openinference import IN, KIND, reading

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
