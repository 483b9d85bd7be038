"""uvicorn's HTTP connection with limits of its own: on silence before a request, on the size of its head, on numbers.

uvicorn closes a connection that is idle between requests, but waits without end for the first one and for a head that
comes byte by byte, and keeps a head of any size.
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_HEAD_BYTES = 64 << 10
_ANSWER = b"HTTP/1.1 %s\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class Connection(HttpToolsProtocol):
    """One connection."""

    head_s: ClassVar[float] = 30.0
    most: ClassVar[int] = 8192

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._head_timer: asyncio.TimerHandle | None = None
        self._head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn's
        """Wait for a request, unless there are too many connections."""
        super().connection_made(transport)
        if len(self.connections) > self.most:
            transport.close()
        else:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._head_arrived()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse, and count the bytes of a head."""
        super().data_received(data)
        if self._head_timer is not None:
            self._head_bytes += len(data)
            if self._head_bytes > _HEAD_BYTES:
                self._refuse(b"431 Request Header Fields Too Large")

    def on_message_begin(self) -> None:
        """Wait for a head, be it the first or a later one."""
        super().on_message_begin()
        if self._head_timer is None:
            self._await_head()

    def on_headers_complete(self) -> None:
        """Stop waiting for the head."""
        self._head_arrived()
        super().on_headers_complete()

    def _await_head(self) -> None:
        self._head_bytes = 0
        self._head_timer = self.loop.call_later(self.head_s, self._refuse, b"408 Request Timeout")

    def _head_arrived(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _refuse(self, status: bytes) -> None:
        self._head_arrived()
        if not self.transport.is_closing():
            self.transport.write(_ANSWER % status)
            self.transport.close()


def connection_class(head_s: float, most: int) -> type[Connection]:
    """The class of connections with these limits: uvicorn makes them and passes no settings of ours."""
    return type("LimitedConnection", (Connection,), {"head_s": head_s, "most": most})
