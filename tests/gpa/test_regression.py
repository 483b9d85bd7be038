"""Two runs held against each other: which traces pair, what is noise, which findings are new."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gpa.errors import UsageError
from gpa.evaluation import Evaluation, Located, evaluate
from gpa.ingest.assembly import read_traces
from gpa.ingest.transcript import transcribe
from gpa.judges.verdict import AnyResult, Failure, Finding, NotApplicable, Severity, Verdict
from gpa.locations import Location, Recorded, Traced, findings, fingerprint, fingerprints, recorded, traced
from gpa.noise import Values, paired, repeat_margin, student_t
from gpa.regression import compare

FIXTURES = Path(__file__).parents[2] / "fixtures" / "traces"


def verdict(trace_id: str, score: int, *found: Finding, judge: str = "TC", sample: int = 0) -> Verdict:
    return Verdict(
        trace_id=trace_id, judge=judge, model="checks", score=score, rationale="r", findings=found, sample=sample
    )


def finding(
    problem: str = "p",
    *,
    check: str | None = "a-check",
    span: str = "a1",
    category: str = "Tool-related",
    quote: str = "q",
    severity: Severity = "HIGH",
) -> Finding:
    return Finding(span_ids=(span,), quote=quote, problem=problem, category=category, severity=severity, check=check)


def run(scores: Sequence[int], prefix: str = "t") -> Evaluation:
    return Evaluation(tuple(verdict(f"{prefix}{number}", score) for number, score in enumerate(scores)))


def with_goals(evaluation: Evaluation, goal: Callable[[str], str]) -> Recorded:
    ids = evaluation.trace_ids
    step = Location("s1", "desk", "tool", "search")
    return Recorded(evaluation, {trace_id: Traced(trace_id, goal(trace_id), {"a1": step}) for trace_id in ids})


@pytest.mark.parametrize(
    ("before", "after", "verdict_", "basis"),
    [
        ([3] * 8, [2] * 8, "worse", "traces"),
        ([1] * 8, [2] * 8, "better", "traces"),
        ([3, 1, 2, 0] * 3, [3, 1, 2, 0] * 3, "same", "traces"),
        ([3, 1, 2, 3] * 3, [1, 3, 3, 2] * 3, "unclear", "traces"),
        ([3] * 5, [0] * 5, "unclear", "traces"),
        ([3] * 40, [2] * 4 + [3] * 36, "unclear", "traces"),
        ([3] * 40, [2] * 8 + [3] * 32, "worse", "traces"),
        ([3], [0], "unclear", "none"),
    ],
    ids=["all worse", "all better", "same", "up and down", "too few", "four of forty", "eight of forty", "one trace"],
)
def test_a_difference_counts_when_drawing_the_traces_anew_does_not_explain_it(
    before: list[int], after: list[int], verdict_: str, basis: str
) -> None:
    [change] = compare(run(before), run(after)).changes
    assert (change.verdict, change.basis, change.n) == (verdict_, basis, len(before))


def repeats(scores: Sequence[Sequence[int]]) -> Evaluation:
    return Evaluation(
        tuple(
            verdict(f"t{number}", score, sample=sample)
            for number, runs in enumerate(scores)
            for sample, score in enumerate(runs)
        )
    )


@pytest.mark.parametrize(
    ("before", "after", "verdict_"),
    [
        ([[3, 3, 3]] * 4, [[2, 2, 2]] * 4, "worse"),
        ([[3, 1, 2], [0, 3, 2], [3, 0, 1]], [[2, 1, 1], [3, 0, 0], [1, 2, 0]], "unclear"),
        ([[3, 3, 2]] * 10, [[1, 1, 2]] * 10, "worse"),
        ([[2, 2, 2]] * 4, [[2, 2, 2]] * 4, "same"),
    ],
    ids=["steady judge", "judge that wavers", "beyond its wavering", "nothing moved"],
)
def test_repeats_show_the_noise_themselves(before: list[list[int]], after: list[list[int]], verdict_: str) -> None:
    [change] = compare(repeats(before), repeats(after)).changes
    assert change.basis == "repeats"
    assert change.margin is not None
    assert change.verdict == verdict_


def test_the_margin_of_repeats_is_the_t_interval_of_a_difference_of_means() -> None:
    before, after = [3, 2, 3, 1, 2], [1, 2, 0, 1, 2]
    margin = repeat_margin([Values(before, after)])
    squares = sum((score - sum(side) / 5) ** 2 for side in (before, after) for score in side)
    variance = (squares + 0.5) / 9  # one disagreement by a point is added
    assert margin == pytest.approx(stats.t.ppf(0.975, 9) * (variance * 2 / 5) ** 0.5, abs=1e-3)


@pytest.mark.parametrize("freedom", [5, 8, 20, 100])
def test_the_quantile_of_students_t_is_scipys(freedom: int) -> None:
    assert student_t(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), abs=5e-3)


def test_a_tolerance_makes_small_changes_none() -> None:
    before, after = run([3] * 40), run([2] * 8 + [3] * 32)
    assert [change.verdict for change in compare(before, after).changes] == ["worse"]
    assert [change.verdict for change in compare(before, after, tolerance=0.3).changes] == ["unclear"]
    assert [change.verdict for change in compare(before, after, tolerance=0.5).changes] == ["same"]


def test_only_scores_are_compared_and_the_rest_is_counted() -> None:
    def na(trace_id: str) -> NotApplicable:
        return NotApplicable(trace_id=trace_id, judge="TC", model="checks", reason="no tools")

    def failed(trace_id: str) -> Failure:
        return Failure(trace_id=trace_id, judge="TC", model="checks", error_type="E", message="m")

    before = Evaluation((verdict("t1", 3), verdict("t2", 0), na("t3"), failed("t4")))
    after = Evaluation((verdict("t1", 3), failed("t2"), verdict("t3", 1), failed("t4")))
    [change] = compare(before, after).changes
    assert (change.n, change.before, change.after) == (1, 3.0, 3.0)
    assert change.others == ((1, 1), (0, 2))
    assert compare(before, after).tables()[1].row("TC Tool Calling") == {
        "dimension": "TC Tool Calling",
        "n/a": "1 -> 0",
        "failed": "1 -> 2",
    }


def test_runs_of_a_test_set_pair_by_goal_and_runs_of_one_goal_are_repeats() -> None:
    before = with_goals(run([3] * 12, "old"), lambda trace_id: f"goal  {int(trace_id[3:]) % 4}")
    after = with_goals(run([1] * 12, "new"), lambda trace_id: f"Goal {int(trace_id[3:]) % 4}")
    regression = compare(before, after)
    assert regression.pairing == (0, 12, 0, 0)
    [change] = regression.changes
    assert (change.n, change.basis, change.verdict) == (4, "repeats", "worse")


def test_samples_of_a_judge_say_nothing_of_the_agents_noise_when_the_traces_differ() -> None:
    before, after = repeats([[3, 3, 3]] * 4), repeats([[2, 2, 2]] * 4)
    renamed = Evaluation(tuple(one.model_copy(update={"trace_id": f"new{one.trace_id}"}) for one in after.results))
    first = with_goals(before, lambda trace_id: trace_id)
    [change] = compare(first, with_goals(renamed, lambda trace_id: trace_id[3:])).changes
    assert (change.n, change.basis, change.verdict) == (4, "traces", "unclear")


def test_without_a_common_trace_two_samples_are_compared() -> None:
    before, after = run([3, 2, 3, 3] * 5, "a"), run([1, 0, 1, 1] * 6, "b")
    regression = compare(before, after)
    [change] = regression.changes
    assert (change.basis, change.verdict, change.n) == ("unpaired", "worse", 44)
    assert regression.pairing == (0, 0, 20, 24)
    assert any("No trace is in both" in note for note in regression.notes())
    assert compare(run([3] * 5, "a"), run([0] * 5, "b")).changes[0].verdict == "unclear"


def test_what_is_in_one_run_only_and_what_was_judged_otherwise_is_said() -> None:
    before = Evaluation((verdict("t1", 3).model_copy(update={"rubric_hash": "old"}), verdict("t1", 3, judge="LC")))
    after = Evaluation((verdict("t1", 3).model_copy(update={"rubric_hash": "new"}), verdict("t1", 3, judge="EE")))
    regression = compare(before, after)
    assert [change.dimension for change in regression.changes] == ["TC"]
    assert regression.changed_judges == ("TC",)
    assert regression.notes()[-3:] == (
        "Judged differently in the two runs (other checks, rubric or model): TC.",
        "Judged in the first run only: LC.",
        "Judged in the second run only: EE.",
    )


MODEL: dict[str, Any] = {"check": None, "category": "Goal Deviation"}
SAME: dict[str, tuple[Finding, Finding]] = {
    "other spans": (finding(span="a1"), finding(span="b2")),
    "other numbers and ids": (finding("R-77 failed 3 times"), finding("R-8 failed 4 times")),
    "another quote of a check": (finding(quote="one"), finding(quote="two")),
    "a check that words it nearly so": (
        finding("the tool book_flight was called without a date"),
        finding("the tool book_flight was called without any date"),
    ),
    "a model that words it otherwise": (
        finding("the agent drops the second city that was asked for", quote="", **MODEL),
        finding("the second city is dropped by the agent without a word", quote="", **MODEL),
    ),
}
DIFFERENT: dict[str, tuple[Finding, Finding]] = {
    "another check": (finding(check="a-check"), finding(check="b-check")),
    "a check about another argument": (
        finding("date: required, not given"),
        finding("seat: expected integer, got string"),
    ),
    "a model about something else": (
        finding("drops the second city", quote="Paris", **MODEL),
        finding("answers in the wrong language", quote="Guten Tag", **MODEL),
    ),
    "a check and a model": (finding("p"), finding("p", check=None)),
}


def told(before: Finding, after: Finding) -> tuple[int, int, int]:
    """How many are new, known and gone, where the same test case ran twice."""
    step = {span: Location("s1", "desk", "tool", "search") for span in ("a1", "b2")}
    first = Recorded(Evaluation((verdict("t1", 1, before),)), {"t1": Traced("t1", "goal", step)})
    second = Recorded(Evaluation((verdict("t2", 1, after),)), {"t2": Traced("t2", "goal", step)})
    regression = compare(first, second)
    return len(regression.new), len(regression.known), len(regression.gone)


@pytest.mark.parametrize(("before", "after"), SAME.values(), ids=SAME.keys())
def test_a_finding_is_known_in_other_words_and_spans(before: Finding, after: Finding) -> None:
    assert told(before, after) == (0, 1, 0)


@pytest.mark.parametrize(("before", "after"), DIFFERENT.values(), ids=DIFFERENT.keys())
def test_another_error_is_new(before: Finding, after: Finding) -> None:
    assert told(before, after) == (1, 0, 1)


def test_the_same_error_of_another_tool_is_new() -> None:
    def at(tool: str, trace_id: str) -> Recorded:
        steps = {"a1": Location("s1", "desk", "tool", tool)}
        return Recorded(Evaluation((verdict(trace_id, 1, finding()),)), {trace_id: Traced(trace_id, "goal", steps)})

    assert len(compare(at("search", "t1"), at("book", "t2")).new) == 1
    assert len(compare(at("search", "t1"), at("search", "t2")).new) == 0


def test_a_model_may_call_an_error_at_the_same_span_by_another_category() -> None:
    one = finding("is vague", check=None, category="Goal Deviation")
    other = finding("says little", check=None, category="Language-only")
    regression = compare(Evaluation((verdict("t1", 1, one),)), Evaluation((verdict("t1", 1, other),)))
    assert (len(regression.new), len(regression.known)) == (0, 1)


def test_one_more_of_the_same_in_a_trace_is_new() -> None:
    before = Evaluation((verdict("t1", 1, finding(span="a1")),))
    after = Evaluation((verdict("t1", 1, finding(span="a1"), finding(span="b2")),))
    regression = compare(before, after)
    assert [one.finding.span_ids for one in regression.new] == [("b2",)]
    assert len(regression.known) == 1


def test_more_runs_of_a_goal_do_not_make_its_known_finding_new() -> None:
    before = with_goals(Evaluation((verdict("o1", 1, finding()),)), lambda _: "goal")
    after = with_goals(Evaluation(tuple(verdict(f"n{n}", 1, finding()) for n in range(3))), lambda _: "goal")
    regression = compare(before, after)
    assert (len(regression.new), len(regression.known), len(regression.gone)) == (0, 3, 0)


def test_what_was_not_run_again_is_not_gone() -> None:
    before = Evaluation((verdict("t1", 1, finding("x")), verdict("t2", 1, finding("y"))))
    regression = compare(before, Evaluation((verdict("t1", 3),)))
    assert [one.trace_id for one in regression.gone] == ["t1"]


def test_new_is_what_the_first_sample_has_and_known_what_any_had() -> None:
    other = finding("something else entirely", check="b-check")
    before = Evaluation((verdict("t1", 3), verdict("t1", 1, finding(), sample=1)))
    after = Evaluation((verdict("t1", 1, finding()), verdict("t1", 1, other, sample=1)))
    regression = compare(before, after)
    assert (len(regression.new), len(regression.known)) == (0, 1)


SCORES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=12)


@given(SCORES)
def test_the_other_way_round_is_the_opposite(pairs: list[tuple[int, int]]) -> None:
    first, second = (run([pair[side] for pair in pairs]) for side in (0, 1))
    [there], [back] = compare(first, second).changes, compare(second, first).changes
    opposite = {"better": "worse", "worse": "better"}
    assert there.difference == pytest.approx(-(back.difference or 0.0))
    assert there.verdict == opposite.get(back.verdict, back.verdict)


@given(SCORES)
def test_a_run_against_itself_is_the_same(pairs: list[tuple[int, int]]) -> None:
    found = [
        verdict(f"t{n}", one, *[finding(f"problem {k}") for k in range(other)]) for n, (one, other) in enumerate(pairs)
    ]
    evaluation = Evaluation(tuple(found))
    regression = compare(evaluation, evaluation)
    assert {change.verdict for change in regression.changes} == {"same"}
    assert (regression.new, regression.gone) == ((), ())
    assert regression.known == findings(evaluation.results)


@given(SCORES, SCORES)
def test_every_finding_of_the_second_run_is_new_or_known(
    one: list[tuple[int, int]], other: list[tuple[int, int]]
) -> None:
    def results(pairs: list[tuple[int, int]]) -> tuple[AnyResult, ...]:
        return tuple(
            verdict(f"t{n}", a, *[finding(f"{'abcd'[k]} is wrong", span=f"{a}{k}") for k in range(b)])
            for n, (a, b) in enumerate(pairs)
        )

    before, after = Evaluation(results(one)), Evaluation(results(other))
    regression = compare(before, after)
    assert {*regression.new, *regression.known} == {*findings(after.results)}
    assert not {*regression.new} & {*regression.known}
    assert {*regression.gone} <= {*findings(before.results)}


def test_one_run_in_twenty_at_the_most_is_called_worse_when_nothing_changed() -> None:
    """The margin keeps its word: both runs draw their scores from the same distribution, over and over."""

    def score(*what: object) -> float:
        return blake2b(repr(what).encode()).digest()[0] % 4

    wrong = 0
    for trial in range(150):
        values = [Values([score(trial, n, 0)], [score(trial, n, 1)]) for n in range(16)]
        wrong += paired(values).verdict in ("worse", "better")
    assert wrong <= 0.05 * 150 + 4  # two sides together; and what chance allows


def renamed(path: Path, to: Path) -> Path:
    """The recording as a second run would have it: every id and time is new."""

    def other(match: re.Match[str]) -> str:
        return blake2b(match[0].encode(), digest_size=len(match[0]) // 2).hexdigest()

    text = re.sub(r"\b(?:[0-9a-f]{32}|[0-9a-f]{16})\b", other, path.read_text(encoding="utf-8"))
    to.mkdir(exist_ok=True)
    (to / path.name).write_text(text, encoding="utf-8")
    return to / path.name


def test_fingerprints_and_known_findings_survive_new_ids(tmp_path: Path) -> None:
    sources = sorted((FIXTURES / "openinference-smolagents").glob("*.jsonl"))
    again = [renamed(path, tmp_path / "again") for path in sources]
    stores = [tmp_path / "before.db", tmp_path / "after.db"]
    evaluate(list(map(str, sources)), store=stores[0])
    evaluate(list(map(str, again)), store=stores[1])
    before, after = map(recorded, stores)
    assert not set(before.traces) & set(after.traces)
    regression = compare(before, after)
    assert regression.pairing == (0, 4, 0, 0)
    assert {change.verdict for change in regression.changes} == {"same"}
    assert (len(regression.new), len(regression.gone)) == (0, 0)
    assert len(regression.known) >= 10

    def prints(side: Recorded) -> set[str]:
        return set(fingerprints(findings(side.evaluation.results), side))

    assert prints(before) == prints(after)
    assert len(prints(before)) == len(regression.known)


def test_a_fingerprint_tells_goals_apart_and_equal_findings_are_numbered() -> None:
    located = Located("t1", ("TC",), finding())
    step = {"a1": Location("s1", "desk", "tool", "search")}
    one, other = (fingerprint(located, Traced("t1", goal, step)) for goal in ("first", "second"))
    assert one != other
    assert re.fullmatch(r"[0-9a-f]{32}", one)
    recorded_ = Recorded(Evaluation(()), {"t1": Traced("t1", "first", step)})
    assert len(set(fingerprints([located] * 3, recorded_))) == 3


def test_a_run_is_read_from_lines_without_goals_and_from_a_store_with_them(tmp_path: Path) -> None:
    path = FIXTURES / "pydantic-ai" / "seat_change.traces.jsonl"
    evaluation = evaluate(str(path), store=tmp_path / "gpa.db")
    evaluation.to_jsonl(tmp_path / "results.jsonl")
    assert recorded(tmp_path / "results.jsonl").traces == {}
    [trace] = read_traces(str(path))
    assert recorded(tmp_path / "gpa.db").traces == {trace.trace_id: traced(transcribe(trace))}
    assert set(recorded(tmp_path / "gpa.db").evaluation.results) == set(evaluation.results)


def test_of_several_models_one_has_to_be_chosen(tmp_path: Path) -> None:
    lines = tmp_path / "results.jsonl"
    other = verdict("t1", 1).model_copy(update={"model": "p/m"})
    Evaluation((verdict("t1", 3), other)).to_jsonl(lines)
    with pytest.raises(UsageError, match=r"judge TC has results of several models \(checks, p/m\): choose one"):
        recorded(lines)
    assert recorded(lines, model="p/m").evaluation.results == (other,)
    with pytest.raises(UsageError, match="no results of model 'x'"):
        recorded(lines, model="x")


def test_all_of_it_is_json() -> None:
    regression = compare(run([3] * 3), Evaluation((*run([3, 2]).results, verdict("t2", 1, finding()))))
    assert json.loads(json.dumps(regression.to_dict()))["new"][0]["check"] == "a-check"
