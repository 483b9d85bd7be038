"""A trace beside what was asked for: plans, calls, and what changed between them, with the spans that hold it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gpa.ingest.transcript import Plan as StatedPlan
from gpa.ingest.transcript import Transcript
from gpa.plans.requirement_files import Asked, Column, read_columns
from gpa.plans.requirements import Requirements, TimeAxis
from gpa.plans.review import Review, Rules, grain_of, review
from tests.plans.analysed import PLANNED, analysed, written
from tests.plans.revenue import ASKED, COLUMNS, MAPPING, REGISTRY

RULES = Rules(REGISTRY, MAPPING)


def reviewed(transcript: Transcript, **rules: Any) -> Review:
    return review(transcript, Asked(ASKED, read_columns(COLUMNS)), replace(RULES, **rules))


def test_a_plan_that_was_carried_out_covers_everything_twice() -> None:
    found = reviewed(analysed(PLANNED))
    [stated] = found.plans
    assert (stated.coverage.rate, found.done.coverage.rate) == (1.0, 1.0)
    assert (found.missing, found.changes, found.not_done) == ((), (), ())


def test_what_was_not_done_is_missing_where_the_run_ended() -> None:
    found = reviewed(analysed(PLANNED, PLANNED[:2]))
    assert [(one.step, one.tool, one.span_ids) for one in found.not_done] == [
        ("3", "plot_line", ("span6",)),
        ("4", "compute_summary_stats", ("span6",)),
    ]
    assert found.done.coverage.missing == ("analysis.trend", "outputs.chart", "time")
    assert found.missing == ()


def test_changes_of_parameters_stand_at_the_call() -> None:
    calls = [*PLANNED[:1], ("aggregate", {**PLANNED[1][1], "group_by": ["date", "Region"]}), *PLANNED[2:]]
    calls[2] = ("plot_line", {**PLANNED[2][1], "x": "Date"})
    found = reviewed(analysed(PLANNED, calls))
    assert [(one.tool, one.change.field, one.change.kind, one.span_ids) for one in found.changes] == [
        ("aggregate", "group_by", "semantic", ("span4", "span5")),
        ("plot_line", "x", "safe", ("span6", "span7")),
    ]


def test_a_call_that_failed_covers_nothing_and_its_retry_does() -> None:
    again = [*PLANNED[:2], PLANNED[2], *PLANNED[2:]]
    found = reviewed(analysed(PLANNED, again, errors={2: "boom"}))
    assert found.done.failed == ("3",)
    assert (found.done.coverage.ok, found.not_done) == (True, ())
    alone = reviewed(analysed(PLANNED, PLANNED, errors={2: "boom"}))
    assert alone.done.coverage.missing == ("analysis.trend", "outputs.chart", "time")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Plan:\n1. Look at the data.\n2. Draw it.", id="prose"),
        pytest.param("Plan:\n1. sum(the revenue)\n2. draw(it)", id="words like calls"),
        pytest.param(written([("sing", {})]), id="tools nobody knows"),
    ],
)
def test_a_plan_without_known_tools_says_nothing_that_rules_can_tell(text: str) -> None:
    found = reviewed(analysed(text, PLANNED))
    assert (found.plans, found.in_prose, found.missing) == ((), 1, ())


def test_a_replan_that_holds_what_is_left_misses_nothing_and_is_what_has_to_be_done() -> None:
    run = analysed(PLANNED[:3], PLANNED[:2] + PLANNED[3:])
    rest = StatedPlan("s4", "main", written(PLANNED[3:]), replan=True)
    found = reviewed(replace(run, plans=(*run.plans, rest)))
    assert len(found.plans) == 2
    assert (found.missing, found.not_done) == ((), ())


def test_a_plan_that_is_stated_again_is_told_once() -> None:
    run = analysed(PLANNED)
    again = StatedPlan("s4", "main", written(PLANNED), replan=True)
    assert len(reviewed(replace(run, plans=(*run.plans, again))).plans) == 1


def test_tools_may_be_passed_over() -> None:
    calls = [*PLANNED, ("detect_anomalies", {})]
    assert reviewed(analysed(PLANNED, calls)).done.coverage.unjustified == ("5",)
    assert reviewed(analysed(PLANNED, calls), ignore=frozenset({"detect_anomalies"})).done.coverage.ok


@pytest.mark.parametrize(
    ("time", "column", "policy", "grain"),
    [
        pytest.param(TimeAxis("date", "yearly"), Column("date", "temporal", 10, 5), "literal", "yearly", id="asked"),
        pytest.param(TimeAxis("date"), Column("Date", "temporal", 400, 100), "literal", "daily", id="literal"),
        pytest.param(TimeAxis("date"), Column("date", "temporal", 400, 100), "span_first", "monthly", id="span first"),
        pytest.param(TimeAxis("date"), Column("date", "temporal"), "literal", "unknown", id="span unknown"),
        pytest.param(TimeAxis("date"), Column("other", "temporal", 9, 9), "literal", "unknown", id="column unknown"),
        pytest.param(TimeAxis(), Column("date", "temporal", 9, 9), "literal", "unknown", id="no time axis"),
    ],
)
def test_the_grain_is_the_one_asked_for_else_by_the_data(
    time: TimeAxis, column: Column, policy: Any, grain: str
) -> None:
    assert grain_of(Asked(Requirements(time=time), (column,)), policy) == grain


names = st.sampled_from([*REGISTRY.names, "sing", ""])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
steps = st.lists(st.tuples(names, st.dictionaries(st.sampled_from(["group_by", "x", "0", "df"]), values)), max_size=6)


@given(plan=steps, calls=steps)
def test_every_span_that_is_named_is_one_of_the_trace_and_every_step_is_told_once(plan: Any, calls: Any) -> None:
    run = analysed(plan, calls)
    found = reviewed(run)
    spans = {step.span_id for step in run.steps}
    assert {span for held in found.done.span_ids.values() for span in held} <= spans
    assert {span for one in found.changes for span in one.span_ids} <= spans
    assert {span for one in found.not_done for span in one.span_ids} <= spans
    for one in (found.done.coverage, *(stated.coverage for stated in found.plans)):
        serving = {step for several in one.covered.values() for step in several}
        assert not serving & {*one.unjustified, *one.unknown}
        assert 0 <= one.rate <= 1
        assert 0 <= one.unjustified_rate <= 1
