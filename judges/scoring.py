"""The checks as a judge: what they found in a transcript, as one result a dimension.

A finding stands under every dimension its check concerns, once for each set of spans and category: what several checks
say alike of the same spans is one finding, with the graver one's severity. Muted findings (see `suppressions`) stay in
the verdict and count for nothing.

Score of a dimension, from the findings under it (LOW 0, MEDIUM 1, HIGH 2 points): 3 without a finding, 2 with LOW
ones only, 1 from one point on, 0 from four points on. A dimension that no check looks at is not applicable rather
than faultless, and so is one that has nothing to judge; a check that breaks makes its own dimensions failures.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import blake2b
from typing import NamedTuple

from gpa.ingest.tool_calls import tool_calls
from gpa.ingest.transcript import Step, Transcript
from gpa.judges.checks import CHECKS
from gpa.judges.checks.check import Check, Hit
from gpa.judges.checks.suppressions import Suppression, inline, muted
from gpa.judges.verdict import DIMENSIONS, AnyResult, Failure, Finding, NotApplicable, Severity, Verdict

MODEL = "checks"
"""What results of the checks have in place of a model's name."""

_VERSION = 2
"""Of the rules of this module; part of the rubric hash."""
_POINTS: dict[Severity, int] = {"LOW": 0, "MEDIUM": 1, "HIGH": 2}
_ZERO_FROM = 4
_QUOTE_MAX = 400
_PROBLEM_MAX = 1_200

NO_CONTENT = (
    "the producer exported no message content; switch it on"
    " (OpenTelemetry: OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true;"
    " OpenLLMetry: TRACELOOP_TRACE_CONTENT=true;"
    " OpenInference: OPENINFERENCE_HIDE_INPUTS and OPENINFERENCE_HIDE_OUTPUTS unset)"
)


class _Broken(NamedTuple):
    check: Check
    error: Exception


