"""First bytes -> whether a file is text and in which encoding; UTF-16 and UTF-32 -> UTF-8."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

_WHITE = (b"\n", b"\r", b"\t")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c\x1d\x7f]")
"""Bytes that no text has: an escape (terminal colours) and a record separator may occur."""
JSON_START = re.compile(rb"\s*(?:\{\s*(?:[\"}]|\Z)|\[\s*(?:[\[{]|\Z))").match
"""Matches where an object, or a list of objects, begins; not a log line that begins with a bracket."""
_EVEN = ~1
_BLANK = b" \t\r\n" + codecs.BOM_UTF8


def is_text(head: bytes) -> bool:
    """Whether a file that begins so is text, in UTF-8, UTF-16 or UTF-32.

    Protobuf can begin with what reads as a line break and a bracket, but has control characters soon after.
    """
    if not head or _encoding(head):
        return bool(head)
    if head[:1] not in _WHITE and head.lstrip(_BLANK)[:1] in {b"{", b"["}:
        return True
    return not _CONTROL.search(head)


def looks_like_json(head: bytes) -> bool:
    """Whether text that begins so is meant to be JSON, rather than a log or a README that begins with a bracket."""
    return bool(_encoding(head)) or bool(JSON_START(head.lstrip(_BLANK)))


def as_utf8(chunks: Iterator[bytes], head: bytes) -> Iterator[bytes]:
    """The chunks in UTF-8 when their first bytes are those of UTF-16 or UTF-32 text; else unchanged."""
    encoding = _encoding(head)
    if encoding is None:
        return chunks
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    return _recoded(chunks, decoder)


def _encoding(head: bytes) -> str | None:
    """UTF-16 or UTF-32 by byte order mark, or the zero bytes around ASCII (RFC 4627, section 3)."""
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for encoding, zeros in (("utf-16-be", head[0:6:2]), ("utf-16-le", head[1:6:2])):
        if zeros and not any(zeros) and JSON_START(head[: _EVEN & len(head)].decode(encoding, "replace").encode()):
            return encoding
    return None


def _recoded(chunks: Iterator[bytes], decoder: codecs.IncrementalDecoder) -> Iterator[bytes]:
    for chunk in chunks:
        yield decoder.decode(chunk).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")
