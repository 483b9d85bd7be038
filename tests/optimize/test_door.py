"""What passes the door of a search: once, bounded, and the end when the world and not the candidate is at fault."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from gpa.judges.model import Cache, Client, ErrorType, Outcome, Reply, ReplyError, Request, ScriptedModel, load_prices
from gpa.optimize.door import Door, Halted
from gpa.optimize.log import Log

ASKED = Request(model="scripted/model", tail="a question")


def error(kind: ErrorType) -> ReplyError:
    return ReplyError(error_type=kind, message="because")


def behind(
    script: list[str | Reply | ReplyError],
    use: Callable[[Door, Client], Awaitable[None]],
    *,
    log: Path | None = None,
    cache: Cache | None = None,
    offline: bool = False,
) -> Door:
    """The door after it was used."""

    async def main() -> Door:
        with Log(log, {}) as opened:
            door = Door(load_prices(), opened, pauses_s=(0.0, 0.0), offline=offline)
            async with Client(ScriptedModel(script), cache=cache) as client:
                await use(door, client)
            await door.aclose()
        return door

    return asyncio.run(main())


def test_the_same_question_is_asked_once_and_answered_ever_after(tmp_path: Path) -> None:
    got: list[Outcome] = []

    async def twice(door: Door, client: Client) -> None:
        got.extend(await asyncio.gather(*(door.ask(client, ASKED) for _ in range(3))))
        got.append(await door.ask(client, ASKED))

    door = behind(["yes"], twice, log=tmp_path / "log")
    assert [one.text for one in got if isinstance(one, Reply)] == ["yes"] * 4
    assert (door.paid, door.replayed) == (1, 0)
    door = behind([], twice, log=tmp_path / "log")
    assert (door.paid, door.replayed) == (0, 1)


def test_an_answer_from_the_cache_costs_nothing_then_and_later(tmp_path: Path) -> None:
    async def once(door: Door, client: Client) -> None:
        await door.ask(client, ASKED)

    with Cache(tmp_path / "cache.db") as cache:
        cache.put(ASKED.key, ASKED.model, Reply(text="kept", cost_usd=3.0))
        door = behind([], once, log=tmp_path / "log", cache=cache)
    assert (door.paid, door.from_cache, door.cost_usd) == (0, 1, 0.0)
    assert behind([], once, log=tmp_path / "log").cost_usd == 0.0


@pytest.mark.parametrize("kind", ["refusal", "max_tokens", "context_window_exceeded", "invalid_request"])
def test_a_failure_of_the_question_is_an_outcome_and_stays_one(kind: ErrorType, tmp_path: Path) -> None:
    got: list[Outcome] = []

    async def once(door: Door, client: Client) -> None:
        got.append(await door.ask(client, ASKED))

    behind([error(kind)], once, log=tmp_path / "log")
    behind([], once, log=tmp_path / "log")
    assert [one.error_type for one in got if isinstance(one, ReplyError)] == [kind, kind]


async def halting(door: Door, client: Client) -> None:
    with pytest.raises(Halted):
        await door.ask(client, ASKED)
    with pytest.raises(Halted):
        door.check()


def test_a_failure_of_the_moment_is_tried_again() -> None:
    async def once(door: Door, client: Client) -> None:
        assert isinstance(await door.ask(client, ASKED), Reply)

    door = behind([error("overloaded"), error("transport"), "yes"], once)
    assert door.stopped is None


@pytest.mark.parametrize("script", [[error("overloaded")] * 3, [error("authentication")]], ids=["overloaded", "no key"])
def test_a_model_that_cannot_be_asked_ends_the_search_and_is_not_logged(
    script: list[str | Reply | ReplyError], tmp_path: Path
) -> None:
    door = behind(script, halting, log=tmp_path / "log")
    assert door.stopped == "model"
    assert "because" in door.message

    async def later(door: Door, client: Client) -> None:
        assert isinstance(await door.ask(client, ASKED), Reply)

    behind(["now"], later, log=tmp_path / "log")


@pytest.mark.parametrize("kind", ["missing", "expired"])
def test_what_files_do_not_answer_is_gathered_until_the_wave_is_closed(kind: ErrorType) -> None:
    other = Request(model="scripted/model", tail="another question")

    async def gather(door: Door, client: Client) -> None:
        for request in (ASKED, other):
            outcome = await door.ask(client, request)
            assert isinstance(outcome, ReplyError)
            assert outcome.error_type == "missing"
        with pytest.raises(Halted):
            door.close_wave()

    door = behind([error(kind), error(kind)], gather, offline=True)
    assert list(door.unanswered.values()) == [ASKED, other]
    assert (door.stopped, door.message) == ("unanswered", "2 requests have no answer yet")


def test_an_end_from_outside_frees_who_waits() -> None:
    async def wait(door: Door, client: Client) -> None:
        waiting = asyncio.create_task(door.ask(client, ASKED))
        await asyncio.sleep(0)
        door.halt("interrupted", "stopped by hand")
        with pytest.raises(Halted):
            await waiting
        door.halt("cost", "later")

    async def main() -> Door:
        class Slow(ScriptedModel):
            async def complete(self, request: Request) -> Outcome:
                await asyncio.Event().wait()
                return await super().complete(request)

        with Log(None, {}) as log:
            door = Door(load_prices(), log)
            async with Client(Slow([])) as client:
                await wait(door, client)
                await door.aclose()
            return door

    assert asyncio.run(main()).stopped == "interrupted"


def test_a_fault_of_the_program_is_kept_to_be_raised() -> None:
    door = behind([], halting)  # nothing is scripted: an exception, not an outcome
    assert "scripted reply" in str(door.error)
