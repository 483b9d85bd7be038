"""Between plan and call: safe repairs, changes of meaning, which call was made for which step; the grain of time."""

from __future__ import annotations

from typing import Any

import pytest

from gpa.plans.grain import auto_grain
from gpa.plans.parameter_changes import changes_of, mended, paired, parameter_changes
from gpa.plans.plan import Plan, PlanStep
from tests.plans.revenue import REGISTRY


@pytest.mark.parametrize(
    ("span_days", "points", "grain"),
    [
        (60, 50, "daily"),
        (90, 60, "weekly"),
        (90, 61, "daily"),
        (200, 50, "weekly"),
        (365, 60, "weekly"),
        (366, 60, "monthly"),
        (400, 100, "daily"),
    ],
)
def test_the_grain_is_the_first_rule_that_fits(span_days: int, points: int, grain: str) -> None:
    assert auto_grain(span_days, points) == grain


def test_the_span_decides_the_grain_when_it_comes_first() -> None:
    assert auto_grain(400, 100, policy="span_first") == "monthly"
    assert auto_grain(60, 100, policy="span_first") == "daily"


def test_the_spelling_of_a_column_and_missing_data_are_safe() -> None:
    line, tool = PlanStep("3", "plot_line", arguments={"x": "Date", "y": "revenue"}), REGISTRY.get("plot_line")
    assert tool is not None
    repaired, changes = mended(line, tool, columns=("date", "revenue"), data={"df": "$2"})
    assert repaired.arguments == {"x": "date", "y": "revenue", "df": "$2"}
    assert [(change.field, change.kind, change.accepted) for change in changes] == [
        ("x", "safe", True),
        ("df", "safe", True),
    ]


def test_another_grouping_is_a_change_of_what_was_meant() -> None:
    planned = PlanStep("2", "aggregate", arguments={"group_by": ["region"]})
    (change,) = parameter_changes(planned, {"group_by": ["country"]}, REGISTRY.get("aggregate"))
    assert (change.kind, change.accepted, change.before, change.after) == ("semantic", False, ["region"], ["country"])


@pytest.mark.parametrize(
    ("before", "after", "kinds"),
    [
        pytest.param({}, {"agg_func": "sum"}, ["safe"], id="default added"),
        pytest.param({}, {"agg_func": "mean"}, ["semantic"], id="value added"),
        pytest.param({"metrics": ["a"]}, {}, ["semantic"], id="left out"),
        pytest.param({"df": "$1"}, {"df": "other"}, [], id="placeholder filled in"),
        pytest.param({"group_by": ["Region"]}, {"group_by": ["region"]}, ["safe"], id="case"),
        pytest.param({"group_by": ["a"]}, {"group_by": ["a"]}, [], id="same"),
        pytest.param({"metrics": 3}, {"metrics": 4}, ["semantic"], id="number"),
    ],
)
def test_a_change_is_safe_only_where_the_answer_cannot_change(
    before: dict[str, Any], after: dict[str, Any], kinds: list[str]
) -> None:
    step = PlanStep("1", "aggregate", arguments=before)
    assert [change.kind for change in parameter_changes(step, after, REGISTRY.get("aggregate"))] == kinds


def test_planned_and_made_calls_pair_by_tool_in_order() -> None:
    planned = Plan((PlanStep("1", "a"), PlanStep("2", "b"), PlanStep("3", "a")))
    done = Plan((PlanStep("0", "a"), PlanStep("1", "a")))
    assert [(one.id, other.id) for one, other in paired(planned, done)] == [("1", "0"), ("3", "1")]


def test_of_several_calls_the_one_that_changes_least_was_made_for_a_step() -> None:
    planned = Plan((step_of("1", "region"), step_of("2", "country")))
    done = Plan((step_of("a", "country"), step_of("b", "region")))
    assert [(one.id, other.id) for one, other in paired(planned, done)] == [("1", "b"), ("2", "a")]


def test_the_retry_and_not_the_call_that_failed_was_made_for_a_step() -> None:
    planned, done = Plan((step_of("1", "region"),)), Plan((step_of("a", "region"), step_of("b", "Region")))
    assert paired(planned, done, failed=["a"])[0][1].id == "b"


def test_very_many_calls_of_one_tool_are_paired_in_order() -> None:
    many = Plan(tuple(step_of(str(n), f"c{n % 7}") for n in range(200)))
    assert [one.id == other.id for one, other in paired(many, many)] == [True] * 200


def test_a_step_that_leaves_its_arguments_open_is_changed_by_none() -> None:
    assert not changes_of(PlanStep("1", "aggregate"), step_of("a", "region"))


def test_arguments_by_place_and_by_name_are_the_same() -> None:
    planned = PlanStep("1", "aggregate", arguments={"0": "$0", "1": ["region"]})
    done = {"df": "sales", "group_by": ["region"]}
    assert parameter_changes(planned, done, REGISTRY.get("aggregate")) == ()


def step_of(step: str, column: str) -> PlanStep:
    return PlanStep(step, "aggregate", arguments={"group_by": [column]})
