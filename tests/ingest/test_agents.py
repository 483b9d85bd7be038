"""Which agent did what, on trees of calls."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.ingest.agents import UNNAMED, Node, assign
from gpa.ingest.dialects.call import Call, Message, Tool

DESK = Call(kind="agent", agent="desk")
CHAT = Call(kind="llm")


def nodes(*calls: tuple[Call, int]) -> list[Node]:
    return [Node(call, parent) for call, parent in calls]


def test_a_definition_is_no_run_but_lends_its_instructions_to_the_runs() -> None:
    told = Message("system", "Be brief.")
    definition = Call(kind="agent", operation="create_agent", agent="desk", input=(told,), tools=(Tool("look"),))
    tree = nodes((definition, -1), (DESK, 0), (CHAT, 1))
    assert {key: (agent.system, agent.tools) for key, agent in assign(tree).items()} == {
        "desk": ((told,), (Tool("look"),))
    }
    assert [node.agent for node in tree] == ["", "desk", "desk"]


@pytest.mark.parametrize(
    ("between", "agents"),
    [
        pytest.param((), ["desk"], id="directly inside: one run"),
        pytest.param((Call(kind="tool"),), ["desk", "desk#2"], id="called by a tool: a run of its own"),
        pytest.param((Call(kind="other"),), ["desk", "desk#2"], id="inside a step: a run of its own"),
    ],
)
def test_an_agent_inside_one_of_its_name(between: tuple[Call, ...], agents: list[str]) -> None:
    calls = ((DESK, -1), *((call, 0) for call in between), (DESK, len(between)), (CHAT, len(between) + 1), (CHAT, 0))
    assert list(assign(nodes(*calls))) == agents


def test_runs_are_numbered_without_the_groups_that_held_them() -> None:
    tree = nodes((DESK, -1), (Call(kind="other"), 0), (DESK, 1), (CHAT, 2), (DESK, 1), (CHAT, 4))
    assert list(assign(tree)) == ["desk", "desk#2"]
    assert [node.agent for node in tree] == ["", "", "desk", "desk", "desk#2", "desk#2"]


def test_a_call_that_names_another_agent_belongs_to_that_one() -> None:
    tree = nodes((DESK, -1), (Call(kind="llm", agent="clerk"), 0), (Call(kind="tool", agent="clerk"), 0), (CHAT, 0))
    agents = assign(tree)
    assert [node.agent for node in tree] == ["desk", "clerk", "clerk", "desk"]
    assert agents["clerk"].parent == "desk"


CALLS = st.builds(
    Call,
    kind=st.sampled_from(["agent", "llm", "tool", "retrieval", "other"]),
    agent=st.sampled_from(["", "desk", "clerk"]),
    operation=st.sampled_from(["", "create_agent", "plan"]),
)


@given(st.lists(st.tuples(CALLS, st.integers(-1, 20)), max_size=20))
def test_any_tree_gives_every_call_an_agent_that_exists(tree: list[tuple[Call, int]]) -> None:
    built = nodes(*((call, min(parent, index - 1)) for index, (call, parent) in enumerate(tree)))
    agents = assign(built)
    assert {node.agent for node in built} <= {"", *agents}
    assert all(agent.parent in {"", *agents} for agent in agents.values())
    assert all(node.agent for node in built if node.call.kind in ("llm", "tool") and not node.call.operation)
    assert UNNAMED not in agents or any(not call.agent for call, _ in tree)


def test_a_name_that_looks_like_a_number_takes_no_other_agent_s_place() -> None:
    tree = nodes(*((Call(kind="agent", agent=name), -1) for name in ("a", "a#2", "a")))
    assert list(assign(tree)) == ["a", "a#2", "a#3"]
    assert [node.agent for node in tree] == ["a", "a#2", "a#3"]
