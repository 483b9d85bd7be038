"""A model that examines plans: what the rules of the seven metrics cannot see, and which steps of two plans match.

One question a metric, about one plan. The tools and the plan come first and are the same for every metric, so that the
provider's prompt cache holds them once; query and reference go only to the metrics that need them. Answers are strict
JSON, asked for once more when they cannot be read. A judgement that fails is a reason, never a zero.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from gpa.judges.answer import BadAnswer
from gpa.judges.asked import ask, read_as, strict_object, why, within_window
from gpa.judges.model import Outcome, ReplyError, Request
from gpa.judges.model.request import Effort
from gpa.judges.prompt import fenced
from gpa.judges.questions import Answering
from gpa.judges.rubrics import digest
from gpa.plans.metrics import ADHERENCE, METRICS, Deduction, Judged, Metric
from gpa.plans.palette import Palette
from gpa.plans.plan import Plan
from gpa.plans.plan_text import plan_text

MAX_TOKENS = 8_000
"""Of an answer, thinking included."""
ASKED: tuple[Metric, ...] = tuple(metric for metric in METRICS if metric != "format")
"""What a model is asked unless told otherwise: of the form rules see everything."""
NEEDS_REFERENCE: frozenset[Metric] = frozenset({"tool_usage_completeness"})
WITH_REFERENCE: frozenset[Metric] = frozenset(
    {"tool_prompt_alignment", "step_executability", "query_adherence", "tool_usage_completeness"}
)
"""Metrics whose question shows the reference, where there is one; the others look at the plan alone."""

Clean = Callable[[str], str]


def _id(value: object) -> object:
    """A step's id as it is written in plans: `3` for 3, `"step 3"` and `"(3)"`."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value.strip().strip("()[]#$ ") if isinstance(value, str) else value


