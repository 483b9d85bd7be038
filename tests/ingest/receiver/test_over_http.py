"""OTLP over HTTP: what is taken, and every answer, as the protocol says."""

from __future__ import annotations

import gzip
import json
import random
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from backports import zstd
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from gpa.ingest.completion import OWN_SCOPE
from gpa.ingest.receiver import ReceiverLimits
from gpa.ingest.spool import SpoolLimits
from tests.ingest.receiver.receiving import (
    JSON,
    PROTOBUF,
    SPAN,
    TRACE,
    Receiving,
    json_of,
    post,
    protobuf_of,
    request_of,
)
from tests.ingest.receiver.receiving import receiving as a_receiver

ONE = request_of(SPAN)
RECORD = {"traceId": TRACE, "spanId": SPAN["spanId"], "eventName": "e"}
LOG = {"resourceLogs": [{"scopeLogs": [{"logRecords": [RECORD]}]}]}
LIMIT = 20_000


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiving]:
    limits = ReceiverLimits(body_bytes=LIMIT, unpacked_bytes=LIMIT)
    with a_receiver(tmp_path_factory.mktemp("receiver"), limits=limits) as running:
        yield running


@pytest.fixture
def receiving(tmp_path: Path) -> Iterator[Receiving]:
    with a_receiver(tmp_path, grpc=None) as running:
        yield running


def chunked(data: bytes) -> Iterator[bytes]:
    yield from (data[at : at + 7] for at in range(0, len(data), 7))


def as_is(data: bytes) -> bytes:
    return data


@pytest.mark.parametrize("sent", [as_is, chunked], ids=["with a length", "chunked"])
@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        pytest.param(None, as_is, id="plain"),
        pytest.param("identity", as_is, id="identity"),
        pytest.param("gzip", gzip.compress, id="gzip"),
        pytest.param("deflate", zlib.compress, id="deflate"),
        pytest.param("zstd", zstd.compress, id="zstd"),
    ],
)
@pytest.mark.parametrize(
    ("content_type", "encoded", "answer"),
    [
        pytest.param(PROTOBUF, protobuf_of, b"", id="protobuf"),
        pytest.param(JSON, json_of, b"{}", id="JSON"),
        pytest.param("Application/JSON; charset=utf-8", json_of, b"{}", id="JSON with charset"),
    ],
)
def test_a_request_is_stored_and_answered_in_its_encoding(
    shared: Receiving,
    content_type: str,
    encoded: Callable[[Any], bytes],
    answer: bytes,
    encoding: str | None,
    packed: Callable[[bytes], bytes],
    sent: Callable[[bytes], Any],
) -> None:
    headers = {"content-type": content_type} | ({"content-encoding": encoding} if encoding else {})
    trace_id = f"{random.getrandbits(127) + 1:032x}"
    for path, request in (("/v1/traces", ONE), ("/v1/logs", LOG)):
        body = encoded(json.loads(json.dumps(request).replace(TRACE, trace_id)))
        found = shared.post(path, sent(packed(body)), headers)
        assert (found.status, found.body) == (200, answer)
        assert found.headers["content-type"] == content_type.lower().partition(";")[0]
    arrived = shared.spool.trace(trace_id)
    assert arrived is not None
    assert [(span.name, [event.name for event in span.events]) for span in arrived.trace.spans] == [("one", ["e"])]


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        pytest.param(PROTOBUF, b"", id="protobuf"),
        pytest.param(JSON, b"{}", id="JSON"),
        pytest.param(JSON, b'{"resourceSpans": []}', id="JSON with an empty list"),
        pytest.param(JSON, b'{"resourceSpans": null, "unknown": 5}', id="JSON with null and an unknown field"),
    ],
)
def test_an_empty_request_is_a_success(shared: Receiving, content_type: str, body: bytes) -> None:
    found = shared.post("/v1/traces", body, {"content-type": content_type})
    assert (found.status, found.body) == (200, b"" if content_type == PROTOBUF else b"{}")


BAD_SPANS = [
    SPAN | {"spanId": "b7ad6b7169203332"},
    SPAN | {"traceId": "0" * 32},
    SPAN | {"spanId": "0" * 16},
    {"name": "no ids"},
]


