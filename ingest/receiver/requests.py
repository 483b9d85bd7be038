"""Request bodies -> batches: unpacked within limits, checked, and cut up by trace.

Protobuf is parsed in native code to find out whether it is sound; of each span only the ids are looked at, and its
bytes are stored as they are. JSON goes through the reader that files go through.
Source: opentelemetry-proto, trace_service.proto, logs_service.proto; docs/specification.md, "JSON Protobuf Encoding".
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import orjson
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from gpa.errors import FormatError
from gpa.ingest.completion import OWN_SCOPE, is_own
from gpa.ingest.compression import compression_of, unpacked
from gpa.ingest.formats.otlp_json import FORMAT
from gpa.ingest.spans import LogRecord, Span
from gpa.ingest.spool.batch import Batch, Group, Part, Record, Signal, batch_of, digest, shared_fields

_TRACE_BYTES = 16
_SPAN_BYTES = 8
_SPREAD_BYTES = 128 << 20
"""Of a request whose traces each have a copy of what they share: a large resource with many small spans is a bomb."""
_JSON_VALUES = 1_000_000
"""In one request, about: each costs some 200 bytes in memory however short it is, so 64 MiB could take 4 GB."""
_SMALL_FIELDS = 3_000_000
"""In a large request in protobuf, about: an empty message has two bytes and takes up to 170 in memory, so that 64 MiB
of them would take 6 GB. Each has its length in it, a byte below 32; text has few of those, a usual span about 100."""
_LARGE_BYTES = 4 << 20
_LENGTHS = bytes(range(32))
_NO_TRACE = bytes(_TRACE_BYTES)
_NO_SPAN = bytes(_SPAN_BYTES)
_JSON_KEYS: dict[Signal, tuple[str, str]] = {
    "spans": ("resourceSpans", "resource_spans"),
    "logs": ("resourceLogs", "resource_logs"),
}
_INVALID_IDS = "spans without a valid trace id (16 bytes) or span id (8 bytes) were refused"


class TooLargeError(FormatError):
    """A body is larger than allowed, perhaps only without its compression."""


def unpack(body: bytes, encoding: str, max_bytes: int) -> bytes:
    """The body without the compression that its sender named: `gzip`, `zlib` or `zstd`.

    It is unpacked piece by piece, so that a bomb costs no more than `max_bytes`.

    Raises:
        FormatError: it is not compressed like that, or damaged.
        TooLargeError: it is too large without its compression.
    """
    found = compression_of(body[:4])
    if found != encoding:
        raise FormatError(f"expected {encoding} data, found {found or 'other bytes'}")
    pieces: list[bytes] = []
    size = 0
    for piece in unpacked(iter((body,)), encoding):
        size += len(piece)
        if size > max_bytes:
            raise TooLargeError(f"expected at most {max_bytes} bytes unpacked, found more")
        pieces.append(piece)
    return b"".join(pieces)


def protobuf_batch(data: bytes, signal: Signal) -> Batch:
    """What an export request in protobuf brings.

    Raises:
        FormatError: it is no such message.
        TooLargeError: it would take much more memory than its bytes.
    """
    if len(data) > _LARGE_BYTES:
        small = len(data) - len(data.translate(None, _LENGTHS))
        if small > _SMALL_FIELDS + len(data) // 32:
            raise TooLargeError(f"expected at most {_SMALL_FIELDS} small fields in one request: send fewer spans")
    try:
        if signal == "spans":
            return _Cut().traces(ExportTraceServiceRequest.FromString(data))
        return _Cut().logs(ExportLogsServiceRequest.FromString(data))
    except DecodeError as error:
        raise FormatError(f"expected an OTLP export request in protobuf, found {len(data)} other bytes") from error


class _Cut:
    """The parts of a request, as they fill."""

    __slots__ = ("_parts", "ignored", "refused", "size")

    def __init__(self) -> None:
        self._parts: dict[bytes, Part] = {}
        self.refused = 0
        self.ignored = 0
        self.size = 0

    def traces(self, request: ExportTraceServiceRequest) -> Batch:
        for held in request.resource_spans:
            resource = shared_fields(held.resource.SerializeToString(), held.schema_url)
            for scoped in held.scope_spans:
                if scoped.scope.name == OWN_SCOPE:
                    self.ignored += len(scoped.spans)
                    continue
                group = Group(resource, shared_fields(scoped.scope.SerializeToString(), scoped.schema_url))
                for span in scoped.spans:
                    trace_id, span_id, parent_id = span.trace_id, span.span_id, span.parent_span_id
                    if _is_valid(trace_id, span_id):
                        parent = parent_id if parent_id and parent_id != _NO_SPAN else None
                        data = span.SerializeToString()
                        place = self._place("spans", trace_id, group, len(data))
                        place.records.append(Record(span_id, digest(data), parent, len(place.groups) - 1, data))
                    else:
                        self.refused += 1
        return self._batch()

    def logs(self, request: ExportLogsServiceRequest) -> Batch:
        for held in request.resource_logs:
            resource = shared_fields(held.resource.SerializeToString(), held.schema_url)
            for scoped in held.scope_logs:
                if scoped.scope.name == OWN_SCOPE:
                    self.ignored += len(scoped.log_records)
                    continue
                group = Group(resource, shared_fields(scoped.scope.SerializeToString(), scoped.schema_url))
                for record in scoped.log_records:
                    if _is_valid(record.trace_id, record.span_id):
                        data = record.SerializeToString()
                        place = self._place("logs", record.trace_id, group, len(data))
                        at = len(place.groups) - 1
                        place.records.append(Record(record.span_id, digest(data), None, at, data))
                    else:  # it belongs to no span: valid, and nothing to judge (logs.proto, `trace_id`)
                        self.ignored += 1
        return self._batch()

    def _place(self, signal: Signal, trace_id: bytes, group: Group, size: int) -> Part:
        """The part of a trace, this group the last of its groups, for one more record of so many bytes."""
        part = self._parts.get(trace_id)
        if part is None:
            part = self._parts[trace_id] = Part(trace_id.hex(), signal, "protobuf", [], [])
        groups = part.groups
        if not groups or groups[-1] is not group:
            groups.append(group)
            size += len(group.resource) + len(group.scope)
        self.size += size
        if self.size > _SPREAD_BYTES:
            raise FormatError(
                f"expected at most {_SPREAD_BYTES} bytes once each trace has its resource and scope, found more"
            )
        return part

    def _batch(self) -> Batch:
        message = _INVALID_IDS if self.refused else ""
        return Batch(list(self._parts.values()), self.refused, self.ignored, message, self.size)


def _is_valid(trace_id: bytes, span_id: bytes) -> bool:
    """Ids of another length, or all zeros, are invalid (trace.proto, `trace_id` and `span_id`)."""
    return (
        len(trace_id) == _TRACE_BYTES and len(span_id) == _SPAN_BYTES and trace_id != _NO_TRACE and span_id != _NO_SPAN
    )


def json_batch(data: bytes, signal: Signal) -> Batch:
    """What an export request in JSON brings.

    Raises:
        FormatError: it is not JSON, or not the object of an export request.
    """
    request = _json_object(data)
    keys = _JSON_KEYS[signal]
    held: list[Any] = []
    for key in keys:
        value = request.get(key)
        if value is not None and not isinstance(value, list):
            raise FormatError(f"expected {key} to be a list, found {type(value).__name__}")
        held += value or ()
    notes: list[str] = []
    own = 0

    def foreign() -> Iterator[Span | LogRecord]:
        nonlocal own
        for item in FORMAT.read({keys[0]: held}, notes.append):
            if is_own(item):
                own += 1
            else:
                yield item

    batch = batch_of(foreign(), max_bytes=_SPREAD_BYTES)
    skipped = [note for note in notes if note.startswith("skipped")]
    lonely = sum("names no span" in note and "log" in note for note in skipped)
    batch.ignored = lonely + own
    batch.refused = len(skipped) - lonely
    batch.message = "; ".join(dict.fromkeys(note for note in skipped if "log record" not in note))
    return batch


def _json_object(data: bytes) -> dict[str, Any]:
    if sum(map(data.count, (b"{", b"[", b","))) > _JSON_VALUES:
        raise TooLargeError(
            f"expected at most {_JSON_VALUES} values in one request in JSON, found more: send fewer spans"
        )
    try:
        value = _json(data)
    except (RecursionError, ValueError) as error:
        raise FormatError(f"expected one JSON object, found {len(data)} other bytes: {error}") from error
    if not isinstance(value, dict):
        raise FormatError(f"expected a JSON object, found {type(value).__name__}")
    return value


def _json(data: bytes) -> Any:
    """The value; JavaScript writes half surrogate pairs, others NaN and raw control characters: these are no reason
    to lose a batch.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return json.loads(data.decode("utf-8", "replace"), strict=False)
