"""A question put to a model, and put again when its answer cannot be read: for questions about no transcript.

What comes back is a value either way: what was read, or why there is nothing to read. A failed answer is never a zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from gpa.judges.answer import BadAnswer, json_object
from gpa.judges.model import Outcome, ReplyError, Request
from gpa.judges.questions import COMPLAINT, Answering

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)

_TIMES = {1: "once", 2: "twice"}


class Asked(NamedTuple, Generic[T]):
    """What came of a question."""

    answer: T | ReplyError
    outcomes: tuple[Outcome, ...]
    """Every reply, paid or not: `gpa.judges.spent.spent(outcomes)` adds them up."""


async def ask(
    client: Answering,
    request: Request,
    read: Callable[[str], T],
    *,
    retries: int = 1,
    complaint: str = COMPLAINT,
) -> Asked[T]:
    """What `read` makes of the reply's text; where it raises `BadAnswer` the model is told why and asked again.

    An answer that cannot be read after all `retries` is forgotten by the response cache, so that the next run asks
    again.
    """
    asked: list[Request] = []
    outcomes: list[Outcome] = []
    wrong = ""
    while True:
        reply = await client.complete(request)
        asked.append(request)
        outcomes.append(reply)
        if isinstance(reply, ReplyError):
            if reply.error_type == "missing" and wrong:  # a file of responses cannot be asked again
                wrong = f"{wrong}; asked again: {reply.message}"
                break
            return Asked(reply, tuple(outcomes))
        try:
            return Asked(read(reply.text), tuple(outcomes))
        except BadAnswer as error:
            wrong = str(error)
        if len(asked) > retries:
            wrong = f"{wrong} (asked {_TIMES.get(len(asked), f'{len(asked)} times')})"
            break
        request = request.again(reply.text, complaint.format(wrong=wrong))
    for one in asked:
        client.forget(one)
    return Asked(_unreadable(wrong), tuple(outcomes))


def read_as(model: type[M], text: str) -> M:
    """The one JSON object in a reply as this model.

    Raises:
        BadAnswer: It is not; the message is meant for the model that wrote it.
    """
    value = json_object(text)
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise BadAnswer(first_fault(error)) from error


def first_fault(error: ValidationError, *within: str) -> str:
    """What is wrong first with an answer, and where in it: `scores.R1.validity: Input should be ...`."""
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join((*within, *map(str, first["loc"]))) or "the object"
    return f"{where}: {first['msg']}"


def why(error: ReplyError) -> str:
    """Why there is no answer, in a line."""
    return f"{error.error_type}: {error.message}"


def within_window(client: Answering, max_tokens: int) -> int:
    """How long an answer may be: as asked, and never more than a quarter of what the model can hold."""
    return min(max_tokens, max(1, client.context_window // 4))


def strict_object(properties: dict[str, Any]) -> dict[str, Any]:
    """The JSON schema of an object that has all of these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _unreadable(wrong: str) -> ReplyError:
    return ReplyError(error_type="bad_response", message=f"the answer could not be read: {wrong}")
