"""Compressed bytes come out as they went in, whole or with an error that says what is wrong."""

from __future__ import annotations

import gzip
import struct
import sys
import zlib
from collections.abc import Callable, Iterator

import pytest

from gpa.errors import FormatError
from gpa.ingest.compression import decompressed

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

TEXT = b"".join(b"line %d\n" % n for n in range(5000))
SKIPPABLE = struct.pack("<II", 0x184D2A50, 3) + b"abc"
LAYERS: dict[str, Callable[[bytes], bytes]] = {
    "nothing": bytes,
    "gzip": gzip.compress,
    "zlib": zlib.compress,
    "zstd": zstd.compress,
    "gzip members": lambda data: gzip.compress(data[:999]) + gzip.compress(data[999:]),
    "gzip with padding": lambda data: gzip.compress(data) + bytes(512),
    "zstd frames": lambda data: zstd.compress(data[:999]) + zstd.compress(b"") + zstd.compress(data[999:]),
    "zstd after a skippable frame": lambda data: SKIPPABLE + zstd.compress(data),
    "gzip of zstd": lambda data: gzip.compress(zstd.compress(data)),
}
COMPRESSED = {name: LAYERS[name] for name in ("gzip", "zlib", "zstd")}


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


def unpacked(data: bytes, max_bytes: int = 1 << 30) -> bytes:
    return b"".join(decompressed(pieces(data, 1000), max_bytes=max_bytes))


@pytest.mark.parametrize("size", [1, 3, 1 << 20])
@pytest.mark.parametrize("compress", LAYERS.values(), ids=LAYERS)
def test_every_layer_comes_off(compress: Callable[[bytes], bytes], size: int) -> None:
    assert b"".join(decompressed(pieces(compress(TEXT), size), max_bytes=len(TEXT))) == TEXT


@pytest.mark.parametrize("compress", COMPRESSED.values(), ids=COMPRESSED)
def test_data_that_ends_early_gives_what_is_there_and_then_raises(compress: Callable[[bytes], bytes]) -> None:
    data = compress(TEXT * 50)
    found: list[bytes] = []
    with pytest.raises(FormatError, match="ends early"):
        found.extend(decompressed(pieces(data[:-3], 100), max_bytes=1 << 30))
    assert (TEXT * 50).startswith(b"".join(found))
    assert found


@pytest.mark.parametrize("compress", COMPRESSED.values(), ids=COMPRESSED)
def test_damage_raises(compress: Callable[[bytes], bytes]) -> None:
    data = bytearray(compress(TEXT))
    data[len(data) // 2 :] = b"\xff" * 50
    with pytest.raises(FormatError, match=r"found damage|ends early"):
        unpacked(bytes(data))


@pytest.mark.parametrize("compress", COMPRESSED.values(), ids=COMPRESSED)
def test_a_bomb_stops_at_the_limit(compress: Callable[[bytes], bytes]) -> None:
    bomb = compress(bytes(50 << 20))
    found: list[bytes] = []
    with pytest.raises(FormatError, match="expected at most 1000000 bytes unpacked"):
        found.extend(decompressed(iter([bomb]), max_bytes=1_000_000))
    assert sum(map(len, found)) <= 1_000_000


def test_layers_without_end_are_refused() -> None:
    data = b"x"
    for _ in range(9):
        data = gzip.compress(data)
    with pytest.raises(FormatError, match="compressed more than 4 times over"):
        unpacked(data)


def test_the_limit_does_not_concern_bytes_that_are_not_compressed() -> None:
    assert unpacked(TEXT, max_bytes=1) == TEXT
