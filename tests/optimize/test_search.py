"""What comes of searches with the real `dspy.GEPA` in a small world; they take seconds, most of them to import DSPy."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpa.errors import UsageError
from gpa.judges.gold import Gold
from gpa.judges.model import Request
from gpa.judges.rubrics import load_rubrics
from gpa.optimize.guards import guard_of
from gpa.optimize.results import Progress, SearchResult, accept
from tests.optimize import world as w
from tests.optimize.world import (
    DEV,
    GOLD,
    HELD_OUT,
    RUNS,
    TRAIN,
    Plain,
    found,
    judge_model,
    recall_on,
    reflection_model,
    same,
    written,
)


def test_recall_on_held_out_runs_rises_within_150_calls(plain: Plain, tmp_path: Path) -> None:
    result, _, _ = plain
    assert result.start is not None
    assert result.winner is not None
    before = recall_on(HELD_OUT, written(tmp_path / "before", result.start))
    after = recall_on(HELD_OUT, written(tmp_path / "after", result.winner))
    assert before < 0.5
    assert after > 0.9
    assert result.calls <= 150
    assert result.stopped == "perfect"


def test_a_candidate_knows_its_parent_its_scores_and_when_it_was_found(plain: Plain) -> None:
    result, _, _ = plain
    assert [one.number for one in result.candidates] == list(range(len(result.candidates)))
    assert result.candidates[0].parents == ()
    assert result.candidates[0].calls == len(DEV)
    for one in result.candidates[1:]:
        (parent,) = one.parents
        assert parent < one.number
        assert one.calls > result.candidates[parent].calls
        assert set(one.scores) == {run.trace_id for run in DEV}
        assert one.score == pytest.approx(sum(one.scores.values()) / len(DEV))
        assert one.errors == sum(len(GOLD.by_trace[run.trace_id]) for run in DEV)
    assert result.best in result.front


def test_the_same_seed_gives_the_same_search(plain: Plain, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    result, judge, reflection = plain
    again_judge, again_reflection = judge_model(), reflection_model()
    again = found(tmp_path, again_judge, again_reflection)
    assert same(again, result)
    assert {r.custom_id for r in again_judge.requests} == {r.custom_id for r in judge.requests}
    assert [r.body for r in again_reflection.requests] == [r.body for r in reflection.requests]
    assert capfd.readouterr() == ("", "")


def test_another_seed_takes_other_turns(plain: Plain, tmp_path: Path) -> None:
    _, _, reflection = plain
    other = reflection_model()
    found(tmp_path, judge_model(), other, seed=1)
    assert [r.body for r in other.requests] != [r.body for r in reflection.requests]


def test_a_proposal_that_holds_what_training_runs_say_is_refused(tmp_path: Path) -> None:
    runs, gold = w.world(20, tempting=True)
    clean_runs, clean_gold = w.world(10, first=20)  # held out: the mark is nowhere in it

    def told(answer: Callable[[Request], str], guarded: bool, folder: Path) -> SearchResult:
        rubrics = load_rubrics(w.rubrics(tmp_path / "known"))
        guard = guard_of(rubrics.values(), gold) if guarded else accept
        return found(folder, judge_model(), reflection_model(answer), runs=runs, gold=gold, guard=guard)

    tempted = told(w.tempted_answer, guarded=False, folder=tmp_path / "tempted")
    assert tempted.winner is not None
    assert w.MARK in tempted.winner.rubrics["TC"].text
    assert tempted.winner.score == 1.0  # perfect on dev, where the mark is too
    assert recall_on(clean_runs, written(tmp_path / "leaking", tempted.winner), clean_gold) < 0.5

    guarded = told(w.tempted_answer, guarded=True, folder=tmp_path / "guarded")
    assert guarded.winner is not None
    assert guarded.rejected
    assert all(w.MARK in one.text for one in guarded.rejected)
    assert all(w.MARK not in one.rubrics["TC"].text for one in guarded.candidates)
    assert recall_on(clean_runs, written(tmp_path / "clean", guarded.winner), clean_gold) > 0.9


def test_a_refused_proposal_costs_no_judgement_and_its_reason_is_told(tmp_path: Path) -> None:
    judge, reflection = judge_model(), reflection_model()
    result = found(tmp_path, judge, reflection, guard=lambda _start, _proposed, _train: "it is too blue", calls=40)
    assert len(result.candidates) == 1
    assert {one.reason for one in result.rejected} == {"it is too blue"}
    assert any("it is too blue" in turn.text for request in reflection.requests for turn in request.turns)
    start = load_rubrics(w.rubrics(tmp_path / "start"))["TC"].text.strip()
    assert all(start in request.tail for request in judge.requests)


CALM = "Count each kind once."


def moody_answer(request: Request) -> str:
    """As `judge_answer`, with scores that change from sample to sample unless the rubric says how to count."""
    answer = json.loads(w.judge_answer(request))
    if CALM not in request.tail:
        answer["score"] = (request.sample * 2 + len(answer["findings"])) % 4
    return json.dumps(answer)


def calming_answer(request: Request) -> str:
    """First a rubric that agrees by catching nothing; when it is told what that misses, one that catches it again."""
    rubric = request.tail.split("begins ========\n", 1)[1].split("\n========", 1)[0]
    if "Say more exactly" in request.tail and CALM not in rubric:
        rubric = rubric.replace("- arguments left open at the end.", f"- errors.\n\n{CALM}")
    elif "Missed: Formatting Errors" in request.tail:
        rubric = rubric.replace("- errors.", "- arguments left open at the end.")
    return json.dumps({"lessons": "l", "rubric": rubric})


def test_consistency_rises_without_losing_recall(tmp_path: Path) -> None:
    reflection = reflection_model(calming_answer)
    result = found(
        tmp_path, w.Scripted(moody_answer, "scripted/judge"), reflection, objective="consistency",
        judging={"samples": 3}, calls=150,
    )  # fmt: skip
    assert result.start is not None
    assert result.winner is not None
    assert result.winner.objectives["consistency"] > result.start.objectives["consistency"]
    assert result.start.alpha is not None
    assert result.winner.alpha == 1.0 > result.start.alpha
    assert result.winner.caught >= result.start.caught > 0


def test_consistency_needs_samples(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="at least 2 samples"):
        found(tmp_path, judge_model(), reflection_model(), objective="consistency")


def test_several_dimensions_are_one_program_with_a_predictor_each(tmp_path: Path) -> None:
    gold = Gold(
        tuple(
            error.model_copy(update={"dimensions": ("LC",) if error.category == "Resource Abuse" else ("TC",)})
            for error in GOLD.errors
        ),
        trace_ids=GOLD.trace_ids,
    )
    start = w.rubrics(tmp_path / "start")
    (start / "LC.md").write_text(w.START.replace("Tool Calling", "Logical Consistency").replace("the end", "last"))
    judge = judge_model()
    result = found(tmp_path, judge, reflection_model(), gold=gold, dimensions=["TC", "LC"], calls=150)
    assert result.dimensions == ("TC", "LC")
    assert {request.judge for request in judge.requests} == {"TC", "LC"}
    assert result.winner is not None
    assert result.start is not None
    assert result.winner.score > result.start.score
    assert set(result.winner.rubrics) == {"TC", "LC"}
    assert [one for one in result.candidates if len(one.parents) != 1] == [result.start]


def test_a_judgement_that_fails_scores_nothing_and_its_reason_is_told(tmp_path: Path) -> None:
    def refusing(request: Request) -> str:
        return "I would rather not." if request.trace_id == TRAIN[0].trace_id else w.judge_answer(request)

    reflection = reflection_model()
    log: list[Progress] = []
    found(tmp_path, w.Scripted(refusing, "scripted/judge"), reflection, step=log.append)
    told = "".join(request.tail for request in reflection.requests)
    assert "could not be judged (bad_response)" in told


UNFIT: dict[str, tuple[dict[str, Any], str]] = {
    "unknown dimension": ({"dimensions": ["XX"]}, "found 'XX'"),
    "none": ({"dimensions": []}, "at least one"),
    "no such errors": ({"dimensions": ["PQ"]}, "expected errors of PQ"),
    "single mode": ({"judging": {"mode": "single"}}, "expected panel"),
    "no gold": ({"gold": Gold(())}, "found no gold for"),
    "an overlap": ({"runs": [*RUNS[:10], *RUNS[9:19]]}, "in both"),
}


@pytest.mark.parametrize(("options", "message"), UNFIT.values(), ids=UNFIT)
def test_what_does_not_fit_is_refused_before_anything_is_asked(
    options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    judge = judge_model()
    with pytest.raises(UsageError, match=message):
        found(tmp_path, judge, reflection_model(), **options)
    assert not judge.requests
