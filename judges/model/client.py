"""A model with a memory, a budget and manners: what judges are given instead of the bare one.

In this order, each step for a reason: the response cache (what was paid for is not paid again), single flight (equal
questions at the same time are one), the gate of the shared prefix (the first judge of a trace goes alone, because the
provider's prompt cache can be read only once an answer to the same prefix has begun), the budget, the limiter.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Self

from gpa.errors import GpaError
from gpa.judges.model.cache import Cache
from gpa.judges.model.ledger import MIN_CACHED_TOKENS, Ledger
from gpa.judges.model.limiter import Limiter
from gpa.judges.model.model import Model
from gpa.judges.model.prices import load_prices
from gpa.judges.model.reply import Outcome, Reply, ReplyError
from gpa.judges.model.request import Request

_WARM_S = {"5m": 270.0, "1h": 3300.0}
"""How long after its last use a prefix is taken to be in the prompt cache: the time it is kept, less a tenth."""


class Client:
    """A `Model` around a model; as an async context manager, or by `aclose`, it closes the model, not the cache."""

    def __init__(
        self,
        model: Model,
        *,
        cache: Cache | None = None,
        ledger: Ledger | None = None,
        limiter: Limiter | None = None,
    ) -> None:
        self._model = model
        self.cache = cache
        self.ledger = Ledger(load_prices()) if ledger is None else ledger
        self._limiter = Limiter() if limiter is None else limiter
        self._flights: dict[str, asyncio.Task[Outcome]] = {}
        self._gates: dict[str, _Gate] = {}
        self._locked_out: ReplyError | None = None

    @property
    def name(self) -> str:
        """The model's."""
        return self._model.name

    @property
    def context_window(self) -> int:
        """The model's."""
        return self._model.context_window

    @property
    def warms(self) -> bool:
        """Never: this is where prefixes are waited for."""
        return False

    @property
    def batched(self) -> bool:
        """The model's."""
        return self._model.batched

    async def complete(self, request: Request) -> Outcome:
        """The answer from the cache, from an equal question under way, or from the model; kept before it is given.

        Who waits may be cancelled without harm to the question under way: it is paid for, so its answer is kept.
        """
        if self.cache is not None and (kept := self.cache.get(request.key)) is not None:
            self.ledger.from_cache += 1
            return kept
        flight = self._flights.get(request.key)
        if flight is not None:
            return (await asyncio.shield(flight)).model_copy(update={"from_cache": True})
        flight = asyncio.create_task(self._fly(request))
        self._flights[request.key] = flight
        flight.add_done_callback(lambda _: self._flights.pop(request.key, None))
        return await asyncio.shield(flight)

    async def count_tokens(self, request: Request) -> int:
        """The model's own count."""
        return await self._model.count_tokens(request)

    def forget(self, request: Request) -> None:
        """Drop the kept answer to a request that turned out not to be one, so that the next run asks again."""
        if self.cache is not None:
            self.cache.forget(request.key)

    async def aclose(self) -> None:
        """Stop what is under way and close the model."""
        flights = list(self._flights.values())
        for flight in flights:
            flight.cancel()
        await asyncio.gather(*flights, return_exceptions=True)
        await self._model.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            await self.aclose()
        except GpaError:
            if kind is None:  # what went wrong in the block is not hidden behind a complaint about closing
                raise

    async def _fly(self, request: Request) -> Outcome:
        async with self._prefix(request) as gate:
            if self._locked_out is not None:
                return self._locked_out
            reserved = await self.ledger.reserve(request, batch=self._model.batched)
            if isinstance(reserved, ReplyError):
                return reserved
            outcome: Outcome | None = None
            try:
                outcome = await self._send(request, expected_tokens=gate.expected_tokens(request))
            finally:
                cost = await self.ledger.settle(reserved, request, outcome)
            outcome = outcome.model_copy(update={"cost_usd": cost})
            if isinstance(outcome, Reply):
                if self.cache is not None:
                    self.cache.put(request.key, request.model, outcome)
                gate.warm()
            elif outcome.error_type == "authentication":  # a wrong key, or an account without credit
                self._locked_out = outcome  # every other request would be turned away too, one by one
            return outcome

    async def _send(self, request: Request, *, expected_tokens: int) -> Outcome:
        if self._model.batched:
            return await self._model.complete(request)
        async with self._limiter.place(expected_tokens):
            outcome = await self._model.complete(request)
        # Rate limits of the Claude models do not count what is read from the prompt cache.
        billed = outcome.usage.input_tokens + outcome.usage.cache_write_tokens
        self._limiter.correct(estimated=expected_tokens, actual=billed or expected_tokens)
        return outcome

    @asynccontextmanager
    async def _prefix(self, request: Request) -> AsyncIterator[_Gate]:
        """Alone, as long as the request's prefix is not yet in the provider's cache; with all others once it is."""
        # Nobody waits for a system text alone: it is short, and the whole run would stand behind its first request.
        waits = self._model.warms and request.shared and request.prefix and request.prefix_key
        if not waits or request.prefix_tokens < MIN_CACHED_TOKENS:
            yield _Gate(warm_s=0.0)
            return
        gate = self._gates.setdefault(request.prefix_key, _Gate(warm_s=_WARM_S[request.cache_ttl or "5m"]))
        if not gate.is_warm():
            async with gate.first:
                if not gate.is_warm():
                    yield gate
                    return
        yield gate


class _Gate:
    """Whether a shared prefix is in the provider's prompt cache, and a place for the one request that puts it there."""

    def __init__(self, *, warm_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.first = asyncio.Lock()
        self._warm_s, self._clock = warm_s, clock
        self._until = 0.0

    def is_warm(self) -> bool:
        return self._clock() < self._until

    def warm(self) -> None:
        self._until = self._clock() + self._warm_s

    def expected_tokens(self, request: Request) -> int:
        return request.input_tokens - (request.prefix_tokens if self.is_warm() else 0)
