"""Paths -> spans: files, folders, globs and stdin, of any format, decompressed and read as streams.

What is wrong with one file never costs another: it becomes a `Problem`, and reading goes on.

Formats are told by content. Names are asked only how bad a finding is:

- Folders and patterns hold other people's files too, which are skipped with a note that names a few. Damaged, and as
  fatal there as when it is named, is a file that begins like one of traces but cannot be read, a store's answer that
  is nothing but its error, and an empty file whose name ends like that of a trace file (`_TRACE_FILES`).
- A last document that is cut off is normal in a file still being written: one with other documents before it, or one
  whose name promises lines (`LINES`). A file whose only document is cut off is damaged; what is whole in it is read.
"""

from __future__ import annotations

import glob
import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple

from gpa.errors import FormatError, InputError
from gpa.ingest.content import LINES, EmptyError, UnrecognisedError, is_named, read_stream
from gpa.ingest.problems import Notes, OnProblem, Problem, collect, in_short, raise_fatal
from gpa.ingest.spans import LogRecord, Span

MAX_BYTES = 1 << 30
STDIN = "-"

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

_TRACE_FILES = (".json", *LINES, ".pb", ".bin", ".parquet")


class File(NamedTuple):
    """A file to read; `named` when the user gave its path rather than a folder or pattern it was found in."""

    path: str
    named: bool = True


def read_spans(
    path_or_paths: Paths, *, max_bytes: int = MAX_BYTES, on_problem: OnProblem | None = None
) -> Iterator[Span | LogRecord]:
    """Every span, and every log record that names one, in the order of the files and of what is in them.

    Args:
        path_or_paths: files, folders (read recursively, sorted), glob patterns, `-` for stdin.
        max_bytes: limit on what one compressed file may unpack to, and on any single JSON document or message.
        on_problem: told about each problem as it is found. Without it, problems that are not fatal are logged.

    Raises:
        InputError: without `on_problem`, after everything that could be read: all fatal problems, one a line.
    """
    problems: list[Problem] = []
    report = on_problem or collect(problems)
    paths = as_list(path_or_paths)
    count = fatal = 0
    skipped: list[str] = []
    without_spans: list[str] = []

    def counted(problem: Problem) -> None:
        nonlocal fatal
        fatal += problem.fatal
        report(problem)

    for file in expand(paths, counted):
        notes = Notes("<stdin>" if file.path == STDIN else file.path, counted)
        before = count
        try:
            for item in _read_file(file, max_bytes, notes):
                count += 1
                yield item
        except UnrecognisedError as error:
            if file.named or (isinstance(error, EmptyError) and is_named(file.path, _TRACE_FILES)):
                counted(Problem(notes.where, str(error)))
            else:
                skipped.append(file.path)
        else:
            if count == before and not notes:
                without_spans.append(notes.where)
    if count or fatal:
        for where in without_spans:
            counted(Problem(where, "holds no spans", fatal=False))
    if skipped:
        counted(Problem(in_short(paths), f"skipped, no traces in: {in_short(skipped)}", fatal=False))
    if not count and not fatal:
        counted(Problem(in_short(paths) or "input", "no spans found"))
    raise_fatal(problems)


def read_piece(
    data: bytes, where: str, *, on_problem: OnProblem, max_bytes: int = MAX_BYTES
) -> Iterator[Span | LogRecord]:
    """Every span and log record in a piece of a file: whole lines of JSON, or whole length-prefixed messages."""
    notes = Notes(where, on_problem)
    try:
        yield from read_stream(io.BytesIO(data), max_bytes, notes)
    except FormatError as error:
        notes.add("", str(error), fatal=True)
    notes.send()


def as_list(path_or_paths: Paths) -> list[str]:
    """The paths as text, whether one or many were given."""
    if isinstance(path_or_paths, str | os.PathLike):
        return [os.fspath(path_or_paths)]
    return [os.fspath(path) for path in path_or_paths]


def expand(paths: Iterable[str], on_problem: OnProblem) -> Iterator[File]:
    """The files that paths, folders and patterns stand for, each once, without hidden ones."""
    seen: set[str] = set()
    for path in paths:
        files: Iterable[File]
        if path == STDIN:
            files = [File(STDIN)]
        elif Path(path).is_dir():
            files = _in_folder(path, on_problem)
        elif glob.has_magic(path) and not Path(path).exists():
            matches = sorted(glob.glob(path, recursive=True))  # noqa: PTH207 - patterns may be absolute
            if not matches:
                on_problem(Problem(path, "no file matches this pattern"))
            files = chain.from_iterable(
                _in_folder(match, on_problem) if Path(match).is_dir() else [File(match, named=False)]
                for match in matches
            )
        else:
            files = [File(path)]
        for file in files:
            identity = os.path.realpath(file.path)
            if identity not in seen:
                seen.add(identity)
                yield file


def _in_folder(folder: str, on_problem: OnProblem) -> Iterator[File]:
    def unreadable(error: OSError) -> None:
        on_problem(Problem(str(error.filename), f"cannot be read: {error.strerror}"))

    for parent, folders, names in os.walk(folder, onerror=unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(parent, name)
            if not name.startswith(".") and path.is_file():
                yield File(str(path), named=False)


def _read_file(file: File, max_bytes: int, notes: Notes) -> Iterator[Span | LogRecord]:
    """What one file holds.

    Raises:
        UnrecognisedError: it is no trace file at all.
    """
    try:
        with _opened(file.path) as stream:
            yield from read_stream(stream, max_bytes, notes)
    except UnrecognisedError:
        raise
    except InputError as error:
        notes.add("", str(error), fatal=True)
    except OSError as error:
        notes.add("", f"cannot be read: {error.strerror or error}", fatal=True)
    notes.send()


def _opened(path: str) -> AbstractContextManager[BinaryIO]:
    return nullcontext(sys.stdin.buffer) if path == STDIN else Path(path).open("rb")
