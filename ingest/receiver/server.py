"""A receiver that listens: a thread with an event loop of its own, HTTP and gRPC on it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import uvicorn
from prometheus_client import CollectorRegistry

from gpa.errors import InputError
from gpa.ingest.receiver.connection import connection_class
from gpa.ingest.receiver.intake import Intake
from gpa.ingest.receiver.metrics import Metrics
from gpa.ingest.receiver.over_http import application
from gpa.ingest.receiver.settings import Address, ReceiverLimits, Tls, Tokens, address_of, check_exposure
from gpa.ingest.spool.spool import Spool

if TYPE_CHECKING:
    from grpc import aio
    from starlette.types import ASGIApp

_BACKLOG = 2048
_IDLE_S = 75
"""Between two requests of a connection: SDKs export every 5 s, collectors somewhat less often."""
_FILES = 65_536


def start(
    spool: Spool,
    *,
    http: str | None = "127.0.0.1:4318",
    grpc: str | None = "127.0.0.1:4317",
    limits: ReceiverLimits | None = None,
    tokens: Sequence[str] = (),
    tls: Tls | None = None,
    insecure: bool = False,
    page: ASGIApp | None = None,
    registry: CollectorRegistry | None = None,
    ready: Callable[[], str | None] | None = None,
) -> Receiver:
    """A receiver that listens on both ports, in a thread of its own.

    Args:
        spool: where batches go before they are acknowledged; it stays open when the receiver stops.
        http: where to listen for OTLP over HTTP, `HOST:PORT`; port 0 is any free one; None for nowhere.
        grpc: the same for gRPC.
        limits: what requests may take.
        tokens: when there are any, nobody gets in without one of them.
        tls: certificate and key, for both ports.
        insecure: an address that the network can reach is meant, even without a token.
        page: an ASGI application for every path over HTTP that is not the receiver's own.
        registry: what `/metrics` shows, the receiver's figures included.
        ready: says why the process is not ready beyond what the receiver knows, None when it is.

    Raises:
        UsageError: an address is none, or open to the network without a token.
        InputError: a port is taken, or the certificate cannot be used.
    """
    limits = limits or ReceiverLimits()
    http_at, grpc_at = (address_of(text) if text else None for text in (http, grpc))
    check_exposure([at for at in (http_at, grpc_at) if at], tokens=tokens, insecure=insecure)
    door = Tokens(tokens)
    registry = registry or CollectorRegistry()
    intake = Intake(spool, limits)
    metrics = intake.metrics = Metrics(registry, spool, lambda: intake.in_flight)
    _allow_many_files(limits.connections)
    receiver = Receiver(registry)

    def readiness() -> str | None:
        return spool.refusal() or (ready() if ready else None)

    async def serve(started: Future[None], stopping: asyncio.Event) -> None:
        async with contextlib.AsyncExitStack() as open_ports:
            open_ports.callback(intake.close)
            if grpc_at:
                from gpa.ingest.receiver.over_grpc import server

                made, port = server(intake, metrics, grpc_at, tokens=door, tls=tls)
                await made.start()
                open_ports.push_async_callback(_close_grpc, receiver, made)
                receiver.grpc = str(Address(grpc_at.host, port))
            if http_at:
                local_only = http_at.is_loopback
                app = application(intake, metrics, tokens=door, page=page, readiness=readiness, local_only=local_only)
                web, bound = _web_server(app, http_at, limits, tls)
                serving = asyncio.create_task(web.serve(sockets=[bound]))
                open_ports.push_async_callback(_close_http, receiver, web, serving)
                receiver.http = f"{'https' if tls else 'http'}://{Address(http_at.host, bound.getsockname()[1])}"
            started.set_result(None)
            await stopping.wait()

    receiver.run(serve)
    return receiver


class Receiver:
    """A running receiver; `start` makes it."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.http: str | None = None
        """The base URL of the HTTP port."""
        self.grpc: str | None = None
        """Host and port for gRPC."""
        self.registry = registry
        self.grace_s = 0.0
        """How long requests under way may take once it stops."""
        self._stop: Callable[[], None] | None = None
        self._thread: threading.Thread | None = None

    def run(self, serve: Callable[[Future[None], asyncio.Event], Coroutine[Any, Any, None]]) -> None:
        """Run `serve` in a thread until `stop`; returns, or raises what it raised, once it has started."""
        started: Future[None] = Future()

        async def main() -> None:
            stopping = asyncio.Event()
            loop = asyncio.get_running_loop()

            def stop() -> None:
                loop.call_soon_threadsafe(stopping.set)

            self._stop = stop
            await serve(started, stopping)

        def run() -> None:
            try:
                with asyncio.Runner(loop_factory=_loop_factory()) as runner:
                    runner.run(main())
            except BaseException as error:  # whatever it is, `start` waits for it
                if started.done():
                    raise
                started.set_exception(error)

        self._thread = threading.Thread(target=run, name="gpa-receiver", daemon=True)
        self._thread.start()
        started.result()

    def stop(self, grace_s: float = 5.0) -> None:
        """Take no more requests, answer those under way, at most so long, and close the ports."""
        if self._thread and self._stop:
            self.grace_s = grace_s
            with contextlib.suppress(RuntimeError):  # the loop has ended by itself
                self._stop()
            self._thread.join()
        self._thread = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


async def _close_grpc(receiver: Receiver, made: aio.Server) -> None:
    await made.stop(receiver.grace_s)


def _web_server(
    app: ASGIApp, address: Address, limits: ReceiverLimits, tls: Tls | None
) -> tuple[uvicorn.Server, socket.socket]:
    """A server that does not serve yet, and its socket, which takes connections already."""
    config = uvicorn.Config(
        app,
        http=connection_class(limits.read_s, limits.connections),
        ws="none",
        lifespan="off",
        loop="none",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=_BACKLOG,
        timeout_keep_alive=_IDLE_S,
        ssl_certfile=tls.certificate if tls else None,
        ssl_keyfile=tls.key if tls else None,
    )
    try:
        config.load()
    except OSError as error:  # `ssl.SSLError` is one
        assert tls is not None
        raise InputError(f"{tls.certificate}, {tls.key}: expected a certificate and its key: {error}") from error
    return uvicorn.Server(config), _bound(address)


async def _close_http(receiver: Receiver, web: uvicorn.Server, serving: asyncio.Task[None]) -> None:
    web.config.timeout_graceful_shutdown = max(1, round(receiver.grace_s))
    web.should_exit = True
    await serving


def _bound(address: Address) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        return socket.create_server((address.host, address.port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise InputError(f"{address}: cannot listen there for HTTP: {error.strerror or error}") from error


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:  # not on Windows
        return None
    return uvloop.new_event_loop


def _allow_many_files(connections: int) -> None:
    """Raise the soft limit on open files, often 1024, towards what so many connections need."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(2 * connections, _FILES) if hard == resource.RLIM_INFINITY else min(2 * connections, _FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
