"""Text that is nearly JSON: what it means, and what is said about how it was read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.plans.pseudo_json import parse, parse_all, parse_call
from gpa.plans.tolerant import REASONS, BareCall


@pytest.mark.parametrize(
    ("text", "value", "reasons"),
    [
        pytest.param('{"a": [1, 2.5, null]}', {"a": [1, 2.5, None]}, [], id="strict"),
        pytest.param("```json\n[1]\n```", [1], ["markdown_fences"], id="fences"),
        pytest.param("Sure: [1, 2] as asked", [1, 2], ["incorrect_format"], id="prose around it"),
        pytest.param("import x\nresult = [1]\nprint(result)", [1], ["hallucinated_code"], id="code around it"),
        pytest.param("{'a': 'b'}", {"a": "b"}, ["single_quotes"], id="single quotes"),
        pytest.param("{'a': 'it's'}", {"a": "it's"}, ["single_quotes", "mismatched_quotes"], id="quote in a quote"),
        pytest.param("{“a”: “b”}", {"a": "b"}, ["mismatched_quotes"], id="curly quotes"),
        pytest.param("[1,, 2,]", [1, 2], ["invalid_commas"], id="commas too many"),
        pytest.param('["a" "b"\n"c"]', ["a", "b", "c"], ["missing_commas"], id="commas missing"),
        pytest.param("[None, True, nan]", [None, True, None], ["null_literals"], id="Python's literals"),
        pytest.param("[1, ..., 9]", [1, 9], ["ellipses"], id="dots"),
        pytest.param("[1, 2}]", [1, 2], ["bracket_mismatch"], id="a bracket of another kind"),
        pytest.param('{"a": [1, 2}', {"a": [1, 2]}, ["bracket_mismatch"], id="an inner list never closed"),
        pytest.param("[[1, 2", [[1, 2]], ["cut_off"], id="cut"),
        pytest.param("[1, // one\n 2 # two\n]", [1, 2], ["comments"], id="comments"),
        pytest.param("{a: b c, d: 1}", {"a": "b c", "d": 1}, ["unquoted_words"], id="words"),
        pytest.param('["user["id"]", 1]', ['user["id"]', 1], ["mismatched_quotes", "expression_in_quotes"], id="expr"),
        pytest.param("(1, 'a')", None, None, id="a tuple alone is no container"),
        pytest.param("no brackets", None, None, id="nothing"),
    ],
)
def test_what_is_meant_and_what_had_to_be_mended(text: str, value: Any, reasons: list[str] | None) -> None:
    parsed = parse(text)
    if reasons is None:
        assert parsed is None
        return
    assert parsed is not None
    assert parsed.value == value
    assert {repair.reason for repair in parsed.repairs} == set(reasons)


def test_every_reason_is_one_of_the_list() -> None:
    assert len(set(REASONS)) == len(REASONS) == 15


def test_a_repair_names_its_line() -> None:
    parsed = parse("[\n1,\n\n2,,\n3]")
    assert parsed is not None
    assert [(repair.reason, repair.line) for repair in parsed.repairs] == [("invalid_commas", 4)]


def test_the_place_where_a_text_ends_is_told() -> None:
    parsed = parse('{"steps": [{"id": 1}, {"id": 2, "args": {"x": "hal')
    assert parsed is not None
    assert parsed.cut_at == ("steps", 1, "args", "x")


def test_all_values_of_a_text_are_found_in_order() -> None:
    found = [parsed.value for _, _, parsed in parse_all('First {"a": 1} then [2] and {"b": 3}.')]
    assert found == [{"a": 1}, [2], {"b": 3}]


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("RAG((1), 'Why?')", BareCall("RAG", ("(1)", "Why?"), {}, "RAG((1), 'Why?')")),
        ("f(x=1, y={'a': [2]})", BareCall("f", (), {"x": 1, "y": {"a": [2]}}, "f(x=1, y={'a': [2]})")),
        ("g()", BareCall("g", (), {}, "g()")),
        ("g() and more", None),
        ("Find (1) and (2)", None),
    ],
)
def test_a_call_written_as_code(text: str, call: BareCall | None) -> None:
    assert parse_call(text) == call


KEYS = st.text("abcxyz_", min_size=1, max_size=5)

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**15), 10**15) | st.text(st.characters(codec="utf-8"), max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(values, min_size=1, max_size=4))
def test_json_means_what_it_says(value: Any) -> None:
    parsed = parse(json.dumps(value))
    assert parsed is not None
    assert parsed.value == value
    assert parsed.repairs == ()


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text("abc ÄÖ0-9.!?", max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(plain, min_size=1, max_size=4))
def test_python_means_what_it_says(value: Any) -> None:
    parsed = parse("Here you are:\n" + repr(value))
    assert parsed is not None
    assert parsed.value == value


@given(st.text("[]{}()\"',:=\n ax1.…/#$\\u`", max_size=60))
def test_no_text_is_too_broken_to_be_looked_at(text: str) -> None:
    parsed = parse(text)
    assert parsed is None or isinstance(parsed.value, list | dict)


LONG = {
    "brackets": "[" * 50_000,
    "objects": '{"a":' * 50_000,
    "quotes": "['" + "' x" * 50_000,
    "calls": "a(" * 50_000,
    "bullets without words": "-\n" * 50_000,
    "names without values": "a=\n" * 50_000,
    "empty lines": "\n" * 50_000 + "x [1,",
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_deep_and_long_texts_end(text: str) -> None:
    parsed = parse(text)
    assert parsed is None or parsed.repairs
