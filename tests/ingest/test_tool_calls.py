"""Each tool call once, whichever of its sides a trace records, and each error once, where it arose."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from gpa.ingest.agents import Agent
from gpa.ingest.tool_calls import faults, tool_calls
from gpa.ingest.transcript import Step
from tests.judges.checks.transcripts import SEARCH, call, llm, result, said, tool, transcript


def _sides(*steps: Step) -> list[tuple[str, str, str, str]]:
    return [(c.tool, c.asked, c.ran, c.result or c.error) for c in tool_calls(transcript(*steps, tools=(SEARCH,)))]


@pytest.mark.parametrize(
    ("steps", "calls"),
    [
        pytest.param(
            (llm(call("search", {"q": 1}, "c1")), tool("other name", {}, "x", call_id="c1")),
            [("search", "s1", "s2", "x")],
            id="by id",
        ),
        pytest.param(
            (
                llm(call("search", {"q": 1}), call("search", {"q": 2})),
                tool("search", {"q": 2}, "two"),
                tool("search", {"q": 1}, "one"),
            ),
            [("search", "s1", "s3", "one"), ("search", "s1", "s2", "two")],
            id="by name and arguments, in any order",
        ),
        pytest.param(
            (llm(call("search", {"q": "1"})), tool("search", {"q": 1, "extra": True}, "x")),
            [("search", "s1", "s2", "x")],
            id="by name, arguments changed on the way",
        ),
        pytest.param(
            (llm(call("search", {"q": 1}), call("open", {"q": 2})), tool("SearchTool", {"q": 1}, "x")),
            [("search", "s1", "s2", "x"), ("open", "s1", "", "")],
            id="by arguments, named after the class",
        ),
        pytest.param(
            (llm(said("code")), tool("search", {"q": 1}, "x")), [("search", "", "s2", "x")], id="called from code"
        ),
        pytest.param(
            (llm(call("open", {"q": 1})), tool("search", {"q": 2}, "x")),
            [("open", "s1", "", ""), ("search", "", "s2", "x")],
            id="another tool the agent has is another call",
        ),
        pytest.param(
            (llm(call("search", {"q": 1}, "c1")), llm(new=(result("x", "c1"),))),
            [("search", "s1", "", "x")],
            id="answered in the next input",
        ),
        pytest.param(
            (
                llm(call("search", {"q": 1}, "c1")),
                tool("search", {"q": 1}, "whole", call_id="c1"),
                llm(new=(result("cut", "c1"),)),
            ),
            [("search", "s1", "s2", "whole")],
            id="the tool's own record goes first",
        ),
        pytest.param(
            (
                llm(call("search", {}, "c1")),
                tool("search", {}, "a", call_id="c1"),
                tool("search", {}, "b", call_id="c1"),
            ),
            [("search", "s1", "s2", "a"), ("search", "", "s3", "b")],
            id="run twice for one request",
        ),
    ],
)
def test_sides_are_joined(steps: tuple[Step, ...], calls: list[tuple[str, str, str, str]]) -> None:
    assert _sides(*steps) == calls


def test_a_sub_agent_is_what_ran_its_call() -> None:
    inner = replace(tool("helper", output="7", agent="helper"), kind="agent", messages=())
    given = transcript(llm(call("helper", {"task": "add"})), inner)
    agents = (given.agents[0], Agent("helper", parent="main"))
    (found,) = tool_calls(replace(given, agents=agents))
    assert (found.asked, found.ran, found.result) == ("s1", "s2", "7")


def test_an_exception_that_goes_up_is_one_fault_where_it_arose() -> None:
    outer = replace(
        tool("Step 1", error="AgentError: while running search: ValueError: bad"), kind="other", messages=()
    )
    inside = (
        replace(llm(call("search", {"q": 1}, "c1")), parent="s1"),
        tool("search", {"q": 1}, error="ValueError: bad", call_id="c1", parent="s1"),
    )
    assert [(f.label, f.cause, f.text) for f in faults(transcript(outer, *inside))] == [("s3", "s2", "ValueError: bad")]


def test_an_outer_error_of_its_own_is_told_too() -> None:
    outer = replace(tool("Step 1", error="gave up after 5 steps"), kind="other", messages=())
    inside = (
        replace(llm(call("search", {"q": 1}, "c1")), parent="s1"),
        tool("search", {"q": 1}, error="ValueError: bad", call_id="c1", parent="s1"),
    )
    assert [f.label for f in faults(transcript(outer, *inside))] == ["s1", "s3"]


def test_a_failed_piece_of_code_is_caused_by_the_model_call_inside_it() -> None:
    outer = replace(tool("Step 1", error="NameError: x"), kind="other", messages=())
    assert [(f.label, f.cause) for f in faults(transcript(outer, replace(llm(said("code")), parent="s1")))] == [
        ("s1", "s2")
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": [2, {"d": 3, "c": 4}]}, {"b": [2, {"c": 4, "d": 3}], "a": 1}),
        ({}, {}),
        (" text ", "text"),
        ({1: 2}, {1: 2}),
        ({"a": "\ud800"}, {"a": "\ud800"}),
    ],
)
def test_equal_arguments_have_equal_keys(one: Any, other: Any) -> None:
    first, second = tool_calls(transcript(tool("search", one), tool("search", other)))
    assert first.key == second.key
