"""Runs beyond the model's window: read in parts, one score over the findings of all."""

from __future__ import annotations

import json
from typing import Any

from gpa.judges.model import Reply, ReplyError, ScriptedModel
from gpa.judges.verdict import DIMENSIONS, Failure, NotApplicable, Verdict
from tests.judges.checks.transcripts import llm, said, tool, transcript
from tests.judges.replies import QUOTE, answer, finding, judge, judged, reply, scripted, usage

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

    def test_a_final_answer_of_not_applicable_loses_no_findings(self) -> None:
        replies = [reply(finding())] * 50
        final = reply(score=None, not_applicable="nothing to judge")
        [result] = judged(
            judge(ScriptedModel({"TC": replies, "TC-final": final}, context_window=self.WINDOW)), run=LONG
        )
        assert isinstance(result, Failure)
        assert "although the parts have findings" in result.message

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
        prefixes = {request.prefix for request in model.requests if request.prefix}
        alone = ScriptedModel({"PA": [reply()] * 50, "PA-final": reply()}, context_window=self.WINDOW)
        judged(judge(alone), ["PA"], LONG)
        assert prefixes == {request.prefix for request in alone.requests if request.prefix}

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


def test_a_small_window_leaves_room_for_the_run() -> None:
    model = ScriptedModel({"TC": [reply()] * 99, "TC-final": reply()}, context_window=16_000)
    judged(judge(model), run=LONG)
    assert {request.max_tokens for request in model.requests} == {4_000}
