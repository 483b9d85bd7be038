"""What the first screen of a report says: scores as distributions, what is worst, what goes wrong most often."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from gpa.evaluation import Evaluation
from gpa.judges.verdict import DIMENSIONS, AnyResult, Failure, NotApplicable, Severity, Verdict
from gpa.report.findings import ShownFinding, Source
from gpa.report.visible import excerpt, visible

MAX_PROBLEMS = 12
MAX_REASONS = 12
Cell = float | str | None
"""A dimension of a trace: mean score, `n/a`, `failed`, or None where nobody judged it."""


class ShownTrace(Struct, frozen=True):
    """A row of the table of traces."""

    id: str
    goal: str
    agents: tuple[str, ...]
    steps: int
    failed_steps: int
    duration: float
    """Milliseconds."""
    cells: tuple[Cell, ...]
    """In the order of the report's dimensions."""
    mean: float | None
    severities: tuple[int, int, int]
    """Findings that are HIGH, MEDIUM, LOW."""
    gravest: tuple[Severity, str, str, int] | None = None
    """The first finding: severity, problem, span id (or empty), position among the trace's findings."""
    page: str = ""
    """File that holds the transcript, relative to the first page; empty: that page itself."""


class Distribution(NamedTuple):
    """One dimension, judged by one model (or the checks), over all traces and repetitions."""

    dimension: str
    name: str
    model: str
    mean: float | None
    counts: tuple[int, int, int, int]
    """How often the score was 0, 1, 2, 3."""
    not_applicable: int
    failed: int
    findings: int

    @property
    def judged(self) -> int:
        """How many were asked for."""
        return sum(self.counts) + self.not_applicable + self.failed


class Problem(NamedTuple):
    """How often something goes wrong, and in how many traces."""

    name: str
    findings: int
    traces: int
    high: int
    source: Source | None = None


class Reason(NamedTuple):
    """Why there is no score, and how often."""

    text: str
    dimensions: tuple[tuple[str, int], ...]
    total: int


class Cost(NamedTuple):
    """What judging took."""

    usd: float
    unpriced: int
    """Results of models without a known price."""
    input_tokens: int
    output_tokens: int


class Overview(NamedTuple):
    """Everything the first screen says, comparison apart."""

    models: tuple[str, ...]
    samples: int
    distributions: tuple[Distribution, ...]
    results: int
    not_applicable: int
    failed: int
    cost: Cost
    severities: tuple[int, int, int]
    ungrounded: int
    suppressed: int
    sources: Mapping[Source, int]
    categories: tuple[Problem, ...]
    judges: tuple[Problem, ...]
    """Checks, and LLM judges."""
    reasons: tuple[Reason, ...]
    failures: tuple[Reason, ...]


def dimensions_of(evaluation: Evaluation) -> dict[str, str]:
    """The dimensions that were judged, by code, ours first."""
    judged = dict.fromkeys(result.judge for result in evaluation.results)
    codes = [code for code in DIMENSIONS if code in judged] + [code for code in judged if code not in DIMENSIONS]
    return {visible(code): visible(evaluation.names.get(code, code)) for code in codes}


def worst_first(evaluation: Evaluation) -> dict[str, list[AnyResult]]:
    """Trace id -> its results: the lowest mean score first, then what could not be judged, then what does not apply."""
    by_trace: dict[str, list[AnyResult]] = {}
    for result in evaluation.results:
        by_trace.setdefault(result.trace_id, []).append(result)
    places = {code: number for number, code in enumerate(DIMENSIONS)}

    def key(trace_id: str) -> tuple[float, int, str]:
        results = by_trace[trace_id]
        mean = mean_score(results)
        findings = sum(len(result.findings) for result in results if isinstance(result, Verdict))
        without = 4.0 if any(isinstance(result, Failure) for result in results) else 5.0
        return (without if mean is None else mean, -findings, trace_id)

    return {
        trace_id: sorted(by_trace[trace_id], key=lambda one: (places.get(one.judge, 99), one.model, one.sample))
        for trace_id in sorted(by_trace, key=key)
    }


def cells(results: Sequence[AnyResult], dimensions: Iterable[str]) -> tuple[Cell, ...]:
    """One cell a dimension: the mean over models and repetitions; a failure shows only where there is no score."""
    found: defaultdict[str, list[AnyResult]] = defaultdict(list)
    for result in results:
        found[visible(result.judge)].append(result)
    return tuple(_cell(found[dimension]) for dimension in dimensions)


