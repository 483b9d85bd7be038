"""JSON in attributes is decoded, saved when cut, and written back, whatever it holds."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.ingest.dialects.json_text import compact, decode, recover, structure

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=5), inner, max_size=4)
    ),
    max_leaves=15,
)


@pytest.mark.parametrize(
    ("cut", "saved"),
    [
        (
            '[{"role":"user","parts":[{"type":"text","content":"He',
            [{"role": "user", "parts": [{"type": "text", "content": "He"}]}],
        ),
        ('[{"a":1},{"b":', [{"a": 1}, {}]),
        ('[{"a":1},{"b":tru', [{"a": 1}, {}]),
        ('[{"a":1},{"lon', [{"a": 1}, {}]),
        ('{"a":"x\\', {"a": "x"}),
        ('{"a":"x\\u00', {"a": "x"}),
        ('{"a":"x\\ud83d', {"a": "x"}),
        ('{"a":{"b":[1,2', {"a": {"b": [1]}}),
        ("[", []),
    ],
)
def test_what_stands_before_a_cut_is_kept(cut: str, saved: Any) -> None:
    assert recover(cut) == (saved, True)


@pytest.mark.parametrize("text", ["", "plain", '{"a":1}}', '{"a" 1}', "[1,]x", "{'a': 1}", '{"a":]'])
def test_text_that_is_broken_rather_than_cut_stays_text(text: str) -> None:
    assert recover(text) == (text, False)


@given(_JSON.filter(lambda value: isinstance(value, list | dict)), st.data())
def test_every_beginning_of_a_json_text_is_recovered(value: Any, data: st.DataObject) -> None:
    text = json.dumps(value, ensure_ascii=data.draw(st.booleans()))
    assert recover(text) == (value, False)
    length = data.draw(st.integers(1, len(text) - 1))
    saved, cut = recover(text[:length])
    assert cut
    assert type(saved) is type(value)


@given(_JSON)
def test_compact_text_decodes_to_the_same_value(value: Any) -> None:
    assert json.loads(compact(value)) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": math.nan, "b": None}, '{"a":NaN,"b":null}'),
        ([[-math.inf], (math.inf,)], "[[-Infinity],[Infinity]]"),
        (b"ab\xff", '"ab\ufffd"'),
        ("\ud800", '"?"'),
        (2**70, str(2**70)),
        ({1: (1, 2)}, '{"1":[1,2]}'),
    ],
)
def test_compact_is_total(value: Any, text: str) -> None:
    assert compact(value) == text


def test_compact_writes_any_depth() -> None:
    value: Any = math.inf
    for _ in range(10_000):
        value = [{"a": value}]
    assert compact(value).count("[") == 10_000


@pytest.mark.parametrize(("text", "value"), [("[NaN, Infinity]", [math.nan, math.inf]), ('["\\ud800"]', ["?"])])
def test_python_flavoured_json_is_decoded(text: str, value: Any) -> None:
    assert repr(decode(text)) == repr(value)


@pytest.mark.parametrize("text", ["[" * 5_000, "[" * 5_000 + "NaN" + "]" * 5_000])
def test_depth_beyond_the_decoder_is_text(text: str) -> None:
    assert structure(text) == text


def test_only_lists_and_objects_are_structure() -> None:
    assert structure("7") == "7"
    assert structure('"x"') == '"x"'
    assert structure(" [1]") == [1]
    assert structure(None) is None
