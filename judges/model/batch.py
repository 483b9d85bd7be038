"""Message Batches: half the price, answers within a day; a run that is stopped picks the same batch up later.

Judges ask as ever. Requests gather until none has come for `linger_s`, then go out as one batch; what the answers give
rise to (a re-ask) gathers again and is the next batch. Order of events, so that nothing is paid for twice:

1. the batch's requests are written to the cache file, without an id: "about to be submitted";
2. the batch is created, with no retry by the SDK, since a lost response may hide a batch that exists;
3. its id is written, before anything else happens.

A run stopped between 2 and 3 finds the batch again in the provider's list, by time and number of requests. A run
stopped later finds the id. Results stay available at the provider for 29 days: a run stopped while it reads them reads
them again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from gpa.errors import FormatError, UsageError
from gpa.judges.model.anthropic import AnthropicModel, outcome_of_exception
from gpa.judges.model.cache import Cache
from gpa.judges.model.files import read_line
from gpa.judges.model.reply import Outcome, Reply, ReplyError
from gpa.judges.model.request import Request

if TYPE_CHECKING:
    from anthropic.types.messages import MessageBatch

MAX_REQUESTS = 100_000
MAX_BYTES = 250_000_000
"""The API takes 256 MB; the rest is for what stands around the requests."""
CLOCK_SKEW_S = 300.0
"""How far this machine's clock and the provider's may differ when an unnamed batch is looked for."""
PATIENCE = 20
"""Polls in a row that may fail, each after the SDK's retries, before waiting for a batch is given up."""

_Waiting = dict[str, tuple[Request, asyncio.Future[Outcome]]]


