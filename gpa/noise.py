"""Whether two runs' mean scores differ beyond noise, and how large a difference noise alone makes.

- Several scores of a case on both sides (samples of one trace; runs of one goal) show the noise directly: the variance
  within cases makes the margin.
- Without them, cases are drawn with replacement (bootstrap) and signs are flipped at random: a difference must pass
  both. Fewer than six cases never do.
- Without a case in common, both samples of traces are drawn anew together, which takes a larger difference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean
from typing import Literal, NamedTuple

from gpa.agreement import CONFIDENCE, Interval, bootstrap, ratio, sign_flip

ALPHA = 1 - CONFIDENCE
LEAST_REPEATS = 4
"""Degrees of freedom from which the variance within cases is an estimate."""
LEAST_CASES = 6
"""Cases from which a difference can be told from chance: five flipped signs can all fall alike once in sixteen."""

Basis = Literal["repeats", "traces", "unpaired", "none"]
"""What an interval comes from: scores within cases, the cases, two samples of traces, nothing."""
Judgement = Literal["better", "worse", "same", "unclear"]


class Values(NamedTuple):
    """The scores of a case: repeats of the same thing on either side."""

    before: Sequence[float]
    after: Sequence[float]

    @property
    def difference(self) -> float:
        """Between the means."""
        return fmean(self.after) - fmean(self.before)


class Shift(NamedTuple):
    """How the mean moved."""

    before: float | None = None
    after: float | None = None
    difference: float | None = None
    """After minus before."""
    interval: Interval | None = None
    """95 %, of the difference."""
    margin: float | None = None
    """How large a difference noise alone makes."""
    basis: Basis = "none"
    verdict: Judgement = "unclear"
    n: int = 0
    """Cases."""


def paired(values: Sequence[Values], tolerance: float = 0.0) -> Shift:
    """How the mean over cases moved; differences up to `tolerance` are neither better nor worse."""
    if not values:
        return Shift()
    before, after = fmean(fmean(one.before) for one in values), fmean(fmean(one.after) for one in values)
    differences = [one.difference for one in values]
    difference = fmean(differences)
    margin = repeat_margin(values)
    if margin is not None:
        interval = Interval(difference - margin, difference + margin)
        verdict = _verdict(difference, interval, tolerance, moved=any(differences), shown=True)
        return Shift(before, after, difference, interval, margin, "repeats", verdict, len(values))
    drawn = bootstrap([(one, 1.0) for one in differences], lambda sums: ratio(sums[0], sums[1]))
    p = sign_flip(differences)
    shown = p is not None and p < ALPHA
    verdict = _verdict(difference, drawn, tolerance, moved=any(differences), shown=shown)
    basis: Basis = "traces" if drawn is not None else "none"
    return Shift(before, after, difference, drawn, _half(drawn), basis, verdict, len(values))


def unpaired(before: Sequence[float], after: Sequence[float], tolerance: float = 0.0) -> Shift:
    """How the mean moved between two samples of traces that have nothing in common."""
    if not before or not after:
        return Shift()
    units = [(score, 1.0, 0.0, 0.0) for score in before] + [(0.0, 0.0, score, 1.0) for score in after]

    def statistic(sums: Sequence[float]) -> float | None:
        return sums[2] / sums[3] - sums[0] / sums[1] if sums[1] and sums[3] else None

    difference = fmean(after) - fmean(before)
    drawn = bootstrap(units, statistic)
    enough = min(len(before), len(after)) >= LEAST_CASES
    verdict = _verdict(difference, drawn, tolerance, moved=True, shown=enough)
    n = len(before) + len(after)
    return Shift(fmean(before), fmean(after), difference, drawn, _half(drawn), "unpaired", verdict, n)


def repeat_margin(values: Sequence[Values]) -> float | None:
    """How far the mean difference goes by noise within cases, 95 %; None without enough repeats on both sides.

    One disagreement by a point is added to those there are: that a few repeats agree does not prove that all would.
    """
    repeated = [one for one in values if len(one.before) > 1 and len(one.after) > 1]
    freedom = sum(len(one.before) + len(one.after) - 2 for one in repeated)
    if freedom < LEAST_REPEATS or 2 * len(repeated) < len(values):
        return None
    squares = math.fsum((score - fmean(side)) ** 2 for one in repeated for side in one for score in side)
    variance = (squares + 0.5) / (freedom + 1)
    spread = math.fsum(1 / len(one.before) + 1 / len(one.after) for one in values)
    return student_t(freedom + 1) * math.sqrt(variance * spread) / len(values)


def student_t(freedom: int) -> float:
    """The 97.5 % quantile of Student's t, from four degrees of freedom on to two digits.

    The expansion in 1/freedom of Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.5.
    """
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + math.fsum(term / float(freedom) ** power for power, term in enumerate(terms, 1))


def _verdict(difference: float, interval: Interval | None, tolerance: float, *, moved: bool, shown: bool) -> Judgement:
    """`shown`: whether what else is asked of a difference holds."""
    if not moved or (interval is not None and tolerance > 0 and _within(interval, tolerance)):
        return "same"
    if not shown or interval is None or interval.low <= 0.0 <= interval.high or abs(difference) <= tolerance:
        return "unclear"
    return "better" if difference > 0 else "worse"


def _within(interval: Interval, tolerance: float) -> bool:
    return -tolerance <= interval.low and interval.high <= tolerance


def _half(interval: Interval | None) -> float | None:
    return (interval.high - interval.low) / 2 if interval is not None else None
