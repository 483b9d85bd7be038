"""OTLP over gRPC: what is taken, and every status, as the protocol says."""

from __future__ import annotations

import asyncio
import gzip
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from gpa.ingest.receiver import ReceiverLimits, over_grpc
from gpa.ingest.spool import SpoolLimits
from tests.ingest.receiver.receiving import (
    LOGS,
    SPAN,
    TRACE,
    TRACES,
    Receiving,
    exporting,
    protobuf_of,
    receiving,
    request_of,
)

GOOD = protobuf_of(request_of(SPAN))
LIMIT = 20_000


class Outcome(NamedTuple):
    """How a call ended."""

    code: str
    message: str
    body: bytes
    status: Status | None


def call(
    address: str,
    body: bytes,
    method: str = TRACES,
    *,
    compression: grpc.Compression | None = None,
    metadata: Any = (),
    options: Any = (),
) -> Outcome:
    """One call with bytes as its message."""
    with grpc.insecure_channel(address, [("grpc.max_send_message_length", -1), *options]) as channel:
        try:
            answer = exporting(channel, method)(body, timeout=20, compression=compression, metadata=metadata)
        except grpc.RpcError as error:
            trailing: dict[str, Any] = dict(error.trailing_metadata())  # type: ignore[arg-type]  # pairs
            details = trailing.get("grpc-status-details-bin")
            status = Status.FromString(details) if details else None
            return Outcome(error.code().name, error.details() or "", b"", status)
        return Outcome("OK", "", answer, None)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiving]:
    limits = ReceiverLimits(body_bytes=LIMIT, unpacked_bytes=LIMIT)
    with receiving(tmp_path_factory.mktemp("receiver"), http=None, limits=limits) as running:
        yield running


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Receiving]:
    with receiving(tmp_path, http=None) as found:
        yield found


