"""Plans as people and models write them: what is read, what is refused and where, and what shape it has."""

from __future__ import annotations

from typing import Any

import pytest

from gpa.plans.plan import Plan, PlanError
from gpa.plans.plan_reading import read_plan, try_plan
from gpa.plans.topology import CycleError, depths, hops, in_order, sinks, topology

TOOL_AWARE = """{
  "1": {"query": "T2S([], 'Fetch
ids of unresolved calls')", "depends_on": []},
  "2": {"query": "RAG((1), 'Fetch calls where the mood changed')", "depends_on": [1]},
  "3": {"query": "LLM('Extract the ids from the table in (2).')", "depends_on": [2]},
  "4": {"query": "T2S((3), 'Retrieve QA scores for procedures.')", "depends_on": [3]},
  "5": {"query": "T2S((3), 'Retrieve QA scores for manners.')", "depends_on": [3]},
  "6": {"query": "LLM('Compare (4) vs. (5).')", "depends_on": [4,5]}
}"""


def shape(plan: Plan) -> list[tuple[str, str, dict[str, Any], tuple[str, ...]]]:
    return [(step.id, step.tool, step.arguments, step.needs) for step in plan]


TWO = [("1", "search", {"q": "a"}, ()), ("2", "read", {"doc": "$1"}, ("1",))]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            '[{"id": 1, "tool": "search", "args": {"q": "a"}}, {"id": 2, "tool": "read", "args": {"doc": "$1"}}]',
            id="JSON list",
        ),
        pytest.param(
            '{"goal": "x", "steps": [{"step": 1, "tool_name": "search", "tool_input": {"q": "a"}},'
            ' {"step": 2, "tool_name": "read", "tool_input": {"doc": "$1"}}]}',
            id="under a key, other names",
        ),
        pytest.param(
            '{"1": {"tool": "search", "parameters": {"q": "a"}},'
            ' "2": {"tool": "read", "parameters": {"doc": "$1"}, "depends_on": [1]}}',
            id="by number",
        ),
        pytest.param(
            "Here is my plan:\n```json\n[{'id': 1, 'tool': 'search', 'args': {'q': 'a',}},\n"
            " {'id': 2, 'tool': 'read', 'args': {'doc': '$1'}},]\n```\nShall I begin?",
            id="fences, prose, single quotes, trailing commas",
        ),
        pytest.param(
            "[{id: 1, tool: search, args: {q: a}}  // look\n {id: 2, tool: read, args: {doc: $1}} /* then read */]",
            id="unquoted keys, comments, a missing comma",
        ),
        pytest.param(
            '[{"id": 1, "tool": "search", "args": {"q": "a"}}, {"id": 2, "tool": "read", "args": {"doc": "$1"}},'
            ' {"id": 3, "tool": "wri',
            id="cut in the third step",
        ),
        pytest.param(
            '[{"id": 1, "type": "function", "function": {"name": "search", "arguments": "{\\"q\\": \\"a\\"}"}},'
            ' {"id": 2, "type": "function", "function": {"name": "read", "arguments": "{\\"doc\\": \\"$1\\"}"}}]',
            id="OpenAI tool calls",
        ),
        pytest.param('$1 = search(q="a")\n$2 = read(doc="$1")', id="assignments"),
        pytest.param('1. search(q="a")\n2. read(doc=$1)\n<END_OF_PLAN>', id="numbered calls"),
    ],
)
def test_one_plan_in_many_forms(text: str) -> None:
    assert shape(read_plan(text)) == TWO


def test_the_plan_of_the_tool_aware_planner_is_read_as_it_is_written() -> None:
    plan = read_plan(TOOL_AWARE)
    assert [step.tool for step in plan] == ["T2S", "RAG", "LLM", "T2S", "T2S", "LLM"]
    assert plan.step("2").instruction == "Fetch calls where the mood changed"
    assert plan.step("2").text == "RAG((1), 'Fetch calls where the mood changed')"
    assert plan.step("6").needs == ("4", "5")
    assert plan.step("6").placeholders == ("4", "5")
    assert plan.sinks == ("6",)
    assert (plan.topology().depth, plan.topology().breadth, plan.hops()) == (5, 1.2, 4)


def test_calls_that_are_no_text_are_read_too() -> None:
    plan = read_plan('{1: {"step": T2S([], "Fetch ids"), "depends_on": []}, 2: {"step": RAG((1), "Why?"),},}')
    assert [(step.tool, step.instruction, step.needs) for step in plan] == [
        ("T2S", "Fetch ids", ()),
        ("RAG", "Why?", ("1",)),
    ]


