"""How a search ends (budgets, Ctrl-C, a kill, a fault) and goes on from its log."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpa.errors import UsageError
from gpa.judges.model import Request
from gpa.optimize.results import Budget, Progress, SearchResult
from gpa.optimize.search import search
from tests.optimize import world as w
from tests.optimize.world import DEV, GOLD, TRAIN, Plain, found, judge_model, reflection_model, same

KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from tests.optimize import world as w

class Mortal(w.Scripted):
    async def complete(self, request):
        outcome = await super().complete(request)
        with open(sys.argv[2], "a") as paid:
            paid.write(request.key + "\\n")
        if sum(1 for _ in open(sys.argv[2])) >= int(sys.argv[3]):
            os.kill(os.getpid(), signal.SIGKILL)
        return outcome

folder = Path(sys.argv[1])
judge = Mortal(w.judge_answer, "scripted/judge")
w.found(folder, judge, w.reflection_model(), log=folder / "log")
"""


def test_a_killed_search_goes_on_where_it_was_and_pays_for_nothing_twice(plain: Plain, tmp_path: Path) -> None:
    paid = tmp_path / "paid"
    (tmp_path / "home").mkdir()
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path), str(paid), "33"],
        check=False,
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "HOME": str(tmp_path / "home"),
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *sys.path]),
        },
    )
    assert killed.returncode == -9, killed.stderr
    assert killed.stdout + killed.stderr == ""
    assert not list((tmp_path / "home").iterdir())  # neither DSPy's cache nor anything else
    before = paid.read_text().split()
    judge, reflection = judge_model(), reflection_model()
    result = found(tmp_path, judge, reflection, log=tmp_path / "log")
    uninterrupted, all_judged, _ = plain
    assert same(result, uninterrupted)
    after = [request.key for request in judge.requests]
    # The one answer that was on its way when the process died was paid for and is lost to everybody.
    lost = set(before) & set(after)
    assert len(lost) <= 1 + 7  # as many as may be on their way: the client's default concurrency
    assert set(before) | set(after) == {request.key for request in all_judged.requests}
    assert result.replayed >= len(before) - len(lost)


def test_a_finished_search_is_repeated_for_nothing_and_goes_on_with_a_larger_budget(tmp_path: Path) -> None:
    log = tmp_path / "log"
    first = found(tmp_path, judge_model(), reflection_model(), log=log, calls=45)
    assert first.stopped == "calls"
    silent, mute = judge_model(), reflection_model()
    again = found(tmp_path, silent, mute, log=log, calls=45)
    assert same(again, first)
    assert silent.requests == mute.requests == []
    assert again.paid == 0
    assert again.cost_usd == first.cost_usd
    more = found(tmp_path, judge_model(), reflection_model(), log=log)
    assert more.stopped == "perfect"
    assert more.candidates[: len(first.candidates)] == first.candidates


def test_a_log_of_another_search_is_refused(tmp_path: Path) -> None:
    found(tmp_path, judge_model(), reflection_model(), log=tmp_path / "log", calls=26)
    with pytest.raises(UsageError, match="seed was 0, is 7"):
        found(tmp_path, judge_model(), reflection_model(), log=tmp_path / "log", calls=26, seed=7)


def test_ctrl_c_keeps_the_best_so_far(tmp_path: Path) -> None:
    async def main() -> SearchResult:
        this = asyncio.current_task()
        assert this is not None

        def cancelling(request: Request) -> str:
            if len(judge.requests) == 30:
                this.cancel()
            return w.judge_answer(request)

        judge = w.Scripted(cancelling, "scripted/judge")
        async with w.bench(judge, w.rubrics(tmp_path)) as bench, w.bench(reflection_model()) as other:
            return await search(
                ["TC"], train=TRAIN, dev=DEV, gold=GOLD, bench=bench, reflection=other, budget=Budget(150)
            )

    result = asyncio.run(main())
    assert result.stopped == "interrupted"
    assert result.winner is not None
    assert 1 <= len(result.candidates) < 4


BUDGETS = {"no step": 26, "one step": 30, "some": 47, "more": 58}


@pytest.mark.parametrize("calls", BUDGETS.values(), ids=BUDGETS)
def test_no_more_calls_are_made_than_allowed(calls: int, tmp_path: Path) -> None:
    seen: list[Progress] = []
    result = found(tmp_path, judge_model(), reflection_model(), calls=calls, step=seen.append)
    assert result.calls <= calls
    assert max(one.calls for one in seen) == result.calls
    assert [one.calls for one in seen if one.event == "judged a trace"] == sorted({
        one.calls for one in seen if one.event == "judged a trace"
    })  # fmt: skip


def test_a_budget_too_small_for_a_step_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--max-calls: expected at least 26 \(10 for the start and 16 for a step\)"):
        found(tmp_path, judge_model(), reflection_model(), calls=25)


def test_the_search_ends_before_it_could_cost_more(tmp_path: Path) -> None:
    prices = w.prices(tmp_path)
    judge, reflection = judge_model(), reflection_model()

    def priced(folder: Path, most: float | None) -> SearchResult:
        return found(
            tmp_path / folder, judge, reflection, judging={"prices": prices, "max_tokens": 500},
            budget=Budget(150, max_cost_usd=most),
        )  # fmt: skip

    whole = priced(Path("whole"), None)
    assert whole.unpriced == 0
    half = priced(Path("half"), whole.cost_usd / 2)
    assert half.stopped == "cost"
    assert half.cost_usd <= whole.cost_usd / 2
    assert half.winner is not None


def test_the_search_ends_when_its_time_is_up(tmp_path: Path) -> None:
    result = found(tmp_path, judge_model(), reflection_model(), budget=Budget(150, max_seconds=1e-9))
    assert result.stopped == "time"
    assert result.winner is None


def test_a_fault_of_the_program_ends_the_search_with_its_traceback(tmp_path: Path) -> None:
    def broken(_start: object, _proposed: object, _train: object) -> str | None:
        raise ZeroDivisionError("the guard is broken")

    with pytest.raises(ZeroDivisionError, match="the guard is broken"):
        found(tmp_path, judge_model(), reflection_model(), guard=broken)
