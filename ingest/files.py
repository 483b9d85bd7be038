"""Paths -> spans: files, folders, globs and stdin, of any format, decompressed and read as streams.

What is wrong with one file never costs another: it becomes a `Problem`, and reading goes on.
"""

from __future__ import annotations

import glob
import io
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from gpa.errors import FormatError, InputError
from gpa.ingest.compression import compression_of, decompressed, limited, peek
from gpa.ingest.documents import read_documents
from gpa.ingest.encoding import as_utf8, is_text, looks_like_json
from gpa.ingest.formats import detect
from gpa.ingest.frames import is_framed, read_frames
from gpa.ingest.problems import Losses, Notes, OnProblem, Problem, collect, in_short, raise_fatal
from gpa.ingest.spans import LogRecord, Span

MAX_BYTES = 1 << 30
STDIN = "-"

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

_CHUNK = 1 << 20
_WHOLE = 1 << 26
"""Bytes up to which a file is read at once: most traces are one document in a file of a few MB."""
_HEAD = 4096
_UNKNOWN_DOCUMENTS = 1000
"""A file whose first documents are all of no known format is given up after so many."""


class File(NamedTuple):
    """A file to read; `named` when the user gave its path rather than a folder or pattern it was found in."""

    path: str
    named: bool = True


class _UnrecognisedError(FormatError):
    """No format knows the content: an error for a file that was named, a note for one in a folder."""


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

    def counted(problem: Problem) -> None:
        nonlocal fatal
        fatal += problem.fatal
        report(problem)

    for file in expand(paths, counted):
        notes = Notes("<stdin>" if file.path == STDIN else file.path, counted)
        try:
            for item in _read_file(file, max_bytes, notes):
                count += 1
                yield item
        except _UnrecognisedError as error:
            if file.named:
                counted(Problem(notes.where, str(error)))
            else:
                skipped.append(file.path)
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
        yield from _read_stream(io.BytesIO(data), max_bytes, notes)
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
        _UnrecognisedError: it is no trace file at all.
    """
    count = 0
    try:
        with _opened(file.path) as stream:
            for item in _read_stream(stream, max_bytes, notes):
                count += 1
                yield item
    except _UnrecognisedError:
        raise
    except InputError as error:
        notes.add("", str(error), fatal=True)
    except OSError as error:
        notes.add("", f"cannot be read: {error.strerror or error}", fatal=True)
    else:
        if not count and not notes:
            notes.add("", "holds no spans")
    notes.send()


def _opened(path: str) -> AbstractContextManager[BinaryIO]:
    return nullcontext(sys.stdin.buffer) if path == STDIN else Path(path).open("rb")


def _is_short(stream: BinaryIO) -> bool:
    """Whether it is a file that may be read at once."""
    try:
        status = os.fstat(stream.fileno())
    except OSError:  # no file behind it
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size < _WHOLE


def _read_stream(stream: BinaryIO, max_bytes: int, notes: Notes) -> Iterator[Span | LogRecord]:
    size = -1 if _is_short(stream) else _CHUNK
    chunks: Iterator[bytes] = iter(lambda: stream.read(size), b"")
    head, chunks = peek(decompressed(chunks, max_bytes=max_bytes), _HEAD)
    if not head:
        next(chunks, None)  # damaged from the start, or
        raise _UnrecognisedError("the file is empty")
    if is_text(head):
        yield from _read_text(as_utf8(chunks, head), max_bytes, notes, json=looks_like_json(head))
    elif is_framed(head):
        yield from _read_frames(chunks, max_bytes, notes)
    else:
        yield from _read_binary(chunks, max_bytes, notes)


def _read_text(
    chunks: Iterator[bytes], max_bytes: int, notes: Notes, *, json: bool = True
) -> Iterator[Span | LogRecord]:
    losses = Losses(notes)
    known = unknown = 0
    first_unknown: tuple[int, Any] = (0, None)
    try:
        for line, value in read_documents(chunks, max_bytes=max_bytes, report=losses.report):
            found = detect(value)
            if found is None:
                unknown += 1
                if unknown == 1:
                    first_unknown = (line, value)
                if unknown >= _UNKNOWN_DOCUMENTS and not known:
                    break
                continue
            known += 1
            losses.more_follows()
            try:
                yield from found.read(value, notes.at(f"{line}"))
            except FormatError as error:
                notes.add(f"{line}", str(error), fatal=True)
            except RecursionError:
                notes.add(f"{line}", f"{found.name}: nested too deeply to read", fatal=True)
    except FormatError:
        losses.forget()  # a document cut off where the stream breaks is the same problem
        raise
    losses.end(cut_off_is_normal=known > 0)
    shape = _shape(first_unknown[1])
    if unknown and known:
        notes.add(f"{first_unknown[0]}", f"{unknown} JSON documents of no known trace format, the first {shape}")
    elif unknown:
        raise _UnrecognisedError(f"expected a trace format (`gpa formats` lists them), found JSON: {shape}")
    elif not known and not (json and losses.count):
        raise _UnrecognisedError("expected JSON or protobuf, found other text")


def _read_frames(chunks: Iterator[bytes], max_bytes: int, notes: Notes) -> Iterator[Span | LogRecord]:
    losses = Losses(notes, " byte ")
    known = 0
    for offset, frame in read_frames(chunks, max_bytes=max_bytes, report=losses.report):
        known += 1
        yield from _read_frame(frame, max_bytes, notes, f" byte {offset}")
    losses.end(cut_off_is_normal=known > 0)


def _read_frame(frame: bytes, max_bytes: int, notes: Notes, where: str) -> Iterator[Span | LogRecord]:
    """One message of a length-prefixed file: protobuf or JSON, maybe a zstd frame by itself."""
    try:
        data = b"".join(decompressed(iter([frame]), max_bytes=max_bytes)) if compression_of(frame[:4]) else frame
        if is_text(data[:_HEAD]):
            yield from _read_text(iter([data]), max_bytes, notes)
        elif found := detect(data):
            yield from found.read(data, notes.at(where))
        else:
            notes.add(where, f"expected an OTLP message, found bytes {data[:8].hex(' ')}", fatal=True)
    except FormatError as error:
        notes.add(where, str(error), fatal=True)


def _read_binary(chunks: Iterator[bytes], max_bytes: int, notes: Notes) -> Iterator[Span | LogRecord]:
    """A file that is one message; one that is cut off is read as far as it goes."""
    pieces: list[bytes] = []
    fault: FormatError | None = None
    try:
        pieces.extend(limited(chunks, max_bytes))
    except FormatError as error:
        fault = error
    data = b"".join(pieces)
    found = detect(data)
    if found is None:
        raise _UnrecognisedError(f"expected JSON or protobuf, found bytes {data[:8].hex(' ')}")
    yield from found.read(data, notes.at(""))
    if fault:
        raise fault


def _shape(value: Any) -> str:
    """A few words that tell a person which JSON this is."""
    if isinstance(value, dict):
        keys = ", ".join(map(repr, list(value)[:6]))
        return f"an object with keys {keys}" if keys else "an empty object"
    if isinstance(value, list):
        first = "a list" if value and isinstance(value[0], list) else _shape(value[0]) if value else ""
        return f"a list of {len(value)}, first {first}" if value else "an empty list"
    return f"{type(value).__name__} {str(value)[:40]!r}"
