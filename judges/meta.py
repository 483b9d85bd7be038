"""The meta-judge: a model that reads a transcript, the gold errors of one dimension and what a judge said of it.

It decides for each error whether the judge caught it: yes or no, so that recall is a ratio of integers. Where a caught
error was localised is not the model's to say: a cited span is the gold span, or it is not. Its requests go through the
same client as the judges', so cache, budget, batches and request files hold for them too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from gpa.errors import UsageError
from gpa.ingest.transcript import Transcript
from gpa.judges.gold import Gold, GoldError
from gpa.judges.matching import Match
from gpa.judges.model import Reply, ReplyError, Request
from gpa.judges.prompt import fenced
from gpa.judges.questions import Answering
from gpa.judges.rubrics import built_in
from gpa.judges.verdict import DIMENSIONS, Verdict

MAX_TOKENS = 8_000
"""Of an answer, thinking included."""
SLACK = 1.3
"""The estimate of a transcript's tokens may be too low by this."""


class Decision(BaseModel):
    """What the meta-judge says of one gold error."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    passage: str
    finding: int | None
    caught: Literal[0, 1]
    look_for: str


class Question(NamedTuple):
    """One request: a verdict and the gold errors of its dimension."""

    verdict: Verdict
    errors: tuple[GoldError, ...]
    request: Request


Key = tuple[str, str, int, str]
"""Trace, judge, sample and model of a verdict."""


class MetaJudge:
    """Matches verdicts to gold errors with a model; `ask` first, then use it as a matcher.

    `clean` (a `Redactor`) is applied to everything that leaves the machine, field by field.
    """

    name = "llm"
    own_dimension_only = True

    def __init__(
        self,
        client: Answering,
        transcripts: Iterable[Transcript],
        *,
        rubric: str | None = None,
        clean: Callable[[str], str] | None = None,
    ) -> None:
        self._client = client
        self._transcripts = {transcript.trace_id: transcript for transcript in transcripts}
        self._rubric = built_in("meta") if rubric is None else rubric
        self._clean = clean
        self._prefixes: dict[str, str] = {}
        self._decisions: dict[Key, dict[str, Decision]] = {}
        self.failures: dict[Key, ReplyError] = {}
        """Verdicts that could not be compared, and why."""

    def questions(self, verdicts: Iterable[Verdict], gold: Gold) -> list[Question]:
        """One question for each verdict whose dimension has gold errors in its trace.

        Raises `UsageError` when a transcript that is needed is not there.
        """
        asked = []
        for verdict in verdicts:
            errors = own_errors(gold.by_trace.get(verdict.trace_id, ()), verdict)
            if errors:
                asked.append(Question(verdict, errors, self._request(verdict, errors)))
        return asked

    async def ask(self, verdicts: Iterable[Verdict], gold: Gold) -> None:
        """Put all questions at once (a `Client` limits how many are sent); what cannot be answered is in `failures`."""

        async def put(question: Question) -> None:
            answer = await self._answer(question)
            key = _key(question.verdict)
            if isinstance(answer, ReplyError):
                self.failures[key] = answer
            else:
                self._decisions[key] = answer

        await asyncio.gather(*(put(question) for question in self.questions(verdicts, gold)))

    def decisions(self, verdict: Verdict) -> Mapping[str, Decision]:
        """What was said of each gold error, by the error's id; empty when nothing was asked or answered."""
        return self._decisions.get(_key(verdict), {})

    def match(self, errors: Sequence[GoldError], verdict: Verdict) -> list[Match] | None:
        """The caught errors of the judge's dimension; None when the question failed or was never put."""
        if not own_errors(errors, verdict):
            return []
        decided = self._decisions.get(_key(verdict))
        if decided is None:
            return None
        return [
            _match(number, error, decided[error.id], verdict)
            for number, error in enumerate(errors)
            if error.id in decided and decided[error.id].caught
        ]

    async def _answer(self, question: Question) -> dict[str, Decision] | ReplyError:
        """The decisions by error id; an answer that cannot be read is asked for once more."""
        outcome = await self._client.complete(question.request)
        if isinstance(outcome, ReplyError):
            return outcome
        read = read_decisions(outcome.text, question.errors)
        if isinstance(read, dict):
            return read
        # Made anew: what the client has computed of a request (its key) stays on it and is no field to copy.
        unasked = self._request(question.verdict, question.errors)
        again = unasked.again(outcome.text, f"That could not be used: {read}. Give the whole answer again.")
        second = await self._client.complete(again)
        if isinstance(second, Reply):
            read = read_decisions(second.text, question.errors)
            if isinstance(read, dict):
                return read
        for request in (question.request, again):
            self._client.forget(request)
        return ReplyError(error_type="bad_response", message=f"the answer could not be read: {read}")

    def _request(self, verdict: Verdict, errors: Sequence[GoldError]) -> Request:
        transcript = self._transcripts.get(verdict.trace_id)
        if transcript is None:
            raise UsageError(
                f"the meta-judge needs the transcript of trace {verdict.trace_id}: give the traces (--traces PATH),"
                " or an evaluation kept in a store"
            )
        return Request(
            model=self._client.name,
            system=self._rubric,
            prefix=self._prefix(transcript),
            tail=_tail(transcript, verdict, errors, self._clean or str),
            answer_schema=SCHEMA,
            max_tokens=MAX_TOKENS,
            trace_id=verdict.trace_id,
            judge=f"{verdict.judge}-meta",
            sample=verdict.sample,
        )

    def _prefix(self, transcript: Transcript) -> str:
        """The fenced transcript, long texts in it cut when it would not fit the window."""
        prefix = self._prefixes.get(transcript.trace_id)
        if prefix is None:
            room = self._client.context_window - 2 * MAX_TOKENS
            if self._clean is not None:
                from gpa.judges.redact import redacted

                transcript = redacted(transcript, self._clean)
            text = transcript.render()
            probe = Request(model=self._client.name, prefix=text, tail="?").prefix_tokens * SLACK
            if probe > room:
                # `render` counts four characters a token, the probe counts this text: keep the ratio.
                text = transcript.render(max(1_000, int(len(text) / 4 * room / probe)))
            prefix = self._prefixes[transcript.trace_id] = fenced(text)
        return prefix


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "id": {"type": "string"},
                    "passage": {"type": "string"},
                    "finding": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                    "caught": {"type": "integer", "enum": [0, 1]},
                    "look_for": {"type": "string"},
                },
                "required": ["id", "passage", "finding", "caught", "look_for"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["errors"],
    "additionalProperties": False,
}
"""JSON Schema of the answer: the passage is looked for before it is decided."""


