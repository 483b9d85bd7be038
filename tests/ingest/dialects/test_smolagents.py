"""The records of smolagents are read for what they mean."""

from __future__ import annotations

from typing import Any

import pytest

from gpa.ingest.dialects.call import Message
from gpa.ingest.dialects.smolagents import call_arguments, is_memory_step, schema, task


@pytest.mark.parametrize(
    ("args", "kwargs", "names", "expected"),
    [
        ([], {"a": 1}, ["a"], {"a": 1}),
        ([1], {}, ["a", "b"], {"a": 1}),
        ([1], {"a": 2}, ["a", "b"], {"b": 1, "a": 2}),
        ([{"a": 1, "b": 2}], {}, ["a", "b"], {"a": 1, "b": 2}),
        ([{"c": 1}], {}, ["a"], {"a": {"c": 1}}),
        ([1, 2], {}, ["a"], {"args": [1, 2]}),
        ([1], {"b": 2}, [], {"args": [1], "b": 2}),
    ],
    ids=["by name", "by position", "free names only", "spread object", "object argument", "too many", "names unknown"],
)
def test_call_arguments(args: list[Any], kwargs: dict[str, Any], names: list[str], expected: dict[str, Any]) -> None:
    assert call_arguments({"args": args, "sanitize_inputs_outputs": True, "kwargs": kwargs}, names) == expected


def test_the_type_any_is_no_json_type() -> None:
    inputs = {"answer": {"type": "any"}, "note": {"type": "string", "nullable": True}}
    properties = {"answer": {}, "note": {"type": "string", "nullable": True}}
    assert schema(inputs) == {"type": "object", "properties": properties, "required": ["answer"]}


@pytest.mark.parametrize(
    ("attributes", "value", "expected"),
    [
        ({}, '{"task": "Find it.", "additional_args": null}', [Message("user", "Find it.")]),
        ({"smolagents.task": "Find it."}, None, [Message("user", "Find it.")]),
        ({}, {"task": 3}, []),
        ({}, "plain text", []),
    ],
    ids=["input.value", "attribute", "wrong type", "no run"],
)
def test_task(attributes: dict[str, Any], value: object, expected: list[Message]) -> None:
    assert list(task(attributes, value)) == expected


def test_a_step_object_that_has_not_run_is_told_apart() -> None:
    assert is_memory_step('{"memory_step": "ActionStep(step_number=1, error=None)"}')
    assert not is_memory_step('{"memory": "ActionStep"}')
    assert not is_memory_step(None)
