"""Paths of every kind give spans; what cannot be read is a problem that names its file and line."""

from __future__ import annotations

import gzip
import io
import json
import logging
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, TracesData
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage

from gpa.errors import InputError
from gpa.ingest.files import File, Paths, expand, read_spans
from gpa.ingest.problems import Problem
from gpa.ingest.spans import Span

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

TRACE = "5b8efff798038103d269b633813fc60c"
OTEL = Path(__file__).parents[3] / "shared" / "data" / "otel"


def span_id(number: int) -> str:
    return f"{number:016x}"


def request(*numbers: int) -> dict[str, Any]:
    spans = [{"traceId": TRACE, "spanId": span_id(number), "name": f"{number}"} for number in numbers]
    return {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}


def message(*numbers: int) -> bytes:
    spans = [
        SpanMessage(
            trace_id=bytes.fromhex(TRACE),
            span_id=bytes.fromhex(span_id(number)),
            name=f"{number}",
            start_time_unix_nano=number,
        )
        for number in numbers
    ]
    return TracesData(resource_spans=[ResourceSpans(scope_spans=[ScopeSpans(spans=spans)])]).SerializeToString()


def line(*numbers: int) -> bytes:
    return json.dumps(request(*numbers)).encode() + b"\n"


def framed(*messages: bytes) -> bytes:
    return b"".join(struct.pack(">I", len(data)) + data for data in messages)


def read(paths: Paths, **options: Any) -> tuple[list[str], list[Problem]]:
    problems: list[Problem] = []
    spans = list(read_spans(paths, on_problem=problems.append, **options))
    return [span.name for span in spans if isinstance(span, Span)], problems


LAYOUTS: dict[str, bytes] = {
    "one object": json.dumps(request(1, 2, 3)).encode(),
    "JSON lines": line(1) + line(2, 3),
    "pretty": json.dumps(request(1, 2, 3), indent=2).encode(),
    "pretty, one after the other": b"".join(json.dumps(request(n), indent=4).encode() + b"\n" for n in (1, 2, 3)),
    "a list": json.dumps([request(1), request(2, 3)]).encode(),
    "UTF-16": json.dumps(request(1, 2, 3)).encode("utf-16"),
    "UTF-16 without a mark": json.dumps(request(1, 2, 3)).encode("utf-16-le"),
    "UTF-16 big-endian without a mark": json.dumps(request(1, 2, 3)).encode("utf-16-be"),
    "UTF-32": json.dumps(request(1, 2, 3)).encode("utf-32"),
    "UTF-8 with a mark": json.dumps(request(1, 2, 3)).encode("utf-8-sig"),
    "protobuf": message(1, 2, 3),
    "length-prefixed protobuf": framed(message(1), b"", message(2, 3)),
    "length-prefixed, an empty message first": framed(b"", message(1, 2, 3)),
    "length-prefixed zstd frames of protobuf": framed(zstd.compress(message(1)), zstd.compress(message(2, 3))),
    "length-prefixed zstd frames of JSON": framed(zstd.compress(line(1).strip()), zstd.compress(line(2, 3))),
    "zstd frames of lines": zstd.compress(line(1)) + zstd.compress(line(2, 3)),
    "zstd of length-prefixed protobuf": zstd.compress(framed(message(1), message(2, 3))),
    "gzip of lines": gzip.compress(line(1) + line(2, 3)),
    "gzip of protobuf": gzip.compress(message(1, 2, 3)),
    "console output with other lines": b"starting\n" + line(1) + b"[agent] thinking\n" + line(2, 3),
}


