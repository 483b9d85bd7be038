"""The bytes of one file -> its spans: decompressed, told what they are by their content, read as a stream."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import Any, BinaryIO

from gpa.errors import FormatError
from gpa.ingest.compression import compression_of, decompressed, limited, peek
from gpa.ingest.documents import read_documents
from gpa.ingest.encoding import as_utf8, is_text, looks_like_json
from gpa.ingest.formats import detect
from gpa.ingest.formats.parts import error_text
from gpa.ingest.formats.values import first as first_of
from gpa.ingest.formats.values import shown
from gpa.ingest.frames import is_framed, read_frames
from gpa.ingest.problems import Losses, Notes
from gpa.ingest.spans import LogRecord, Span

_CHUNK = 1 << 20
_WHOLE = 1 << 26
"""Bytes up to which a file is read at once: most traces are one document in a file of a few MB."""
_HEAD = 4096
_UNKNOWN_DOCUMENTS = 1000
"""A file whose first documents are all of no known format is given up after so many."""
LINES = (".jsonl", ".ndjson")
"""How names of files of lines end."""
_COMPRESSED = (".gz", ".zst", ".zstd")
_BLANK = b"\0 \t\r\n"
_ERRORS = ("errors", "error")
_ABOUT_ERRORS = frozenset({*_ERRORS, "code", "message", "status", "statusCode"})


class UnrecognisedError(FormatError):
    """No format knows the content: an error for a file that was named, a note for one in a folder."""


class EmptyError(UnrecognisedError):
    """There is no content: what a full disk or a crashed exporter leaves."""


def is_named(path: str, suffixes: tuple[str, ...]) -> bool:
    """Whether the path ends in one of the suffixes, compressed or not."""
    name = path.lower()
    for suffix in _COMPRESSED:
        name = name.removesuffix(suffix)
    return name.endswith(suffixes)


def read_stream(stream: BinaryIO, max_bytes: int, notes: Notes) -> Iterator[Span | LogRecord]:
    """Every span and log record in it, in order.

    Raises:
        UnrecognisedError: it holds no traces at all.
        FormatError: after what was read, when the rest cannot be.
    """
    size = -1 if _is_short(stream) else _CHUNK
    chunks: Iterator[bytes] = iter(lambda: stream.read(size), b"")
    head, chunks = peek(decompressed(chunks, max_bytes=max_bytes), _HEAD)
    if len(head) < _HEAD and not head.strip(_BLANK):
        for _ in chunks:  # damaged from the start, or
            pass
        raise EmptyError("the file is empty")
    if is_text(head):
        yield from _read_text(as_utf8(chunks, head), max_bytes, notes, json=looks_like_json(head))
    elif is_framed(head):
        yield from _read_frames(chunks, max_bytes, notes)
    else:
        yield from _read_binary(chunks, max_bytes, notes)


def _is_short(stream: BinaryIO) -> bool:
    """Whether it is a file that may be read at once."""
    try:
        status = os.fstat(stream.fileno())
    except OSError:  # no file behind it
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size < _WHOLE


def _read_text(
    chunks: Iterator[bytes], max_bytes: int, notes: Notes, *, json: bool = True
) -> Iterator[Span | LogRecord]:
    losses = Losses(notes)
    unknown = 0
    first: int | None = None
    first_unknown: tuple[int, Any] = (0, None)
    last_page = (0, "")
    try:
        for line, value in read_documents(chunks, max_bytes=max_bytes, report=losses.report):
            found = detect(value)
            if found is None:
                unknown += 1
                if unknown == 1:
                    first_unknown = (line, value)
                if unknown >= _UNKNOWN_DOCUMENTS and first is None:
                    break
                continue
            if first is None:
                first = line
            losses.more_follows()
            if found.more:
                last_page = (line, found.more(value))
            try:
                yield from found.read(value, notes.at(f"{line}"))
            except FormatError as error:
                notes.add(f"{line}", str(error), fatal=True)
            except RecursionError:
                notes.add(f"{line}", f"{found.name}: nested too deeply to read", fatal=True)
    except FormatError:
        losses.forget()  # a document cut off where the stream breaks is the same problem
        raise
    losses.end(first, of_lines=is_named(notes.where, LINES))
    if last_page[1]:
        notes.add(f"{last_page[0]}", f"one page of several ({last_page[1]}): those after it are not in this file")
    shape = _shape(first_unknown[1])
    if unknown and first is not None:
        notes.add(f"{first_unknown[0]}", f"{unknown} JSON documents of no known trace format, the first {shape}")
    elif unknown == 1 and (said := _store_error(first_unknown[1])):
        raise FormatError(f"expected traces, found the error of a store: {said}")
    elif unknown:
        raise UnrecognisedError(f"expected a trace format (`gpa formats` lists them), found JSON: {shape}")
    elif first is None and not (json and losses.count):
        raise UnrecognisedError("expected JSON or protobuf, found other text")


def _read_frames(chunks: Iterator[bytes], max_bytes: int, notes: Notes) -> Iterator[Span | LogRecord]:
    losses = Losses(notes, " byte ")
    first: int | None = None
    for offset, frame in read_frames(chunks, max_bytes=max_bytes, report=losses.report):
        if first is None:
            first = offset
        yield from _read_frame(frame, max_bytes, notes, f" byte {offset}")
    losses.end(first)


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
        unreadable = UnrecognisedError if data.strip(_BLANK) else EmptyError
        raise unreadable(f"expected JSON or protobuf, found bytes {data[:8].hex(' ')}")
    yield from found.read(data, notes.at(""))
    if fault:
        raise fault


def _store_error(value: Any) -> str:
    """The error of an answer that holds nothing else (`{"data": null, "errors": [...]}`), empty for other JSON."""
    if not isinstance(value, dict) or any(held for key, held in value.items() if key not in _ABOUT_ERRORS):
        return ""
    error = first_of(value, *_ERRORS)
    found = error_text(value.get("message") if error is True else error)
    return shown(found) if found else ""


def _shape(value: Any) -> str:
    """A few words that tell a person which JSON this is."""
    if isinstance(value, dict):
        keys = ", ".join(map(repr, list(value)[:6]))
        return f"an object with keys {keys}" if keys else "an empty object"
    if isinstance(value, list):
        first = "a list" if value and isinstance(value[0], list) else _shape(value[0]) if value else ""
        return f"a list of {len(value)}, first {first}" if value else "an empty list"
    return f"{type(value).__name__} {str(value)[:40]!r}"
