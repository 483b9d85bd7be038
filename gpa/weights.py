"""The weights of plan metrics, learnt from plans of which it is known which is better.

For each query three plans are known in order: best, penultimate, ante-penultimate. Weights are good when every better
plan scores above the next one by a wide margin. Metrics come in groups with a fixed budget of points (by default 70
for effectiveness and 30 for efficiency); within a group the points are free.

Method: maximal-margin linear programme, hinge loss where no weights satisfy every inequality, a grid to compare with,
and rounding to weights that people can remember (tool-aware planning, section on weight learning).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any, Literal, NamedTuple

from gpa.agreement import Rate, rate
from gpa.errors import UsageError
from gpa.plans.scoring import GROUPS, POINTS

Weights = Mapping[str, float]
"""Metric -> points."""
Margins = Mapping[str, float]
"""Metric -> by how much the better plan's normalised score (0 to 1) is above the other's."""

BUDGETS: Mapping[str, tuple[float, tuple[str, ...]]] = {
    group: (sum(POINTS[name] for name in names), names) for group, names in GROUPS.items()
}
"""Group -> its points and the metrics that share them."""
_TINY = 1e-9


class Learnt(NamedTuple):
    """Weights, and how well they keep the order of the plans."""

    weights: dict[str, float]
    margin: float
    """The smallest distance, in points, between a better plan and the next; below 0 where some are out of order."""
    satisfied: int
    """Inequalities that hold: the better plan scores higher."""
    inequalities: int
    median_margin: float
    method: Literal["margin", "hinge", "grid"]


def differences(triples: Iterable[Sequence[Mapping[str, float]]]) -> list[dict[str, float]]:
    """The inequalities of queries, one per neighbouring pair of plans: each gives its plans' scores, best first."""
    return [
        {metric: better[metric] - worse[metric] for metric in better if metric in worse}
        for plans in triples
        for better, worse in itertools.pairwise(plans)
    ]


def learn(
    margins: Sequence[Margins], *, budgets: Mapping[str, tuple[float, tuple[str, ...]]] = BUDGETS, hinge: float = 1.0
) -> Learnt:
    """The weights with the widest margin; by hinge loss where none keeps every plan in order.

    A margin of 0 is no margin: it can be had by giving no points to a metric that contradicts another.

    Args:
        margins: One per inequality, see `differences`.
        budgets: The points of each group of metrics.
        hinge: What a point of violation costs, at least 1 (below, the loss has no bound).

    Raises:
        UsageError: nothing to learn from, a metric outside the groups, a `hinge` below 1, scipy missing.
    """
    _check(margins, budgets)
    if hinge < 1:
        raise UsageError(f"hinge: expected at least 1, found {hinge}")
    metrics = _metrics(budgets)
    solved = _solved(margins, metrics, budgets, hinge=None)
    if solved is not None and solved[-1] > _TINY:
        return judged(dict(zip(metrics, solved[:-1], strict=True)), margins, "margin")
    solved = _solved(margins, metrics, budgets, hinge=hinge)
    assert solved is not None  # slacks make every point feasible
    return judged(dict(zip(metrics, solved[: len(metrics)], strict=True)), margins, "hinge")


def searched(
    margins: Sequence[Margins],
    *,
    budgets: Mapping[str, tuple[float, tuple[str, ...]]] = BUDGETS,
    coarse: int = 5,
    fine: int = 50,
) -> Learnt:
    """The best weights of a grid: most inequalities satisfied, then the highest median margin.

    The grid divides each group's points into `coarse` shares first and then into `fine` (steps of 0.02) around the
    best of them, one group after the other until nothing changes: all points of it would be 31 million.
    """
    _check(margins, budgets)
    best = {metric: points / len(names) for points, names in budgets.values() for metric in names}
    for steps in (coarse, fine):
        before: dict[str, float] | None = None
        while before != best:
            before = dict(best)
            for points, names in budgets.values():
                around = None if steps == coarse else {name: best[name] / points for name in names}
                tried = (
                    {**best, **{name: share * points for name, share in zip(names, shares, strict=True)}}
                    for shares in _simplex(len(names), steps, around, reach=1 / coarse)
                )
                best = max(itertools.chain((best,), tried), key=lambda weights: _merit(weights, margins))
    return judged(best, margins, "grid")


def rounded(
    weights: Weights, *, step: int = 5, budgets: Mapping[str, tuple[float, tuple[str, ...]]] = BUDGETS
) -> dict[str, float]:
    """The weights in multiples of `step`, the sum of each group kept and none below 0.

    Each is rounded; what a group then has too much or too little is taken from those rounded furthest that way, the
    first metric in case of a tie.
    """
    found: dict[str, float] = {}
    for points, names in budgets.values():
        if points % step:
            raise UsageError(f"step: expected one that divides {points:g} points, found {step}")
        units = {name: int(weights[name] / step + 0.5) for name in names}
        while (excess := sum(units.values()) - round(points / step)) != 0:
            sign = 1 if excess > 0 else -1
            able = [name for name in names if sign < 0 or units[name] > 0]
            name = max(able, key=lambda one: round(sign * (units[one] - weights[one] / step), 9))
            units[name] -= sign
        found |= {name: float(count * step) for name, count in units.items()}
    return found


def judged(weights: Weights, margins: Sequence[Margins], method: Literal["margin", "hinge", "grid"]) -> Learnt:
    """How well these weights keep the order."""
    gains = _gains(weights, margins)
    return Learnt(
        weights={name: float(points) for name, points in weights.items()},
        margin=min(gains),
        satisfied=sum(gain > _TINY for gain in gains),
        inequalities=len(gains),
        median_margin=median(gains),
        method=method,
    )


