"""Which agent did what: every run of an agent is one agent of the transcript, numbered when its name recurs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct, structs

from gpa.ingest.dialects.call import Call, Message, Tool

UNNAMED = "agent"
"""Name of the agent of model and tool calls that no span attributes to one."""


def _key(name: str, instance: int) -> str:
    return name if instance == 1 else f"{name}#{instance}"


class Agent(Struct, frozen=True):
    """One run of one agent: a manager and each call of a sub-agent are agents apart."""

    name: str
    instance: int = 1
    parent: str = ""
    """Key of the agent that called this one, empty for a root."""
    system: tuple[Message, ...] = ()
    """Its system instructions, each once."""
    tools: tuple[Tool, ...] = ()
    description: str = ""

    @property
    def key(self) -> str:
        """`name` for the first run, `name#2` for the second: what `Step.agent` holds."""
        return _key(self.name, self.instance)


class Node(Struct, gc=False):
    """A span on its way to become a step: its reading and its place in the tree (parents before children)."""

    call: Call
    parent: int
    """Index of the parent node, -1 for a root."""
    agent: str = ""
    """Key of the agent it belongs to, filled by `assign`."""


def assign(nodes: Sequence[Node]) -> dict[str, Agent]:
    """Give every node its agent and return the agents by key, in the order they begin.

    An agent span starts a new run, unless it stands directly inside an agent span of the same name (two
    instrumentations, or a framework's own wrapper). Model and tool calls that name an agent without being inside a span
    of it get one run of that agent for each place they occur in. What names no agent and is inside none belongs to
    the trace's unnamed agent. An agent span that only groups other agents (a workflow) is no agent.
    """
    counts: Counter[str] = Counter()
    agents: dict[str, Agent] = {}
    by_place: dict[tuple[str, str], str] = {}
    descriptions = {
        node.call.agent: node.call for node in nodes if node.call.operation == "create_agent" and node.call.agent
    }

    def begin(name: str, parent: str, call: Call | None) -> str:
        counts[name] += 1
        while _key(name, counts[name]) in agents:  # another agent's own name looks like a number of this one's
            counts[name] += 1
        definition = descriptions.get(name)
        system = _system(call) or _system(definition)
        tools = (call.tools if call else ()) or (definition.tools if definition else ())
        description = (call.description if call else "") or (definition.description if definition else "")
        agent = Agent(name, counts[name], parent, system, tools, description)
        agents[agent.key] = agent
        return agent.key

    for node in nodes:
        call = node.call
        around = nodes[node.parent].agent if node.parent >= 0 else ""
        node.agent = around
        if call.operation == "create_agent":
            continue
        name = call.agent or (agents[around].name if around else "")
        if call.kind == "agent":
            named = call.agent or UNNAMED
            doubled = around and nodes[node.parent].call.kind == "agent" and agents[around].name == named
            node.agent = around if doubled else begin(named, around, call)
            continue
        if call.kind == "other" or (around and name == agents[around].name):
            continue
        name = name or UNNAMED
        place = (around, name)
        if place not in by_place:
            by_place[place] = begin(name, around, None)
        node.agent = by_place[place]
    return _without_groups(nodes, agents)


def _without_groups(nodes: Sequence[Node], agents: dict[str, Agent]) -> dict[str, Agent]:
    """Leave out agents that do nothing but hold other agents; what they held belongs to the agent around them."""
    parents = {agent.parent for agent in agents.values()}
    acting = {node.agent for node in nodes if node.call.kind in ("llm", "tool", "retrieval")}
    groups = {
        key
        for key, agent in agents.items()
        if key in parents and key not in acting and not agent.system and not agent.tools
    }
    if not groups:
        return agents

    def outside(key: str) -> str:
        while key in groups:
            key = agents[key].parent
        return key

    counts: Counter[str] = Counter()
    keys = {"": ""}
    left: dict[str, Agent] = {}
    for key, agent in agents.items():
        if key not in groups:
            counts[agent.name] += 1
            while _key(agent.name, counts[agent.name]) in left:
                counts[agent.name] += 1
            # Callers come before those they call, so the parent has its new key by now.
            numbered = structs.replace(agent, instance=counts[agent.name], parent=keys[outside(agent.parent)])
            keys[key] = numbered.key
            left[numbered.key] = numbered
    for node in nodes:
        node.agent = keys[outside(node.agent)]
    return left


def _system(call: Call | None) -> tuple[Message, ...]:
    return tuple(message for message in call.input if message.role == "system") if call else ()
