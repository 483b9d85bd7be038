"""Text of any length -> the JSON documents in it: JSON Lines, one document, or many one after the other.

Lines are tried first, because that is what grows large; a document over several lines is found by its brackets.
Memory follows the longest document. What is no JSON is reported by line and skipped, never fatal to what follows.
"""

from __future__ import annotations

import codecs
import gc
import json
import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import msgspec

from gpa.errors import FormatError
from gpa.ingest.cut_off import whole_part
from gpa.ingest.encoding import JSON_START
from gpa.ingest.nested import load_nested

Report = Callable[[int, str, bool], None]
"""Takes a line number, one sentence about what is wrong there, and whether a document was lost by it."""

_NO_DOCUMENT = "expected a JSON object or array"
CUT_OFF = "the document is cut off"

_decode = msgspec.json.Decoder().decode
"""A fifth faster than orjson on the long texts of an agent's trace, and exact for integers of any length."""
_UNREADABLE = (ValueError, RecursionError)
"""What `_load` raises: no JSON, or nested too deeply for it."""
_COLUMN_ZERO = re.compile(rb"\n[\[\]{}]")
# The look-ahead: before Python 3.11.4 a possessive group that fails half-way loses its place (gh-100061).
_TOKEN = re.compile(rb'"(?:[^"\\\n]++|(?=\\[^\n])(?s:..))*+"|[\[\]{}"]|\n(?=[\[{])')
_SURROGATE = re.compile("[\ud800-\udfff]")
_SEPARATORS = b" \t\r\n,\x1e" + codecs.BOM_UTF8
"""What may stand between documents: white space, commas, the record separator of RFC 7464, byte order marks."""
_SEPARATORS_RUN = re.compile(rb"[%s]*+" % _SEPARATORS)
_SMALL = 1 << 23
_BEFORE_VALUE = b"[,:"
"""A `{` or `[` inside a document can only follow one of these."""
_OPENERS = b"{["


class _BrokenError(Exception):
    """No document begins at the position; `until` is how far into the window that was looked for."""

    def __init__(self, reason: str, until: int) -> None:
        super().__init__(reason)
        self.until = until


def read_documents(chunks: Iterator[bytes], *, max_bytes: int, report: Report) -> Iterator[tuple[int, Any]]:
    """Each JSON document and the line it begins on, in order.

    Args:
        chunks: UTF-8 text in pieces of any size. A `FormatError` raised by it is raised again after the last
            document before it.
        max_bytes: the longest document held in memory.
        report: told about text that is not JSON, invalid UTF-8, and a last document that was cut off.

    Raises:
        FormatError: a single document exceeds `max_bytes`.
    """
    first = next(chunks, b"")
    line = 1
    if first[:1] in (b"{", b"[") and len(first) <= max_bytes:
        try:
            value = _load(first)
        except _UNREADABLE:
            chunks = chain((first,), chunks)  # several documents, or one that only the careful way below can read
        else:
            yield line, value
            more = next(chunks, None)
            if more is None:
                return  # counting the lines of a pretty-printed document takes a quarter of the time of decoding it
            line += first.count(b"\n")
            chunks = chain((more,), chunks)
    else:
        chunks = chain((first,), chunks)
    text = _Text(chunks, max_bytes, line)
    while text.to_next_line():
        end = text.line_end()
        try:
            value = _load(memoryview(text.buffer)[text.position : end])
        except _UNREADABLE:
            if not text.skip_separators():
                yield from _slow(text, report)
        else:
            yield text.line, value
            text.line += 1
            text.position = end
    if text.fault:
        raise text.fault


