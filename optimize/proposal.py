"""A better rubric asked of the reflection model, and refused when a guard finds fault with it; without DSPy.

What the model is shown of a run is redacted, shortened and fenced, and neutralised like everything a judge is shown.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from importlib.resources import files
from inspect import cleandoc
from typing import Any, NamedTuple

import orjson
from msgspec.structs import replace
from pydantic import BaseModel, ConfigDict

from gpa.ingest.render import neutral
from gpa.ingest.transcript import Transcript
from gpa.judges.answer import BadAnswer
from gpa.judges.asked import read_as
from gpa.judges.model import Outcome, ReplyError, Request
from gpa.judges.prompt import fenced
from gpa.judges.rubrics import Rubric
from gpa.judges.verdict import AnyResult, Failure, NotApplicable, Verdict
from gpa.optimize.guards import kept

MAX_TOKENS = 16_000
"""Of an answer, thinking included."""
RUN_SHARE = 0.25
"""Of the reflection model's window, for all runs it is shown together."""
MOST_RUN_TOKENS = 12_000
"""Of one run: what matters of it is in the advice."""
LEAST_RUN_TOKENS = 500
ATTEMPTS = 2
"""A text that is refused is asked for once more, with the reason."""

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"lessons": {"type": "string"}, "rubric": {"type": "string"}},
    "required": ["lessons", "rubric"],
    "additionalProperties": False,
}

_TITLE = re.compile(r"#\s+\S")


class Lesson(NamedTuple):
    """One judged run, as the reflection model is shown it."""

    run: str
    """Between fences."""
    judgement: str
    advice: str


class Proposed(NamedTuple):
    """What came of asking: a text, or None, and every text that was refused on the way, with the reason."""

    text: str | None
    refused: tuple[tuple[str, str], ...]


class _Reply(BaseModel):
    model_config = ConfigDict(extra="ignore")

    rubric: str


@cache
def instructions() -> str:
    """What the reflection model is told, whatever the rubric."""
    return (files("gpa.optimize") / "reflection.md").read_text(encoding="utf-8")


def shown(transcript: Transcript, window: int, runs: int) -> str:
    """A run (redacted already) between fences, in the space it has when so many share a window of so many tokens."""
    room = min(MOST_RUN_TOKENS, int(window * RUN_SHARE / max(1, runs)))
    nameless = replace(transcript, trace_id="(not shown)")
    return fenced(nameless.render(max(LEAST_RUN_TOKENS, room)))


def judgement(results: Sequence[AnyResult], transcript: Transcript) -> str:
    """What the judge said, its findings numbered as the advice speaks of them."""
    label_of = {span: step.label for step in transcript.steps for span in step.span_ids}
    parts: list[str] = []
    for result in results:
        sample = f" (sample {result.sample + 1})" if len(results) > 1 else ""
        if isinstance(result, Failure):
            parts.append(f"no judgement{sample}: {result.error_type}")
        elif isinstance(result, NotApplicable):
            parts.append(f"not applicable{sample}: {result.reason}")
        else:
            parts.append(f"score {result.score}{sample}: {result.rationale}")
            parts += _findings(result, label_of)
    return "\n".join(parts)


def _findings(verdict: Verdict, label_of: dict[str, str]) -> list[str]:
    return [
        orjson.dumps(
            {
                "finding": number,
                "steps": [label_of[span] for span in finding.span_ids if span in label_of],
                "category": finding.category,
                "severity": finding.severity,
                "problem": finding.problem,
                "quote": finding.quote,
            }
        ).decode()
        for number, finding in enumerate(verdict.findings, 1)
    ] or ["(no findings)"]


def question(model: str, rubric: Rubric, lessons: Sequence[Lesson], *, sample: int = 0) -> Request:
    """The request for a better rubric; `sample` tells apart equal questions that want another answer."""
    parts = ["The rubric as it is:\n" + fenced(rubric.text.strip(), "rubric")]
    if passages := kept(rubric.text):
        parts.append("These passages of it stay word for word:\n" + fenced("\n".join(passages), "passages"))
    for number, lesson in enumerate(lessons, 1):
        parts.append(
            f"# Run {number}\n\n{lesson.run}\nIts judgement:\n"
            f"{fenced(neutral(lesson.judgement), 'judgement')}\nAdvice on it:\n{fenced(lesson.advice, 'advice')}"
        )
    parts.append("Now write the rubric anew. Answer with one JSON object as described.")
    return Request(
        model=model,
        system=instructions(),
        tail="\n\n".join(parts) + "\n",
        answer_schema=SCHEMA,
        max_tokens=MAX_TOKENS,
        cache_ttl=None,
        judge=f"{rubric.code}-rubric",
        sample=sample,
    )


async def proposed(
    ask: Callable[[Request], Awaitable[Outcome]],
    request: Request,
    parent: Rubric,
    refuse: Callable[[Rubric], str | None],
) -> Proposed:
    """A new text for the rubric that nothing speaks against; asked `ATTEMPTS` times at the most."""
    refused: list[tuple[str, str]] = []
    for _ in range(ATTEMPTS):
        outcome = await ask(request)
        if isinstance(outcome, ReplyError):
            refused.append(("", f"no answer ({outcome.error_type}): {outcome.message}"))
            break
        text, fault = _read(outcome.text)
        if fault is None:
            fault = _unchanged(text, parent) or refuse(parent.model_copy(update={"text": text}))
        if fault is None:
            return Proposed(text, tuple(refused))
        refused.append((text, fault))
        request = request.again(outcome.text, f"That rubric cannot be used: {fault}. Give the whole answer again.")
    return Proposed(None, tuple(refused))


def _read(text: str) -> tuple[str, str | None]:
    """The rubric in a reply, ending in a line end, or what is wrong with the reply."""
    try:
        read = read_as(_Reply, text)
    except BadAnswer as error:
        return "", str(error)
    # As a DSPy signature will hold it and as a file will be read: what is guarded is what is used.
    rubric = cleandoc("\n".join(read.rubric.strip().splitlines()))
    if not _TITLE.match(rubric):
        return rubric, "it does not begin with the title line"
    return f"{rubric}\n", None


def _unchanged(text: str, parent: Rubric) -> str | None:
    return "it is the rubric as it was" if text.strip() == parent.text.strip() else None
