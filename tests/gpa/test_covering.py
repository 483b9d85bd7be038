"""Coverage as a judge: three outcomes for each of three dimensions, findings at spans, a resume key that changes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from gpa.covering import DIMENSIONS, KINDS, NOT_KNOWN, CoverageJudge, details, tables, to_mend
from gpa.ingest.transcript import Transcript
from gpa.judges.verdict import CATEGORIES, AnyResult, Failure, NotApplicable, Verdict
from gpa.plans.requirement_files import Asked, Broken, read_columns
from gpa.plans.requirements import Requirements
from gpa.plans.review import Rules
from tests.plans.analysed import PLANNED, analysed
from tests.plans.revenue import ASKED, COLUMNS, MAPPING, REGISTRY

RULES = Rules(REGISTRY, MAPPING)
KNOWN = Asked(ASKED, read_columns(COLUMNS))
UNASKED = ("detect_anomalies", {"column": "revenue"})


def judge(asked: Asked | Broken | None = KNOWN, **fields: Any) -> CoverageJudge:
    return CoverageJudge(lambda _transcript: asked, fields.pop("rules", RULES), **fields)


def judged(transcript: Transcript, asked: Asked | Broken | None = KNOWN) -> dict[str, AnyResult]:
    results: Sequence[AnyResult] = asyncio.run(judge(asked).judge(transcript, DIMENSIONS))
    return {result.judge: result for result in results}


def scores(results: dict[str, AnyResult]) -> dict[str, int | None]:
    return {name: result.score if isinstance(result, Verdict) else None for name, result in results.items()}


def findings(result: AnyResult) -> list[tuple[str | None, tuple[str, ...], str]]:
    assert isinstance(result, Verdict)
    return [(one.check, one.span_ids, one.problem) for one in result.findings]


def test_a_run_that_did_what_was_asked_and_planned_is_faultless() -> None:
    assert scores(judged(analysed(PLANNED))) == {"EE": 3, "PA": 3, "PQ": 3}


def test_what_the_plan_misses_stands_at_the_step_that_states_it() -> None:
    results = judged(analysed([*PLANNED[:2], PLANNED[3]]))
    assert findings(results["PQ"]) == [
        ("coverage-missing", ("span1",), "no step of the plan serves analysis.trend, outputs.chart, time")
    ]
    assert scores(results) == {"EE": 3, "PA": 3, "PQ": 1}


def test_drawing_before_grouping_is_a_finding_of_the_plan() -> None:
    results = judged(analysed([PLANNED[0], PLANNED[2], PLANNED[1], PLANNED[3]]))
    assert findings(results["PQ"]) == [
        ("coverage-out-of-order", ("span1",), "plot_line (step 2) comes before aggregate (step 3), which groups")
    ]


def test_what_nothing_asks_for_stands_at_the_call() -> None:
    results = judged(analysed(PLANNED, [*PLANNED, UNASKED]))
    assert findings(results["EE"]) == [
        ("coverage-unjustified", ("span10", "span11"), "detect_anomalies serves nothing that was asked for")
    ]


def test_a_change_of_meaning_stands_at_the_call_and_a_safe_one_is_no_finding() -> None:
    calls = [PLANNED[0], ("aggregate", {**PLANNED[1][1], "metrics": ["cost"]}), *PLANNED[2:]]
    calls[0] = ("parse_datetime", {"column": "Date"})
    results = judged(analysed(PLANNED, calls))
    assert findings(results["PA"]) == [
        (
            "coverage-semantic-change",
            ("span4", "span5"),
            'aggregate: metrics is another value (planned ["revenue"], called with ["cost"])',
        )
    ]


def test_what_was_planned_and_not_done_stands_where_the_run_ended() -> None:
    [found] = findings(judged(analysed(PLANNED, PLANNED[:3]))["PA"])
    assert found == ("coverage-not-done", ("span8",), "step 4 of the plan (compute_summary_stats) was not done")


def test_requirements_that_are_not_known_are_no_score() -> None:
    results = judged(analysed(PLANNED), None)
    assert {one.reason for one in results.values() if isinstance(one, NotApplicable)} == {NOT_KNOWN}
    assert set(scores(results).values()) == {None}


def test_requirements_that_could_not_be_extracted_are_a_failure() -> None:
    results = judged(analysed(PLANNED), Broken("no answer", "refusal"))
    failures = [one for one in results.values() if isinstance(one, Failure)]
    assert {(one.error_type, one.message) for one in failures} == {("refusal", "no answer")}
    assert len(failures) == 3


@pytest.mark.parametrize(
    ("run", "reasons"),
    [
        pytest.param(
            analysed(None, PLANNED), {"PQ": "no plan in the trace", "PA": "no plan in the trace"}, id="no plan"
        ),
        pytest.param(
            analysed("Plan:\n1. Look.\n2. Draw.", PLANNED),
            {
                "PQ": "no stated plan names a tool that the registry knows",
                "PA": "no stated plan names a tool that the registry knows",
            },
            id="prose",
        ),
        pytest.param(
            analysed(PLANNED, []),
            {"PA": "no tool call in the trace", "EE": "no tool call in the trace"},
            id="nothing done",
        ),
        pytest.param(
            analysed(None, [("sing", {})]),
            {
                "PQ": "no plan in the trace",
                "PA": "no plan in the trace",
                "EE": "no call is of a tool that the registry knows",
            },
            id="unknown tools",
        ),
    ],
)
def test_a_dimension_with_nothing_to_judge_is_not_applicable(run: Transcript, reasons: dict[str, str]) -> None:
    results = judged(run)
    assert {name: one.reason for name, one in results.items() if isinstance(one, NotApplicable)} == reasons


def test_other_dimensions_are_not_applicable() -> None:
    [result] = asyncio.run(judge().judge(analysed(PLANNED), ["LC"]))
    assert isinstance(result, NotApplicable)
    assert result.reason == "requirements say nothing about LC"


def test_findings_use_the_public_categories() -> None:
    assert {kind.category for kind in KINDS.values()} <= set(CATEGORIES)
    assert {kind.dimension for kind in KINDS.values()} == set(DIMENSIONS)


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"digest": "x"}, id="requirements"),
        pytest.param({"rules": replace(RULES, cover_metrics=True)}, id="metrics"),
        pytest.param({"rules": replace(RULES, ignore=frozenset({"a"}))}, id="ignored"),
        pytest.param({"rules": replace(RULES, mapping=replace(MAPPING, version=2))}, id="mapping"),
        pytest.param({"rules": replace(RULES, registry=replace(REGISTRY, tools=REGISTRY.tools[1:]))}, id="registry"),
    ],
)
def test_whatever_decides_a_result_is_part_of_the_resume_key(changed: dict[str, Any]) -> None:
    assert judge().rubric_hash("PQ") == judge().rubric_hash("PQ") != judge(**changed).rubric_hash("PQ")


def test_the_tables_hold_the_metrics_and_what_is_to_be_mended() -> None:
    one = judge()
    one.review(analysed(PLANNED, [*PLANNED, UNASKED]))
    calls = [("parse_datetime", {"column": "Date"}), *PLANNED[1:]]
    one.review(analysed(PLANNED, calls, trace_id="b" * 32))
    reviews = list(one.reviews.values())
    metrics, changes, lines = tables(reviews)
    assert metrics.row("planned")["coverage"].count == 14  # type: ignore[union-attr]  # the cell is a rate
    assert metrics.row("done")["unjustified steps"].count == 1  # type: ignore[union-attr]  # the cell is a rate
    assert changes.row("safe repairs")["plans"].value == 0.5  # type: ignore[union-attr]  # the cell is a rate
    assert (changes.row("safe repairs")["times"], changes.row("changes of meaning")["times"]) == (1, 0)
    assert [row[2] for row in lines.rows] == ["7/7"] * 4
    assert to_mend(reviews) == [(f"{'a' * 32} done", ("Remove unjustified steps: detect_anomalies",))]


def test_without_any_plan_the_rates_are_those_of_nothing() -> None:
    one = CoverageJudge(lambda _transcript: Asked(Requirements()), RULES)
    one.review(analysed(None, []))
    metrics, lines = tables(one.reviews.values())
    assert (metrics.rows, lines.rows) == ((), ())
    [row] = details(one.reviews.values(), {})
    assert (row["done"]["coverage"], row["done"]["unjustified_rate"], row["plans"]) == (1.0, 0.0, [])