def test_spans_without_ids_are_refused_and_the_others_kept(receiving: Receiving) -> None:
    found = receiving.post("/v1/traces", protobuf_of(request_of(*BAD_SPANS)), {"content-type": PROTOBUF})
    partial = ExportTraceServiceResponse.FromString(found.body).partial_success
    assert (found.status, partial.rejected_spans, receiving.stored()) == (200, 3, 1)
    assert partial.error_message == "spans without a valid trace id (16 bytes) or span id (8 bytes) were refused"
    found = receiving.post("/v1/traces", json_of(request_of(*BAD_SPANS)), {"content-type": JSON})
    partial_json = json.loads(found.body)["partialSuccess"]
    assert (found.status, partial_json["rejectedSpans"]) == (200, "3")
    assert partial_json["errorMessage"].startswith("skipped: span has no ")


@pytest.mark.parametrize(
    ("content_type", "encoded"),
    [
        pytest.param(PROTOBUF, protobuf_of, id="protobuf"),
        pytest.param(JSON, json_of, id="JSON"),
        pytest.param(JSON, lambda request: json_of(request).replace(b"scopeSpans", b"scope_spans"), id="snake case"),
    ],
)
def test_what_we_sent_ourselves_is_no_input(
    receiving: Receiving, content_type: str, encoded: Callable[[Any], bytes]
) -> None:
    request = request_of(SPAN)
    request["resourceSpans"][0]["scopeSpans"].append({"scope": {"name": OWN_SCOPE}, "spans": [BAD_SPANS[0]]})
    found = receiving.post("/v1/traces", encoded(request), {"content-type": content_type})
    assert (found.status, receiving.stored()) == (200, 1)


def test_log_records_of_no_span_are_taken_without_a_word(receiving: Receiving) -> None:
    request = {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": {"stringValue": "started"}}]}]}]}
    for content_type, body, answer in ((PROTOBUF, protobuf_of(request), b""), (JSON, json_of(request), b"{}")):
        found = receiving.post("/v1/logs", body, {"content-type": content_type})
        assert (found.status, found.body) == (200, answer)


def test_records_over_the_limit_of_a_trace_are_a_partial_success(tmp_path: Path) -> None:
    records = [{"traceId": TRACE, "spanId": SPAN["spanId"], "eventName": str(number)} for number in range(5)]
    request = {"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}
    with a_receiver(tmp_path, grpc=None, spool_limits=SpoolLimits(trace_records=3)) as running:
        found = running.post("/v1/logs", protobuf_of(request), {"content-type": PROTOBUF})
        partial = ExportLogsServiceResponse.FromString(found.body).partial_success
        assert (found.status, partial.rejected_log_records) == (200, 2)
        assert partial.error_message == f"trace {TRACE} has more than 3 spans and log records"


GOOD = protobuf_of(ONE)


@pytest.mark.parametrize(
    ("headers", "body", "status", "message"),
    [
        pytest.param(
            {"content-type": PROTOBUF}, b"\xff", 400, "expected an OTLP export request in protobuf", id="bytes"
        ),
        pytest.param({"content-type": PROTOBUF}, GOOD[:-1], 400, "expected an OTLP export request", id="cut off"),
        pytest.param({"content-type": JSON}, b"{", 400, "expected one JSON object", id="cut off JSON"),
        pytest.param(
            {"content-type": JSON}, b"", 400, "expected one JSON object, found 0 other bytes", id="empty JSON"
        ),
        pytest.param({"content-type": JSON}, b"[1]", 400, "expected a JSON object, found list", id="JSON list"),
        pytest.param(
            {"content-type": JSON}, b"{}{}", 400, "expected one JSON object, found 4 other bytes", id="two objects"
        ),
        pytest.param(
            {"content-type": JSON}, b'{"resourceSpans":{}}', 400, "expected resourceSpans to be a list", id="wrong type"
        ),
        pytest.param(
            {"content-type": PROTOBUF, "content-encoding": "gzip"}, GOOD, 400, "expected gzip data", id="not gzip"
        ),
        pytest.param(
            {"content-type": PROTOBUF, "content-encoding": "gzip"},
            gzip.compress(GOOD)[:-9],
            400,
            "gzip data ends early",
            id="half a gzip",
        ),
        pytest.param(
            {"content-type": JSON, "content-encoding": "zstd"},
            zstd.compress(b"{" * 30)[:-3],
            400,
            "zstd data ends early",
            id="half a zstd",
        ),
        pytest.param({"content-type": PROTOBUF}, bytes(LIMIT + 1), 413, "expected a body of at most", id="too large"),
        pytest.param(
            {"content-type": PROTOBUF},
            iter([bytes(LIMIT), b"1"]),
            413,
            "expected a body of at most",
            id="too many chunks",
        ),
        pytest.param(
            {"content-type": JSON, "content-encoding": "gzip"},
            gzip.compress(bytes(10_000_000)),
            413,
            "expected at most 20000 bytes unpacked, found more",
            id="gzip bomb",
        ),
        pytest.param(
            {"content-type": JSON, "content-encoding": "zstd"},
            zstd.compress(bytes(50_000_000)),
            413,
            "expected at most 20000 bytes unpacked, found more",
            id="zstd bomb",
        ),
        pytest.param({"content-type": "text/plain"}, GOOD, 415, "found text/plain", id="text"),
        pytest.param({}, GOOD, 415, "found none", id="no content type"),
        pytest.param(
            {"content-type": PROTOBUF, "content-encoding": "br"}, GOOD, 415, "found br", id="unknown encoding"
        ),
    ],
)
def test_a_bad_request_is_answered_with_a_status_in_its_encoding(
    shared: Receiving, headers: dict[str, str], body: Any, status: int, message: str
) -> None:
    found = shared.post("/v1/traces", body, headers)
    assert found.status == status
    if headers.get("content-type") == PROTOBUF:
        said = Status.FromString(found.body)
        assert found.headers["content-type"] == PROTOBUF
        assert (said.code, len(said.details)) == (3, 0)
        assert message in said.message
    else:
        said_json = json.loads(found.body)
        assert (found.headers["content-type"], said_json["code"]) == (JSON, 3)
        assert message in said_json["message"]
    assert shared.stored() == 0
    if status == 415 and "content-encoding" in headers:
        assert found.headers["accept-encoding"] == "gzip, deflate, zstd"


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        pytest.param(JSON, b'{"a":[' + b"{}," * 1_000_000 + b"0]}", id="JSON"),
        pytest.param(PROTOBUF, b"\x0a\x00" * 3_000_000, id="protobuf"),
    ],
)
def test_many_empty_values_are_too_large_whatever_their_bytes(
    receiving: Receiving, content_type: str, body: bytes
) -> None:
    assert receiving.post("/v1/traces", body, {"content-type": content_type}).status == 413


