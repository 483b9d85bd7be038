"""Events -> an OTLP endpoint, by the exporters of the OpenTelemetry SDK; one batch at a time, success or failure.

Queueing and trying again are not here: what is not yet delivered is remembered in the store (`gpa.live.delivery`),
because a queue in memory is lost with its process.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Literal, get_args
from urllib.parse import unquote, urlsplit, urlunsplit

from gpa.errors import UsageError
from gpa.ingest.completion import OWN_SCOPE
from gpa.telemetry.events import EVENT_NAME, Event

if TYPE_CHECKING:
    from opentelemetry.sdk._logs import ReadableLogRecord
    from opentelemetry.sdk._logs.export import LogRecordExporter
    from opentelemetry.sdk.resources import Resource

Protocol = Literal["grpc", "http/protobuf"]
PROTOCOLS: tuple[str, ...] = get_args(Protocol)

SCOPE = OWN_SCOPE
TIMEOUT_S = 10.0
_GRPC_PORT = 4317
_LOGS_PATH = "/v1/logs"
_EXPORTERS = "opentelemetry.exporter.otlp"
_TRANSIENT = re.compile(r"Transient error (.+) encountered while exporting")


class Endpoint:
    """Where events go; `str()` of it is safe to show (no credentials)."""

    def __init__(self, url: str, protocol: str | None = None, headers: Mapping[str, str] | None = None) -> None:
        """An endpoint of this URL: `http://host:4318`, `https://...`, or `host:4317`.

        The protocol is that of the port where none is named: gRPC on 4317, HTTP elsewhere. A URL without a path gets
        `/v1/logs` for HTTP, as `OTEL_EXPORTER_OTLP_ENDPOINT` does.

        Raises:
            UsageError: it is no such URL, or the protocol is unknown.
        """
        try:
            parts = urlsplit(url if "://" in url else f"http://{url}")
            host, port = parts.hostname, parts.port
        except ValueError as error:
            raise UsageError(
                f"--otlp: expected a URL such as http://localhost:4318, found {url!r} ({error})"
            ) from error
        if parts.scheme not in {"http", "https"} or not host:
            raise UsageError(f"--otlp: expected a URL such as http://localhost:4318, found {url!r}")
        if protocol is not None and protocol not in PROTOCOLS:
            raise UsageError(f"--protocol: expected {' or '.join(PROTOCOLS)}, found {protocol!r}")
        self.protocol = protocol or ("grpc" if port == _GRPC_PORT else "http/protobuf")
        self.headers = dict(headers or {})
        path = parts.path.rstrip("/")
        if self.protocol != "grpc" and not path.endswith(_LOGS_PATH):
            path += _LOGS_PATH
        self.url = urlunsplit((parts.scheme, parts.netloc, "" if self.protocol == "grpc" else path, parts.query, ""))
        self._shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]} ({self.protocol})"

    def base(self, signal: str) -> str:
        """The URL for another signal (`traces`, `metrics`) of the same backend."""
        return self.url if self.protocol == "grpc" else self.url.replace(_LOGS_PATH, f"/v1/{signal}")

    def __str__(self) -> str:
        return self._shown


class Sender:
    """Sends batches of events; `why` says what the last failure was."""

    def __init__(self, endpoint: Endpoint, exporter: LogRecordExporter, resource: Resource, heard: _Heard) -> None:
        self.endpoint = endpoint
        self._exporter, self._resource, self._heard = exporter, resource, heard
        self._stopped = False

    def send(self, events: Sequence[Event]) -> bool:
        """Whether the endpoint took them all. Blocks for as long as the timeout; never raises for a failure."""
        from opentelemetry.sdk._logs.export import LogRecordExportResult

        if not events:
            return True
        records = [_record(event, self._resource) for event in events]
        return self._exporter.export(records) is LogRecordExportResult.SUCCESS

    @property
    def why(self) -> str:
        """The exporter's own words about the last failure."""
        return self._heard.last or "no reason given"

    def stop(self) -> None:
        """Give up what is being sent, from any thread, and take no more."""
        if not self._stopped:
            self._stopped = True
            self._exporter.shutdown()  # type: ignore[no-untyped-call]  # the SDK's


