"""Datadog's agent API: number ids, the split trace id, tags in two places."""

from __future__ import annotations

from typing import Any

import pytest

from gpa.ingest.formats.datadog import FORMAT
from gpa.ingest.spans import Event, Span

NS = 1_742_402_482_123_456_789
RECORD: dict[str, Any] = {
    "service": "s",
    "name": "openai.request",
    "resource": "createChatCompletion",
    "trace_id": 255,
    "span_id": 2**64 - 1,
    "parent_id": 0,
    "start": NS,
    "duration": 5,
    "error": 1,
    "type": "llm",
    "meta": {
        "_dd.p.tid": "67dd000000000000",
        "error.message": "bad",
        "span.kind": "client",
        "k": "v",
        "events": '[{"name": "e", "time_unix_nano": 7, "attributes": {"a": 1}}]',
    },
    "metrics": {"tokens": 3},
}


def read(value: Any) -> tuple[list[Span], list[str]]:
    noted: list[str] = []
    assert FORMAT.matches(value)
    return [span for span in FORMAT.read(value, noted.append) if isinstance(span, Span)], noted


def test_every_field_of_a_span_is_kept() -> None:
    expected = Span(
        trace_id="67dd00000000000000000000000000ff",
        span_id="f" * 16,
        name="createChatCompletion",
        kind="client",
        start_ns=NS,
        end_ns=NS + 5,
        status="error",
        status_message="bad",
        attributes={
            "tokens": 3,
            "_dd.p.tid": "67dd000000000000",
            "error.message": "bad",
            "k": "v",
            "operation.name": "openai.request",
            "span.type": "llm",
        },
        events=(Event("e", 7, {"a": 1}),),
        resource={"service.name": "s"},
    )
    assert read([[RECORD]]) == ([expected], [])


def test_the_whole_trace_has_the_upper_half_of_its_first_span() -> None:
    child = RECORD | {"span_id": "12", "parent_id": str(2**64 - 1), "meta": {}, "error": 0}
    (first, second), _ = read([[RECORD, child]])
    assert second.trace_id == first.trace_id
    assert (second.span_id, second.parent_id, second.status) == ("000000000000000c", first.span_id, "unset")


@pytest.mark.parametrize("wrap", [lambda r: r, lambda r: [r], lambda r: [[r]]], ids=["line", "list", "list of traces"])
def test_shapes(wrap: Any) -> None:
    spans, noted = read(wrap(RECORD))
    assert [span.span_id for span in spans] == ["f" * 16]
    assert noted == []


def test_a_bad_span_costs_only_itself() -> None:
    spans, noted = read([[RECORD, RECORD | {"span_id": 2**64}, "text"]])
    assert len(spans) == 1
    assert noted == [
        "skipped span 'openai.request': span_id or trace_id is no 64-bit number",
        "skipped an entry of type str among the spans (expected an object)",
    ]
