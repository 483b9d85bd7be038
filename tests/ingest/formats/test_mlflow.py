"""MLflow Trace JSON of versions 3 and 2."""

from __future__ import annotations

from typing import Any

from gpa.ingest.formats.mlflow import FORMAT
from gpa.ingest.spans import Event, Span

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
TRACE_BASE64 = "S/kvNXezTaajzpKdDg5HNg=="
NS = 1_742_402_482_123_456_789


def read(value: Any) -> tuple[list[Span], list[str]]:
    noted: list[str] = []
    assert FORMAT.matches(value)
    return [span for span in FORMAT.read(value, noted.append) if isinstance(span, Span)], noted


def test_version_3() -> None:
    value = {
        "info": {
            "trace_id": "tr-" + TRACE,
            "trace_metadata": {"mlflow.trace.session": "s-1"},
            "tags": {"mlflow.traceName": "run"},
        },
        "data": {
            "spans": [
                {
                    "trace_id": TRACE_BASE64,
                    "span_id": "APBnqgupArc=",
                    "parent_span_id": "AAAAAAAAAKo=",
                    "name": "op",
                    "start_time_unix_nano": str(NS),
                    "end_time_unix_nano": NS + 5,
                    "status": {"code": "STATUS_CODE_ERROR", "message": "bad"},
                    "attributes": {"mlflow.spanType": '"TOOL"'},
                    "events": [{"name": "exception", "time_unix_nano": NS, "attributes": {"exception.type": "E"}}],
                    "links": [],
                }
            ]
        },
    }
    expected = Span(
        trace_id=TRACE,
        span_id="00f067aa0ba902b7",
        parent_id="00000000000000aa",
        name="op",
        start_ns=NS,
        end_ns=NS + 5,
        status="error",
        status_message="bad",
        attributes={"mlflow.spanType": '"TOOL"'},
        events=(Event("exception", NS, {"exception.type": "E"}),),
        resource={"mlflow.traceName": "run", "mlflow.trace.session": "s-1"},
    )
    assert read(value) == ([expected], [])
    assert read([value]) == ([expected], [])


def test_version_2() -> None:
    value = {
        "info": {"request_id": "r-1", "request_metadata": {"a": "b"}, "tags": []},
        "data": {
            "request": "{}",
            "spans": [
                {
                    "name": "op",
                    "context": {"trace_id": "0x" + TRACE, "span_id": "0xf067aa0ba902b7"},
                    "parent_id": "0xaa",
                    "start_time": NS,
                    "end_time": NS + 5,
                    "status_code": "OK",
                    "status_message": "",
                    "attributes": {"mlflow.spanType": '"LLM"'},
                    "events": [],
                }
            ],
        },
    }
    (span,), noted = read(value)
    assert noted == []
    assert (span.trace_id, span.span_id, span.parent_id) == (TRACE, "00f067aa0ba902b7", "00000000000000aa")
    assert (span.start_ns, span.end_ns, span.status, span.resource) == (NS, NS + 5, "ok", {"a": "b"})


def test_a_span_without_trace_id_belongs_to_the_trace_it_stands_in() -> None:
    value = {"info": {"trace_id": "tr-" + TRACE}, "data": {"spans": [{"span_id": "APBnqgupArc=", "name": "op"}]}}
    (span,), _ = read(value)
    assert span.trace_id == TRACE


def test_what_is_no_trace_is_noted() -> None:
    assert read([{"info": {}, "data": {"spans": []}}, {"info": {}}]) == (
        [],
        ["skipped an entry of type dict (expected info and data.spans)"],
    )


def test_a_bad_span_costs_only_itself() -> None:
    spans = [{"name": "lost", "trace_id": TRACE_BASE64}, 5, {"span_id": "APBnqgupArc=", "trace_id": TRACE_BASE64}]
    found, noted = read({"info": {}, "data": {"spans": spans}})
    assert len(found) == 1
    assert noted == [
        "skipped span 'lost': it has no span_id or no trace_id",
        "skipped span named by a int: it has no span_id or no trace_id",
    ]