@cache
def rubric_hash(dimension: str, checks: tuple[Check, ...] = CHECKS, suppressions: tuple[Suppression, ...] = ()) -> str:
    """A hash over the names and versions of the checks of a dimension, what is muted, and the rules of scoring."""
    names = sorted(f"{check.name}@{check.version}" for check in checks if dimension in check.dimensions)
    said = [str(_VERSION), *names, *(repr(tuple(suppression)) for suppression in suppressions)]
    return blake2b("\n".join(said).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def judge(
    transcript: Transcript,
    dimensions: Iterable[str] = tuple(DIMENSIONS),
    *,
    checks: tuple[Check, ...] = CHECKS,
    suppressions: tuple[Suppression, ...] = (),
) -> tuple[AnyResult, ...]:
    """One result for each dimension asked for, in that order."""
    asked = tuple(dimensions)
    reasons = {dimension: _not_applicable(transcript, dimension, checks) for dimension in asked}
    hits: dict[str, list[tuple[Check, Hit]]] = defaultdict(list)
    broken: dict[str, _Broken] = {}
    for check in checks:
        concerned: list[str] = [dimension for dimension in check.dimensions if reasons.get(dimension) == ""]
        if not concerned:
            continue
        try:
            found = list(check.find(transcript))
        except Exception as error:  # noqa: BLE001 - a bug in one check must not cost the other dimensions
            broken.update({name: _Broken(check, error) for name in concerned if name not in broken})
            continue
        for name in concerned:
            hits[name].extend((check, hit) for hit in found)
    return tuple(
        _result(
            transcript, dimension, reasons[dimension] or broken.get(dimension) or hits[dimension], checks, suppressions
        )
        for dimension in asked
    )


def _result(
    transcript: Transcript,
    dimension: str,
    outcome: str | _Broken | list[tuple[Check, Hit]],
    checks: tuple[Check, ...],
    suppressions: tuple[Suppression, ...],
) -> AnyResult:
    """The outcome as a result: a reason is not applicable, a broken check a failure, hits (or none) a verdict."""
    trace_id, digest = transcript.trace_id, rubric_hash(dimension, checks, suppressions)
    if isinstance(outcome, str):
        return NotApplicable(trace_id=trace_id, judge=dimension, model=MODEL, reason=outcome, rubric_hash=digest)
    if isinstance(outcome, _Broken):
        return Failure(
            trace_id=trace_id,
            judge=dimension,
            model=MODEL,
            error_type=type(outcome.error).__name__,
            message=_clean(f"check {outcome.check.name}: {outcome.error}", _PROBLEM_MAX),
            rubric_hash=digest,
        )
    found, unresolved = _findings(transcript, outcome)
    findings, suppressed = _without_muted(found, trace_id, (*suppressions, *inline(transcript)))
    return Verdict(
        trace_id=trace_id,
        judge=dimension,
        model=MODEL,
        score=score_of(findings),
        rationale=_rationale(dimension, findings, checks, len(suppressed)),
        findings=findings,
        rubric_hash=digest,
        unresolved=unresolved,
        suppressed=suppressed,
    )


def _without_muted(
    found: Iterable[Finding], trace_id: str, suppressions: Sequence[Suppression]
) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """The findings that count, and those that people have muted, which say why."""
    counted: list[Finding] = []
    suppressed: list[Finding] = []
    for finding in found:
        silent = muted(finding, trace_id, suppressions)
        if silent is None:
            counted.append(finding)
        else:
            suppressed.append(silent)
    return tuple(counted), tuple(suppressed)


def _not_applicable(transcript: Transcript, dimension: str, checks: Sequence[Check]) -> str:
    """Why there is nothing to judge in this dimension, or an empty text."""
    kinds = {step.kind for step in transcript.steps}
    if kinds <= {"other"}:
        return "no model, tool or agent call in the trace"
    telling = {"llm", "tool"} if kinds & {"llm", "tool"} else kinds
    if not any(_has_content(step) for step in transcript.steps if step.kind in telling):
        return next((warning for warning in transcript.warnings if "carries its content" in warning), NO_CONTENT)
    if dimension in {"PQ", "PA"} and not transcript.plans:
        return "no plan in the trace"
    if dimension in {"TS", "TC"} and not (any(agent.tools for agent in transcript.agents) or tool_calls(transcript)):
        return "no tools and no tool calls in the trace"
    if not any(dimension in check.dimensions for check in checks):
        if any(dimension in check.dimensions for check in CHECKS):
            return f"none of the checks that judge {DIMENSIONS[dimension]} was selected"
        return f"no check that runs can judge {DIMENSIONS[dimension]}; it needs an LLM judge"
    return ""


def _has_content(step: Step) -> bool:
    """Whether anything is said here: producers that hide content may still name roles and tools."""
    return bool(step.error) or any(m.text or m.arguments is not None for m in (*step.messages, *step.output))


def score_of(findings: Sequence[Finding]) -> int:
    """The score of a dimension from the findings under it."""
    points = sum(_POINTS[finding.severity] for finding in findings)
    if points:
        return 0 if points >= _ZERO_FROM else 1
    return 2 if findings else 3


def _findings(transcript: Transcript, hits: list[tuple[Check, Hit]]) -> tuple[tuple[Finding, ...], int]:
    """Hits as findings, one for each set of spans and category: checks that see the same there say it together."""
    found: dict[object, Finding] = {}
    unresolved = 0
    for number, (check, hit) in enumerate(hits):
        spans = tuple(dict.fromkeys(span for label in hit.labels if (span := transcript.span_id(label))))
        unresolved += sum(transcript.span_id(label) is None for label in hit.labels)
        finding = Finding(
            span_ids=spans,
            quote=_clean(hit.quote, _QUOTE_MAX),
            problem=_clean(hit.problem, _PROBLEM_MAX),
            category=check.category,
            severity=hit.severity,
            check=check.name,
        )
        key: object = (frozenset(spans) or number, check.category)
        other = found.get(key)
        found[key] = finding if other is None else _merged(other, finding)
    return tuple(found.values()), unresolved


def _merged(one: Finding, other: Finding) -> Finding:
    """The graver of two findings about the same spans, with what the other says added."""
    first, second = (other, one) if _POINTS[other.severity] > _POINTS[one.severity] else (one, other)
    if second.problem in first.problem:
        return first
    return first.model_copy(update={"problem": f"{first.problem}; also: {second.problem}"[:_PROBLEM_MAX]})


def _rationale(dimension: str, findings: Sequence[Finding], checks: Sequence[Check], suppressed: int) -> str:
    looked = ", ".join(check.name for check in checks if dimension in check.dimensions)
    if suppressed:
        looked = f"{looked}; {suppressed} suppressed"
    if not findings:
        return f"The checks found nothing ({looked})."
    counts: defaultdict[str, int] = defaultdict(int)
    for finding in findings:
        counts[finding.check or ""] += 1
    said = "; ".join(f"{count} x {name}" for name, count in counts.items())
    worst = next(severity for severity in ("HIGH", "MEDIUM", "LOW") if any(f.severity == severity for f in findings))
    return f"{said}; the gravest is {worst} (checks: {looked})."


def _clean(text: str, limit: int) -> str:
    """The first characters of a text, without halves of surrogate pairs, which no file can hold."""
    return text[:limit].encode("utf-8", "replace").decode("utf-8")
