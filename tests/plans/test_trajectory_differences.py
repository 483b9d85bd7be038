"""Differences from a gold trajectory: which they are, and at which call."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.plans.calls import ToolCall, Trajectory
from gpa.plans.differences import aligned, differences
from gpa.plans.trajectory import call, prepared

A, B, C, D = call("a"), call("b", x=1), call("c", x=1, y=2), call("d")
GOLD = (A, B, C, D)


@pytest.mark.parametrize(
    ("predicted", "expected"),
    [
        pytest.param(GOLD, [], id="none"),
        pytest.param((A, B, D), [("missing_tool", "c", 2)], id="missing: at the call made instead"),
        pytest.param((A, B, C), [("missing_tool", "d", None)], id="missing at the end"),
        pytest.param((A, B, call("z"), C, D), [("extra_tool", "z", 2)], id="extra"),
        pytest.param((A, B, B, C, D), [("extra_tool", "b", 2)], id="once too often: the later one"),
        pytest.param((A, C, B, D), [("wrong_order", "c", 1)], id="two swapped"),
        pytest.param((D, A, B, C), [("wrong_order", "d", 0)], id="only the one that has to move"),
        pytest.param((A, B, call("c", x=1, y=9), D), [("bad_param", "c", 2)], id="another value"),
        pytest.param((A, call("b"), C, D), [("bad_param", "b", 1)], id="a parameter left out"),
        pytest.param((A, call("b", x=1, w=2), C, D), [("bad_param", "b", 1)], id="a parameter too many"),
        pytest.param(
            (A, call("rule"), C, D), [("wrong_condition", "rule", 1), ("missing_tool", "b", 1)], id="condition"
        ),
        pytest.param((), [("missing_tool", tool, None) for tool in "abcd"], id="nothing done"),
    ],
)
def test_each_kind_of_difference_and_its_call(
    predicted: Trajectory, expected: list[tuple[str, str, int | None]]
) -> None:
    found = differences(GOLD, predicted, conditional={"a", "b", "c", "d", "rule"})
    assert {(one.tag, one.tool, one.predicted) for one in found} == set(expected)
    assert len(found) == len(expected)


def test_messages_say_expected_and_found() -> None:
    [one] = differences((B,), (call("b", x=2, w=3),))
    assert one.message == "b: x: expected 1, found 2; w: expected no such parameter, found 3"
    [other] = differences((A, B, C), (A, C, B))
    assert other.message == "c belongs after b"


@pytest.mark.parametrize(
    ("caller", "tags"),
    [
        pytest.param("booking", [], id="its own agent"),
        pytest.param("refunds", ["agent_violation"], id="another agent of the workflow"),
    ],
)
def test_a_call_by_another_agent(caller: str, tags: list[str]) -> None:
    gold = (ToolCall("book", {}, "booking"), ToolCall("refund", {}, "refunds"))
    found = differences(gold, (ToolCall("book", {}, caller), ToolCall("refund", {}, "refunds")))
    assert [one.tag for one in found] == tags


def test_agents_of_other_names_prove_nothing() -> None:
    assert not differences((ToolCall("book", {}, "booking"),), (ToolCall("book", {}, "assistant"),))


def test_calls_of_a_tool_are_matched_by_their_parameters() -> None:
    gold = (call("get", id=1), call("get", id=2), call("get", id=3))
    assert aligned(gold, (call("get", id=3), call("get", id=1))) == {0: 1, 2: 0}


calls = st.builds(ToolCall, st.sampled_from("abc"), st.dictionaries(st.sampled_from("xy"), st.integers(0, 1)))
trajectories = st.lists(calls, max_size=6).map(tuple)


@given(trajectories, trajectories)
def test_there_is_a_difference_exactly_where_trajectories_differ(gold: Trajectory, predicted: Trajectory) -> None:
    found = differences(gold, predicted)
    same = prepared(gold).steps == prepared(predicted).steps
    assert bool(found) is not same
    assert all(one.predicted is None or 0 <= one.predicted < len(predicted) for one in found)


@given(trajectories, trajectories)
def test_missing_and_extra_calls_are_the_difference_of_the_multisets(gold: Trajectory, predicted: Trajectory) -> None:
    found = differences(gold, predicted)
    wanted, given_ = prepared(gold).tool_counts, prepared(predicted).tool_counts
    assert sum(one.tag == "missing_tool" for one in found) == (wanted - given_).total()
    assert sum(one.tag == "extra_tool" for one in found) == (given_ - wanted).total()
