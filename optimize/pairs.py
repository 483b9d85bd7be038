"""A statistic of two sides of the same traces: either value, the difference, and whether it is chance."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product

from gpa.agreement import EXACT_FLIPS, SEED, Rate, Statistic, bootstrap, ratio
from gpa.tables import Cell

DRAWS = 2_000
"""Changes of places that a test draws."""
Pair = tuple[Sequence[float], Sequence[float]]
"""A trace's counts by the first and by the second."""


def share_test(units: Sequence[tuple[int, int, int, int]], *, seed: int = SEED) -> float | None:
    """The `swap_test` of two shares; a unit is (count, total) of the first and of the second."""
    return swap_test([(unit[:2], unit[2:]) for unit in units], _share, seed=seed)


def swap_test(units: Sequence[Pair], statistic: Statistic, *, seed: int = SEED) -> float | None:
    """Two-sided p of a paired permutation test of a statistic of sums: in each trace the two could change places.

    Exact up to 12 units that differ, else from drawn ones; None when none differs, or the statistic is not defined.
    Where it is not defined after a change, that counts as extreme.
    """
    moving = [unit for unit in units if tuple(unit[0]) != tuple(unit[1])]
    still = [unit for unit in units if tuple(unit[0]) == tuple(unit[1])]
    if not moving:
        return None

    def difference(swapped: Sequence[bool]) -> float | None:
        turned = [(other, one) if swap else (one, other) for (one, other), swap in zip(moving, swapped, strict=True)]
        first, second = (
            statistic([sum(column) for column in zip(*(unit[side] for unit in (*still, *turned)), strict=True)])
            for side in (0, 1)
        )
        return None if first is None or second is None else abs(second - first)

    there = difference([False] * len(moving))
    if there is None:
        return None
    observed = there * (1 - 1e-9)

    def extreme(swapped: Sequence[bool]) -> bool:
        found = difference(swapped)
        return found is None or found >= observed

    if len(moving) <= EXACT_FLIPS:
        found = [extreme(swapped) for swapped in product((False, True), repeat=len(moving))]
        return sum(found) / len(found)
    rng = random.Random(seed)  # noqa: S311 - draws, no secrets
    drawn = sum(extreme([rng.random() < 0.5 for _ in moving]) for _ in range(DRAWS))
    return (1 + drawn) / (1 + DRAWS)


def paired(units: Sequence[Pair], statistic: Statistic) -> tuple[Cell, ...]:
    """The statistic of either side, their difference with its interval, and the p of the paired test."""
    if not units:
        return None, None, None, None
    size = len(units[0][0])
    rows = [(*one, *other) for one, other in units]
    sums = [sum(column) for column in zip(*rows, strict=True)]

    def difference(of: Sequence[float]) -> float | None:
        first, second = statistic(of[:size]), statistic(of[size:])
        return None if first is None or second is None else second - first

    def side(start: int) -> Rate:
        value = statistic(sums[start : start + size])
        interval = None if value is None else bootstrap([row[start : start + size] for row in rows], statistic)
        return Rate(value, None, len(rows), interval)

    value = difference(sums)
    between = Rate(value, None, None, None if value is None else bootstrap(rows, difference))
    return side(0), side(size), between, swap_test(units, statistic)


def _share(sums: Sequence[float]) -> float | None:
    return ratio(sums[0], sums[1])
