"""Python SDK console exporters: spans and log records."""

from __future__ import annotations

from typing import Any

import pytest

from gpa.ingest.formats.console import FORMAT
from gpa.ingest.spans import Event, Link, LogRecord, Span

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN = "00f067aa0ba902b7"
RECORD: dict[str, Any] = {
    "name": "op",
    "context": {"trace_id": "0x" + TRACE, "span_id": "0x" + SPAN, "trace_state": "[]"},
    "kind": "SpanKind.CLIENT",
    "parent_id": "0x00000000000000aa",
    "start_time": "2025-03-19T16:41:22.000001Z",
    "end_time": "2025-03-19T16:41:22.000003Z",
    "status": {"status_code": "ERROR", "description": "bad"},
    "attributes": {"k": ["a"]},
    "events": [{"name": "e", "timestamp": "2025-03-19T16:41:22Z", "attributes": {"a": 1}}],
    "links": [{"context": {"trace_id": "0x" + TRACE, "span_id": "0x" + SPAN}, "attributes": {"l": 1}}],
    "resource": {"attributes": {"service.name": "s"}, "schema_url": ""},
}
LOG: dict[str, Any] = {
    "body": {"content": "hi"},
    "severity_number": 9,
    "severity_text": "INFO",
    "attributes": {"event.name": "gen_ai.user.message"},
    "timestamp": None,
    "observed_timestamp": "2025-03-19T16:41:22Z",
    "trace_id": "0x" + TRACE,
    "span_id": "0x" + SPAN,
    "resource": {"attributes": {}},
}
SECOND_NS = 1_742_402_482_000_000_000


def read(value: Any) -> tuple[list[Span | LogRecord], list[str]]:
    noted: list[str] = []
    return list(FORMAT.read(value, noted.append)), noted


def test_every_field_of_a_span_is_kept() -> None:
    assert read(RECORD) == (
        [
            Span(
                trace_id=TRACE,
                span_id=SPAN,
                parent_id="00000000000000aa",
                name="op",
                kind="client",
                start_ns=SECOND_NS + 1_000,
                end_ns=SECOND_NS + 3_000,
                status="error",
                status_message="bad",
                attributes={"k": ["a"]},
                events=(Event("e", SECOND_NS, {"a": 1}),),
                links=(Link(TRACE, SPAN, {"l": 1}),),
                resource={"service.name": "s"},
            )
        ],
        [],
    )


def test_a_root_has_no_parent() -> None:
    (span,), _ = read(RECORD | {"parent_id": None})
    assert isinstance(span, Span)
    assert span.parent_id is None


@pytest.mark.parametrize(
    "name", [{"event_name": "gen_ai.user.message", "attributes": {}}, {}], ids=["field", "attribute"]
)
def test_a_log_record_is_joined_by_its_ids(name: dict[str, Any]) -> None:
    record = LOG | name
    expected = Event("gen_ai.user.message", SECOND_NS, record["attributes"], {"content": "hi"})
    assert read(record) == ([LogRecord(TRACE, SPAN, expected)], [])


def test_what_has_no_ids_is_noted() -> None:
    records = [
        RECORD,
        RECORD | {"context": {"trace_id": "?", "span_id": "?"}},
        LOG | {"span_id": "0x0000000000000000"},
        5,
    ]
    spans, noted = read(records)
    assert len(spans) == 1
    assert noted == [
        "skipped record 'op': its span_id or trace_id is not hex",
        "skipped record without a name: its span_id or trace_id is not hex",
        "skipped an entry of type int (expected a span or log record of the Python SDK)",
    ]
