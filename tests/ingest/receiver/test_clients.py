"""A trace sent by a real client gives the transcript that its file gives."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from tests.ingest.receiver.receiving import (
    JSON,
    LOGS,
    PROTOBUF,
    TRACES,
    Receiving,
    json_of,
    protobuf_of,
    received,
    receiving,
    transcripts_of,
)
from tests.ingest.receiver.test_over_grpc import call

ROOT = Path(__file__).parents[3]
RECORDED = ROOT / "fixtures" / "traces"
JAVASCRIPT = ROOT / "tests" / "js"
RECORDINGS = sorted(RECORDED.rglob("*.traces.jsonl"))
SENT = [
    RECORDED / "openinference-smolagents" / "travel_desk.traces.jsonl",
    RECORDED / "otel-genai-openai" / "ferry_chat.traces.jsonl",
]


def short(path: Path) -> str:
    return f"{path.parent.name}/{path.name.partition('.')[0]}"


def files_of(path: Path) -> list[Path]:
    """The recording, with its log records when it has a file of them."""
    logs = path.with_name(path.name.replace(".traces.", ".logs."))
    return [path, logs] if logs.exists() else [path]


def requests_of(*paths: Path) -> list[dict[str, Any]]:
    """Each line of an OTLP file is an export request."""
    return [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module", params=["json", "protobuf", "grpc"])
def by_transport(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Receiving]]:
    """A transport, and a receiver that is sent to over no other."""
    with receiving(tmp_path_factory.mktemp("receiver")) as running:
        yield request.param, running


@pytest.mark.parametrize("path", RECORDINGS, ids=short)
def test_a_recording_is_the_same_over_every_transport(by_transport: tuple[str, Receiving], path: Path) -> None:
    transport, running = by_transport
    for request in requests_of(*files_of(path)):
        signal = "logs" if "resourceLogs" in request else "traces"
        if transport == "grpc":
            assert running.receiver.grpc
            method = LOGS if signal == "logs" else TRACES
            assert call(running.receiver.grpc, protobuf_of(request), method).code == "OK"
        else:
            as_json = transport == "json"
            body = json_of(request) if as_json else protobuf_of(request)
            found = running.post(f"/v1/{signal}", body, {"content-type": JSON if as_json else PROTOBUF})
            assert found.status == 200
    expected = transcripts_of(*files_of(path))
    assert received(running.spool, expected) == expected


def value_of(value: Mapping[str, Any]) -> Any:
    held: Any
    kind, held = next(iter(value.items()), ("empty", None))
    if kind == "intValue":
        return int(held)
    if kind == "arrayValue":
        return [value_of(item) for item in held.get("values", ())]
    return attributes_of(held.get("values", ())) if kind == "kvlistValue" else held


def attributes_of(pairs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {pair["key"]: value_of(pair["value"]) for pair in pairs}


def context_of(trace_id: str, span_id: str) -> SpanContext:
    return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=False, trace_flags=TraceFlags(1))


def readable_spans(path: Path) -> Iterator[ReadableSpan]:
    """The recorded spans as the SDK holds them when they end."""
    for request in requests_of(path):
        for held in request["resourceSpans"]:
            resource = Resource(attributes_of(held["resource"]["attributes"]))
            for scoped in held["scopeSpans"]:
                scope = InstrumentationScope(scoped["scope"]["name"], scoped["scope"].get("version"))
                for span in scoped["spans"]:
                    parent = span.get("parentSpanId")
                    status = span.get("status", {})
                    yield ReadableSpan(
                        span["name"],
                        context_of(span["traceId"], span["spanId"]),
                        context_of(span["traceId"], parent) if parent else None,
                        resource,
                        attributes_of(span.get("attributes", ())),
                        [
                            Event(event["name"], attributes_of(event.get("attributes", ())), int(event["timeUnixNano"]))
                            for event in span.get("events", ())
                        ],
                        [Link(context_of(link["traceId"], link["spanId"])) for link in span.get("links", ())],
                        SpanKind(span["kind"] - 1),
                        status=Status(StatusCode(status.get("code", 0)), status.get("message")),
                        start_time=int(span["startTimeUnixNano"]),
                        end_time=int(span["endTimeUnixNano"]),
                        instrumentation_scope=scope,
                    )


def export(exporter: SpanExporter, path: Path) -> None:
    """Send the spans of a recording as an application would."""
    processor = BatchSpanProcessor(exporter, max_export_batch_size=5)
    for span in readable_spans(path):
        processor.on_end(span)
    processor.shutdown()  # type: ignore[no-untyped-call]  # the SDK's


def exporter_of(kind: str, http: str, grpc: str) -> SpanExporter:
    match kind:
        case "grpc":
            return GrpcExporter(endpoint=grpc, insecure=True)
        case "grpc, gzip":
            import grpc as library

            return GrpcExporter(endpoint=grpc, insecure=True, compression=library.Compression.Gzip)
        case "http, gzip":
            return HttpExporter(endpoint=f"{http}/v1/traces", compression=Compression.Gzip)
        case "http, deflate":
            return HttpExporter(endpoint=f"{http}/v1/traces", compression=Compression.Deflate)
    return HttpExporter(endpoint=f"{http}/v1/traces")


@pytest.mark.parametrize("kind", ["grpc", "grpc, gzip", "http", "http, gzip", "http, deflate"])
def test_the_python_sdk(tmp_path: Path, kind: str) -> None:
    with receiving(tmp_path) as running:
        assert running.receiver.http
        assert running.receiver.grpc
        for path in SENT:
            export(exporter_of(kind, running.receiver.http, running.receiver.grpc), path)
        expected = transcripts_of(*SENT)
        assert received(running.spool, expected) == expected


@pytest.mark.parametrize("kind", ["http", "proto", "grpc"])
def test_the_javascript_sdk(tmp_path: Path, kind: str) -> None:
    if not shutil.which("node"):
        pytest.skip("node is not installed")
    if not (JAVASCRIPT / "node_modules" / "@opentelemetry").is_dir():
        pytest.skip("the JavaScript SDK is not installed: npm install --prefix tests/js --no-package-lock")
    with receiving(tmp_path) as running:
        url = f"http://{running.receiver.grpc}" if kind == "grpc" else f"{running.receiver.http}/v1/traces"
        held = [held for request in requests_of(*SENT) for held in request["resourceSpans"]]
        command = ["node", str(JAVASCRIPT / "export.cjs"), kind, url]
        text = json.dumps({"resourceSpans": held})
        done = subprocess.run(command, input=text, text=True, capture_output=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        expected = transcripts_of(*SENT)
        assert received(running.spool, expected) == expected


@contextmanager
def rotel(protocol: str, endpoint: str, folder: Path) -> Iterator[dict[str, str]]:
    """An independent OTLP hop that forwards over this protocol; where it listens."""
    found = find_spec("rotel")
    if found is None or found.origin is None:
        pytest.skip("rotel is not installed (pip install rotel)")
    program = Path(found.origin).with_name("rotel-agent")
    ports = {}
    for kind in ("grpc", "http"):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            ports[kind] = f"127.0.0.1:{free.getsockname()[1]}"
    command = [str(program), "start", "--exporter", "otlp", "--otlp-exporter-protocol", protocol]
    command += ["--otlp-exporter-endpoint", endpoint, "--batch-timeout", "100ms"]
    command += ["--otlp-grpc-endpoint", ports["grpc"], "--otlp-http-endpoint", ports["http"]]
    with (folder / "rotel.log").open("wb") as log:
        try:
            process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
        except OSError as error:
            pytest.skip(f"rotel does not run here: {error}")
        try:
            for address in ports.values():
                _wait_for(address, process)
            yield ports
        finally:
            process.terminate()
            process.wait(20)


def _wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    host, port = address.split(":")
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if process.poll() is not None:
            pytest.skip(f"rotel does not run here: it ended with {process.returncode}")
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    raise AssertionError(f"nothing listens at {address}")


@pytest.mark.parametrize(("arriving", "leaving"), [("grpc", "http"), ("http, gzip", "grpc")])
def test_through_an_independent_hop(tmp_path: Path, arriving: str, leaving: str) -> None:
    expected = transcripts_of(*SENT)
    spans = sum(1 for path in SENT for _ in readable_spans(path))
    with receiving(tmp_path) as running:
        endpoint = f"http://{running.receiver.grpc}" if leaving == "grpc" else str(running.receiver.http)
        with rotel(leaving, endpoint, tmp_path) as ports:
            for path in SENT:
                export(exporter_of(arriving, f"http://{ports['http']}", ports["grpc"]), path)
            deadline = time.monotonic() + 30
            while time.monotonic() < deadline:
                found = [running.spool.trace(trace_id) for trace_id in expected]
                if sum(len(arrived.trace.spans) for arrived in found if arrived) == spans:
                    break
                time.sleep(0.05)
        assert received(running.spool, expected) == expected