@pytest.mark.parametrize(
    ("written", "read"),
    [
        pytest.param(rb'"half \ud83d"', "half \ufffd", id="half of a surrogate pair"),
        pytest.param(b'"bell \x07"', "bell \x07", id="a control character"),
        pytest.param(b'"\xff"', "\ufffd", id="no UTF-8"),
    ],
)
def test_text_that_json_forbids_costs_no_batch(receiving: Receiving, written: bytes, read: str) -> None:
    body = json_of(ONE).replace(b'"one"', written)
    assert receiving.post("/v1/traces", body, {"content-type": JSON}).status == 200
    arrived = receiving.spool.trace(TRACE)
    assert arrived is not None
    assert arrived.trace.spans[0].name == read


def test_a_resource_that_every_trace_would_repeat_is_refused(receiving: Receiving) -> None:
    spans = [SPAN | {"traceId": f"{number:032x}"} for number in range(1, 300)]
    request = request_of(*spans)
    request["resourceSpans"][0]["resource"] = {"attributes": [{"key": "k", "value": {"stringValue": "x" * 1_000_000}}]}
    for content_type, body in ((PROTOBUF, protobuf_of(request)), (JSON, json_of(request))):
        found = receiving.post("/v1/traces", body, {"content-type": content_type})
        assert (found.status, b"expected at most" in found.body) == (400, True)


@pytest.mark.parametrize("path", ["/v1/metrics", "/", "/v2/traces"])
def test_other_paths_are_not_found(shared: Receiving, path: str) -> None:
    assert shared.post(path, GOOD, {"content-type": PROTOBUF}).status == 404


def test_other_methods_are_not_allowed(shared: Receiving) -> None:
    assert shared.receiver.http
    found = post(shared.receiver.http, "/v1/traces", None, {}, "GET")
    assert (found.status, found.headers["allow"]) == (405, "POST")