@pytest.mark.parametrize("data", LAYOUTS.values(), ids=LAYOUTS)
def test_every_layout_is_told_by_content(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "file.xyz"
    path.write_bytes(data)
    names, problems = read(path)
    assert names == ["1", "2", "3"]
    assert not any(problem.fatal for problem in problems)


@pytest.mark.parametrize("size", [1 << 10, 1 << 15, 1 << 20, 1 << 22])
def test_a_bare_message_of_any_size_is_not_taken_for_length_prefixed(tmp_path: Path, size: int) -> None:
    held = TracesData.FromString(message(1))
    held.resource_spans[0].resource.attributes.add(key="k").value.string_value = "x" * size
    (tmp_path / "x").write_bytes(held.SerializeToString())
    assert read(tmp_path / "x") == (["1"], [])


@pytest.mark.parametrize("data", LAYOUTS.values(), ids=LAYOUTS)
def test_stdin_is_read_like_a_file(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert read("-")[0] == ["1", "2", "3"]


NOT_TRACES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "the file is empty"),
    "text": (b"# About\nThese are traces.\n", "expected JSON or protobuf, found other text"),
    "text that begins with a bracket": (b"[![ci](x)](y)\n# About\n", "expected JSON or protobuf, found other text"),
    "a log": (b"[2026-01-01] INFO started\n" * 50, "expected JSON or protobuf, found other text"),
    "a picture": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "expected JSON or protobuf, found bytes 89 50 4e 47 0d 0a 1a 0a"),
    "zeros": (bytes(5000), "expected JSON or protobuf, found bytes 00 00 00 00 00 00 00 00"),
    "another object": (
        b'{"name": "x", "version": 2}',
        "expected a trace format (`gpa formats` lists them), found JSON: an object with keys 'name', 'version'",
    ),
    "an empty list": (b"[]", "expected a trace format (`gpa formats` lists them), found JSON: an empty list"),
    "a list of numbers": (
        b"[1, 2]",
        "expected a trace format (`gpa formats` lists them), found JSON: a list of 2, first int '1'",
    ),
    "lines of other objects": (
        b'{"level": "info"}\n' * 3000,
        "expected a trace format (`gpa formats` lists them), found JSON: an object with keys 'level'",
    ),
}


