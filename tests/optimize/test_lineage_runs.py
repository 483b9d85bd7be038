"""Many plans refined by one model: what is asked once, what is bounded, and what a stopped run is given again."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gpa.errors import UsageError
from gpa.judges.model import Cache, Client, ErrorType, Outcome, Reply, ReplyError, Request, TokenUsage
from gpa.optimize.lineage import Limits
from gpa.optimize.log import ANSWERS, Log
from gpa.optimize.refinement import Budget, Refined, Subject, log_settings, refine_all
from gpa.plans.palette import Palette, PaletteTool
from gpa.plans.plan import Plan
from gpa.plans.plan_reading import read_plan

PALETTE = Palette((PaletteTool("LLM", "writes"),))
NAME = "rules/model"


class Rules:
    """A model that splits prompts with a plus in them, and finds nothing else to change."""

    warms = batched = False
    name, context_window = NAME, 100_000

    def __init__(self, *, dies_at: int | None = None, odd: Sequence[Outcome] = ()) -> None:
        self.asked: list[Request] = []
        self.dies_at, self.odd = dies_at, list(odd)

    async def complete(self, request: Request) -> Outcome:
        if len(self.asked) == self.dies_at:
            raise KeyboardInterrupt
        self.asked.append(request)
        if self.odd:
            return self.odd.pop(0)
        return Reply(text=answer(request.judge, request.tail), usage=TokenUsage(input_tokens=9), model=self.name)

    async def count_tokens(self, request: Request) -> int:
        return request.input_tokens

    async def aclose(self) -> None:
        pass


def answer(judge: str, tail: str) -> str:
    if judge == "plan-step":
        tag = "COMPLEXPROMPT" if "+" in tail else "NOCHANGE"
        return json.dumps({"remarks": [{"reason": "so", "tag": tag}]})
    words: list[str] = []
    for prompt in re.findall(r"LLM\('([^']*)'\)", tail):
        words += prompt.split("+") if prompt not in words else [prompt]
    steps = [{"id": str(n), "step": f"LLM('{word}')", "depends_on": []} for n, word in enumerate(words, 1)]
    return json.dumps({"change0": "split", "change1": "none", "plan": steps})


def plan_of(*prompts: str) -> Plan:
    return read_plan([{"id": str(n), "step": f"LLM('{one}')", "depends_on": []} for n, one in enumerate(prompts, 1)])


def prompts(refined: Refined) -> list[list[str]]:
    return [[step.instruction for step in plan] for plan in refined.lineage.plans]


SUBJECTS = (Subject("one", plan_of("a+b", "c"), "Q"), Subject("two", plan_of("d"), "Q"))


def run(
    model: Any, subjects: Sequence[Subject] = SUBJECTS, *, folder: Path | None = None, **options: Any
) -> list[Refined]:
    cache = options.pop("cache", None)

    async def work() -> list[Refined]:
        async with Client(model, cache=cache) as client:
            with Log(folder, log_settings(NAME)) as log:
                return await refine_all(subjects, client, PALETTE, log, **options)

    return asyncio.run(work())


def test_each_plan_has_its_lineage_and_a_question_is_put_once() -> None:
    model = Rules()
    one, two = run(model)
    assert prompts(one) == [["a+b", "c"], ["a", "b", "c"]]
    assert (prompts(two), two.lineage.status) == ([["d"]], "clean")
    assert len({request.key for request in model.asked}) == len(model.asked)
    # evaluator: a+b, a, b, c as step 3; optimiser: once. The second pass asks nothing new.
    assert (one.calls, two.calls) == (5, 1)


@pytest.mark.parametrize(("calls", "plans"), [(1, 1), (2, 2), (4, 2)])
def test_questions_about_one_plan_are_bounded_and_what_there_is_is_kept(calls: int, plans: int) -> None:
    model = Rules()
    one, two = run(model, budget=Budget(max_calls=calls))
    assert (one.lineage.status, one.calls, len(one.lineage.plans)) == ("budget", calls, plans)
    assert one.lineage.message == f"all {calls} questions are used"
    assert two.lineage.status == "clean"


def test_when_the_time_is_up_nothing_more_is_asked() -> None:
    model = Rules()
    one, two = run(model, budget=Budget(max_seconds=0.0))
    assert (one.lineage.status, two.lineage.status, model.asked) == ("budget", "budget", [])


@pytest.mark.parametrize(("error_type", "status", "again"), [("overloaded", "clean", 1), ("refusal", "incomplete", 0)])
def test_a_failure_of_the_world_is_asked_again_in_the_next_pass_and_a_refusal_is_not(
    error_type: ErrorType, status: str, again: int
) -> None:
    model = Rules(odd=[ReplyError(error_type=error_type, message="not now")])
    (one,) = run(model, [Subject("one", plan_of("c", "a+b"), "Q")])
    assert one.lineage.status == status
    assert [failure.step for failure in one.lineage.failures] == ["1"] * (2 - again)
    first = model.asked[0].key
    assert [request.key for request in model.asked[1:]].count(first) == again


@pytest.mark.parametrize("dies_at", range(6))
def test_a_run_that_died_anywhere_goes_on_without_paying_twice(dies_at: int, tmp_path: Path) -> None:
    whole = run(Rules())
    dying, rest = Rules(dies_at=dies_at), Rules()
    with Cache(tmp_path / "cache.db") as cache:
        with pytest.raises(KeyboardInterrupt):
            run(dying, folder=tmp_path / "log", cache=cache)
        assert run(rest, folder=tmp_path / "log", cache=cache) == whole
    paid = [request.key for request in (*dying.asked, *rest.asked)]
    assert len(paid) == len(set(paid)) == 6


def test_answers_that_could_not_be_read_are_not_paid_twice_either(tmp_path: Path) -> None:
    bad = [Reply(text="?", model=NAME), Reply(text="??", model=NAME)]
    subjects = [Subject("one", plan_of("c"), "Q")]
    with Cache(tmp_path / "cache.db") as cache:
        first = run(Rules(odd=bad), subjects, folder=tmp_path / "log", cache=cache)
        assert (first[0].lineage.status, first[0].calls, len(cache)) == ("incomplete", 2, 0)
        silent = Rules()
        assert run(silent, subjects, folder=tmp_path / "log", cache=cache) == first
        assert silent.asked == []
        fresh = run(Rules(), subjects, cache=cache)  # another run, which is not bound to repeat this one
        assert fresh[0].lineage.status == "clean"


def test_a_line_cut_off_by_a_kill_is_asked_for_again(tmp_path: Path) -> None:
    whole = run(Rules(), folder=tmp_path / "log")
    path = tmp_path / "log" / ANSWERS
    path.write_bytes(path.read_bytes()[:-9])
    rest = Rules()
    assert run(rest, folder=tmp_path / "log") == whole
    assert len(rest.asked) == 1


def test_the_log_of_another_model_is_refused(tmp_path: Path) -> None:
    run(Rules(), folder=tmp_path / "log")
    with pytest.raises(UsageError, match="model was 'rules/model'"):
        Log(tmp_path / "log", log_settings("other/model"))


def test_cancelled_every_plan_ends_with_what_there_is_of_it() -> None:
    class Slow(Rules):
        async def complete(self, request: Request) -> Outcome:
            if len(self.asked) == 3:
                started.set()
                await asyncio.sleep(60)
            return await super().complete(request)

    started = asyncio.Event()

    async def work() -> list[Refined]:
        async with Client(Slow()) as client:
            with Log(None, {}) as log:
                task = asyncio.ensure_future(refine_all(SUBJECTS, client, PALETTE, log, limits=Limits()))
                await started.wait()
                task.cancel()
                return await task

    one, two = asyncio.run(work())
    assert (one.lineage.status, len(one.lineage.plans)) == ("interrupted", 2)
    assert two.lineage.status == "clean"


def test_where_nothing_is_sent_an_errored_line_waits_like_a_missing_one() -> None:
    model = Rules(odd=[ReplyError(error_type="errored", message="api_error")])
    (one,) = run(model, [Subject("one", plan_of("c"), "Q")], offline=True)
    assert (one.lineage.status, one.lineage.failures) == ("waiting", ())
