"""Stored bytes -> spans and log records: the counterpart of `batch.Part.body`, compressed where that pays."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

import msgspec

from gpa.errors import FormatError
from gpa.ingest.compression import compression_of, unpacked
from gpa.ingest.formats.format import Note
from gpa.ingest.formats.otlp import logs_of, spans_of
from gpa.ingest.spans import LogRecord, Span
from gpa.ingest.spool.batch import Codec, Signal

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_WORTH_BYTES = 1024
"""A shorter body is stored as it is."""
_LEVEL = 1

_SPANS = msgspec.msgpack.Decoder(list[Span])
_LOGS = msgspec.msgpack.Decoder(list[LogRecord])


def packed(body: bytes) -> bytes:
    """The body as it is stored. Neither encoding begins as zstandard does, so that no flag is needed."""
    return body if len(body) < _WORTH_BYTES else zstd.compress(body, _LEVEL)


def records_of(rows: Iterable[tuple[Signal, Codec, bytes]], note: Note) -> tuple[list[Span], list[LogRecord]]:
    """The spans and log records of stored bodies, in the order of the rows. A damaged body is noted and left out."""
    spans: list[Span] = []
    logs: list[LogRecord] = []
    for signal, codec, data in rows:
        try:
            body = _unpacked(data)
            if signal == "spans":
                spans.extend(_SPANS.decode(body) if codec == "records" else spans_of(body, note))
            else:
                logs.extend(_LOGS.decode(body) if codec == "records" else logs_of(body, note))
        except (FormatError, msgspec.MsgspecError) as error:
            note(f"a stored batch cannot be read: {error}")
    return spans, logs


def _unpacked(data: bytes) -> bytes:
    name = compression_of(data[:4])
    return data if name != "zstd" else b"".join(_pieces(data))


def _pieces(data: bytes) -> Iterator[bytes]:
    return unpacked(iter((data,)), "zstd")
