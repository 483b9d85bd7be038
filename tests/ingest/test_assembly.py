"""Spans and log records become whole traces, in whatever order and from however many files they come."""

from __future__ import annotations

import itertools
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpa.errors import InputError
from gpa.ingest import assembly
from gpa.ingest.assembly import gathered, read_traces, with_logs
from gpa.ingest.problems import Problem
from gpa.ingest.spans import Event, LogRecord, Span, Trace

T1, T2 = "1" * 32, "2" * 32


def span_id(number: int) -> str:
    return f"{number:016x}"


def spans_line(*spans: tuple[str, int]) -> str:
    records = [{"traceId": trace_id, "spanId": span_id(n), "startTimeUnixNano": f"{n}"} for trace_id, n in spans]
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": records}]}]}) + "\n"


def logs_line(*logs: tuple[str, int, int, str]) -> str:
    records = [
        {"traceId": trace_id, "spanId": span_id(n), "timeUnixNano": f"{time}", "eventName": name}
        for trace_id, n, time, name in logs
    ]
    return json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}) + "\n"


def read(path: Path, **options: Any) -> tuple[dict[str, list[int]], list[Problem]]:
    problems: list[Problem] = []
    traces = read_traces(path, on_problem=problems.append, **options)
    return {trace.trace_id: [int(span.span_id, 16) for span in trace.spans] for trace in traces}, problems