@pytest.mark.parametrize(("data", "reason"), NOT_TRACES.values(), ids=NOT_TRACES)
def test_a_file_that_holds_no_traces_is_an_error_when_it_is_named(tmp_path: Path, data: bytes, reason: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(data)
    assert read(path) == ([], [Problem(str(path), reason)])


@pytest.mark.parametrize(("data", "reason"), NOT_TRACES.values(), ids=NOT_TRACES)
def test_a_file_that_holds_no_traces_is_skipped_with_a_note_in_a_folder(
    tmp_path: Path, data: bytes, reason: str
) -> None:
    (tmp_path / "a.jsonl").write_bytes(line(1))
    (tmp_path / "x").write_bytes(data)
    assert reason
    assert read(tmp_path) == (["1"], [Problem(str(tmp_path), f"skipped, no traces in: {tmp_path / 'x'}", fatal=False)])


def folder(root: Path) -> None:
    for name, number in {"b.jsonl": 2, "a/z.json": 1, ".hidden.jsonl": 8, ".git/x.jsonl": 9, "c.jsonl": 3}.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(line(number))


SELECTIONS: dict[str, tuple[Callable[[Path], Paths], list[str]]] = {
    "a folder": (lambda root: root, ["2", "3", "1"]),
    "a folder as text": (str, ["2", "3", "1"]),
    "several": (lambda root: [root / "c.jsonl", root / "a"], ["3", "1"]),
    "a pattern": (lambda root: f"{root}/*.jsonl", ["2", "3"]),
    "a pattern over folders": (lambda root: f"{root}/**/*.json*", ["1", "2", "3"]),
    "a pattern that matches a folder": (lambda root: f"{root}/?", ["1"]),
    "the same file in two ways": (lambda root: [root / "b.jsonl", root], ["2", "3", "1"]),
}


@pytest.mark.parametrize(("paths", "names"), SELECTIONS.values(), ids=SELECTIONS)
def test_paths_are_expanded_in_order(tmp_path: Path, paths: Callable[[Path], Paths], names: list[str]) -> None:
    folder(tmp_path)
    assert read(paths(tmp_path)) == (names, [])


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(tmp_path: Path) -> None:
    (tmp_path / "run[1].jsonl").write_bytes(line(1))
    (tmp_path / "run1.jsonl").write_bytes(line(2))
    assert read(tmp_path / "run[1].jsonl")[0] == ["1"]


MISSING: dict[str, tuple[str, str]] = {
    "no such file": ("gone.jsonl", "cannot be read: No such file or directory"),
    "a pattern that matches nothing": ("*.gone", "no file matches this pattern"),
    "an empty folder": ("", "no spans found"),
}


@pytest.mark.parametrize(("name", "reason"), MISSING.values(), ids=MISSING)
def test_what_is_not_there_is_a_fatal_problem(tmp_path: Path, name: str, reason: str) -> None:
    path = tmp_path / name
    assert read(path) == ([], [Problem(str(path), reason)])


def test_without_a_callback_everything_good_comes_before_one_error_that_lists_all(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"a": oops}\n' + line(1))
    (tmp_path / "b.jsonl").write_bytes(line(2))
    found: list[Any] = []
    with pytest.raises(InputError) as error:
        found.extend(read_spans([tmp_path, tmp_path / "gone"]))
    assert [span.name for span in found] == ["1", "2"]
    assert str(error.value) == (
        f"{tmp_path}/a.jsonl:1: not JSON: Expecting value at line 1, column 7\n"
        f"{tmp_path}/gone: cannot be read: No such file or directory"
    )


def test_without_a_callback_problems_that_are_not_fatal_are_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a.jsonl").write_bytes(line(1) + line(2)[:20])
    with caplog.at_level(logging.WARNING):
        assert len(list(read_spans(tmp_path))) == 1
    assert [record.getMessage() for record in caplog.records] == [
        f"{tmp_path}/a.jsonl:2: the document is cut off, what is whole in it was read"
    ] or [record.getMessage() for record in caplog.records] == [f"{tmp_path}/a.jsonl:2: the document is cut off"]


CUT: dict[str, tuple[bytes, list[str], str, bool]] = {
    "last line": (line(1) + line(2)[:-9], ["1"], ":2: the document is cut off in a text", False),
    "last line with whole spans": (
        line(1) + line(2, 3)[:-9],
        ["1", "2"],
        ":2: the document is cut off in a text, what is whole in it was read",
        False,
    ),
    "the only line": (line(1)[:-9], [], ":1: the document is cut off in a text", True),
    "a line in the middle": (
        line(1) + line(2)[:-9] + b"\n" + line(3),
        ["1", "3"],
        ":2: the document is cut off in a text",
        True,
    ),
    "last frame": (framed(message(1), message(2))[:-3], ["1"], ": byte 50: the document is cut off", False),
    "only frame": (framed(message(1))[:-3], [], ": byte 0: the document is cut off", True),
    "gzip": (gzip.compress(line(1) * 2000)[:-40], ["1"], ": gzip data ends early", True),
    "zstd": (zstd.compress(line(1)) + zstd.compress(line(2))[:-2], ["1"], ": zstd data ends early", True),
    "protobuf": (message(1) + message(2)[:-3], ["1"], ": the message is cut off: 46 of 89 bytes are whole", True),
    "the only line, with whole spans": (
        line(1, 2, 3)[:-9],
        ["1", "2"],
        ":1: the document is cut off in a text, what is whole in it was read",
        True,
    ),
}


@pytest.mark.parametrize(("data", "names", "message", "fatal"), CUT.values(), ids=CUT)
def test_what_is_whole_before_a_cut_is_kept(
    tmp_path: Path, data: bytes, names: list[str], message: str, fatal: bool
) -> None:
    path = tmp_path / "x"
    path.write_bytes(data)
    found, problems = read(path)
    assert sorted(set(found)) == names
    assert f"{path}{message}" in map(str, problems)
    assert any(problem.fatal for problem in problems) == fatal


@pytest.mark.parametrize(("name", "fatal"), [("x.jsonl", False), ("x.NDJSON", False), ("x.json", True)])
def test_the_first_line_cut_off_is_normal_where_the_name_promises_lines(tmp_path: Path, name: str, fatal: bool) -> None:
    (tmp_path / name).write_bytes(line(1, 2)[:-9])
    found, problems = read(tmp_path)
    assert (found, [problem.fatal for problem in problems]) == (["1"], [fatal])


EMPTY: dict[str, tuple[str, bytes, bool]] = {
    "an exporter that crashed": ("traces.json", b"", True),
    "blank": ("traces.jsonl", b" \n", True),
    "compressed": ("Traces.NDJSON.gz", gzip.compress(b""), True),
    "zeros after a crash of the disk": ("traces.pb", bytes(9000), True),
    "somebody else's": ("__init__.py", b"", False),
    "without an ending": ("x", b"", False),
}


@pytest.mark.parametrize(("name", "data", "fatal"), EMPTY.values(), ids=EMPTY)
def test_an_empty_file_in_a_folder_is_damaged_when_it_is_named_like_traces(
    tmp_path: Path, name: str, data: bytes, fatal: bool
) -> None:
    (tmp_path / "a.jsonl").write_bytes(line(1))
    (tmp_path / name).write_bytes(data)
    found, (problem,) = read(tmp_path)
    assert (found, problem.fatal) == (["1"], fatal)
    assert problem.where == str(tmp_path / name if fatal else tmp_path)


ANSWERS: dict[str, tuple[Any, str]] = {
    "Jaeger": ({"data": None, "total": 0, "errors": [{"code": 404, "msg": "trace not found"}]}, "'trace not found'"),
    "a text": ({"error": "no such trace", "status": 404}, "'no such trace'"),
    "a flag": ({"error": True, "message": "no such trace"}, "'no such trace'"),
    "an object": ({"error": {"message": "denied", "type": "x"}}, "'denied'"),
}


@pytest.mark.parametrize(("answer", "error"), ANSWERS.values(), ids=ANSWERS)
def test_the_error_of_a_store_in_place_of_traces_is_fatal_in_a_folder_too(
    tmp_path: Path, answer: Any, error: str
) -> None:
    (tmp_path / "a.jsonl").write_bytes(line(1))
    (tmp_path / "b.json").write_text(json.dumps(answer))
    message = f"expected traces, found the error of a store: {error}"
    assert read(tmp_path) == (["1"], [Problem(str(tmp_path / "b.json"), message)])


@pytest.mark.parametrize("other", [{"error": "x", "level": "info"}, {"errors": [], "data": None}, {"error": ""}])
def test_other_json_that_has_an_error_is_somebody_elses(tmp_path: Path, other: Any) -> None:
    (tmp_path / "a.jsonl").write_bytes(line(1))
    (tmp_path / "b.json").write_text(json.dumps(other))
    assert [problem.fatal for problem in read(tmp_path)[1]] == [False]


def test_pages_one_after_the_other_are_whole_when_the_last_one_says_so(tmp_path: Path) -> None:
    span = {"context": {"trace_id": TRACE, "span_id": span_id(1)}, "span_kind": "LLM", "name": "1"}
    pages = [{"data": [span], "next_cursor": cursor} for cursor in ("U3Bh", None)]
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(map(json.dumps, pages)))
    assert read(path) == (["1", "1"], [])
    path.write_text("\n".join(map(json.dumps, reversed(pages))))
    message = "one page of several (next_cursor is set): those after it are not in this file"
    assert read(path)[1] == [Problem(f"{path}:2", message, fatal=False)]


