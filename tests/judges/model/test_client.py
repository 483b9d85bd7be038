"""The client pays once: from the cache, for equal questions at the same time, and never past the bound."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.errors import UsageError
from gpa.judges.model import (
    Cache,
    Client,
    Ledger,
    Limiter,
    Outcome,
    Reply,
    ReplyError,
    Request,
    ScriptedModel,
    ScriptError,
    TokenUsage,
    count_text,
    estimate,
    load_prices,
)
from tests.judges.model.asking import ANSWER, SONNET, ask


class SlowModel(ScriptedModel):
    """Takes a few turns of the event loop to answer, so that requests overlap."""

    async def complete(self, request: Request) -> Outcome:
        for _ in range(5):
            await asyncio.sleep(0)
        return await super().complete(request)


def run(client: Client, requests: list[Request]) -> list[Outcome]:
    async def inside() -> list[Outcome]:
        async with client:
            return list(await asyncio.gather(*map(client.complete, requests)))

    return asyncio.run(inside())


def test_equal_questions_at_the_same_time_are_one_and_paid_by_the_first() -> None:
    model = SlowModel([ANSWER], name=SONNET)
    client = Client(model)
    outcomes = run(client, [ask(trace_id="a"), ask(trace_id="b"), ask(trace_id="c")])
    assert [outcome.from_cache for outcome in outcomes] == [False, True, True]
    assert len(model.requests) == 1
    assert client.ledger.paid == 1


def test_samples_are_asked_separately() -> None:
    assert len(set(map(id, run(Client(SlowModel([ANSWER] * 3, name=SONNET)), [ask(sample=n) for n in range(3)])))) == 3


def test_kept_answer_is_not_paid_again_and_a_failure_is_asked_again(tmp_path: Path) -> None:
    refusal = ReplyError(error_type="refusal", message="no", usage=TokenUsage(input_tokens=1000, output_tokens=1))
    with Cache(tmp_path / "c.db") as cache:
        first = Client(ScriptedModel({"LC": ANSWER, "EE": refusal}, name=SONNET), cache=cache)
        kept, failed = run(first, [ask("LC"), ask("EE")])
        assert first.ledger.spent_usd == pytest.approx((kept.cost_usd or 0) + 2010e-6)
        assert failed.cost_usd == pytest.approx(2010e-6)
        second = Client(ScriptedModel({"EE": ANSWER}, name=SONNET), cache=cache)
        again, retried = run(second, [ask("LC"), ask("EE")])
        assert (again.from_cache, again.cost_usd) == (True, kept.cost_usd)
        assert isinstance(retried, Reply)
        assert (second.ledger.from_cache, second.ledger.paid) == (1, 1)
        second.forget(ask("LC"))
        third = Client(ScriptedModel({"LC": ANSWER}, name=SONNET), cache=cache)
        assert not run(third, [ask("LC")])[0].from_cache


def test_cancelled_caller_does_not_lose_the_answer_that_is_under_way(tmp_path: Path) -> None:
    async def inside() -> None:
        with Cache(tmp_path / "c.db") as cache:
            client = Client(SlowModel([ANSWER], name=SONNET), cache=cache)
            caller = asyncio.create_task(client.complete(ask()))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            caller.cancel()
            for _ in range(20):
                await asyncio.sleep(0)
            assert cache.get(ask().key) is not None
            await client.aclose()

    asyncio.run(inside())


def test_closing_stops_what_is_under_way_and_releases_what_was_reserved() -> None:
    class Stuck(ScriptedModel):
        async def complete(self, request: Request) -> Outcome:
            await asyncio.Event().wait()
            return await super().complete(request)

    async def inside() -> None:
        client = Client(Stuck([], name=SONNET), ledger=Ledger(load_prices(), max_cost_usd=1.0))
        caller = asyncio.create_task(client.complete(ask()))
        await asyncio.sleep(0.01)
        assert client.ledger.reserved_usd > 0
        await client.aclose()
        assert client.ledger.reserved_usd == 0
        with pytest.raises(asyncio.CancelledError):
            await caller

    asyncio.run(inside())


def test_request_that_could_pass_the_bound_is_not_sent() -> None:
    one = run(Client(ScriptedModel([ANSWER], name=SONNET)), [ask()])[0].cost_usd or 0.0
    most = estimate([ask()], load_prices())[""].most_usd or 0.0
    model = SlowModel([ANSWER] * 3, name=SONNET)
    ledger = Ledger(load_prices(), max_cost_usd=most + 2.5 * one)
    outcomes = run(Client(model, ledger=ledger, limiter=Limiter(concurrency=5)), [ask(f"J{n}") for n in range(5)])
    found = [outcome.error_type if isinstance(outcome, ReplyError) else "reply" for outcome in outcomes]
    assert found == ["reply"] * 3 + ["budget"] * 2
    assert (ledger.paid, ledger.refused) == (3, 2)
    refused = outcomes[-1]
    assert isinstance(refused, ReplyError)
    assert refused.message.startswith(f"not sent: it can cost ${most:.4f}, and ${3 * one:.4f} of --max-cost")


@given(
    st.lists(st.tuples(st.integers(0, 5000), st.integers(1, 1000)), min_size=1, max_size=12),
    st.floats(0, 0.1, allow_nan=False),
    st.integers(1, 4),
)
def test_the_bound_is_never_passed(sizes: list[tuple[int, int]], bound: float, concurrency: int) -> None:
    """Whatever is asked, as long as inputs stay below 1.5 times their estimate and outputs below max_tokens."""
    requests = [ask(f"J{n}", prefix="x" * chars) for n, (chars, _) in enumerate(sizes)]
    replies = {
        f"J{n}": Reply(text="{}", usage=TokenUsage(cache_write_tokens=requests[n].input_tokens, output_tokens=output))
        for n, (_, output) in enumerate(sizes)
    }
    ledger = Ledger(load_prices(), max_cost_usd=bound)

    async def inside() -> list[Outcome]:
        client = Client(SlowModel(replies, name=SONNET), ledger=ledger, limiter=Limiter(concurrency=concurrency))
        return list(await asyncio.gather(*map(client.complete, requests)))

    outcomes = asyncio.run(inside())
    assert ledger.spent_usd <= bound + 1e-12
    assert ledger.reserved_usd == 0
    assert len(outcomes) == ledger.paid + ledger.refused


def test_answers_without_token_counts_are_booked_at_their_reservation_and_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    most = estimate([ask()], load_prices())[""].most_usd or 0.0
    ledger = Ledger(load_prices(), max_cost_usd=2.5 * most)
    refusal = ReplyError(error_type="refusal", message="no", usage=TokenUsage(counted=False))
    replies: list[str | Reply | ReplyError] = [Reply(text=ANSWER), refusal]
    outcomes = run(Client(SlowModel(replies, name=SONNET), ledger=ledger), [ask(f"J{n}") for n in range(5)])
    assert [outcome.cost_usd for outcome in outcomes[:2]] == [None, None]
    assert (ledger.paid, ledger.uncounted, ledger.refused) == (2, 2, 3)
    assert ledger.spent_usd == pytest.approx(2 * most)
    assert caplog.messages == [
        f"gpa: answers of {SONNET} come without token counts: they are booked with the most that they can cost"
    ]


def test_answers_without_token_counts_are_booked_by_estimate_where_nothing_bounds_them() -> None:
    cut = ReplyError(error_type="max_tokens", message="cut", usage=TokenUsage(counted=False))
    client = Client(ScriptedModel([Reply(text="x" * 300), cut], name=SONNET))
    run(client, [ask("LC"), ask("EE")])
    inputs = ask("LC").input_tokens + ask("EE").input_tokens
    outputs = count_text("x" * 300) + ask().max_tokens
    assert client.ledger.spent_usd == pytest.approx((inputs * 2.0 + outputs * 10.0) / 1e6)


def test_a_prefix_that_nobody_reads_again_is_not_estimated_as_written() -> None:
    def asked(system: str) -> list[Request]:
        runs = {str(number): f"run {number} " * 9_000 for number in range(3)}
        return [ask("all", trace_id=n, prefix=text, system=system, shared=False) for n, text in runs.items()]

    alone = estimate(asked("Judge."), load_prices())[""]
    assert alone.usd.cached == alone.usd.plain
    frame = asked("Judge. " * 2_000)
    shared = estimate(frame, load_prices())[""]
    assert (shared.usd.cached or 0) < (shared.usd.plain or 0)
    assert shared.prefix_tokens == 3 * frame[0].prefix_tokens < shared.input_tokens / 2


def test_bound_without_a_price_is_a_usage_error() -> None:
    client = Client(ScriptedModel([ANSWER]), ledger=Ledger(load_prices(), max_cost_usd=1.0))
    with pytest.raises(UsageError, match=r"--max-cost: expected a price for openai/gpt-x, found none"):
        run(client, [ask(model="openai/gpt-x")])
    with pytest.raises(UsageError, match="--max-cost: expected an amount"):
        Ledger(load_prices(), max_cost_usd=float("nan"))


def test_unknown_price_is_unknown_not_nothing() -> None:
    client = Client(ScriptedModel([ANSWER], name="openai/gpt-x"))
    assert run(client, [ask(model="openai/gpt-x")])[0].cost_usd is None
    assert dict(client.ledger.unpriced) == {"openai/gpt-x": 1}
    assert client.ledger.spent_usd == 0.0


def test_estimate_shows_what_the_cache_and_the_batch_save() -> None:
    requests = [ask(judge, prefix="word " * 20_000) for judge in ("LC", "EE", "PQ", "PA", "TS", "TC", "GF")]
    found = estimate(requests, load_prices(), output_tokens=100)
    total, one = found[""], found["LC"]
    assert list(found) == ["", "EE", "GF", "LC", "PA", "PQ", "TC", "TS"]
    assert (total.requests, total.output_tokens) == (7, 700)
    assert total.shared > 0.99
    assert total.written_tokens == pytest.approx(requests[0].prefix_tokens, abs=1)
    tokens, tail = requests[0].prefix_tokens, requests[0].input_tokens - requests[0].prefix_tokens
    answer = 7 * 100 * 10.0
    assert total.usd.plain == pytest.approx((7 * (tokens + tail) * 2.0 + answer) / 1e6)
    assert total.usd.cached == pytest.approx((tokens * (2.5 + 6 * 0.1) + 7 * tail * 2.0 + answer) / 1e6)
    assert total.usd.batch_cached == pytest.approx((total.usd.cached or 0) / 2)
    assert one.usd.cached == pytest.approx((total.usd.cached or 0) / 7)
    assert total.most_usd is not None
    assert total.most_usd > (total.usd.plain or 0)


def test_estimate_takes_the_providers_count_where_it_was_asked() -> None:
    found = estimate([ask()], load_prices(), counted={ask().key: 9_000})
    assert found[""].input_tokens == 9_000
    assert "the provider's counter" in found[""].assumptions


def test_estimate_without_a_price_has_tokens_and_says_so() -> None:
    found = estimate([ask(model="openai/gpt-x", judge="LC")], load_prices())["LC"]
    assert found.input_tokens > 0
    assert (found.usd.plain, found.usd.cached, found.most_usd) == (None, None, None)
    assert found.assumptions.endswith("no price known for some model (--prices FILE)")
    assert estimate([], load_prices()) == {}


def test_short_prefix_is_counted_as_not_cached() -> None:
    found = estimate([ask("LC", prefix="short"), ask("EE", prefix="short")], load_prices())[""]
    assert (found.prefix_tokens, found.shared) == (0, 0)
    assert found.usd.plain == found.usd.cached


def test_script_is_strict_about_what_it_is_asked_and_what_is_left() -> None:
    model = ScriptedModel({"LC": ["{}", ANSWER], "trace/EE": ANSWER})
    with pytest.raises(ScriptError, match=r"expected a scripted reply for request 1 \(under .*'GF'.*\), found none"):
        asyncio.run(model.complete(ask("GF")))
    asyncio.run(model.complete(ask("LC")))
    with pytest.raises(ScriptError, match="found left over: 1 under 'LC', 1 under 'trace/EE'"):
        asyncio.run(model.aclose())
    asyncio.run(model.complete(ask("LC")))
    asyncio.run(model.complete(ask("EE", trace_id="trace")))
    asyncio.run(model.aclose())
    with pytest.raises(ScriptError, match="found all replies under 'LC' used"):
        asyncio.run(model.complete(ask("LC")))
