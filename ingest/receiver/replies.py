"""What goes back: success, partial success and errors, in protobuf and JSON.

`google.rpc.Status` and `RetryInfo` are small enough to be written field by field, which saves a dependency.
Source: opentelemetry-proto, docs/specification.md, "OTLP/HTTP Response", "OTLP/gRPC Response"; google/rpc/status.proto,
error_details.proto, code.proto.
"""

from __future__ import annotations

import math

import orjson
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from gpa.ingest.spool.adding import Stored
from gpa.ingest.spool.batch import Signal, field

INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
RESOURCE_EXHAUSTED = 8
UNAVAILABLE = 14
UNAUTHENTICATED = 16

_REJECTED: dict[Signal, str] = {"spans": "rejectedSpans", "logs": "rejectedLogRecords"}
_RETRY_INFO = b"type.googleapis.com/google.rpc.RetryInfo"


def success(signal: Signal, stored: Stored, *, json: bool = False) -> bytes:
    """The response to a request that was accepted, at least in part. Nothing but success is an empty message."""
    if json:
        if not stored.refused:
            return b"{}"
        # int64 is a text in protobuf's JSON.
        partial = {_REJECTED[signal]: str(stored.refused), "errorMessage": stored.message}
        return orjson.dumps({"partialSuccess": partial})
    if not stored.refused:
        return b""
    if signal == "spans":
        traces = ExportTraceServiceResponse()
        traces.partial_success.rejected_spans = stored.refused
        traces.partial_success.error_message = stored.message
        return traces.SerializeToString()
    logs = ExportLogsServiceResponse()
    logs.partial_success.rejected_log_records = stored.refused
    logs.partial_success.error_message = stored.message
    return logs.SerializeToString()


def status(code: int, message: str, *, retry_s: float | None = None, json: bool = False) -> bytes:
    """A `google.rpc.Status`, with a `RetryInfo` when the sender should come again."""
    if json:
        value: dict[str, object] = {"code": code, "message": message}
        if retry_s is not None:
            value["details"] = [{"@type": _RETRY_INFO.decode(), "retryDelay": f"{math.ceil(retry_s)}s"}]
        return orjson.dumps(value)
    data = b"\x08" + bytes((code,)) + field(2, message.encode("utf-8", "replace"))
    if retry_s is not None:
        seconds = b"\x08" + bytes((min(127, math.ceil(retry_s)),))
        data += field(3, field(1, _RETRY_INFO) + field(2, field(1, seconds)))
    return data