def _load(data: bytes | memoryview) -> Any:
    """The value of one JSON document.

    Python's collector waits meanwhile: decoding makes no cycles, yet looking for them among the growing number of
    values takes two thirds of the time of a large document, and more the larger it is.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _decode(data)
    finally:
        if collecting:
            gc.enable()


def _slow(text: _Text, report: Report) -> Iterator[tuple[int, Any]]:
    """The document that begins here and is not exactly the rest of the line; or a report that there is none."""
    line = text.line
    begins = JSON_START(text.buffer, text.position)
    if text.buffer[text.position] not in _OPENERS:
        text.advance(text.line_end())
        report(line, _NO_DOCUMENT, False)
        return
    try:
        end, value = _whole(text, report)
    except _BrokenError as broken:
        found = list(_before_cut(text, broken))
        text.advance(broken.until if found else text.line_end())
        for value in found:
            yield line, value
        if not begins:
            report(line, _NO_DOCUMENT, False)
        else:
            report(line, f"{broken}, what is whole in it was read" if found else str(broken), True)
        yield from _salvaged(text, 0 if found else broken.until)
    else:
        yield line, value
        text.advance(end)


def _before_cut(text: _Text, broken: _BrokenError) -> Iterator[Any]:
    """The whole part of a document that was cut off, if there is any."""
    whole = whole_part(text.buffer[text.position : broken.until]) if str(broken).startswith(CUT_OFF) else None
    if whole is not None:
        try:
            yield _load(whole)
        except _UNREADABLE:
            return


def _whole(text: _Text, report: Report) -> tuple[int, Any]:
    """The document that begins here, and where it ends.

    Raises:
        _BrokenError: there is none.
    """
    brackets = _Brackets(text)
    end = brackets.closed(text.line_end())
    if end is None and text.tidy:
        found = _pretty(text)
        if found:
            return found
        text.tidy = False  # looked for once only: the search may run far
    while end is None:
        end = brackets.closed(len(text.buffer))
        if end is None and not text.grow():
            raise _BrokenError(CUT_OFF, len(text.buffer))
    return end, _parse(text, end, report)


def _pretty(text: _Text) -> tuple[int, Any] | None:
    """A pretty-printed document, found fast: it ends at the first bracket that closes in column 0."""
    found = _only_document(text)
    if found:
        return found
    at = text.line_end() - 1 - text.position
    while True:
        for match in _COLUMN_ZERO.finditer(text.buffer, text.position + at):
            end = match.end()
            if text.buffer[end - 1] in _OPENERS:
                if text.before(match.start()) not in _BEFORE_VALUE:
                    return None
                continue
            try:
                return end, _load(memoryview(text.buffer)[text.position : end])
            except _UNREADABLE:
                return None
        at = len(text.buffer) - 1 - text.position
        if not text.grow():
            return None


def _only_document(text: _Text) -> tuple[int, Any] | None:
    """The document, when it is the whole of a text that is not large: most files are."""
    if text.line > 1:
        return None
    while len(text.buffer) < _SMALL and text.grow():
        pass
    if text.at_end:
        try:
            return len(text.buffer), _load(memoryview(text.buffer)[text.position :])
        except _UNREADABLE:
            pass
    return None


class _Brackets:
    """Counts the brackets of the document at the window's position, each only once however the window grows."""

    __slots__ = ("_at", "_depth", "_text")

    def __init__(self, text: _Text) -> None:
        self._text = text
        self._at = 0  # from the position, which moves when the window grows
        self._depth = 0

    def closed(self, limit: int) -> int | None:
        """Where the first bracket is closed again, or None when that is not before `limit`.

        Raises:
            _BrokenError: a text runs over the end of its line, or a document begins where none can.
        """
        text = self._text
        buffer, start = text.buffer, text.position
        for token in _TOKEN.finditer(buffer, start + self._at, limit):
            end = token.end()
            first = buffer[token.start()]
            if first in b"{[":
                self._depth += 1
            elif first in b"}]":
                self._depth -= 1
                if self._depth == 0:
                    return end
            elif first == 0x0A:
                if text.before(token.start()) not in _BEFORE_VALUE:
                    raise _BrokenError(CUT_OFF + " before the next one begins", end)
            elif end - token.start() == 1:
                raise _BrokenError(CUT_OFF + " in a text", buffer.find(b"\n", end) + 1 or len(buffer))
            self._at = end - start
        return None


def _parse(text: _Text, end: int, report: Report) -> Any:
    """The value of the document up to `end`; NaN, invalid UTF-8 and lone surrogates, which the decoder refuses, too.

    Raises:
        _BrokenError: it is not JSON, or nested too deeply.
    """
    data, line = text.buffer[text.position : end], text.line
    try:
        return _load(data)
    except _UNREADABLE:
        pass
    try:
        decoded = data.decode()
    except UnicodeDecodeError as error:
        decoded = data.decode(errors="replace")
        report(line, f"invalid UTF-8 (byte {data[error.start]:#04x}) was replaced by U+FFFD", False)
    try:
        try:
            value = json.loads(decoded, strict=False)
        except RecursionError:
            return load_nested(decoded)
        return _without_surrogates(value, line, report) if "\\u" in decoded else value
    except RecursionError:
        reason = "the document is nested too deeply to read"
    except json.JSONDecodeError as error:
        reason = f"not JSON: {error.msg} at line {line + error.lineno - 1}, column {error.colno}"
    except ValueError as error:  # a number of thousands of digits
        reason = f"not JSON: {error}"
    raise _BrokenError(reason, end)


