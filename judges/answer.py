"""A model's reply, read: the fields it filled in, or what is wrong with it, in a sentence it can be told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator

from gpa.judges.verdict import CATEGORIES, Severity

_BY_LETTERS = {"".join(filter(str.isalpha, name.lower())): name for name in CATEGORIES}


class BadAnswer(Exception):  # noqa: N818 - a reply, not a fault of the program
    """The reply is not what was asked for; the message is meant for the model."""


def _storable(value: object) -> object:
    """Without NUL, which PostgreSQL does not keep."""
    return value.replace("\x00", "") if isinstance(value, str) else value


def _upper(value: object) -> object:
    return value.strip().upper() if isinstance(value, str) else value


def _whole(value: object) -> object:
    """2.0 as 2: providers without structured output may write it so."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _listed(value: object) -> object:
    """Labels as texts in a list, also when a reply gives one alone or a bare number."""
    some = value if isinstance(value, list | tuple) else [value]
    return [str(one) if isinstance(one, int) and not isinstance(one, bool) else one for one in some]


Text = Annotated[str, BeforeValidator(_storable)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class RawFinding(_Part):
    """A finding as a model reports it: labels, not ids."""

    quote: Text
    problem: Text
    category: str
    severity: Annotated[Severity, BeforeValidator(_upper)]
    steps: Annotated[tuple[Text, ...], BeforeValidator(_listed)] = ()

    @field_validator("category")
    @classmethod
    def _known(cls, text: str) -> str:
        """The category as it is spelled; other case, blanks and signs are forgiven: some providers know no schema."""
        name = _BY_LETTERS.get("".join(filter(str.isalpha, text.lower())))
        if name is None:
            raise ValueError(f"expected one of the named categories, found {text[:80]!r}")
        return name


class LeadDecision(_Part):
    """What a judge makes of a finding of the checks."""

    id: str
    decision: Literal["confirm", "reject"]
    reason: Text = ""


class Answer(_Part):
    """What a judge says of one dimension."""

    findings: tuple[RawFinding, ...]
    leads: tuple[LeadDecision, ...] = ()
    rationale: Text
    not_applicable: Text | None = None
    score: Annotated[int, BeforeValidator(_whole), Field(ge=0, le=3, strict=True)] | None = None


def read_answer(text: str) -> Answer:
    """The answer in a reply's text. Text around the object (a fence, a sentence before it) is passed over.

    Raises:
        BadAnswer: It cannot be read; the message says why.
    """
    return _answer(json_object(text))


def read_answers(text: str, codes: Sequence[str]) -> dict[str, Answer | BadAnswer]:
    """By code the answer in a reply that holds one for each, or what is wrong with it."""
    read: dict[str, Answer | BadAnswer] = {}
    try:
        value = json_object(text)
    except BadAnswer as error:
        return dict.fromkeys(codes, error)
    for code in codes:
        try:
            read[code] = _answer(value.get(code))
        except BadAnswer as error:
            read[code] = error
    return read


def _answer(value: Any) -> Answer:
    if not isinstance(value, dict):
        raise BadAnswer("there is no object for it")
    try:
        answer = Answer.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise BadAnswer(f"{where or 'the object'}: {first['msg']}") from error
    if answer.score is None and not (answer.not_applicable or "").strip():
        raise BadAnswer("score is null although not_applicable gives no reason")
    if answer.score is None and (answer.findings or any(lead.decision == "confirm" for lead in answer.leads)):
        raise BadAnswer("not_applicable contradicts the findings: give a score, or no findings and confirm none")
    return answer


def json_object(text: str) -> dict[str, Any]:
    """The one JSON object in a reply; text around it (a fence, a sentence before it) is passed over.

    Raises:
        BadAnswer: There is none, or it is not valid.
    """
    start, stop = text.find("{"), text.rfind("}")
    if start < 0 or stop < start:
        raise BadAnswer("there is no JSON object in it")
    try:
        value = orjson.loads(text[start : stop + 1])
    except orjson.JSONDecodeError as error:
        raise BadAnswer(f"it is no valid JSON: {error}") from error
    assert isinstance(value, dict)  # it begins with a brace
    return value