def _cell(results: Sequence[AnyResult]) -> Cell:
    mean = mean_score(results)
    if mean is not None or not results:
        return mean
    return "failed" if any(isinstance(result, Failure) for result in results) else "n/a"


def mean_score(results: Iterable[AnyResult]) -> float | None:
    """The mean over all scores, None without one."""
    scores = [result.score for result in results if isinstance(result, Verdict)]
    return round(sum(scores) / len(scores), 2) if scores else None


def overview(evaluation: Evaluation, findings: Sequence[ShownFinding]) -> Overview:
    """What the first screen says of these results and findings."""
    results = evaluation.results
    counted = [finding for finding in findings if not finding.suppressed]
    models = tuple(dict.fromkeys(visible(result.model) for result in results))
    return Overview(
        models=models,
        samples=len({result.sample for result in results}),
        distributions=tuple(_distributions(evaluation)),
        results=len(results),
        not_applicable=sum(isinstance(result, NotApplicable) for result in results),
        failed=sum(isinstance(result, Failure) for result in results),
        cost=_cost(results),
        severities=severities(counted),
        ungrounded=sum(finding.ungrounded for finding in counted),
        suppressed=len(findings) - len(counted),
        sources=Counter(finding.source for finding in counted),
        categories=_problems((finding.category, None, finding) for finding in counted),
        judges=_problems((finding.judge, finding.source, finding) for finding in counted),
        reasons=_reasons((one.reason, one.judge) for one in results if isinstance(one, NotApplicable)),
        failures=_reasons(
            (f"{one.error_type}: {one.message}", one.judge) for one in results if isinstance(one, Failure)
        ),
    )


def severities(findings: Iterable[ShownFinding]) -> tuple[int, int, int]:
    """How many are HIGH, MEDIUM, LOW, the suppressed ones left out."""
    counts = Counter(finding.severity for finding in findings if not finding.suppressed)
    return counts["HIGH"], counts["MEDIUM"], counts["LOW"]


def _distributions(evaluation: Evaluation) -> Iterable[Distribution]:
    groups: defaultdict[tuple[str, str], list[AnyResult]] = defaultdict(list)
    for result in evaluation.results:
        groups[visible(result.judge), visible(result.model)].append(result)
    for code, name in dimensions_of(evaluation).items():
        for (judge, model), results in groups.items():
            if judge == code:
                verdicts = [result for result in results if isinstance(result, Verdict)]
                scores = Counter(verdict.score for verdict in verdicts)
                yield Distribution(
                    dimension=code,
                    name=name,
                    model=model,
                    mean=mean_score(verdicts),
                    counts=(scores[0], scores[1], scores[2], scores[3]),
                    not_applicable=sum(isinstance(result, NotApplicable) for result in results),
                    failed=sum(isinstance(result, Failure) for result in results),
                    findings=sum(len(verdict.findings) for verdict in verdicts),
                )


def _problems(named: Iterable[tuple[str, Source | None, ShownFinding]]) -> tuple[Problem, ...]:
    groups: defaultdict[tuple[str, Source | None], list[ShownFinding]] = defaultdict(list)
    for name, source, finding in named:
        groups[name, source].append(finding)
    problems = [
        Problem(
            name,
            len(findings),
            len({finding.trace for finding in findings}),
            sum(finding.severity == "HIGH" for finding in findings),
            source,
        )
        for (name, source), findings in groups.items()
    ]
    return tuple(sorted(problems, key=lambda one: (-one.findings, one.name))[:MAX_PROBLEMS])


def _reasons(said: Iterable[tuple[str, str]]) -> tuple[Reason, ...]:
    groups: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for text, dimension in said:
        groups[excerpt(text, 300)][visible(dimension)] += 1
    reasons = [Reason(text, tuple(counts.items()), counts.total()) for text, counts in groups.items()]
    return tuple(sorted(reasons, key=lambda reason: -reason.total)[:MAX_REASONS])


def _cost(results: Iterable[AnyResult]) -> Cost:
    usd, unpriced, taken, given = 0.0, 0, 0, 0
    for result in results:
        used = result.usage
        usd += result.cost_usd or 0.0
        unpriced += result.cost_usd is None
        taken += used.input_tokens + used.cache_read_tokens + used.cache_write_tokens
        given += used.output_tokens
    return Cost(usd, unpriced, taken, given)
