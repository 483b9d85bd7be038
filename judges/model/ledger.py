"""What a run costs: counted per reply, bounded before a request is sent, estimated before anything is."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping

from pydantic import BaseModel, ConfigDict

from gpa.errors import UsageError
from gpa.ingest.tokens import CHARS_PER_TOKEN, count_text
from gpa.judges.model.prices import Price, Prices
from gpa.judges.model.reply import Outcome, Reply, ReplyError, TokenUsage
from gpa.judges.model.request import Request

EXPECTED_OUTPUT_TOKENS = 2_000
"""Output assumed per answer in estimates, thinking included; nobody knows it beforehand, so `max_tokens` bounds it."""

MIN_CACHED_TOKENS = 1_024
"""Prefixes shorter than this are not cached by most Claude models (512 to 4,096 by model); they are billed as input."""

RESERVE_FACTOR = 1.5
"""A reservation takes the estimated input times this, because the characters-per-token rule can be too low."""

_LOG = logging.getLogger(__name__)


class Ledger:
    """The running total of a run, and the guard of `--max-cost`.

    A request is let through when what is spent, what is reserved for requests under way, and the most this request can
    cost stay within the bound. When only reservations stand in the way it waits for them to settle, since they settle
    below what they reserved; when even the money spent alone leaves no room it is refused, for good.
    """

    def __init__(self, prices: Prices, *, max_cost_usd: float | None = None) -> None:
        if max_cost_usd is not None and not max_cost_usd >= 0:
            raise UsageError(f"--max-cost: expected an amount of USD that is not negative, found {max_cost_usd!r}")
        self.prices = prices
        self.max_cost_usd = max_cost_usd
        self.spent_usd = 0.0
        self.reserved_usd = 0.0
        self.paid = 0
        """Answers paid for in this run, refused and cut-off ones included."""
        self.from_cache = 0
        self.refused = 0
        """Requests not sent because of the bound."""
        self.unpriced: dict[str, int] = defaultdict(int)
        """Paid answers by model for which no price is known; `spent_usd` is too low by their cost."""
        self.uncounted = 0
        """Paid answers whose tokens the provider did not count: booked at their reservation or by estimate."""
        self.usage = TokenUsage()
        self._under_way = 0
        self._settled = asyncio.Condition()

    async def reserve(self, request: Request, *, batch: bool = False) -> float | ReplyError:
        """The amount set aside for a request (give it back with `settle`), or a `budget` error that it must not go."""
        if self.max_cost_usd is None:
            return 0.0
        price = self.prices.of(request.model)
        if price is None:
            raise UsageError(
                f"--max-cost: expected a price for {request.model}, found none in the table of {self.prices.date}"
                " (give one with --prices FILE)"
            )
        most = most_usd(request, price, batch=batch)
        async with self._settled:
            while self.spent_usd + most <= self.max_cost_usd < self.spent_usd + self.reserved_usd + most:
                await self._settled.wait()
            if self.spent_usd + most > self.max_cost_usd:
                self.refused += 1
                return ReplyError(
                    error_type="budget",
                    message=f"not sent: it can cost ${most:.4f}, and ${self.spent_usd:.4f}"
                    f" of --max-cost ${self.max_cost_usd:.4f} is spent",
                )
            self.reserved_usd += most
            self._under_way += 1
        return most

    async def settle(self, reserved: float, request: Request, outcome: Outcome | None) -> float | None:
        """What a request that was sent did cost, booked in place of its reservation; no outcome: nothing came back."""
        async with self._settled:
            if self.max_cost_usd is not None:
                self._under_way -= 1
                # Sums of floats leave dust; an empty book is exactly 0, so that nobody waits for dust to settle.
                self.reserved_usd = self.reserved_usd - reserved if self._under_way else 0.0
            cost = None
            if outcome is not None and outcome.usage.counted:
                cost = self._book(request, outcome.usage)
            elif outcome is not None:
                self._book_uncounted(reserved, request, outcome)
            self._settled.notify_all()
        return cost

    def renew(self, spent_usd: float = 0.0) -> None:
        """Begin another period of the bound (a day of a live evaluation), of which so much is spent already."""
        self.spent_usd = spent_usd
        self.refused = 0

    def _book(self, request: Request, usage: TokenUsage) -> float | None:
        cost = self.prices.cost_usd(request.model, usage)
        if not usage.prompt_tokens and not usage.output_tokens:
            return 0.0 if cost is not None else None
        self.usage = _sum(self.usage, usage)
        self._pay(request.model, cost)
        return cost

    def _book_uncounted(self, reserved: float, request: Request, outcome: Outcome) -> None:
        """Book what an answer without counts may have cost: under a bound the most it can, else what it looks like."""
        if not self.uncounted:
            way = "by estimate" if self.max_cost_usd is None else "with the most that they can cost"
            _LOG.warning("gpa: answers of %s come without token counts: they are booked %s", request.model, way)
        self.uncounted += 1
        # Of an answer that was cut off or refused the length is not known.
        output = count_text(outcome.text) if isinstance(outcome, Reply) else request.max_tokens
        usage = TokenUsage(input_tokens=request.input_tokens, output_tokens=output, batch=outcome.usage.batch)
        self._pay(request.model, reserved or self.prices.cost_usd(request.model, usage))

    def _pay(self, model: str, cost: float | None) -> None:
        self.paid += 1
        if cost is None:
            self.unpriced[model] += 1
        else:
            self.spent_usd += cost


def most_usd(request: Request, price: Price, *, batch: bool = False) -> float:
    """The most a request can cost: the prefix written to the cache, nothing read from it, max_tokens of output."""
    cached = request.prefix_tokens if request.prefix_key else 0
    usage = TokenUsage(
        input_tokens=int((request.input_tokens - cached) * RESERVE_FACTOR),
        cache_write_tokens=int(cached * RESERVE_FACTOR),
        cache_write_1h_tokens=int(cached * RESERVE_FACTOR) if request.cache_ttl == "1h" else 0,
        output_tokens=request.max_tokens,
        batch=batch,
    )
    return price.cost_usd(usage)


class Costs(BaseModel):
    """USD of the same requests under the four ways to send them; None when the model has no known price."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    plain: float | None
    cached: float | None
    """Each shared prefix written to the prompt cache once and read from it ever after."""
    batch: float | None
    batch_cached: float | None
    """The best case: in a batch, cache hits are not assured."""


