"""How calls are counted, and which candidate is kept."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.errors import UsageError
from gpa.judges.matching import Fuzzy
from gpa.judges.rubrics import load_rubrics
from gpa.optimize.door import Door, Halted
from gpa.optimize.log import Log
from gpa.optimize.results import Budget, Candidate, Objective, SearchResult, accept
from gpa.optimize.trials import Task, Texts, Trials, held
from tests.optimize import world as w

RUNS, GOLD = w.world(3)
START = held(w.START)
OTHER = held(w.START.replace("the end", "last"))


def trials(folder: Path, texts: list[Texts], *, calls: int = 9, twice: bool = False) -> Trials:
    """After these candidates were tried on the dev trace."""

    async def main() -> Trials:
        async with w.bench(w.Scripted(w.judge_answer, "scripted/judge"), w.rubrics(folder)) as bench:
            with Log(None, {}) as log:
                train, dev = tuple(RUNS[:1]), tuple(RUNS[1:2])
                task = Task(("TC",), train, dev, GOLD, Fuzzy(), None, "recall", accept, Budget(calls), None)
                some = Trials(bench, Door(bench.prices, log), task)
                for one in texts:
                    for _ in range(1 + twice):
                        some.begin(one, RUNS[1].trace_id, 0)
                    for _ in range(1 + twice):
                        await some.judge(one, RUNS[1].trace_id, "TC", 0)
                        some.finish(one, RUNS[1].trace_id, 0)
                return some

    return asyncio.run(main())


def test_a_call_that_dspy_starts_twice_because_it_is_slow_is_one_call(tmp_path: Path) -> None:
    some = trials(tmp_path, [(START,)], twice=True)
    assert some.calls == 1
    assert len(some.candidates) == 1


def test_a_call_that_comes_again_later_is_another_one(tmp_path: Path) -> None:
    assert trials(tmp_path, [(START,), (START,)]).calls == 2


def test_no_call_begins_beyond_the_budget(tmp_path: Path) -> None:
    with pytest.raises(Halted):
        trials(tmp_path, [(START,), (OTHER,), (START,)], calls=2)


def test_the_start_keeps_its_text_and_another_candidate_is_as_its_file_will_be(tmp_path: Path) -> None:
    some = trials(tmp_path, [(START,), (OTHER,)])
    first, second = some.candidates.values()
    assert first.rubrics["TC"].text == w.START
    assert second.rubrics["TC"].text == f"{OTHER}\n"
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "TC.md").write_text(second.rubrics["TC"].text)
    assert load_rubrics(tmp_path / "out")["TC"] == second.rubrics["TC"]


@given(st.text())
def test_what_a_signature_holds_is_held_again_the_same(text: str) -> None:
    assert held(held(text)) == held(text)


def candidate(
    number: int, score: float, localisation: float = 0.0, consistency: float = 0.0, caught: int = 0
) -> Candidate:
    return Candidate(
        number, {}, (), score, {"localisation": localisation, "consistency": consistency}, {}, number, caught=caught
    )  # fmt: skip


CHOICES: dict[str, tuple[Objective, list[Candidate], int]] = {
    "the best score": ("recall", [candidate(0, 0.2), candidate(1, 0.8), candidate(2, 0.5)], 1),
    "then the best localised": ("recall", [candidate(0, 0.8, 0.1), candidate(1, 0.8, 0.4)], 1),
    "then the earliest": ("recall", [candidate(0, 0.8), candidate(1, 0.8)], 0),
    "the one that agrees best": ("consistency", [candidate(0, 0.9, caught=3), candidate(1, 0.5, 0, 0.9, 3)], 1),
    "but not if it catches less": ("consistency", [candidate(0, 0.4, 0, 0.2, 3), candidate(1, 0.5, 0, 0.9, 2)], 0),
}


@pytest.mark.parametrize(("objective", "candidates", "best"), CHOICES.values(), ids=CHOICES)
def test_the_best_candidate_is(objective: Objective, candidates: list[Candidate], best: int, tmp_path: Path) -> None:
    some = trials(tmp_path, [])
    object.__setattr__(some.task, "objective", objective)
    some.candidates = {(str(one.number),): one for one in candidates}
    assert some.best is not None
    assert some.best.number == best


def test_the_front_is_what_no_other_candidate_beats_in_everything() -> None:
    some = (candidate(0, 0, 0.1, 0.1), candidate(1, 0, 0.5, 0.2), candidate(2, 0, 0.2, 0.9), candidate(3, 0, 0.5, 0.2))
    result = SearchResult(("TC",), some, 1, (), "finished", "", 0, 0, 0.0, 0, 0, 0, 0)
    assert result.front == (1, 2, 3)


@pytest.mark.parametrize("limits", [(0, None, None), (9, 0.0, None), (9, None, -1.0)], ids=["calls", "cost", "time"])
def test_a_budget_of_nothing_is_refused(limits: tuple[int, float | None, float | None]) -> None:
    with pytest.raises(UsageError, match="expected a number above 0"):
        Budget(*limits)
