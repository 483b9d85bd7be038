"""Flattened lists come back whole and in order, whatever became of their keys."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.ingest.dialects import flat
from gpa.ingest.dialects.flat import columns, in_order, items, nested, place, unflattened


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("llm.input_messages.10.message.role", ("llm.input_messages.*.message.role", 10)),
        ("gen_ai.prompt.0.tool_calls.1.name", ("gen_ai.prompt.*.tool_calls.1.name", 0)),
        ("message.content.0", ("message.content.*", 0)),
        ("llm.model_name", None),
        ("llm.4o.name", None),
        ("llm.²", None),
        ("llm.99999999999999999999.name", None),
        ("", None),
        ("...", None),
    ],
    ids=[
        "message",
        "first number only",
        "number last",
        "no number",
        "part number",
        "superscript",
        "huge",
        "empty",
        "dots",
    ],
)
def test_the_first_number_of_a_key_is_its_place(key: str, expected: object) -> None:
    assert place(key) == expected


def test_items_come_in_numeric_order_though_keys_do_not() -> None:
    attributes = {"a.10.text": "last", "a.2.text": "second", "a.1.text": "first", "ab.0.text": "another list"}
    assert in_order(items(columns(attributes), "a")) == [{"text": "first"}, {"text": "second"}, {"text": "last"}]


def test_remembered_keys_are_bounded() -> None:
    for start in range(0, 3 * flat._Places.LIMIT, flat._Places.LIMIT):
        columns({f"l.{number}.text": "" for number in range(start, start + flat._Places.LIMIT)})
    assert len(flat._PLACES) <= flat._Places.LIMIT


NAMES = st.text("abcdef_", min_size=1, max_size=4)
ITEMS = st.lists(st.dictionaries(NAMES, st.text(max_size=5), min_size=1, max_size=4), max_size=12)


@given(ITEMS, st.randoms())
def test_a_flattened_list_comes_back_from_keys_in_any_order(listed: list[dict[str, str]], random: Any) -> None:
    pairs = [(f"l.{i}.m.{key}", value) for i, fields in enumerate(listed) for key, value in fields.items()]
    random.shuffle(pairs)
    expected = [{f"m.{key}": value for key, value in fields.items()} for fields in listed]
    assert in_order(items(columns(dict(pairs)), "l")) == expected


@pytest.mark.parametrize(
    "value",
    [
        [{"message.role": "user", "message.tool_calls": [{"tool_call.id": "c1"}]}],
        [{"message": {"role": "user", "tool_calls": [{"tool_call": {"id": "c1"}}]}}],
        '[{"message": {"role": "user", "tool_calls": [{"tool_call.id": "c1"}]}}]',
        {"message.role": "user", "message.tool_calls": [{"tool_call.id": "c1"}]},
    ],
    ids=["dotted objects", "nested objects", "JSON text", "a single object"],
)
def test_lists_that_were_put_together_again_read_like_flattened_ones(value: object) -> None:
    fields = in_order(items(unflattened("l", value), "l"))
    assert fields == [{"message.role": "user", "message.tool_calls.0.tool_call.id": "c1"}]


def test_arguments_that_are_objects_are_not_taken_apart() -> None:
    value = [{"tool_call": {"function": {"arguments": {"city": "Oslo"}}}}]
    assert in_order(items(unflattened("l", value), "l")) == [{"tool_call.function.arguments": {"city": "Oslo"}}]


@pytest.mark.parametrize("value", [None, "no list", 3, ["text"], [None], "[1, 2"])
def test_what_is_no_list_of_objects_has_no_items(value: object) -> None:
    assert items(unflattened("l", value), "l") == {}


def test_a_spread_object_is_put_together_again() -> None:
    attributes = {
        "p.properties.city.type": "string",
        "p.required": ["city"],
        "p.properties.city": "lost",
        "q.type": "x",
    }
    attributes |= {"p.required.0": "lost"}
    assert nested(attributes, "p") == {"properties": {"city": {"type": "string"}}, "required": ["city"]}