def test_a_message_that_repeats_is_one_problem_with_its_count(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(line(1) + line(0) * 3)
    note = "skipped: span has no spanId (OTLP/JSON needs 16 hex digits) (and 2 more like it)"
    assert read(tmp_path)[1] == [Problem(f"{tmp_path}/x.jsonl:2", note, fatal=False)]


def test_many_different_messages_are_counted_beyond_a_few(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(line(1) + b"".join(b'{"a":' + b" " * n + b"oops}\n" for n in range(100)))
    problems = read(tmp_path)[1]
    assert len(problems) == 21
    assert problems[-1] == Problem(f"{tmp_path}/x.jsonl", "80 further problems")


def test_documents_of_no_known_format_among_known_ones_are_counted(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(b'{"level": "info"}\n' + line(1) + b'{"level": "info"}\n')
    message = "2 JSON documents of no known trace format, the first an object with keys 'level'"
    assert read(tmp_path) == (["1"], [Problem(f"{tmp_path}/x.jsonl:1", message, fatal=False)])


def test_a_file_of_a_known_format_without_spans_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(line(1))
    (tmp_path / "b.jsonl").write_bytes(line())
    assert read(tmp_path) == (["1"], [Problem(f"{tmp_path}/b.jsonl", "holds no spans", fatal=False)])


def test_files_without_spans_and_nothing_else_are_one_problem(tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_bytes(line())
    assert read(tmp_path / "b.jsonl") == ([], [Problem(f"{tmp_path}/b.jsonl", "no spans found")])


def test_a_limit_names_the_option_that_raises_it(tmp_path: Path) -> None:
    path = tmp_path / "bomb.zst"
    path.write_bytes(zstd.compress(line(1) + b" " * (50 << 20)))
    assert read(path, max_bytes=1 << 20) == (
        ["1"],
        [Problem(str(path), "expected at most 1048576 bytes unpacked (--max-bytes), found more")],
    )


def test_a_file_is_listed_once_however_often_it_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.touch()
    assert list(expand([str(path), str(path)], print)) == [File(str(path))]


@pytest.mark.skipif(not OTEL.exists(), reason="the recordings are not here")
@pytest.mark.parametrize(
    "layout", ["traces.json.zst_legacy", "traces.jsonl.gz", "traces.jsonl.zst", "traces.proto.bin"]
)
def test_recorded_layouts_hold_the_same_spans(layout: str) -> None:
    folder = OTEL / "generated" / "file_exporter_layouts"
    spans = list(read_spans(folder / layout))
    assert spans == list(read_spans(folder / "traces.proto.bin"))
    assert spans


@pytest.mark.skipif(not OTEL.exists(), reason="the recordings are not here")
def test_every_recording_is_read() -> None:
    no_traces = {"README.md", "SOURCE.txt", "events.json"}  # the last is an example of logs without spans
    for path in sorted(OTEL.rglob("*")):
        if path.is_file() and path.name not in no_traces and path.suffix != ".py":
            problems: list[Problem] = []
            assert list(read_spans(path, on_problem=problems.append)), path
            assert not any(problem.fatal for problem in problems), problems
