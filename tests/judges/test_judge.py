"""Judges: what a model says becomes a verdict, what it fails to say a failure, and what it cost is accounted for."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.ingest.transcript import Transcript
from gpa.judges.examples import Example
from gpa.judges.model import (
    Cache,
    Client,
    ErrorType,
    FileModel,
    Ledger,
    Reply,
    ReplyError,
    Responses,
    ScriptedModel,
    TokenUsage,
    load_prices,
)
from gpa.judges.prompt import answer_schema
from gpa.judges.questions import Asking
from gpa.judges.rubrics import Rubric, load_rubrics
from gpa.judges.run import Task, Work, run
from gpa.judges.scoring import judge as checks
from gpa.judges.spent import Spent, spent
from gpa.judges.verdict import DIMENSIONS, RESULT, Failure, NotApplicable, Usage, Verdict
from tests.judges.checks.transcripts import llm, said, tool, transcript
from tests.judges.replies import QUOTE, RUN, answer, finding, judge, judged, reply, scripted

SONNET = "anthropic/claude-sonnet-5-5"


def usage(n: int = 100) -> TokenUsage:
    return TokenUsage(input_tokens=n, output_tokens=n // 10, cache_read_tokens=7 * n)


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
    model = ScriptedModel([])
    probe = judge(model)
    from gpa.judges.model import RecordingModel

    recording = RecordingModel("a/b", context_window=200_000)
    judged(judge(recording), ["TC", "TS"])
    first = recording.requests[0]
    responses = Responses(path="r.jsonl", outcomes={first.custom_id: Reply(text="garbage")})
    bad, missing = judged(judge(FileModel("a/b", responses, context_window=200_000)), ["TC", "TS"])
    assert isinstance(bad, Failure)
    assert bad.error_type == "bad_response"
    assert "there is no JSON object in it; asked again: r.jsonl: expected a line with custom_id" in bad.message
    assert isinstance(missing, Failure)
    assert missing.error_type == "missing"
    assert probe.model == "scripted/model"


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


class TestMoney:
    def test_a_price_gives_a_cost_as_the_ledger_books_it(self) -> None:
        model = ScriptedModel(["no", reply()], name=SONNET)
        client = Client(model, ledger=Ledger(load_prices()))
        [verdict] = judged(judge(client))
        assert verdict.cost_usd == pytest.approx(client.ledger.spent_usd)
        assert client.ledger.spent_usd > 0

    def test_without_a_price_the_cost_is_unknown_not_nothing(self) -> None:
        client = Client(ScriptedModel([reply()], name="other/model"))
        [verdict] = judged(judge(client))
        assert verdict.cost_usd is None
        assert verdict.usage.input_tokens > 0
        assert RESULT.validate_json(verdict.model_dump_json()) == verdict

    def test_an_unknown_cost_is_told_of_results_without_a_score_too(self) -> None:
        [result] = scripted([Reply(text=reply(score=None, not_applicable="-"), usage=usage())])
        assert '"cost_usd":null' in result.model_dump_json()
        assert RESULT.validate_json(result.model_dump_json()).cost_usd is None

    def test_what_was_not_sent_cost_nothing(self) -> None:
        [result] = scripted([ReplyError(error_type="budget", message="not sent")])
        assert (result.cost_usd, result.usage) == (0.0, Usage())

    @given(st.lists(st.tuples(st.integers(0, 10**6), st.floats(0, 10)), max_size=5), st.integers(1, 9))
    def test_shares_add_up(self, paid: list[tuple[int, float]], count: int) -> None:
        total = spent(Reply(text="", usage=usage(n), cost_usd=cost) for n, cost in paid)
        shares = total.shared(count)
        together = Spent()
        for share in shares:
            together = together.plus(share)
        assert len(shares) == count
        assert together.usage == total.usage
        assert together.cost_usd == pytest.approx(total.cost_usd)

    def test_one_unknown_price_makes_the_sum_unknown(self) -> None:
        outcomes = [Reply(text="", usage=usage(), cost_usd=1.0), Reply(text="", usage=usage(), cost_usd=None)]
        assert spent(outcomes) == Spent(usage(200).total(), None)
        assert spent([Reply(text="", cost_usd=None)]) == Spent()


LONG = transcript(*(tool("read", {"n": n}, f"{n} " + "lorem ipsum " * 300) for n in range(30)), llm(said(QUOTE)))


class TestLongRuns:
    WINDOW = 24_000

    def parts(self) -> int:
        model = ScriptedModel({"TC": [reply()] * 50, "TC-final": reply()}, context_window=self.WINDOW)
        judged(judge(model), run=LONG)
        return len(model.requests) - 1

    def test_findings_are_united_and_one_score_is_given_over_them(self) -> None:
        count = self.parts()
        assert count > 2
        replies = [reply(finding(quote=f"{n} lorem ipsum lorem ipsum", steps=[f"s{n + 1}"])) for n in range(count)]
        model = ScriptedModel(
            {"TC": replies, "TC-final": reply(score=0, rationale="all in all")}, context_window=24_000
        )
        [verdict] = judged(judge(model), run=LONG)
        assert isinstance(verdict, Verdict)
        assert (verdict.score, verdict.rationale) == (0, "all in all")
        assert [one.span_ids for one in verdict.findings] == [(f"span{n + 1}",) for n in range(count)]
        final = model.requests[-1]
        assert (final.judge, final.prefix) == ("TC-final", "")
        assert all(f'"steps":["s{n + 1}"]' in final.tail for n in range(count))
        assert "# Tool Calling" in final.tail
        assert verdict.usage.input_tokens == sum(request.input_tokens for request in model.requests)
        assert all(request.input_tokens + request.max_tokens <= self.WINDOW for request in model.requests)

    def test_the_parts_hold_every_step_between_them(self) -> None:
        model = ScriptedModel({"TC": [reply()] * 50, "TC-final": reply()}, context_window=self.WINDOW)
        judged(judge(model), run=LONG)
        bodies = [request.prefix.split(" in full.\n")[1] for request in model.requests[:-1]]
        assert [sum(f"\n[{step.label}] " in f"\n{body}" for body in bodies) for step in LONG.steps] == [1] * 31

    def test_a_part_that_fails_is_a_failure_that_says_which(self) -> None:
        count = self.parts()
        replies = [reply()] * (count - 1) + [ReplyError(error_type="refusal", message="no")]
        [result] = scripted({"TC": replies}, run=LONG, context_window=self.WINDOW)
        assert isinstance(result, Failure)
        assert (result.error_type, result.message) == ("refusal", f"part {count} of {count}: no")

    def test_a_final_score_that_fails_is_a_failure(self) -> None:
        last = ["?", "??"]
        [result] = scripted({"TC": [reply()] * self.parts(), "TC-final": last}, run=LONG, context_window=self.WINDOW)
        assert isinstance(result, Failure)
        assert result.message.startswith("the final score: the answer could not be read: ")

    def test_a_dimension_that_applies_to_no_part_does_not_apply(self) -> None:
        none = reply(score=None, not_applicable="no plan")
        [result] = scripted({"TC": [none] * self.parts()}, run=LONG, context_window=self.WINDOW)
        assert isinstance(result, NotApplicable)

    def test_all_judges_share_the_parts(self) -> None:
        script: dict[str, Any] = {code: [reply()] * 50 for code in DIMENSIONS}
        script |= {f"{code}-final": reply() for code in DIMENSIONS}
        model = ScriptedModel(script, context_window=self.WINDOW)
        judged(judge(model), list(DIMENSIONS), LONG)
        prefixes = {request.prefix_key for request in model.requests if request.prefix}
        alone = ScriptedModel({"PA": [reply()] * 50, "PA-final": reply()}, context_window=self.WINDOW)
        judged(judge(alone), ["PA"], LONG)
        assert prefixes == {request.prefix_key for request in alone.requests if request.prefix}

    def test_in_single_mode_the_final_scores_are_shared_by_nobody(self) -> None:
        body = json.dumps({code: answer() for code in ("LC", "TC")})
        script: dict[str, Any] = {
            "all": [body] * 50,
            "LC-final": reply(score=0),
            "TC-final": Reply(text=reply(score=3), usage=usage(100_000)),
        }
        model = ScriptedModel(script, context_window=self.WINDOW)
        one, other = judged(judge(model, mode="single"), ["LC", "TC"], LONG)
        assert isinstance(one, Verdict)
        assert isinstance(other, Verdict)
        assert (one.score, other.score) == (0, 3)
        assert other.usage.input_tokens - one.usage.input_tokens > 50_000


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


class TestRubricHash:
    BASE: dict[str, Any] = {}
    CHANGES: dict[str, dict[str, Any]] = {
        "notes": {"notes": "One agent."},
        "example": {"examples": (Example(evidence="e"),)},
        "mode": {"mode": "single"},
        "checks": {"with_checks": True},
        "effort": {"effort": "high"},
        "another effort": {"effort": "low"},
        "rubric": {"rubrics": {**load_rubrics(), "TC": Rubric(code="TC", title="T", text="# T")}},
    }
    SAME: dict[str, dict[str, Any]] = {
        "max_tokens": {"max_tokens": 2_000},
        "cache": {"cache_ttl": None},
        "sample": {"sample": 3},
        "redaction": {"clean": str},
        "another rubric": {"rubrics": {**load_rubrics(), "LC": Rubric(code="LC", title="T", text="# T")}},
        "fewer rubrics": {"rubrics": {"TC": load_rubrics()["TC"]}},
        "an example for another judge": {"examples": (Example(evidence="e", dimensions=("LC",)),)},
    }

    def hash(self, **fields: Any) -> str:
        return judge(ScriptedModel([]), **fields).rubric_hash("TC")

    def test_it_changes_with_all_that_is_asked(self) -> None:
        hashes = [self.hash(), *(self.hash(**fields) for fields in self.CHANGES.values())]
        assert len(set(hashes)) == len(hashes)
        from gpa.judges.judge import Judge

        assert Judge(ScriptedModel([]), load_rubrics(), Asking(frame="other")).rubric_hash("TC") not in hashes

    @pytest.mark.parametrize("fields", SAME.values(), ids=SAME)
    def test_and_with_nothing_else(self, fields: dict[str, Any]) -> None:
        assert self.hash(**fields) == self.hash()

    def test_it_does_not_depend_on_the_model(self) -> None:
        assert judge(ScriptedModel([], name="a/b", context_window=9_000)).rubric_hash("TC") == self.hash()

    def test_in_single_mode_every_rubric_counts(self) -> None:
        other = {**load_rubrics(), "LC": Rubric(code="LC", title="T", text="# T")}
        assert self.hash(mode="single", rubrics=other) != self.hash(mode="single")

    def test_it_is_the_same_in_another_process(self) -> None:
        program = "from tests.judges.test_judge import TestRubricHash; print(TestRubricHash().hash(with_checks=True))"
        root = Path(__file__).parents[2]
        run_ = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True)
        assert run_.stdout.strip() == self.hash(with_checks=True)

    def test_a_verdict_carries_it(self) -> None:
        [verdict] = scripted([reply()])
        assert verdict.rubric_hash == self.hash()


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


def test_a_small_window_leaves_room_for_the_run() -> None:
    model = ScriptedModel({"TC": [reply()] * 99, "TC-final": reply()}, context_window=16_000)
    judged(judge(model), run=LONG)
    assert {request.max_tokens for request in model.requests} == {4_000}


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
