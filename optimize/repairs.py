"""A model that looks at one step of a plan, and one that repairs it: what they are asked, and what is read of it.

The evaluator is shown a step, the steps it depends on and the tools; never the query, and no other step: that is how it
is made, not how it is told. The optimiser gives three parts: what it did to the step, what the others needed for it,
and the whole plan, which has to be valid. An answer that is not is asked for once more, with what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from msgspec.structs import replace
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from gpa.judges.answer import BadAnswer
from gpa.judges.asked import Asked, ask, read_as
from gpa.judges.model import Reply, ReplyError, Request
from gpa.judges.model.request import Effort
from gpa.judges.plan_judge import plan_rubric
from gpa.judges.prompt import fenced
from gpa.judges.questions import Answering
from gpa.optimize.lineage import INVALID, Evaluate, Fault, Proposal, Repair
from gpa.plans.lineage import NO_CHANGE, TAGS, Diagnosis, Remark, Tag, read_tag
from gpa.plans.palette import Palette
from gpa.plans.plan import Plan, PlanStep
from gpa.plans.plan_text import call_of, plain_plan, plan_text, step_text
from gpa.plans.validation import validate

MAX_TOKENS = 8_000
"""Of an answer, thinking included."""
SHOWN = 8
"""Problems of an invalid plan that its author is told of."""

Clean = Callable[[str], str]
T = TypeVar("T")


class StepModel:
    """A model in both parts. `clean` (a `Redactor`) is applied to everything that leaves the machine, text by text."""

    def __init__(
        self,
        client: Answering,
        palette: Palette,
        *,
        clean: Clean | None = None,
        max_tokens: int = MAX_TOKENS,
        effort: Effort | None = None,
    ) -> None:
        self._client, self._palette, self._clean = client, palette, clean
        self._max_tokens = min(max_tokens, max(1, client.context_window // 4))
        self._effort: Effort | None = effort
        self._tools = f"# The tools\n\n{palette.described}\n"

    def evaluator(self, plan_id: str) -> Evaluate:
        """Says what is wrong with a step; there is no query it could see."""

        async def evaluate(step: PlanStep, needed: tuple[PlanStep, ...]) -> Diagnosis | Fault:
            shown = [f"The step:\n{fenced(step_text(step, self._clean), 'step')}"]
            if needed:
                lines = "\n".join(step_text(one, self._clean) for one in needed)
                shown.append(f"The steps it depends on:\n{fenced(lines, 'dependencies')}")
            else:
                shown.append("It depends on no other step.\n")
            shown.append(f'Answer with one JSON object: {{"remarks": [...]}}, about step {step.id} alone.')
            request = self._request("step", self._tools, "\n".join(shown), _REMARKS, plan_id)
            return _answer(await ask(self._client, request, read_diagnosis))

        return evaluate

    def optimiser(self, plan_id: str, query: str) -> Repair:
        """Makes a new plan for the query out of one with a fault."""
        safe = query if self._clean is None else self._clean(query)
        prefix = f"{self._tools}\nThe query:\n{fenced(safe, 'query')}"

        async def repair(plan: Plan, step: PlanStep, diagnosis: Diagnosis) -> Proposal | Fault:
            found = "\n".join(f"- {remark.tag}: {self._safe(remark.reason)}" for remark in diagnosis.remarks)
            shown = [
                f"The plan:\n{fenced(plan_text(plan, self._clean), 'plan')}",
                f"The step to repair: {step.id}\n",
                f"What was found wrong with it:\n{fenced(found, 'remarks')}",
                'Answer with one JSON object: {"change0": ..., "change1": ..., "plan": [...]}.',
            ]
            request = self._request("repair", prefix, "\n".join(shown), _REWRITE, plan_id)
            read = _answer(await ask(self._client, request, lambda text: read_proposal(text, plan, self._palette)))
            return read if isinstance(read, Fault) else read._replace(plan=restored(read.plan, plan, self._clean))

        return repair

    def _request(self, rubric: str, prefix: str, tail: str, schema: dict[str, Any], plan_id: str) -> Request:
        return Request(
            model=self._client.name,
            system=plan_rubric(rubric),
            prefix=prefix,
            tail=f"{tail}\n",
            answer_schema=schema,
            max_tokens=self._max_tokens,
            effort=self._effort,
            trace_id=plan_id,
            judge=f"plan-{rubric}",
        )

    def _safe(self, text: str) -> str:
        return text if self._clean is None else self._clean(text)


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _Remark(_Part):
    reason: str
    tag: str


class _Remarks(_Part):
    remarks: Annotated[tuple[_Remark, ...], Field(min_length=1)]


def _as_text(value: object) -> object:
    """An id as it is written in plans: providers without structured output may give 3 for "3"."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


_Id = Annotated[str, BeforeValidator(_as_text)]


class _Step(_Part):
    id: _Id
    step: str
    depends_on: tuple[_Id, ...]


