"""Flattening: trees and un-flattened lists back to OpenInference's keys."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.ingest.formats.openinference import flatten


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        pytest.param(
            {"llm.input_messages": [{"message.role": "user", "message.tool_calls": [{"tool_call.id": "c"}]}]},
            {
                "llm.input_messages.0.message.role": "user",
                "llm.input_messages.0.message.tool_calls.0.tool_call.id": "c",
            },
            id="un-flattened list",
        ),
        pytest.param(
            {"llm": {"input_messages": [{"message": {"role": "user"}}], "model_name": "m"}},
            {"llm.input_messages.0.message.role": "user", "llm.model_name": "m"},
            id="tree",
        ),
        pytest.param({"smolagents": {"max_steps": 20}}, {"smolagents.max_steps": 20}, id="namespace"),
        pytest.param({"tag.tags": ["a", "b"]}, {"tag.tags": ["a", "b"]}, id="list of plain values"),
        pytest.param({"metadata": {"a": {"b": 1}}}, {"metadata": {"a": {"b": 1}}}, id="metadata is one document"),
        pytest.param({"input.value": {"a": 1}}, {"input.value": {"a": 1}}, id="a value is one document"),
        pytest.param(
            {"gen_ai.input.messages": [{"role": "user", "parts": []}]},
            {"gen_ai.input.messages": [{"role": "user", "parts": []}]},
            id="lists of the GenAI conventions",
        ),
        pytest.param({"a": None, "b": [{"x": None, "y": 1}]}, {"b.0.y": 1}, id="unset members"),
        pytest.param({"a": {}, "b": []}, {"a": {}, "b": []}, id="empty ones are kept"),
    ],
)
def test_flatten(given_: dict[str, Any], expected: dict[str, Any]) -> None:
    assert flatten(given_) == expected


@given(st.dictionaries(st.text(), st.text() | st.integers()))
def test_flat_attributes_are_the_same_dict(attributes: dict[str, Any]) -> None:
    assert flatten(attributes) is attributes


def test_order_is_kept() -> None:
    assert list(flatten({"b": [{"x": 1}, {"x": 2}], "a": {"z": 1, "y": 2}})) == ["b.0.x", "b.1.x", "a.z", "a.y"]


def test_ten_thousand_levels() -> None:
    deep: Any = "x"
    for _ in range(10_000):
        deep = {"a": deep}
    ((key, value),) = flatten(deep).items()
    assert (key.count("a"), value) == (10_000, "x")
