"""Many tools cut to a few in what judges are shown: those that were used, and the best for the goal.

An agent with hundreds of tools sends their definitions with every call; judges would be shown all of them, and a small
model loses the run among them. Shown in full stay the tools that were called, that a stated plan names, and those that
a search by words finds for the goal; of the others the names, and how many they are. It is done for all judges of a
trace alike: the transcript is one text that the provider's prompt cache holds once for all of them, and a Tool
Selection judge needs no more than to know what else there was.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from msgspec.structs import replace

from gpa.ingest.agents import Agent
from gpa.ingest.dialects.call import Tool
from gpa.ingest.render import named
from gpa.ingest.tokens import count_text
from gpa.ingest.tool_calls import tool_calls
from gpa.ingest.transcript import Step, Transcript
from gpa.plans.capabilities import RegisteredTool, Registry
from gpa.plans.narrowing import LexicalIndex

MAX_TOOLS = 40
"""Tools of one agent that are shown in full."""
TOOLS_SHARE = 0.25
"""Of what a judge can be shown, at most, goes to the definitions of one agent's tools."""
_NAMES = 200
"""Names of left-out tools that are told."""
_WORD = re.compile(r"[\w.-]+")


def narrowed(transcript: Transcript, *, most: int = MAX_TOOLS, max_tokens: int | None = None) -> Transcript:
    """The transcript with at most so many tools an agent, or tokens of their definitions; itself where all fit.

    Tools that were used or planned stay whatever their number.
    """
    offered = _offered(transcript)
    cut = {key: tools for key, tools in offered.items() if _too_many(tools, most, max_tokens)}
    if not cut:
        return transcript
    called = {call.tool for call in tool_calls(transcript)}
    planned = {word for plan in transcript.plans for word in _WORD.findall(plan.text)}
    kept = {
        key: _kept(tools, {*called, *planned}, transcript.goal, most=most, max_tokens=max_tokens)
        for key, tools in cut.items()
    }
    notes = tuple(_note(key, tools, kept[key]) for key, tools in cut.items() if len(kept[key]) < len(tools))
    return replace(
        transcript,
        agents=tuple(_agent(agent, kept) for agent in transcript.agents),
        steps=tuple(_step(step, kept) for step in transcript.steps),
        warnings=(*transcript.warnings, *notes),
    )


def _offered(transcript: Transcript) -> dict[str, dict[str, Tool]]:
    """By agent every tool it was offered at any time."""
    offered = {agent.key: {tool.name: tool for tool in agent.tools} for agent in transcript.agents}
    for step in transcript.steps:
        for tool in step.tools or ():
            offered.setdefault(step.agent, {}).setdefault(tool.name, tool)
    return offered


def _too_many(tools: dict[str, Tool], most: int, max_tokens: int | None) -> bool:
    return len(tools) > most or (max_tokens is not None and sum(map(_size, tools.values())) > max_tokens)


def _kept(
    tools: dict[str, Tool], used: Collection[str], goal: str, *, most: int, max_tokens: int | None
) -> frozenset[str]:
    """Names of the tools that stay: the used ones, then the best for the goal, then the first, while there is room."""
    kept = [name for name in tools if name in used]
    room = None if max_tokens is None else max_tokens - sum(_size(tools[name]) for name in kept)
    registered = Registry(tuple(_registered(tool) for tool in tools.values()))
    ranked = [one.tool for one in LexicalIndex(registered).search(goal, len(tools))]
    for name in dict.fromkeys((*ranked, *tools)):
        if len(kept) >= most:
            break
        size = _size(tools[name])
        if name not in kept and (room is None or size <= room):
            kept.append(name)
            room = None if room is None else room - size
    return frozenset(kept)


def _registered(tool: Tool) -> RegisteredTool:
    return RegisteredTool(tool.name, params=_parameters(tool), description=tool.description)


def _size(tool: Tool) -> int:
    """Tokens of a definition as it is shown: its name, its parameters by name, its description."""
    return count_text(f"{tool.name}({' '.join(_parameters(tool))}): {tool.description}")


def _parameters(tool: Tool) -> tuple[str, ...]:
    properties = tool.parameters.get("properties")
    return tuple(map(str, properties)) if isinstance(properties, dict) else ()


def _note(key: str, tools: dict[str, Tool], kept: Collection[str]) -> str:
    left_out = [named(name) for name in tools if name not in kept]
    names = ", ".join(left_out[:_NAMES]) + (", ..." if len(left_out) > _NAMES else "")
    why = "those that were used or planned and those nearest to the goal are described"
    return f"{key or 'the run'} was offered {len(tools)} tools; {why}, {len(left_out)} others are left out: {names}"


def _agent(agent: Agent, kept: dict[str, frozenset[str]]) -> Agent:
    return replace(agent, tools=_among(agent.tools, kept[agent.key])) if agent.key in kept else agent


def _step(step: Step, kept: dict[str, frozenset[str]]) -> Step:
    if step.tools is None or step.agent not in kept:
        return step
    return replace(step, tools=_among(step.tools, kept[step.agent]))


def _among(tools: Sequence[Tool], names: Collection[str]) -> tuple[Tool, ...]:
    return tuple(tool for tool in tools if tool.name in names)
