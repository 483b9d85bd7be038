"""What the tests about workflows share: the fixtures, users that differ from them, and trajectories as lines."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpa.plans.calls import GoldSet
from gpa.plans.compile import Settings, compile_user
from gpa.plans.outputs import line
from gpa.plans.workflow import Workflow
from gpa.plans.workflow_files import load_workflows, read_workflows

FIXTURES = Path(__file__).parents[2] / "fixtures" / "workflows"
NINE = load_workflows(FIXTURES)
[EMPLOYEE] = json.loads((FIXTURES / "users" / "employees.json").read_text())
[TRAVELLER] = json.loads((FIXTURES / "users" / "travellers.json").read_text())
ORDER, PRODUCT = json.loads((FIXTURES / "users" / "shoppers.json").read_text())


def user(base: Mapping[str, Any], *sequence: str, **fields: Any) -> dict[str, Any]:
    """The record with another sequence and other fields: `holder__key=value` goes into an object."""
    made: dict[str, Any] = copy.deepcopy(dict(base))
    if sequence:
        made["agent_sequence"] = list(sequence)
    for name, value in fields.items():
        holder, _, key = name.partition("__")
        if key:
            made[holder][key] = value
        else:
            made[holder] = value
    return made


def lines(gold: GoldSet) -> list[list[str]]:
    return [[line(call) for call in trajectory] for trajectory in gold.trajectories]


def tools(gold: GoldSet) -> list[list[str]]:
    return [[call.tool for call in trajectory] for trajectory in gold.trajectories]


def workflow(
    steps: str, *conditionals: Mapping[str, Any], soft: list[list[str]] | None = None, name: str = "w"
) -> dict[str, Workflow]:
    """One workflow with these steps, separated by blanks; `a` is short for `a()`."""
    listed = [step if "(" in step else f"{step}()" for step in steps.split()]
    value = {"agent": name, "steps": listed, "soft_ordering": soft or [], "conditionals": list(conditionals)}
    return read_workflows({name: value})


def rule(condition: Any, *then: Any, otherwise: list[Any] | None = None) -> dict[str, Any]:
    made: dict[str, Any] = {"if": condition if isinstance(condition, list) else [condition], "then": list(then)}
    return made if otherwise is None else {**made, "else": otherwise}


def when(field: str, operator: str, value: Any) -> dict[str, Any]:
    return {"field": field, "operator": operator, "value": value}


def act(action: str, *target: str, **params: str) -> dict[str, Any]:
    made: dict[str, Any] = {"action": action, "target": list(target)}
    return {**made, "params": params} if action == "override_params" else made


ALWAYS = when("yes", "==", True)


def gold(workflows: Mapping[str, Workflow], settings: Settings | None = None, **data: Any) -> GoldSet:
    """What the one workflow compiles to for a user with these fields."""
    record = {"customer_id": 1, "yes": True, "agent_sequence": list(workflows), **data}
    return compile_user(workflows, record, settings=settings)
