"""What was judged or paid for is not asked again, a run stops before it costs too much, a rehearsal foretells it."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from gpa.evaluation import evaluate
from gpa.forecast import aforecast
from gpa.judges.model import ReplyError, ScriptedModel
from gpa.judges.verdict import Failure, Verdict
from gpa.judging import Judging, default_cache
from gpa.store import open_store
from tests.gpa.judging.runs import ROOT, SONNET, A, B, live
from tests.gpa.killed_evaluations import measure
from tests.judges.checks.transcripts import llm, said, transcript
from tests.judges.replies import RUN, answer, reply
from tests.servers.messages import Answer, MessagesService


def test_the_next_run_asks_only_for_what_failed(tmp_path: Path) -> None:
    store = tmp_path / "gpa.db"
    overloaded = ReplyError(error_type="overloaded", message="busy")
    first = ScriptedModel({"LC": reply(score=1), "TC": overloaded})
    evaluation = evaluate(RUN, model=first, dimensions=["LC", "TC"], store=store)
    assert [one.type for one in evaluation.results] == ["verdict", "failure"]
    assert evaluation.exit_code() == 3
    second = evaluate(RUN, model=ScriptedModel({"TC": reply(score=2)}), dimensions=["LC", "TC"], store=store)
    assert [one.score for one in second.results if isinstance(one, Verdict)] == [1, 2]
    assert (second.reused, second.exit_code()) == (1, 0)
    with open_store(store) as opened:
        assert sorted(one.type for one in opened.results()) == ["verdict", "verdict"]


@pytest.mark.parametrize(
    ("change", "reused"),
    [
        ({}, 1),
        ({"samples": 2}, 1),
        ({"effort": "high"}, 0),
        ({"mode": "single"}, 0),
        ({"with_checks": True}, 0),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_a_result_is_reused_when_the_same_was_asked(tmp_path: Path, change: dict[str, Any], reused: int) -> None:
    evaluate(RUN, model=ScriptedModel([reply()]), dimensions=["LC"], store=tmp_path / "gpa.db")
    judging = Judging(**change)
    asked = judging.samples - reused
    replies = [json.dumps({"LC": answer(leads=[])}) if judging.mode == "single" else reply(leads=[])] * asked
    again = evaluate(RUN, model=ScriptedModel(replies), dimensions=["LC"], store=tmp_path / "gpa.db", judging=judging)
    assert again.reused == reused
    assert {one.type for one in again.results} == {"verdict"}


def test_another_model_judges_anew(tmp_path: Path) -> None:
    for name in ("scripted/one", "scripted/two"):
        model = ScriptedModel([reply()], name=name)
        assert evaluate(RUN, model=model, dimensions=["LC"], store=tmp_path / "gpa.db").reused == 0


def test_without_a_store_answers_are_kept_all_the_same_and_not_paid_twice(service: MessagesService) -> None:
    first = live(service)
    assert first.spending is not None
    assert first.spending.paid == 14
    assert default_cache().exists()
    assert default_cache().parent.stat().st_mode & 0o077 == 0
    second = live(service)
    assert second.spending is not None
    assert (second.spending.paid, second.spending.from_cache, second.spending.cost_usd) == (0, 14, 0.0)
    assert second.results == first.results
    third = live(service, cache=None)
    assert third.spending is not None
    assert third.spending.paid == 14


def test_a_model_given_as_an_object_has_no_memory_unless_one_is_named(tmp_path: Path) -> None:
    evaluate(RUN, model=ScriptedModel([reply()]), dimensions=["LC"])
    assert not default_cache().exists()
    judging = Judging(cache=tmp_path / "answers.db")
    evaluate(RUN, model=ScriptedModel([reply()]), dimensions=["LC"], judging=judging)
    evaluate(RUN, model=ScriptedModel([]), dimensions=["LC"], judging=judging)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_runs_pay_for_every_request_once_plus_those_under_way(tmp_path: Path) -> None:
    traces = str(ROOT / "fixtures" / "traces" / "openinference-smolagents")
    found = measure(traces, tmp_path, requests=28, kills=4, seed=3, concurrency=3)
    assert found.killed >= 2
    assert found.requests == len(found.results) == 28
    assert found.twice <= found.killed * 3
    assert found.results == found.uninterrupted
    assert found.paid_afterwards == 0


def test_a_run_stops_before_the_request_that_could_cost_too_much_and_goes_on_with_more(
    service: MessagesService, tmp_path: Path
) -> None:
    store = tmp_path / "gpa.db"
    service.model = lambda _params: Answer(reply(rationale="so it is " * 2_000))  # some 4,500 tokens: 5 cents
    poor = live(service, store=store, max_cost=0.25, max_tokens=8_000, concurrency=1)
    assert poor.spending is not None
    assert 0.1 < poor.spending.cost_usd <= 0.25
    refused = [one for one in poor.results if isinstance(one, Failure)]
    assert {one.error_type for one in refused} == {"budget"}
    assert len(refused) == poor.spending.refused > 0
    paid = poor.spending.paid
    rich = live(service, store=store, max_tokens=8_000)
    assert rich.spending is not None
    assert rich.spending.paid + paid == 14
    assert rich.exit_code() == 0


def test_a_rehearsal_says_what_the_run_asks_and_touches_nothing(service: MessagesService, tmp_path: Path) -> None:
    def rehearsed() -> tuple[int, int, int]:
        forecast = asyncio.run(aforecast([A, B], model=SONNET, store=tmp_path / "gpa.db"))
        total = forecast.judges.get("")
        return (0 if total is None else total.requests, forecast.stored, forecast.cached)

    assert rehearsed() == (14, 0, 0)
    assert not service.attempts
    assert not list(tmp_path.iterdir())
    live(service, [A])
    assert rehearsed() == (7, 0, 7)
    live(service, [A], store=tmp_path / "gpa.db")
    assert rehearsed() == (7, 7, 0)


@pytest.mark.parametrize(("mode", "questions", "finals"), [("panel", 7, 7), ("single", 1, 7)])
def test_a_rehearsal_counts_the_final_scores_of_traces_in_parts(mode: str, questions: int, finals: int) -> None:
    long = transcript(*(llm(said(f"{number} " + "word " * 1500)) for number in range(12)))
    judging = Judging.model_validate({"mode": mode, "context_window": 40_000, "max_tokens": 2_000})
    forecast = asyncio.run(aforecast(long, model=SONNET, judging=judging))
    assert (forecast.in_parts, forecast.finals) == (questions, finals)
    assert forecast.judges[""].requests > questions


def test_a_model_without_a_price_has_no_cost_in_a_rehearsal() -> None:
    forecast = asyncio.run(aforecast([A], model="ollama/small", judging=Judging(mode="single")))
    assert forecast.unpriced == ("ollama/small",)
    assert forecast.judges[""].usd.plain is None
    assert forecast.judges["all"].requests == 1
