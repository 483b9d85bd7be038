"""Whatever a chat payload holds, it is read without an error and no text of it is lost."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.ingest.dialects.chat import messages
from gpa.ingest.dialects.json_text import compact

_KEYS = st.sampled_from(
    [
        *(
            "role",
            "content",
            "parts",
            "type",
            "text",
            "messages",
            "tool_calls",
            "function",
            "name",
            "arguments",
            "id",
            "lc",
        ),
        *(
            "kwargs",
            "data",
            "source",
            "image",
            "toolUse",
            "toolResult",
            "functionCall",
            "output",
            "message",
            "choices",
            "x",
        ),
    ]
)
_WORDS = st.sampled_from(
    [
        "user",
        "assistant",
        "tool",
        "text",
        "tool_call",
        "tool_result",
        "image",
        "file",
        "human",
        "reasoning",
        "function",
        "é",
    ]
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | _WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS | st.text(max_size=4), inner, max_size=5),
    max_leaves=20,
)


@given(_JSON)
def test_no_json_value_raises(value: Any) -> None:
    for message in messages(value):
        assert isinstance(message.role, str)
        assert isinstance(message.text, str)
        assert isinstance(message.tool_name, str)
        assert isinstance(message.tool_call_id, str)


@pytest.mark.parametrize(
    "wrap",
    [lambda inner: [inner], lambda inner: {"message": inner}, lambda inner: {"role": "user", "content": inner}],
    ids=["lists", "wrapped", "content"],
)
def test_ten_thousand_levels_are_read_without_a_recursion_error(wrap: Any) -> None:
    value: Any = "deep down"
    for _ in range(10_000):
        value = wrap(value)
    assert "deep down" in messages(value)[0].text


_TEXT = st.text(st.characters(codec="utf-8"), min_size=1).map(lambda text: f"·{text}·")
_PART = st.one_of(
    _TEXT.map(lambda text: {"type": "text", "text": text}),
    _TEXT.map(lambda text: {"type": "text", "content": text}),
    _TEXT.map(lambda text: {"text": text}),
    _TEXT.map(lambda text: {"type": "thinking", "thinking": text}),
    _TEXT.map(lambda text: {"type": "tool_use", "id": "i", "name": "n", "input": {"a": text}}),
    _TEXT.map(lambda text: {"type": "tool_result", "tool_use_id": "i", "content": [{"type": "text", "text": text}]}),
    _TEXT.map(lambda text: {"toolResult": {"toolUseId": "i", "content": [{"json": {"a": text}}]}}),
    _TEXT.map(lambda text: {"functionResponse": {"name": "n", "response": {"a": text}}}),
    _TEXT.map(lambda text: {"type": "somebody's own", "a": text}),
)
_MESSAGE = st.builds(
    lambda role, content, calls: {"role": role, "content": content, "tool_calls": calls},
    st.sampled_from(["system", "user", "assistant", "tool", "critic"]),
    _TEXT | st.lists(_PART | _TEXT, min_size=1, max_size=4),
    st.just([]),
)


def _leaves(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value] if value.startswith("·") else []
    if isinstance(value, dict):
        value = list(value.values())
    return [leaf for inner in value for leaf in _leaves(inner)] if isinstance(value, list) else []


@given(st.lists(_MESSAGE, min_size=1, max_size=5))
def test_every_text_of_a_conversation_is_in_some_message(conversation: list[dict[str, Any]]) -> None:
    said = "\n".join(f"{message.text}\n{compact(message.arguments)}" for message in messages(conversation))
    for leaf in _leaves(conversation):
        assert leaf in said or compact(leaf)[1:-1] in said
