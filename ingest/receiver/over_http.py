"""OTLP over HTTP: one route a signal, and the routes for people and probes beside them.

Source: opentelemetry-proto, docs/specification.md, "OTLP/HTTP".
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from gpa.errors import FormatError, SpoolError
from gpa.ingest.receiver import replies
from gpa.ingest.receiver.intake import BusyError, Intake
from gpa.ingest.receiver.metrics import Metrics
from gpa.ingest.receiver.requests import TooLargeError
from gpa.ingest.receiver.settings import Tokens, is_loopback
from gpa.ingest.spool.batch import Signal

PROTOBUF = "application/x-protobuf"
JSON = "application/json"
_ENCODINGS = {"gzip": "gzip", "x-gzip": "gzip", "deflate": "zlib", "zlib": "zlib", "zstd": "zstd"}
"""Content codings to what `compression_of` calls them; `deflate` is zlib (RFC 9110, section 8.4.1.2)."""
_ACCEPTED = "gzip, deflate, zstd"
_PATHS: tuple[tuple[str, Signal], ...] = (("/v1/traces", "spans"), ("/v1/logs", "logs"))
_LEAST_BYTES_A_SECOND = 64 << 10
_OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""Probes know no token, and these say nothing about traces."""


class _RefusedError(Exception):
    """An answer other than success."""

    def __init__(
        self, http: int, code: int, message: str, *, retry_s: float | None = None, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.http = http
        self.code = code
        self.retry_s = retry_s
        self.headers = headers or {}


def application(
    intake: Intake,
    metrics: Metrics,
    *,
    tokens: Tokens,
    page: ASGIApp | None,
    readiness: Callable[[], str | None],
    local_only: bool,
) -> ASGIApp:
    """The ASGI application: OTLP, probes, metrics, and `page` for every other path."""
    routes: list[Any] = [Route(path, _Export(intake, metrics, signal)) for path, signal in _PATHS]
    routes.append(Route("/healthz", _healthz))
    routes.append(Route("/readyz", _readyz(readiness)))
    routes.append(Route("/metrics", _figures(metrics)))
    if page:
        routes.append(Mount("/", page))
    return _Door(Starlette(routes=routes), tokens, local_only=local_only)


class _Door:
    """Lets in who knows a token, and browsers only under a name of this machine when there is none."""

    def __init__(self, inside: ASGIApp, tokens: Tokens, *, local_only: bool) -> None:
        self._inside = inside
        self._tokens = tokens
        self._local_only = local_only

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = self._refusal(scope) if scope["type"] == "http" else None
        await (answer or self._inside)(scope, receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        path = scope["path"]
        headers = dict(scope["headers"])
        if path in _OPEN_PATHS:
            return None
        exports = path.startswith("/v1/")
        if not self._tokens.accept(headers.get(b"authorization", b"")):
            json = not headers.get(b"content-type", b"").startswith(PROTOBUF.encode())
            scheme = "Bearer" if exports else 'Basic realm="gpa", charset="UTF-8"'
            body = replies.status(replies.UNAUTHENTICATED, "expected a valid token", json=json)
            return Response(
                body,
                401,
                {"www-authenticate": scheme, "connection": "close"},
                JSON if json else PROTOBUF,
            )
        if self._local_only and not self._tokens and not exports and not _is_local(headers.get(b"host", b"")):
            # A web page elsewhere can have its name resolve to 127.0.0.1 and read what is served here.
            return PlainTextResponse("expected localhost as the name of this server\n", 421)
        return None


def _is_local(host: bytes) -> bool:
    name = host.decode("latin-1")
    if name.startswith("["):
        return is_loopback(name[1:].partition("]")[0])
    return is_loopback(name.partition(":")[0].lower())


class _Export:
    """The endpoint of one signal. A class, so that Starlette hands it the request as it is."""

    def __init__(self, intake: Intake, metrics: Metrics, signal: Signal) -> None:
        self._intake = intake
        self._metrics = metrics
        self._signal = signal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except ClientDisconnect:
            self._metrics.answered("http", self._signal, "disconnected")
            return
        self._metrics.answered("http", self._signal, str(response.status_code))
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        if request.method != "POST":
            return PlainTextResponse("Method Not Allowed", 405, {"allow": "POST"})
        json = _media_type(request) == JSON
        try:
            body = await self._accepted(request, json=json)
        except _RefusedError as refused:
            # A refused body is not read to its end, so the connection cannot be used again.
            headers = {"connection": "close", **refused.headers}
            if refused.retry_s is not None:
                headers["retry-after"] = str(max(1, round(refused.retry_s)))
            json = json or _media_type(request) != PROTOBUF
            body = replies.status(refused.code, str(refused), retry_s=refused.retry_s, json=json)
            return Response(body, refused.http, headers, JSON if json else PROTOBUF)
        return Response(body, 200, media_type=JSON if json else PROTOBUF)

    async def _accepted(self, request: Request, *, json: bool) -> bytes:
        if not json and _media_type(request) != PROTOBUF:
            found = request.headers.get("content-type", "none")
            raise _RefusedError(
                415, replies.INVALID_ARGUMENT, f"expected content type {PROTOBUF} or {JSON}, found {found}"
            )
        encoding = _encoding(request)
        intake = self._intake
        reserved = 0

        def reserve(size: int) -> None:
            nonlocal reserved
            intake.reserve(size)
            reserved += size

        try:
            data = await self._body(request, reserve)
            stored = await intake.take(data, self._signal, "http", json=json, encoding=encoding)
        except TooLargeError as error:
            raise _RefusedError(413, replies.INVALID_ARGUMENT, str(error)) from error
        except FormatError as error:
            raise _RefusedError(400, replies.INVALID_ARGUMENT, str(error)) from error
        except BusyError as error:
            raise _RefusedError(429, replies.UNAVAILABLE, str(error), retry_s=error.retry_s) from error
        except SpoolError as error:
            raise _RefusedError(503, replies.UNAVAILABLE, str(error), retry_s=error.retry_s or 30.0) from error
        finally:
            intake.free(reserved)
        return replies.success(self._signal, stored, json=json)

    async def _body(self, request: Request, reserve: Callable[[int], None]) -> bytes:
        """The body as it came, within its limits of size and time."""
        limits = self._intake.limits
        most = limits.body_bytes
        announced = request.headers.get("content-length", "")
        too_large = f"expected a body of at most {most} bytes"
        if announced.isdecimal() and int(announced) > most:
            await _discard(request, most)
            raise TooLargeError(f"{too_large}, found {announced}")
        loop = asyncio.get_running_loop()
        started = loop.time()
        pieces: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(limits.read_s) as timeout:
                async for piece in request.stream():
                    size += len(piece)
                    if size > most:
                        raise TooLargeError(f"{too_large}, found more")
                    reserve(len(piece))
                    pieces.append(piece)
                    timeout.reschedule(started + limits.read_s + size / _LEAST_BYTES_A_SECOND)
        except TimeoutError as error:
            raise _RefusedError(408, replies.DEADLINE_EXCEEDED, "the body came too slowly") from error
        return b"".join(pieces)


async def _discard(request: Request, most: int) -> None:
    """Read a body that is too large for a while: a client that is still sending does not look at the answer."""
    size = 0
    try:
        async with asyncio.timeout(5.0):
            async for piece in request.stream():
                size += len(piece)
                if size > 2 * most:
                    return
    except TimeoutError:
        return


def _media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _encoding(request: Request) -> str | None:
    given = request.headers.get("content-encoding", "").strip().lower()
    if given in {"", "identity"}:
        return None
    if given not in _ENCODINGS:
        message = f"expected content encoding {_ACCEPTED}, found {given}"
        raise _RefusedError(415, replies.INVALID_ARGUMENT, message, headers={"accept-encoding": _ACCEPTED})
    return _ENCODINGS[given]


async def _healthz(_: Request) -> Response:
    return PlainTextResponse("ok\n")


def _readyz(readiness: Callable[[], str | None]) -> Callable[[Request], Awaitable[Response]]:
    async def readyz(_: Request) -> Response:
        why = await run_in_threadpool(readiness)  # it may ask a database
        return PlainTextResponse(f"{why}\n" if why else "ready\n", 503 if why else 200)

    return readyz


def _figures(metrics: Metrics) -> Callable[[Request], Awaitable[Response]]:
    async def figures(_: Request) -> Response:
        from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

        body = await run_in_threadpool(generate_latest, metrics.registry)
        return Response(body, headers={"content-type": CONTENT_TYPE_LATEST})

    return figures
