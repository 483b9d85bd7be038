"""The meta-judge: a model that reads a transcript, the gold errors of one dimension and what a judge said of it.

It decides for each error whether the judge caught it: yes or no, so that recall is a ratio of integers. What it calls
caught must be shown: by the number of a finding, or by words that stand in the report. Where a caught error was
localised is not the model's to say: a cited span is the gold span, or it is not. Its requests go through the same
client as the judges', so cache, budget, batches and request files hold for them too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from gpa.errors import UsageError
from gpa.ingest.transcript import Transcript
from gpa.judges.answer import BadAnswer, json_object
from gpa.judges.asked import ask, first_fault
from gpa.judges.citations import passage_stands
from gpa.judges.gold import Gold, GoldError
from gpa.judges.matching import Match
from gpa.judges.model import ReplyError, Request
from gpa.judges.prompt import fenced
from gpa.judges.questions import Answering
from gpa.judges.rubrics import built_in
from gpa.judges.verdict import DIMENSIONS, Verdict

COMPLAINT = "That could not be used: {wrong}. Give the whole answer again."
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
    """One request: a verdict as it is shown, and the gold errors of its dimension."""

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
                shown = _cleaned(verdict, self._clean or str)
                asked.append(Question(shown, errors, self._request(shown, errors)))
        return asked

    async def ask(self, verdicts: Iterable[Verdict], gold: Gold) -> None:
        """Put all questions at once (a `Client` limits how many are sent); what cannot be answered is in `failures`."""

        async def put(question: Question) -> None:
            asked = await ask(
                self._client,
                question.request,
                lambda text: read_decisions(text, question.errors, question.verdict),
                complaint=COMPLAINT,
            )
            answer = asked.answer
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


def read_decisions(text: str, errors: Sequence[GoldError], verdict: Verdict) -> dict[str, Decision]:
    """A decision for each of the errors, by their own ids.

    Raises:
        BadAnswer: It cannot be read, or calls an error caught by what is not in the report (the verdict as shown).
    """
    listed = json_object(text).get("errors")
    if not isinstance(listed, list):
        raise BadAnswer("there is no list `errors` in the object")
    try:
        decisions = {decision.id: decision for decision in map(Decision.model_validate, listed)}
    except ValidationError as error:
        raise BadAnswer(first_fault(error, "errors")) from error
    named = _short_ids(errors)
    if lacking := [short for short in named if short not in decisions]:
        raise BadAnswer(f"there is no decision on {', '.join(lacking)}")
    for short in named:
        _check_caught(decisions[short], verdict)
    return {error.id: decisions[short] for short, error in named.items()}


def _check_caught(decision: Decision, verdict: Verdict) -> None:
    """Raise `BadAnswer` where an error is called caught by a finding or by words that the report does not have."""
    if not decision.caught:
        return
    if decision.finding is None:
        findings = (text for finding in verdict.findings for text in (finding.problem, finding.quote))
        if not passage_stands(decision.passage, (verdict.rationale, *findings)):
            raise BadAnswer(f"{decision.id} is called caught, but its passage does not stand in the report")
    elif not 1 <= decision.finding <= len(verdict.findings):
        raise BadAnswer(
            f"{decision.id} is called caught by finding {decision.finding}, but the report has {len(verdict.findings)}"
        )


def _cleaned(verdict: Verdict, clean: Callable[[str], str]) -> Verdict:
    findings = tuple(
        finding.model_copy(update={"quote": clean(finding.quote), "problem": clean(finding.problem)})
        for finding in verdict.findings
    )
    return verdict.model_copy(update={"rationale": clean(verdict.rationale), "findings": findings})


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
                "quote": finding.quote,
                "problem": finding.problem,
            }
        ).decode()
        for number, finding in enumerate(verdict.findings, 1)
    )
    report = f"{findings or '(no findings)'}\nrationale: {verdict.rationale}"
    dimension = DIMENSIONS.get(verdict.judge, verdict.judge)
    return (
        f"The dimension is {dimension}. The errors that people found in it:\n{fenced(listed, 'annotated errors')}\n"
        f"The report of the judge:\n{fenced(report, 'report')}\n"
        'Answer with one JSON object: {"errors": [...]}, an entry for each error.'
    )


def _match(number: int, error: GoldError, decision: Decision, verdict: Verdict) -> Match:
    if decision.finding is None:
        return Match(number, None, localised=False)
    finding = decision.finding - 1
    return Match(number, finding, error.span_id in verdict.findings[finding].span_ids)


def _key(verdict: Verdict) -> Key:
    return verdict.trace_id, verdict.judge, verdict.sample, verdict.model
