"""Length-prefixed files -> messages: `[uint32 big-endian n][n bytes]`, repeated.

The Collector's file exporter writes protobuf so, and, with `compression: zstd`, any format with each message
compressed by itself. Source: opentelemetry-collector-contrib, fileexporter, file_writer.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpa.errors import FormatError
from gpa.ingest.compression import ZSTD
from gpa.ingest.documents import CUT_OFF, Report

_PREFIX = 4
_EMPTY = bytes(_PREFIX)
_STARTS = (b"\x0a", ZSTD, b"{")
"""Protobuf field 1, a zstd frame, a JSON object."""


def is_framed(head: bytes) -> bool:
    """Whether a file that begins so is length-prefixed: after empty messages comes one whose first byte is known.

    What begins as protobuf is taken for a bare message: as a length that byte would mean more than 160 MB.
    """
    if head.startswith(_STARTS[0]):
        return False
    at = 0
    while head.startswith(_EMPTY, at):
        at += _PREFIX
    return head.startswith(_STARTS, at + _PREFIX)


def read_frames(chunks: Iterator[bytes], *, max_bytes: int, report: Report) -> Iterator[tuple[int, bytes]]:
    """Each message that is not empty, with the offset of its length; `report` is told when the last is cut off.

    Raises:
        FormatError: a length exceeds `max_bytes`.
    """
    buffer = bytearray()
    offset = 0
    for chunk in chunks:
        buffer += chunk
        while len(buffer) >= _PREFIX:
            length = int.from_bytes(buffer[:_PREFIX], "big")
            if length > max_bytes:
                allowed = f"a message of at most {max_bytes} bytes (--max-bytes)"
                raise FormatError(f"byte {offset}: expected {allowed}, found length {length}")
            end = _PREFIX + length
            if len(buffer) < end:
                break
            if length:
                yield offset, bytes(buffer[_PREFIX:end])
            del buffer[:end]
            offset += end
    if buffer:
        report(offset, CUT_OFF, True)
