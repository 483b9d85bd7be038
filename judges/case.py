"""One transcript before its judges: what is shown of it, and what they said of it as findings with spans."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from gpa.ingest.segments import segments
from gpa.ingest.transcript import Transcript
from gpa.judges import scoring
from gpa.judges.answer import Answer, RawFinding
from gpa.judges.citations import Citations
from gpa.judges.prompt import Lead, fenced
from gpa.judges.verdict import GRAVITY, Finding, Verdict

FENCE_TOKENS = 60
"""Of two fence lines."""


class Found(NamedTuple):
    """Findings with the spans they are in, and what had to be mended in their citations."""

    findings: tuple[Finding, ...]
    unresolved: int
    """Cited labels that name no step and were dropped."""
    repaired: int
    """Findings that were placed by their quote."""


class Case:
    """A transcript as it is shown (redacted), in parts of so many tokens, with the findings of the checks."""

    def __init__(
        self, shown: Transcript, leads: Mapping[str, tuple[Lead, ...]], room: int, *, shared: bool = True
    ) -> None:
        self.transcript = shown
        self.leads = leads
        self.shared = shared
        """Whether more than one request of the run shows it: only then is it worth writing to the prompt cache."""
        self._room = room
        self._citations = Citations(shown)

    @property
    def prefixes(self) -> tuple[str, ...]:
        """The fenced rendering, in parts when it exceeds the room there is."""
        return self._shown[0]

    @property
    def left_out(self) -> int:
        """Characters of steps that exceed a whole part; no judge sees them."""
        return self._shown[1]

    @cached_property
    def _shown(self) -> tuple[tuple[str, ...], int]:
        cuts: list[int] = []
        parts = segments(self.transcript, self._room - FENCE_TOKENS, on_cut=lambda _label, count: cuts.append(count))
        return tuple(map(fenced, parts)), sum(cuts)

    def found(self, raw: Iterable[RawFinding]) -> Found:
        """What was reported, each set of spans and category once: two reports of it are one finding, the graver one."""
        findings: dict[object, Finding] = {}
        unresolved = repaired = 0
        for one in raw:
            where = self._citations.resolve(one.steps, one.quote)
            unresolved += where.dropped
            repaired += where.repaired
            spans = tuple(dict.fromkeys(self.transcript.step(label).span_id for label in where.labels))
            finding = Finding(
                span_ids=spans,
                quote=one.quote,
                problem=one.problem,
                category=one.category,
                severity=one.severity,
                grounded=where.grounded,
            )
            key = (frozenset(spans), one.category, "" if spans else one.quote)
            other = findings.get(key)
            findings[key] = finding if other is None else _merged(other, finding)
        return Found(tuple(findings.values()), unresolved, repaired)

    def labels(self, finding: Finding) -> list[str]:
        """The labels of a finding's spans."""
        return [self._label_of[span] for span in finding.span_ids]

    @cached_property
    def _label_of(self) -> dict[str, str]:
        return labels_by_span(self.transcript)


def leads_of(transcript: Transcript) -> dict[str, tuple[Lead, ...]]:
    """What the checks found, by dimension."""
    label_of = labels_by_span(transcript)
    return {
        result.judge: tuple(
            Lead(id=f"c{number}", labels=tuple(label_of[span] for span in finding.span_ids), finding=finding)
            for number, finding in enumerate(result.findings, 1)
        )
        for result in scoring.judge(transcript)
        if isinstance(result, Verdict)
    }


def labels_by_span(transcript: Transcript) -> dict[str, str]:
    """The label of the step that each span belongs to."""
    return {span_id: step.label for step in transcript.steps for span_id in step.span_ids}


def decided(leads: Sequence[Lead], answers: Sequence[Answer]) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """Findings of the checks that were confirmed (in any part of the run), and the others, with the reason.

    One the judge is silent about is not confirmed. Decisions about ids that were not given are passed over.
    """
    confirmed: list[Finding] = []
    others: list[Finding] = []
    for lead in leads:
        said = [decision for answer in answers for decision in answer.leads if decision.id == lead.id]
        if any(decision.decision == "confirm" for decision in said):
            confirmed.append(lead.finding)
        else:
            why = f"rejected by the judge: {said[0].reason}" if said else "the judge did not decide"
            others.append(lead.finding.model_copy(update={"problem": f"{lead.finding.problem} [{why}]"}))
    return tuple(confirmed), tuple(others)


def _merged(one: Finding, other: Finding) -> Finding:
    """The graver of two findings about the same spans, with what the other says added."""
    first, second = (other, one) if GRAVITY[other.severity] > GRAVITY[one.severity] else (one, other)
    if second.problem in first.problem:
        return first
    return first.model_copy(update={"problem": f"{first.problem}; also: {second.problem}"})