@pytest.mark.parametrize("compression", list(grpc.Compression))
def test_spans_and_log_records_are_stored(running: Receiving, compression: grpc.Compression) -> None:
    assert running.receiver.grpc
    record = {"traceId": TRACE, "spanId": SPAN["spanId"], "eventName": "e" * 500}
    logs = protobuf_of({"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]})
    spans = protobuf_of(request_of(SPAN | {"name": "n" * 500}))
    for method, body in ((TRACES, spans), (LOGS, logs), (TRACES, b"")):
        assert call(running.receiver.grpc, body, method, compression=compression) == ("OK", "", b"", None)
    arrived = running.spool.trace(TRACE)
    assert arrived is not None
    assert [(len(span.name), len(span.events)) for span in arrived.trace.spans] == [(500, 1)]


def test_a_message_of_many_megabytes_is_taken(running: Receiving) -> None:
    assert running.receiver.grpc
    request = ExportTraceServiceRequest.FromString(GOOD)
    span = request.resource_spans[0].scope_spans[0].spans[0]
    span.attributes.add(key="k").value.string_value = "x" * (12 << 20)
    for compression in (None, grpc.Compression.Gzip):
        assert call(running.receiver.grpc, request.SerializeToString(), compression=compression).code == "OK"
    arrived = running.spool.trace(TRACE)
    assert arrived is not None
    assert [len(span.attributes["k"]) for span in arrived.trace.spans] == [12 << 20]


def test_spans_without_ids_are_refused_and_the_others_kept(running: Receiving) -> None:
    assert running.receiver.grpc
    found = call(running.receiver.grpc, protobuf_of(request_of(SPAN, {"name": "no ids"})))
    partial = ExportTraceServiceResponse.FromString(found.body).partial_success
    assert (found.code, partial.rejected_spans, running.stored()) == ("OK", 1, 1)
    assert partial.error_message == "spans without a valid trace id (16 bytes) or span id (8 bytes) were refused"


def test_log_records_over_the_limit_of_a_trace_are_a_partial_success(tmp_path: Path) -> None:
    records = [{"traceId": TRACE, "spanId": SPAN["spanId"], "eventName": str(number)} for number in range(5)]
    body = protobuf_of({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]})
    with receiving(tmp_path, http=None, spool_limits=SpoolLimits(trace_records=3)) as found:
        assert found.receiver.grpc
        answer = call(found.receiver.grpc, body, LOGS)
        assert ExportLogsServiceResponse.FromString(answer.body).partial_success.rejected_log_records == 2


def as_gzip(data: bytes) -> bytes:
    return gzip.compress(data)


@pytest.mark.parametrize(
    ("body", "compression", "code", "message"),
    [
        pytest.param(b"\xff", None, "INVALID_ARGUMENT", "expected an OTLP export request in protobuf", id="bytes"),
        pytest.param(GOOD[:-1], None, "INVALID_ARGUMENT", "expected an OTLP export request", id="cut off"),
        pytest.param(as_gzip(GOOD)[:-9], None, "INVALID_ARGUMENT", "gzip data ends early", id="half a gzip"),
        pytest.param(
            bytes(10_000_000), grpc.Compression.Gzip, "RESOURCE_EXHAUSTED", "at most 20000 bytes unpacked", id="bomb"
        ),
    ],
)
def test_a_bad_request_is_answered_with_a_status_and_its_details(
    shared: Receiving, body: bytes, compression: grpc.Compression | None, code: str, message: str
) -> None:
    assert shared.receiver.grpc
    found = call(shared.receiver.grpc, body, compression=compression)
    assert found.code == code
    assert message in found.message
    assert found.status
    assert (found.status.message, len(found.status.details)) == (found.message, 0)


def test_a_message_that_is_too_large_is_refused_by_grpc_itself(shared: Receiving) -> None:
    assert shared.receiver.grpc
    assert call(shared.receiver.grpc, bytes(LIMIT + 1)).code == "RESOURCE_EXHAUSTED"


@pytest.mark.parametrize(
    "method",
    ["/opentelemetry.proto.collector.metrics.v1.MetricsService/Export", "/x.Y/Z", TRACES.replace("Export", "Import")],
)
def test_other_services_are_not_implemented(shared: Receiving, method: str) -> None:
    assert shared.receiver.grpc
    assert call(shared.receiver.grpc, GOOD, method).code == "UNIMPLEMENTED"


def test_a_full_spool_says_when_to_come_again(tmp_path: Path) -> None:
    with receiving(tmp_path, http=None, spool_limits=SpoolLimits(spool_bytes=1)) as running:
        assert running.receiver.grpc
        assert call(running.receiver.grpc, GOOD).code == "OK"
        found = call(running.receiver.grpc, GOOD)
        info = RetryInfo()
        assert found.status
        assert found.status.details[0].Unpack(info)
        assert (found.code, found.status.code, info.retry_delay.seconds) == ("UNAVAILABLE", 14, 30)


def test_what_is_under_way_is_bounded(tmp_path: Path) -> None:
    with receiving(tmp_path, http=None, limits=ReceiverLimits(in_flight_bytes=1, store_s=1)) as running:
        address = running.receiver.grpc
        assert address
        with running.spool._database.writing(), grpc.insecure_channel(address) as channel:
            waiting = exporting(channel).future(GOOD, timeout=20)
            codes: set[str] = set()
            while not waiting.done():
                found = call(address, GOOD)
                codes.add(found.message)
            codes.add(waiting.details())
        assert codes == {"too many requests are under way", "the spool does not answer in time"}
        assert waiting.code() is grpc.StatusCode.UNAVAILABLE
        deadline = time.monotonic() + 20  # a second may be too short for a busy disk: it is sent again, as clients do
        while call(address, GOOD).code != "OK":
            assert time.monotonic() < deadline


def test_a_call_without_a_message_and_one_that_never_ends_are_refused(tmp_path: Path) -> None:
    with receiving(tmp_path, http=None, limits=ReceiverLimits(read_s=0.3)) as running:
        assert running.receiver.grpc
        with grpc.insecure_channel(running.receiver.grpc) as channel:
            send: Any = channel.stream_unary(TRACES)
            over = threading.Event()
            codes = []
            for messages in (iter(()), (b"" for _ in range(1) if over.wait(10))):
                with pytest.raises(grpc.RpcError) as raised:
                    send(messages, timeout=20)
                codes.append(raised.value.code().name)
            over.set()
        assert codes == ["INVALID_ARGUMENT", "DEADLINE_EXCEEDED"]


def test_a_message_is_not_asked_for_while_others_are_being_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = threading.Event()

    class Places(asyncio.Semaphore):
        async def acquire(self) -> Literal[True]:
            got = await super().acquire()
            taken.set()
            return got

    monkeypatch.setattr(over_grpc, "_READING", 1)
    monkeypatch.setattr(asyncio, "Semaphore", Places)
    with receiving(tmp_path, http=None, limits=ReceiverLimits(read_s=2)) as running:
        assert running.receiver.grpc
        with grpc.insecure_channel(running.receiver.grpc) as channel:
            over = threading.Event()
            taken.clear()
            send: Any = channel.stream_unary(TRACES)
            stalled = send.future((b"" for _ in range(1) if over.wait(10)), timeout=20)
            assert taken.wait(10)
            began = time.monotonic()
            exporting(channel)(GOOD, timeout=20)
            waited_s = time.monotonic() - began
            assert stalled.exception(timeout=20).code() is grpc.StatusCode.DEADLINE_EXCEEDED
            over.set()
        assert running.stored() == 1
    assert waited_s > 0.2  # of the two seconds that the one before it was given


def test_a_client_that_leaves_costs_nothing(running: Receiving) -> None:
    assert running.receiver.grpc
    with running.spool._database.writing(), grpc.insecure_channel(running.receiver.grpc) as channel:
        left: list[Any] = [exporting(channel).future(GOOD, timeout=0.05) for _ in range(5)]
        assert {future.code().name for future in left} == {"DEADLINE_EXCEEDED"}
    assert call(running.receiver.grpc, GOOD).code == "OK"
    assert running.stored() == 1
