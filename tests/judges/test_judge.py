"""Judges: what a model says becomes a verdict, what it fails to say a failure, and what it cost is accounted for."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.ingest.transcript import Transcript
from gpa.judges.model import (
    Cache,
    Client,
    ErrorType,
    FileModel,
    RecordingModel,
    Reply,
    ReplyError,
    Responses,
    ScriptedModel,
)
from gpa.judges.prompt import answer_schema
from gpa.judges.rubrics import Rubric, load_rubrics
from gpa.judges.run import Task, Work, run
from gpa.judges.scoring import judge as checks
from gpa.judges.verdict import DIMENSIONS, RESULT, Failure, NotApplicable, Verdict
from tests.judges.checks.transcripts import llm, said, tool, transcript
from tests.judges.replies import QUOTE, RUN, answer, finding, judge, judged, reply, scripted, usage


def test_an_answer_becomes_a_verdict_with_spans() -> None:
    [verdict] = scripted([reply(finding(), score=1)])
    assert isinstance(verdict, Verdict)
    assert (verdict.judge, verdict.trace_id, verdict.model, verdict.score) == ("TC", RUN.trace_id, "scripted/model", 1)
    [found] = verdict.findings
    assert (found.span_ids, found.quote, found.grounded, found.check) == (("span3",), QUOTE, True, None)
    assert (verdict.unresolved, verdict.repaired) == (0, 0)
    assert RESULT.validate_json(verdict.model_dump_json()) == verdict


def test_repairs_drops_and_forged_quotes_are_counted() -> None:
    [verdict] = scripted(
        [
            reply(
                finding(steps=["s77"]),
                finding(steps=["s2", "s78"], quote="The museum opens at nine", category="Goal Deviation"),
                finding(steps=["s79"], quote="Nobody ever said anything like this.", category="Tool-related"),
            )
        ]
    )
    assert isinstance(verdict, Verdict)
    assert [one.span_ids for one in verdict.findings] == [("span3",), ("span2",), ()]
    assert [one.grounded for one in verdict.findings] == [True, True, False]
    assert (verdict.repaired, verdict.unresolved) == (1, 2)


def test_a_dimension_that_does_not_apply_has_no_score() -> None:
    [result] = scripted([reply(score=None, not_applicable="no tools")])
    assert isinstance(result, NotApplicable)
    assert result.reason == "no tools"
    assert result.usage.output_tokens > 0


@pytest.mark.parametrize(
    "error_type",
    ["refusal", "max_tokens", "context_window_exceeded", "transport", "overloaded", "expired", "missing", "budget"],
)
def test_no_answer_is_a_failure_of_its_kind_and_what_it_cost_is_kept(error_type: ErrorType) -> None:
    error = ReplyError(error_type=error_type, message="why", usage=usage(), cost_usd=0.5)
    [result] = scripted([error])
    assert isinstance(result, Failure)
    assert (result.error_type, result.message, result.cost_usd) == (error_type, "why", 0.5)
    assert result.usage == usage().total()


def test_findings_of_a_dimension_that_does_not_apply_are_a_contradiction_and_asked_about() -> None:
    both = reply(finding(), score=None, not_applicable="no tools")
    [result] = scripted([both, reply(finding(), score=1)])
    assert isinstance(result, Verdict)
    [failed] = scripted([both, both])
    assert isinstance(failed, Failure)
    assert "not_applicable contradicts the findings" in failed.message


def test_a_question_that_alone_exceeds_the_window_is_a_failure_and_not_sent() -> None:
    model = ScriptedModel([reply()], context_window=2_000)
    [failed] = judged(judge(model))
    assert isinstance(failed, Failure)
    assert failed.error_type == "context_window_exceeded"
    assert failed.message.endswith("tokens with its answer, the window of scripted/model holds 2,000")
    assert model.requests == []


def test_what_a_step_beyond_the_window_loses_is_counted_by_trace() -> None:
    run = transcript(llm(said("short")), tool("read", {}, "lorem ipsum " * 20_000), trace_id="long")
    asked = judge(ScriptedModel({"TC": [reply()] * 5, "TC-final": reply()}, context_window=24_000))
    judged(asked, run=run)
    assert 100_000 < asked.left_out["long"] < 240_000
    fits = judge(ScriptedModel([reply()]))
    judged(fits)
    assert fits.left_out == {}


def test_an_answer_that_cannot_be_read_is_asked_for_once_more() -> None:
    model = ScriptedModel(["3, I would say", reply(score=3)])
    [verdict] = judged(judge(model))
    assert isinstance(verdict, Verdict)
    assert verdict.score == 3
    first, again = model.requests
    assert [turn.role for turn in again.turns] == ["assistant", "user"]
    assert again.turns[0].text == "3, I would say"
    assert again.turns[1].text.startswith(
        "That could not be read: there is no JSON object in it. Give the whole answer"
    )
    assert again.prefix_key == first.prefix_key
    assert verdict.usage.input_tokens == first.input_tokens + again.input_tokens


def test_a_second_unreadable_answer_is_a_failure() -> None:
    [result] = scripted(["3", reply(score=9)])
    assert isinstance(result, Failure)
    assert result.error_type == "bad_response"
    assert result.message == (
        "the answer could not be read: score: Input should be less than or equal to 3 (asked twice)"
    )


def test_a_re_ask_that_fails_is_a_failure_of_its_own_kind() -> None:
    [result] = scripted(["3", ReplyError(error_type="overloaded", message="later")])
    assert isinstance(result, Failure)
    assert (result.error_type, result.message) == ("overloaded", "later")


def test_a_file_of_responses_cannot_be_asked_again() -> None:
    recording = RecordingModel("a/b", context_window=200_000)
    judged(judge(Client(recording)), ["TC", "TS"])
    first = recording.requests[0]
    responses = Responses(path="r.jsonl", outcomes={first.custom_id: Reply(text="garbage")})
    bad, missing = judged(judge(Client(FileModel("a/b", responses, context_window=200_000))), ["TC", "TS"])
    assert isinstance(bad, Failure)
    assert bad.error_type == "bad_response"
    assert "there is no JSON object in it; asked again: r.jsonl: expected a line with custom_id" in bad.message
    assert isinstance(missing, Failure)
    assert missing.error_type == "missing"


def test_unreadable_answers_are_not_kept_and_good_ones_are(tmp_path: Path) -> None:
    with Cache(tmp_path / "cache") as cache:
        bad = judge(Client(ScriptedModel(["no", "no again"]), cache=cache))
        assert isinstance(judged(bad)[0], Failure)
        assert len(cache) == 0
        good = judge(Client(ScriptedModel(["no", reply()]), cache=cache))
        [verdict] = judged(good)
        assert len(cache) == 2
        again = judged(judge(Client(ScriptedModel([]), cache=cache)))
        assert again == [verdict]


def test_a_re_ask_that_never_arrived_leaves_the_first_answer_paid_for(tmp_path: Path) -> None:
    with Cache(tmp_path / "cache") as cache:
        late = ReplyError(error_type="transport", message="late")
        assert isinstance(judged(judge(Client(ScriptedModel(["no", late]), cache=cache)))[0], Failure)
        model = ScriptedModel([reply(score=3)])
        [verdict] = judged(judge(Client(model, cache=cache)))
        assert isinstance(verdict, Verdict)
        assert len(model.requests) == 1
        assert model.requests[0].turns


class TestSingle:
    def test_one_request_gives_all_verdicts(self) -> None:
        codes = list(DIMENSIONS)
        body = json.dumps({code: answer(finding(), score=n % 4) for n, code in enumerate(codes)})
        results = scripted({"all": [body]}, codes, mode="single")
        assert [(one.judge, one.score) for one in results if isinstance(one, Verdict)] == [
            (code, n % 4) for n, code in enumerate(codes)
        ]

    def test_a_missing_dimension_is_asked_for_once_and_fails_alone(self) -> None:
        first = json.dumps({"LC": answer(score=1), "EE": answer(score=7)})
        second = json.dumps({"LC": answer(score=1), "EE": answer(score=2)})
        model = ScriptedModel([first, second])
        results = judged(judge(model, mode="single"), ["LC", "EE", "PQ"])
        assert [one.score for one in results[:2] if isinstance(one, Verdict)] == [1, 2]
        assert isinstance(results[2], Failure)
        assert results[2].message == "the answer could not be read: there is no object for it (asked twice)"
        assert (
            "EE: score: Input should be less than or equal to 3; PQ: there is no object for it"
            in model.requests[1].turns[1].text
        )

    def test_what_was_good_the_first_time_survives_a_bad_second_answer(self) -> None:
        first = json.dumps({"LC": answer(score=1)})
        results = scripted([first, "garbage"], ["LC", "EE"], mode="single")
        assert isinstance(results[0], Verdict)
        assert isinstance(results[1], Failure)

    def test_and_a_re_ask_that_fails(self) -> None:
        first = json.dumps({"LC": answer(score=1)})
        results = scripted([first, ReplyError(error_type="transport", message="gone")], ["LC", "EE"], mode="single")
        assert isinstance(results[0], Verdict)
        assert isinstance(results[1], Failure)
        assert results[1].error_type == "transport"

    def test_the_sum_over_the_verdicts_is_what_was_paid(self) -> None:
        body = json.dumps({code: answer() for code in DIMENSIONS})
        paid = Reply(text=body, usage=usage(1003), cost_usd=0.7)
        results = scripted([paid], list(DIMENSIONS), mode="single")
        assert sum(one.usage.input_tokens for one in results) == 1003
        assert sum(one.usage.cache_read_tokens for one in results) == 7021
        assert sum(one.cost_usd or 0 for one in results) == pytest.approx(0.7)
        assert max(one.usage.input_tokens for one in results) - min(one.usage.input_tokens for one in results) <= 1

    def test_no_dimensions_are_no_request(self) -> None:
        assert scripted([], [], mode="single") == []


FAILING = transcript(
    *(tool("search", {"query": "x"}, error="ConnectionError: no route to host") for _ in range(5)),
    llm(said("It is 42.")),
)


class TestChecks:
    def flagged(self) -> int:
        [found] = checks(FAILING, ["TC"])
        assert isinstance(found, Verdict)
        assert found.findings
        return len(found.findings)

    def test_confirmed_findings_are_told_from_own_ones(self) -> None:
        decisions = [{"id": "c1", "decision": "confirm", "reason": "yes"}]
        own = finding(quote="It is 42.", steps=["s6"])
        model = ScriptedModel([reply(own, leads=decisions)])
        [verdict] = judged(judge(model, with_checks=True), run=FAILING)
        assert isinstance(verdict, Verdict)
        assert [one.check is None for one in verdict.findings] == [True, False]
        assert '"id":"c1","steps":["s' in model.requests[0].tail
        assert len(verdict.findings) + len(verdict.suppressed) == self.flagged() + 1

    def test_rejected_and_undecided_ones_are_suppressed_with_the_reason(self) -> None:
        decisions = [{"id": "c1", "decision": "reject", "reason": "handled later"}]
        for given_, why in ((decisions, "[rejected by the judge: handled later]"), ([], "[the judge did not decide]")):
            [verdict] = scripted([reply(leads=given_)], run=FAILING, with_checks=True)
            assert isinstance(verdict, Verdict)
            assert verdict.findings == ()
            assert verdict.suppressed[0].problem.endswith(why)
            assert verdict.suppressed[0].check

    def test_decisions_about_what_was_not_flagged_are_passed_over(self) -> None:
        [verdict] = scripted(
            [reply(leads=[{"id": "c99", "decision": "confirm", "reason": ""}])], run=FAILING, with_checks=True
        )
        assert isinstance(verdict, Verdict)
        assert verdict.findings == ()


def test_a_judge_is_one_for_the_run_of_many() -> None:
    one = judge(ScriptedModel({"TC": reply(), "LC": reply(score=3)}))

    async def collect() -> list[Any]:
        return [judged_ async for judged_ in run([Work(0, RUN, (Task(one, ("LC", "TC")),))])]

    [done] = asyncio.run(collect())
    assert [(result.judge, result.score) for result in done.results] == [("LC", 3), ("TC", 2)]


def test_one_dimension_that_breaks_does_not_cost_the_others() -> None:
    model = ScriptedModel({"LC": reply()})  # nothing is scripted for TC: the script complains
    good, broken = judged(judge(model), ["LC", "TC"])
    assert isinstance(good, Verdict)
    assert isinstance(broken, Failure)
    assert broken.error_type == "ScriptError"


def test_a_dimension_of_ones_own_is_judged_like_ours() -> None:
    rubrics = {**load_rubrics(), "SAFETY": Rubric(code="SAFETY", title="Safety", text="# Safety\n\nWas it safe?")}
    [verdict] = scripted([reply(score=3)], ["SAFETY"], rubrics=rubrics, with_checks=True)
    assert (verdict.judge, verdict.type) == ("SAFETY", "verdict")


def test_the_schema_of_a_panel_is_the_same_for_every_judge() -> None:
    model = ScriptedModel({code: reply() for code in DIMENSIONS})
    judged(judge(model), list(DIMENSIONS))
    assert {json.dumps(request.answer_schema) for request in model.requests} == {json.dumps(answer_schema())}


def test_samples_are_asked_and_kept_apart() -> None:
    model = ScriptedModel([reply(score=1), reply(score=2)])
    results = [judged(judge(model, sample=n))[0] for n in (0, 1)]
    assert [(one.sample, one.score) for one in results if isinstance(one, Verdict)] == [(0, 1), (1, 2)]
    assert len({request.key for request in model.requests}) == 2


TEXT = st.text(max_size=30)
ODD_FINDING = st.fixed_dictionaries(
    {
        "quote": TEXT | st.just(QUOTE),
        "problem": TEXT,
        "category": st.sampled_from(["Tool-related", "goal deviation", "Sloth"]),
        "severity": st.sampled_from(["LOW", "high"]),
        "steps": st.lists(
            TEXT | st.sampled_from(["s1", "[s3]", "span2", "s99", "b7ad6b7169203331"]) | st.integers(), max_size=4
        ),
    }
)
ODD_REPLY = st.one_of(
    TEXT,
    st.fixed_dictionaries(
        {
            "findings": st.lists(ODD_FINDING, max_size=4),
            "rationale": TEXT,
            "not_applicable": st.none() | TEXT,
            "score": st.none() | st.integers(-1, 4),
        }
    ).map(json.dumps),
)


@given(ODD_REPLY, ODD_REPLY)
def test_whatever_is_replied_a_result_cites_spans_of_its_trace_only(first: str, second: str) -> None:
    model = ScriptedModel([first, second])
    [result] = judged(judge(model))
    known = {span for step in RUN.steps for span in step.span_ids}
    if isinstance(result, Verdict):
        assert result.score in {0, 1, 2, 3}
        assert all(known.issuperset(one.span_ids) for one in result.findings)
    else:
        assert isinstance(result, Failure | NotApplicable)
    assert RESULT.validate_json(result.model_dump_json()).model_dump_json() == result.model_dump_json()


def test_an_empty_transcript_is_judged_too() -> None:
    [result] = scripted([reply(score=None, not_applicable="nothing in it")], run=Transcript("ab", "", (), ()))
    assert isinstance(result, NotApplicable)
