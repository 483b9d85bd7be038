"""Trajectories in the forms that tools and models write them, and files of gold ones.

A trajectory is a list of calls; a set of them is a list of lists. A call is a name, `tool: name(key=value)`, or an
object with a name and arguments in the fields of Google's, LangChain's or OpenAI's formats. `gpa workflow compile`
writes gold files: `{user id: {format: [trajectory, ...]}}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from gpa.errors import InputError
from gpa.plans.calls import GoldSet, ToolCall, Trajectory
from gpa.plans.located import Located, WorkflowError, found
from gpa.plans.pseudo_json import parse
from gpa.plans.tolerant import BareCall
from gpa.plans.trajectory import Values

FORMATS: dict[str, Values] = {"google": "typed", "langchain": "typed", "traxgen": "text", "tool_only": "none"}
"""The formats of a gold file, the ones that say most first, and how their parameters can be compared."""
_SETS = ("ground_truth_trajectories", "trajectories", "gold", "expected", "trajectory", "tool_calls", "calls", "steps")
_USERS = ("user", "user_id", "customer_id", "employee_id", "id", "key", "trace_id")
_NAMES = ("tool_name", "name", "tool", "function_name", "function", "action")
_ARGUMENTS = ("tool_input", "arguments", "args", "parameters", "params", "input")
_LINE = re.compile(r"\s*(?:tool:\s*)?([^\s()]+)(?:\s*\((.*)\))?\s*", re.DOTALL)
_PARAMETER = re.compile(r"(?:^|,\s*)([^\W\d]\w*)\s*=")
_AGENT = re.compile(r"\s*agent:\s*(.*?)\s*")


class Gold(Struct, frozen=True):
    """Gold trajectories and how their parameters are to be compared."""

    set: GoldSet
    values: Values = "typed"


def read_gold(path: str | Path) -> tuple[dict[str, Gold], tuple[Located, ...]]:
    """The gold sets in a JSON or JSON Lines file by user (or trace) id, and everything that is wrong in it.

    Raises:
        InputError: the file cannot be read, or is no JSON.
    """
    file = str(path)
    problems: list[Located] = []
    gold: dict[str, Gold] = {}
    for where, user, value in _records(Path(path).expanduser(), file, problems):
        before = len(problems)
        one = _gold(user, value, where, problems)
        if len(problems) > before:
            continue
        if user in gold:
            problems.append(Located(file=where, user=user, message="expected each user once, found it again"))
        gold.setdefault(user, one)
    if not gold and not problems:
        problems.append(Located(file=file, message="expected gold trajectories by user, found none"))
    return gold, tuple(problems)


def load_gold(path: str | Path) -> dict[str, Gold]:
    """The gold sets in a file by user (or trace) id.

    Raises:
        WorkflowError: with everything that is wrong.
    """
    gold, problems = read_gold(path)
    if problems:
        raise WorkflowError(problems)
    return gold


def _records(path: Path, file: str, problems: list[Located]) -> Iterator[tuple[str, str, Any]]:
    """Each user's part of the file: where, whose, what."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror or error}") from error
    try:
        value = msgspec.json.decode(data)
    except (msgspec.MsgspecError, RecursionError) as whole:
        if data.lstrip()[:1] != b"{" or b"\n" not in data.strip():
            raise InputError(f"{file}: expected JSON or JSON Lines, found {whole}") from whole
        yield from _lines(data, file, problems)
        return
    if isinstance(value, dict) and not any(key in value for key in (*_SETS, *FORMATS)):
        yield from ((file, str(user), one) for user, one in value.items())
    else:
        for at, one in enumerate(value if isinstance(value, list) else [value]):
            yield from _record(f"{file}: [{at}]" if isinstance(value, list) else file, one, problems)


def _lines(data: bytes, file: str, problems: list[Located]) -> Iterator[tuple[str, str, Any]]:
    for number, text in enumerate(data.splitlines(), 1):
        if text.strip():
            try:
                value = msgspec.json.decode(text)
            except (msgspec.MsgspecError, RecursionError) as error:
                problems.append(Located(file=f"{file}:{number}", message=f"expected a JSON object, found {error}"))
            else:
                yield from _record(f"{file}:{number}", value, problems)


def _record(where: str, value: Any, problems: list[Located]) -> Iterator[tuple[str, str, Any]]:
    if not isinstance(value, dict):
        problems.append(Located(file=where, message=f"expected an object with a user id, found {found(value)}"))
        return
    user = next((value[key] for key in _USERS if isinstance(value.get(key), str | int)), None)
    if user is None:
        problems.append(Located(file=where, message=f"expected a user id ({', '.join(_USERS)}), found none"))
    else:
        yield where, str(user), value


