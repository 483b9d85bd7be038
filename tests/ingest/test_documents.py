"""Any text gives its JSON documents, in any pieces, in linear time."""

from __future__ import annotations

import gc
import json
import math
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpa.errors import FormatError
from gpa.ingest.cut_off import whole_part
from gpa.ingest.documents import read_documents

A, B, C = {"a": 1}, {"b": [2, {"x": "}{"}]}, {"c": '\\" ]'}


def pretty(value: Any) -> str:
    return json.dumps(value, indent=2)


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


def read(data: bytes, size: int = 1 << 18, max_bytes: int = 1 << 30) -> tuple[list[tuple[int, Any]], list[Any]]:
    reports: list[Any] = []
    found = read_documents(pieces(data, size), max_bytes=max_bytes, report=lambda *report: reports.append(report))
    return list(found), reports


LAYOUTS: dict[str, tuple[str, list[tuple[int, Any]]]] = {
    "nothing": ("", []),
    "blank": (" \n\r\n\t", []),
    "lines": ('{"a":1}\n[1]\n', [(1, A), (2, [1])]),
    "no line break at the end": ('{"a":1}\n[1]', [(1, A), (2, [1])]),
    "windows line breaks": ('{"a":1}\r\n[1]\r\n', [(1, A), (2, [1])]),
    "blank lines between": ('\n\n{"a":1}\n\n\n[1]\n', [(3, A), (6, [1])]),
    "byte order mark": ('\ufeff{"a":1}\n\ufeff[1]', [(1, A), (2, [1])]),
    "record separators": ('\x1e{"a":1}\n\x1e[1]\n', [(1, A), (2, [1])]),
    "one after the other on a line": ('{"a":1}{"a":1} [1]\n[2]', [(1, A), (1, A), (1, [1]), (2, [2])]),
    "lines ending in commas": ('{"a":1},\n{"a":1},\n', [(1, A), (2, A)]),
    "pretty": (pretty(B), [(1, B)]),
    "pretty, one after the other": (f"{pretty(B)}\n{pretty(C)}\n{pretty(A)}", [(1, B), (9, C), (12, A)]),
    "pretty, joined": (pretty(A) + pretty(B) + pretty(C), [(1, A), (3, B), (10, C)]),
    "pretty list": (pretty([A, B]), [(1, [A, B])]),
    "a list of lines": ('[\n{"a":1},\n{"a":1}\n]\n[1]', [(1, [A, A]), (5, [1])]),
    "not indented": ('{\n"a":\n{\n"b":1\n}\n}\n{"a":1}', [(1, {"a": {"b": 1}}), (7, A)]),
    "closed at the end of a line": ('[1,\n 2]\n{"a":1}', [(1, [1, 2]), (3, A)]),
    "scalars": ('1\n"x"\nnull', [(1, 1), (2, "x"), (3, None)]),
    "infinities": ('{"a":[Infinity,-Infinity]}', [(1, {"a": [math.inf, -math.inf]})]),
    "integers beyond 64 bits": (f'{{"n":{2**80}}}\n[{-(2**80)}]', [(1, {"n": 2**80}), (2, [-(2**80)])]),
    "one document with a long integer": (f'{{"n":{2**80}}}', [(1, {"n": 2**80})]),
    "control characters in a text": ('{"a":"x\x01y"}', [(1, {"a": "x\x01y"})]),
}


@pytest.mark.parametrize("size", [1, 2, 7, 1 << 18])
@pytest.mark.parametrize(("text", "expected"), LAYOUTS.values(), ids=LAYOUTS)
def test_every_layout_gives_its_documents(text: str, expected: list[tuple[int, Any]], size: int) -> None:
    assert read(text.encode(), size) == (expected, [])


@pytest.mark.parametrize("text", ['{"a":1}', "{broken", "[" * 100_000], ids=["whole", "broken", "too deep"])
@pytest.mark.parametrize("collects", [True, False])
def test_python_s_collector_is_left_as_it_was(text: str, collects: bool) -> None:
    before = gc.isenabled()
    (gc.enable if collects else gc.disable)()
    try:
        read(text.encode())
        assert gc.isenabled() is collects
    finally:
        (gc.enable if before else gc.disable)()


def test_not_a_number_is_read() -> None:
    ((_, value),), reports = read(b'{"a":NaN}')
    assert math.isnan(value["a"])
    assert reports == []


