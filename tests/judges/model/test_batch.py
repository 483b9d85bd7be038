"""Batches at half the price: gathered, picked up after a stop at any moment, failures told to whom they concern."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from gpa.errors import UsageError
from gpa.judges.model import AnthropicModel, BatchModel, Cache, Client, Outcome, Reply, ReplyError, Request, open_model
from tests.judges.model.asking import ANSWER, SONNET, ask
from tests.servers.messages import MessagesService, error, messages_service
from tests.servers.serving import serving

JUDGES = ("LC", "EE", "PQ")
QUICK: dict[str, Any] = {"poll_s": 0.02, "linger_s": 0.02}


def judge(
    service: MessagesService,
    path: Path,
    requests: list[Request] | None = None,
    *,
    stop_after_s: float | None = None,
    key: str = "key",
    **options: Any,
) -> list[Outcome]:
    """One run with `--batch`; stopped in mid-air when asked."""

    async def run() -> list[Outcome]:
        with Cache(path) as cache:
            model = open_model(SONNET, base_url=service.url, api_key=key, max_retries=0)
            assert isinstance(model, AnthropicModel)
            async with Client(BatchModel(model, cache, **{**QUICK, **options}), cache=cache) as client:
                asked = [ask(name) for name in JUDGES] if requests is None else requests
                work = asyncio.gather(*map(client.complete, asked))
                try:
                    return list(await asyncio.wait_for(work, stop_after_s))
                except TimeoutError:
                    return []

    return asyncio.run(run())


def texts(outcomes: list[Outcome]) -> list[str]:
    return [outcome.text if isinstance(outcome, Reply) else outcome.error_type for outcome in outcomes]


def test_requests_gather_into_one_batch_and_cost_half(tmp_path: Path) -> None:
    with messages_service() as service:
        outcomes = judge(service, tmp_path / "c.db")
        assert texts(outcomes) == [ANSWER] * 3
        assert [len(batch.requests) for batch in service.batches.values()] == [3]
        again = judge(service, tmp_path / "c.db")
        assert all(outcome.from_cache for outcome in again)
        assert len(service.batches) == 1
    usage = outcomes[0].usage
    assert usage.batch
    whole = 2.0 * usage.input_tokens + 2.5 * usage.cache_write_tokens + 0.1 * usage.cache_read_tokens
    assert outcomes[0].cost_usd == pytest.approx((whole + 10.0 * usage.output_tokens) / 1e6 / 2)


def test_what_came_in_a_batch_costs_half_whatever_tier_the_answer_names(tmp_path: Path) -> None:
    class Untold(MessagesService):
        def _answered(self, params: dict[str, Any], *, tier: str) -> dict[str, Any]:
            del tier
            return super()._answered(params, tier="standard")

    service = Untold()
    with serving(service):
        outcomes = judge(service, tmp_path / "c.db")
    assert texts(outcomes) == [ANSWER] * 3
    assert all(outcome.usage.batch for outcome in outcomes)


def test_batch_that_is_too_large_goes_out_in_parts(tmp_path: Path) -> None:
    with messages_service() as service:
        assert texts(judge(service, tmp_path / "c.db", max_requests=2)) == [ANSWER] * 3
        assert sorted(len(batch.requests) for batch in service.batches.values()) == [1, 2]
    with messages_service() as service:
        assert texts(judge(service, tmp_path / "d.db", max_bytes=len(ask().body) + 200)) == [ANSWER] * 3
        assert len(service.batches) == 3


def test_stopped_run_picks_its_batch_up_again(tmp_path: Path) -> None:
    with messages_service(polls_until_ended=10_000) as service:
        assert judge(service, tmp_path / "c.db", stop_after_s=0.5) == []
        (batch,) = service.batches.values()
        batch.polls_left = 1
        assert texts(judge(service, tmp_path / "c.db")) == [ANSWER] * 3
        assert len(service.batches) == 1
        assert set(service.paid.values()) == {1}


def test_run_stopped_before_the_id_was_kept_finds_its_batch_in_the_list(tmp_path: Path) -> None:
    with messages_service() as service:
        service.create_faults.append("lost")
        outcomes = judge(service, tmp_path / "c.db")
        assert texts(outcomes) == ["transport"] * 3
        assert len(service.batches) == 1  # it was made, we were not told
        assert texts(judge(service, tmp_path / "c.db")) == [ANSWER] * 3
        assert len(service.batches) == 1
        assert set(service.paid.values()) == {1}


def test_batch_that_was_never_made_is_made_by_the_next_run(tmp_path: Path) -> None:
    requests = [ask(name) for name in JUDGES]
    with Cache(tmp_path / "c.db") as cache:
        cache.open_batch(SONNET, [(request.custom_id, request.key) for request in requests])
    with messages_service() as service:
        assert texts(judge(service, tmp_path / "c.db")) == [ANSWER] * 3
        assert len(service.batches) == 1


def test_strangers_batch_of_the_same_size_is_not_taken_for_ours(tmp_path: Path) -> None:
    with messages_service() as service:
        judge(service, tmp_path / "stranger.db", [ask("X1"), ask("X2"), ask("X3")])
        with Cache(tmp_path / "c.db") as cache:
            cache.open_batch(SONNET, [(ask(name).custom_id, ask(name).key) for name in JUDGES])
        assert texts(judge(service, tmp_path / "c.db")) == ["errored"] * 3  # looked like ours, and was not
        assert texts(judge(service, tmp_path / "c.db")) == [ANSWER] * 3
        assert len(service.batches) == 2


def test_failures_in_a_batch_concern_one_request_each_and_are_asked_anew_by_the_next_run(tmp_path: Path) -> None:
    bad = {
        "EE": {"type": "errored", "error": {"type": "error", "error": {"type": "overloaded_error", "message": "x"}}},
        "PQ": {"type": "expired"},
        "TS": {"type": "succeeded", "message": {"type": "message", "content": "?"}},
    }

    def some_fail(request: dict[str, Any], line: dict[str, Any]) -> bytes:
        name = request["custom_id"].split("-")[1]
        if name == "GF":
            return b'{"custom_id": broken\n'
        return json.dumps({**line, "result": bad.get(name, line["result"])}).encode() + b"\n"

    requests = [ask(name) for name in ("LC", "EE", "PQ", "TS", "GF")]
    with messages_service(results=some_fail) as service:
        outcomes = judge(service, tmp_path / "c.db", requests)
        assert texts(outcomes) == [ANSWER, "overloaded", "expired", "bad_response", "errored"]
        service.results = None
        assert texts(judge(service, tmp_path / "c.db", requests)) == [ANSWER] * 5
        assert [len(batch.requests) for batch in service.batches.values()] == [5, 4]


def test_re_ask_goes_out_in_a_second_batch(tmp_path: Path) -> None:
    async def ask_twice(client: Client) -> Outcome:
        first = await client.complete(ask())
        assert isinstance(first, Reply)
        return await client.complete(ask().again(first.text, "Say it in JSON."))

    async def run(service: MessagesService) -> Outcome:
        with Cache(tmp_path / "c.db") as cache:
            model = open_model(SONNET, base_url=service.url, api_key="key", max_retries=0)
            assert isinstance(model, AnthropicModel)
            async with Client(BatchModel(model, cache, **QUICK), cache=cache) as client:
                return await ask_twice(client)

    with messages_service() as service:
        assert isinstance(asyncio.run(run(service)), Reply)
        assert [len(batch.requests) for batch in service.batches.values()] == [1, 1]


def test_results_that_are_gone_are_told_and_asked_anew(tmp_path: Path) -> None:
    with messages_service(polls_until_ended=10_000) as service:
        judge(service, tmp_path / "c.db", stop_after_s=0.5)
        service.batches.clear()
        assert texts(judge(service, tmp_path / "c.db")) == ["expired"] * 3
        service.polls_until_ended = 1
        assert texts(judge(service, tmp_path / "c.db")) == [ANSWER] * 3


def test_batch_turned_away_is_a_failure_of_all_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with messages_service() as service:
        assert texts(judge(service, tmp_path / "c.db", key="invalid")) == ["authentication"] * 3
        assert texts(judge(service, tmp_path / "c.db")) == [ANSWER] * 3


def test_any_line_separator_of_unicode_may_stand_in_an_answer(tmp_path: Path) -> None:
    def odd(_: dict[str, Any], line: dict[str, Any]) -> bytes:
        line["result"]["message"]["content"] = [{"type": "text", "text": "a\u2028b\x85c"}]
        return json.dumps(line, ensure_ascii=False).encode() + b"\n"

    with messages_service(results=odd) as service:
        assert texts(judge(service, tmp_path / "c.db")) == ["a\u2028b\x85c"] * 3


def test_results_are_read_once_however_the_requests_come(tmp_path: Path) -> None:
    async def one_after_another(service: MessagesService) -> list[Outcome]:
        with Cache(tmp_path / "c.db") as cache:
            model = open_model(SONNET, base_url=service.url, api_key="key", max_retries=0)
            assert isinstance(model, AnthropicModel)
            async with Client(BatchModel(model, cache, **QUICK), cache=cache) as client:
                return [await client.complete(ask(name)) for name in JUDGES]

    with messages_service(polls_until_ended=10_000) as service:
        judge(service, tmp_path / "c.db", stop_after_s=0.5)
        (batch,) = service.batches.values()
        batch.polls_left = 0
        assert texts(asyncio.run(one_after_another(service))) == [ANSWER] * 3
        assert service.reads == 1


def test_outage_while_waiting_is_sat_out(tmp_path: Path) -> None:
    with messages_service() as service:
        service.poll_faults.extend([error(503, "api_error", "down")] * 5)
        assert texts(judge(service, tmp_path / "c.db")) == [ANSWER] * 3


def test_outage_that_does_not_end_is_told_and_the_batch_is_not_lost(tmp_path: Path) -> None:
    with messages_service() as service:
        service.poll_faults.extend([error(503, "api_error", "down")] * 21)
        assert texts(judge(service, tmp_path / "c.db")) == ["transport"] * 3
        assert texts(judge(service, tmp_path / "c.db")) == [ANSWER] * 3
        assert len(service.batches) == 1


def test_progress_is_told_at_every_poll(tmp_path: Path) -> None:
    seen: list[tuple[str, str, int, int]] = []
    with messages_service(polls_until_ended=2) as service:
        judge(service, tmp_path / "c.db", on_progress=lambda *told: seen.append(told))
    assert seen == [("msgbatch_0000", "in_progress", 0, 3), ("msgbatch_0000", "ended", 3, 3)]


def test_only_anthropics_own_api_has_batches(tmp_path: Path) -> None:
    with Cache(tmp_path / "c.db") as cache:
        name = "bedrock/anthropic.claude-x"
        model = AnthropicModel(name, context_window=1, base_url="http://127.0.0.1:9", api_key="key")
        with pytest.raises(UsageError, match=f"^--batch: expected an anthropic/ model, found {name} "):
            BatchModel(model, cache)
        asyncio.run(model.aclose())


def test_a_bug_is_raised_where_the_answer_is_awaited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Cache, "name_batch", broken)
    with messages_service() as service, pytest.raises(ZeroDivisionError):
        judge(service, tmp_path / "c.db", [ask()])


def test_failure_is_an_error_value_never_an_exception(tmp_path: Path) -> None:
    with messages_service() as service:
        pass
    outcomes = judge(service, tmp_path / "c.db")
    assert all(isinstance(outcome, ReplyError) and outcome.retryable for outcome in outcomes)
