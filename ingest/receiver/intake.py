"""From a whole request to its outcome, the same for both transports."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from gpa.errors import SpoolError
from gpa.ingest.receiver.metrics import Metrics
from gpa.ingest.receiver.requests import json_batch, protobuf_batch, unpack
from gpa.ingest.receiver.settings import ReceiverLimits
from gpa.ingest.spool.adding import Stored
from gpa.ingest.spool.batch import Batch, Signal
from gpa.ingest.spool.spool import Spool

_T = TypeVar("_T")
_THREADS = 1
"""For large bodies: what one takes while it is decoded is bounded, what two take together would be twice that."""
_AT_ONCE_BYTES = 256 << 10
"""A larger body is decoded in a thread, so that others are answered meanwhile."""


class BusyError(SpoolError):
    """Too much is under way already."""


class Intake:
    """Takes requests into the spool, within limits. Lives on the receiver's event loop."""

    def __init__(self, spool: Spool, limits: ReceiverLimits) -> None:
        self.limits = limits
        self.in_flight = 0
        self._spool = spool
        self._threads = ThreadPoolExecutor(_THREADS, "gpa-decode")
        self.metrics: Metrics | None = None

    @property
    def is_busy(self) -> bool:
        """Whether no more should be read."""
        return self.in_flight >= self.limits.in_flight_bytes

    def reserve(self, size: int) -> None:
        """Count bytes that are held in memory from now on; `free` them whatever comes.

        Raises:
            BusyError: that would be too many.
        """
        if self.in_flight and self.in_flight + size > self.limits.in_flight_bytes:
            raise BusyError("too many requests are under way", retry_s=1.0)
        self.in_flight += size

    def free(self, size: int) -> None:
        """Give reserved bytes back."""
        self.in_flight -= size

    async def take(self, body: bytes, signal: Signal, transport: str, *, json: bool, encoding: str | None) -> Stored:
        """What became of a request; its spans are on disk.

        Raises:
            FormatError: it is damaged, or not what it says.
            TooLargeError: it is too large without its compression.
            SpoolError: it cannot be stored just now.
        """
        started = time.perf_counter()
        size = len(body)
        unpacked = 0
        try:
            if encoding:
                body = await self._run(unpack, body, encoding, self.limits.unpacked_bytes)
                unpacked = len(body)
                self.in_flight += unpacked
            batch: Batch = await self._run(json_batch if json else protobuf_batch, body, signal)
            stored = await self._stored(batch)
        finally:
            self.free(unpacked)
        if self.metrics:
            self.metrics.stored(transport, signal, batch, stored, size=size, seconds=time.perf_counter() - started)
        return stored

    async def _run(self, function: Callable[..., _T], body: bytes, *arguments: object) -> _T:
        if len(body) <= _AT_ONCE_BYTES:
            return function(body, *arguments)
        return await asyncio.get_running_loop().run_in_executor(self._threads, function, body, *arguments)

    async def _stored(self, batch: Batch) -> Stored:
        waiting = asyncio.wrap_future(self._spool.submit(batch))
        # Its failure is looked at even when the sender has gone meanwhile.
        waiting.add_done_callback(lambda late: late.cancelled() or late.exception())
        done, _ = await asyncio.wait((waiting,), timeout=self.limits.store_s)
        if not done:  # it may yet be stored: when the sender tries again, it is there already
            raise SpoolError("the spool does not answer in time", retry_s=5.0)
        return waiting.result()

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)
