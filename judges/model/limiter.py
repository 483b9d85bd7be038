"""How much goes out at once: requests and tokens a minute, and requests at a time, shared by all workers of a run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from gpa.errors import UsageError

DEFAULT_CONCURRENCY = 8


class Bucket:
    """A token bucket over one minute: full at the start, refilled evenly, never over its capacity.

    What does not fit into the whole bucket waits until it is full and leaves it in debt: a request larger than a
    minute's allowance is late, but is not stuck for ever.
    """

    def __init__(
        self,
        per_minute: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.capacity = per_minute
        self._level = per_minute
        self._clock, self._sleep = clock, sleep
        self._filled_at = clock()
        self._turn = asyncio.Lock()  # first come, first served: a large request is not overtaken for ever

    async def take(self, amount: float) -> None:
        """Wait until there is room for an amount, then take it."""
        async with self._turn:
            wanted = min(amount, self.capacity)
            # A wait that ends a rounding error early must not turn into a wait of no length, for ever.
            while (missing := wanted - self._refill()) > self.capacity * 1e-9:
                await self._sleep(missing * 60.0 / self.capacity)
            self._level -= amount

    def give_back(self, amount: float) -> None:
        """Correct an estimate: a positive amount was taken too much, a negative one too little."""
        self._level = min(self.capacity, self._refill() + amount)

    def _refill(self) -> float:
        now = self._clock()
        self._level = min(self.capacity, self._level + (now - self._filled_at) * self.capacity / 60.0)
        self._filled_at = now
        return self._level


class Limiter:
    """Places for requests under way, and buckets for requests and tokens a minute; None is no limit."""

    def __init__(
        self,
        *,
        concurrency: int = DEFAULT_CONCURRENCY,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        options = {
            "--concurrency": concurrency,
            "--requests-per-minute": requests_per_minute,
            "--tokens-per-minute": tokens_per_minute,
        }
        for option, value in options.items():
            if value is not None and not value > 0:
                raise UsageError(f"{option}: expected a number above 0, found {value!r}")
        self.concurrency = concurrency
        self._places = asyncio.Semaphore(concurrency)
        self._requests = Bucket(requests_per_minute, clock=clock, sleep=sleep) if requests_per_minute else None
        self._tokens = Bucket(tokens_per_minute, clock=clock, sleep=sleep) if tokens_per_minute else None

    @asynccontextmanager
    async def place(self, tokens: int) -> AsyncIterator[None]:
        """A place among the requests under way, once there is room in both buckets."""
        async with self._places:
            if self._requests is not None:
                await self._requests.take(1)
            if self._tokens is not None:
                await self._tokens.take(tokens)
            yield

    def correct(self, *, estimated: int, actual: int) -> None:
        """Set the tokens a request was estimated to take right by what it did take."""
        if self._tokens is not None:
            self._tokens.give_back(estimated - actual)
