"""TRAIL: nesting, durations, logs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpa.ingest.formats.trail import FORMAT, duration_ns
from gpa.ingest.spans import Event, Span

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
RECORDINGS = Path(__file__).parents[4] / "shared" / "data" / "trail"


def read(value: Any) -> tuple[list[Span], list[str]]:
    noted: list[str] = []
    return [span for span in FORMAT.read(value, noted.append) if isinstance(span, Span)], noted


def record(number: int, **fields: Any) -> dict[str, Any]:
    return {"trace_id": TRACE, "span_id": f"{number:016x}", "span_name": f"span {number}", "child_spans": []} | fields


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PT1M48.75533S", 108_755_330_000),
        ("PT0.001S", 1_000_000),
        ("PT2H", 7_200_000_000_000),
        ("P1DT1S", 86_401_000_000_000),
        ("P1W", 604_800_000_000_000),
        ("PT1.1234567891S", 1_123_456_789),
        ("PT0S", 0),
        ("1.5", 0),
        ("", 0),
        (None, 0),
        (["PT1S"], 0),
    ],
    ids=repr,
)
def test_duration_ns(text: object, expected: int) -> None:
    assert duration_ns(text) == expected


def test_every_field_of_a_span_is_kept() -> None:
    document = {
        "trace_id": TRACE,
        "spans": [
            record(
                1,
                timestamp="2025-03-19T16:41:22.123456Z",
                duration="PT1.5S",
                span_kind="Internal",
                service_name="service",
                resource_attributes={"telemetry.sdk.language": "python"},
                scope_name="scope",
                scope_version="0.1",
                span_attributes={"llm.token_count.prompt": "7"},
                status_code="Error",
                status_message="it broke",
                events=[
                    {"Timestamp": "2025-03-19T16:41:23Z", "Name": "exception", "Attributes": {"exception.type": "E"}}
                ],
                logs=[
                    {
                        "timestamp": "2025-03-19T16:41:22.5",
                        "body": {"function.name": "f", "function.output": "<null>"},
                        "log_attributes": {"pat.app": "a"},
                    }
                ],
            )
        ],
    }
    (span,), noted = read(document)
    assert noted == []
    assert (span.trace_id, span.span_id, span.parent_id) == (TRACE, "0000000000000001", None)
    assert (span.name, span.kind, span.status, span.status_message) == ("span 1", "internal", "error", "it broke")
    assert (span.start_ns, span.duration_ns) == (1_742_402_482_123_456_000, 1_500_000_000)
    assert span.attributes == {"llm.token_count.prompt": "7"}
    assert span.resource == {"telemetry.sdk.language": "python", "service.name": "service"}
    assert (span.scope.name, span.scope.version) == ("scope", "0.1")
    assert span.events == (
        Event("exception", 1_742_402_483_000_000_000, {"exception.type": "E"}),
        Event(
            "log",
            1_742_402_482_500_000_000,
            {"pat.app": "a"},
            {"function.name": "f", "function.output": "<null>"},
        ),
    )


def test_children_come_after_their_parent_in_file_order() -> None:
    tree = record(1, child_spans=[record(2, child_spans=[record(3)]), record(4)])
    spans, _ = read({"trace_id": TRACE, "spans": [tree, record(5)]})
    assert [span.name for span in spans] == ["span 1", "span 2", "span 3", "span 4", "span 5"]


def test_the_parent_is_the_recorded_one_else_the_enclosing_one() -> None:
    tree = record(1, child_spans=[record(2), record(3, parent_span_id="00000000000000aa")])
    spans, _ = read({"trace_id": TRACE, "spans": [tree]})
    assert [span.parent_id for span in spans] == [None, "0000000000000001", "00000000000000aa"]


def test_ten_thousand_levels_are_read() -> None:
    tree = record(10_000)
    for number in range(9_999, 0, -1):
        tree = record(number, child_spans=[tree])
    spans, noted = read({"trace_id": TRACE, "spans": [tree]})
    assert len(spans) == 10_000
    assert noted == []


def test_a_span_without_id_is_noted_and_its_children_move_up() -> None:
    tree = record(1, child_spans=[record(2, span_id=None, child_spans=[record(3)])])
    spans, noted = read({"trace_id": TRACE, "spans": [tree, "text"]})
    assert [(span.name, span.parent_id) for span in spans] == [("span 1", None), ("span 3", "0000000000000001")]
    assert noted == [
        "skipped span 'span 2': it has no span_id or no trace_id",
        "skipped an entry of type str among the spans (expected an object)",
    ]


def test_spans_in_a_row_share_their_resource_and_scope() -> None:
    fields = {"resource_attributes": {"a": "b"}, "service_name": "s", "scope_name": "n"}
    (first, second), _ = read({"trace_id": TRACE, "spans": [record(1, **fields), record(2, **fields)]})
    assert first.resource is second.resource
    assert first.scope is second.scope


@pytest.mark.skipif(not RECORDINGS.is_dir(), reason="the TRAIL recordings are not here")
def test_every_recorded_span_is_read_once() -> None:
    total = 0
    for path in sorted(RECORDINGS.glob("*/traces/*.json"))[::6]:
        text = path.read_text(encoding="utf-8")
        document = json.loads(text)
        assert FORMAT.matches(document)
        spans, noted = read(document)
        assert noted == []
        assert len({span.span_id for span in spans}) == len(spans) == text.count('"child_spans"')
        assert all(span.start_ns and span.duration_ns for span in spans)
        total += len(spans)
    assert total
