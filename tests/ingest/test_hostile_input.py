"""Unreadable, broken and hostile files: a sentence each, never a traceback, a hang or a silent loss."""

from __future__ import annotations

import gzip
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpa.ingest.assembly import read_traces
from gpa.ingest.problems import Problem
from gpa.ingest.spans import Trace

TRACE = "5b8efff798038103d269b633813fc60c"


def span_id(number: int) -> str:
    return f"{number:016x}"


def record(number: int, parent: int | None = None, **fields: Any) -> dict[str, Any]:
    times = {"startTimeUnixNano": f"{1000 + number}", "endTimeUnixNano": f"{2000 + number}"}
    parents = {} if parent is None else {"parentSpanId": span_id(parent)}
    return {"traceId": TRACE, "spanId": span_id(number), "name": "n"} | times | parents | fields


def otlp(*records: dict[str, Any]) -> bytes:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": records}]}]}).encode() + b"\n"


def read(path: Path, **options: Any) -> tuple[list[Trace], list[Problem]]:
    problems: list[Problem] = []
    return list(read_traces(path, on_problem=problems.append, **options)), problems


GOOD = otlp(record(1))
WARNINGS: dict[str, tuple[bytes, int, str]] = {
    "a cycle": (
        otlp(record(1, 3), record(2, 1), record(3, 2)),
        3,
        "1 span with a parent among its own descendants, made a root",
    ),
    "a span that is its own parent": (otlp(record(1, 1)), 1, "1 span with itself as parent, made a root"),
    "duplicate ids": (otlp(record(1), record(1), record(1)), 1, "2 duplicate spans merged"),
    "an orphan": (otlp(record(1), record(2, 9)), 2, "1 span with a parent that is not in the trace"),
    "no start time": (otlp(record(1, startTimeUnixNano="")), 1, "1 span without a start time"),
    "no end time": (otlp(record(1, endTimeUnixNano=None)), 1, "1 span without an end time"),
    "an end before the start": (
        otlp(record(1, endTimeUnixNano="5"), record(2, endTimeUnixNano="5")),
        2,
        "2 spans with an end before the start",
    ),
    "attributes dropped by the SDK": (
        otlp(record(1, droppedAttributesCount=5)),
        1,
        "5 attributes, events or links dropped by the producer",
    ),
}


@pytest.mark.parametrize(("data", "count", "warning"), WARNINGS.values(), ids=WARNINGS)
def test_a_repair_is_a_warning_of_the_trace(tmp_path: Path, data: bytes, count: int, warning: str) -> None:
    (tmp_path / "x").write_bytes(data)
    (trace,), problems = read(tmp_path / "x")
    assert len(trace.spans) == count == len(list(trace.walk()))
    assert trace.warnings == (warning,)
    assert problems == []


def bomb() -> bytes:
    return gzip.compress(b'{"resourceSpans":[' + b" " * (100 << 20))


def noise() -> bytes:
    return random.Random(5).randbytes(100_000)


def deep_values() -> bytes:
    return b'{"resourceSpans":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"


BROKEN: dict[str, tuple[Callable[[], bytes], str]] = {
    "a bomb": (bomb, "expected at most 1048576 bytes unpacked (--max-bytes), found more"),
    "a bomb of zeros": (lambda: gzip.compress(bytes(50 << 20)), "expected JSON or protobuf, found bytes 00"),
    "empty": (bytes, "the file is empty"),
    "noise": (noise, "expected JSON or protobuf, found bytes"),
    "gzip of nothing": (lambda: gzip.compress(b""), "the file is empty"),
    "gzip cut in its header": (lambda: gzip.compress(GOOD)[:6], "gzip data ends early"),
    "gzip damaged": (lambda: gzip.compress(GOOD)[:15] + b"\xff" * 9, "gzip data"),
    "lists nested 900 deep": (lambda: b"[" * 900 + b"]" * 900, "expected a trace format"),
    "lists nested 100,000 deep": (lambda: b"[" * 100_000 + b"]" * 100_000, "the document is nested too deeply to read"),
    "nested 100,000 deep": (deep_values, "the document is nested too deeply to read"),
    "cut off before any span": (lambda: GOOD[:40], "the document is cut off"),
    "an export of one request that was cut off": (
        lambda: otlp(record(1), record(2))[:-30],
        "the document is cut off in a text, what is whole in it was read",
    ),
    "protobuf that is none": (lambda: b"\x0a\xff\xff\xff\xff\x0f" + bytes(99), "expected an OTLP protobuf message"),
}