def test_a_full_spool_says_when_to_come_again(tmp_path: Path) -> None:
    with a_receiver(tmp_path, grpc=None, spool_limits=SpoolLimits(spool_bytes=1)) as running:
        assert running.post("/v1/traces", GOOD, {"content-type": PROTOBUF}).status == 200
        found = running.post("/v1/traces", GOOD, {"content-type": PROTOBUF})
        said = Status.FromString(found.body)
        info = RetryInfo()
        assert said.details[0].Unpack(info)
        assert (found.status, found.headers["retry-after"], said.code, info.retry_delay.seconds) == (503, "30", 14, 30)
        found = running.post("/v1/traces", json_of(ONE), {"content-type": JSON})
        assert json.loads(found.body)["details"][0]["retryDelay"] == "30s"
        ready = running.post("/readyz", None, {})
        assert (ready.status, ready.body) == (405, b"Method Not Allowed")
        assert running.receiver.http
        ready = post(running.receiver.http, "/readyz", None, {}, "GET")
        assert (ready.status, ready.body) == (503, b"the spool is full\n")


def test_too_many_bytes_under_way_are_too_many_requests(tmp_path: Path) -> None:
    limits = ReceiverLimits(in_flight_bytes=100)
    with a_receiver(tmp_path, grpc=None, limits=limits) as running:
        found = running.post("/v1/traces", iter([bytes(60), bytes(60)]), {"content-type": PROTOBUF})
        assert (found.status, found.headers["retry-after"]) == (429, "1")
        assert running.post("/v1/traces", GOOD[:0], {"content-type": PROTOBUF}).status == 200


def test_a_batch_that_waits_too_long_is_to_be_sent_again(tmp_path: Path) -> None:
    with a_receiver(tmp_path, grpc=None, limits=ReceiverLimits(store_s=0.1)) as running:
        with running.spool._database.writing():
            found = running.post("/v1/traces", GOOD, {"content-type": PROTOBUF})
            assert (found.status, found.headers["retry-after"]) == (503, "5")
        assert running.post("/v1/traces", GOOD, {"content-type": PROTOBUF}).status == 200
        assert running.stored() == 1


def test_probes_and_metrics(receiving: Receiving) -> None:
    assert receiving.receiver.http
    receiving.post("/v1/traces", GOOD, {"content-type": PROTOBUF})
    receiving.post("/v1/traces", GOOD, {"content-type": PROTOBUF})
    receiving.post("/v1/traces", b"\xff", {"content-type": PROTOBUF})
    found = {path: post(receiving.receiver.http, path, None, {}, "GET") for path in ("/healthz", "/readyz", "/metrics")}
    assert [answer.status for answer in found.values()] == [200, 200, 200]
    lines = found["/metrics"].body.decode().splitlines()
    for line in (
        'gpa_receiver_requests_total{code="200",signal="spans",transport="http"} 2.0',
        'gpa_receiver_requests_total{code="400",signal="spans",transport="http"} 1.0',
        'gpa_receiver_records_total{outcome="stored",signal="spans"} 1.0',
        'gpa_receiver_records_total{outcome="duplicate",signal="spans"} 1.0',
        "gpa_spool_open_traces 1.0",
        "gpa_receiver_in_flight_bytes 0.0",
    ):
        assert line in lines


async def _page(scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": scope["path"].encode()})


def test_a_page_gets_every_other_path(tmp_path: Path) -> None:
    with a_receiver(tmp_path, grpc=None, page=_page) as running:
        url = running.receiver.http
        assert url
        assert post(url, "/", None, {}, "GET").body == b"/"
        assert post(url, "/traces/x", None, {}, "GET").body == b"/traces/x"
        assert post(url, "/healthz", None, {}, "GET").body == b"ok\n"
        assert post(url, "/v1/traces", None, {}, "GET").status == 405


@pytest.mark.parametrize(
    ("host", "status"),
    [
        pytest.param("localhost:4318", 200, id="name"),
        pytest.param("127.0.0.1:4318", 200, id="address"),
        pytest.param("[::1]:4318", 200, id="IPv6"),
        pytest.param("evil.example:4318", 421, id="a name that resolves to this machine"),
        pytest.param("", 421, id="none"),
    ],
)
def test_the_page_is_shown_under_names_of_this_machine_only(tmp_path: Path, host: str, status: int) -> None:
    with a_receiver(tmp_path, grpc=None, page=_page) as running:
        assert running.receiver.http
        assert post(running.receiver.http, "/", None, {"host": host}, "GET").status == status
        assert post(running.receiver.http, "/v1/traces", b"", {"host": host, "content-type": PROTOBUF}).status == 200
