"""Planning horizons: the worked examples, recordings of each kind, and what each figure counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gpa.ingest.assembly import read_traces
from gpa.ingest.dialects.call import Usage
from gpa.ingest.tool_calls import tool_calls
from gpa.ingest.transcript import Step, Transcript, transcribe
from gpa.plans.executed import executed_plan
from gpa.plans.horizon import LABELS, Horizon, measure_horizon
from gpa.plans.plan_reading import read_plan
from gpa.plans.policy import failed, runs
from tests.judges.checks.transcripts import call, llm, said, tool, transcript, user

ROOT = Path(__file__).parents[2]
TRACES = ROOT / "fixtures/traces"

_ids = iter(range(10_000))


def at_once(*calls: tuple[str, Any, str]) -> tuple[Step, ...]:
    """A model call that asks for all of them, and their runs; a result `!...` is an error."""
    numbered = [(name, arguments, outcome, f"c{next(_ids)}") for name, arguments, outcome in calls]
    asked = llm(*(call(name, arguments, call_id) for name, arguments, _, call_id in numbered))
    return asked, *(ran(name, arguments, outcome, call_id) for name, arguments, outcome, call_id in numbered)


def ran(name: str, arguments: Any, outcome: str, call_id: str = "") -> Step:
    error = outcome[1:] if outcome.startswith("!") else ""
    return tool(name, arguments, "" if error else outcome, error=error, call_id=call_id)


def plans(*steps: tuple[str, Any]) -> Step:
    """A model call that states a whole plan."""
    return llm(said(json.dumps([{"tool": name, "args": arguments} for name, arguments in steps])))


FOUR = [("a", {"x": 1}), ("b", {"x": "$0"}), ("c", {"x": "$1"}), ("d", {"x": "$2"})]
STATIC = (
    plans(*FOUR),
    ran("a", {"x": 1}, "alpha"),
    ran("b", {"x": "alpha"}, "beta"),
    ran("c", {"x": "beta"}, "gamma"),
    ran("d", {"x": "gamma"}, "delta"),
)
LAZY = (
    plans(*FOUR),
    ran("a", {"x": 1}, "alpha"),
    ran("b", {"x": "alpha"}, "!no such thing"),
    plans(("e", {"y": "$0"}), ("f", {"y": "$2"}), ("g", {"y": "$3"})),
    ran("e", {"y": "alpha"}, "epsilon"),
    ran("f", {"y": "epsilon"}, "zeta"),
    ran("g", {"y": "zeta"}, "eta"),
)


@pytest.mark.parametrize(
    ("steps", "label", "horizons", "mean", "monitoring", "triggers", "survival"),
    [
        pytest.param(
            (*at_once(("a", {"x": 1}, "1")), *at_once(("b", {"x": 2}, "2")), *at_once(("c", {"x": 3}, "3"))),
            "single-step",
            [1, 1, 1],
            1.0,
            1.0,
            [],
            None,
            id="L T L T L T",
        ),
        pytest.param(STATIC, "full-horizon static", [4], 4.0, 0.25, [], 1.0, id="L(plan of 4 with $ refs) T T T T"),
        pytest.param(LAZY, "full-horizon lazy", [2, 3], 2.5, 0.4, ["failure"], 0.25, id="L(4) T T(error) L(3) T T T"),
        pytest.param(
            (
                *at_once(("a", {"x": "p"}, "one"), ("a", {"x": "q"}, "two"), ("a", {"x": "r"}, "three")),
                *at_once(("b", {"x": "s"}, "four")),
            ),
            "single-step concurrent",
            [3, 1],
            2.0,
            0.5,
            [],
            1.0,
            id="L(3 independent calls) T T T L(1) T",
        ),
        pytest.param(
            (
                plans(*FOUR[:2]),
                ran("a", {"x": 1}, "alpha"),
                ran("b", {"x": "alpha"}, "beta"),
                *at_once(("c", {"x": "beta"}, "gamma")),
            ),
            "hybrid",
            [2, 1],
            1.5,
            2 / 3,
            [],
            1.0,
            id="L(2 with ref) T T L(1) T",
        ),
        pytest.param(at_once(("a", {}, "1")), "trivial", [1], 1.0, 1.0, [], None, id="one call"),
        pytest.param((llm(said("Hello."), new=(user("Hi"),)),), "trivial", [], None, None, [], None, id="no call"),
    ],
)
def test_the_worked_examples(
    steps: tuple[Step, ...],
    label: str,
    horizons: list[int],
    mean: float | None,
    monitoring: float | None,
    triggers: list[str],
    survival: float | None,
) -> None:
    found = measure_horizon(transcript(*steps))
    assert found.label == label
    assert [batch.executed for batch in found.batches] == horizons
    assert (found.mean_horizon, found.monitoring_rate) == (mean, monitoring)
    assert [replan.trigger for replan in found.replans] == triggers
    assert found.plan_survival == survival


RECORDED = {
    "whole_plan": "full-horizon static",
    "plan_mended": "full-horizon lazy",
    "plan_reconsidered": "hybrid",
    "step_by_step": "single-step",
    "calls_at_once": "single-step concurrent",
    "one_call": "trivial",
}


def recorded(path: Path) -> Horizon:
    [trace] = read_traces([path])
    return measure_horizon(transcribe(trace))


@pytest.mark.parametrize(("scene", "label"), RECORDED.items(), ids=RECORDED)
def test_a_recording_of_each_kind_has_its_label(scene: str, label: str) -> None:
    found = recorded(TRACES / f"otel-genai-planner/{scene}.traces.jsonl")
    assert found.label == label
    assert found.evidence


def test_there_is_a_recording_of_every_label() -> None:
    assert set(RECORDED.values()) == set(LABELS)


@pytest.mark.parametrize(
    ("recording", "label"),
    [
        ("openinference-langgraph/stock_loop", "single-step"),
        ("openinference-langgraph/supplier_quotes", "single-step concurrent"),
        ("pydantic-ai/room_search", "single-step concurrent"),
        ("pydantic-ai/room_search_no_content", "single-step concurrent"),
        ("openinference-smolagents/travel_desk", "single-step"),
        ("openllmetry-openai/parcel_status", "trivial"),
    ],
)
def test_recordings_of_other_producers(recording: str, label: str) -> None:
    assert recorded(TRACES / f"{recording}.traces.jsonl").label == label


def test_what_was_not_exported_is_no_failure() -> None:
    assert recorded(TRACES / "pydantic-ai/room_search_no_content.traces.jsonl").failures == 0


def test_the_figures_of_the_mended_plan() -> None:
    found = recorded(TRACES / "otel-genai-planner/plan_mended.traces.jsonl")
    assert [(one.planned, one.executed, one.unchanged, one.trigger) for one in found.batches] == [
        (4, 2, 1, "start"),
        (3, 3, 3, "failure"),
    ]
    assert (found.plan_survival, found.failures, found.redundant) == (0.25, 1, 0)
    assert (found.depth, found.planned_depth, found.planned_breadth) == (3, 3, 4 / 3)
    assert (found.tokens.decisions, found.tokens.estimated) == (2, False)


def test_calls_without_arguments_survive_like_any_other() -> None:
    found = measure_horizon(transcript(*at_once(("now", None, "8 o'clock"), ("place", "", "harbour"))))
    assert [(one.planned, one.unchanged) for one in found.batches] == [(2, 2)]
    assert found.plan_survival == 1.0


def test_going_on_with_what_was_left_after_a_failure_is_no_replan() -> None:
    steps = (
        *LAZY[:3],
        plans(("c", {"x": "$1"}), ("d", {"x": "$2"})),
        ran("c", {"x": "?"}, "gamma"),
        ran("d", {"x": "gamma"}, "delta"),
    )
    found = measure_horizon(transcript(*steps))
    assert found.replans == ()
    assert found.label == "full-horizon lazy"


def test_a_plan_changed_without_a_failure_is_an_eager_replan() -> None:
    found = measure_horizon(
        transcript(*STATIC[:3], plans(("e", {"y": 1}), ("f", {"y": "$2"})), ran("e", {"y": 1}, "epsilon"))
    )
    assert [replan.trigger for replan in found.replans] == ["eager"]
    assert found.label == "hybrid"


def test_an_empty_result_is_a_failure() -> None:
    found = measure_horizon(transcript(*at_once(("a", {"q": 1}, "[]")), *at_once(("a", {"q": 1}, "x"))))
    assert (found.failures, found.identical_retries) == (1, 1)
    assert found.failure_rate == 0.5


@pytest.mark.parametrize(
    ("queries", "distinct", "redundant", "redundancy"),
    [
        pytest.param(["q1", "q2", "q3", "q3", "q2"], 3, 2, 0.4, id="case study, single step"),
        pytest.param(["q1", "q2", "q3", "q4", "q5"], 5, 0, 0.0, id="case study, full horizon"),
    ],
)
def test_the_worked_example_of_repetition(queries: list[str], distinct: int, redundant: int, redundancy: float) -> None:
    steps = [step for query in queries for step in at_once(("search", {"query": query, "k": 1}, f"about {query}"))]
    found = measure_horizon(transcript(*steps))
    assert (found.calls, found.distinct, found.redundant, found.redundancy) == (5, distinct, redundant, redundancy)
    assert found.repeats is bool(redundant)


def test_the_order_of_keys_makes_no_other_call() -> None:
    found = measure_horizon(transcript(*at_once(("a", {"x": 1, "y": 2}, "1")), *at_once(("a", {"y": 2, "x": 1}, "2"))))
    assert found.redundant == 1


def test_the_31st_call_is_beyond_the_budget() -> None:
    steps = [step for number in range(31) for step in at_once(("a", {"n": number}, "ok"))]
    assert measure_horizon(transcript(*steps)).beyond_budget == 1
    assert measure_horizon(transcript(*steps[:60])).beyond_budget == 0
    assert measure_horizon(transcript(*steps), budget=5).beyond_budget == 26


def test_calls_that_nobody_asked_for_belong_to_the_plan_that_has_them() -> None:
    """A planner's plan is run by an executor whose own model calls come in between."""
    steps = (
        plans(*FOUR[:2]),
        ran("a", {"x": 1}, "alpha"),
        llm(said("So far so good."), agent="watcher"),
        ran("b", {"x": "alpha"}, "beta"),
    )
    [batch] = measure_horizon(transcript(*steps)).batches
    assert (batch.label, batch.executed, batch.internal) == ("s1", 2, 1)


