"""Plans as people and models write them -> `Plan`, or everything that is wrong with it, by step and field.

Understood are a list of steps, an object that holds one (`steps`, `plan`, `tasks`, ...), an object of steps by number
(`{"1": {"step": "RAG((1), '...')", "depends_on": [1]}}`), calls as code (`$0 = search("x")`, one a line), and all of
these in pseudo-JSON (`gpa.plans.pseudo_json`). Fields go by the names that agent frameworks use for them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from gpa.plans.located import shown
from gpa.plans.placeholders import Placeholder, malformed, placeholders
from gpa.plans.plan import Dependency, Plan, PlanError, PlanStep, Problem
from gpa.plans.pseudo_json import Parsed, parse, parse_call
from gpa.plans.tolerant import BareCall
from gpa.plans.topology import CycleError, in_order

_HOLDERS = (
    "steps",
    "plan",
    "actions",
    "tasks",
    "nodes",
    "dag",
    "subtasks",
    "sub_tasks",
    "tool_calls",
    "calls",
    "queries",
)
_ID = ("id", "step_id", "step_number", "step_no", "index", "idx", "number", "task_id", "node_id")
_TOOL = ("tool", "tool_name", "toolName", "function_name", "function", "action", "api", "recipient_name", "operation")
_ARGUMENTS = ("arguments", "args", "parameters", "params", "tool_input", "toolInput", "action_input", "kwargs", "input")
_INSTRUCTION = ("instruction", "instructions", "prompt", "query", "task", "step", "description", "question", "content",
                "text", "goal", "title", "input", "action")  # fmt: skip
_NEEDS = ("depends_on", "dependsOn", "dependencies", "dependency", "deps", "requires", "needs", "after", "parents")
_RATIONALE = ("rationale", "reason", "thought", "reasoning", "why", "explanation")
_NUMBERED = re.compile(r"(?:\D*\D)?(\d{1,9})$")
_ASSIGNED = re.compile(
    r"^[ \t]*(?:[-*][ \t]*)?(?:\$|\#|)?(\w+)[ \t]*(?:=|[.):])[ \t]*(?=[^\W\d][\w.\-]*\s*\()", re.MULTILINE
)


def read_plan(
    source: Any, *, where: str = "", start_index: int | None = None, tools: Collection[str] | None = None
) -> Plan:
    """The plan in a text, or in a value that was decoded already.

    Args:
        source: Text (JSON, pseudo-JSON, calls as code), or lists and objects.
        where: What to call it in messages: a file, a step label.
        start_index: The number of the first step, for placeholders such as `$1`; steps below it have been executed, so
            that they may be referred to and must not be planned again. None: the plan is a whole one; where it does not
            number its steps they are counted from 0, or from 1 when only that makes every reference point back.
        tools: Names of the tools there are; a step with another one is a problem.

    Raises:
        PlanError: with all problems.
    """
    plan, problems = try_plan(source, where=where, start_index=start_index, tools=tools)
    if plan is None or problems:
        raise PlanError(problems)
    return plan


def try_plan(
    source: Any, *, where: str = "", start_index: int | None = None, tools: Collection[str] | None = None
) -> tuple[Plan | None, tuple[Problem, ...]]:
    """The plan as far as it can be understood, and all that is wrong with it; None when there are no steps in it."""
    text = source if isinstance(source, str) else ""
    parsed = parse(source) if isinstance(source, str) else Parsed(source)
    if parsed is None:
        return None, (Problem("", "", f"expected a plan (JSON, or calls), found {shown(source)}", where),)
    rows = _rows(parsed, text)
    if rows is None:
        expected = "expected a list of steps, or an object of steps by number"
        return None, (Problem("", "", f"{expected}, found {shown(parsed.value)}", where),)
    problems: list[Problem] = []
    notes: list[str] = []
    if _drop_half_step(rows, parsed):
        notes.append("the text ends inside a step: that step was left out")
    if not rows:
        problems.append(Problem("", "", "expected at least one step, found none", where))
    steps = [_step(place, name, value, problems) for place, name, value in rows]
    steps = _numbered(steps, start_index, notes)
    steps = list(_connected(steps, problems, start_index or 0))
    problems += _executed_again(steps, start_index or 0)
    problems += _structure(steps, tools)
    found = tuple(replace(problem, where=where) for problem in problems)
    return Plan(tuple(steps), parsed.repairs, tuple(notes)) if steps else None, found


def _rows(parsed: Parsed, text: str) -> list[tuple[str, str, Any]] | None:
    """Each step: its place, its name as far as the plan gives one, its value."""
    value, place = parsed.value, ""
    while isinstance(value, dict):
        holder = next((key for key in _HOLDERS if isinstance(value.get(key), list | dict)), None)
        if holder is None or (place and _is_step(value)):
            break
        value, place = value[holder], f"{place}.{holder}".lstrip(".")
    if isinstance(value, list):
        named = _assigned(value, text)
        return [(f"{place or 'plan'}[{at}]", named.get(at, ""), one) for at, one in enumerate(value)]
    if isinstance(value, dict) and value:
        if _is_step(value) and not all(isinstance(one, dict) for one in value.values()):
            return [(place or "plan", "", value)]
        if all(isinstance(one, dict | str | BareCall) for one in value.values()):
            return [(f"{place}[{key!r}]".lstrip("."), str(key), one) for key, one in value.items()]
    return [] if value in ([], {}) else None


def _is_step(value: Mapping[str, Any]) -> bool:
    return any(key in value for key in (*_TOOL, *_NEEDS, "instruction", "step", "query"))


def _assigned(value: list[Any], text: str) -> dict[int, str]:
    """The names that calls written as code are given: `$0 = search(...)`, `1. search(...)`."""
    if not value or not all(isinstance(one, BareCall) for one in value) or text.lstrip()[:1] in {"[", "{"}:
        return {}
    behind = {match.end(): match[1] for match in _ASSIGNED.finditer(text)}
    found, at = {}, 0
    for number, call in enumerate(value):
        at = max(text.find(call.text, at), at)
        if at in behind:
            found[number] = behind[at]
        at += len(call.text)
    return found


def _drop_half_step(rows: list[tuple[str, str, Any]], parsed: Parsed) -> bool:
    """Leave out the last step when the text ends inside it."""
    if not any(isinstance(part, int) or part not in {"", *_HOLDERS} for part in parsed.cut_at) or not rows:
        return False
    rows.pop()
    return True


def _step(place: str, name: str, value: Any, problems: list[Problem]) -> PlanStep:
    """One step, with what it needs still as written (ids of any form)."""
    if isinstance(value, BareCall):
        return _of_call(PlanStep(name, place=place), value)
    if isinstance(value, str):
        call = parse_call(value)
        return _of_call(PlanStep(name, place=place), call) if call else PlanStep(name, instruction=value, place=place)
    if not isinstance(value, dict):
        problems.append(Problem(place, "", f"expected a step (an object, a text, a call), found {shown(value)}"))
        return PlanStep(name, instruction=str(value), place=place)
    identity = _first(value, _ID)
    if identity is None and isinstance(value.get("step"), int):
        identity = value["step"]
    own = name if identity is None else _id(identity)
    step = PlanStep(own or name, place=place)
    function = value.get("function")
    if isinstance(function, dict):  # {"type": "function", "function": {"name": ..., "arguments": "{...}"}}
        value = {**value, **{key: function[key] for key in ("name", "arguments") if key in function}, "function": None}
    for key in _INSTRUCTION:
        call = value[key] if isinstance(value.get(key), BareCall) else _call_of(value.get(key))
        if call is not None and not any(isinstance(value.get(tool), str) for tool in _TOOL if tool != key):
            step = _of_call(step, call)
            break
    if not step.tool:
        step = _of_fields(step, value, problems)
    return replace(
        step,
        agent=_text(_first(value, ("agent", "agent_name", "assignee"))),
        rationale=_text(_first(value, _RATIONALE)),
        satisfies=tuple(_text(one) for one in _listed(value.get("satisfies"))),
        dependencies=tuple(_declared(value, own or place, problems)),
    )


def _of_fields(step: PlanStep, value: Mapping[str, Any], problems: list[Problem]) -> PlanStep:
    tool = next((value[key] for key in _TOOL if isinstance(value.get(key), str) and value[key].strip()), "")
    arguments = _first(value, _ARGUMENTS)
    named = isinstance(arguments, dict | list) or (arguments is not None and "name" in value)
    tool = tool or (_text(value.get("name")) if named or "tool" in value else "")
    used = next((key for key in _TOOL if value.get(key) == tool), "")
    instruction = next(
        (value[key] for key in _INSTRUCTION if isinstance(value.get(key), str) and (key != used or not tool)), ""
    )
    if not instruction and not tool:
        instruction = _text(value.get("name"))
    if isinstance(arguments, str) and arguments.lstrip().startswith(("{", "[")):
        parsed = parse(arguments)
        arguments = parsed.value if parsed else arguments
    if isinstance(arguments, list):
        arguments = {str(at): one for at, one in enumerate(arguments)}
    if arguments is not None and not isinstance(arguments, dict | str):
        problems.append(Problem(step.id or step.place, "arguments", f"expected an object, found {shown(arguments)}"))
    if isinstance(arguments, str):
        instruction, arguments = instruction or arguments, {}
    return replace(
        step,
        tool=tool.strip(),
        instruction=instruction,
        arguments={str(key): one for key, one in arguments.items()} if isinstance(arguments, dict) else {},
    )


def _of_call(step: PlanStep, call: BareCall) -> PlanStep:
    """The step of a call in code; the last text among its positional arguments says what is to be done."""
    words = [one for one in call.positional if isinstance(one, str) and not _is_placeholder(one)]
    instruction = next((one for one in reversed(words) if " " in one.strip()), words[-1] if words else "")
    arguments = {str(at): one for at, one in enumerate(call.positional)} | call.named
    return replace(step, tool=call.name, instruction=instruction, arguments=arguments, text=call.text)


def _is_placeholder(text: str) -> bool:
    return any(found.written == text.strip() for found in placeholders(text)[:1])


def _call_of(text: object) -> BareCall | None:
    return parse_call(text) if isinstance(text, str) else None


def _declared(value: Mapping[str, Any], step: str, problems: list[Problem]) -> Iterator[Dependency]:
    field = next((key for key in _NEEDS if value.get(key) is not None), "")
    for at, one in enumerate(_listed(value.get(field))):
        if isinstance(one, bool) or not isinstance(one, int | float | str | dict):
            problems.append(Problem(step, f"{field}[{at}]", f"expected the id of a step, found {shown(one)}"))
        elif isinstance(one, dict) and (inner := _first(one, (*_ID, "step", "name"))) is not None:
            yield Dependency(_id(inner))
        elif not isinstance(one, dict):
            yield Dependency(_id(one))


def _numbered(steps: list[PlanStep], start_index: int | None, notes: list[str]) -> list[PlanStep]:
    """The steps with an id each: their own, or a number in order."""
    if any(step.id for step in steps):
        taken = {step.id for step in steps}
        free = (str(number) for number in range(1, 2 * len(steps) + 2) if str(number) not in taken)
        return [step if step.id else replace(step, id=next(free)) for step in steps]
    start = start_index
    if start is None:
        # `(1)` may be no placeholder, but where it can be one it decides between the ways of counting.
        fitting = [base for base in (0, 1) if _points_back(steps, base)]
        start = next((base for base in fitting if _points_back(steps, base, certain=False)), (fitting or [0])[0])
        if start:
            notes.append("steps are not numbered; references fit counting from 1")
    return [replace(step, id=str(start + at)) for at, step in enumerate(steps)]


def _points_back(steps: list[PlanStep], base: int, *, certain: bool = True) -> bool:
    """Whether every reference (or every certain one) names an earlier step when the first one has this number."""
    for at, step in enumerate(steps):
        named = [Placeholder(one.step, one.step, 0) for one in step.dependencies]
        named += [one for one in placeholders([step.instruction, step.arguments]) if one.certain or not certain]
        if any(one.number is None or not base <= one.number < base + at for one in named):
            return False
    return True


def _connected(steps: list[PlanStep], problems: list[Problem], executed: int) -> Iterator[PlanStep]:
    """The steps with what they need by the ids of the steps: declared, or named by a placeholder."""
    ids = {step.id: step.id for step in steps}
    numbers = {match[1]: step.id for step in reversed(steps) if (match := _NUMBERED.fullmatch(step.id))}
    known = {name.lower(): step_id for name, step_id in (numbers | ids).items()}
    earlier: set[str] = set()
    for step in steps:
        found: dict[str, Dependency] = {}
        for number, declared in enumerate(step.dependencies):
            target = _target(declared.step, known)
            if target is None and not _is_below(declared.step, executed):
                message = f"expected a step of the plan, found {declared.step!r}"
                problems.append(Problem(step.id, f"depends_on[{number}]", message))
            elif target is not None:
                found.setdefault(target, Dependency(target, "declared"))
        for one in dict.fromkeys(placeholders([step.instruction, step.arguments])):
            target = _target(one.target, known)
            # `(5)` may as well number something else.
            if target is not None and (one.certain or target in earlier):
                found.setdefault(target, Dependency(target, "reference"))
            elif one.certain and one.number is not None and one.number >= executed:
                message = f"expected a placeholder of an earlier step, found {one.written!r}"
                problems.append(Problem(step.id, "arguments", message))
        problems.extend(
            Problem(step.id, "arguments", f"expected one placeholder a step, as in (1) and (2), found {written!r}")
            for written in dict.fromkeys(malformed([step.instruction, step.arguments, step.text]))
        )
        earlier.add(step.id)
        yield replace(step, dependencies=tuple(found.values()))


def _is_below(name: str, executed: int) -> bool:
    """Whether the name is the number of a step that was executed before this plan."""
    return name.isdigit() and len(name) < 10 and int(name) < executed


def _executed_again(steps: list[PlanStep], executed: int) -> Iterator[Problem]:
    for step in steps:
        if _is_below(step.id, executed):
            yield Problem(step.id, "id", f"expected steps from {executed} on, found one that has been executed")


def _target(name: str, known: Mapping[str, str]) -> str | None:
    lowered = name.lower()
    if lowered in known:
        return known[lowered]
    numbered = _NUMBERED.fullmatch(lowered)
    return known.get(numbered[1]) if numbered else None


def _structure(steps: list[PlanStep], tools: Collection[str] | None) -> Iterator[Problem]:
    """What is wrong between the steps: ids twice, references forwards or in a circle, tools that do not exist."""
    places: dict[str, int] = {}
    for at, step in enumerate(steps):
        if step.id in places:
            yield Problem(step.id, "id", f"expected each id once, found it again at {step.place}")
        places.setdefault(step.id, at)
    forward = False
    for at, step in enumerate(steps):
        if not step.tool and not step.instruction.strip():
            yield Problem(step.id, "", "expected a tool or an instruction, found neither")
        if tools is not None and step.tool and step.tool not in tools:
            yield Problem(step.id, "tool", f"expected one of {', '.join(sorted(tools))}, found {step.tool!r}")
        for one in step.dependencies:
            if places.get(one.step, -1) >= at:
                forward = True
                what = "itself" if one.step == step.id else f"step {one.step}, which comes later"
                yield Problem(step.id, "depends_on" if one.basis == "declared" else "arguments",
                              f"expected an earlier step, found {what}")  # fmt: skip
    if forward:
        try:
            in_order({step.id: step.needs for step in steps})
        except CycleError as error:
            yield Problem("", "depends_on", str(error))


def _listed(value: Any) -> list[Any]:
    if value is None or value in ("", "none", "None"):
        return []
    if isinstance(value, str):
        return [part for part in re.split(r"[,;\s\[\]]+", value) if part]
    return list(value) if isinstance(value, list | tuple) else [value]


def _id(value: Any) -> str:
    text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    return text.strip().strip("${}#<>()[] ").strip()


def _first(value: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    return next((value[key] for key in keys if value.get(key) is not None), None)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)
