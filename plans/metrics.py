"""The seven metrics of a plan that was never run: what they are worth, and what is said of them.

Six metrics are the share of steps without a fault; Query Adherence is 0, 0.5 or 1 for the plan as a whole. Source:
tool-aware planning, section C3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from msgspec import Struct

from gpa.plans.plan import Problem

Metric = Literal[
    "tool_prompt_alignment",
    "format",
    "step_executability",
    "query_adherence",
    "dependencies",
    "redundancy",
    "tool_usage_completeness",
]
METRICS: tuple[Metric, ...] = get_args(Metric)
POINTS: Mapping[Metric, float] = {
    "tool_prompt_alignment": 20,
    "format": 20,
    "step_executability": 15,
    "query_adherence": 15,
    "dependencies": 10,
    "redundancy": 10,
    "tool_usage_completeness": 10,
}
"""What each metric is worth."""
GROUPS: Mapping[str, tuple[Metric, ...]] = {"effectiveness": METRICS[:4], "efficiency": METRICS[4:]}
"""The metrics that share a budget of points: 70 and 30 by default."""
ADHERENCE = (0.0, 0.5, 1.0)

NoPairs = Literal["full", "exclude"]


class Deduction(Struct, frozen=True):
    """A step that costs points under a metric, and why."""

    step: str
    """Id of the step; empty when it is the plan as a whole."""
    metric: Metric
    reason: str
    by: str = "rules"
    """`rules`, or the model that said so."""


class Judged(Struct, frozen=True):
    """What a model or a person said of one metric."""

    metric: Metric
    by: str
    deductions: tuple[Deduction, ...] = ()
    adherence: float | None = None
    """Query Adherence only: 0, 0.5 or 1."""
    explanation: str = ""


class MetricScore(Struct, frozen=True):
    """One metric of one plan."""

    metric: Metric
    points: float
    """Of `out_of`."""
    out_of: float
    share: float
    """Normalised score, 0 to 1."""
    steps: int
    deductions: tuple[Deduction, ...]
    by: tuple[str, ...]
    explanation: str = ""


class PlanScore(Struct, frozen=True):
    """The metrics of a plan that could be judged."""

    metrics: tuple[MetricScore, ...]
    missing: dict[Metric, str]
    """Metrics nobody judged, and why: neither points nor a zero."""
    problems: tuple[Problem, ...] = ()
    """Why the plan could not be read, or what is wrong with its structure."""
    budgets: dict[str, float] = {}
    """The points of each group of metrics."""

    @property
    def score(self) -> float | None:
        """0 to 100. A metric that was not judged leaves its points to the others of its group; None without any."""
        earned = budget = 0.0
        for group, names in GROUPS.items():
            judged = [one for one in self.metrics if one.metric in names]
            out_of = sum(one.out_of for one in judged)
            if out_of:
                earned += self.budgets[group] * sum(one.points for one in judged) / out_of
                budget += self.budgets[group]
        return 100 * earned / budget if budget else None

    def metric(self, name: Metric) -> MetricScore | None:
        """The score of one metric, None when it was not judged."""
        return next((one for one in self.metrics if one.metric == name), None)

    @property
    def deductions(self) -> tuple[Deduction, ...]:
        """Everything that cost points, by metric."""
        return tuple(deduction for one in self.metrics for deduction in one.deductions)