def test_prose_and_code_are_no_plans() -> None:
    for text in ("First I call a, then b.", "```python\na(x=1)\nb(x=2)\n```", '{"x": 1}', "[1, 2]"):
        steps = (llm(said(text)), ran("a", {"x": 1}, "alpha"), ran("b", {"x": 2}, "beta"))
        [batch] = measure_horizon(transcript(*steps)).batches
        assert (batch.planned, batch.executed) == (2, 2)


def test_code_that_calls_one_tool_with_the_result_of_another_is_a_whole_plan() -> None:
    """Calls from code are asked for by nobody; the value that flows shows the dependency."""
    steps = (
        llm(said("```python\nu = find('Bergen quay')\nshow(u)\n```")),
        ran("find", {"q": "Bergen quay"}, "unit-4711"),
        ran("show", {"unit": "unit-4711"}, "ok"),
    )
    assert measure_horizon(transcript(*steps)).label == "full-horizon static"


# Dependencies between calls.


def bases(steps: tuple[Step, ...], known: str = "the goal") -> list[list[tuple[str, str]]]:
    plan = executed_plan(tool_calls(transcript(*steps)), known)
    return [[(one.step, one.basis) for one in step.dependencies] for step in plan]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        pytest.param("alpha", {"x": "alpha"}, ("0", "value"), id="equal"),
        pytest.param('{"id": 4711, "n": "Moe"}', {"x": 4711}, ("0", "value"), id="a part of a JSON result"),
        pytest.param("the berth is B-17, north", {"x": "B-17"}, ("0", "value"), id="a piece of text"),
        pytest.param("Ragnhild Moe", {"x": "call Ragnhild Moe now"}, ("0", "value"), id="inside an argument"),
        pytest.param("yes", {"x": "is it yes or no"}, ("0", "order"), id="too short inside an argument"),
        pytest.param("Kittiwake is at sea", {"x": "Kittiwake"}, ("0", "order"), id="known from the goal"),
        pytest.param("alpha", {"x": "$0"}, ("0", "reference"), id="a placeholder left as it is"),
        pytest.param("alpha", {"x": "other"}, ("0", "order"), id="nothing to see"),
        pytest.param("true", {"x": True}, ("0", "order"), id="true says nothing"),
    ],
)
def test_how_a_dependency_is_known(first: str, second: Any, expected: tuple[str, str]) -> None:
    steps = (*at_once(("a", {"boat": "Kittiwake"}, first)), *at_once(("b", second, "ok")))
    assert bases(steps, "Where is Kittiwake?") == [[], [expected]]


