"""What a plan covers of what was asked for: every worked example of the method, and the edges."""

from __future__ import annotations

from typing import Any

import pytest

from gpa.plans.coverage import Coverage, coverage
from gpa.plans.plan import Dependency, Plan, PlanStep
from gpa.plans.requirements import Requirements
from tests.plans.revenue import ASKED, GROUP, LINE, MAPPING, PARSE, REGISTRY, STATS


def covered(*steps: PlanStep, asked: Requirements = ASKED, **options: Any) -> Coverage:
    return coverage(Plan(steps), asked, REGISTRY, MAPPING, **options)


def test_a_plan_that_serves_everything_covers_seven_of_seven() -> None:
    found = covered(PARSE, GROUP, LINE, STATS)
    assert (len(found.covered), found.rate, found.unjustified_rate, found.payload) == (7, 1.0, 0.0, ())
    assert found.ok
    assert found.covered["time"] == ("1", "3")


def test_a_step_nothing_asked_for_is_unjustified() -> None:
    found = covered(PARSE, GROUP, LINE, STATS, PlanStep("5", "detect_anomalies"))
    assert (found.rate, found.unjustified_rate) == (1.0, 0.2)
    assert found.payload == ("Remove unjustified steps: detect_anomalies",)
    assert not found.ok


def test_a_grouping_that_lacks_a_column_does_not_cover_group_by() -> None:
    half = PlanStep("2", "aggregate", arguments={"group_by": ["date", "region"], "metrics": ["revenue"]})
    found = covered(PARSE, half, LINE, STATS)
    assert found.missing == ("group_by",)
    assert found.rate == 6 / 7
    assert found.payload == ("Missing coverage: group_by=[region, product_category]",)


def test_a_plan_without_its_line_chart_misses_trend_chart_and_time() -> None:
    found = covered(PARSE, GROUP, STATS)
    assert found.missing == ("analysis.trend", "outputs.chart", "time")
    assert found.rate == 4 / 7
    assert found.payload == ("Missing coverage: analysis.trend, outputs.chart, time=date",)
    assert found.unjustified == ()  # parsing the date is a part of what is missing


def test_drawing_before_grouping_is_out_of_order() -> None:
    found = covered(PARSE, LINE, GROUP, STATS)
    assert [(one.step, one.before) for one in found.out_of_order] == [("3", "2")]
    assert found.payload == ("Move plot_line after aggregate",)
    assert not found.ok


def test_a_column_that_is_temporal_already_need_not_be_parsed() -> None:
    assert "time" in covered(GROUP, LINE, STATS).missing
    assert covered(GROUP, LINE, STATS, types={"date": "temporal"}).missing == ()


def test_a_claim_is_checked_and_not_trusted() -> None:
    boast = PlanStep("4", "save_dataframe", satisfies=("analysis.trend", "outputs.table"))
    found = covered(PARSE, GROUP, LINE, boast)
    assert [(one.step, one.requirement) for one in found.unfounded] == [("4", "analysis.trend")]


def test_metrics_are_covered_only_when_asked_for() -> None:
    other = PlanStep("2", "aggregate", arguments={"group_by": ["region", "product_category"], "metrics": ["cost"]})
    assert covered(PARSE, other, LINE, STATS).missing == ()
    assert covered(PARSE, other, STATS, cover_metrics=True).missing[-1] == "metrics.revenue"
    assert covered(PARSE, GROUP, LINE, STATS, cover_metrics=True).missing == ()


def test_steps_of_one_tool_are_told_apart_in_the_payload() -> None:
    twice = (PlanStep("5", "detect_anomalies"), PlanStep("6", "detect_anomalies"))
    assert covered(PARSE, GROUP, LINE, STATS, *twice).payload == (
        "Remove unjustified steps: detect_anomalies (step 5), detect_anomalies (step 6)",
    )


def test_nothing_asked_and_nothing_planned_is_fully_covered() -> None:
    found = covered(asked=Requirements())
    assert (found.rate, found.unjustified_rate, found.ok) == (1.0, 0.0, True)


LOAD = PlanStep("0", "load_table", arguments={"path": "sales.csv"})


def needing(step: PlanStep, *needs: str) -> PlanStep:
    from msgspec.structs import replace

    return replace(step, dependencies=tuple(map(Dependency, needs)))


@pytest.mark.parametrize(
    ("steps", "unjustified"),
    [
        pytest.param((LOAD, PARSE, GROUP, LINE, STATS), (), id="before everything"),
        pytest.param((LOAD, needing(PARSE, "0"), GROUP, LINE, STATS), (), id="needed"),
        pytest.param((LOAD, PARSE, needing(GROUP, "1"), LINE, STATS), ("0",), id="needed by nobody"),
        pytest.param((PARSE, GROUP, LINE, STATS, LOAD), ("0",), id="after everything"),
    ],
)
def test_infrastructure_counts_where_a_step_that_serves_something_needs_it(
    steps: tuple[PlanStep, ...], unjustified: tuple[str, ...]
) -> None:
    assert covered(*steps).unjustified == unjustified


def test_what_only_prepares_for_a_superfluous_step_is_superfluous() -> None:
    found = covered(PARSE, needing(GROUP, "1"), LINE, STATS, LOAD, needing(PlanStep("5", "detect_anomalies"), "0"))
    assert found.unjustified == ("0", "5")


def test_a_tool_that_nobody_knows_is_told_apart_from_a_superfluous_step() -> None:
    found = covered(PARSE, GROUP, LINE, STATS, PlanStep("5", "sing"), PlanStep("6", instruction="Think it over."))
    assert (found.unjustified, found.unknown) == ((), ("5", "6"))
    assert found.payload == ("Unknown tools: sing",)


def test_a_step_that_failed_serves_nothing_and_was_not_superfluous() -> None:
    found = covered(PARSE, GROUP, LINE, STATS, failed=["3"])
    assert (found.missing, found.unjustified) == (("analysis.trend", "outputs.chart", "time"), ())


def test_arguments_by_place_are_known_by_the_registry() -> None:
    by_place = PlanStep("2", "aggregate", arguments={"0": "df", "1": ["region", "product_category"], "2": "sum"})
    assert "group_by" in covered(PARSE, by_place, LINE, STATS).covered


def test_columns_of_a_grouping_are_compared_without_case_and_may_stand_in_one_text() -> None:
    by_text = PlanStep("2", "aggregate", arguments={"group_by": "Region, Product_Category"})
    assert "group_by" in covered(PARSE, by_text, LINE, STATS).covered


@pytest.mark.parametrize("label", sorted(MAPPING.analysis))
def test_each_label_alone_is_covered_by_a_tool_of_our_registry(label: str) -> None:
    able = [
        name for name in REGISTRY.names if not MAPPING.capabilities(name, REGISTRY).isdisjoint(MAPPING.analysis[label])
    ]
    assert able
    assert covered(PlanStep("1", able[0]), asked=Requirements(analysis=(label,))).ok
