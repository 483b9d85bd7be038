"""Many judges over many transcripts: bounded, in any order, failures as values."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

import pytest

from gpa.ingest.transcript import Transcript
from gpa.judges.run import Checks, Task, Work, run
from gpa.judges.scoring import judge
from gpa.judges.verdict import AnyResult, Failure, NotApplicable
from tests.judges.checks.transcripts import call, llm, tool, transcript


class Slow:
    """A judge that waits, and remembers how many it did at once."""

    sample = 0
    model = "test/slow"

    def __init__(self) -> None:
        self.now = self.most = 0

    def rubric_hash(self, dimension: str) -> str:
        return f"hash of {dimension}"

    async def judge(self, transcript: Transcript, dimensions: Sequence[str]) -> Sequence[AnyResult]:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.001)
        self.now -= 1
        if transcript.trace_id == "bad":
            raise TimeoutError("no answer in 60 s")
        return [NotApplicable(trace_id=transcript.trace_id, judge=d, model=self.model, reason="-") for d in dimensions]


async def _results(work: Iterator[Work], concurrency: int = 3) -> dict[int, tuple[AnyResult, ...]]:
    return {judged.work.number: judged.results async for judged in run(work, concurrency=concurrency)}


def test_every_transcript_is_judged_and_no_more_than_allowed_at_once() -> None:
    slow, pulled = Slow(), 0

    def work() -> Iterator[Work]:
        nonlocal pulled
        for number in range(20):
            pulled += 1
            assert pulled - done() <= 3
            yield Work(number, transcript(llm(), trace_id=str(number)), (Task(slow, ("LC",)),))

    finished: list[int] = []

    def done() -> int:
        return len(finished)

    async def collect() -> None:
        async for judged in run(work(), concurrency=3):
            finished.append(judged.work.number)  # noqa: PERF401 - what is finished is read while it runs

    asyncio.run(collect())
    assert sorted(finished) == list(range(20))
    assert slow.most == 3


def test_a_judge_that_raises_is_a_failure_of_its_dimensions_and_stops_nothing() -> None:
    slow = Slow()
    work = (
        Work(n, transcript(llm(), trace_id=name), (Task(slow, ("LC", "EE")), Task(Checks(), ("GF",))))
        for n, name in enumerate(["good", "bad"])
    )
    results = asyncio.run(_results(work))
    assert [result.type for result in results[0]] == ["not_applicable"] * 3
    failures = results[1][:2]
    assert [(f.judge, f.error_type, f.message, f.rubric_hash) for f in failures if isinstance(f, Failure)] == [
        ("LC", "TimeoutError", "no answer in 60 s", "hash of LC"),
        ("EE", "TimeoutError", "no answer in 60 s", "hash of EE"),
    ]
    assert results[1][2].type == "not_applicable"


def test_leaving_early_cancels_what_is_under_way() -> None:
    slow = Slow()

    async def first() -> None:
        stream = run((Work(n, transcript(llm()), (Task(slow, ("LC",)),)) for n in range(100)), concurrency=2)
        async for _ in stream:
            break
        await stream.aclose()

    asyncio.run(first())
    assert slow.most == 2


@pytest.mark.parametrize("jobs", [1, 2])
def test_processes_give_the_same_results_as_one(jobs: int) -> None:
    given = [
        transcript(
            llm(call("x", {"a": n}, "c")),
            tool("x", {"a": n}, error=f"TypeError: unexpected keyword argument 'a' {n}", call_id="c"),
        )
        for n in range(3)
    ]
    with Checks(jobs) as checks:
        results = asyncio.run(_results(Work(n, t, (Task(checks, ("TC", "EE")),)) for n, t in enumerate(given)))
    assert results == {n: judge(t, ("TC", "EE")) for n, t in enumerate(given)}