def test_calls_asked_for_together_cannot_have_used_each_others_results() -> None:
    assert bases(at_once(("a", {"x": "p"}, "alpha"), ("b", {"x": "alpha"}, "beta"))) == [[], []]


def test_the_critical_path_is_the_longest_chain() -> None:
    steps = [replace(step, duration_ns=10) for step in (*at_once(("a", {}, "v-1"), ("a", {"n": 2}, "w-2")),
                                                      *at_once(("b", {"x": "v-1"}, "z")))]  # fmt: skip
    found = measure_horizon(transcript(*steps))
    assert (found.calls_ns, found.critical_ns) == (30, 20)


def test_tokens_are_those_the_trace_counts_else_estimates() -> None:
    asked, done = at_once(("a", {"q": "x"}, "a result of some length"))
    counted = measure_horizon(transcript(replace(asked, usage=Usage(input_tokens=100, output_tokens=7)), done)).tokens
    assert (counted.input_tokens, counted.plan_tokens, counted.estimated) == (100, 7, False)
    guessed = measure_horizon(transcript(asked, done)).tokens
    assert guessed.estimated
    assert guessed.plan_tokens > 0


@pytest.mark.parametrize(
    ("planned", "arguments", "same"),
    [
        ({"x": "$0"}, {"x": "anything"}, True),
        ({"x": "about $0 in"}, {"x": "about Bergen in"}, True),
        ({"x": "about $0 in"}, {"x": "above Bergen in"}, False),
        ({"x": 1}, {"x": "1"}, True),
        ({"x": 1}, {"x": 2}, False),
        ({"x": 1}, {"x": 1, "y": 2}, False),
        ({"x": ["$0", 2]}, {"x": ["a", 2]}, True),
        ({"0": "q"}, {"query": "q"}, True),
    ],
)
def test_when_a_call_is_the_planned_step(planned: Any, arguments: Any, same: bool) -> None:
    [step] = read_plan([{"tool": "A", "args": planned}], start_index=1)
    [one] = tool_calls(transcript(tool("a", arguments, "ok")))
    assert runs(step, one) is same