def _listed(value: object) -> object:
    """The steps of a plan that is given as an object by number, as plans are shown, in a list."""
    if not isinstance(value, dict):
        return value
    return [{"id": key, **({"step": one.get("query")} | one)} if isinstance(one, dict) else one
            for key, one in value.items()]  # fmt: skip


class _Rewrite(_Part):
    change0: str
    change1: str
    plan: Annotated[tuple[_Step, ...], BeforeValidator(_listed), Field(min_length=1)]


def read_diagnosis(text: str) -> Diagnosis:
    """What an evaluator says. Raises `BadAnswer`: another tag, or NOCHANGE beside a fault."""
    remarks = []
    for number, remark in enumerate(read_as(_Remarks, text).remarks):
        tag: Tag | None = read_tag(remark.tag)
        if tag is None:
            raise BadAnswer(f"remarks.{number}.tag: expected one of {', '.join(TAGS)}, found {remark.tag[:40]!r}")
        remarks.append(Remark(remark.reason, tag))
    diagnosis = Diagnosis(tuple(remarks))
    if NO_CHANGE in diagnosis.tags and not diagnosis.is_clean:
        others = ", ".join(tag for tag in diagnosis.tags if tag != NO_CHANGE)
        raise BadAnswer(f"remarks: {NO_CHANGE} stands alone or not at all, found it beside {others}")
    return diagnosis


def read_proposal(text: str, before: Plan, palette: Palette) -> Proposal:
    """What an optimiser makes of a plan. Raises `BadAnswer` with everything that makes the new plan no valid one.

    Faults of form (a placeholder of no step) that the plan had before are not held against it: they may be another
    step's, whose turn comes.
    """
    answer = read_as(_Rewrite, text)
    found = validate([step.model_dump() for step in answer.plan])
    known = {problem.message for problem in validate(plain_plan(before)).noted}
    wrong = [str(problem) for problem in found.rejected]
    wrong += [str(problem) for problem in found.noted if problem.message not in known]
    wrong += _strange(found.plan, before, palette)
    if wrong or found.plan is None:
        more = f" (and {len(wrong) - SHOWN} more)" if len(wrong) > SHOWN else ""
        raise BadAnswer(f"the plan is not valid: {'; '.join(wrong[:SHOWN])}{more}")
    return Proposal(found.plan, answer.change0, answer.change1)


def _strange(plan: Plan | None, before: Plan, palette: Palette) -> list[str]:
    """Tools that do not exist, steps without a tool, and another way of numbering; unless the plan was so before."""
    if plan is None:
        return []
    used = {step.tool.casefold() for step in before}
    names = ", ".join(tool.name for tool in palette.tools)
    wrong = [
        f"step {step.id}: expected a call of one of {names}, found {step.tool or call_of(step)[:60]!r}"
        for step in plan
        if palette.get(step.tool) is None and step.tool.casefold() not in used
    ]
    first, old = plan.steps[0].id, before.steps[0].id
    if old.isdecimal() and first != old:
        wrong.append(f"step {first}: expected steps numbered from {old}")
    return wrong


def restored(plan: Plan, before: Plan, clean: Clean | None = None) -> Plan:
    """The plan with the steps that were only copied as they were before they were shown.

    What was redacted comes back, and so do agent, rationale and requirements, which are not shown at all.
    """
    shown = {call_of(step) if clean is None else clean(call_of(step)): step for step in reversed(before.steps)}
    return Plan(tuple(_original(step, shown.get(call_of(step))) for step in plan), plan.repairs, plan.notes)


def _original(step: PlanStep, old: PlanStep | None) -> PlanStep:
    if old is None:
        return step
    same = set(old.needs) == set(step.needs)  # then how each is known is as it was: shown, all look declared
    return replace(old, id=step.id, dependencies=old.dependencies if same else step.dependencies, place=step.place)


def _answer(asked: Asked[T]) -> T | Fault:
    """What was read, or the fault there is."""
    if not isinstance(asked.answer, ReplyError):
        return asked.answer
    unanswered = next(
        (one for one in asked.outcomes if isinstance(one, ReplyError) and one.error_type == "missing"), None
    )
    if unanswered is not None:
        return Fault("missing", "the next question has no answer yet", "waiting")
    if asked.answer.error_type == "budget":
        return Fault("budget", asked.answer.message, "budget")
    if isinstance(asked.outcomes[-1], Reply):
        return Fault(INVALID, asked.answer.message)
    return Fault(asked.answer.error_type, asked.answer.message)


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_TEXT = {"type": "string"}
_REMARKS = _object(
    {"remarks": {"type": "array", "items": _object({"reason": _TEXT, "tag": {"type": "string", "enum": list(TAGS)}})}}
)
_STEPS = {
    "type": "array",
    "items": _object({"id": _TEXT, "step": _TEXT, "depends_on": {"type": "array", "items": _TEXT}}),
}
_REWRITE = _object({"change0": _TEXT, "change1": _TEXT, "plan": _STEPS})
