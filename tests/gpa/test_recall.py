"""Verdicts against gold: what counts, what is kept apart, what stops."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from gpa.agreement import Rate, rate
from gpa.comparison import compare, comparison_notes
from gpa.errors import UsageError
from gpa.evaluation import Evaluation
from gpa.judges.gold import Gold, GoldError, HumanScore
from gpa.judges.matching import Match
from gpa.judges.result_lines import result_line
from gpa.judges.verdict import AnyResult, Failure, Finding, NotApplicable, Verdict
from gpa.recall import score
from gpa.scored import Judged, Scored
from gpa.store import open_store, transcript_hash
from gpa.tables import Cell
from tests.judges.checks.transcripts import SEARCH, call, llm, said, tool, transcript


def error(
    name: str, trace_id: str = "t", dimensions: Sequence[str] = ("TC",), impact: str | None = "HIGH"
) -> GoldError:
    return GoldError.model_validate(
        {"id": name, "trace_id": trace_id, "span_id": name, "category": "x", "dimensions": dimensions, "impact": impact}
    )


def gold(*errors: GoldError, also: Sequence[str] = ()) -> Gold:
    return Gold(errors, trace_ids=tuple(dict.fromkeys((*(error.trace_id for error in errors), *also))))


def verdict(
    *spans: str, trace_id: str = "t", judge: str = "TC", sample: int = 0, model: str = "m/1", score: int = 1
) -> Verdict:
    findings = [Finding(span_ids=(span,), quote="", problem="", category="x", severity="LOW") for span in spans]
    return Verdict(
        trace_id=trace_id, judge=judge, sample=sample, model=model, score=score, rationale="r", findings=tuple(findings)
    )


NA = NotApplicable(trace_id="n", judge="TC", model="m/1", reason="no tools")
FAILED = Failure(trace_id="f", judge="TC", model="m/1", error_type="refusal", message="no")


def cell(scored: Scored, table: str, row: str, column: str) -> Cell:
    return next(found for found in scored.tables() if found.name == table).row(row)[column]


def test_not_applicable_and_failed_catch_nothing_and_are_kept_apart() -> None:
    truth = gold(error("e1"), error("e2", "n"), error("e3", "f"), error("e4", "f"))
    scored = score([verdict("e1"), NA, FAILED], truth)
    assert cell(scored, "caught", "TC", "recall") == rate(1, 4)
    assert cell(scored, "caught", "TC", "recall, judged") == rate(1, 1)
    assert (cell(scored, "caught", "TC", "n/a"), cell(scored, "caught", "TC", "failed")) == (1, 2)
    assert [row[2:] for row in scored.tables()[-1].rows] == [(2,), ("n/a",), ("failed",), ("failed",)]
    assert cell(scored, "findings", "TC", "verdicts") == 1


def test_what_was_not_evaluated_is_left_out_and_counted() -> None:
    truth = gold(error("e1"), error("e2", "other"), error("e3", "other"), error("e4", dimensions=("LC",)))
    scored = score([verdict("e1"), verdict(trace_id="unannotated")], truth)
    assert scored.missing == ("other",)
    assert "Not evaluated and left out: 1 annotated traces with 2 errors." in scored.notes()
    assert cell(scored, "union", "all", "caught") == rate(1, 2)
    assert cell(scored, "counts", "errors", "all") == 2


def test_a_clean_trace_costs_precision_of_findings() -> None:
    scored = score([verdict("e1"), verdict("z", trace_id="clean")], gold(error("e1"), also=["clean"]))
    found = cell(scored, "findings", "TC", "match an error of its own")
    assert isinstance(found, Rate)
    assert (found.count, found.total) == (1, 2)


def test_an_error_of_another_dimension_is_a_false_positive_on_errors() -> None:
    scored = score([verdict("e1", "e2")], gold(error("e1"), error("e2", dimensions=("LC",))))
    assert cell(scored, "caught", "TC", "P") == rate(1, 2)
    assert cell(scored, "findings", "TC", "match any error") == Rate(1.0, 2, 2, rate(2, 2).interval)


def test_an_empty_gold_gives_dashes() -> None:
    scored = score([verdict("e1")], gold(also=["t"]))
    assert cell(scored, "union", "all", "caught") == Rate(None, 0, 0, None)
    assert cell(scored, "caught", "TC", "F1") == Rate(None)


def test_an_error_of_no_impact_counts_in_all_alone() -> None:
    scored = score([verdict("e1")], gold(error("e1", impact=None)))
    assert [cell(scored, "union", row, "caught") for row in ("low", "medium", "high")] == [rate(0, 0)] * 3
    assert cell(scored, "union", "all", "caught") == rate(1, 1)


def test_samples_are_scored_one_at_a_time() -> None:
    results = [verdict("e1", sample=1), verdict(sample=2)]
    assert cell(score(results, gold(error("e1"))), "caught", "TC", "recall") == rate(1, 1)
    assert cell(score(results, gold(error("e1")), sample=2), "caught", "TC", "recall") == rate(0, 1)
    with pytest.raises(UsageError, match=r"^sample: expected one of 1, 2, found 0$"):
        score(results, gold(error("e1")), sample=0)


def test_a_later_result_of_the_same_judge_replaces_the_earlier() -> None:
    scored = score([verdict("e1"), verdict()], gold(error("e1")))
    assert cell(scored, "caught", "TC", "recall") == rate(0, 1)
    assert "1 results were replaced by later ones of the same judge, model and sample." in scored.notes()


def test_several_models_need_a_choice() -> None:
    results = [verdict("e1"), verdict(model="checks")]
    with pytest.raises(UsageError) as raised:
        score(results, gold(error("e1")))
    expected = "judge TC has results of several models for trace t (checks, m/1): choose one (--model)"
    assert str(raised.value) == expected
    assert cell(score(results, gold(error("e1")), model="checks"), "caught", "TC", "recall") == rate(0, 1)
    with pytest.raises(UsageError, match=r"^no results of model 'm/2' in the evaluation$"):
        score(results, gold(error("e1")), model="m/2")


def test_an_evaluation_a_file_and_a_store_score_the_same(tmp_path: Path) -> None:
    results: tuple[AnyResult, ...] = (verdict("e1"), NA, FAILED)
    path = tmp_path / "r.jsonl"
    path.write_bytes(b"".join(map(result_line, results)))
    with open_store(tmp_path / "gpa.db") as store:
        for result in results:
            scene = transcript(llm(said("x")), trace_id=result.trace_id)
            store.save(scene, transcript_hash(scene), [result])
    truth = gold(error("e1"), error("e2", "f"))
    evaluations = (Evaluation(results), path, tmp_path / "gpa.db")
    first, *others = [score(evaluation, truth).tables() for evaluation in evaluations]
    assert others == [first, first]


def test_near_and_same_agent_need_transcripts() -> None:
    steps = [llm(call("search", {"query": "a"}, "c1")), tool("search", {"query": "a"}), llm(said("b")), llm(said("c"))]
    scene = transcript(*steps, tools=(SEARCH,), trace_id="t")
    spans = [step.span_id for step in scene.steps]
    truth = gold(
        GoldError(id="e", trace_id="t", span_id=spans[-1], category="x", dimensions=("TC",), description="p q r")
    )
    found = Finding(span_ids=(spans[-2],), quote="", problem="p q r", category="x", severity="LOW")
    result = Verdict(trace_id="t", judge="TC", model="m/1", score=1, rationale="", findings=(found,))
    scored = score([result], truth, transcripts=[scene], near_steps=1)
    row = next(table for table in scored.tables() if table.name == "union").row("all")
    assert row["localised"] == rate(0, 1)
    assert row["within 1 steps"] == rate(1, 1)
    assert row["same agent"] == rate(1, 1)
    far = score([result], truth, transcripts=[scene], near_steps=0)
    assert cell(far, "union", "all", "within 0 steps") == rate(0, 1)


class Broken:
    """A matcher that cannot say."""

    name = "llm"
    own_dimension_only = True

    def match(self, _errors: Sequence[GoldError], verdict: Verdict) -> list[Match] | None:
        return None if verdict.trace_id == "f" else [Match(0, None, localised=False)]


def test_a_verdict_the_matcher_could_not_compare_is_in_no_table() -> None:
    scored = score([verdict(), verdict(trace_id="f")], gold(error("e1"), error("e2", "f")), Broken())
    assert (cell(scored, "caught", "TC", "failed"), cell(scored, "caught", "TC", "recall")) == (0, rate(1, 1))
    assert cell(scored, "caught", "TC", "P") is None
    assert cell(scored, "union", "all", "caught") == rate(1, 1)
    assert cell(scored, "findings", "TC", "verdicts") == 1
    assert cell(scored, "matrix", "e2", "TC") is None
    assert scored.judged["TC", 0]["f"] == Judged("unmatched", "m/1", "", 1, 0)
    assert (
        "The meta-judge could not decide 1 (error, judge) pairs of 1 verdicts; they are in no table,"
        " nor are their errors in the coverage."
    ) in scored.notes()


def test_an_error_that_one_judge_is_undecided_on_is_not_in_the_coverage_though_another_caught_it() -> None:
    truth = gold(error("e1"), error("e2", "f", dimensions=("TC", "LC")))

    class PartlyBroken(Broken):
        def match(self, errors: Sequence[GoldError], verdict: Verdict) -> list[Match] | None:
            return [Match(0, None, localised=False)] if verdict.judge == "LC" else super().match(errors, verdict)

    scored = score([verdict(), verdict(trace_id="f"), verdict(trace_id="f", judge="LC")], truth, PartlyBroken())
    assert cell(scored, "caught", "LC", "recall") == rate(1, 1)
    assert cell(scored, "union", "all", "caught") == rate(1, 1)


def test_what_is_odd_in_the_gold_is_noted() -> None:
    twice = [error("e1"), error("e1").model_copy(update={"id": "t-2"})]
    truth = gold(*twice, error("e3", dimensions=("XX", "OWN")))
    truth = Gold(truth.errors, (HumanScore(trace_id="t", judge="YY", score=1),), truth.trace_ids)
    notes = score([verdict("e1"), verdict(judge="OWN")], truth).notes()
    assert "1 gold errors repeat another one in all but the id; each counts." in notes
    assert "Judges in the gold that are no dimension and have no results: XX (1 errors)." in notes
    assert "Judges in the gold that are no dimension and have no results: YY (1 human scores)." in notes


def many(caught: Sequence[int]) -> Scored:
    """As many traces with one error each, of which these are caught."""
    truth = gold(*(error(f"e{number}", f"t{number}") for number in range(30)))
    results = [verdict(*([f"e{number}"] if number in caught else []), trace_id=f"t{number}") for number in range(30)]
    return score(results, truth)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        pytest.param(range(5), range(20), "better", id="fifteen more"),
        pytest.param(range(20), range(5), "worse", id="fifteen less"),
        pytest.param(range(5), range(6), "not shown to differ", id="one more"),
        pytest.param(range(10), range(5, 15), "not shown to differ", id="five lost and five won"),
        pytest.param(range(9), range(9), "not shown to differ", id="the same"),
    ],
)
def test_better_or_worse_is_said_when_it_is_shown(first: Sequence[int], second: Sequence[int], expected: str) -> None:
    table = compare(many(first), many(second))[0]
    row = table.row("TC")
    assert row["second is"] == expected
    assert (row["lost"], row["won"]) == (len(set(first) - set(second)), len(set(second) - set(first)))
    difference = row["difference"]
    assert isinstance(difference, Rate)
    assert difference.value == pytest.approx((len(second) - len(first)) / 30)


def test_only_traces_that_both_have_are_compared() -> None:
    truth = gold(error("e1"), error("e2", "u"), error("e3", "v"))
    first = score([verdict("e1"), verdict("e2", trace_id="u")], truth)
    second = score([verdict(), verdict("e3", trace_id="v")], truth)
    assert compare(first, second)[0].row("TC")["first"] == rate(1, 1)
    assert comparison_notes(first, second)[0] == (
        "1 annotated traces in both; left out: 1 only in the first, 1 only in the second."
    )
    with pytest.raises(UsageError, match=r"^the two evaluations have no annotated trace in common$"):
        compare(score([verdict("e2", trace_id="u")], truth), score([verdict()], truth))
