"""What a question asks for, written down by a model in the closed vocabulary of `gpa.plans.requirements`.

The answer has to obey a strict schema, and is checked again: a label outside the allowed set or an unknown field is
refused, with what is allowed, and asked for anew. What cannot be extracted is a value with its reason, never an empty
set of requirements, which every plan would cover.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import orjson
from pydantic import BaseModel, ConfigDict

from gpa.judges.answer import BadAnswer, json_object
from gpa.judges.asked import ask, within_window
from gpa.judges.model import Outcome, ReplyError, Request
from gpa.judges.model.request import Effort
from gpa.judges.plan_judge import plan_rubric
from gpa.judges.prompt import fenced
from gpa.judges.questions import Answering
from gpa.judges.rubrics import digest
from gpa.plans.capabilities import CapabilityMapping
from gpa.plans.located import found
from gpa.plans.requirement_files import Asked, Broken, Column
from gpa.plans.requirements import GRAINS, Requirements, RequirementsError, read_requirements, requirements_schema

RETRIES = 2
"""How often the question is put again when the answer is outside the vocabulary."""
MAX_TOKENS = 4_000
"""Of an answer, thinking included."""
JUDGE = "plan-requirements"
"""Under which name requests of this kind go."""


class Extracting(BaseModel):
    """How requirements are extracted."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_tokens: int = MAX_TOKENS
    effort: Effort | None = None
    retries: int = RETRIES


class Extracted(NamedTuple):
    """What came of it."""

    asked: Asked | Broken
    notes: tuple[str, ...]
    """What is odd: labels that had to be asked for anew, columns that the data does not have."""
    outcomes: tuple[Outcome, ...]
    """Every reply: `gpa.judges.spent.spent(outcomes)` adds them up."""


class Question(NamedTuple):
    """What is to be read, and about what data."""

    id: str
    """Of the trace or row: failures are known by it."""
    text: str
    columns: tuple[Column, ...] = ()


async def extract(
    client: Answering,
    question: Question,
    mapping: CapabilityMapping,
    settings: Extracting | None = None,
    *,
    clean: Callable[[str], str] | None = None,
) -> Extracted:
    """The requirements in a question; `clean` (a `Redactor`) is applied to all that leaves the machine."""
    settings = settings or Extracting()
    if not question.text.strip():
        return Extracted(Broken("there is no question to read requirements from", "no_question"), (), ())
    notes: list[str] = []

    def read(text: str) -> Requirements:
        try:
            return read_requirements(json_object(text), mapping)
        except RequirementsError as error:
            why = "; ".join(str(one) for one in error.errors)
            notes.append(f"unknown requirement, asked again: {why}")
            raise BadAnswer(why) from error

    request = _request(client, question, mapping, settings, clean)
    came = await ask(client, request, read, retries=settings.retries)
    if isinstance(came.answer, ReplyError):
        failed = Broken(came.answer.message, came.answer.error_type)
        return Extracted(failed, tuple(notes), came.outcomes)
    notes += _strangers(came.answer, question.columns)
    return Extracted(Asked(came.answer, question.columns, question.text), tuple(notes), came.outcomes)


def extraction_hash(mapping: CapabilityMapping) -> str:
    """16 hex digits over what is asked, whatever the question."""
    return digest(plan_rubric("requirements"), _form(mapping), _schema(mapping))


def _request(
    client: Answering,
    question: Question,
    mapping: CapabilityMapping,
    settings: Extracting,
    clean: Callable[[str], str] | None,
) -> Request:
    safe = clean or (lambda text: text)
    shown = []
    if question.columns:
        listed = "\n".join(f"- {safe(column.name)}: {column.type}" for column in question.columns)
        shown.append(f"The columns of the data:\n{fenced(listed, 'columns')}")
    shown.append(f"The question:\n{fenced(safe(question.text), 'question')}")
    return Request(
        model=client.name,
        system=plan_rubric("requirements"),
        tail="\n".join((*shown, _form(mapping))),
        answer_schema=requirements_schema(mapping),
        max_tokens=within_window(client, settings.max_tokens),
        effort=settings.effort,
        trace_id=question.id,
        judge=JUDGE,
    )


def _form(mapping: CapabilityMapping) -> str:
    return (
        f"Allowed in `analysis`: {', '.join(mapping.analysis)}. Allowed in `outputs`: {', '.join(mapping.outputs)}."
        f" Allowed as `grain`: {', '.join(GRAINS)}.\n\n"
        "Give one JSON object with metrics, group_by, time (column, grain), analysis, outputs, constraints, and nothing"
        " else.\n"
    )


def _schema(mapping: CapabilityMapping) -> str:
    schema: dict[str, Any] = requirements_schema(mapping)
    return orjson.dumps(schema).decode()


def _strangers(requirements: Requirements, columns: Sequence[Column]) -> list[str]:
    """Columns to group by or to follow that the data does not have; metrics may be computed, so they are not told."""
    if not columns:
        return []
    known = {column.name.casefold() for column in columns}
    named = [("group_by", one) for one in requirements.group_by]
    named += [("time", requirements.time.column)] if requirements.time.column else []
    return [f"{what}: {found(name)} is no column of the data" for what, name in named if name.casefold() not in known]
