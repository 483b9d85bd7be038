"""Files that grow: nothing lost, nothing twice, through cut lines, truncation, rotation and restarts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from gpa.cli import main
from gpa.errors import FormatError, InputError
from gpa.evaluation import Evaluation, evaluate
from gpa.ingest.completion import is_own
from gpa.ingest.files import read_piece
from gpa.ingest.follow import Position, Tail
from gpa.ingest.problems import Problem
from gpa.ingest.spans import Event, LogRecord, Scope, Span
from gpa.telemetry.sending import SCOPE

FIXTURES = Path(__file__).parents[2] / "fixtures" / "traces" / "openinference-smolagents"
INVOICE, TRAVEL = FIXTURES / "invoice_payment.traces.jsonl", FIXTURES / "travel_desk.traces.jsonl"


def rest(tail: Tail) -> bytes:
    """Everything that is there by now; a rotated file counts as done after two silent looks."""
    found = b""
    for _ in range(6):
        found += tail.read()
    return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "traces.jsonl"


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


@given(
    lines=st.lists(st.binary(max_size=20).map(lambda text: b"{" + text.replace(b"\n", b"") + b"}\n"), max_size=8),
    cuts=st.lists(st.integers(0, 200), max_size=6),
)
def test_whole_lines_come_once_in_order_however_they_are_written(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], cuts: list[int]
) -> None:
    path = tmp_path_factory.mktemp("tail") / "t.jsonl"
    whole = b"".join(lines)
    places = sorted({min(cut, len(whole)) for cut in cuts} | {0, len(whole)})
    with Tail(path) as tail:
        pieces = []
        for start, stop in pairwise(places):
            append(path, whole[start:stop])
            pieces.append(rest(tail))
    assert b"".join(pieces) == whole
    assert all(piece.endswith(b"\n") for piece in pieces if piece)


def test_a_file_that_is_not_there_yet_is_waited_for(path: Path) -> None:
    with Tail(path) as tail:
        assert tail.read() == b""
        path.write_bytes(b"{}\n")
        assert rest(tail) == b"{}\n"


def test_a_line_without_its_end_is_kept_back_until_it_is_whole(path: Path) -> None:
    with Tail(path) as tail:
        path.write_bytes(b'{"a":1}\n{"b"')
        assert rest(tail) == b'{"a":1}\n'
        append(path, b":2}\n")
        assert rest(tail) == b'{"b":2}\n'


@pytest.mark.parametrize("after", [b'{"new":1}\n', b'{"new":1}\n' * 9], ids=["shorter", "longer"])
def test_a_file_written_anew_is_read_from_its_beginning(path: Path, after: bytes) -> None:
    with Tail(path) as tail:
        path.write_bytes(b'{"old":1}\n{"old":2}\n{"ol')
        rest(tail)
        with path.open("r+b") as file:  # the same file, as a collector without `append` does at its start
            file.truncate(0)
            file.write(after)
        assert rest(tail) == after
        assert tail.restarts == 1


def test_a_rotated_file_is_read_to_its_end_before_its_successor(path: Path) -> None:
    with Tail(path) as tail:
        path.write_bytes(b'{"n":1}\n')
        rest(tail)
        append(path, b'{"n":2}\n{"n":3}')
        path.rename(path.with_name("traces-2026-11-22T01-00-00.000.jsonl"))
        assert rest(tail) == b'{"n":2}\n'
        path.write_bytes(b'{"n":4}\n')
        assert rest(tail) == b'{"n":3}{"n":4}\n'  # two documents, whole each
        assert tail.rotations == 1


@pytest.mark.parametrize("rotated", [False, True], ids=["the same file", "renamed meanwhile"])
def test_a_restart_goes_on_where_it_was(path: Path, rotated: bool) -> None:
    path.write_bytes(b'{"n":1}\n{"n":2')
    with Tail(path) as tail:
        rest(tail)
        position = tail.position
    append(path, b"}\n")
    if rotated:
        path.rename(path.with_name("traces-2026-11-22T01-00-00.000.jsonl"))
        path.write_bytes(b'{"n":3}\n')
    with Tail(path, position) as tail:
        assert rest(tail) == (b'{"n":2}\n{"n":3}\n' if rotated else b'{"n":2}\n')


def test_where_a_file_was_left_means_nothing_for_another_one(path: Path) -> None:
    path.write_bytes(b'{"n":1}\n')
    with Tail(path, Position(device=1, inode=2, offset=4, head=b'{"n"')) as tail:
        assert rest(tail) == b'{"n":1}\n'


def test_length_prefixed_messages_come_whole(path: Path) -> None:
    frame = len(b"\x0a\x00").to_bytes(4, "big") + b"\x0a\x00"
    with Tail(path) as tail:
        path.write_bytes(frame + frame[:3])
        assert rest(tail) == frame
        append(path, frame[3:])
        assert rest(tail) == frame


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"\x1f\x8b\x08\x00", "found gzip"),
        (b"\x28\xb5\x2f\xfd\x00", "found zstd"),
        (b"\x00\x01\x02\x03\x04\x05" * 9, "found other bytes"),
    ],
    ids=["gzip", "zstd", "binary"],
)
def test_what_cannot_be_followed_is_said(path: Path, content: bytes, found: str) -> None:
    path.write_bytes(content)
    with Tail(path) as tail, pytest.raises(FormatError, match=found):
        tail.read()


def test_a_file_that_cannot_be_opened_for_a_while_is_read_on_where_it_was_left(path: Path) -> None:
    path.write_bytes(b"{1}\n")
    with Tail(path) as tail:
        tail.read()
        left = tail.position
    kept = path.rename(path.with_name("kept"))
    path.symlink_to(path)  # a loop, so that even root cannot
    with Tail(path, left) as tail:
        with pytest.raises(InputError, match="cannot be read"):
            tail.read()
        assert tail.position == left
        path.unlink()
        append(kept.rename(path), b"{2}\n")
        assert rest(tail) == b"{2}\n"


def test_a_successor_that_cannot_be_opened_is_said(path: Path) -> None:
    path.write_bytes(b"{1}\n")
    with Tail(path) as tail:
        assert tail.read() == b"{1}\n"
        path.unlink()
        path.symlink_to(path)
        with pytest.raises(InputError, match="cannot be read"):
            rest(tail)


def test_a_piece_with_a_broken_line_costs_that_line_only() -> None:
    lines = INVOICE.read_bytes().splitlines(keepends=True)
    problems: list[Problem] = []
    piece = b"".join([lines[0], b'{"resourceSpans": [broken\n', *lines[1:]])
    items = list(read_piece(piece, "t.jsonl", on_problem=problems.append))
    assert items == list(read_piece(b"".join(lines), "t.jsonl", on_problem=problems.append))
    assert [problem.fatal for problem in problems] == [True]


def test_what_we_sent_to_the_same_collector_is_no_input() -> None:
    foreign = Span("a" * 32, "b" * 16, name="theirs")
    said = LogRecord("a" * 32, "b" * 16, Event("gen_ai.evaluation.result", 1, {"gen_ai.evaluation.name": "x"}))
    ours: list[Span | LogRecord] = [
        Span("a" * 32, "c" * 16, name="gpa.evaluate", scope=Scope(SCOPE)),
        LogRecord("a" * 32, "b" * 16, Event("gen_ai.evaluation.result", 1, {"gpa.evaluator.name": "checks"})),
    ]
    assert [item for item in (foreign, *ours, said) if not is_own(item)] == [foreign, said]


def followed(path: Path, store: Path, *steps: Callable[[], None]) -> list[str]:
    """What the command prints: a line after each step, for which it is waited, and what follows when it is stopped."""
    command = [sys.executable, "-m", "gpa", "evaluate", "--follow", str(path), "--store", str(store), "--quiet", "0.3"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as gpa:
        watchdog = threading.Timer(60, gpa.kill)
        watchdog.start()
        assert gpa.stdout is not None
        printed = []
        for step in steps:
            step()
            printed.append(gpa.stdout.readline())
        gpa.send_signal(signal.SIGINT)
        more, _ = gpa.communicate()
        watchdog.cancel()
    assert gpa.returncode == 0
    return [*printed, *more.splitlines(keepends=True)]


def test_the_command_judges_what_is_added_as_it_judges_files_and_nothing_twice(tmp_path: Path) -> None:
    path, store = tmp_path / "traces.jsonl", tmp_path / "gpa.db"

    def rotates() -> None:
        path.rename(tmp_path / "traces-2026.jsonl")
        append(path, TRAVEL.read_bytes())

    first, second = followed(path, store, lambda: append(path, INVOICE.read_bytes()), rotates)
    invoice = "b2df3a500320dfc65169120523737361  LC 0 EE 1 TS 3 TC 0 GF 1, 6 findings  Please pay invoice R-2207."
    assert first == f"{invoice}\n"
    assert second.startswith("096c23de2944d610e2963b49a7bf9739  LC 3 ")
    results = Evaluation.load(store).results
    assert sorted(map(repr, results)) == sorted(map(repr, evaluate([INVOICE, TRAVEL]).results))
    court = (FIXTURES / "court_booking.traces.jsonl").read_bytes()
    (third,) = followed(path, store, lambda: append(path, court))
    assert third.startswith("6666e1d3b8dc62d65a4cad616ba2cb98  ")


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--follow", "--fail-under", "2", "x"], "gpa: --fail-under: contradicts --follow, which has no end"),
        (["--quiet", "2", "x"], "gpa: --quiet: is about --follow, which is not given"),
        (["--follow", "-"], "gpa: --follow: expected files, found - (standard input ends by itself)"),
        (["--follow", "."], "gpa: --follow: expected files, found the folder ."),
    ],
    ids=["threshold", "patience alone", "stdin", "folder"],
)
def test_options_that_make_no_sense_are_one_line(options: list[str], line: str) -> None:
    done = CliRunner().invoke(main, ["evaluate", *options])
    assert (done.exit_code, done.stderr) == (2, f"{line}\n")
