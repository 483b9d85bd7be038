"""One judge for every rubric: ask, read the answer, resolve what it cites to spans that exist.

A judgement that fails is a value (`Failure`), never a score. An answer that cannot be read is asked for once more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from gpa.ingest.transcript import Transcript
from gpa.judges.answer import Answer, BadAnswer, read_answer, read_answers
from gpa.judges.case import Case, decided
from gpa.judges.model import Outcome, Reply, ReplyError, Request
from gpa.judges.questions import COMPLAINT, Answering, Asking, Questions
from gpa.judges.rubrics import Rubric
from gpa.judges.spent import Spent, spent
from gpa.judges.verdict import AnyResult, Failure, Finding, NotApplicable, Verdict


class _Asked(NamedTuple):
    """What came of one question: by dimension an answer or why there is none, and every reply that was paid for."""

    answers: dict[str, Answer | ReplyError]
    outcomes: tuple[Outcome, ...]


class Judge:
    """Judges transcripts by rubrics with a model, one request a dimension or one for all (`Asking.mode`).

    `clean` (a `Redactor`) is applied to everything that leaves the machine, field by field; quotes are compared with
    the cleaned text.
    """

    def __init__(
        self,
        client: Answering,
        rubrics: Mapping[str, Rubric],
        asking: Asking,
        *,
        sample: int = 0,
        clean: Callable[[str], str] | None = None,
    ) -> None:
        self._client = client
        self._questions = Questions(client, rubrics, asking, sample=sample, clean=clean)
        self.left_out: dict[str, int] = {}
        """By trace how many characters were not shown, of steps that exceed the model's window."""

    @property
    def model(self) -> str:
        """`provider/model`."""
        return self._client.name

    @property
    def sample(self) -> int:
        """Number of the repetition."""
        return self._questions.sample

    def rubric_hash(self, dimension: str) -> str:
        """16 hex digits over everything asked, whatever the transcript."""
        return self._questions.hash(dimension)

    async def judge(self, transcript: Transcript, dimensions: Sequence[str]) -> Sequence[AnyResult]:
        """One result for each of these dimensions."""
        case = self._questions.case(transcript, dimensions)
        if self._questions.single:
            return await self._judge_at_once(case, dimensions)
        results = await asyncio.gather(
            *(self._judge_one(case, dimension) for dimension in dimensions), return_exceptions=True
        )
        return [self._judged(case, *pair) for pair in zip(dimensions, results, strict=True)]

    def _judged(self, case: Case, dimension: str, result: AnyResult | BaseException) -> AnyResult:
        """The result; what was raised instead of one, as a failure, so that it does not cost the other dimensions."""
        if not isinstance(result, BaseException):
            return result
        if not isinstance(result, Exception):
            raise result
        return self._failure(case, dimension, type(result).__name__, str(result) or "no message", Spent())

    async def _judge_one(self, case: Case, dimension: str) -> AnyResult:
        requests = self._about(case, [dimension])
        parts = await asyncio.gather(*(self._ask(request, [dimension]) for request in requests))
        cost = spent(outcome for part in parts for outcome in part.outcomes)
        return await self._result(case, dimension, [part.answers[dimension] for part in parts], cost)

    async def _judge_at_once(self, case: Case, dimensions: Sequence[str]) -> Sequence[AnyResult]:
        if not dimensions:
            return []
        requests = self._about(case, dimensions)
        parts = await asyncio.gather(*(self._ask(request, dimensions, keyed=True) for request in requests))
        # What one request for all cost is shared out evenly, so that the sum over the verdicts is what was paid.
        shares = spent(outcome for part in parts for outcome in part.outcomes).shared(len(dimensions))
        results = await asyncio.gather(
            *(
                self._result(case, dimension, [part.answers[dimension] for part in parts], share)
                for dimension, share in zip(dimensions, shares, strict=True)
            ),
            return_exceptions=True,
        )
        return [self._judged(case, *pair) for pair in zip(dimensions, results, strict=True)]

    def _about(self, case: Case, dimensions: Sequence[str]) -> list[Request]:
        requests = self._questions.about(case, dimensions)
        if case.left_out:
            self.left_out[case.transcript.trace_id] = case.left_out
        return requests

    async def _ask(self, request: Request, codes: Sequence[str], *, keyed: bool = False) -> _Asked:
        """The answers for these dimensions, each under its code where `keyed`; asked twice at the most."""
        needed = request.input_tokens + request.max_tokens
        if needed > self._client.context_window:  # some servers cut what is too long without a word
            return _Asked(dict.fromkeys(codes, _too_long(needed, self._client)), ())
        first = await self._client.complete(request)
        if isinstance(first, ReplyError):
            return _Asked(dict.fromkeys(codes, first), (first,))
        good, bad = _read(first.text, codes, keyed=keyed)
        if not bad:
            return _Asked({**good}, (first,))
        again = request.again(first.text, COMPLAINT.format(wrong=_reasons(bad)))
        second = await self._client.complete(again)
        if isinstance(second, Reply):
            better, bad = _read(second.text, codes, keyed=keyed)
            good = {**good, **better}
            failed = {code: _unreadable(f"{why} (asked twice)") for code, why in bad.items() if code not in good}
        elif second.error_type == "missing":  # a file of responses cannot be asked again
            failed = {code: _unreadable(f"{why}; asked again: {second.message}") for code, why in bad.items()}
        else:
            return _Asked({**dict.fromkeys(codes, second), **good}, (first, second))
        if failed:
            for one in (request, again):
                self._client.forget(one)
        return _Asked({**failed, **good}, (first, second))

    async def _result(
        self, case: Case, dimension: str, answers: Sequence[Answer | ReplyError], cost: Spent
    ) -> AnyResult:
        read: list[Answer] = []
        for number, answer in enumerate(answers, 1):
            if isinstance(answer, ReplyError):
                part = f"part {number} of {len(answers)}: " if len(answers) > 1 else ""
                return self._failure(case, dimension, answer.error_type, part + answer.message, cost)
            read.append(answer)
        found = case.found(raw for answer in read for raw in answer.findings)
        confirmed, suppressed = decided(case.leads.get(dimension, ()), read)
        final = read[0]
        if len(read) > 1 and any(answer.score is not None for answer in read):
            asked = await self._final(case, dimension, (*found.findings, *confirmed))
            cost = cost.plus(spent(asked.outcomes))
            last = asked.answers[dimension]
            if isinstance(last, ReplyError):
                return self._failure(case, dimension, last.error_type, f"the final score: {last.message}", cost)
            final = last
            if final.score is None and (found.findings or confirmed):
                why = "the final answer says not applicable, although the parts have findings"
                return self._failure(case, dimension, "bad_response", why, cost)
        if final.score is None:
            return NotApplicable(
                trace_id=case.transcript.trace_id,
                judge=dimension,
                model=self.model,
                sample=self.sample,
                reason=final.not_applicable or "",
                rubric_hash=self.rubric_hash(dimension),
                usage=cost.usage,
                cost_usd=cost.cost_usd,
            )
        return Verdict(
            trace_id=case.transcript.trace_id,
            judge=dimension,
            model=self.model,
            sample=self.sample,
            score=final.score,
            rationale=final.rationale,
            findings=(*found.findings, *confirmed),
            rubric_hash=self.rubric_hash(dimension),
            usage=cost.usage,
            cost_usd=cost.cost_usd,
            unresolved=found.unresolved,
            repaired=found.repaired,
            suppressed=suppressed,
        )

    async def _final(self, case: Case, dimension: str, findings: Sequence[Finding]) -> _Asked:
        """One score for a run that was read in parts, given by the findings of all."""
        request = self._questions.final(case, dimension, findings)
        return await self._ask(request, [dimension])

    def _failure(self, case: Case, dimension: str, error_type: str, message: str, cost: Spent) -> Failure:
        return Failure(
            trace_id=case.transcript.trace_id,
            judge=dimension,
            model=self.model,
            sample=self.sample,
            error_type=error_type,
            message=message,
            rubric_hash=self.rubric_hash(dimension),
            usage=cost.usage,
            cost_usd=cost.cost_usd,
        )


def _read(text: str, codes: Sequence[str], *, keyed: bool) -> tuple[dict[str, Answer], dict[str, BadAnswer]]:
    """The answers in a reply, and what is wrong with the others."""
    read: dict[str, Answer | BadAnswer] = {}
    if keyed:
        read = read_answers(text, codes)
    else:
        try:
            read = {code: read_answer(text) for code in codes}
        except BadAnswer as error:
            read = dict.fromkeys(codes, error)
    good = {code: answer for code, answer in read.items() if isinstance(answer, Answer)}
    return good, {code: answer for code, answer in read.items() if isinstance(answer, BadAnswer)}


def _reasons(bad: Mapping[str, BadAnswer]) -> str:
    reasons = list(dict.fromkeys(map(str, bad.values())))
    return reasons[0] if len(reasons) == 1 else "; ".join(f"{code}: {why}" for code, why in bad.items())


def _too_long(needed: int, client: Answering) -> ReplyError:
    return ReplyError(
        error_type="context_window_exceeded",
        message=f"the question needs about {needed:,} tokens with its answer, the window of {client.name} holds"
        f" {client.context_window:,}",
    )


def _unreadable(why: str) -> ReplyError:
    return ReplyError(error_type="bad_response", message=f"the answer could not be read: {why}")
