"""Rows of Phoenix's dataframe, after what pandas and users do to them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpa.ingest.formats.dataframe import FORMAT
from gpa.ingest.spans import Event, Span

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN = "00f067aa0ba902b7"
SECOND_NS = 1_742_402_482_000_000_000
MESSAGES = [{"message.role": "user", "message.content": "hi"}]
FLAT = {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "hi"}


def read(value: Any) -> tuple[list[Span], list[str]]:
    noted: list[str] = []
    assert FORMAT.matches(value)
    return [span for span in FORMAT.read(value, noted.append) if isinstance(span, Span)], noted


def row(**cells: Any) -> dict[str, Any]:
    return {"name": "op", "context.trace_id": TRACE, "context.span_id": SPAN} | cells


def one(**cells: Any) -> Span:
    (span,), noted = read(row(**cells))
    assert noted == []
    return span


@pytest.mark.parametrize(
    "start", ["2025-03-19T16:41:22.000Z", SECOND_NS // 10**6, SECOND_NS, float(SECOND_NS // 10**9)], ids=repr
)
def test_times_in_every_unit_pandas_writes(start: object) -> None:
    assert one(start_time=start).start_ns == SECOND_NS


@pytest.mark.parametrize(
    ("column", "cell", "expected"),
    [
        pytest.param("llm.input_messages", MESSAGES, FLAT, id="list"),
        pytest.param("llm.input_messages", json.dumps(MESSAGES), FLAT, id="list as text"),
        pytest.param("llm.tools", '[{"tool.json_schema": "{}"}]', {"llm.tools.0.tool.json_schema": "{}"}, id="tools"),
        pytest.param("input.value", '{"a": 1}', {"input.value": '{"a": 1}'}, id="a value that was text stays text"),
        pytest.param("smolagents", '{"max_steps": 2}', {"smolagents.max_steps": 2}, id="namespace as text"),
        pytest.param("metadata", {"a": {"b": 1}}, {"metadata": {"a": {"b": 1}}}, id="metadata"),
        pytest.param("llm.token_count.prompt", 5.0, {"llm.token_count.prompt": 5}, id="count that became a float"),
        pytest.param("score", 5.0, {"score": 5.0}, id="a float that is one"),
        pytest.param("tool.name", None, {}, id="null"),
        pytest.param("tool.name", float("nan"), {}, id="NaN"),
        pytest.param("llm.input_messages", '[{"message', {"llm.input_messages": '[{"message'}, id="cut text"),
    ],
)
def test_attribute_cells(column: str, cell: Any, expected: dict[str, Any]) -> None:
    assert one(**{f"attributes.{column}": cell}).attributes == expected


TEXTS = {"parent_id": "None", "start_time": "2025-03-19 16:41:22+00:00", "end_time": "NaT", "events": "[]"}


def test_a_row_saved_with_astype_str_is_the_row_it_was() -> None:
    call = {"tool_call.function.arguments": '{"city": "Z"}', "index": (1, 2)}
    messages = [{"message.role": "assistant", "message.content": 'it\'s "so"', "message.tool_calls": [call]}]
    cells = {"llm.output_messages": str(messages), "llm.input_messages": "nan", "llm.token_count.prompt": "11.0"}
    texts = {"input.value": "None", "output.value": "nan", "tool.name": "None", "llm.token_count.total": "nan"}
    span = one(**TEXTS, status_message="None", **{f"attributes.{key}": cell for key, cell in (cells | texts).items()})
    first = "llm.output_messages.0.message"
    assert span.attributes == {
        f"{first}.role": "assistant",
        f"{first}.content": 'it\'s "so"',
        f"{first}.tool_calls.0.tool_call.function.arguments": '{"city": "Z"}',
        f"{first}.tool_calls.0.index": [1, 2],
        "llm.token_count.prompt": 11,
    }
    assert (span.parent_id, span.start_ns, span.end_ns, span.status_message) == (None, SECOND_NS, 0, "")


def test_what_a_tool_gave_back_is_kept_where_nothing_shows_that_all_became_text() -> None:
    assert one(start_time=1, **{"attributes.output.value": "None"}).attributes == {"output.value": "None"}
    assert one(**{"attributes.output.value": "None"}).attributes == {"output.value": "None"}


@pytest.mark.parametrize(
    "cell",
    [
        pytest.param("[{'a': array([1, 2])}]", id="numpy"),
        pytest.param("[{'a': 'b'", id="cut"),
        pytest.param("[{'a': b'bytes'}]", id="bytes"),
        pytest.param("[{'a': " + "[" * 5000 + "]" * 5000 + "}]", id="deep"),
        pytest.param("[{'a': '" + "x" * (1 << 20) + "'}]", id="long"),
    ],
)
def test_a_python_list_that_cannot_be_read_back_stays_text_with_a_note(cell: str) -> None:
    (span,), noted = read(row(**{"attributes.llm.tools": cell}))
    assert span.attributes == {"llm.tools": cell}
    assert noted == ["column llm.tools holds a Python object as text that cannot be read back: it stays text"]


def test_the_kind_is_a_column_and_an_attribute() -> None:
    assert one(span_kind="TOOL").attributes == {"openinference.span.kind": "TOOL"}
    assert one(span_kind="UNKNOWN").attributes == {}
    both = one(span_kind="TOOL", **{"attributes.openinference.span.kind": "LLM"})
    assert both.attributes == {"openinference.span.kind": "LLM"}


@pytest.mark.parametrize("as_text", [False, True], ids=["list", "text"])
def test_events(as_text: bool) -> None:
    events = [{"name": "e", "timestamp": "2025-03-19T16:41:22Z", "attributes": {"a": 1}}]
    assert one(events=json.dumps(events) if as_text else events).events == (Event("e", SECOND_NS, {"a": 1}),)


def test_missing_cells_are_nothing() -> None:
    span = one(parent_id=None, status_code=None, status_message=float("nan"), start_time=None, events=None)
    assert span == Span(trace_id=TRACE, span_id=SPAN, name="op")


def test_an_index_without_a_name_is_the_span_id() -> None:
    value = row(__index_level_0__=SPAN)
    del value["context.span_id"]
    (span,), noted = read(value)
    assert (span.span_id, noted) == (SPAN, [])


def test_a_row_whose_index_was_dropped_is_kept() -> None:
    first, second = row(start_time=1), row(start_time=2)
    del first["context.span_id"], second["context.span_id"]
    spans, noted = read([first, second])
    assert len({span.span_id for span in spans}) == 2
    assert (
        noted
        == ["a row has no context.span_id (the dataframe was saved without its index): its children cannot be found"]
        * 2
    )


def test_a_column_of_all_attributes_is_read() -> None:
    assert one(attributes='{"llm": {"model_name": "m"}}').attributes == {"llm.model_name": "m"}


def test_what_is_no_row_is_noted() -> None:
    spans, noted = read([row(), 5])
    assert len(spans) == 1
    assert noted == ["skipped an entry of type int among the rows (expected an object)"]


def test_a_row_of_no_trace_is_noted() -> None:
    assert read(row(**{"context.trace_id": None})) == (
        [],
        ["skipped row 'op': context.trace_id is missing or not hex"],
    )
