"""Findings as a page lists them: each once, with every dimension it stands under and the step it is in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from gpa.evaluation import Located
from gpa.ingest.transcript import Step, Transcript
from gpa.judges.verdict import GRAVITY, AnyResult, Finding, Severity, Verdict
from gpa.report.visible import visible

Source = Literal["check", "llm", "confirmed"]
"""Who says so: a check, an LLM judge, or a check whose finding an LLM judge confirmed."""

MAX_PROBLEM = 4_000
MAX_QUOTE = 2_000
"""Characters shown of what a judge wrote; both are a few hundred long unless something went wrong."""


class ShownFinding(Struct, frozen=True, omit_defaults=True):
    """One finding. `labels` and `agent` are empty where no transcript is known or nothing is localised."""

    trace: int
    """Position of the trace in the report."""
    dimensions: tuple[str, ...]
    severity: Severity
    category: str
    source: Source
    judge: str
    """Name of the check, or the model."""
    model: str
    problem: str
    quote: str
    spans: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    agent: str = ""
    ungrounded: bool = False
    """Whether the quote stands nowhere in the trace."""
    suppressed: bool = False
    """Whether it counts for nothing: muted by people, or taken back by the judge."""
    new: bool = False
    """Whether the baseline run does not have it; False without a baseline."""
    samples: tuple[int, ...] = ()
    """The repetitions that report it, where there are several."""


def shown_findings(trace: int, results: Iterable[AnyResult], transcript: Transcript | None) -> list[ShownFinding]:
    """The findings of one trace, the gravest first, then in the order of the steps; suppressed ones are among them."""
    found: dict[tuple[Finding, str, bool], tuple[list[str], list[int]]] = {}
    for result in results:
        if isinstance(result, Verdict):
            for finding, suppressed in (
                *((finding, False) for finding in result.findings),
                *((finding, True) for finding in result.suppressed),
            ):
                dimensions, samples = found.setdefault((finding, result.model, suppressed), ([], []))
                if result.judge not in dimensions:
                    dimensions.append(result.judge)
                if result.sample not in samples:
                    samples.append(result.sample)
    steps = {} if transcript is None else {span: step for step in transcript.steps for span in step.span_ids}
    place = {} if transcript is None else {step.label: n for n, step in enumerate(transcript.steps)}
    shown = [
        _shown(trace, finding, model, dimensions, samples, suppressed=suppressed, steps=steps, transcript=transcript)
        for (finding, model, suppressed), (dimensions, samples) in found.items()
    ]
    return sorted(
        shown,
        key=lambda one: (one.suppressed, -GRAVITY[one.severity], place.get(one.labels[0], 0) if one.labels else -1),
    )


def with_new(findings: Iterable[ShownFinding], trace_ids: Sequence[str], new: Iterable[Located]) -> list[ShownFinding]:
    """The findings, those that a comparison calls new marked so; `trace_ids` are the traces in the report's order."""
    keys = {
        (
            visible(one.trace_id),
            tuple(map(visible, one.finding.span_ids)),
            _problem(one.finding),
            visible(one.finding.category),
        )
        for one in new
    }
    return [
        replace(one, new=True)
        if not one.suppressed and (trace_ids[one.trace], one.spans, one.problem, one.category) in keys
        else one
        for one in findings
    ]


def _problem(finding: Finding) -> str:
    return visible(finding.problem[:MAX_PROBLEM])


def _shown(
    trace: int,
    finding: Finding,
    model: str,
    dimensions: list[str],
    samples: list[int],
    *,
    suppressed: bool,
    steps: dict[str, Step],
    transcript: Transcript | None,
) -> ShownFinding:
    cited = [steps[span] for span in finding.span_ids if span in steps]
    agent = transcript.agent(cited[0].agent) if cited and transcript else None
    source: Source = "llm" if finding.check is None else "check" if model == "checks" else "confirmed"
    return ShownFinding(
        trace=trace,
        dimensions=tuple(map(visible, dimensions)),
        severity=finding.severity,
        category=visible(finding.category),
        source=source,
        judge=visible(model if finding.check is None else finding.check),
        model=visible(model),
        problem=_problem(finding),
        quote=visible(finding.quote[:MAX_QUOTE]),
        spans=tuple(map(visible, finding.span_ids)),
        labels=tuple(dict.fromkeys(step.label for step in cited)),
        agent=visible(agent.name) if agent else "",
        ungrounded=not finding.grounded,
        suppressed=suppressed,
        samples=tuple(sorted(samples)) if samples != [0] else (),
    )
