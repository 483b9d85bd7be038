"""What one request brings, cut up by trace: a light index of its records and their bytes, ready to be stored.

A record (span or log record) is known by its ids and a digest of its bytes: clients send again what was not
acknowledged in time, and what is already there is not stored twice. A record of the same span that differs is kept,
since a trace merges those when it is read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct, structs

from gpa.errors import FormatError
from gpa.ingest.spans import Event, LogRecord, Span

Signal = Literal["spans", "logs"]
Codec = Literal["protobuf", "records"]
"""How the bytes of a part are encoded: an OTLP message, or a MessagePack list of `Span` or `LogRecord`."""

_DIGEST_BYTES = 8
_RESOURCE = 1
_SCOPED = 2
_SCHEMA = 3
_LENGTH_DELIMITED = 2
_pack = msgspec.msgpack.encode


class Record(NamedTuple):
    """One span or log record."""

    span_id: bytes
    digest: bytes
    parent_id: bytes | None
    group: int
    """Its place in `Part.groups`."""
    data: bytes


class Group(NamedTuple):
    """What the records of one instrumentation scope share: encoded fields of `ResourceSpans` and `ScopeSpans`."""

    resource: bytes
    scope: bytes


class Part(Struct):
    """The records of one trace and signal in a request."""

    trace_id: str
    signal: Signal
    codec: Codec
    groups: list[Group] = []
    records: list[Record] = []

    def body(self, kept: Collection[int] | None = None) -> bytes:
        """The records as one message; only those at these places when `kept` is given."""
        records = self.records if kept is None else [self.records[at] for at in sorted(kept)]
        if self.codec == "records":
            return _pack([msgspec.Raw(record.data) for record in records])
        scoped: dict[int, list[bytes]] = {}
        for record in records:
            scoped.setdefault(record.group, []).append(field(_SCOPED, record.data))
        return b"".join(
            field(_RESOURCE, group.resource + field(_SCOPED, group.scope + b"".join(scoped[at])))
            for at, group in enumerate(self.groups)
            if at in scoped
        )


class Batch(Struct):
    """What one request brings."""

    parts: list[Part] = []
    refused: int = 0
    """Records that no trace can have, for want of valid ids."""
    ignored: int = 0
    """Log records that name no span: valid, but of no trace."""
    message: str = ""
    """Why, or what else was wrong, in words for the sender."""
    size: int = 0
    """Bytes of the request in memory."""

    @property
    def records(self) -> int:
        """How many records there are to store."""
        return sum(len(part.records) for part in self.parts)


def digest(data: bytes) -> bytes:
    """What tells records of the same span apart."""
    return blake2b(data, digest_size=_DIGEST_BYTES).digest()


def field(number: int, data: bytes) -> bytes:
    """A length-delimited protobuf field, tag and length included."""
    tag = number << 3 | _LENGTH_DELIMITED
    length = len(data)
    if length < 0x80:
        return bytes((tag, length)) + data
    head = bytearray((tag,))
    while length > 0x7F:
        head.append(length & 0x7F | 0x80)
        length >>= 7
    head.append(length)
    return bytes(head) + data


def shared_fields(holder: bytes, schema_url: str) -> bytes:
    """The fields that a resource (or scope) message of OTLP has beside its records: holder 1, schema URL 3."""
    schema = field(_SCHEMA, schema_url.encode("utf-8", "replace")) if schema_url else b""
    return field(_RESOURCE, holder) + schema


def batch_of(items: Iterable[Span | LogRecord], *, max_bytes: int | None = None) -> Batch:
    """Spans and log records that were read already, as a batch.

    Raises:
        FormatError: they take more than `max_bytes`, each with a copy of its resource.
    """
    parts: dict[tuple[str, Signal], Part] = {}
    size = 0
    for item in items:
        signal: Signal = "spans" if isinstance(item, Span) else "logs"
        part = parts.get((item.trace_id, signal))
        if part is None:
            part = parts[item.trace_id, signal] = Part(item.trace_id, signal, "records")
        data = _encoded(item)
        size += len(data)
        if max_bytes and size > max_bytes:
            raise FormatError(f"expected at most {max_bytes} bytes once each span has its resource, found more")
        parent = item.parent_id if isinstance(item, Span) else None
        part.records.append(Record(_key(item.span_id), digest(data), _key(parent) if parent else None, 0, data))
    return Batch(parts=list(parts.values()), size=size)


def _key(span_id: str) -> bytes:
    try:
        return bytes.fromhex(span_id)
    except ValueError:
        return span_id.encode("utf-8", "surrogatepass")


def _encoded(item: Span | LogRecord) -> bytes:
    """The item in MessagePack; what that cannot hold (integers beyond 64 bits, endless nesting) becomes text."""
    try:
        return _pack(item)
    except (OverflowError, RecursionError, TypeError, ValueError):
        pass
    if isinstance(item, LogRecord):
        return _pack(structs.replace(item, event=_plain_event(item.event)))
    return _pack(
        structs.replace(
            item,
            name=_plain(item.name),
            status_message=_plain(item.status_message),
            attributes=_plain_values(item.attributes),
            events=tuple(map(_plain_event, item.events)),
            links=tuple(structs.replace(link, attributes=_plain_values(link.attributes)) for link in item.links),
            resource=_plain_values(item.resource),
            scope=structs.replace(item.scope, name=_plain(item.scope.name), version=_plain(item.scope.version)),
        )
    )


def _plain_event(event: Event) -> Event:
    return Event(_plain(event.name), event.time_ns, _plain_values(event.attributes), _plain(event.body))


def _plain_values(values: dict[str, Any]) -> dict[str, Any]:
    return {_plain(key): _plain(value) for key, value in values.items()}


def _plain(value: Any) -> Any:
    try:
        _pack(value)
    except (OverflowError, RecursionError, TypeError, ValueError):
        try:
            text = value if isinstance(value, str) else repr(value)
        except RecursionError:
            return "(nested beyond reading)"
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value