StepId = Annotated[str, BeforeValidator(_id)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Fault(_Part):
    """A step that a model finds at fault."""

    step: StepId
    reason: str


class Faults(_Part):
    """What a model says of a metric that counts steps."""

    explanation: str
    faults: tuple[Fault, ...]


class Adherence(Faults):
    """What it says of Query Adherence."""

    score: Annotated[float, Field(strict=True)]


class Pair(_Part):
    """Two steps that do the same."""

    plan: StepId
    reference: StepId


class Pairs(_Part):
    """What a model says of two plans."""

    explanation: str
    pairs: tuple[Pair, ...]


class Subject(NamedTuple):
    """A plan to be examined, and what is known beside it."""

    id: str
    plan: Plan
    query: str = ""
    reference: Plan | None = None


class Opinion(NamedTuple):
    """What came of asking about one plan."""

    judged: tuple[Judged, ...]
    failed: dict[Metric, str]
    """Metrics that could not be judged, and why."""
    dropped: int
    """Steps that were named and are not in the plan."""
    outcomes: tuple[Outcome, ...]
    """Every reply: `gpa.judges.spent.spent(outcomes)` adds them up."""


class Matching(NamedTuple):
    """Which steps of a plan do what a step of its reference does, or why that is not known."""

    pairs: tuple[tuple[str, str], ...] | None
    explanation: str
    failed: str
    dropped: int
    outcomes: tuple[Outcome, ...]


class PlanJudge:
    """Asks a model about plans. `clean` (a `Redactor`) is applied to everything that leaves the machine."""

    def __init__(
        self,
        client: Answering,
        palette: Palette,
        *,
        clean: Clean | None = None,
        max_tokens: int = MAX_TOKENS,
        effort: Effort | None = None,
    ) -> None:
        self._client = client
        self._palette = palette
        self._clean = clean
        self._max_tokens = within_window(client, max_tokens)
        self._effort: Effort | None = effort

    @property
    def model(self) -> str:
        """`provider/model`."""
        return self._client.name

    async def judge(self, subject: Subject, metrics: Sequence[Metric] = ASKED) -> Opinion:
        """What the model says of each of these metrics, as far as there is something to judge by."""
        answers = await asyncio.gather(*(self._metric(subject, metric) for metric in metrics))
        judged = [one.judged for one in answers if isinstance(one.judged, Judged)]
        failed = {
            metric: one.judged for metric, one in zip(metrics, answers, strict=True) if isinstance(one.judged, str)
        }
        return Opinion(
            tuple(judged),
            {metric: why for metric, why in failed.items() if why},
            sum(one.dropped for one in answers),
            tuple(outcome for one in answers for outcome in one.outcomes),
        )

    async def match(self, subject: Subject) -> Matching:
        """The pairs of steps that do the same in the plan and its reference."""
        assert subject.reference is not None
        request = self._request(subject, "one_shot", _PAIRS, with_reference=True)
        found = await ask(self._client, request, lambda text: read_as(Pairs, text))
        if isinstance(found.answer, ReplyError):
            return Matching(None, "", why(found.answer), 0, found.outcomes)
        plan, reference = _ids(subject.plan), _ids(subject.reference)
        named = [(plan.get(_key(one.plan)), reference.get(_key(one.reference))) for one in found.answer.pairs]
        kept = [(one, other) for one, other in named if one is not None and other is not None]
        return Matching(tuple(kept), found.answer.explanation, "", len(named) - len(kept), found.outcomes)

    async def _metric(self, subject: Subject, metric: Metric) -> _Answered:
        if metric in NEEDS_REFERENCE and subject.reference is None:
            return _Answered("", 0, ())  # nothing to judge by, which is no failure
        if metric == "query_adherence" and not subject.query.strip():
            return _Answered("there is no query to adhere to", 0, ())
        schema = _ADHERENCE if metric == "query_adherence" else _FAULTS
        request = self._request(subject, metric, schema, with_reference=metric in WITH_REFERENCE)
        found = await ask(self._client, request, _read_adherence if metric == "query_adherence" else _read_faults)
        if isinstance(found.answer, ReplyError):
            return _Answered(why(found.answer), 0, found.outcomes)
        ids = _ids(subject.plan)
        kept = {
            step: Deduction(step, metric, fault.reason, self.model)
            for fault in reversed(found.answer.faults)  # of two reasons for one step the first counts
            if (step := ids.get(_key(fault.step))) is not None
        }
        dropped = sum(_key(fault.step) not in ids for fault in found.answer.faults)
        return _Answered(
            Judged(
                metric,
                self.model,
                tuple(kept[step.id] for step in subject.plan if step.id in kept),
                found.answer.score if isinstance(found.answer, Adherence) else None,
                found.answer.explanation,
            ),
            dropped,
            found.outcomes,
        )

    def _request(self, subject: Subject, rubric: str, schema: dict[str, Any], *, with_reference: bool) -> Request:
        shown = [f"# The tools\n\n{self._palette.described}\n", fenced(plan_text(subject.plan, self._clean), "plan")]
        asked = []
        if rubric in {"query_adherence", "one_shot"} and subject.query.strip():
            asked.append(f"The query:\n{fenced(self._safe(subject.query), 'query')}")
        if with_reference and subject.reference is not None:
            reference = fenced(plan_text(subject.reference, self._clean), "reference")
            asked.append(f"A reference, known to be a good plan for the same query:\n{reference}")
        asked += [plan_rubric(rubric).strip(), _FORMS.get(rubric, _FORM)]
        return Request(
            model=self._client.name,
            system=plan_rubric("frame"),
            prefix="\n".join(shown),
            tail="\n\n".join(asked) + "\n",
            answer_schema=schema,
            max_tokens=self._max_tokens,
            effort=self._effort,
            trace_id=subject.id,
            judge=f"plan-{rubric}",
        )

    def _safe(self, text: str) -> str:
        return text if self._clean is None else self._clean(text)


class _Answered(NamedTuple):
    """A judgement, or why there is none; an empty reason where there is nothing to judge by."""

    judged: Judged | str
    dropped: int
    outcomes: tuple[Outcome, ...]


@cache
def plan_rubric(name: str) -> str:
    """The text of one of our questions about plans (`frame`, `redundancy`, `one_shot`, ...)."""
    return (files("gpa.judges") / "plan_rubrics" / f"{name}.md").read_text(encoding="utf-8")


def rubric_hash(metrics: Sequence[Metric] = ASKED) -> str:
    """16 hex digits over what is asked about these metrics, whatever the plan."""
    return digest(plan_rubric("frame"), *(f"{plan_rubric(one)}{_FORMS.get(one, _FORM)}" for one in metrics))


_FORM = """\
# Your answer

Go through every step of the plan, then give one JSON object:
- `explanation`: how you come to it, in a few sentences, naming steps by their numbers.
- `faults`: each step at fault once, with `step` (its number, as a text) and `reason` (one sentence). Empty when no \
step is."""
_FORMS: Mapping[str, str] = {
    "query_adherence": f"{_FORM}\n- `score`: 0, 0.5 or 1.",
    "one_shot": """\
# Your answer

Go through every step of the plan and of the reference, then give one JSON object:
- `explanation`: how you come to it, in a few sentences.
- `pairs`: each with `plan` and `reference`, the numbers of two steps that do the same, as texts. Empty when there are \
none.""",
}


def _texts(*names: str) -> dict[str, Any]:
    return {"type": "array", "items": strict_object({name: {"type": "string"} for name in names})}


_FAULTS = strict_object({"explanation": {"type": "string"}, "faults": _texts("step", "reason")})
_ADHERENCE = strict_object({**_FAULTS["properties"], "score": {"type": "number", "enum": list(ADHERENCE)}})
_PAIRS = strict_object({"explanation": {"type": "string"}, "pairs": _texts("plan", "reference")})


def _read_faults(text: str) -> Faults:
    return read_as(Faults, text)


def _read_adherence(text: str) -> Adherence:
    answer = read_as(Adherence, text)
    if answer.score not in ADHERENCE:
        raise BadAnswer(f"score: expected 0, 0.5 or 1, found {answer.score:g}")
    return answer


def _ids(plan: Plan) -> dict[str, str]:
    return {_key(step.id): step.id for step in plan}


def _key(step_id: str) -> str:
    return step_id.lower().removeprefix("step").lstrip("_- ")
