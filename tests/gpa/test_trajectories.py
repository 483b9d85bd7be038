"""The comparison with gold as a judge: outcomes, scores, resume keys, and tables over users."""

from __future__ import annotations

import asyncio

import pytest

from gpa.ingest.transcript import Step, Transcript
from gpa.judges.verdict import CATEGORIES, DIMENSIONS, Failure, NotApplicable, Verdict
from gpa.plans.calls import GoldSet, ToolCall, Trajectory
from gpa.plans.differences import TAGS
from gpa.plans.trajectory import call
from gpa.plans.trajectory_reading import Gold
from gpa.trajectories import RULES, Expected, Problem, TrajectoryJudge, tables
from tests.judges.checks.transcripts import call as asked
from tests.judges.checks.transcripts import llm, said, tool, transcript

A, B, C = call("a"), call("b", x=1), call("c")


def gold(*trajectories: Trajectory, user: str = "u") -> Expected:
    return Expected(Gold(GoldSet(user, trajectories)))


def did(*trajectory: ToolCall, trace_id: str = "t" * 32) -> Transcript:
    steps: list[Step] = []
    for number, one in enumerate(trajectory):
        steps += [
            llm(asked(one.tool, one.arguments, f"c{number}"), agent=one.agent or "main"),
            tool(one.tool, one.arguments, "ok", call_id=f"c{number}", agent=one.agent or "main"),
        ]
    return transcript(*steps, llm(said("Done.")), trace_id=trace_id)


def judge(expected: Expected | Problem, digest: str = "d") -> TrajectoryJudge:
    return TrajectoryJudge(lambda _: expected, digest)


def judged(expected: Expected, transcript: Transcript) -> dict[str, Verdict]:
    results = asyncio.run(judge(expected).judge(transcript, ("EE", "PA", "TC")))
    return {result.judge: result for result in results if isinstance(result, Verdict)}


def test_every_difference_has_a_dimension_and_a_category_of_the_vocabulary() -> None:
    assert set(RULES) == set(TAGS)
    assert all(rule.dimension in DIMENSIONS and rule.category in CATEGORIES for rule in RULES.values())


@pytest.mark.parametrize(
    ("trajectory", "scores", "spans"),
    [
        pytest.param((A, B, C), {"EE": 3, "PA": 3, "TC": 3}, {}, id="gold"),
        pytest.param((A, C), {"EE": 3, "PA": 1, "TC": 3}, {"PA": [("span3",)]}, id="missing"),
        pytest.param((A, B), {"EE": 3, "PA": 1, "TC": 3}, {"PA": [("span5",)]}, id="missing at the end"),
        pytest.param((A, A, B, C), {"EE": 1, "PA": 3, "TC": 3}, {"EE": [("span3", "span4")]}, id="extra"),
        pytest.param((A, C, B), {"EE": 3, "PA": 1, "TC": 3}, {"PA": [("span3", "span4")]}, id="order"),
        pytest.param((A, call("b", x=2), C), {"EE": 3, "PA": 3, "TC": 1}, {"TC": [("span3", "span4")]}, id="value"),
    ],
)
def test_scores_and_spans(
    trajectory: Trajectory, scores: dict[str, int], spans: dict[str, list[tuple[str, ...]]]
) -> None:
    found = judged(gold((A, B, C)), did(*trajectory))
    assert {name: verdict.score for name, verdict in found.items()} == scores
    cited = {name: [one.span_ids for one in verdict.findings] for name, verdict in found.items() if verdict.findings}
    assert cited == spans


def test_the_nearest_of_several_gold_trajectories_is_meant() -> None:
    found = judged(gold((A, B, C), (B, A, C)), did(B, A))
    assert [one.problem for one in found["PA"].findings] == ["missing_tool: c should have been called"]


def test_a_call_by_the_wrong_agent_is_found_by_name() -> None:
    booking, refunds = ToolCall("book", {}, "booking"), ToolCall("refund", {}, "refunds")
    found = judged(gold((booking, refunds)), did(booking, ToolCall("refund", {}, "booking")))
    assert [one.check for one in found["PA"].findings] == ["trajectory-agent-violation"]


def test_what_is_missing_at_one_place_is_one_finding() -> None:
    [finding] = judged(gold((A, B, C)), did(A))["PA"].findings
    assert finding.problem == "missing_tool: b should have been called; missing_tool: c should have been called"


def test_nothing_to_compare_with_is_not_applicable_and_broken_gold_a_failure() -> None:
    for problem, kind in ((Problem("of somebody else"), NotApplicable), (Problem("broken", broken=True), Failure)):
        results = asyncio.run(judge(problem).judge(did(A), ("EE", "PA", "TC")))
        assert [type(result) for result in results] == [kind] * 3


def test_other_dimensions_are_not_applicable() -> None:
    [result] = asyncio.run(judge(gold((A,))).judge(did(A), ("GF",)))
    assert isinstance(result, NotApplicable)


def test_the_resume_key_depends_on_gold_and_on_what_is_passed_over() -> None:
    plain = judge(gold((A,)))
    keys = {plain.rubric_hash("TC"), plain.rubric_hash("PA"), judge(gold((A,)), "other").rubric_hash("TC")}
    keys.add(TrajectoryJudge(plain.expected, "d", frozenset({"x"})).rubric_hash("TC"))
    assert len(keys) == 4


def test_traces_of_a_user_are_a_set_that_can_be_all_gold_trajectories() -> None:
    one = judge(gold((A, B), (B, A)))
    for number, trajectory in enumerate(((A, B), (B, A))):
        one.compare(did(*trajectory, trace_id=str(number) * 32))
    row = tables(one)[0].row("all")
    assert (row["traces"], row["users"], row["count %"]) == (2, 1, 100.0)
    exact, matching = row["exact match"], row["matches a gold one"]
    assert getattr(exact, "count", None) == 1
    assert getattr(matching, "count", None) == 2
