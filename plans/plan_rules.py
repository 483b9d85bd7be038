"""What rules see of a plan's faults, without a model: placeholders, dependencies, phrases, steps nothing needs.

Each rule gives the deductions of one metric, every one located at a step. Source: tool-aware planning, sections C3, g
and h.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from rapidfuzz import fuzz

from gpa.plans.metrics import Deduction, Metric
from gpa.plans.palette import Palette, PaletteTool, phrases_in
from gpa.plans.placeholders import Placeholder, malformed, placeholders
from gpa.plans.plan import Plan, PlanStep
from gpa.plans.tolerant import Reason

SAME_PROMPT = 90.0
"""How alike (0 to 100) two prompts must be to be the same one."""
_BROKEN: Mapping[Reason, str] = {
    "bracket_mismatch": "brackets are not balanced",
    "mismatched_quotes": "quotes are not balanced",
    "cut_off": "the text ends inside the plan",
}
"""Liberties taken to read a plan that cost points; unquoted keys, bare calls and a comma too many are customary."""


def _alignment(plan: Plan, palette: Palette, _reference: Plan | None) -> Iterator[Deduction]:
    """Prompts that ask a tool for what it cannot do, as far as its limits name the words; tools that do not exist."""
    for step in plan:
        tool = palette.get(step.tool)
        if tool is None:
            if step.tool:
                yield Deduction(step.id, "tool_prompt_alignment", f"there is no tool {step.tool}")
            continue
        for limit in tool.limits:
            if asked := phrases_in(step.prompt, limit.phrases):
                yield Deduction(step.id, "tool_prompt_alignment", f"{tool.name} {limit.why} ({asked[0]!r})")
                break


def _format(plan: Plan, palette: Palette, _reference: Plan | None) -> Iterator[Deduction]:
    yield from call_faults(plan)
    yield from placeholder_faults(plan, palette)


def call_faults(plan: Plan) -> Iterator[Deduction]:
    """What is wrong with how the plan and its calls are written, placeholders aside."""
    for repair in plan.repairs:
        if repair.reason in _BROKEN:
            yield Deduction("", "format", f"line {repair.line}: {_BROKEN[repair.reason]}")
    for step in plan:
        if not step.tool:
            yield Deduction(step.id, "format", "calls no tool")
        if step.text and not _balanced(step.text):
            yield Deduction(step.id, "format", "the call's quotes or brackets are not balanced")


def placeholder_faults(plan: Plan, palette: Palette) -> Iterator[Deduction]:
    """Placeholders that are missing, malformed, misplaced, or name no earlier step."""
    places = {step.id: place for place, step in enumerate(plan)}
    for place, step in enumerate(plan):
        for reason in _misreferred(step, place, places, palette):
            yield Deduction(step.id, "format", reason)


def _misreferred(step: PlanStep, place: int, places: Mapping[str, int], palette: Palette) -> Iterator[str]:
    written: list[Any] = [step.instruction, step.arguments, step.text]
    for several in dict.fromkeys(malformed(written)):
        yield f"expected a placeholder for each step, as in (1) and (2), found {several}"
    tool = palette.get(step.tool)
    if tool is not None and (misplaced := _misplaced(step, tool)):
        yield misplaced
    named = set(step.placeholders)
    for needed in step.needs:
        if needed not in named and not any(_names(one, needed) for one in named):
            yield f"depends on step {needed} and has no placeholder for it"
    for one in dict.fromkeys(placeholders([step.instruction, step.arguments])):
        known = next((places[step_id] for step_id in places if _names(one.target, step_id)), None)
        # Prose numbers things in brackets: only a step before this one makes `(5)` a placeholder.
        if one.certain and (known is None or known >= place) and not _was_executed(one, places):
            yield f"the placeholder {one.written} names no earlier step"
    lowered = f"{step.instruction} {step.text}".casefold()
    if "(query)" not in lowered and (mentioned := next((one for one in palette.query if one in lowered), None)):
        yield f"mentions {mentioned!r} without (query)"


def _misplaced(step: PlanStep, tool: PaletteTool) -> str:
    """Why the placeholders stand where the tool does not look for them; empty when they do not."""
    if not step.text or not step.instruction or tool.inputs == "anywhere":
        return ""
    inside, beside = {one.target for one in placeholders(step.instruction)}, _beside(step)
    declared = {one.step for one in step.dependencies if one.basis == "declared"}
    if tool.inputs == "prompt" and (outside := sorted(beside - inside)):
        return f"{tool.name} sees only its prompt: ({outside[0]}) stands outside it"
    if tool.inputs == "argument" and (within := sorted(inside.intersection(declared) - beside)):
        return f"{tool.name} takes results as an argument: ({within[0]}) stands inside the prompt"
    return ""


def _beside(step: PlanStep) -> set[str]:
    """The steps whose placeholders stand in an argument other than the prompt."""
    others = [value for value in step.arguments.values() if value != step.instruction]
    return {one.target for one in placeholders(others)}


def _was_executed(one: Placeholder, places: Mapping[str, int]) -> bool:
    """Whether the placeholder names a step before the first one: a plan that goes on numbers its steps on."""
    first = next(iter(places), "")
    continues = first.isdecimal() and (int(first) > 1 or one.written.startswith("$"))
    return continues and one.number is not None and one.number < int(first)


def _names(target: str, step_id: str) -> bool:
    return target == step_id or target.lower().removeprefix("step").lstrip("_- ") == step_id.lower()


def _balanced(call: str) -> bool:
    """Whether every bracket and quote of a call in code is closed again; an apostrophe inside a text closes nothing."""
    depth, quote, text = 0, "", call.strip()
    for at, character in enumerate(text):
        if quote:
            if character == quote and text[at + 1 :].lstrip()[:1] in {"", ",", ")", "]"}:
                quote = ""
        elif character in "'\"":
            quote = character
        elif character in "([":
            depth += 1
        elif character in ")]":
            depth -= 1
            if depth < 0:
                return False
    return depth == 0 and not quote


def _executability(plan: Plan, palette: Palette, _reference: Plan | None) -> Iterator[Deduction]:
    for step in plan:
        tool = palette.get(step.tool)
        if tool is None or not tool.executable:
            continue
        if tool.one_question and (questions := step.prompt.count("?")) > 1:
            yield Deduction(step.id, "step_executability", f"asks {tool.name} {questions} questions, expected one")
        asked = phrases_in(step.prompt, tool.triggers)
        if len(asked) > tool.max_triggers:
            named = ", ".join(map(repr, asked))
            reason = f"asks {tool.name} for {len(asked)} things at once, {tool.max_triggers} at most: {named}"
            yield Deduction(step.id, "step_executability", reason)


def _dependencies(plan: Plan, _palette: Palette, _reference: Plan | None) -> Iterator[Deduction]:
    return dependency_faults(plan)


def dependency_faults(plan: Plan) -> Iterator[Deduction]:
    """Results that a step uses without saying that it depends on them.

    Where plans declare no dependencies at all and refer to results as `$1` or `{{step1}}`, the reference is the
    declaration; `(1)` belongs to the form that has `depends_on`.
    """
    declares = any(one.basis == "declared" for step in plan for one in step.dependencies)
    for step in plan:
        written = placeholders([step.instruction, step.arguments])
        in_brackets = {one.target for one in written if one.written.startswith("(")}
        for one in step.dependencies:
            if one.basis == "reference" and (declares or one.step in in_brackets):
                reason = f"uses the result of step {one.step} without depending on it"
                yield Deduction(step.id, "dependencies", reason)


def _redundancy(plan: Plan, palette: Palette, _reference: Plan | None) -> Iterator[Deduction]:
    """Steps that do not lead to the last one, and filters that a step before has applied already."""
    needs = plan.dependencies()
    reached: set[str] = set()
    waiting = [plan.steps[-1].id] if plan.steps else []
    while waiting:
        step_id = waiting.pop()
        if step_id not in reached:
            reached.add(step_id)
            waiting.extend(needs[step_id])
    for step in plan:
        if step.id not in reached:
            yield Deduction(step.id, "redundancy", "nothing that leads to the last step needs it")
        elif (tool := palette.get(step.tool)) is not None and tool.filters:
            before = next((one for one in needs[step.id] if _same_filter(step, plan.step(one), tool)), None)
            if before is not None:
                yield Deduction(step.id, "redundancy", f"filters again as step {before} does")


def _same_filter(step: PlanStep, before: PlanStep, tool: PaletteTool) -> bool:
    """Whether both filter by the very same prompt."""
    return before.tool.casefold() == tool.name.casefold() and same_prompt(step.prompt, before.prompt)


def _completeness(plan: Plan, _palette: Palette, reference: Plan | None) -> list[Deduction] | None:
    """Prompts the reference gives to two tools and the plan to one of them; None when there are no such prompts."""
    if reference is None or not (pairs := _pairs(reference)):
        return None
    found = []
    for prompt, tools in pairs:
        using = {step.tool.casefold(): step for step in plan if same_prompt(step.prompt, prompt)}
        used = [using[tool] for tool in tools if tool in using]
        if used and len(used) < len(tools):
            left_out = ", ".join(name for tool, name in tools.items() if tool not in using)
            reason = f"asks {used[0].tool} and not {left_out}: the reference asks both"
            found.append(Deduction(used[0].id, "tool_usage_completeness", reason))
    return found


def _pairs(reference: Plan) -> list[tuple[str, dict[str, str]]]:
    """Prompts that go to more than one tool, with the names of these tools by what they are compared by."""
    groups: list[tuple[str, dict[str, str]]] = []
    for step in reference:
        prompt = step.prompt
        tools = next((tools for other, tools in groups if same_prompt(prompt, other)), None)
        if tools is None:
            groups.append((prompt, {step.tool.casefold(): step.tool}))
        else:
            tools.setdefault(step.tool.casefold(), step.tool)
    return [(prompt, tools) for prompt, tools in groups if prompt and len(tools) > 1]


def same_prompt(one: str, other: str, least: float = SAME_PROMPT) -> bool:
    """Whether two prompts say the same, up to case, order of words and a word here or there."""
    return likeness(one, other) >= least


def likeness(one: str, other: str) -> float:
    """How alike two prompts are, 0 to 100; placeholders and case say nothing."""
    plain, second = _plain(one), _plain(other)
    if not plain or not second:
        return 100.0 if plain == second else 0.0
    return max(fuzz.ratio(plain, second), fuzz.token_sort_ratio(plain, second))


def _plain(text: str) -> str:
    for one in reversed(placeholders(text)):
        text = text[: one.start] + " " + text[one.start + len(one.written) :]
    return " ".join(text.casefold().split()).strip(" .,;:!?'\"")


Rule = Callable[[Plan, Palette, Plan | None], Iterable[Deduction] | None]

RULES: Mapping[Metric, Rule] = {
    "tool_prompt_alignment": _alignment,
    "format": _format,
    "step_executability": _executability,
    "dependencies": _dependencies,
    "redundancy": _redundancy,
    "tool_usage_completeness": _completeness,
}
"""What of a metric needs no model; a rule gives None where it has nothing to judge by."""
