"""What a report shows of findings, steps and scores, as data."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from gpa.evaluation import Evaluation
from gpa.ingest.transcript import Transcript
from gpa.judges.verdict import AnyResult, Failure, Finding, NotApplicable
from gpa.locations import latest
from gpa.report.findings import ShownFinding, shown_findings
from gpa.report.overview import overview, worst_first
from gpa.report.reading import name_of
from gpa.report.steps import Mark, shown_transcript
from tests.gpa.reported import MODEL, finding, talk, verdict
from tests.judges.checks.transcripts import call, llm, said, tool, transcript, user


class TestFindings:
    def test_one_under_several_dimensions_is_one(self) -> None:
        shown = shown_findings(0, [verdict("LC", finding(check="c")), verdict("TC", finding(check="c"))], None)
        assert [(one.dimensions, one.judge, one.source) for one in shown] == [(("LC", "TC"), "c", "check")]

    @pytest.mark.parametrize(
        ("check", "model", "source", "judge"),
        [
            ("c", "checks", "check", "c"),
            (None, MODEL, "llm", MODEL),
            ("c", MODEL, "confirmed", "c"),
        ],
        ids=["check", "llm", "confirmed"],
    )
    def test_who_says_so(self, check: str | None, model: str, source: str, judge: str) -> None:
        [shown] = shown_findings(0, [verdict("LC", finding(check=check), model=model)], None)
        assert (shown.source, shown.judge) == (source, judge)

    def test_the_gravest_come_first_and_the_suppressed_last(self) -> None:
        muted = finding("HIGH", problem="muted")
        results = [verdict("LC", finding("LOW"), finding("HIGH", category="x"), finding("MEDIUM"), suppressed=(muted,))]
        shown = shown_findings(0, results, None)
        assert [(one.severity, one.suppressed) for one in shown] == [
            ("HIGH", False),
            ("MEDIUM", False),
            ("LOW", False),
            ("HIGH", True),
        ]

    def test_repeats_are_named(self) -> None:
        results = [verdict("LC", finding(), sample=0), verdict("LC", finding(), sample=2)]
        assert [one.samples for one in shown_findings(0, results, None)] == [(0, 2)]

    def test_a_place_is_a_step_and_an_agent(self) -> None:
        [shown] = shown_findings(0, [verdict("LC", finding(span_ids=("span2", "gone")))], talk("t", steps=3))
        assert (shown.labels, shown.agent, shown.spans) == (("s2",), "main", ("span2", "gone"))


def page_of(shown: Transcript, *findings: Finding) -> tuple[Any, list[ShownFinding]]:
    results: list[AnyResult] = [verdict("LC", *findings)]
    listed = shown_findings(0, results, shown)
    return shown_transcript("t", results, shown, listed), listed


class TestSteps:
    def test_a_quote_is_marked_at_the_step_it_is_cited_from(self) -> None:
        page, _ = page_of(talk("t", steps=3), finding(quote="Hello.", span_ids=("span2",)))
        marks = [(step.label, text.marks) for step in page.steps for text in step.texts if text.marks]
        assert marks == [("s2", (Mark(0, 6, (0,)),))]
        assert [step.findings for step in page.steps] == [(), (0,), ()]

    def test_a_quote_of_another_step_says_which(self) -> None:
        shown = transcript(llm(said("The lamp is red.")), llm(said("Done.")))
        page, _ = page_of(shown, finding(quote="lamp is red", span_ids=("span2",)))
        assert page.elsewhere == {0: "s1"}
        assert page.steps[0].texts[0].marks == (Mark(4, 15, (0,)),)

    def test_a_quote_without_ground_is_marked_nowhere(self) -> None:
        page, _ = page_of(talk("t"), finding(quote="Hello.", grounded=False))
        assert not any(text.marks for step in page.steps for text in step.texts)

    def test_arguments_quoted_with_their_keys_in_another_order_are_marked(self) -> None:
        shown = transcript(llm(call("pay", {"number": "R-1", "amount": 5})))
        page, _ = page_of(shown, finding(quote='{"amount":5,"number":"R-1"}'))
        assert page.steps[0].texts[0].marks == (Mark(0, 27, (0,)),)

    def test_a_passage_that_two_findings_quote_is_a_mark_of_both(self) -> None:
        page, _ = page_of(talk("t"), finding(quote="Hello. 0"), finding("LOW", quote="lo."))
        assert page.steps[0].texts[0].marks == (Mark(0, 3, (0,)), Mark(3, 6, (0, 1)), Mark(6, 8, (0,)))

    def test_a_text_that_stands_before_is_referred_to_unless_it_is_quoted(self) -> None:
        long = "The stock of lamps in the northern warehouse is twelve, counted this morning."
        shown = transcript(tool("stock", {}, long), llm(said("ok"), new=(user(long),)), llm(said(f"{long}")))
        page, _ = page_of(shown, finding(quote="twelve", span_ids=("span3",)))
        assert [(text.same, bool(text.text)) for step in page.steps[1:] for text in step.texts] == [
            ("s1", False),
            ("", True),
            ("", True),
        ]

    def test_times_start_with_the_trace(self) -> None:
        made = talk("t", steps=2)
        steps = tuple(replace(one, start_ns=10**18 + n * 10**9, duration_ns=10**9) for n, one in enumerate(made.steps))
        page, _ = page_of(replace(made, steps=steps))
        assert [(step.start, step.duration) for step in page.steps] == [(0.0, 1000.0), (1000.0, 1000.0)]
        assert page.duration == 2000.0

    def test_without_a_transcript_the_verdicts_are_left(self) -> None:
        page = shown_transcript("t", [verdict("LC", score=2)], None, [])
        assert page.missing
        assert [(one.dimension, one.score) for one in page.verdicts] == [("LC", 2)]


class TestOverview:
    def test_the_three_outcomes_are_counted_apart(self) -> None:
        results = (
            verdict("LC", score=0),
            verdict("LC", score=3, trace_id="u"),
            NotApplicable(trace_id="v", judge="LC", model="checks", reason="no plan"),
            Failure(trace_id="w", judge="LC", model="checks", error_type="KeyError", message="m"),
        )
        shown = overview(Evaluation(results), [])
        [row] = shown.distributions
        assert (row.mean, row.counts, row.not_applicable, row.failed) == (1.5, (1, 0, 0, 1), 1, 1)
        assert [reason.text for reason in shown.reasons] == ["no plan"]
        assert [reason.text for reason in shown.failures] == ["KeyError: m"]

    def test_the_worst_trace_comes_first_and_what_has_no_score_last(self) -> None:
        results = (
            NotApplicable(trace_id="none", judge="LC", model="checks", reason="no plan"),
            verdict("LC", score=2, trace_id="fair"),
            Failure(trace_id="failed", judge="LC", model="checks", error_type="E", message="m"),
            verdict("LC", finding(), score=0, trace_id="bad"),
            verdict("LC", finding(), finding("LOW"), score=0, trace_id="worse"),
        )
        assert list(worst_first(Evaluation(results))) == ["worse", "bad", "fair", "failed", "none"]

    def test_a_cost_without_a_price_is_said(self) -> None:
        results = (verdict("LC", cost_usd=0.5), verdict("TC", cost_usd=None))
        assert overview(Evaluation(results), []).cost[:2] == (0.5, 1)

    def test_of_results_judged_again_the_last_counts(self) -> None:
        old, new = verdict("LC", score=0, rubric_hash="1"), verdict("LC", score=3, rubric_hash="2")
        other = verdict("LC", score=1, sample=1)
        assert latest([old, other, new]) == (new, other)


@pytest.mark.parametrize(
    ("location", "name"),
    [
        ("runs/gpa.db", "gpa.db"),
        ("postgresql://me:secret@host/runs", "runs"),
        ("postgresql://host/runs?user=me&password=secret", "runs"),
        ("what?.jsonl", "what?.jsonl"),
    ],
)
def test_the_name_of_a_run_tells_no_folder_and_no_password(location: str, name: str) -> None:
    assert name_of(location) == name