@contextmanager
def opened(endpoint: Endpoint, *, timeout_s: float = TIMEOUT_S) -> Iterator[Sender]:
    """A sender as long as the block lasts.

    Raises:
        UsageError: the extra `otel` is not installed.
    """
    try:
        import opentelemetry.sdk._logs  # noqa: F401 - is it there?
    except ImportError as error:
        raise UsageError("--otlp needs the OpenTelemetry SDK: pip install 'agent-gpa[otel]'") from error
    logger = logging.getLogger(_EXPORTERS)
    heard, propagate = _Heard(), logger.propagate
    # The exporter logs each failed attempt; we say it once, in our own line (`Sender.why`).
    logger.addHandler(heard)
    logger.propagate = False
    sender = Sender(endpoint, _exporter(endpoint, timeout_s), resource(), heard)
    try:
        yield sender
    finally:
        sender.stop()
        logger.removeHandler(heard)
        logger.propagate = propagate


def parse_headers(text: str) -> dict[str, str]:
    """Headers as `OTEL_EXPORTER_OTLP_HEADERS` has them: `key=value,key2=value2`, values percent-encoded.

    Raises:
        UsageError: a part has no `=`.
    """
    headers: dict[str, str] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        key, found, value = part.partition("=")
        if not found or not key.strip():
            raise UsageError("--headers: expected key=value,key2=value2, found a part without a key or =")
        headers[unquote(key.strip()).lower()] = unquote(value.strip())
    return headers


def resource() -> Resource:
    """Who sends: `service.name` is `gpa` unless OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES say otherwise."""
    import os

    from opentelemetry.sdk.resources import Resource

    named = os.environ.get("OTEL_SERVICE_NAME") or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    return Resource.create({"service.version": version("agent-gpa")} | ({} if named else {"service.name": "gpa"}))


def _exporter(endpoint: Endpoint, timeout_s: float) -> LogRecordExporter:
    headers = endpoint.headers or None
    if endpoint.protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter as GrpcExporter

        return GrpcExporter(endpoint=endpoint.url, headers=headers, timeout=timeout_s)
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter as HttpExporter

    return HttpExporter(endpoint=endpoint.url, headers=headers, timeout=timeout_s)


def _record(event: Event, sender: Resource) -> ReadableLogRecord:
    from opentelemetry._logs import LogRecord, SeverityNumber
    from opentelemetry.context import Context
    from opentelemetry.sdk._logs import ReadableLogRecord
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

    # The evaluated span's own context. Without ids an empty one: never that of a span that happens to be current here.
    context = Context()
    if event.trace_id:
        ids = SpanContext(
            int(event.trace_id, 16), int(event.span_id or "0", 16), is_remote=True, trace_flags=TraceFlags(1)
        )
        context = set_span_in_context(NonRecordingSpan(ids), context)
    record = LogRecord(
        timestamp=event.time_ns,
        context=context,
        severity_text=event.severity,
        severity_number=SeverityNumber[event.severity],
        body=event.body,
        attributes=event.attributes,
        event_name=EVENT_NAME,
    )
    return ReadableLogRecord(record, sender, InstrumentationScope(SCOPE, version("agent-gpa")))


class _Heard(logging.Handler):
    """Remembers the last thing that was logged."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.last = ""

    def emit(self, record: logging.LogRecord) -> None:
        said = " ".join(record.getMessage().split())
        if "due to timeout, max retries or shutdown" in said and self.last:
            return  # what went wrong was said when it was tried
        transient = _TRANSIENT.match(said)
        self.last = (transient[1] if transient else said)[:300]
