"""No minute sees more requests or tokens than allowed; a request larger than a minute's allowance still goes out."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.errors import UsageError
from gpa.judges.model import Limiter


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds


def times(amounts: list[int], **limits: float | None) -> list[float]:
    clock = Clock()
    limiter = Limiter(clock=clock, sleep=clock.sleep, **limits)  # type: ignore[arg-type]

    async def run() -> list[float]:
        found = []
        for amount in amounts:
            async with limiter.place(amount):
                found.append(round(clock.now, 6))
        return found

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("amounts", "limits", "expected"),
    [
        ([1] * 4, {"requests_per_minute": 2}, [0, 0, 30, 60]),
        ([30, 30, 30], {"tokens_per_minute": 60}, [0, 0, 30]),
        ([150, 10], {"tokens_per_minute": 60}, [0, 100]),
        ([9, 9], {}, [0, 0]),
    ],
    ids=["requests", "tokens", "larger-than-a-minute", "none"],
)
def test_requests_wait_for_their_turn(amounts: list[int], limits: dict[str, float], expected: list[float]) -> None:
    assert times(amounts, **limits) == expected


@given(st.lists(st.integers(1, 50), min_size=1, max_size=30), st.integers(50, 200))
def test_no_minute_takes_more_than_two_buckets(amounts: list[int], per_minute: int) -> None:
    starts = times(amounts, tokens_per_minute=per_minute)
    for begin in starts:
        taken = sum(amount for amount, start in zip(amounts, starts, strict=True) if begin <= start < begin + 60)
        assert taken <= 2 * per_minute  # a full bucket, and what a minute refills


def test_estimate_that_was_too_high_is_given_back() -> None:
    clock = Clock()
    limiter = Limiter(tokens_per_minute=60, clock=clock, sleep=clock.sleep)

    async def run() -> float:
        async with limiter.place(60):
            pass
        limiter.correct(estimated=60, actual=10)
        async with limiter.place(50):
            return clock.now

    assert asyncio.run(run()) == 0


def test_places_bound_what_is_under_way() -> None:
    limiter, under_way, most = Limiter(concurrency=3), 0, 0

    async def one() -> None:
        nonlocal under_way, most
        async with limiter.place(1):
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0)
            under_way -= 1

    async def run() -> None:
        await asyncio.gather(*(one() for _ in range(10)))

    asyncio.run(run())
    assert most == 3


@pytest.mark.parametrize("option", ["concurrency", "requests_per_minute", "tokens_per_minute"])
def test_limit_of_nothing_is_a_usage_error(option: str) -> None:
    with pytest.raises(UsageError, match="expected a number above 0, found 0"):
        Limiter(**{option: 0})  # type: ignore[arg-type]