def own_errors(errors: Sequence[GoldError], verdict: Verdict) -> tuple[GoldError, ...]:
    """The gold errors of the verdict's dimension."""
    return tuple(error for error in errors if verdict.judge in error.dimensions)


def read_decisions(text: str, errors: Sequence[GoldError]) -> dict[str, Decision] | str:
    """A decision for each of the errors, by their own ids; or what is wrong with the answer."""
    start, stop = text.find("{"), text.rfind("}")
    try:
        value = orjson.loads(text[start : stop + 1]) if 0 <= start < stop else None
        listed = value.get("errors") if isinstance(value, dict) else None
        if not isinstance(listed, list):
            return "there is no JSON object with a list `errors` in it"
        decisions = {decision.id: decision for decision in map(Decision.model_validate, listed)}
    except orjson.JSONDecodeError as error:
        return f"it is no valid JSON: {error}"
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        return f"errors.{'.'.join(map(str, first['loc']))}: {first['msg']}"
    lacking = [short for short in _short_ids(errors) if short not in decisions]
    if lacking:
        return f"there is no decision on {', '.join(lacking)}"
    return {error.id: decisions[short] for short, error in _short_ids(errors).items()}


def _short_ids(errors: Sequence[GoldError]) -> dict[str, GoldError]:
    return {f"e{number}": error for number, error in enumerate(errors, 1)}


def _tail(transcript: Transcript, verdict: Verdict, errors: Sequence[GoldError], clean: Callable[[str], str]) -> str:
    label_of = {span_id: step.label for step in transcript.steps for span_id in step.span_ids}
    listed = "\n".join(
        orjson.dumps(
            {
                "id": short,
                "step": label_of.get(error.span_id),
                "category": error.category,
                "evidence": clean(error.evidence),
                "description": clean(error.description),
            }
        ).decode()
        for short, error in _short_ids(errors).items()
    )
    findings = "\n".join(
        orjson.dumps(
            {
                "finding": number,
                "steps": [label_of[span] for span in finding.span_ids if span in label_of],
                "category": finding.category,
                "quote": clean(finding.quote),
                "problem": clean(finding.problem),
            }
        ).decode()
        for number, finding in enumerate(verdict.findings, 1)
    )
    report = f"{findings or '(no findings)'}\nrationale: {clean(verdict.rationale)}"
    dimension = DIMENSIONS.get(verdict.judge, verdict.judge)
    return (
        f"The dimension is {dimension}. The errors that people found in it:\n{fenced(listed, 'annotated errors')}\n"
        f"The report of the judge:\n{fenced(report, 'report')}\n"
        'Answer with one JSON object: {"errors": [...]}, an entry for each error.'
    )


def _match(number: int, error: GoldError, decision: Decision, verdict: Verdict) -> Match:
    finding = decision.finding - 1 if decision.finding is not None else None
    if finding is None or not 0 <= finding < len(verdict.findings):
        return Match(number, None, localised=False)
    return Match(number, finding, error.span_id in verdict.findings[finding].span_ids)


def _key(verdict: Verdict) -> Key:
    return verdict.trace_id, verdict.judge, verdict.sample, verdict.model
