"""OTLP over gRPC: the trace and logs services.

Messages are taken as bytes, still compressed: gRPC's own decompression inflates a message before it looks at its limit.
A call is declared as one of a stream, because the message of such a one comes only when it is asked for: until then its
sender has HTTP/2's window of 64 KiB. How large a message is shows when it is whole, so few are asked for at a time.
Source: opentelemetry-proto, docs/specification.md, "OTLP/gRPC".
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NoReturn

import grpc
from grpc import aio

from gpa.errors import FormatError, InputError, SpoolError
from gpa.ingest.compression import compression_of
from gpa.ingest.receiver import replies
from gpa.ingest.receiver.intake import BusyError, Intake
from gpa.ingest.receiver.metrics import Metrics
from gpa.ingest.receiver.requests import TooLargeError
from gpa.ingest.receiver.settings import Address, Tls, Tokens
from gpa.ingest.spool.batch import Signal

_SIGNALS: dict[str, Signal] = {
    "/opentelemetry.proto.collector.trace.v1.TraceService/Export": "spans",
    "/opentelemetry.proto.collector.logs.v1.LogsService/Export": "logs",
}
_CODES = {code.value[0]: code for code in grpc.StatusCode}
_DETAILS = "grpc-status-details-bin"
"""Where a `google.rpc.Status` travels (github.com/grpc/proposal, A66 and gRPC's guide on errors)."""
_STREAMS = 100
"""Requests under way on one connection."""
_READING = 8
"""Messages that are being read at a time, of all connections together: each may take 64 MiB."""
_Requests = AsyncIterator[bytes]
_Context = aio.ServicerContext[bytes, bytes]


def server(
    intake: Intake, metrics: Metrics, address: Address, *, tokens: Tokens, tls: Tls | None
) -> tuple[aio.Server, int]:
    """A server that is bound and not started yet, and its port.

    Raises:
        InputError: the port is taken, or the certificate cannot be used.
    """
    made = aio.server(
        options=(
            ("grpc.max_receive_message_length", intake.limits.body_bytes),
            ("grpc.per_message_decompression", 0),
            ("grpc.max_concurrent_streams", _STREAMS),
            ("grpc.max_metadata_size", 16 << 10),
            ("grpc.server_handshake_timeout_ms", int(intake.limits.read_s * 1000)),
            # Else a fast sender gets a window of hundreds of MiB, for calls too that nobody reads.
            ("grpc.http2.bdp_probe", 0),
            # SDKs keep their connection for good; one that says nothing for an hour is gone or forgotten.
            ("grpc.max_connection_idle_ms", 3_600_000),
            # Whoever vanished without a word is noticed.
            ("grpc.keepalive_time_ms", 120_000),
            ("grpc.keepalive_timeout_ms", 20_000),
            ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
            # Two receivers on one port would each get half of a trace.
            ("grpc.so_reuseport", 0),
        )
    )
    made.add_generic_rpc_handlers((_Services(intake, metrics, tokens),))
    try:
        if tls:
            credentials = grpc.ssl_server_credentials([(tls.key.read_bytes(), tls.certificate.read_bytes())])
            port = made.add_secure_port(str(address), credentials)
        else:
            port = made.add_insecure_port(str(address))
    except (OSError, RuntimeError, ValueError) as error:
        raise InputError(f"{address}: cannot listen there for gRPC: {error}") from error
    if not port:
        raise InputError(f"{address}: cannot listen there for gRPC")
    return made, port


class _Services(grpc.GenericRpcHandler):
    """Finds the handler of a call before its message is read."""

    def __init__(self, intake: Intake, metrics: Metrics, tokens: Tokens) -> None:
        self._intake = intake
        self._metrics = metrics
        self._tokens = tokens
        self._places = asyncio.Semaphore(_READING)
        self._handlers: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
            method: grpc.stream_unary_rpc_method_handler(self._export(signal)) for method, signal in _SIGNALS.items()
        }

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[bytes, bytes] | None:
        """The handler of a call; None for methods there are not, which gRPC answers with UNIMPLEMENTED."""
        method: Any = handler_call_details.method
        signal = _SIGNALS.get(method if isinstance(method, str) else method.decode())
        if signal is None:
            return None
        metadata = {key.lower(): value for key, value in handler_call_details.invocation_metadata or ()}
        if not self._tokens.accept(metadata.get("authorization", "")):
            return self._refusing(signal, replies.UNAUTHENTICATED, "expected a valid token")
        if self._intake.is_busy:
            return self._refusing(signal, replies.UNAVAILABLE, "too many requests are under way", retry_s=1.0)
        return self._handlers[method]

    def _refusing(
        self, signal: Signal, code: int, message: str, *, retry_s: float | None = None
    ) -> grpc.RpcMethodHandler[bytes, bytes]:
        """A handler that never reads what is sent."""

        async def refuse(_requests: _Requests, context: _Context) -> bytes:
            await self._abort(context, signal, code, message, retry_s=retry_s)

        return grpc.stream_unary_rpc_method_handler(refuse)

    def _export(self, signal: Signal) -> Callable[[_Requests, _Context], Awaitable[bytes]]:
        async def export(_requests: _Requests, context: _Context) -> bytes:
            retry_s: float | None = None
            try:
                return await self._stored(signal, context)
            except TimeoutError:
                code, message = replies.DEADLINE_EXCEEDED, "the message came too slowly"
            except TooLargeError as error:
                code, message = replies.RESOURCE_EXHAUSTED, str(error)
            except FormatError as error:
                code, message = replies.INVALID_ARGUMENT, str(error)
            except SpoolError as error:
                code, message, retry_s = replies.UNAVAILABLE, str(error), error.retry_s or 30.0
            # Only here, where the error is gone: gRPC keeps what is raised, and the error's frames hold the message.
            return await self._abort(context, signal, code, message, retry_s=retry_s)

        return export

    async def _stored(self, signal: Signal, context: _Context) -> bytes:
        """The response to a call whose spans are on disk."""
        intake = self._intake
        body = await self._message(context)
        try:
            encoding = compression_of(body[:4])  # none of these can begin a message of OTLP
            stored = await intake.take(body, signal, "grpc", json=False, encoding=encoding)
        finally:
            intake.free(len(body))
        self._metrics.answered("grpc", signal, "OK")
        return replies.success(signal, stored)

    async def _message(self, context: _Context) -> bytes:
        """The message of a call, read when there is a place for it, and counted from then on.

        Raises:
            TimeoutError: it comes too slowly.
            FormatError: there is none.
            BusyError: too much is under way already.
        """
        intake = self._intake
        async with self._places:
            if intake.is_busy:
                raise BusyError("too many requests are under way", retry_s=1.0)
            async with asyncio.timeout(intake.limits.read_s):
                # Not by the iterator of requests, which holds on to the message.
                body: Any = await context.read()
            if body is aio.EOF:
                raise FormatError("expected a message, found none")
            intake.reserve(len(body))
            return bytes(body)

    async def _abort(
        self, context: _Context, signal: Signal, code: int, message: str, *, retry_s: float | None = None
    ) -> NoReturn:
        self._metrics.answered("grpc", signal, _CODES[code].name)
        details = ((_DETAILS, replies.status(code, message, retry_s=retry_s)),)
        await context.abort(_CODES[code], message, trailing_metadata=details)
        raise AssertionError  # abort never returns
