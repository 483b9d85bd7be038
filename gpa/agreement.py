"""Statistics of agreement: pure functions on counts, in plain Python.

Everything here is a function of small tables of counts (scores are 0-3, decisions are yes or no), so that plain Python
is fast enough and a core installation needs neither numpy nor scipy; the tests compare every function with
scikit-learn, scipy and krippendorff. A statistic that is not defined (an empty denominator, raters that never vary) is
None, never 0 and never NaN: tables print a dash for it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import add, mul
from statistics import NormalDist
from typing import Literal, NamedTuple

CONFIDENCE = 0.95
RESAMPLES = 1_000
MAX_GROUPS = 200
"""Units beyond this are first summed in random groups of equal size: the variance of a sum stays the same."""
EXACT_FLIPS = 12
"""Pairs up to which a sign-flip test goes through every assignment of signs."""
FLIPS = 10_000
SEED = 20250518

Level = Literal["nominal", "ordinal", "interval"]
Weights = Literal["linear", "quadratic"]
Matrix = Sequence[Sequence[float]]
Statistic = Callable[[Sequence[float]], float | None]


class Interval(NamedTuple):
    """A 95 % confidence interval."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Rate:
    """A figure with what it rests on: `count` of `total` where it is a share, and its interval."""

    value: float | None
    count: int | None = None
    total: int | None = None
    interval: Interval | None = None


class Decisions(NamedTuple):
    """Binary decisions against the truth, counted."""

    tp: float
    fp: float
    fn: float
    tn: float = 0


def ratio(count: float, total: float) -> float | None:
    """The share, None of nothing."""
    return count / total if total else None


def rate(count: int, total: int) -> Rate:
    """A share with its Wilson interval."""
    return Rate(ratio(count, total), count, total, wilson(count, total))


def wilson(count: float, total: float, confidence: float = CONFIDENCE) -> Interval | None:
    """Wilson's score interval for a proportion (JASA 22, 1927); None of nothing."""
    if not total:
        return None
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share, spread = count / total, z * z / total
    middle = (share + spread / 2) / (1 + spread)
    half = z * math.sqrt(share * (1 - share) / total + spread / (4 * total)) / (1 + spread)
    low = max(0.0, middle - half) if count else 0.0
    return Interval(low, min(1.0, middle + half) if count < total else 1.0)


def clustered_rate(units: Sequence[Sequence[float]]) -> Rate:
    """A share of sums over units (traces) of (count, total), where the cases of a unit belong together.

    Its interval is the wider of Wilson's and the bootstrap's on either side: the first is too narrow when cases of a
    unit are alike, the second when all units say the same.
    """
    count, total = sum(unit[0] for unit in units), sum(unit[1] for unit in units)
    simple, drawn = wilson(count, total), bootstrap(units, lambda sums: ratio(sums[0], sums[1]))
    if simple and drawn:
        simple = Interval(min(simple.low, drawn.low), max(simple.high, drawn.high))
    return Rate(ratio(count, total), int(count), int(total), simple)


def precision(decisions: Decisions) -> float | None:
    """Share of what was predicted that is true."""
    return ratio(decisions.tp, decisions.tp + decisions.fp)


def recall(decisions: Decisions) -> float | None:
    """Share of what is true that was predicted."""
    return ratio(decisions.tp, decisions.tp + decisions.fn)


def accuracy(decisions: Decisions) -> float | None:
    """Share of decisions that are right."""
    return ratio(decisions.tp + decisions.tn, sum(decisions))


def f_score(decisions: Decisions, beta: float = 1.0) -> float | None:
    """F-beta, (1 + b^2) P R / (b^2 P + R); None when there is nothing to find and nothing was predicted."""
    weighted = (1 + beta * beta) * decisions.tp
    return ratio(weighted, weighted + beta * beta * decisions.fn + decisions.fp)


def confusion(pairs: Iterable[tuple[int, int]], size: int) -> list[list[int]]:
    """How often the first rater said the row and the second the column, both of `range(size)`."""
    counts = [[0] * size for _ in range(size)]
    for row, column in pairs:
        counts[row][column] += 1
    return counts


def agreement(counts: Matrix, within: int = 0) -> float | None:
    """Share of pairs whose values differ by `within` at the most."""
    cells = _cells(counts)
    return ratio(sum(n for row, column, n in cells if abs(row - column) <= within), sum(n for _, _, n in cells))


def merged(counts: Matrix, classes: Sequence[int]) -> list[list[float]]:
    """The table with values put together: value `v` becomes `classes[v]`."""
    size = max(classes) + 1
    small = [[0.0] * size for _ in range(size)]
    for row, column, n in _cells(counts):
        small[classes[row]][classes[column]] += n
    return small


