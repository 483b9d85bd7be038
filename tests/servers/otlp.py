"""A backend: takes OTLP logs, traces and metrics over HTTP and gRPC, keeps them, and refuses them when told to."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2, logs_service_pb2_grpc
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord

from tests.servers.serving import Response, serving

REQUESTS: dict[str, Any] = {
    "/v1/logs": logs_service_pb2.ExportLogsServiceRequest,
    "/v1/traces": ExportTraceServiceRequest,
    "/v1/metrics": ExportMetricsServiceRequest,
}


@dataclass
class Backend:
    """What arrived, and how it answers."""

    url: str = ""
    grpc: str = ""
    requests: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)
    """Path, headers, message; refused ones too."""
    accepts: Callable[[Any], bool] = lambda _: True
    refusal: int = 503
    arrived: threading.Condition = field(default_factory=threading.Condition)
    taken: list[Any] = field(default_factory=list)
    """Messages that were accepted."""

    def answer(self, _method: str, path: str, headers: dict[str, str], body: bytes) -> Response:
        message = REQUESTS[path].FromString(body)
        if not self.take(path, headers, message):
            return Response(self.refusal, raw=b"", headers={"retry-after": "30"} if self.refusal == 503 else {})
        return Response(200, raw=b"", headers={"content-type": "application/x-protobuf"})

    def take(self, path: str, headers: dict[str, str], message: Any) -> bool:
        with self.arrived:
            self.requests.append((path, headers, message))
            taken = self.accepts(message)
            if taken:
                self.taken.append(message)
            self.arrived.notify_all()
        return taken

    @property
    def records(self) -> list[LogRecord]:
        """The log records that were accepted."""
        return [
            record
            for message in list(self.taken)
            if isinstance(message, logs_service_pb2.ExportLogsServiceRequest)
            for held in message.resource_logs
            for scoped in held.scope_logs
            for record in scoped.log_records
        ]

    def wait_for(self, done: Callable[[], bool], timeout_s: float = 20.0) -> None:
        """Until that is so."""
        with self.arrived:
            assert self.arrived.wait_for(done, timeout_s), f"{len(self.requests)} requests, {len(self.taken)} taken"


class _Logs(logs_service_pb2_grpc.LogsServiceServicer):
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def Export(self, request: Any, context: Any) -> Any:  # noqa: N802 - gRPC's name
        headers = {key: value for key, value in context.invocation_metadata() if isinstance(value, str)}
        if not self._backend.take("grpc", headers, request):
            context.abort(grpc.StatusCode.UNAVAILABLE, "away")
        return logs_service_pb2.ExportLogsServiceResponse()


@contextmanager
def backend() -> Iterator[Backend]:
    """A backend on loopback, both protocols."""
    service = Backend()
    server = grpc.server(ThreadPoolExecutor(4))
    logs_service_pb2_grpc.add_LogsServiceServicer_to_server(_Logs(service), server)  # type: ignore[no-untyped-call]
    service.grpc = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        with serving(service):
            yield service
    finally:
        server.stop(0).wait()


def values(record: Any) -> dict[str, Any]:
    """The attributes of a record as plain values."""
    return {pair.key: _plain(pair.value) for pair in record.attributes}


def _plain(value: Any) -> Any:
    kind = value.WhichOneof("value")
    return [_plain(one) for one in value.array_value.values] if kind == "array_value" else getattr(value, kind)


def free_port() -> int:
    """A port nobody listens on just now."""
    with socket.create_server(("127.0.0.1", 0)) as bound:
        port: int = bound.getsockname()[1]
        return port