CUT = "the document is cut off"
WHOLE = ", what is whole in it was read"
FAULTS: dict[str, tuple[bytes, list[tuple[int, Any]], list[tuple[int, str, bool]]]] = {
    "last line cut in a text": (b'{"a":1}\n{"a":"x', [(1, A)], [(2, f"{CUT} in a text", True)]),
    "last line cut between values": (b'{"a":1}\n{"a":[1,', [(1, A)], [(2, CUT, True)]),
    "a line cut in the middle": (b'{"a":1}\n{"a":"x\n[3]', [(1, A), (3, [3])], [(2, f"{CUT} in a text", True)]),
    "a line cut where another value could begin": (
        b'{"a":[\n{"a":1}\n[3]\n[4]\n',
        [(2, A), (3, [3]), (4, [4])],
        [(1, f"{CUT} before the next one begins", True)],
    ),
    "pretty document cut before the next": (
        b'{\n "b": 1,\n "c"\n{\n "a": 1\n}\n',
        [(4, A)],
        [(1, f"{CUT} before the next one begins", True)],
    ),
    "list of lines cut": (b'[\n{"a":1},\n{"a":1},\n{"a', [(1, [A, A])], [(1, f"{CUT} in a text{WHOLE}", True)]),
    "list of lines broken": (
        b'[\n{"a":1},\n{"a":oops},\n{"a":1}\n]\n[5]',
        [(2, A), (4, A), (6, [5])],
        [(1, "not JSON: Expecting value at line 3, column 6", True)],
    ),
    "spans before the cut": (
        b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"a":1},{"a":[1,2',
        [(1, {"resourceSpans": [{"scopeSpans": [{"spans": [A]}]}]})],
        [(1, f"{CUT}{WHOLE}", True)],
    ),
    "not JSON": (
        b'{"a":1,}\n{"a":1}',
        [(2, A)],
        [(1, "not JSON: Expecting property name enclosed in double quotes at line 1, column 8", True)],
    ),
    "log lines between": (
        b'INFO a\n{"a":1}\nINFO b\n{\n "a": 1\n}\n',
        [(2, A), (4, A)],
        [(1, "expected a JSON object or array", False), (3, "expected a JSON object or array", False)],
    ),
    "invalid UTF-8": (
        b'{"a":"\xffx"}\n{"a":1}',
        [(1, {"a": "\ufffdx"}), (2, A)],
        [(1, "invalid UTF-8 (byte 0xff) was replaced by U+FFFD", False)],
    ),
    "half of a surrogate pair": (
        b'{"a":"\\ud83d","b":"\\ud83d\\ude00"}',
        [(1, {"a": "\ufffd", "b": "\U0001f600"})],
        [(1, "1 lone surrogates were replaced by U+FFFD", False)],
    ),
}


@pytest.mark.parametrize("size", [1, 5, 1 << 18])
@pytest.mark.parametrize(("data", "expected", "reports"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_reported_by_line_and_the_rest_is_read(
    data: bytes, expected: list[tuple[int, Any]], reports: list[tuple[int, str, bool]], size: int
) -> None:
    assert read(data, size) == (expected, reports)


HOSTILE: dict[str, bytes] = {
    "brackets": b"[" * 200_000,
    "brackets on lines": b"[\n" * 100_000,
    "objects on lines": b'{"a":[\n' * 50_000,
    "quotes": b'{"\n' * 50_000,
    "blank lines": b"\n" * 1_000_000,
    "broken lists": b'{"a":[\n{"b":1}\n' * 20_000,
    "white space": b"{" + b" " * 500_000 + b"\n{",
    "documents over two lines, indented": b" [1,\n 2]\n" * 20_000,
    "closers": b"{\n}x\n" * 20_000,
    "a number of many digits": b'{"a":' + b"9" * 5000 + b"}",
    "deep": b"[" * 50_000 + b"]" * 50_000,
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_neither_hangs_nor_raises_nor_hides_what_follows(data: bytes) -> None:
    documents, _ = read(data + b'\n\n{"a":1}\n')
    assert documents[-1][1] == A


def test_a_document_beyond_the_limit_raises_after_those_before_it() -> None:
    found: list[Any] = []
    with pytest.raises(FormatError, match="line 2: expected a document of at most 100 bytes"):
        found.extend(read_documents(pieces(b'{"a":1}\n["' + b"x" * 500, 10), max_bytes=100, report=print))
    assert found == [(1, A)]


def test_a_fault_of_the_stream_is_raised_after_the_documents_before_it() -> None:
    def chunks() -> Iterator[bytes]:
        yield b'{"a":1}\n{"a":1}\n{"a'
        raise FormatError("stream broke")

    found: list[Any] = []
    reports: list[Any] = []
    with pytest.raises(FormatError, match="stream broke"):
        found.extend(read_documents(chunks(), max_bytes=99, report=lambda *report: reports.append(report)))
    assert found == [(1, A), (2, A)]
    assert reports == [(3, f"{CUT} in a text", True)]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('ab{["\\', max_size=4), inner, max_size=3),
    max_leaves=8,
)
CONTAINERS = st.lists(JSON, max_size=3) | st.dictionaries(st.text(max_size=3), JSON, max_size=3)


@settings(deadline=None)
@given(
    values=st.lists(st.tuples(CONTAINERS, st.sampled_from([None, 0, 2])), max_size=5),
    separator=st.sampled_from(["\n", "\r\n", "\n\n", ",\n"]),
    size=st.integers(1, 50),
)
def test_documents_read_back_equal_however_they_are_laid_out(
    values: list[tuple[Any, int | None]], separator: str, size: int
) -> None:
    text = separator.join(json.dumps(value, indent=indent) for value, indent in values)
    documents, reports = read(text.encode(errors="replace"), size)
    assert [value for _, value in documents] == [json.loads(json.dumps(v).encode(errors="replace")) for v, _ in values]
    assert reports == []


@given(spans=st.lists(CONTAINERS.filter(bool), min_size=1, max_size=4), cut=st.integers(0, 10_000))
def test_the_whole_part_of_a_cut_document_is_a_prefix_of_its_spans(spans: list[Any], cut: int) -> None:
    records = [{"s": span} for span in spans]
    data = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": records}]}]}).encode()
    part = whole_part(data[: cut % len(data)])
    if part is not None:
        kept = json.loads(part)["resourceSpans"][0]["scopeSpans"][0]["spans"]
        assert kept == records[: len(kept)]
        assert kept