def _gold(user: str, value: Any, where: str, problems: list[Located]) -> Gold:
    field = ""
    values: Values = "typed"
    while isinstance(value, dict):
        field_here = next((key for key in (*FORMATS, *_SETS) if isinstance(value.get(key), list | dict)), None)
        if field_here is None:
            break
        value, field = value[field_here], f"{field}.{field_here}".lstrip(".")
        values = FORMATS.get(field_here, values)
    if not field and not isinstance(value, list):
        expected = f"expected trajectories in one of {', '.join((*FORMATS, *_SETS))}"
        problems.append(Located(file=where, user=user, message=f"{expected}, found {found(value)}"))
        return Gold(GoldSet(user, ()))
    trajectories, wrong = trajectories_in(value)
    problems += [msgspec.structs.replace(one, file=where, user=user, field=f"{field}{one.field}") for one in wrong]
    if not trajectories and not wrong:
        problems.append(Located(file=where, user=user, field=field, message="expected a trajectory, found none"))
    if field.rpartition(".")[2] not in FORMATS:
        values = _values_of(value)
    return Gold(GoldSet(user, trajectories, total=len(trajectories)), values)


def _values_of(value: Any) -> Values:
    """How parameters can be compared where no format is named: text lines have no types, names no parameters."""
    rows = value if isinstance(value, list) else []
    calls = [one for row in rows for one in (row if isinstance(row, list) else [row])]
    lines = [one for one in calls if isinstance(one, str)]
    if not lines or len(lines) < len(calls):
        return "typed"
    return "text" if any("(" in one for one in lines) else "none"


def trajectories_in(value: Any) -> tuple[tuple[Trajectory, ...], tuple[Located, ...]]:
    """The trajectories that a decoded value holds (a list of lists, or one list), and what in it is none."""
    problems: list[Located] = []
    while isinstance(value, dict):
        inner = next((key for key in (*FORMATS, *_SETS) if isinstance(value.get(key), list | dict)), None)
        if inner is None or any(isinstance(value.get(key), str) for key in _NAMES):
            break
        value = value[inner]
    if isinstance(value, dict):
        value = [value] if any(isinstance(value.get(key), str | dict) for key in _NAMES) else list(value.values())
    if not isinstance(value, list):
        return (), (Located(message=f"expected a list of trajectories, found {found(value)}"),)
    several = bool(value) and all(isinstance(one, list) or _wraps(one) for one in value)
    made = []
    for at, row in enumerate(value if several else [value] if value else []):
        inner = (
            next((row[key] for key in _SETS if isinstance(row.get(key), list)), None) if isinstance(row, dict) else row
        )
        made.append(tuple(_calls(inner, f"[{at}]" if several else "", problems)))
    return tuple(made), tuple(problems)


def _wraps(value: Any) -> bool:
    """Whether an object holds a trajectory, rather than being a call or a message of one call."""
    return isinstance(value, dict) and "role" not in value and any(isinstance(value.get(key), list) for key in _SETS)


def _calls(row: Any, where: str, problems: list[Located]) -> Iterator[ToolCall]:
    agent = ""
    for at, one in enumerate(row):
        place = f"{where}[{at}]"
        if isinstance(one, str) and (named := _AGENT.fullmatch(one)):
            agent = named[1]
        elif isinstance(one, dict) and isinstance(one.get("tool_calls"), list):
            for inner, call in enumerate(one["tool_calls"]):
                yield from _call(call, agent, f"{place}.tool_calls[{inner}]", problems)
        else:
            yield from _call(one, agent, place, problems)


def _call(value: Any, agent: str, place: str, problems: list[Located]) -> Iterator[ToolCall]:
    if isinstance(value, BareCall):
        positional = {str(at): one for at, one in enumerate(value.positional)}
        yield ToolCall(value.name, positional | value.named, agent)
    elif isinstance(value, str) and (match := _LINE.fullmatch(value)):
        yield ToolCall(match[1], _parameters(match[2] or ""), agent)
    elif isinstance(value, list | tuple) and len(value) == 2 and isinstance(value[0], str):
        yield from _call({"name": value[0], "arguments": value[1]}, agent, place, problems)
    elif isinstance(value, Mapping):
        function = value.get("function")
        source = function if isinstance(function, dict) else value
        name = next((source[key] for key in _NAMES if isinstance(source.get(key), str) and source[key].strip()), None)
        if name is None:
            fields = ", ".join(_NAMES[:3])
            problems.append(Located(field=place, message=f"expected the name of a tool ({fields}), found none"))
            return
        key = next((key for key in _ARGUMENTS if source.get(key) is not None), "")
        arguments = source.get(key) if key else {}
        if isinstance(arguments, str):  # OpenAI: JSON in a text
            decoded = parse(arguments)
            arguments = decoded.value if decoded else ({} if not arguments.strip() else arguments)
        if not isinstance(arguments, dict):
            message = f"expected an object of parameters, found {found(arguments)}"
            problems.append(Located(field=f"{place}.{key}", step=name, message=message))
            return
        own = source.get("agent")
        yield ToolCall(name.strip(), arguments, own if isinstance(own, str) else agent)
    else:
        problems.append(Located(field=place, message=f"expected a call (a text or an object), found {found(value)}"))


def _parameters(text: str) -> dict[str, str]:
    """`k=v, k2=v2` with values as they are: a comma ends one only where another name follows."""
    names = list(_PARAMETER.finditer(text))
    if not names:
        return {"0": text.strip()} if text.strip() else {}
    ends = [match.start() for match in names[1:]] + [len(text)]
    return {match[1]: text[match.end() : end].strip() for match, end in zip(names, ends, strict=True)}
