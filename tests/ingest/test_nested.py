"""Spans nested in spans are read however deep; the rest is JSON as ever."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.ingest.nested import load_nested

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["child_spans", "spans", "a", ""]), inner, max_size=3)
    ),
)


@given(value=st.lists(VALUES) | st.dictionaries(st.text(), VALUES), indent=st.sampled_from([None, 1]))
def test_it_reads_what_the_standard_parser_reads(value: Any, indent: int | None) -> None:
    assert load_nested(json.dumps(value, indent=indent)) == value


def test_spans_may_nest_a_hundred_thousand_deep() -> None:
    depth = 100_000
    value = load_nested('{"spans":[' + '{"child_spans":[' * depth + "]}" * depth + "]}")
    found, spans = 0, value["spans"]
    while spans:
        found, spans = found + 1, spans[0]["child_spans"]
    assert found == depth


def test_other_values_may_not() -> None:
    with pytest.raises(RecursionError):
        load_nested('{"a":' + "[" * 100_000 + "]" * 100_000 + "}")


BROKEN = ['{"a" 1}', "{a: 1}", '{"spans":[{]', "[1] [2]", '{"a":1', "", "{} {}", '{"a":oops}', '["a"', "]"]


@pytest.mark.parametrize("text", BROKEN)
def test_what_is_not_json_raises(text: str) -> None:
    with pytest.raises(ValueError, match="Expecting"):
        load_nested(text)
