"""What comes out of a trace is shown on a terminal, never obeyed."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.cli.output import json_line, one_line, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("a\tb\nc", "a\tb\nc", id="tabs and newlines stay"),
        pytest.param("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m", id="colours"),
        pytest.param("\x1b]0;title\x07", r"\x1b]0;title\x07", id="window title"),
        pytest.param("\x9b2J", r"\x9b2J", id="control sequence in one character"),
        pytest.param("paid\rfree", r"paid\x0dfree", id="carriage return that overwrites the line"),
        pytest.param("one\r\ntwo", "one\r\ntwo", id="line ends of Windows stay"),
        pytest.param("ab\x08c", r"ab\x08c", id="backspace"),
        pytest.param("user\u202enimda", r"user\u202enimda", id="right-to-left override"),
        pytest.param("a\u2066b\u2069", r"a\u2066b\u2069", id="isolates"),
        pytest.param("no\u200bthing", r"no\u200bthing", id="zero-width space"),
        pytest.param("hi\U000e0041", r"hi\U000e0041", id="invisible tag"),
        pytest.param("half \ud83d", r"half \ud83d", id="half of a surrogate pair"),
        pytest.param("naïve Ελλάδα 日本 👩\u200d🔬", "naïve Ελλάδα 日本 👩\u200d🔬", id="languages and emoji stay"),
        pytest.param("[bold]x[/bold]", "[bold]x[/bold]", id="markup of rich is text"),
    ],
)
def test_a_terminal_is_shown(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text())
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    left = visible(text).replace("\r\n", "\n")
    assert all(c in "\t\n" or unicodedata.category(c) not in {"Cc", "Cs"} for c in left)
    assert all(
        unicodedata.bidirectional(c) not in {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI"} for c in left
    )


@given(st.text(), st.integers(min_value=1, max_value=50))
def test_one_line_is_one_line_and_no_longer_than_asked(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert len(line.splitlines()) <= 1


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_a_json_line_reads_back_as_the_same_value_and_is_safe_to_show(value: Any) -> None:
    line = json_line(value)
    assert json.loads(line) == value
    assert visible(line) == line
    assert "\n" not in line


def nested(depth: int) -> Any:
    value: Any = "core"
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "line"),
    [
        pytest.param({"n": 2**70}, f'{{"n":{2**70}}}', id="more than 64 bits"),
        pytest.param({"b": b"\x00\xff"}, '{"b":"AP8="}', id="bytes"),
        pytest.param({"x": "a\x7f\u202e\U000e0041"}, r'{"x":"a\u007f\u202e\udb40\udc41"}', id="escapes of JSON"),
        pytest.param([float("nan"), 1], "[null,1]", id="not a number"),
        pytest.param([float("nan"), 2**70], f"[null,{2**70}]", id="not a number beside more than 64 bits"),
        pytest.param(nested(100_000), "[" * 200 + '"(nested deeper than 200 levels)"' + "]" * 200, id="100,000 levels"),
    ],
)
def test_what_json_cannot_hold_is_written_all_the_same(value: Any, line: str) -> None:
    assert json_line(value) == line
