"""Compressed bytes -> bytes, in bounded pieces: gzip, zlib and zstandard, told apart by their first bytes.

Members and frames may follow one another (collectors append a frame per flush, `cat` joins files), and layers may
be nested. Nothing is ever inflated further than the caller reads, so a bomb costs no memory.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from itertools import chain

from gpa.errors import FormatError

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"

_SKIPPABLE = range(0x184D2A50, 0x184D2A60)
"""Zstandard frames that carry no data (RFC 8878, section 3.1.2); parallel writers begin with one."""
_ZLIB_SECOND = b"\x01\x5e\x9c\xda"
_PIECE = 1 << 18
_LAYERS = 4


def compression_of(head: bytes) -> str | None:
    """`gzip`, `zstd`, `zlib`, or None, from the first four bytes."""
    if head[:2] == GZIP:
        return "gzip"
    if head[:4] == ZSTD or int.from_bytes(head[:4], "little") in _SKIPPABLE:
        return "zstd"
    if head[:1] == b"\x78" and head[1:2] in _ZLIB_SECOND and len(head) > 1:
        return "zlib"
    return None


def decompressed(chunks: Iterator[bytes], *, max_bytes: int) -> Iterator[bytes]:
    """The bytes with every layer of compression taken off; bytes that are not compressed pass as they are.

    Raises:
        FormatError: after the last good piece, when the data is damaged, ends early, or would exceed `max_bytes`.
    """
    layers = 0
    head, chunks = peek(chunks, 4)
    while name := compression_of(head):
        layers += 1
        if layers > _LAYERS:
            raise FormatError(f"compressed more than {_LAYERS} times over")
        chunks = unpacked(chunks, name)
        head, chunks = peek(chunks, 4)
    yield from limited(chunks, max_bytes) if layers else chunks


def unpacked(chunks: Iterator[bytes], name: str) -> Iterator[bytes]:
    """The bytes with one layer of compression taken off, the one that `compression_of` names, however many they are.

    Raises:
        FormatError: after the last good piece, when the data is damaged or ends early.
    """
    return _unzstd(chunks) if name == "zstd" else _inflate(chunks, name)


def limited(chunks: Iterator[bytes], max_bytes: int) -> Iterator[bytes]:
    """The chunks, up to `max_bytes` in all.

    Raises:
        FormatError: when there is more.
    """
    left = max_bytes
    for chunk in chunks:
        left -= len(chunk)
        if left < 0:
            raise FormatError(f"expected at most {max_bytes} bytes unpacked (--max-bytes), found more")
        yield chunk


def peek(chunks: Iterator[bytes], size: int) -> tuple[bytes, Iterator[bytes]]:
    """The first `size` bytes (fewer only when there are no more), and the chunks with those bytes still in them.

    A `FormatError` on the way is raised again when the returned chunks reach it.
    """
    held: list[bytes] = []
    length = 0
    rest = chunks
    try:
        for chunk in chunks:
            held.append(chunk)
            length += len(chunk)
            if length >= size:
                break
    except FormatError as error:
        rest = _raising(error)
    whole = b"".join(held)
    return whole[:size], chain([whole] if whole else [], rest)


def _raising(error: FormatError) -> Iterator[bytes]:
    raise error
    yield b""


def _inflate(chunks: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Gzip members or zlib streams, one after the other."""
    automatic = zlib.MAX_WBITS | 32  # either header, see zlib's inflateInit2
    inflater = zlib.decompressobj(automatic)
    fresh = True
    try:
        for chunk in chunks:
            data = chunk
            while data:
                if fresh and name == "gzip":
                    data = data.lstrip(b"\0")  # tape and block padding, as gzip itself allows
                    if not data:
                        break
                piece = inflater.decompress(data, _PIECE)
                if piece:
                    yield piece
                fresh = inflater.eof
                data = inflater.unused_data if fresh else inflater.unconsumed_tail
                if fresh:
                    inflater = zlib.decompressobj(automatic)
        if not fresh:
            piece = inflater.flush()
            if piece:
                yield piece
    except zlib.error as error:
        raise FormatError(f"expected {name} data, found damage: {error}") from error
    if not fresh:
        raise FormatError(f"{name} data ends early")


def _unzstd(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Zstandard frames, one after the other, data or skippable."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd

    frame = zstd.ZstdDecompressor()
    fresh = True
    try:
        for chunk in chunks:
            data = chunk
            while data or not (fresh or frame.needs_input):
                piece = frame.decompress(data, _PIECE)
                if piece:
                    yield piece
                fresh = frame.eof
                data = frame.unused_data if fresh else b""
                if fresh:
                    frame = zstd.ZstdDecompressor()
    except zstd.ZstdError as error:
        raise FormatError(f"expected zstd data, found damage: {error}") from error
    if not fresh:
        raise FormatError("zstd data ends early")
