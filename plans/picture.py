"""What a drawing of a workflow or of a user's trajectories shows, however it is drawn: rows of calls, top to bottom.

Calls of one row may be made in any order; between rows the order is fixed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby

from msgspec import Struct

from gpa.errors import UsageError
from gpa.plans.calls import GoldSet, ToolCall
from gpa.plans.workflow import Action, Workflow


class Node(Struct, frozen=True):
    """A call, or a step that may become one."""

    tool: str
    parameters: str = ""
    """What stands between the parentheses."""
    remarks: tuple[str, ...] = ()
    agent: str = ""


class Picture(Struct, frozen=True):
    """Rows of nodes from top to bottom, and what stands above and below them."""

    title: str
    rows: tuple[tuple[Node, ...], ...]
    agents: tuple[str, ...] = ()
    """In order of appearance; each has its colour."""
    remarks: tuple[str, ...] = ()


def workflow_picture(workflow: Workflow) -> Picture:
    """Every step with what the rules do to it, and the rules that put another trajectory in its place."""
    remarks: defaultdict[str, list[str]] = defaultdict(list)
    instead: list[str] = []
    for rule in workflow.rules:
        for actions, word in ((rule.then, "if"), (rule.otherwise, "unless")):
            for action in actions:
                if action.action == "override_trajectory":
                    instead.append(f"{word} {rule.condition}: only {', '.join(action.targets)}")
                    continue
                for tool in action.targets:
                    remarks[tool].append(f"{_done(action)} {word} {rule.condition}")
    nodes = [
        Node(step.tool, ", ".join(name for name, _ in step.parameters), tuple(remarks[step.tool]), workflow.name)
        for step in workflow.steps
    ]
    position = {step.tool: at for at, step in enumerate(workflow.steps)}
    blocks = [tuple(sorted(position[tool] for tool in block)) for block in workflow.soft_ordering]
    return Picture(workflow.name, _rows(nodes, blocks), (workflow.name,), tuple(instead))


def gold_picture(gold: GoldSet, number: int | None = None) -> Picture:
    """What is left of a user's workflows, soft blocks as rows; or one trajectory, counted from 1, as a chain."""
    count = f"{gold.total:,} {'trajectory' if gold.total == 1 else 'trajectories'}"
    title = f"user {gold.user}: {', '.join(gold.agents)}: {count}"
    blocks: Sequence[tuple[int, ...]] = gold.blocks
    if number is not None:
        if not 1 <= number <= len(gold.trajectories):
            raise UsageError(f"user {gold.user} has trajectories 1 to {len(gold.trajectories)}, found {number}")
        title, blocks = f"{title}, number {number}", ()
    calls = gold.trajectories[(number or 1) - 1]
    agents = tuple(agent for agent in dict.fromkeys(call.agent for call in calls) if agent)
    return Picture(title, _rows([_node(call) for call in calls], blocks), agents, gold.notes)


def _node(call: ToolCall) -> Node:
    return Node(call.tool, ", ".join(f"{name}={value}" for name, value in call.arguments.items()), (), call.agent)


def _done(action: Action) -> str:
    if action.action == "override_params":
        return f"called with ({', '.join(name for name, _ in action.parameters)})"
    return {"skip": "skipped", "end_after": "the last"}[action.action]


def _rows(nodes: Sequence[Node], blocks: Sequence[tuple[int, ...]]) -> tuple[tuple[Node, ...], ...]:
    """A row for each block without gaps; members of a block with gaps say whom they may change places with."""
    row_of = {at: at for at in range(len(nodes))}
    shown = list(nodes)
    for block in blocks:
        whole = block == tuple(range(block[0], block[0] + len(block)))
        for at in block:
            if whole:
                row_of[at] = block[0]
            else:
                others = ", ".join(nodes[other].tool for other in block if other != at)
                remarks = (*shown[at].remarks, f"may change places with {others}")
                shown[at] = Node(shown[at].tool, shown[at].parameters, remarks, shown[at].agent)
    return tuple(
        tuple(node for _, node in members) for _, members in groupby(enumerate(shown), lambda item: row_of[item[0]])
    )