@pytest.mark.parametrize(
    ("written", "needed"),
    [
        ("$0", "0"),
        ("the {{0.output}}", "0"),
        ("{{ step0 }}", "0"),
        ("{{steps.0.result}}", "0"),
        ("<step 0>", "0"),
        ("${0}", "0"),
        ("from (0) on", "0"),
        ("(tool 0)", "0"),
        ("{step_0}", "0"),
        ("costs $ or (12)", ""),
    ],
)
def test_placeholders_of_every_framework_name_a_step(written: str, needed: str) -> None:
    plan = read_plan([{"id": 0, "tool": "a"}, {"id": 1, "tool": "b", "args": {"x": [written]}}])
    assert plan.step("1").needs == ((needed,) if needed else ())


@pytest.mark.parametrize(
    ("references", "ids"),
    [
        pytest.param(["", "$0"], ["0", "1"], id="counted from 0, as the paper does"),
        pytest.param(["", "$1"], ["1", "2"], id="only counting from 1 makes it point back"),
        pytest.param(["", ""], ["0", "1"], id="nothing to go by"),
    ],
)
def test_steps_without_numbers_are_counted_so_that_references_point_back(references: list[str], ids: list[str]) -> None:
    plan = read_plan([{"tool": "a", "args": {"x": reference}} for reference in references])
    assert [step.id for step in plan] == ids


def test_a_continuation_is_numbered_on_and_may_use_what_has_been_executed() -> None:
    steps = [{"tool": "b", "args": {"x": "$1"}}, {"tool": "c", "args": {"x": "$2"}, "depends_on": [0]}]
    plan = read_plan(steps, start_index=2)
    assert [(step.id, step.needs) for step in plan] == [("2", ()), ("3", ("2",))]