def pearson(counts: Matrix) -> float | None:
    """Pearson's correlation of row and column values; None when one of them never varies."""
    cells = _cells(counts)
    total = sum(n for _, _, n in cells)
    if not total:
        return None
    mean_x, mean_y = sum(x * n for x, _, n in cells) / total, sum(y * n for _, y, n in cells) / total
    xx = sum((x - mean_x) ** 2 * n for x, _, n in cells)
    yy = sum((y - mean_y) ** 2 * n for _, y, n in cells)
    xy = sum((x - mean_x) * (y - mean_y) * n for x, y, n in cells)
    if len({x for x, _, _ in cells}) < 2 or len({y for _, y, _ in cells}) < 2:
        return None
    return max(-1.0, min(1.0, xy / math.sqrt(xx * yy)))


def normalised_error(counts: Matrix) -> float | None:
    """Mean absolute difference as a share of the scale (NMAE)."""
    cells = _cells(counts)
    scale = len(counts) - 1
    return ratio(sum(abs(x - y) * n for x, y, n in cells), scale * sum(n for _, _, n in cells)) if scale else None


def cohen_kappa(counts: Matrix, weights: Weights | None = None) -> float | None:
    """Cohen's kappa, weighted by the distance of the values or its square; None when chance alone agrees always."""
    size = len(counts)
    rows = [sum(row) for row in counts]
    columns = [sum(row[column] for row in counts) for column in range(size)]
    total = sum(rows)
    if not total:
        return None
    power = {None: 0, "linear": 1, "quadratic": 2}[weights]
    observed = expected = 0.0
    for row in range(size):
        for column in range(size):
            weight = abs(row - column) ** power if row != column else 0
            observed += weight * counts[row][column]
            expected += weight * rows[row] * columns[column] / total
    return 1 - observed / expected if expected else None


def concurrences(unit: Iterable[int], size: int) -> list[float]:
    """A unit's part of Fleiss' kappa: the share of pairs of raters who agree, 1, and how often each value was said.

    Nothing from fewer than two ratings. These add up over units; `fleiss_kappa` takes the sum.
    """
    counts = [0.0] * size
    for value in unit:
        counts[value] += 1
    ratings = sum(counts)
    if ratings < 2:
        return [0.0] * (size + 2)
    return [sum(n * (n - 1) for n in counts) / (ratings * (ratings - 1)), 1.0, *counts]


def fleiss_kappa(sums: Sequence[float]) -> float | None:
    """Fleiss' kappa of summed concurrences; None when all say the same.

    For more than two raters (Psychological Bulletin 76, 1971); of two, Cohen's knows who said what. Each unit counts
    the same, by however many it was rated.
    """
    agreeing, units, *counts = sums
    if not units:
        return None
    expected = sum((n / sum(counts)) ** 2 for n in counts)
    return (agreeing / units - expected) / (1 - expected) if max(counts) < sum(counts) else None


def one_against_rest(counts: Matrix, value: int) -> Decisions:
    """The second rater's decisions (columns) on whether it is this value, against the first one's (rows)."""
    hits, row = counts[value][value], sum(counts[value])
    column = sum(line[value] for line in counts)
    return Decisions(hits, column - hits, row - hits, sum(map(sum, counts)) - row - column + hits)


def jaccard(counts: Matrix) -> float | None:
    """Of a 2x2 table: both positive, as a share of any positive."""
    return ratio(counts[1][1], counts[0][1] + counts[1][0] + counts[1][1])


def phi(counts: Matrix) -> float | None:
    """Of a 2x2 table: the phi coefficient, which is Pearson's correlation of two binary labels."""
    return pearson(counts)


def coincidences(unit: Iterable[int], size: int) -> list[float]:
    """A unit's part of Krippendorff's coincidence matrix, row by row; nothing from fewer than two ratings.

    These add up over units; `krippendorff_alpha` takes the sum.
    """
    counts = [0] * size
    for value in unit:
        counts[value] += 1
    ratings = sum(counts)
    if ratings < 2:
        return [0.0] * (size * size)
    return [
        (counts[row] * (counts[column] - (row == column))) / (ratings - 1)
        for row in range(size)
        for column in range(size)
    ]


def krippendorff_alpha(coincidence: Sequence[float], level: Level) -> float | None:
    """Krippendorff's alpha of a summed coincidence matrix (row by row); None when every rating is the same."""
    size = math.isqrt(len(coincidence))
    margins = [sum(coincidence[row * size : (row + 1) * size]) for row in range(size)]
    total = sum(margins)
    observed = expected = 0.0
    for row in range(size):
        for column in range(size):
            distance = _distance(level, row, column, margins)
            observed += distance * coincidence[row * size + column]
            expected += distance * margins[row] * margins[column]
    return 1 - (total - 1) * observed / expected if expected else None


def _distance(level: Level, row: int, column: int, margins: Sequence[float]) -> float:
    if row == column:
        return 0.0
    if level == "nominal":
        return 1.0
    if level == "interval":
        return float((row - column) ** 2)
    low, high = min(row, column), max(row, column)
    between = sum(margins[low : high + 1]) - (margins[low] + margins[high]) / 2
    return between * between