def triplet_agreement(margins: Sequence[Margins]) -> dict[str, Rate]:
    """Per metric the share of inequalities in which the better plan's score is no lower: ties are allowed."""
    names = dict.fromkeys(name for one in margins for name in one)
    values = {name: [one[name] for one in margins if name in one] for name in names}
    return {name: rate(sum(value >= -_TINY for value in some), len(some)) for name, some in values.items()}


class Sensitivity(NamedTuple):
    """How much a ranking depends on the weights: Spearman's correlation with the ranking by the learnt ones."""

    equal: float
    """Every metric weighs the same."""
    lowest: float
    middle: float
    highest: float
    """Over random weights."""


def sensitivity(
    planners: Mapping[str, Mapping[str, float]],
    weights: Weights,
    *,
    draws: int = 10,
    seed: int = 0,
    budgets: Mapping[str, tuple[float, tuple[str, ...]]] = BUDGETS,
) -> Sensitivity:
    """How the ranking of planners (name -> mean normalised score per metric) changes with other weights.

    Random weights are drawn uniformly from each group's simplex (Dirichlet). Raises `UsageError` with fewer than two
    planners.
    """
    if len(planners) < 2:
        raise UsageError(f"sensitivity: expected at least two planners, found {len(planners)}")
    numpy, spearmanr = _numpy(), _spearmanr()
    metrics = _metrics(budgets)
    scores = numpy.array([[planners[name][metric] for metric in metrics] for name in planners])
    ranked = scores @ numpy.array([weights[metric] for metric in metrics])
    rng = numpy.random.default_rng(seed)

    def correlation(other: Any) -> float:
        return float(spearmanr(ranked, scores @ other).statistic)

    drawn = sorted(
        correlation(
            numpy.concatenate([points * rng.dirichlet(numpy.ones(len(names))) for points, names in budgets.values()])
        )
        for _ in range(draws)
    )
    return Sensitivity(correlation(numpy.ones(len(metrics))), drawn[0], median(drawn), drawn[-1])


def _check(margins: Sequence[Margins], budgets: Mapping[str, tuple[float, tuple[str, ...]]]) -> None:
    if not margins:
        raise UsageError("weights: expected plans to compare, found none")
    known = set(_metrics(budgets))
    for one in margins:
        if unknown := one.keys() - known:
            raise UsageError(
                f"weights: expected metrics {', '.join(sorted(known))}, found {', '.join(sorted(unknown))}"
            )


def _metrics(budgets: Mapping[str, tuple[float, tuple[str, ...]]]) -> list[str]:
    return [name for _, names in budgets.values() for name in names]


def _gains(weights: Weights, margins: Sequence[Margins]) -> list[float]:
    return [sum(weights[name] * value for name, value in one.items()) for one in margins]


def _merit(weights: Weights, margins: Sequence[Margins]) -> tuple[int, float]:
    gains = _gains(weights, margins)
    return sum(gain > _TINY for gain in gains), round(median(gains), 9)


def _solved(
    margins: Sequence[Margins],
    metrics: Sequence[str],
    budgets: Mapping[str, tuple[float, tuple[str, ...]]],
    *,
    hinge: float | None,
) -> list[float] | None:
    """The weights and the margin (`hinge`: and the slacks) that are best, None when there are none.

    Variables: the weights, the margin, and with `hinge` one slack for each inequality.
    """
    linprog = _linprog()
    slacks = len(margins) if hinge is not None else 0
    lowered = [
        [
            *(-one.get(metric, 0.0) for metric in metrics),
            1.0,
            *(-1.0 if place == number else 0.0 for place in range(slacks)),
        ]
        for number, one in enumerate(margins)
    ]
    fixed = [
        [*(1.0 if metric in names else 0.0 for metric in metrics), *[0.0] * (1 + slacks)]
        for _, names in budgets.values()
    ]
    aim = [*[0.0] * len(metrics), -1.0, *[hinge or 0.0] * slacks]
    solution = linprog(
        aim,
        A_ub=lowered,
        b_ub=[0.0] * len(margins),
        A_eq=fixed,
        b_eq=[points for points, _ in budgets.values()],
        bounds=[(0, None)] * len(aim),
        method="highs",
    )
    return [float(value) for value in solution.x] if solution.status == 0 else None


def _simplex(size: int, steps: int, around: Mapping[str, float] | None, *, reach: float) -> Iterator[tuple[float, ...]]:
    """Every way to divide 1 into `size` shares of 1/`steps`; near `around` only, when that is given."""
    near = None if around is None else tuple(around.values())

    def divided(left: int, place: int) -> Iterator[tuple[int, ...]]:
        if place == size - 1:
            if _within(left / steps, near, place, reach):
                yield (left,)
            return
        for taken in range(left + 1):
            if _within(taken / steps, near, place, reach):
                yield from ((taken, *rest) for rest in divided(left - taken, place + 1))

    for counts in divided(steps, 0):
        yield tuple(count / steps for count in counts)


def _within(share: float, near: tuple[float, ...] | None, place: int, reach: float) -> bool:
    return near is None or abs(share - near[place]) <= reach + _TINY


_MISSING = "weights need numpy and scipy: pip install 'agent-gpa[stats]'"


def _numpy() -> Any:
    try:
        import numpy as np
    except ImportError as error:
        raise UsageError(_MISSING) from error
    return np


def _spearmanr() -> Any:
    try:
        from scipy.stats import spearmanr
    except ImportError as error:
        raise UsageError(_MISSING) from error
    return spearmanr


def _linprog() -> Any:
    try:
        from scipy.optimize import linprog
    except ImportError as error:
        raise UsageError(_MISSING) from error
    return linprog
