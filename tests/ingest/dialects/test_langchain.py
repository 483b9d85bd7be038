"""What LangChain dumps, and what conventions wrap around it, is unwrapped to what was said and called."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.ingest.dialects.langchain import Origin, ToolMessage, literal, origin, tool_message, unwrapped_input

FIELDS = {"content": "rain", "name": "w", "tool_call_id": "c1", "status": "success"}
RAIN = ToolMessage("rain", "c1", "w")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (FIELDS, RAIN),
        ({"type": "tool", "data": FIELDS}, RAIN),
        ({"lc": 1, "type": "constructor", "id": ["langchain", "ToolMessage"], "kwargs": FIELDS}, RAIN),
        ({"kwargs": {**FIELDS, "type": "tool"}}, RAIN),
        ({"output": FIELDS}, RAIN),
        ({"output": {"type": "tool", "data": FIELDS}, "kwargs": {"tags": []}}, RAIN),
        ([{"graph": None, "update": {"messages": [{"type": "ai", "content": "x"}, FIELDS]}}], RAIN),
        ({**FIELDS, "status": "error"}, ToolMessage("rain", "c1", "w", failed=True)),
        (
            {**FIELDS, "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            ToolMessage("a\nb", "c1", "w"),
        ),
        ({"content": [{"type": "text", "text": "rain"}], "isError": True}, ToolMessage("rain", failed=True)),
        ({"content": "an answer", "role": "assistant"}, None),
        ({"lc": 1, "id": ["AIMessage"], "kwargs": {"content": "x"}}, None),
        ({"output": "rain"}, None),
        ({"kwargs": 3, "type": "tool", "data": []}, None),
        ([], None),
        (None, None),
    ],
    ids=[
        *("fields", "dump", "constructor", "constructor without marks", "output", "callback", "state update", "failed"),
        *("blocks", "MCP", "an answer", "another message", "text", "wrong types", "nothing in a list", "nothing"),
    ],
)
def test_tool_message(value: Any, expected: ToolMessage | None) -> None:
    assert tool_message(value) == expected


def test_endless_wrapping_is_given_up() -> None:
    value: Any = FIELDS
    for _ in range(20):
        value = [{"output": value}]
    assert tool_message(value) is None


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"metadata": '{"lc_agent_name": "w", "thread_id": "t"}'}, Origin("w", "", "t")),
        ({"metadata": {"langgraph_node": "model"}}, Origin(node="model")),
        ({"metadata.lc_agent_name": "w", "metadata.ls_integration": "x"}, Origin("w", integration="x")),
        ({"metadata": '{"user": "somebody"}'}, Origin()),
        ({"metadata": '{"lc_agent_name": 3, "thread_id": null}'}, Origin()),
        ({"metadata": '{"lc_agent_name": "cut'}, Origin()),
        ({}, Origin()),
    ],
    ids=["JSON text", "object", "dotted", "other metadata", "wrong types", "cut", "none"],
)
def test_origin(attributes: dict[str, Any], expected: Origin) -> None:
    assert origin(attributes, "metadata") == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"inputs": {"x": 1}, "tags": [], "kwargs": {}}, {"x": 1}),
        ({"input_str": "Oslo", "inputs": {"city": "Oslo"}}, {"city": "Oslo"}),
        ({"input_str": "Oslo", "metadata": {}}, "Oslo"),
        ({"inputs": 1, "city": "Oslo"}, {"inputs": 1, "city": "Oslo"}),
        ({"input_str": "a parameter of this name"}, {"input_str": "a parameter of this name"}),
    ],
    ids=["chain", "tool", "tool without inputs", "somebody's data", "somebody's parameter"],
)
def test_unwrapped_input(value: dict[str, Any], expected: Any) -> None:
    assert unwrapped_input(value) == expected


PLAIN = st.none() | st.booleans() | st.integers() | st.text(max_size=8)


@given(st.dictionaries(st.text(max_size=8), PLAIN | st.lists(PLAIN, max_size=3), max_size=4))
def test_the_repr_of_plain_arguments_is_read_back(arguments: dict[str, Any]) -> None:
    assert literal(repr(arguments)) == arguments


@pytest.mark.parametrize(
    "text",
    [
        "{'a': open('x')}",
        "{'a': 1",
        "{1: 2}",
        "{1, 2}",
        "{" * 5_000,
        "{'a': " + "-" * 9_000 + "1}",
        "{'a': '\\d'",
        "Oslo",
        "",
    ],
    ids=["a call", "cut", "keys that are no names", "a set", "nested", "signs", "bad escape", "text", "nothing"],
)
def test_what_is_no_repr_of_arguments_is_left_alone(text: str) -> None:
    assert literal(text) is None
