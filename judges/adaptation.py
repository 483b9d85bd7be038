"""A template plan fitted to requirements by a model, through the gate of `gpa.plans.coverage`.

The model answers with changes; they are made, and what the plan then covers is checked by rules. What is missing or
superfluous goes back to it, word for word as coverage says it, a bounded number of times; then the attempt has failed,
and its report says what the last plan lacked.

Reached from Python only, by agents that are built on that gate: it makes plans to be run, and no command runs any.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from gpa.judges.answer import BadAnswer, json_object
from gpa.judges.asked import ask, strict_object, within_window
from gpa.judges.extraction import Extracting
from gpa.judges.model import Outcome, ReplyError, Request
from gpa.judges.plan_judge import plan_rubric
from gpa.judges.prompt import fenced
from gpa.judges.questions import Answering
from gpa.plans.coverage import Coverage
from gpa.plans.plan import Plan
from gpa.plans.plan_changes import OPS, ChangeError, PlanChange, changed, read_changes
from gpa.plans.requirement_files import Asked, Broken
from gpa.plans.review import Rules, covered_by

JUDGE = "plan-adaptation"
"""Under which name requests of this kind go."""
TURNED_DOWN = "That plan does not do: {wrong}. Give all changes again, as one JSON object in the form asked for."


class Attempt(NamedTuple):
    """One answer: why its plan did not do, empty when it did, and what the plan covers where there is one."""

    payload: tuple[str, ...]
    coverage: Coverage | None


class Adapted(NamedTuple):
    """What came of it."""

    plan: Plan | Broken
    changes: tuple[PlanChange, ...]
    attempts: tuple[Attempt, ...]
    """In order; the last one's coverage is that of the plan."""
    outcomes: tuple[Outcome, ...]


class Start(NamedTuple):
    """What a plan is made from."""

    template: Plan
    tools: Sequence[str]
    """The tools that may be used: `gpa.plans.offering`."""


async def adapt(
    client: Answering,
    asked: Asked,
    start: Start,
    rules: Rules,
    settings: Extracting | None = None,
    *,
    clean: Callable[[str], str] | None = None,
) -> Adapted:
    """The template, changed by the model until it covers what was asked for, with the tools that may be used."""
    settings = settings or Extracting()
    attempts: list[Attempt] = []
    made: list[PlanChange] = []

    def read(text: str) -> Plan:
        try:
            changes = read_changes(json_object(text))
            plan = changed(
                start.template,
                changes,
                tools=start.tools,
                registry=rules.registry,
                requirements=asked.requirements.ids(cover_metrics=rules.cover_metrics),
            )
        except ChangeError as error:
            attempts.append(Attempt(error.lines, None))
            raise BadAnswer("; ".join(error.lines)) from error
        found = covered_by(plan, asked, rules)
        attempts.append(Attempt(found.payload, found))
        if not found.ok:
            raise BadAnswer("; ".join(found.payload))
        made[:] = changes
        return plan

    request = Request(
        model=client.name,
        system=plan_rubric("adaptation"),
        tail=_question(asked, start, rules, clean or (lambda text: text)),
        answer_schema=_schema(start.tools, asked.requirements.ids(cover_metrics=rules.cover_metrics)),
        max_tokens=within_window(client, settings.max_tokens),
        effort=settings.effort,
        trace_id="plan",
        judge=JUDGE,
    )
    came = await ask(client, request, read, retries=settings.retries, complaint=TURNED_DOWN)
    failed = isinstance(came.answer, ReplyError)
    plan = Broken(came.answer.message, came.answer.error_type) if isinstance(came.answer, ReplyError) else came.answer
    return Adapted(plan, () if failed else tuple(made), tuple(attempts), came.outcomes)


def _question(asked: Asked, start: Start, rules: Rules, safe: Callable[[str], str]) -> str:
    offered = [tool for name in start.tools if (tool := rules.registry.get(name)) is not None]
    listed = "\n".join(f"- {one.name}({', '.join((*one.inputs, *one.params))}): {one.description}" for one in offered)
    wanted = {
        "requirements": asked.requirements.ids(cover_metrics=rules.cover_metrics),
        **msgspec.to_builtins(asked.requirements),
    }
    parts = [f"The tools:\n{listed}\n"]
    if asked.columns:
        columns = "\n".join(f"- {column.name}: {column.type}" for column in asked.columns)
        parts.append(f"The columns of the data:\n{fenced(safe(columns), 'columns')}")
    if asked.question:
        parts.append(f"The question:\n{fenced(safe(asked.question), 'question')}")
    parts.append(f"What is asked for:\n{fenced(safe(_json(wanted)), 'requirements')}")
    shown = [
        {"step": step.id, "tool": step.tool, "params": step.arguments, "satisfies": step.satisfies}
        for step in start.template
    ]
    parts.append(f"The template:\n{fenced(safe(_json(shown)), 'template')}")
    return "\n".join((*parts, _FORM))


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


_FORM = """\
Give one JSON object with `changes`, a list in the order they are to be made. Each has `op` (add, remove, modify), \
`step`, `tool`, `params` (an object of parameters, as JSON in a text), `satisfies`, `rationale` (one sentence) and \
`after`; what does not apply is empty ("{}" for `params`).
"""


def _schema(tools: Sequence[str], requirements: Sequence[str]) -> dict[str, Any]:
    """Parameters are JSON in a text: providers allow a schema only a few properties that may be left out."""
    fields: dict[str, Any] = {
        "op": {"type": "string", "enum": list(OPS)},
        "step": {"type": "string"},
        "tool": {"type": "string", "enum": ["", *tools]},
        "params": {"type": "string"},
        "satisfies": {"type": "array", "items": {"type": "string", "enum": list(requirements)}},
        "rationale": {"type": "string"},
        "after": {"type": "string"},
    }
    return strict_object({"changes": {"type": "array", "items": strict_object(fields)}})
