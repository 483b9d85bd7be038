"""A model that scores the answers of several systems to one question, by four figures each.

It never decides which is best: that follows from the figures (`gpa.answers.decision`), by gates and ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from gpa.judges.answer import BadAnswer, json_object
from gpa.judges.asked import ask, first_fault, strict_object, why, within_window
from gpa.judges.model import Outcome, ReplyError, Request
from gpa.judges.model.request import Effort
from gpa.judges.plan_judge import MAX_TOKENS, plan_rubric
from gpa.judges.prompt import fenced
from gpa.judges.questions import Answering


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


_Whole = BeforeValidator(_whole)


class Answer(BaseModel):
    """How good one system's answer is. An invalid one has the lowest of everything and nothing superfluous."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    validity: Annotated[int, _Whole, Field(ge=0, le=1, strict=True)]
    consistency: Annotated[int, _Whole, Field(ge=0, le=1, strict=True)]
    completeness: Annotated[int, _Whole, Field(ge=1, le=7, strict=True)]
    redundancy: Annotated[int, _Whole, Field(ge=1, le=7, strict=True)]

    @model_validator(mode="before")
    @classmethod
    def _gated(cls, values: object) -> object:
        if isinstance(values, dict) and values.get("validity") == 0:
            return {**values, "consistency": 0, "completeness": 1, "redundancy": 7}
        return values

    @classmethod
    def of(cls, validity: int, consistency: int, completeness: int, redundancy: int) -> Self:
        """The answer with these scores, in the order they are written in."""
        return cls(validity=validity, consistency=consistency, completeness=completeness, redundancy=redundancy)

    @property
    def stands(self) -> bool:
        """Whether it is valid and consistent."""
        return self.validity == 1 and self.consistency == 1


class ScoredAnswers(NamedTuple):
    """What a model says of the answers to one question, or why it says nothing."""

    answers: dict[str, Answer] | None
    rationale: str
    failed: str
    outcomes: tuple[Outcome, ...]


class AnswerJudge:
    """Asks a model about answers. `clean` (a `Redactor`) is applied to everything that leaves the machine."""

    def __init__(
        self,
        client: Answering,
        *,
        clean: Callable[[str], str] | None = None,
        max_tokens: int = MAX_TOKENS,
        effort: Effort | None = None,
    ) -> None:
        self._client = client
        self._clean = clean
        self._max_tokens = within_window(client, max_tokens)
        self._effort: Effort | None = effort

    async def score(self, row_id: str, query: str, answers: Mapping[str, str]) -> ScoredAnswers:
        """Four figures for each of the answers, by the names of the systems."""
        names = list(answers)

        def read(text: str) -> tuple[dict[str, Answer], str]:
            return _read(text, names)

        found = await ask(self._client, self._request(row_id, query, answers), read)
        if isinstance(found.answer, ReplyError):
            return ScoredAnswers(None, "", why(found.answer), found.outcomes)
        return ScoredAnswers(*found.answer, "", found.outcomes)

    def _request(self, row_id: str, query: str, answers: Mapping[str, str]) -> Request:
        clean = self._clean or str
        shown = [f"The question:\n{fenced(clean(query), 'query')}"]
        shown += [f"The answer of {name}:\n{fenced(clean(text), 'answer')}" for name, text in answers.items()]
        names = ", ".join(answers)
        return Request(
            model=self._client.name,
            system=plan_rubric("answers"),
            tail="\n\n".join(
                (*shown, f"Answer with one JSON object: `rationale`, and `scores` with the four figures for {names}.\n")
            ),
            answer_schema=_schema(list(answers)),
            max_tokens=self._max_tokens,
            effort=self._effort,
            trace_id=row_id,
            judge="plan-answers",
        )


def _read(text: str, names: list[str]) -> tuple[dict[str, Answer], str]:
    value = json_object(text)
    scores = value.get("scores")
    if not isinstance(scores, dict):
        raise BadAnswer("scores: expected an object with one entry for each system")
    found: dict[str, Answer] = {}
    for name in names:
        try:
            found[name] = Answer.model_validate(scores.get(name))
        except ValidationError as error:
            raise BadAnswer(first_fault(error, "scores", name)) from error
    rationale = value.get("rationale")
    return found, rationale if isinstance(rationale, str) else ""


def _schema(names: list[str]) -> dict[str, Any]:
    figures = {"validity": (0, 1), "consistency": (0, 1), "completeness": (1, 7), "redundancy": (1, 7)}
    one = strict_object(
        {name: {"type": "integer", "enum": [*range(low, high + 1)]} for name, (low, high) in figures.items()}
    )
    by_name = strict_object({name: {"$ref": "#/$defs/answer"} for name in names})
    return {"$defs": {"answer": one}, **strict_object({"rationale": {"type": "string"}, "scores": by_name})}