@pytest.mark.parametrize(("make", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_one_fatal_problem_and_the_file_beside_it_is_read(
    tmp_path: Path, make: Callable[[], bytes], message: str
) -> None:
    (tmp_path / "broken").write_bytes(make())
    (tmp_path / "good").write_bytes(GOOD)
    problems: list[Problem] = []
    paths = [tmp_path / "broken", tmp_path / "good"]
    (trace,) = read_traces(paths, on_problem=problems.append, max_bytes=1 << 20)
    assert len(trace.spans) == 1
    (problem,) = problems
    assert str(problem).startswith(f"{tmp_path / 'broken'}")
    assert problem.message.startswith(message)
    assert problem.fatal


KEPT: dict[str, tuple[bytes, Any, list[str]]] = {
    "invalid UTF-8": (
        otlp(record(1, attributes=[{"key": "k", "value": {"stringValue": "@"}}])).replace(b"@", b"\xff\xfe"),
        "\ufffd\ufffd",
        ["invalid UTF-8 (byte 0xff) was replaced by U+FFFD"],
    ),
    "a literal infinity": (
        otlp(record(1, attributes=[{"key": "k", "value": {"doubleValue": 1.5}}])).replace(b"1.5", b"Infinity"),
        float("inf"),
        [],
    ),
    "half of a surrogate pair": (
        otlp(record(1, attributes=[{"key": "k", "value": {"stringValue": "\ud83d"}}])),
        "\ufffd",
        ["1 lone surrogates were replaced by U+FFFD"],
    ),
    "an integer beyond 64 bits": (
        otlp(record(1, attributes=[{"key": "k", "value": {"intValue": str(2**70)}}])),
        2**70,
        [],
    ),
    "an integer of 5,000 digits": (
        otlp(record(1, attributes=[{"key": "k", "value": {"intValue": "9" * 5000}}])),
        "9" * 5000,
        [],
    ),
}


@pytest.mark.parametrize(("data", "value", "messages"), KEPT.values(), ids=KEPT)
def test_an_odd_value_is_kept_as_far_as_it_can_be(tmp_path: Path, data: bytes, value: Any, messages: list[str]) -> None:
    (tmp_path / "x").write_bytes(data)
    (trace,), problems = read(tmp_path / "x")
    assert trace.spans[0].attributes == {"k": value}
    assert [problem.message for problem in problems] == messages
    assert not any(problem.fatal for problem in problems)


def test_a_chain_of_ten_thousand_spans_is_one_tree(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(otlp(*(record(n, n - 1 if n > 1 else None) for n in range(1, 10_001))))
    (trace,), problems = read(tmp_path / "x")
    assert [depth for _, depth in trace.walk()] == list(range(10_000))
    assert trace.warnings == ()
    assert problems == []


def test_ten_thousand_levels_of_nested_spans_are_one_tree(tmp_path: Path) -> None:
    depth = 10_000
    opened = (
        f'{{"trace_id":"{TRACE}","span_id":"{span_id(n + 1)}","span_name":"\\u00e9","child_spans":['
        for n in range(depth)
    )
    (tmp_path / "x").write_text(f'{{"trace_id":"{TRACE}","spans":[{"".join(opened)}{"]}" * depth}]}}')
    (trace,), problems = read(tmp_path / "x")
    assert [level for _, level in trace.walk()] == list(range(depth))
    assert trace.spans[-1].name == "\u00e9"
    assert problems == []


def test_a_span_of_very_many_attributes_is_read(tmp_path: Path) -> None:
    pairs = [{"key": f"k{n}", "value": {"intValue": str(n)}} for n in range(200_000)]
    (tmp_path / "x").write_bytes(otlp(record(1, attributes=pairs)))
    (trace,), problems = read(tmp_path / "x")
    assert len(trace.spans[0].attributes) == 200_000
    assert problems == []


def test_a_file_of_every_prefix_is_read_or_reported(tmp_path: Path) -> None:
    data = GOOD + otlp(record(2), record(3))
    path = tmp_path / "x"
    for end in range(0, len(data), 7):
        path.write_bytes(data[:end])
        traces, problems = read(path)
        whole = sum(data[:end].count(json.dumps(record(n)).encode()) for n in (1, 2, 3))
        assert sum(len(trace.spans) for trace in traces) == whole
        assert problems or end in {len(GOOD) - 1, len(GOOD), len(data) - 1, len(data)}


def test_a_line_with_any_bracket_or_quote_lost_is_reported_and_its_neighbours_are_read(tmp_path: Path) -> None:
    data = GOOD + otlp(record(2)) + otlp(record(3))
    path = tmp_path / "x"
    for at in range(len(GOOD), 2 * len(GOOD) - 1):
        if data[at] in b'{}[]",:':
            path.write_bytes(data[:at] + b"x" + data[at + 1 :])
            (trace,), problems = read(path)
            assert {span.span_id for span in trace.spans} >= {span_id(1), span_id(3)}
            assert [problem.where for problem in problems] == [f"{path}:2"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(GOOD)
    path.chmod(0)
    assert read(path) == ([], [Problem(str(path), "cannot be read: Permission denied")])