class Estimate(BaseModel):
    """What some requests will take, by the stated rules and assumptions, before anything is sent."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    requests: int
    input_tokens: int
    prefix_tokens: int
    """The part of `input_tokens` that stands in cacheable prefixes."""
    written_tokens: int
    """The part of `prefix_tokens` that is left when each shared prefix is counted once."""
    output_tokens: int
    """Assumed."""
    usd: Costs
    most_usd: float | None
    """What no way of sending these requests one by one can exceed; what `--max-cost` reserves for."""
    assumptions: str

    @property
    def shared(self) -> float:
        """The part of the input, 0-1, that stands in cacheable prefixes."""
        return self.prefix_tokens / self.input_tokens if self.input_tokens else 0.0


def estimate(
    requests: Iterable[Request],
    prices: Prices,
    *,
    output_tokens: int = EXPECTED_OUTPUT_TOKENS,
    counted: Mapping[str, int] | None = None,
) -> dict[str, Estimate]:
    """Estimates by judge, and of all under `""`, for `--dry-run`.

    Args:
        requests: What would be sent.
        prices: The table to count by.
        output_tokens: Assumed length of an answer, bounded by each request's max_tokens.
        counted: Input tokens by `Request.key` from the provider's own counter, where it was asked.

    The price of writing a shared prefix is spread over the requests that share it, so that no judge looks dear merely
    because it goes first.
    """
    listed = list(requests)
    sharing: dict[str, int] = defaultdict(int)
    for request in listed:
        if _is_cached(request):
            sharing[request.prefix_key] += 1
    groups: dict[str, list[Request]] = defaultdict(list)
    for request in listed:
        groups[request.judge].append(request)
        groups[""] += [request] if request.judge else []
    rule = "the provider's counter" if counted else f"{CHARS_PER_TOKEN:g} ASCII characters or 1 other character a token"
    assumptions = f"input by {rule}; {output_tokens:,} tokens of output an answer; prices of {prices.date}"
    return {
        judge: _estimate(
            group,
            sharing=sharing,
            prices=prices,
            output_tokens=output_tokens,
            counted=counted or {},
            assumptions=assumptions,
        )
        for judge, group in sorted(groups.items())
    }


def _estimate(
    group: list[Request],
    *,
    sharing: Mapping[str, int],
    prices: Prices,
    output_tokens: int,
    counted: Mapping[str, int],
    assumptions: str,
) -> Estimate:
    known = all(prices.of(request.model) is not None for request in group)
    tokens = prefix = output = 0
    written = plain = cached = batch = batch_cached = most = 0.0
    for request in group:
        total = counted.get(request.key, request.input_tokens)
        # The counter gives one number; the prefix keeps the share of it that it has by our rule.
        held = round(total * request.prefix_tokens / request.input_tokens) if _is_cached(request) else 0
        share = sharing.get(request.prefix_key, 0)
        answer = min(output_tokens, request.max_tokens)
        tokens, prefix, output = tokens + total, prefix + held, output + answer
        written += held / share if share else 0
        price = prices.of(request.model)
        if price is None:
            continue
        rates = price.rates(total)
        write = rates.cache_write_1h if request.cache_ttl == "1h" else rates.cache_write_5m
        once = (total * rates.input + answer * rates.output) / 1e6
        held_usd = held * (write + (share - 1) * rates.cache_read) / share if share else 0.0
        shared = ((total - held) * rates.input + held_usd + answer * rates.output) / 1e6
        plain, cached = plain + once, cached + shared
        batch, batch_cached = batch + once * price.batch, batch_cached + shared * price.batch
        most += most_usd(request, price)
    usd = Costs(plain=plain, cached=cached, batch=batch, batch_cached=batch_cached)
    return Estimate(
        requests=len(group),
        input_tokens=tokens,
        prefix_tokens=prefix,
        written_tokens=round(written),
        output_tokens=output,
        usd=usd if known else Costs(plain=None, cached=None, batch=None, batch_cached=None),
        most_usd=most if known else None,
        assumptions=assumptions if known else f"{assumptions}; no price known for some model (--prices FILE)",
    )


def _is_cached(request: Request) -> bool:
    return bool(request.prefix_key) and request.prefix_tokens >= MIN_CACHED_TOKENS


def _sum(one: TokenUsage, other: TokenUsage) -> TokenUsage:
    return TokenUsage(
        **{
            name: getattr(one, name) + getattr(other, name)
            for name in (
                "input_tokens",
                "output_tokens",
                "cache_read_tokens",
                "cache_write_tokens",
                "cache_write_1h_tokens",
            )
        }
    )