def alpha(units: Iterable[Iterable[int]], size: int, level: Level) -> float | None:
    """Krippendorff's alpha over units rated any number of times, with values of `range(size)`."""
    summed = [0.0] * (size * size)
    for unit in units:
        summed = list(map(add, summed, coincidences(unit, size)))
    return krippendorff_alpha(summed, level)


def deviation(values: Sequence[float]) -> float:
    """Standard deviation of a population: of the runs there were, not of those there might be."""
    mean = sum(values) / len(values)
    return math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Cosine similarity; 0 with a vector of no length."""
    lengths = math.sqrt(sum(map(mul, one, one)) * sum(map(mul, other, other)))
    return max(-1.0, min(1.0, sum(map(mul, one, other)) / lengths)) if lengths else 0.0


def mcnemar(only_first: int, only_second: int) -> float | None:
    """Two-sided p of McNemar's exact test: as many went one way as the other; None when none went either way."""
    changed = only_first + only_second
    if not changed:
        return None
    if changed > 1_000:  # the binomial by its normal limit, with continuity correction: equal to three digits here
        z = max(0.0, abs(only_first - only_second) - 1) / math.sqrt(changed)
        return min(1.0, math.erfc(z / math.sqrt(2)))
    tail = sum(math.comb(changed, k) for k in range(min(only_first, only_second) + 1))
    return min(1.0, 2 * tail / (1 << changed))


def sign_flip(differences: Sequence[float], *, seed: int = SEED) -> float | None:
    """Two-sided p of a paired permutation test: each difference could as well have had the other sign.

    Exact up to 12 differences that are not zero, else from 10,000 drawn assignments (and the one there is).
    """
    moving = [difference for difference in differences if difference]
    if not moving:
        return None
    observed = abs(sum(moving)) * (1 - 1e-9)
    if len(moving) <= EXACT_FLIPS:
        sums = [0.0]
        for difference in moving:
            sums = [total + sign * difference for total in sums for sign in (1, -1)]
        return sum(abs(total) >= observed for total in sums) / len(sums)
    groups = _grouped([(difference,) for difference in moving], random.Random(seed))  # noqa: S311 - draws, no secrets
    values = [value for (value,) in groups]
    draw = random.Random(seed)  # noqa: S311 - draws, no secrets
    as_extreme = 1
    everything = sum(values)
    for _ in range(FLIPS):
        bits = draw.getrandbits(len(values))
        kept = sum(value for at, value in enumerate(values) if bits >> at & 1)
        as_extreme += abs(2 * kept - everything) >= observed
    return as_extreme / (FLIPS + 1)


def bootstrap(units: Sequence[Sequence[float]], statistic: Statistic, *, seed: int = SEED) -> Interval | None:
    """Percentile interval of a statistic of sums, by drawing units (traces) with replacement; None with under two.

    A unit is a row of counts, the statistic a function of the sums over units. Draws in which it is not defined are
    left out; when that is more than one in twenty there is no interval.
    """
    if len(units) < 2:
        return None
    rng = random.Random(seed)  # noqa: S311 - draws, no secrets
    columns = list(zip(*_grouped(units, rng), strict=True))
    size = len(columns[0])
    values: list[float] = []
    for weights in _draws(size, seed):
        value = statistic([sum(map(mul, weights, column)) for column in columns])
        if value is not None:
            values.append(value)
    if len(values) < 0.95 * RESAMPLES:
        return None
    values.sort()
    return Interval(_quantile(values, (1 - CONFIDENCE) / 2), _quantile(values, (1 + CONFIDENCE) / 2))


@lru_cache(maxsize=4)
def _draws(size: int, seed: int) -> tuple[tuple[int, ...], ...]:
    """How often each unit is in each draw: the same draws for every statistic over as many units."""
    rng = random.Random(f"{seed}/{size}")  # noqa: S311 - draws, no secrets
    drawn = []
    for _ in range(RESAMPLES):
        weights = [0] * size
        for at in rng.choices(range(size), k=size):
            weights[at] += 1
        drawn.append(tuple(weights))
    return tuple(drawn)


def _grouped(units: Sequence[Sequence[float]], rng: random.Random) -> Sequence[Sequence[float]]:
    if len(units) <= MAX_GROUPS:
        return units
    shuffled = rng.sample(units, len(units))
    return [[sum(column) for column in zip(*shuffled[start::MAX_GROUPS], strict=True)] for start in range(MAX_GROUPS)]


def _quantile(ordered: Sequence[float], share: float) -> float:
    at = share * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


def _cells(counts: Matrix) -> list[tuple[int, int, float]]:
    return [(row, column, n) for row, line in enumerate(counts) for column, n in enumerate(line) if n]
