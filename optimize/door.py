"""The one way out of a search: every request passes here, is counted, bounded, logged, and can be the last one.

What comes back is either an outcome that says something of the candidate (an answer, a refusal, an overflow), which is
logged and always the same from then on; or it says something of the world (no money, no network, no line in the file of
responses), which ends the search before a candidate is blamed for it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from gpa.judges.model import Client, Ledger, Outcome, Prices, ReplyError, Request
from gpa.optimize.log import Log, is_of_the_world
from gpa.optimize.results import Stopped

PAUSES_S = (2.0, 15.0)
"""Before a request that failed for the moment (after the provider's own retries) is sent again, and again."""


class Halted(BaseException):  # no Exception: DSPy makes a score of 0 of every one of those
    """The search is over; raised through the optimiser."""


class Door:
    """Counts, bounds and logs what a search asks of its models."""

    def __init__(
        self,
        prices: Prices,
        log: Log,
        *,
        max_cost_usd: float | None = None,
        max_seconds: float | None = None,
        offline: bool = False,
        pauses_s: Sequence[float] = PAUSES_S,
    ) -> None:
        self._log = log
        self._ledger = Ledger(prices, max_cost_usd=None if offline else max_cost_usd)
        self._started = time.monotonic()
        self._max_seconds = max_seconds
        self._offline = offline
        self._pauses_s = () if offline else pauses_s
        self._over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._replayed: set[str] = set()
        self._flights: dict[str, asyncio.Task[Outcome]] = {}
        self.unanswered: dict[str, Request] = {}
        """Requests that no file answers, by custom id."""
        self.stopped: Stopped | None = None
        self.message = ""
        self.paid = self.from_cache = 0
        self.error: Exception | None = None
        """What went wrong on our side."""

    @property
    def cost_usd(self) -> float:
        """Paid in this search so far, earlier starts of it included."""
        return self._ledger.spent_usd

    @property
    def unpriced(self) -> int:
        """Paid answers that no price is known for."""
        return sum(self._ledger.unpriced.values())

    @property
    def replayed(self) -> int:
        """Answers that were in the log."""
        return len(self._replayed)

    @property
    def seconds(self) -> float:
        """Since the search began."""
        return time.monotonic() - self._started

    def halt(self, why: Stopped, message: str) -> None:
        """End the search; what waits for an answer no longer does. The first reason counts. From the loop's thread."""
        if self.stopped is None:
            self.stopped, self.message = why, message
        if not self._over.done():
            self._over.set_result(None)

    def finish(self, why: Stopped, message: str) -> None:
        """Say why the search ends of itself; from any thread."""
        if self.stopped is None:
            self.stopped, self.message = why, message

    def fail(self, error: Exception) -> None:
        """End the search for a fault of ours, which `search` raises; from any thread."""
        self.error = self.error or error
        self.finish("model", f"{type(error).__name__}: {error}")

    def check(self) -> None:
        """Raise `Halted` when the search is over or its time is up; from any thread."""
        if self.stopped is None and self._max_seconds is not None and self.seconds >= self._max_seconds:
            self.stopped, self.message = "time", f"the time of {self._max_seconds:g} s is up"
        if self.stopped is not None:
            raise Halted

    def close_wave(self) -> None:
        """Raise `Halted` when answers are missing: all requests of one evaluation are gathered, none after it."""
        if self.unanswered and self.stopped is None:
            count = len(self.unanswered)
            self.stopped = "unanswered"
            self.message = f"{count} request{'s have' if count > 1 else ' has'} no answer yet"
        self.check()

    async def ask(self, client: Client, request: Request) -> Outcome:
        """The outcome of a request: from the log, else from the client and from then on in the log.

        Raises:
            Halted: The search is over, or must end here.
        """
        self.check()
        known = self._log.get(request)
        if known is not None:
            if request.key not in self._replayed and request.key not in self._flights:
                self._replay(request, known)
            return known
        flight = self._flights.get(request.key)
        if flight is None:
            flight = self._flights[request.key] = asyncio.create_task(self._fly(client, request))
        waited_for: set[asyncio.Future[Any]] = {flight, self._over}
        await asyncio.wait(waited_for, return_when=asyncio.FIRST_COMPLETED)
        if not flight.done():
            raise Halted
        return flight.result()

    async def aclose(self) -> None:
        """Leave no request behind that nobody waits for."""
        for flight in self._flights.values():
            flight.cancel()
        await asyncio.gather(*self._flights.values(), return_exceptions=True)

    def _replay(self, request: Request, known: Outcome) -> None:
        self._replayed.add(request.key)
        if known.from_cache:
            return
        if known.cost_usd is None:
            self._ledger.unpriced[request.model] += 1
        else:
            self._ledger.spent_usd += known.cost_usd

    async def _fly(self, client: Client, request: Request) -> Outcome:
        outcome = await self._paid(client, request)
        if isinstance(outcome, ReplyError):
            if outcome.error_type == "missing" or (self._offline and outcome.retryable):
                self.unanswered[request.custom_id] = request
                return outcome.model_copy(update={"error_type": "missing"})
            self._stop_for(outcome)
        self.from_cache += outcome.from_cache
        self.paid += not outcome.from_cache
        self._log.put(request, outcome)
        return outcome

    async def _paid(self, client: Client, request: Request) -> Outcome:
        """What comes back, with its place in the budget taken before and its cost booked after."""
        outcome: Outcome | None = None
        try:
            reserved = await self._ledger.reserve(request, batch=client.batched)
            if isinstance(reserved, ReplyError):
                return reserved
            try:
                outcome = await self._sent(client, request)
            finally:
                booked = None if outcome is None or outcome.from_cache else outcome
                await self._ledger.settle(reserved, request, booked)
        except Exception as error:  # a fault of ours, whichever: it ends the search, and `search` raises it
            self.fail(error)
            raise Halted from error
        return outcome

    async def _sent(self, client: Client, request: Request) -> Outcome:
        outcome = await client.complete(request)
        for pause_s in self._pauses_s:
            if not (isinstance(outcome, ReplyError) and outcome.retryable):
                break
            await asyncio.sleep(pause_s)
            outcome = await client.complete(request)
        return outcome

    def _stop_for(self, outcome: ReplyError) -> None:
        """End the search for an outcome that says nothing of the candidate."""
        if outcome.error_type == "budget":
            self.halt("cost", outcome.message)
        elif is_of_the_world(outcome):
            self.halt("model", f"the model cannot be asked ({outcome.error_type}): {outcome.message}")
        else:
            return
        raise Halted


class Asked:
    """A client as the search sees it: what `Judge` and `MetaJudge` are given, asking through the door.

    Held-out traces are judged through the log alone: there an answer that does not come ends nothing.
    """

    def __init__(self, through: Door | Log, client: Client) -> None:
        self._through, self._client = through, client

    @property
    def name(self) -> str:
        """The model's."""
        return self._client.name

    @property
    def context_window(self) -> int:
        """The model's."""
        return self._client.context_window

    async def complete(self, request: Request) -> Outcome:
        """The answer, once and for all of this search."""
        return await self._through.ask(self._client, request)

    def forget(self, request: Request) -> None:
        """Drop an answer that is none from the response cache; in this search it stays the answer."""
        self._client.forget(request)