@pytest.mark.parametrize(
    ("result", "expected"),
    [("[]", True), (" null ", True), ("No results found.", True), ("0", False), ("false", False), ("x", False)],
)
def test_which_results_say_nothing(result: str, expected: bool) -> None:
    [one] = tool_calls(transcript(*at_once(("a", {"q": 1}, result))))
    assert failed(one) is expected


moves = st.lists(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from("pq"), st.sampled_from(["ok-1", "[]", "!err"])), max_size=3
    ),
    max_size=5,
)


@given(moves)
def test_figures_add_up_whatever_was_done(batches: list[list[tuple[str, str, str]]]) -> None:
    steps = [step for batch in batches for step in at_once(*((n, {"q": q}, out) for n, q, out in batch))]
    found = measure_horizon(transcript(*steps))
    assert sum(batch.executed for batch in found.batches) == found.calls == sum(map(len, batches))
    assert found.distinct + found.redundant == found.calls
    assert found.failures == sum(out != "ok-1" for batch in batches for _, _, out in batch)
    assert found.label in LABELS
    if found.calls:
        assert found.mean_horizon is not None
        assert found.monitoring_rate is not None
        assert found.mean_horizon * found.monitoring_rate == pytest.approx(1)
        assert found.depth * found.breadth == pytest.approx(found.calls)


SHARED = ROOT.parent / "shared/data"


@pytest.mark.skipif(not SHARED.is_dir(), reason="the recordings are not part of the project")
@pytest.mark.parametrize("folder", ["trail", "otel"])
def test_real_recordings_can_all_be_measured(folder: str) -> None:
    traces = read_traces([SHARED / folder], on_problem=lambda _: None)
    found = [measure_horizon(transcribe(trace)) for trace in traces]
    assert found
    assert all(one.label in LABELS and one.evidence for one in found)


def test_a_transcript_without_steps_is_trivial() -> None:
    found = measure_horizon(Transcript("t" * 32, "", (), ()))
    assert (found.label, found.calls, found.depth, found.breadth) == ("trivial", 0, 0, 0.0)
