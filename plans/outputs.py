"""Trajectories as other tools read them: tool names, Google's and LangChain's evaluation formats, Traxgen's lines.

The outer list holds the alternative trajectories in all four (the paper's sample of tool names shows one without it,
appendix A.15). Within one result equal calls are the same object: write it, or copy before changing anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from gpa.errors import UsageError
from gpa.plans.calls import GoldSet, ToolCall, Trajectory
from gpa.plans.references import getter, parse
from gpa.plans.users import ID_FIELD

GROUND_TRUTH = "ground_truth_trajectories"
"""The field that `data_and_trajectory` adds to each user."""
MODES = ("trajectory_only", "data_and_trajectory")


def written(gold: GoldSet, formats: Iterable[str]) -> dict[str, list[Any]]:
    """The gold set in each of the formats, by name."""
    return {name: FORMATS[name](gold.trajectories) for name in formats}


def trajectory_only(gold: Iterable[GoldSet], formats: Sequence[str]) -> dict[str, dict[str, list[Any]]]:
    """`{user id: {format: [trajectory, ...]}}`; ids are text, as keys of JSON objects are."""
    return {one.user: written(one, formats) for one in gold}


def data_and_trajectory(
    users: Iterable[Mapping[str, Any]], gold: Iterable[GoldSet], formats: Sequence[str], *, id_field: str = ID_FIELD
) -> list[dict[str, Any]]:
    """Copies of the users' records, each with its trajectories; a user without any keeps its record as it is."""
    by_user = {one.user: one for one in gold}
    of_id = getter(parse(id_field))
    return [
        {**user, GROUND_TRUTH: written(by_user[str(of_id(user))], formats)}
        if str(of_id(user)) in by_user
        else dict(user)
        for user in users
    ]


def formats_named(names: str | Iterable[str]) -> tuple[str, ...]:
    """The formats that a list, or a text with commas between them, names; raises `UsageError` for another."""
    listed = [part.strip() for part in names.split(",")] if isinstance(names, str) else list(names)
    unknown = [name for name in listed if name not in FORMATS]
    if unknown or not listed:
        said = ", ".join(map(repr, unknown)) or "none"
        raise UsageError(f"trajectory formats are {', '.join(FORMATS)}; found {said}")
    return tuple(dict.fromkeys(listed))


def line(call: ToolCall) -> str:
    """`tool(parameter=value, ...)` with values as they are, unquoted."""
    return f"{call.tool}({', '.join([f'{name}={value}' for name, value in call.arguments.items()])})"


def _tool_only(trajectories: Sequence[Trajectory]) -> list[Any]:
    return [[call.tool for call in trajectory] for trajectory in trajectories]


def _google(trajectories: Sequence[Trajectory]) -> list[Any]:
    return _each(trajectories, lambda calls: [{"tool_name": one.tool, "tool_input": one.arguments} for one in calls])


def _langchain(trajectories: Sequence[Trajectory]) -> list[Any]:
    return _each(trajectories, lambda calls: [_message(call) for call in calls])


def _message(call: ToolCall) -> dict[str, Any]:
    return {"role": "assistant", "tool_calls": [{"name": call.tool, "arguments": call.arguments}]}


def _traxgen(trajectories: Sequence[Trajectory]) -> list[Any]:
    made: list[list[str]] = []
    rendered = _each(trajectories, lambda calls: [f"tool: {line(call)}" for call in calls])
    for lines, trajectory in zip(rendered, trajectories, strict=True):
        marked: list[str] = []
        agent = None
        for text, call in zip(lines, trajectory, strict=True):
            if call.agent != agent:
                agent = call.agent
                marked.append(f"agent: {agent}")
            marked.append(text)
        made.append(marked)
    return made


def _each(trajectories: Sequence[Trajectory], form: Callable[[Trajectory], list[Any]]) -> list[Any]:
    """Every call in its form, made once however many of the trajectories hold it."""
    if len(trajectories) < 2:
        return [form(trajectory) for trajectory in trajectories]
    made = dict(zip(map(id, trajectories[0]), form(trajectories[0]), strict=True))
    try:
        return [[made[id(call)] for call in trajectory] for trajectory in trajectories]
    except KeyError:  # no permutations of one another
        return [form(trajectory) for trajectory in trajectories]


FORMATS: dict[str, Callable[[Sequence[Trajectory]], list[Any]]] = {
    "tool_only": _tool_only,
    "google": _google,
    "langchain": _langchain,
    "traxgen": _traxgen,
}
"""By the names that the paper and its package give them."""
