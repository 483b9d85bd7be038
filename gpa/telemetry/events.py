"""Results -> evaluation events: on which span each stands, and its attributes. Nothing of OpenTelemetry is needed.

Source: OpenTelemetry GenAI semantic conventions, event `gen_ai.evaluation.result`: it SHOULD be parented to the GenAI
operation span being evaluated. A verdict is about the run, so it stands on the span of its first agent; a finding
stands on the span that holds the error. Names that the conventions lack begin with `gpa.`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import blake2b
from importlib.metadata import version
from typing import Literal

from gpa.ingest.plain import one_line
from gpa.ingest.transcript import Transcript
from gpa.judges.verdict import DIMENSIONS, AnyResult, Failure, Finding, NotApplicable, Verdict
from gpa.store import Kept

EVENT_NAME = "gen_ai.evaluation.result"
LABELS = {3: "pass", 2: "minor", 1: "major", 0: "fail"}
"""Score -> `gen_ai.evaluation.score.label` of a verdict; a dimension that has nothing to judge is `not_applicable`."""
NOT_APPLICABLE = "not_applicable"
MAX_BODY = 250
"""Characters of a body."""

Value = str | int | float | bool | list[str]

_TRACE_ID = re.compile(r"(?!0{32})[0-9a-f]{32}")
_SPAN_ID = re.compile(r"(?!0{16})[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Event:
    """One log record; ids are hex, empty where OTLP cannot hold them."""

    trace_id: str
    span_id: str
    time_ns: int
    severity: Literal["INFO", "WARN"]
    body: str
    """One line for a person who sees the record in a list of logs, harmless wherever that is; attributes are data."""
    attributes: dict[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class About:
    """What results do not say of themselves."""

    transcript: Transcript | None = None
    """Without it, verdicts stand on no span, only on the trace."""
    transcript_hash: str = ""
    revision: int = 0
    """How often the trace was judged before because spans came late; the highest is the one that counts."""
    session: str = ""
    time_ns: int = 0
    """When it was judged; now when 0."""
    names: dict[str, str] = field(default_factory=lambda: DIMENSIONS)
    """Titles of the dimensions by code."""


def events_of(
    results: Iterable[AnyResult], about: About | None = None, *, clean: Callable[[str], str] = str
) -> list[Event]:
    """The events of one trace: one for each result, then one for each finding, however many dimensions it stands under.

    Args:
        results: All of one trace.
        about: What they do not say.
        clean: Applied to every text that may quote the trace (a `Redactor`).
    """
    about = About() if about is None else about
    results = list(results)
    evaluated = _evaluated_span(about.transcript)
    about = replace(about, time_ns=about.time_ns or time.time_ns())
    events = [_of_result(result, about, evaluated, clean) for result in results]
    found: dict[tuple[str, int, Finding], list[Verdict]] = {}
    for result in results:
        if isinstance(result, Verdict):
            for finding in result.findings:
                found.setdefault((result.model, result.sample, finding), []).append(result)
    for (_, _, finding), verdicts in found.items():
        events.append(_of_finding(finding, verdicts, about, evaluated, clean))
    return events


def events_of_kept(
    kept: Kept,
    models: set[str] | None = None,
    *,
    names: Mapping[str, str] = DIMENSIONS,
    clean: Callable[[str], str] = str,
) -> list[Event]:
    """The events of a trace in the store; of these evaluators only when `models` are given."""
    results = [result for result in kept.results if models is None or result.model in models]
    about = About(
        transcript=kept.transcript,
        transcript_hash=kept.transcript_hash,
        revision=kept.revision,
        session=kept.session,
        time_ns=int(datetime.fromisoformat(kept.created).timestamp() * 1e9),
        names=dict(names),
    )
    return events_of(results, about, clean=clean)


def _of_result(result: AnyResult, about: About, span_id: str, clean: Callable[[str], str]) -> Event:
    name = about.names.get(result.judge, result.judge)
    attributes = _common(result, about, "verdict", (result.judge,), name, result.judge)
    if isinstance(result, Verdict):
        explanation, said = result.rationale, f"{result.score}/3"
        attributes["gen_ai.evaluation.score.value"] = float(result.score)
        attributes["gen_ai.evaluation.score.label"] = LABELS[result.score]
        attributes["gpa.evaluation.findings"] = len(result.findings)
    elif isinstance(result, NotApplicable):
        explanation, said = result.reason, "not applicable"
        attributes["gen_ai.evaluation.score.label"] = NOT_APPLICABLE
    else:
        explanation, said = result.message, f"could not be judged ({result.error_type})"
        attributes["error.type"] = _sound(result.error_type)
    if result.cost_usd is not None:
        attributes["gpa.evaluation.cost_usd"] = float(result.cost_usd)
    attributes["gen_ai.evaluation.explanation"] = explanation = _sound(clean(explanation))
    body = one_line(f"{result.judge} {name} {said}: {explanation}", MAX_BODY)
    severity: Literal["INFO", "WARN"] = "WARN" if isinstance(result, Failure) else "INFO"
    return Event(*_context(result.trace_id, span_id, attributes), about.time_ns, severity, body, attributes)


def _of_finding(
    finding: Finding,
    verdicts: Sequence[Verdict],
    about: About,
    evaluated: str,
    clean: Callable[[str], str],
) -> Event:
    first = verdicts[0]
    codes = tuple(verdict.judge for verdict in verdicts)
    said = (*finding.span_ids, finding.category, finding.problem, finding.quote)
    attributes = _common(first, about, "finding", codes, finding.category, *said)
    attributes["gen_ai.evaluation.score.label"] = finding.severity.lower()
    attributes["gen_ai.evaluation.explanation"] = problem = _sound(clean(finding.problem))
    attributes["gpa.finding.category"] = _sound(finding.category)
    attributes["gpa.finding.severity"] = finding.severity
    attributes["gpa.finding.quote"] = _sound(clean(finding.quote))
    attributes["gpa.finding.span_ids"] = [_sound(span_id) for span_id in finding.span_ids]
    attributes["gpa.finding.localised"] = bool(finding.span_ids)
    if finding.check:
        attributes["gpa.finding.check"] = finding.check
    span_id = finding.span_ids[0] if finding.span_ids else evaluated
    body = one_line(f"{finding.severity} {' '.join(codes)} {finding.category}: {problem}", MAX_BODY)
    return Event(*_context(first.trace_id, span_id, attributes), about.time_ns, "WARN", body, attributes)


def _common(
    result: AnyResult, about: About, kind: str, dimensions: Sequence[str], name: str, *said: str
) -> dict[str, Value]:
    """The attributes that every event has. `said` is what tells it from the others of the same evaluation."""
    attributes: dict[str, Value] = {
        "gen_ai.evaluation.name": _sound(name),
        "gpa.evaluation.kind": kind,
        "gpa.evaluation.dimensions": list(dimensions),
        "gpa.evaluation.revision": about.revision,
        "gpa.evaluation.sample": result.sample,
        "gpa.evaluator.name": result.model,
        "gpa.evaluator.version": version("agent-gpa"),
        "gpa.rubric.hash": result.rubric_hash,
        "log.record.uid": _uid(result, about, kind, *said),
    }
    if about.session:
        attributes["gen_ai.conversation.id"] = _sound(about.session)
    return attributes


def _uid(result: AnyResult, about: About, *said: str) -> str:
    """Equal for an event that is sent twice: backends may drop one (semantic conventions, `log.record.uid`)."""
    key = (result.trace_id, about.transcript_hash, result.model, result.rubric_hash, str(result.sample), *said)
    return blake2b("\0".join(key).encode("utf-8", "backslashreplace"), digest_size=16).hexdigest()


def _context(trace_id: str, span_id: str, attributes: dict[str, Value]) -> tuple[str, str]:
    """The ids that OTLP can hold (16 and 8 bytes); others become attributes."""
    if not _TRACE_ID.fullmatch(trace_id):
        attributes["gpa.trace.id"] = _sound(trace_id)
        if span_id:
            attributes["gpa.span.id"] = _sound(span_id)
        return "", ""
    if span_id and not _SPAN_ID.fullmatch(span_id):
        attributes["gpa.span.id"] = _sound(span_id)
        return trace_id, ""
    return trace_id, span_id


def contexts_of(transcript: Transcript, results: Iterable[AnyResult]) -> list[tuple[str, str]]:
    """Trace and span ids of what was evaluated and of what holds errors, each once, as far as OTLP can hold them."""
    spans = [_evaluated_span(transcript)]
    for result in results:
        if isinstance(result, Verdict):
            spans += [finding.span_ids[0] for finding in result.findings if finding.span_ids]
    contexts = dict.fromkeys(_context(transcript.trace_id, span_id, {}) for span_id in spans)
    return [(trace_id, span_id) for trace_id, span_id in contexts if trace_id and span_id]


def _evaluated_span(transcript: Transcript | None) -> str:
    """The span of the first agent, or of the first step where no agent is known."""
    if transcript is None or not transcript.steps:
        return ""
    return next((step for step in transcript.steps if step.kind == "agent"), transcript.steps[0]).span_id


def _sound(text: str) -> str:
    """The text as UTF-8 can hold it: half of a surrogate pair would make the exporter refuse the whole batch."""
    return text.encode("utf-8", "replace").decode("utf-8")
