"""Workflows: what a workflow is, and one read from JSON with everything that is wrong with it said at once.

    {"agent": "update_address",
     "steps": ["validate_address(address=user_provided_info['address']) -> [validation_status]", ...],
     "soft_ordering": [["ask_street", "ask_city"]],
     "conditionals": [{"if": [{"field": "validation_status", "operator": "==", "value": "invalid"}],
                       "then": [{"action": "end_after", "target": "escalate"}], "else": [...]}]}

The language is that of the Traxgen paper (sections 3.1 and 3.3, table 4, workflows A.5 to A.13); docs/workflows.md
tells it whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from gpa.errors import FormatError
from gpa.plans.conditions import OPERATORS, AllOf, AnyOf, Clause, Comparison, comparisons
from gpa.plans.located import Located, Problems, found, meant
from gpa.plans.ordering import MAX_BLOCK, count
from gpa.plans.references import Reference, parse
from gpa.plans.steps import Step, read_step

KEYS = ("agent", "steps", "soft_ordering", "conditionals")
ACTIONS = ("skip", "end_after", "override_params", "override_trajectory")
MAX_DEPTH = 32
"""Clauses inside clauses."""


class Action(Struct, frozen=True):
    """What a rule does to the steps."""

    action: str
    """One of `ACTIONS`."""
    targets: tuple[str, ...]
    parameters: tuple[tuple[str, Reference], ...] = ()
    """Of `override_params`: they replace all parameters of the targets."""


class Rule(Struct, frozen=True):
    """A conditional: actions when the condition holds, and others when it does not."""

    condition: AllOf
    then: tuple[Action, ...]
    otherwise: tuple[Action, ...] = ()


class Workflow(Struct, frozen=True):
    """All calls that a task may need in their canonical order, and the rules that leave some out."""

    name: str
    """What users' `agent_sequence` calls it."""
    agent: str
    steps: tuple[Step, ...]
    soft_ordering: tuple[tuple[str, ...], ...] = ()
    """Blocks of tools that may be called in any order."""
    rules: tuple[Rule, ...] = ()
    file: str = ""
    notes: tuple[Located, ...] = ()
    """What is allowed but perhaps not meant."""

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools of the steps."""
        return tuple(step.tool for step in self.steps)


def uses(workflow: Workflow) -> Iterator[tuple[Reference, str, str]]:
    """Each reference with where it is used: the step (or nothing) and what for, in the order of the file."""
    for step in workflow.steps:
        for name, reference in step.parameters:
            yield reference, step.tool, name
    for number, rule in enumerate(workflow.rules):
        for comparison in comparisons(rule.condition):
            for compared in (comparison.field, comparison.compare_to):
                if compared is not None:
                    yield compared, "", f"conditionals[{number}].if"
        for action in (*rule.then, *rule.otherwise):
            for name, reference in action.parameters:
                yield reference, action.targets[0], name


def read_workflow(name: str, value: Any, *, file: str = "") -> tuple[Workflow | None, list[Located]]:
    """The workflow that a JSON value is, or everything that is wrong with it."""
    problems = Problems(file, name)
    if not isinstance(value, dict):
        problems.error("", f"expected an object with {', '.join(KEYS)}, found {found(value)}")
        return None, problems.errors
    for key in value.keys() - set(KEYS):
        problems.error(str(key), f"no such key in a workflow{meant(str(key), KEYS)}")
    problems.errors.sort(key=lambda error: error.field)
    for key in KEYS:
        if key not in value:
            problems.error(key, "missing")
    agent = value.get("agent", name)
    if not isinstance(agent, str) or not agent:
        problems.error("agent", f"expected a name, found {found(agent)}")
    steps = _steps(value.get("steps", []), problems)
    if "steps" in value and value["steps"] == []:
        problems.error("steps", "expected at least one step, found an empty array")
    # A step that could not be read still has a name that rules refer to: without it one error would look like many.
    tools = list(dict.fromkeys([step.tool for step in steps.values()] + _names_of_unread(value.get("steps"), steps)))
    soft = _soft_ordering(value.get("soft_ordering", []), tools, problems)
    rules = _rules(value.get("conditionals", []), tools, problems)
    if problems.errors:
        return None, problems.errors
    read = Workflow(name, agent, tuple(steps.values()), soft, rules, file, tuple(problems.notes))
    return read, []


def _steps(value: Any, problems: Problems) -> dict[int, Step]:
    steps: dict[int, Step] = {}
    first: dict[str, int] = {}
    for index, text in enumerate(_list(value, "steps", "steps", problems)):
        field = f"steps[{index}]"
        if not isinstance(text, str):
            problems.error(field, f"expected text like tool(parameter=reference), found {found(text)}", step=field)
            continue
        name = text.partition("(")[0].strip()[:60]
        step = read_step(text, _complain(problems, field, f"{field} {name}"))
        if step is None:
            continue
        if step.tool in first:
            where = f"steps[{first[step.tool]}]"
            problems.error(
                field, f"tool {step.tool!r} is already {where}; a tool has one step", step=f"{field} {step.tool}"
            )
        first.setdefault(step.tool, index)
        steps[index] = step
    return steps


def _complain(problems: Problems, field: str, step: str) -> Callable[[str], None]:
    return lambda message: problems.error(field, message, step=step)


def _names_of_unread(value: Any, steps: dict[int, Step]) -> list[str]:
    texts = enumerate(value) if isinstance(value, list) else ()
    return [text.partition("(")[0].strip() for index, text in texts if index not in steps and isinstance(text, str)]


def _soft_ordering(value: Any, tools: Sequence[str], problems: Problems) -> tuple[tuple[str, ...], ...]:
    blocks: list[tuple[str, ...]] = []
    block_of: dict[str, int] = {}
    for index, members in enumerate(_list(value, "soft_ordering", "blocks", problems)):
        field = f"soft_ordering[{index}]"
        names = _tools(members, field, tools, problems, single=False)
        for name, times in Counter(names).items():
            if times > 1:
                problems.error(field, f"{name!r} stands in the block {times} times")
            if block_of.setdefault(name, index) != index:
                problems.error(
                    field, f"{name!r} is already in soft_ordering[{block_of[name]}]; blocks must not overlap"
                )
        if len(names) == 1 and isinstance(members, list) and len(members) == 1:
            problems.note(field, "a block of one tool has one order")
        if len(names) > MAX_BLOCK:
            problems.note(field, f"{len(names)} tools have {count([names]):,} orders: over max_block {MAX_BLOCK}")
        blocks.append(tuple(names))
    return tuple(blocks)


def _rules(value: Any, tools: Sequence[str], problems: Problems) -> tuple[Rule, ...]:
    conditionals = _list(value, "conditionals", "conditionals", problems)
    # A trajectory that rules put in place may name tools that are no steps, and then other rules may speak of them.
    # The published handle_flight_disruption does so with update_loyalty_points.
    rules = []
    extra = [name for name in _overriding(conditionals) if name not in tools]
    for index, conditional in enumerate(conditionals):
        field = f"conditionals[{index}]"
        if not isinstance(conditional, dict):
            problems.error(field, f"expected an object with if, then and perhaps else, found {found(conditional)}")
            continue
        _keys(conditional, ("if", "then"), ("else",), field, problems)
        clauses = [
            _clause(clause, f"{field}.if[{number}]", problems)
            for number, clause in enumerate(_list(conditional.get("if", []), f"{field}.if", "clauses", problems))
        ]
        if conditional.get("if") == []:
            problems.note(f"{field}.if", "no clause: the rule always applies")
        then, otherwise = (
            tuple(
                action
                for number, item in enumerate(_list(conditional.get(key, []), f"{field}.{key}", "actions", problems))
                if (action := _action(item, f"{field}.{key}[{number}]", tools, extra, problems)) is not None
            )
            for key in ("then", "else")
        )
        rules.append(Rule(AllOf(tuple(clause for clause in clauses if clause is not None)), then, otherwise))
    return tuple(rules)


def _overriding(conditionals: Sequence[Any]) -> Iterator[Any]:
    for conditional in conditionals:
        for key in ("then", "else"):
            actions = conditional.get(key) if isinstance(conditional, dict) else None
            for action in actions if isinstance(actions, list) else ():
                if isinstance(action, dict) and action.get("action") == "override_trajectory":
                    targets = action.get("target")
                    yield from (
                        name for name in (targets if isinstance(targets, list) else [targets]) if _is_name(name)
                    )


def _clause(value: Any, field: str, problems: Problems, depth: int = MAX_DEPTH) -> Clause | None:
    if not isinstance(value, dict):
        problems.error(field, f"expected an object, found {found(value)}")
        return None
    groups = [key for key in ("all_of", "any_of") if key in value]
    if groups:
        key = groups[0]
        _keys(value, (key,), (), field, problems)
        if depth == 0:
            problems.error(field, f"nested deeper than {MAX_DEPTH} levels")
            return None
        members = _list(value[key], f"{field}.{key}", "clauses", problems)
        if not members and isinstance(value[key], list):
            problems.error(f"{field}.{key}", "expected at least one clause, found an empty array")
        read = [_clause(part, f"{field}.{key}[{number}]", problems, depth - 1) for number, part in enumerate(members)]
        clauses = tuple(part for part in read if part is not None)
        return AllOf(clauses) if key == "all_of" else AnyOf(clauses)
    return _comparison(value, field, problems)


def _comparison(value: dict[str, Any], field: str, problems: Problems) -> Comparison | None:
    before = len(problems.errors)
    _keys(value, ("field", "operator"), ("value", "compare_to"), field, problems)
    if ("value" in value) == ("compare_to" in value):
        problems.error(field, f"expected one of value and compare_to, found {'both' if 'value' in value else 'none'}")
    operator, expected = value.get("operator"), value.get("value")
    if "operator" in value and operator not in OPERATORS:
        hint = meant(operator, OPERATORS) if isinstance(operator, str) else ""
        problems.error(f"{field}.operator", f"expected one of {', '.join(OPERATORS)}, found {found(operator)}{hint}")
    elif operator in {"in", "not in"} and "value" in value and not isinstance(expected, list | str | dict):
        problems.error(f"{field}.value", f"operator {operator!r} needs an array, found {found(expected)}")
    left = _reference(value["field"], f"{field}.field", problems) if "field" in value else None
    right = _reference(value["compare_to"], f"{field}.compare_to", problems) if "compare_to" in value else None
    if len(problems.errors) > before or left is None:
        return None
    return Comparison(left, str(operator), expected, right)


def _action(value: Any, field: str, tools: Sequence[str], extra: Sequence[str], problems: Problems) -> Action | None:
    if not isinstance(value, dict):
        problems.error(field, f"expected an object with action and target, found {found(value)}")
        return None
    action = value.get("action")
    if action not in ACTIONS:
        hint = meant(action, ACTIONS) if isinstance(action, str) else ""
        problems.error(f"{field}.action", f"expected one of {', '.join(ACTIONS)}, found {found(action)}{hint}")
        return None
    _keys(value, ("action", "target", *(("params",) if action == "override_params" else ())), (), field, problems)
    if "target" not in value:
        return None
    if action == "override_trajectory":
        targets = _trajectory(value["target"], f"{field}.target", tools, problems)
    else:
        known = [*tools, *extra] if action == "override_params" else tools
        targets = _tools(value["target"], f"{field}.target", known, problems)
    parameters = _parameters(value.get("params", {}), f"{field}.params", problems)
    return Action(str(action), tuple(targets), tuple(parameters.items())) if targets else None


def _trajectory(value: Any, field: str, tools: Sequence[str], problems: Problems) -> list[str]:
    names = _tools(value, field, None, problems)
    for name, times in Counter(names).items():
        if times > 1:
            problems.error(field, f"{name!r} stands in it {times} times: a cycle, no order could be right")
        if name not in tools:
            problems.note(field, f"{name!r} is no step{meant(name, tools)}: called without parameters")
    return names


def _tools(
    value: Any, field: str, known: Sequence[str] | None, problems: Problems, *, single: bool = True
) -> list[str]:
    """The names of tools in a list, or alone where that is allowed; unknown ones are errors."""
    if single and isinstance(value, str):
        value = [value]
    if not isinstance(value, list):
        problems.error(field, f"expected {'a tool or ' if single else ''}an array of tools, found {found(value)}")
        return []
    if not value:
        problems.error(field, "expected at least one tool, found an empty array")
    names = []
    for index, name in enumerate(value):
        if not _is_name(name):
            problems.error(f"{field}[{index}]", f"expected the name of a tool, found {found(name)}")
        elif known is not None and name not in known:
            problems.error(f"{field}[{index}]", f"no step is called {found(name)}{meant(name, known)}")
        else:
            names.append(name)
    return names


def _parameters(value: Any, field: str, problems: Problems) -> dict[str, Reference]:
    if not isinstance(value, dict):
        problems.error(field, f"expected an object of references, found {found(value)}")
        return {}
    read = {str(name): _reference(text, f"{field}.{name}", problems) for name, text in value.items()}
    return {name: reference for name, reference in read.items() if reference is not None}


def _reference(value: Any, field: str, problems: Problems) -> Reference | None:
    try:
        if isinstance(value, str):
            return parse(value)
        problems.error(field, f"expected a reference like name or name['key'], found {found(value)}")
    except FormatError as error:
        problems.error(field, str(error))
    return None


def _list(value: Any, field: str, of: str, problems: Problems) -> list[Any]:
    if isinstance(value, list):
        return value
    problems.error(field, f"expected an array of {of}, found {found(value)}")
    return []


def _keys(value: dict[str, Any], needed: Sequence[str], allowed: Sequence[str], field: str, problems: Problems) -> None:
    for key in needed:
        if key not in value:
            problems.error(f"{field}.{key}", "missing")
    known = (*needed, *allowed)
    for key in value:
        if key not in known:
            problems.error(f"{field}.{key}", f"expected {', '.join(known)} here, found {found(key)}{meant(key, known)}")


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())