class BatchModel:
    """A model whose answers come from Message Batches; give it to a `Client` with the same cache."""

    def __init__(
        self,
        model: AnthropicModel,
        cache: Cache,
        *,
        poll_s: float = 30.0,
        linger_s: float = 2.0,
        max_requests: int = MAX_REQUESTS,
        max_bytes: int = MAX_BYTES,
        on_progress: Callable[[str, str, int, int], None] | None = None,
    ) -> None:
        if not model.name.startswith("anthropic/"):
            raise UsageError(f"--batch: expected an anthropic/ model, found {model.name} (it has no Message Batches)")
        self._model, self._cache = model, cache
        self._poll_s, self._linger_s = poll_s, linger_s
        self._max_requests, self._max_bytes = max_requests, max_bytes
        self._on_progress = on_progress
        self._waiting: _Waiting = {}
        self._bytes = 0
        self._flush: asyncio.Task[None] | None = None
        self._under_way: dict[int, _Waiting] = {}
        """Requests waiting for a batch, by our number of it."""
        self._ended: dict[int, dict[str, Outcome]] = {}
        """Results read and not yet asked for, by our number of the batch."""
        self._followers: set[asyncio.Task[None]] = set()

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
        """No: the requests of a batch do not wait for each other; cache hits are the provider's best effort."""
        return False

    @property
    def batched(self) -> bool:
        """Yes."""
        return True

    async def complete(self, request: Request) -> Outcome:
        """The answer, once the batch that holds the request has ended."""
        held = self._cache.batch_of(request.custom_id)
        number = None if held is None else held[0]
        ended = self._ended.get(number, {}) if number is not None else {}
        if request.custom_id in ended:
            return ended.pop(request.custom_id)
        group = self._waiting if number is None else self._under_way.get(number, {})
        if request.custom_id in group:
            return await asyncio.shield(group[request.custom_id][1])
        answer: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        entry = (request, answer)
        if held is None:
            self._gather(entry)
        elif held[0] in self._under_way:
            self._under_way[held[0]][request.custom_id] = entry
        else:
            self._under_way[held[0]] = {request.custom_id: entry}
            self._start(held[0], self._resume(*held))
        return await answer

    async def count_tokens(self, request: Request) -> int:
        """The model's own count."""
        return await self._model.count_tokens(request)

    async def aclose(self) -> None:
        """Stop waiting (batches go on at the provider; the next run picks them up) and close the model."""
        tasks = [*self._followers, *([self._flush] if self._flush is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._model.aclose()

    # -- gathering ---------------------------------------------------------------------------------------------------

    def _gather(self, entry: tuple[Request, asyncio.Future[Outcome]]) -> None:
        request, _ = entry
        size = len(request.body) + len(request.custom_id) + 32
        if self._waiting and (len(self._waiting) >= self._max_requests or self._bytes + size > self._max_bytes):
            self._submit_gathered()
        self._waiting[request.custom_id] = entry
        self._bytes += size
        if self._flush is not None:
            self._flush.cancel()
        self._flush = asyncio.create_task(self._submit_later())

    async def _submit_later(self) -> None:
        await asyncio.sleep(self._linger_s)
        self._flush = None
        self._submit_gathered()

    def _submit_gathered(self) -> None:
        waiting, self._waiting, self._bytes = self._waiting, {}, 0
        number = self._cache.open_batch(self.name, ((name, entry[0].key) for name, entry in waiting.items()))
        self._under_way[number] = waiting
        self._start(number, self._submit(number))

    def _start(self, number: int, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(self._answering(number, work))
        self._followers.add(task)
        task.add_done_callback(self._followers.discard)

    # -- one batch ---------------------------------------------------------------------------------------------------

    async def _answering(self, number: int, work: Coroutine[Any, Any, None]) -> None:
        """Do the work of a batch; whatever happens to it, everyone who waits for the batch is told."""
        try:
            await work
        except Exception as error:  # noqa: BLE001 - handed to those who wait, not to a task nobody awaits
            try:
                outcome = outcome_of_exception(error)
            except Exception as bug:  # noqa: BLE001
                for _, answer in self._under_way[number].values():
                    answer.set_exception(bug)
            else:
                for _, answer in self._under_way[number].values():
                    answer.set_result(outcome)
        finally:
            for _, answer in self._under_way.pop(number, {}).values():
                answer.cancel()  # does nothing to one that has its answer

    async def _submit(self, number: int) -> None:
        waiting = self._under_way[number]
        requests = [{"custom_id": name, "params": request.params()} for name, (request, _) in waiting.items()]
        once = self._model.client.with_options(max_retries=0)
        try:
            batch = await once.messages.batches.create(requests=cast("Any", requests))
        except Exception as error:
            # Turned away for certain, there is no such batch; otherwise the next run looks for it in the list.
            if outcome_of_exception(error).error_type not in {"transport", "bad_response"}:
                self._cache.drop_batch(number)
            raise
        self._cache.name_batch(number, batch.id)
        await self._follow(number, batch.id)

    async def _resume(self, number: int, batch_id: str | None) -> None:
        if batch_id is not None:
            await self._follow(number, batch_id)
            return
        found = await self._find(number)
        if found is not None:
            await self._follow(number, found, adopted=True)
            return
        self._cache.drop_batch(number)
        for entry in self._under_way.pop(number).values():
            self._gather(entry)

    async def _find(self, number: int) -> str | None:
        """The batch that an interrupted run submitted without keeping its id; None when there is none like it."""
        created_at, count = self._cache.batch_origin(number)
        earliest = datetime.fromtimestamp(created_at - CLOCK_SKEW_S, UTC)
        async for batch in self._model.client.messages.batches.list(limit=100):
            if batch.created_at < earliest:  # the list begins with the newest
                return None
            if _total(batch) == count and not self._cache.knows_batch(batch.id):
                self._cache.name_batch(number, batch.id)
                return batch.id
        return None

    async def _follow(self, number: int, batch_id: str, *, adopted: bool = False) -> None:
        batch = await self._ended_batch(batch_id)
        if batch is None or batch.results_url is None:
            self._cache.drop_batch(number)
            self._hand_out(number, {}, _gone(batch_id))
            return
        found: dict[str, Outcome] = {}
        async for line in self._lines(batch_id):
            try:
                custom_id, outcome = read_line(line)
            except FormatError:
                continue  # its request stays without an outcome, and is told so
            # Whatever the answer says of its tier: this is the way it came, and what is billed.
            found[custom_id] = outcome.model_copy(update={"usage": outcome.usage.model_copy(update={"batch": True})})
        if adopted and not found.keys() & self._under_way[number].keys():  # it only looked like ours
            self._cache.drop_batch(number)
        missing = ReplyError(error_type="errored", message=f"batch {batch_id} has no result for this request")
        self._hand_out(number, found, missing)
        self._ended[number] = found

    async def _ended_batch(self, batch_id: str) -> MessageBatch | None:
        """The batch once it has ended; None when the provider knows it no longer. Outages are sat out."""
        import anthropic

        failures = 0
        while True:
            try:
                batch = await self._model.client.messages.batches.retrieve(batch_id)
            except anthropic.NotFoundError:
                return None
            except (anthropic.APIConnectionError, anthropic.InternalServerError):
                failures += 1
                if failures > PATIENCE:
                    raise
            else:
                failures = 0
                if self._on_progress is not None:
                    total = _total(batch)
                    self._on_progress(batch_id, batch.processing_status, total - batch.request_counts.processing, total)
                if batch.processing_status == "ended":
                    return batch
            await asyncio.sleep(self._poll_s)

    def _hand_out(self, number: int, found: dict[str, Outcome], missing: ReplyError) -> None:
        for name, (_, answer) in self._under_way[number].items():
            outcome = found.pop(name, missing)
            if not isinstance(outcome, Reply):
                self._cache.drop_batch_request(name)  # the next run asks again, in another batch
            if not answer.done():
                answer.set_result(outcome)
        for name, outcome in found.items():
            if not isinstance(outcome, Reply):
                self._cache.drop_batch_request(name)

    async def _lines(self, batch_id: str) -> AsyncIterator[bytes]:
        """The lines of a batch's results; the SDK's own decoder would stop at the first that is not JSON."""
        results = self._model.client.messages.batches.with_streaming_response.results(batch_id)
        async with results as response:
            rest = b""
            async for chunk in response.iter_bytes():
                # By \n alone: JSON strings may hold every other line separator of Unicode.
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    yield line
            yield rest


def _total(batch: MessageBatch) -> int:
    counts = batch.request_counts
    return counts.processing + counts.succeeded + counts.errored + counts.canceled + counts.expired


def _gone(batch_id: str) -> ReplyError:
    return ReplyError(error_type="expired", message=f"batch {batch_id} and its results are gone at the provider")
