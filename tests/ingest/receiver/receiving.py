"""A receiver to send to, and what comes out of its spool."""

from __future__ import annotations

import base64
import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import grpc
from google.protobuf import json_format
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from gpa.ingest.assembly import read_traces
from gpa.ingest.receiver import Receiver, ReceiverLimits, start
from gpa.ingest.spool import Spool, SpoolLimits, open_spool
from gpa.ingest.transcript import Transcript, transcribe

PROTOBUF = "application/x-protobuf"
JSON = "application/json"
TRACE = "0af7651916cd43dd8448eb211c80319c"
TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
LOGS = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
SPAN = {"traceId": TRACE, "spanId": "b7ad6b7169203331", "name": "one", "startTimeUnixNano": "1"}
_IDS = frozenset(("traceId", "spanId", "parentSpanId"))


class Receiving(NamedTuple):
    """A receiver and its spool."""

    receiver: Receiver
    spool: Spool

    def post(self, path: str, body: Any, headers: Mapping[str, str]) -> Answer:
        """What HTTP answers."""
        assert self.receiver.http
        return post(self.receiver.http, path, body, headers)

    def stored(self) -> int:
        """How many spans of `TRACE` are there."""
        arrived = self.spool.trace(TRACE)
        return len(arrived.trace.spans) if arrived else 0


class Answer(NamedTuple):
    """An HTTP response."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@contextmanager
def receiving(
    folder: Path, *, limits: ReceiverLimits | None = None, spool_limits: SpoolLimits | None = None, **options: Any
) -> Iterator[Receiving]:
    """A receiver on free ports of loopback, its spool in a folder."""
    with (
        open_spool(folder / "spool", limits=spool_limits) as spool,
        start(spool, **{"http": "127.0.0.1:0", "grpc": "127.0.0.1:0", **options}, limits=limits) as receiver,
    ):
        yield Receiving(receiver, spool)


def post(url: str, path: str, body: Any, headers: Mapping[str, str], method: str = "POST") -> Answer:
    """What a server answers; an iterator as body is sent in chunks, without a length."""
    at = urlsplit(url)
    connection = http.client.HTTPConnection(at.hostname or "", at.port, timeout=30)
    try:
        connection.request(method, path, body, dict(headers), encode_chunked=hasattr(body, "__next__"))
        response = connection.getresponse()
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
    finally:
        connection.close()


def exporting(channel: grpc.Channel, method: str = TRACES) -> Any:
    """A method of a channel that takes and gives bytes."""
    export: Any = channel.unary_unary(method)
    return export


def request_of(*spans: Mapping[str, Any]) -> dict[str, Any]:
    """An export request of these spans."""
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def protobuf_of(request: Mapping[str, Any]) -> bytes:
    """The same request in protobuf."""
    kind = ExportLogsServiceRequest if "resourceLogs" in request else ExportTraceServiceRequest
    return json_format.ParseDict(_with_base64_ids(request), kind()).SerializeToString()


def json_of(request: Any) -> bytes:
    return json.dumps(request).encode()


def _with_base64_ids(value: Any) -> Any:
    """protobuf's own JSON has ids in base64, OTLP has them in hex."""
    if isinstance(value, dict):
        return {
            key: base64.b64encode(bytes.fromhex(held)).decode() if key in _IDS else _with_base64_ids(held)
            for key, held in value.items()
        }
    return [_with_base64_ids(item) for item in value] if isinstance(value, list) else value


def transcripts_of(*paths: Path) -> dict[str, Transcript]:
    """The transcripts of files, by trace."""
    return {trace.trace_id: transcribe(trace) for trace in read_traces(map(str, paths))}


def received(spool: Spool, trace_ids: Iterator[str] | dict[str, Any]) -> dict[str, Transcript]:
    """The transcripts of what a spool holds of these traces."""
    found = {trace_id: spool.trace(trace_id) for trace_id in trace_ids}
    return {trace_id: transcribe(arrived.trace) for trace_id, arrived in found.items() if arrived}
