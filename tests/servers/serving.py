"""A threaded HTTP server on loopback whose handler is one method: request in, response out."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol


@dataclass
class Response:
    """What goes back: JSON, unless `raw` says otherwise."""

    status: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None

    def encoded(self) -> bytes:
        return json.dumps(self.body).encode() if self.raw is None else self.raw


class Service(Protocol):
    """Answers one HTTP request; called from many threads at once."""

    url: str

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Response: ...


@contextmanager
def serving(service: Service) -> Iterator[str]:
    """The base URL of a service, as long as the block lasts."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer("GET")

        def do_POST(self) -> None:
            self._answer("POST")

        def _answer(self, method: str) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            response = service.answer(method, self.path, headers, body)
            encoded = response.encoded()
            try:
                self.send_response(response.status)
                for name, value in {"content-type": "application/json", **response.headers}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(encoded)))
                self.end_headers()
                self.wfile.write(encoded)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the client timed out or was killed

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 256

        def handle_error(self, *_: object) -> None:  # a killed client resets its connection while it is read
            pass

    with Server(("127.0.0.1", 0), Handler) as server:
        service.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield service.url
        finally:
            server.shutdown()
            thread.join()
