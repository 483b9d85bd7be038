"""Phoenix REST spans, plain and otlpv1."""

from __future__ import annotations

from typing import Any

import pytest

from gpa.ingest.formats.phoenix import FORMAT
from gpa.ingest.spans import Event, Span

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN = "00f067aa0ba902b7"
SECOND_NS = 1_742_402_482_000_000_000
PLAIN: dict[str, Any] = {
    "id": "U3Bhbjo1Ng==",
    "name": "op",
    "context": {"trace_id": TRACE, "span_id": SPAN},
    "span_kind": "LLM",
    "parent_id": "00000000000000aa",
    "start_time": "2025-03-19T16:41:22+00:00",
    "end_time": "2025-03-19T16:41:23+00:00",
    "status_code": "ERROR",
    "status_message": "bad",
    "attributes": {"llm.model_name": "m", "llm.input_messages.0.message.role": "user"},
    "events": [{"name": "e", "timestamp": "2025-03-19T16:41:22Z", "attributes": {"a": 1}}],
}
OTLP: dict[str, Any] = {
    "trace_id": TRACE,
    "span_id": SPAN,
    "parent_span_id": "00000000000000aa",
    "trace_state": None,
    "name": "op",
    "kind": "SPAN_KIND_INTERNAL",
    "start_time_unix_nano": SECOND_NS + 256,
    "end_time_unix_nano": SECOND_NS + 512,
    "attributes": [
        {"key": "openinference.span.kind", "value": {"array_value": None, "string_value": "TOOL", "int_value": None}},
        {"key": "llm.token_count.total", "value": {"string_value": None, "int_value": 9}},
        {"key": "tag.tags", "value": {"array_value": {"values": [{"string_value": "t", "int_value": None}]}}},
    ],
    "events": [
        {"name": "e", "time_unix_nano": SECOND_NS, "attributes": [{"key": "a", "value": {"bool_value": False}}]}
    ],
    "links": None,
    "dropped_attributes_count": 2,
    "status": {"code": 2, "message": "bad"},
}


def read(value: Any) -> tuple[list[Span], list[str]]:
    noted: list[str] = []
    assert FORMAT.matches(value)
    return [span for span in FORMAT.read(value, noted.append) if isinstance(span, Span)], noted


def test_every_field_of_a_plain_span_is_kept() -> None:
    assert read(PLAIN) == (
        [
            Span(
                trace_id=TRACE,
                span_id=SPAN,
                parent_id="00000000000000aa",
                name="op",
                start_ns=SECOND_NS,
                end_ns=SECOND_NS + 10**9,
                status="error",
                status_message="bad",
                attributes=PLAIN["attributes"] | {"openinference.span.kind": "LLM"},
                events=(Event("e", SECOND_NS, {"a": 1}),),
            )
        ],
        [],
    )


def test_every_field_of_an_otlpv1_span_is_kept() -> None:
    assert read(OTLP) == (
        [
            Span(
                trace_id=TRACE,
                span_id=SPAN,
                parent_id="00000000000000aa",
                name="op",
                kind="internal",
                start_ns=SECOND_NS + 256,
                end_ns=SECOND_NS + 512,
                status="error",
                status_message="bad",
                attributes={"openinference.span.kind": "TOOL", "llm.token_count.total": 9, "tag.tags": ["t"]},
                events=(Event("e", SECOND_NS, {"a": False}),),
                dropped=2,
            )
        ],
        [],
    )


def test_no_attributes_are_written_as_a_list() -> None:
    (span,), _ = read(PLAIN | {"attributes": [], "span_kind": "UNKNOWN"})
    assert span.attributes == {}


@pytest.mark.parametrize("record", [PLAIN, OTLP], ids=["plain", "otlpv1"])
@pytest.mark.parametrize(
    "wrap",
    [lambda r: r, lambda r: [r], lambda r: {"data": [r], "next_cursor": None}],
    ids=["one a line", "list", "page"],
)
def test_shapes(wrap: Any, record: dict[str, Any]) -> None:
    spans, noted = read(wrap(record))
    assert [span.span_id for span in spans] == [SPAN]
    assert noted == []


def test_a_page_that_is_not_the_last_says_so() -> None:
    page = {"data": [PLAIN], "next_cursor": "U3Bh"}
    assert FORMAT.more
    assert FORMAT.more(page) == "next_cursor is set"
    assert [FORMAT.more(value) for value in (page | {"next_cursor": None}, PLAIN, [PLAIN])] == [""] * 3
    assert len(read(page)[0]) == 1


def test_an_empty_page_holds_no_span() -> None:
    assert read({"data": [], "next_cursor": None}) == ([], [])


def test_a_bad_span_costs_only_itself() -> None:
    spans, noted = read([PLAIN, PLAIN | {"context": {"trace_id": TRACE, "span_id": "zz"}}, 5])
    assert len(spans) == 1
    assert noted == [
        "skipped span 'op': its span_id or trace_id is not hex",
        "skipped an entry of type int among the spans (expected a Phoenix span)",
    ]