def _without_surrogates(value: Any, line: int, report: Report) -> Any:
    """Half of a surrogate pair, from text cut between its halves, cannot be written anywhere."""
    text = json.dumps(value, ensure_ascii=False)
    clean, count = _SURROGATE.subn("\ufffd", text)
    if not count:
        return value
    report(line, f"{count} lone surrogates were replaced by U+FFFD", False)
    return json.loads(clean)


def _salvaged(text: _Text, until: int) -> Iterator[tuple[int, Any]]:
    """Move on from a broken document to a line that begins with a bracket; yield what is whole inside it.

    What lies before `until` was searched once already. So that the cost stays linear, only lines that are documents
    by themselves are taken from there.
    """
    while True:
        if text.position >= until:
            until = 0  # it means nothing in the next window
        if not text.to_next_line():
            return
        if text.buffer[text.position] in _OPENERS:
            if not until:
                return
            try:
                value = _load(text.buffer[text.position : text.line_end()].rstrip(_SEPARATORS))
            except _UNREADABLE:
                pass
            else:
                yield text.line, value
        text.advance(text.line_end())


class _Text:
    """A window on the text: it begins at the document being read and ends at the end of a line (or of the text)."""

    __slots__ = ("_chunks", "_max_bytes", "_tail", "at_end", "buffer", "fault", "line", "position", "tidy")

    def __init__(self, chunks: Iterator[bytes], max_bytes: int, line: int = 1) -> None:
        self._chunks = chunks
        self._max_bytes = max_bytes
        self._tail: list[bytes] = []
        self.buffer = b""
        self.position = 0
        self.line = line
        self.at_end = False
        self.fault: FormatError | None = None
        self.tidy = True

    def to_next_line(self) -> bool:
        """Whether there is text at `position`, after reading more when needed."""
        while self.position >= len(self.buffer):
            self.buffer, self.position = b"", 0
            if not self.grow():
                return False
        return True

    def line_end(self) -> int:
        """Where the next line begins."""
        return self.buffer.find(b"\n", self.position) + 1 or len(self.buffer)

    def advance(self, end: int) -> None:
        """Move to `end`, counting lines as long as there are more to come."""
        if end < len(self.buffer) or not self.at_end:
            self.line += self.buffer.count(b"\n", self.position, end)
        self.position = end

    def skip_separators(self) -> bool:
        """Move over what may stand between documents, as far as the window goes; whether there was any."""
        start = self.position
        run = _SEPARATORS_RUN.match(self.buffer, start)
        self.advance(run.end() if run else start)
        return self.position > start

    def before(self, at: int) -> int:
        """The last byte before `at` that is not white space."""
        at -= 1
        while at > self.position and self.buffer[at] in b" \t\r\n":
            at -= 1
        return self.buffer[at]

    def grow(self) -> bool:
        """Read on by at least as much as the window holds, so that a long document is copied a bounded number of
        times; false at the end of the text.

        Raises:
            FormatError: the document in the window is longer than allowed.
        """
        if self.at_end:
            return False
        held = len(self.buffer) - self.position
        if held > self._max_bytes:
            raise self._too_long()
        pieces = [self.buffer[self.position :]] if held else []
        wanted = max(held, 1)
        found = 0
        while found < wanted and not self.at_end:
            pieces.append(self._block())
            found += len(pieces[-1])
        if found:
            self.buffer = b"".join(pieces)
            self.position = 0
        return found > 0

    def _block(self) -> bytes:
        """The next whole lines; the rest of the text when no line ends in it."""
        tail, self._tail = self._tail, []
        length = sum(map(len, tail))
        try:
            for chunk in self._chunks:
                cut = chunk.rfind(b"\n") + 1
                if cut:
                    if cut < len(chunk):
                        self._tail.append(chunk[cut:])
                    tail.append(chunk[:cut])
                    return b"".join(tail)
                tail.append(chunk)
                length += len(chunk)
                if length > self._max_bytes:
                    break
            else:
                self.at_end = True
        except FormatError as fault:
            self.fault = fault
            self.at_end = True
        if length > self._max_bytes:
            raise self._too_long()
        return b"".join(tail)

    def _too_long(self) -> FormatError:
        return FormatError(f"line {self.line}: expected a document of at most {self._max_bytes} bytes (--max-bytes)")
