"""The walkthrough of the method from end to end with a scripted model, and how adaptation fails."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from gpa.judges.adaptation import Adapted, Start, adapt
from gpa.judges.extraction import Question, extract
from gpa.judges.model import ReplyError, ScriptedModel
from gpa.plans.narrowing import LexicalIndex
from gpa.plans.offering import offer
from gpa.plans.parameter_changes import mended
from gpa.plans.plan import Plan, PlanStep
from gpa.plans.requirement_files import Asked, Broken, read_columns
from gpa.plans.review import Rules
from tests.plans.revenue import ASKED, COLUMNS, MAPPING, QUESTION, READ, REGISTRY, TEMPLATE

RULES = Rules(REGISTRY, MAPPING)
DATA = read_columns(COLUMNS)
START = Start(Plan(tuple(PlanStep(str(n), tool) for n, tool in enumerate(TEMPLATE, 1))), TEMPLATE)


def change(op: str, step: str, **fields: Any) -> dict[str, Any]:
    empty = {"tool": "", "params": {}, "satisfies": [], "rationale": "", "after": ""}
    made = {"op": op, "step": step, **empty, **fields}
    return {**made, "params": json.dumps(made["params"])}


PARSE = change("modify", "1", params={"column": "date"}, satisfies=["time"], rationale="The axis has to be a date.")
GROUP = change(
    "modify",
    "2",
    params={"group_by": ["date", "region", "product_category"], "agg_func": "sum", "metrics": ["revenue"]},
    satisfies=["analysis.total", "analysis.compare", "group_by"],
)
LINE = change(
    "modify",
    "3",
    params={"x": "Date", "y": "revenue", "color": "product_category"},
    satisfies=["analysis.trend", "outputs.chart", "time"],
)
STATS = change("modify", "4", satisfies=["outputs.table"])
ALL = (PARSE, GROUP, LINE, STATS)


def changes(*some: dict[str, Any]) -> str:
    return json.dumps({"changes": some})


def adapted(*replies: str | ReplyError, start: Start = START) -> tuple[Adapted, ScriptedModel]:
    model = ScriptedModel(list(replies))
    came = asyncio.run(adapt(model, Asked(ASKED, DATA, QUESTION), start, RULES))
    asyncio.run(model.aclose())
    return came, model


def test_the_walkthrough_from_the_question_to_a_plan_that_can_be_run() -> None:
    model = ScriptedModel(
        {"plan-requirements": json.dumps(READ), "plan-adaptation": [changes(*ALL, EXTRA), changes(*ALL)]}
    )
    asked = asyncio.run(extract(model, Question("t", QUESTION, DATA), MAPPING)).asked
    assert isinstance(asked, Asked)
    assert len(asked.requirements.ids()) == 7
    offered = offer(
        asked.requirements, REGISTRY, MAPPING, LexicalIndex(REGISTRY), types=asked.types, template=TEMPLATE, cap=10
    )
    assert offered.miss_rate == 0
    tools = (*offered.narrowed.tools, "detect_anomalies")
    came = asyncio.run(adapt(model, asked, Start(START.template, tools), RULES))
    assert isinstance(came.plan, Plan)
    first, last = (attempt.coverage for attempt in came.attempts)
    assert first is not None
    assert last is not None
    assert (first.rate, first.unjustified_rate) == (1.0, 0.2)
    assert came.attempts[0].payload == ("Remove unjustified steps: detect_anomalies",)
    assert (last.rate, last.unjustified_rate, last.ok) == (1.0, 0.0, True)
    line, tool = came.plan.step("3"), REGISTRY.get("plot_line")
    assert tool is not None
    ready, repairs = mended(line, tool, columns=list(COLUMNS), data={"df": "$2"})
    assert ready.arguments == {"x": "date", "y": "revenue", "color": "product_category", "df": "$2"}
    assert [repair.accepted for repair in repairs] == [True, True]
    asyncio.run(model.aclose())


EXTRA = change("add", "5", tool="detect_anomalies", satisfies=["analysis.compare"], rationale="To be sure.")


def test_the_payload_goes_back_to_the_model_word_for_word() -> None:
    half = {**GROUP, "params": json.dumps({"group_by": ["region"]})}
    came, model = adapted(changes(PARSE, half, LINE, STATS), changes(*ALL))
    assert isinstance(came.plan, Plan)
    assert "Missing coverage: group_by=[region, product_category]" in model.requests[1].turns[-1].text
    assert [len(attempt.payload) for attempt in came.attempts] == [1, 0]


def test_after_two_more_attempts_it_is_a_failure_with_the_report_of_each() -> None:
    came, _ = adapted(*[changes(PARSE, GROUP, STATS)] * 3)
    assert isinstance(came.plan, Broken)
    assert "Missing coverage: analysis.trend, outputs.chart" in came.plan.reason
    assert len(came.attempts) == 3
    last = came.attempts[-1].coverage
    assert last is not None
    assert last.missing == ("analysis.trend", "outputs.chart", "time")


def test_a_step_that_cites_nothing_is_removed() -> None:
    with_save = Plan((*START.template.steps, PlanStep("5", "save_dataframe")))
    came, _ = adapted(changes(*ALL), start=Start(with_save, TEMPLATE))
    assert isinstance(came.plan, Plan)
    assert [step.id for step in came.plan] == ["1", "2", "3", "4"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        pytest.param(change("add", "4", tool="aggregate", satisfies=["time"]), "expected a new step id", id="id taken"),
        pytest.param(change("remove", "9"), "expected a step of the plan, found '9'", id="no such step"),
        pytest.param(change("add", "5", tool="sing", satisfies=["time"]), "unknown tool 'sing'", id="tool"),
        pytest.param(change("add", "5", tool="aggregate"), "at least one requirement", id="cites nothing"),
        pytest.param(change("add", "5", satisfies=["time"]), "expected a tool", id="no tool"),
        pytest.param(
            change("modify", "2", tool="aggregate", params={"groupby": 1}),
            "unknown parameter 'groupby' of aggregate (did you mean 'group_by'?)",
            id="parameter",
        ),
        pytest.param(change("modify", "4", satisfies=["analysis.anomaly"]), "was not asked for", id="requirement"),
        pytest.param({"op": "swap"}, "changes: ", id="operation"),
        pytest.param({**change("remove", "1"), "params": "{"}, "expected an object as JSON", id="params"),
    ],
)
def test_changes_that_break_the_rules_are_told_and_asked_for_again(wrong: dict[str, Any], said: str) -> None:
    came, model = adapted(changes(*ALL, wrong), changes(*ALL))
    assert isinstance(came.plan, Plan)
    assert said in model.requests[1].turns[-1].text
    assert came.attempts[0].coverage is None


def test_an_error_of_the_model_is_a_value() -> None:
    came, _ = adapted(ReplyError(error_type="context_window_exceeded", message="too long"))
    assert (came.plan, came.changes, came.attempts) == (Broken("too long", "context_window_exceeded"), (), ())