def test_spans_of_a_trace_are_gathered_from_lines_and_files_in_order_of_first_appearance(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(spans_line((T2, 5)) + spans_line((T1, 2), (T2, 4)))
    (tmp_path / "b.jsonl").write_text(spans_line((T1, 1)))
    traces, problems = read(tmp_path)
    assert list(traces.items()) == [(T2, [4, 5]), (T1, [1, 2])]
    assert problems == []


def test_a_trace_in_two_files_is_one_trace_that_counts_its_duplicates(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text(spans_line((T1, 1), (T1, 2)))
    (trace,) = read_traces(tmp_path)
    assert len(trace.spans) == 2
    assert "2 duplicate spans merged" in trace.warnings


def test_log_records_become_events_of_their_span_by_time_then_arrival(tmp_path: Path) -> None:
    (tmp_path / "logs.jsonl").write_text(
        logs_line((T1, 1, 30, "third"), (T1, 1, 10, "first")) + logs_line((T1, 1, 10, "second"))
    )
    (tmp_path / "traces.jsonl").write_text(spans_line((T1, 1)))
    (trace,) = read_traces(tmp_path)
    assert [event.name for event in trace.spans[0].events] == ["first", "second", "third"]


def test_log_records_come_between_the_events_the_span_has() -> None:
    span = Span(T1, "a", events=(Event("e1", 1), Event("e3", 3)))
    trace = with_logs(T1, [span], [LogRecord(T1, "a", Event("e2", 2))])
    assert [event.name for event in trace.spans[0].events] == ["e1", "e2", "e3"]


def test_a_log_record_said_twice_in_one_request_is_kept_twice_however_often_that_is_sent(tmp_path: Path) -> None:
    said = logs_line((T1, 1, 5, "again"), (T1, 1, 5, "again"))
    (tmp_path / "x.jsonl").write_text(spans_line((T1, 1)) + said * 2)
    (trace,) = read_traces(tmp_path)
    assert [event.name for event in trace.spans[0].events] == ["again", "again"]
    assert "2 duplicate log records dropped" in trace.warnings


def test_the_same_log_record_from_two_files_counts_once_and_repeats_without_a_time_are_kept() -> None:
    timed, timeless = Event("timed", 5, {}, {"k": 1}), Event("timeless")
    logs = [LogRecord(T1, "a", event) for event in (timed, timed, timeless, timeless)]
    trace = with_logs(T1, [Span(T1, "a", start_ns=1, end_ns=2)], logs)
    assert trace.spans[0].events == (timeless, timeless, timed)
    assert trace.warnings == ("1 duplicate log records dropped",)


def test_a_span_recorded_twice_gets_its_log_records_once() -> None:
    first, second = Span(T1, "a", start_ns=1), Span(T1, "a", start_ns=1, end_ns=2)
    trace = with_logs(T1, [first, second], [LogRecord(T1, "a", Event("e", 1))])
    assert trace.spans[0].events == (Event("e", 1),)


def test_log_records_of_a_span_that_is_missing_are_counted() -> None:
    trace = with_logs(T1, [Span(T1, "a", start_ns=1, end_ns=2)], [LogRecord(T1, "b", Event("e"))] * 2)
    assert trace.warnings == ("2 log records name spans that are not in the trace",)


def test_log_records_of_a_trace_without_spans_are_a_problem(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(spans_line((T1, 1)) + logs_line((T2, 1, 1, "e")))
    traces, problems = read(tmp_path)
    assert list(traces) == [T1]
    message = f"1 log records of 1 traces whose spans are not there: {T2}"
    assert problems == [Problem(str(tmp_path), message, fatal=False)]


def test_nothing_but_log_records_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(logs_line((T2, 1, 1, "e")))
    with pytest.raises(InputError, match="1 log records of 1 traces whose spans are not there"):
        list(read_traces(tmp_path))


def test_fatal_problems_are_raised_after_every_trace(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a": oops}\n' + spans_line((T1, 1)) + spans_line((T2, 2)))
    found: list[Trace] = []
    with pytest.raises(InputError, match="not JSON"):
        found.extend(read_traces(tmp_path))
    assert [trace.trace_id for trace in found] == [T1, T2]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text() | st.binary(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
EVENTS = st.builds(Event, name=st.text(max_size=3), time_ns=st.integers(0, 9), attributes=st.just({}), body=VALUES)
ITEMS = st.builds(
    Span,
    trace_id=st.sampled_from("abc"),
    span_id=st.text(max_size=2),
    attributes=st.dictionaries(st.text(max_size=3), VALUES, max_size=3),
    events=st.lists(EVENTS, max_size=2).map(tuple),
    resource=st.sampled_from([{}, {"service.name": "s"}]),
) | st.builds(LogRecord, trace_id=st.sampled_from("abc"), span_id=st.text(max_size=2), event=EVENTS)


@settings(deadline=None)
@given(items=st.lists(ITEMS), budget=st.sampled_from([0, 1500, 1 << 30]))
def test_spans_that_went_over_the_disk_are_as_they_were(items: list[Span | LogRecord], budget: int) -> None:
    least, assembly._LEAST_BYTES = assembly._LEAST_BYTES, 0  # a real budget would need megabytes a run
    try:
        found = list(gathered(items, memory_bytes=budget))
    finally:
        assembly._LEAST_BYTES = least
    assert [trace_id for trace_id, _, _ in found] == list(dict.fromkeys(item.trace_id for item in items))
    for trace_id, spans, logs in found:
        own = [item for item in items if item.trace_id == trace_id]
        assert spans == [item for item in own if isinstance(item, Span)]
        assert logs == [item for item in own if isinstance(item, LogRecord)]


def test_a_budget_bounds_what_is_held_in_memory(tmp_path: Path) -> None:
    count, text = 400, "x" * 100_000
    lines = (Span(f"{n % 20:032x}", span_id(n), attributes={"input.value": f"{n}{text}"}) for n in range(count))
    tracemalloc.start()
    found = sum(len(spans) for _, spans, _ in gathered(lines, memory_bytes=0))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == count
    assert peak < 30 << 20  # of 40 MB; the least budget is 16 MiB and one trace is 2 MB


def test_values_a_spill_cannot_encode_stay_in_memory() -> None:
    deep: list[Any] = []
    for _ in range(3000):
        deep = [deep]
    big = "x" * (20 << 20)
    items = [Span("t", "a", attributes={"k": deep}), Span("t", "b", attributes={"k": big}), Span("t", "c")]
    ((_, spans, _),) = gathered(items, memory_bytes=0)
    assert list(map(id, spans[:2])) == list(map(id, items[:2]))
    assert [span.span_id for span in spans] == list("abc")


def test_the_resource_of_neighbours_is_shared_again_after_the_disk() -> None:
    items = [Span("t", span_id(n), attributes={"k": "x" * (9 << 20)}, resource={"service.name": "s"}) for n in range(4)]
    ((_, spans, _),) = gathered(items, memory_bytes=0)
    assert any(one.resource is other.resource for one, other in itertools.pairwise(spans))
    assert spans == items
