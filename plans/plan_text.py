"""A plan as people and models are shown it: an object of steps by id, each a call and what it depends on.

What is written reads back (`gpa.plans.plan_reading`) as a plan with the same tools, words, arguments and dependencies.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from gpa.plans.plan import Plan, PlanStep


def plain_plan(plan: Plan) -> dict[str, dict[str, Any]]:
    """The plan as a JSON value: step id -> `{"step": call, "depends_on": [...]}`."""
    return {step.id: _plain_step(step) for step in plan}


def call_of(step: PlanStep) -> str:
    """The step as a call in code: as it was written, or put together; its words alone when it names no tool."""
    if step.text:
        return step.text
    if not step.tool:
        return step.instruction
    shown = [as_json(step.instruction)] if step.instruction else []
    shown += [f"{name}={as_json(value)}" for name, value in step.arguments.items() if value != step.instruction]
    return f"{step.tool}({', '.join(shown)})"


def plan_text(plan: Plan, clean: Callable[[str], str] | None = None) -> str:
    """The plan as JSON, a step a line; `clean` is applied to each text in it."""
    return _lined(plain_plan(plan), clean)


def step_text(step: PlanStep, clean: Callable[[str], str] | None = None) -> str:
    """One step as a line of JSON."""
    return _line(step.id, _plain_step(step), clean)


def _lined(steps: dict[str, dict[str, Any]], clean: Callable[[str], str] | None) -> str:
    lines = [_line(step_id, value, clean) for step_id, value in steps.items()]
    return "{\n" + ",\n".join(lines) + "\n}"


def _line(step_id: str, value: dict[str, Any], clean: Callable[[str], str] | None) -> str:
    shown = value if clean is None else _cleaned(value, clean)
    return f"{as_json(step_id)}: {as_json(shown)}"


def _cleaned(value: Any, clean: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {key: _cleaned(one, clean) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(one, clean) for one in value]
    return value


def _plain_step(step: PlanStep) -> dict[str, Any]:
    needs = [int(one) if one.isdecimal() and one == str(int(one)) else one for one in step.needs]
    if step.text or all(name.isidentifier() for name in step.arguments):
        return {"step": call_of(step), "depends_on": needs}
    return {"tool": step.tool, "instruction": step.instruction, "arguments": step.arguments, "depends_on": needs}


def as_json(value: Any) -> str:
    """JSON of any value: arguments of a trace may be numbers beyond 64 bits, which orjson does not take."""
    return json.dumps(value, default=str, ensure_ascii=False)