def test_a_continuation_must_not_plan_an_executed_step_again() -> None:
    _, problems = try_plan('$1 = search("again")\n$2 = read($1)', start_index=2)
    assert [str(problem) for problem in problems] == [
        "step 1: id: expected steps from 2 on, found one that has been executed"
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param("nothing here", ["p.json: expected a plan (JSON, or calls), found 'nothing here'"], id="no plan"),
        pytest.param("[]", ["p.json: expected at least one step, found none"], id="empty"),
        pytest.param(
            {"a": 1},
            ["p.json: expected a list of steps, or an object of steps by number, found {'a': 1}"],
            id="an object of something else",
        ),
        pytest.param(
            [7],
            ["p.json: step plan[0]: expected a step (an object, a text, a call), found 7"],
            id="a step of another type",
        ),
        pytest.param(
            [{"id": 1, "tool": "a", "depends_on": [2]}, {"id": 2, "tool": "b"}],
            ["p.json: step 1: depends_on: expected an earlier step, found step 2, which comes later"],
            id="forwards",
        ),
        pytest.param(
            [{"id": 1, "tool": "a", "depends_on": [1]}],
            [
                "p.json: step 1: depends_on: expected an earlier step, found itself",
                "p.json: depends_on: expected steps that can be put in an order, found a cycle: 1 -> 1",
            ],
            id="on itself",
        ),
        pytest.param(
            [{"id": 1, "tool": "a"}, {"id": 2, "tool": "b", "depends_on": [9, True]}, {"id": 2, "args": {"x": "$7"}}],
            [
                "p.json: step 2: depends_on[1]: expected the id of a step, found True",
                "p.json: step 2: depends_on[0]: expected a step of the plan, found '9'",
                "p.json: step 2: arguments: expected a placeholder of an earlier step, found '$7'",
                "p.json: step 2: id: expected each id once, found it again at plan[2]",
                "p.json: step 2: expected a tool or an instruction, found neither",
            ],
            id="everything at once",
        ),
        pytest.param(
            [{"id": 1, "tool": "a"}, {"id": 2, "tool": "b", "prompt": "merge (1, 2)", "depends_on": [1]}],
            ["p.json: step 2: arguments: expected one placeholder a step, as in (1) and (2), found '(1, 2)'"],
            id="two steps in one placeholder",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_place(source: Any, expected: list[str]) -> None:
    with pytest.raises(PlanError) as caught:
        read_plan(source, where="p.json")
    assert [str(problem) for problem in caught.value.problems] == expected


def test_a_tool_that_does_not_exist_is_a_problem_where_tools_are_given() -> None:
    _, problems = try_plan([{"id": 1, "tool": "serch"}], tools={"search", "read"})
    assert [str(one) for one in problems] == ["step 1: tool: expected one of read, search, found 'serch'"]


@pytest.mark.parametrize(
    ("dependencies", "nodes", "depth", "breadth"),
    [
        pytest.param({"1": [], "2": [], "3": ["2"], "4": ["1", "3"]}, 4, 3, 4 / 3, id="two parents compared"),
        pytest.param({"1": [], "2": ["1"], "3": ["2"], "4": ["3"], "5": ["4"]}, 5, 5, 1.0, id="chain of 5"),
        pytest.param({"0": [], "1": [], "2": [], "3": [], "4": ["0", "1", "2", "3"]}, 5, 2, 2.5, id="star"),
        pytest.param({"0": [], "1": ["0"]}, 2, 2, 1.0, id="bridge"),
        pytest.param({"0": [], "1": [], "2": ["0", "1"]}, 3, 2, 1.5, id="comparison"),
        pytest.param({"0": [], "1": [], "2": ["0", "1"], "3": [], "4": ["3"]}, 5, 2, 2.5, id="comparison and bridge"),
        pytest.param({}, 0, 0, 0.0, id="nothing"),
    ],
)
def test_the_worked_examples_of_topology(
    dependencies: dict[str, list[str]], nodes: int, depth: int, breadth: float
) -> None:
    found = topology(dependencies)
    assert (found.nodes, found.depth) == (nodes, depth)
    assert found.breadth == pytest.approx(breadth)
    assert found.hops == max(depth - 1, 0) == hops(dependencies)


@pytest.mark.parametrize(
    ("dependencies", "count"),
    [
        ({"1": [], "2": ["1"], "3": ["2"], "4": ["3"], "5": ["3"], "6": ["4", "5"]}, 4),
        ({"1": [], "2": [], "3": ["1", "2"]}, 1),
        ({"1": [], "2": ["1"], "3": ["1"], "4": ["2", "3"]}, 2),
        ({"1": [], "2": []}, 0),
    ],
)
def test_the_worked_examples_of_hops(dependencies: dict[str, list[str]], count: int) -> None:
    assert hops(dependencies) == count


def test_hops_to_chosen_answers_and_the_steps_nobody_needs() -> None:
    dependencies = {"1": [], "2": ["1"], "3": ["2"], "4": []}
    assert hops(dependencies, ["2"]) == 1
    assert sinks(dependencies) == ("3", "4")
    assert depths(dependencies) == {"1": 0, "2": 1, "3": 2, "4": 0}


@pytest.mark.parametrize("size", [1, 2, 5_000])
def test_a_cycle_of_any_length_is_an_error_and_a_chain_is_not(size: int) -> None:
    chain = {str(at): [str(at + 1)] for at in range(size)}
    assert in_order(chain)[-1] == "0"
    with pytest.raises(CycleError, match="found a cycle"):
        topology({**chain, str(size): ["0"]})


def test_identical_steps_are_one_node_of_the_plan_graph() -> None:
    plan = read_plan(
        [
            {"tool": "find", "args": {"q": "x"}},
            {"tool": "find", "args": {"q": "x"}},
            {"tool": "read", "args": {"doc": "$0"}},
            {"tool": "read", "args": {"doc": "$1"}},
            {"tool": "compare", "args": {"a": "$2", "b": "$3"}},
        ]
    )
    assert plan.topology().nodes == 5
    merged = plan.merged()
    assert [(step.id, step.needs) for step in merged] == [("0", ()), ("2", ("0",)), ("4", ("2",))]


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("T2S([], 'Fetch')\nLLM('Answer (1)')", [("1", "T2S", ()), ("2", "LLM", ("1",))]),
        ("search({'q': 1})", [("0", "search", ())]),
        ("a({'q': 1})\nb({'x': {'y': '$0'}})", [("0", "a", ()), ("1", "b", ("0",))]),
        ("run([{'tool': 'a'}, {'tool': 'b'}])", [("0", "a", ()), ("1", "b", ())]),
    ],
    ids=["an empty list", "an object", "nested objects", "one call around a plan"],
)
def test_an_argument_of_a_call_is_not_taken_for_the_plan(text: str, steps: list[tuple[str, str, Any]]) -> None:
    assert [(step.id, step.tool, step.needs) for step in read_plan(text)] == steps
