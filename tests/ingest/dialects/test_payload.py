"""What went into and came out of spans that are no model calls."""

from __future__ import annotations

from typing import Any

import pytest

from gpa.ingest.dialects.call import Message
from gpa.ingest.dialects.payload import answer, conversation, documents, is_cut, readable, tool_exchange
from gpa.ingest.dialects.semconv import recorded_result

ONE_TEXT = {"properties": {"city": {"type": "string"}}}
ONE_NUMBER = {"properties": {"days": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("given", "parameters", "expected"),
    [
        (None, None, {}),
        ({"city": "Oslo"}, None, {"city": "Oslo"}),
        ("Oslo", None, "Oslo"),
        ("Oslo", ONE_TEXT, {"city": "Oslo"}),
        ("3", ONE_TEXT, {"city": "3"}),
        ("3", ONE_NUMBER, {"days": 3}),
        ('{"city": "Os', ONE_TEXT, '{"city": "Os'),
        ([1, 2], None, "[1,2]"),
        (3.5, None, "3.5"),
        ({"args": [{"city": "Oslo"}], "kwargs": {}}, ONE_TEXT, {"city": "Oslo"}),
        ({"args": ["Oslo", "Rome"], "kwargs": {}}, ONE_TEXT, {"args": ["Oslo", "Rome"]}),
        ({"args": "a parameter", "kwargs": {}}, None, {"args": "a parameter", "kwargs": {}}),
    ],
    ids=[
        *(
            "none recorded",
            "object",
            "bare",
            "bare and named",
            "text that looks like a number",
            "number",
            "cut",
            "list",
        ),
        *(
            "scalar",
            "a lone object spread over the parameters",
            "more than there are parameters",
            "somebody's parameters",
        ),
    ],
)
def test_arguments(given: Any, parameters: dict[str, Any] | None, expected: Any) -> None:
    exchange = tool_exchange("w", given, None, call_id="c1", parameters=parameters)
    assert exchange.sent == (Message("assistant", "", "w", "c1", expected),)
    assert exchange.said == ()


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        pytest.param('"Error: no such city\\nline two"', "Error: no such city\nline two", id="a text as JSON"),
        pytest.param('"he said" and "she said"', '"he said" and "she said"', id="a text with quotes"),
        pytest.param('"', '"', id="a quote"),
        pytest.param('"42"', "42", id="a number as text"),
    ],
)
def test_a_result_that_is_a_json_string_is_its_text(returned: str, expected: str) -> None:
    assert tool_exchange("f", {}, returned).said == (Message("tool", expected, "f"),)
    assert recorded_result(returned) == expected


def test_the_call_takes_the_id_of_its_result() -> None:
    exchange = tool_exchange("w", {}, {"content": "rain", "tool_call_id": "c1"})
    assert (exchange.sent[0].tool_call_id, exchange.said) == ("c1", (Message("tool", "rain", "w", "c1"),))


STATE = [
    {"role": "user", "content": "Weather?"},
    {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "function": {"name": "w", "arguments": "{}"}}]},
    {"role": "tool", "content": "rain", "tool_call_id": "c1"},
]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"messages": [*STATE, {"role": "assistant", "content": "Rain."}]}, "Rain."),
        ({"outputs": {"messages": [*STATE, {"role": "assistant", "content": "Rain."}]}}, "Rain."),
        ({"messages": STATE}, "rain"),
        ({"messages": [{"kwargs": {"content": "Rain.", "type": "ai"}}]}, "Rain."),
        ("Rain.", "Rain."),
        ('{"messages": [{"role": "assistant", "content": "cut', '{"messages": [{"role": "assistant", "content": "cut'),
        ({"result": "done"}, '{"result":"done"}'),
    ],
    ids=["state", "wrapped state", "ends with a result", "constructor without marks", "text", "cut", "data"],
)
def test_an_answer_is_the_end_of_a_state(value: Any, expected: str) -> None:
    assert "\n".join(message.text for message in answer(value)) == expected


def test_nothing_is_no_message() -> None:
    assert (conversation(None, "user"), conversation("", "user"), answer(None), documents(None)) == ((), (), (), ())


def test_documents_keep_their_marks_and_unknown_ones_their_fields() -> None:
    value = {
        "documents": [{"page_content": "wet", "id": "d1", "score": 0.5}, {"kwargs": {"page_content": "dry"}}, {"x": 1}]
    }
    assert [message.text for message in documents(value)] == ["[d1, score 0.5] wet", "dry", '{"x":1}']


@pytest.mark.parametrize(
    ("value", "found", "cut"),
    [
        ('{"a": 1}', {"a": 1}, False),
        ('{"a": "text that en', {"a": "text that en"}, True),
        ("{'a': 'a repr", "{'a': 'a repr", False),
        ("text", "text", False),
        (3, 3, False),
    ],
    ids=["whole", "cut", "repr", "text", "number"],
)
def test_cut_values_are_read_as_far_as_they_go_and_noted(value: object, found: object, cut: bool) -> None:
    notes: list[str] = []
    assert readable(value, notes) == found
    assert (bool(notes), is_cut(value)) == (cut, cut)
