"""How good a plan is that was never run: seven metrics, up to 100 points, every deduction named and located.

What rules can see is decided here: placeholders, dependencies, steps nothing needs, phrases a tool's description rules
out. What they cannot see comes in as `judged`, from a model or a person. Six metrics are the share of steps without a
fault; Query Adherence is 0, 0.5 or 1 for the plan as a whole. Source: tool-aware planning, sections C3 and g.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gpa.errors import UsageError
from gpa.plans.metrics import (
    ADHERENCE,
    GROUPS,
    METRICS,
    POINTS,
    Deduction,
    Judged,
    Metric,
    MetricScore,
    NoPairs,
    PlanScore,
)
from gpa.plans.palette import Palette
from gpa.plans.plan import Plan, Problem
from gpa.plans.plan_rules import RULES

__all__ = [
    "ADHERENCE",
    "GROUPS",
    "METRICS",
    "POINTS",
    "Deduction",
    "Judged",
    "Metric",
    "MetricScore",
    "NoPairs",
    "PlanScore",
    "score_plan",
]


def score_plan(
    plan: Plan | None,
    palette: Palette,
    *,
    reference: Plan | None = None,
    judged: Iterable[Judged] = (),
    failed: Mapping[Metric, str] | None = None,
    points: Mapping[Metric, float] = POINTS,
    no_pairs: NoPairs = "full",
    problems: Sequence[Problem] = (),
) -> PlanScore:
    """The score of a plan.

    Args:
        plan: None when it could not be read: every metric that was asked for is 0.
        palette: The tools it may use.
        reference: A plan known to be good: Tool-Usage Completeness compares with it.
        judged: What models or people said; their deductions count beside those of the rules.
        failed: Metrics that a model was asked about in vain, and why: they are missing, whatever rules could say.
        points: What each metric is worth.
        no_pairs: What Tool-Usage Completeness is when the reference asks nothing of two tools: all its points, or
            not applicable.
        problems: What was wrong when the plan was read (`try_plan`).

    Raises:
        UsageError: a metric is judged twice, an adherence is not 0, 0.5 or 1, points are negative.
    """
    said = _by_metric(judged)
    if any(value < 0 for value in points.values()) or set(points) != set(METRICS):
        raise UsageError(f"points: expected a number from 0 for each of {', '.join(METRICS)}")
    scores: list[MetricScore] = []
    missing: dict[Metric, str] = {}
    for metric in METRICS:
        opinion = said.get(metric)
        if plan is None:
            scores.append(_unreadable(metric, points[metric], problems))
            continue
        raw = RULES[metric](plan, palette, reference) if metric in RULES else None
        found = None if raw is None else tuple(raw)
        if failed and metric in failed:
            missing[metric] = failed[metric]
        elif metric == "query_adherence":
            if opinion is None or opinion.adherence is None:
                missing[metric] = "only a model or a person can say"
            else:
                scores.append(_whole(metric, points[metric], len(plan), opinion))
        elif found is None and opinion is None:
            if reference is None:
                missing[metric] = "there is no reference plan"
            elif no_pairs == "exclude":
                missing[metric] = "the reference asks nothing of two tools"
            else:
                scores.append(MetricScore(metric, points[metric], points[metric], 1.0, len(plan), (), ("rules",)))
        else:
            scores.append(_stepwise(metric, points[metric], len(plan), found, opinion))
    budgets = {group: sum(points[name] for name in names) for group, names in GROUPS.items()}
    return PlanScore(tuple(scores), missing, tuple(problems), budgets)


def _by_metric(judged: Iterable[Judged]) -> dict[Metric, Judged]:
    said: dict[Metric, Judged] = {}
    for one in judged:
        if one.metric in said:
            raise UsageError(f"{one.metric}: expected one judgement, found two")
        if one.adherence is not None and one.adherence not in ADHERENCE:
            raise UsageError(f"{one.metric}: expected 0, 0.5 or 1, found {one.adherence}")
        said[one.metric] = one
    return said


def _unreadable(metric: Metric, out_of: float, problems: Sequence[Problem]) -> MetricScore:
    reason = "; ".join(map(str, problems)) or "the plan cannot be read"
    return MetricScore(metric, 0.0, out_of, 0.0, 0, (Deduction("", metric, reason),), ("rules",))


def _whole(metric: Metric, out_of: float, steps: int, opinion: Judged) -> MetricScore:
    share = opinion.adherence or 0.0
    deductions = opinion.deductions
    if share < 1 and not deductions:
        deductions = (Deduction("", metric, opinion.explanation or "does not answer all of the query", opinion.by),)
    return MetricScore(metric, out_of * share, out_of, share, steps, deductions, (opinion.by,), opinion.explanation)


def _stepwise(
    metric: Metric, out_of: float, steps: int, found: Sequence[Deduction] | None, opinion: Judged | None
) -> MetricScore:
    """The share of steps without a fault: a step that two judges fault, or for two reasons, fails once.

    What is wrong with the plan as a whole (its text is cut off) counts as one more step, and no share is below 0.
    """
    deductions = (*(found or ()), *(opinion.deductions if opinion else ()))
    failed = {one.step for one in deductions}
    share = max(0.0, (steps - len(failed)) / steps) if steps else 1.0
    by = (*(() if found is None else ("rules",)), *((opinion.by,) if opinion else ()))
    explanation = opinion.explanation if opinion else ""
    return MetricScore(metric, out_of * share, out_of, share, steps, deductions, by, explanation)
