"""Maximum assignment: which rows and columns to pair, each at most once, so that the weights add up to the most.

The Hungarian method with potentials (Kuhn 1955; in the shortest augmenting path form of Jonker and Volgenant 1987), for
a handful of findings and gold errors at a time: scipy's would cost more to import than all of this does.
"""

from __future__ import annotations

from collections.abc import Mapping

Edge = tuple[int, int]


def maximum_assignment(weights: Mapping[Edge, float]) -> list[Edge]:
    """The (row, column) pairs of the heaviest assignment, sorted; only pairs that have a weight, which is positive.

    Between assignments of equal weight the one with more pairs wins.
    """
    rows = sorted({row for row, _ in weights})
    columns = sorted({column for _, column in weights})
    if len(rows) == len(weights) == len(columns):
        return sorted(weights)  # nobody competes
    if len(rows) > len(columns):
        return sorted((row, column) for column, row in maximum_assignment({(c, r): w for (r, c), w in weights.items()}))
    # What an unweighted pair costs is what it leaves on the table; a bit on every pair breaks ties towards more pairs.
    bonus = 1e-6 * max(weights.values())
    costs = [
        [-(weights[row, column] + bonus) if (row, column) in weights else 0.0 for column in columns] for row in rows
    ]
    return sorted(
        (rows[row], columns[column])
        for row, column in enumerate(_cheapest(costs))
        if (rows[row], columns[column]) in weights
    )


def _cheapest(costs: list[list[float]]) -> list[int]:
    """For each row its column in the cheapest assignment of all rows; there are at least as many columns."""
    height, width = len(costs), len(costs[0])
    row_potential, column_potential = [0.0] * (height + 1), [0.0] * (width + 1)
    owner = [0] * (width + 1)  # 1-based row of each column; column 0 holds the row being placed
    for row in range(1, height + 1):
        owner[0], column = row, 0
        shortest, via, done = [float("inf")] * (width + 1), [0] * (width + 1), [False] * (width + 1)
        while owner[column]:
            done[column] = True
            placed, step, following = owner[column], float("inf"), 0
            for other in range(1, width + 1):
                if done[other]:
                    continue
                reduced = costs[placed - 1][other - 1] - row_potential[placed] - column_potential[other]
                if reduced < shortest[other]:
                    shortest[other], via[other] = reduced, column
                if shortest[other] < step:
                    step, following = shortest[other], other
            for other in range(width + 1):
                if done[other]:
                    row_potential[owner[other]] += step
                    column_potential[other] -= step
                else:
                    shortest[other] -= step
            column = following
        while column:
            owner[column] = owner[via[column]]
            column = via[column]
    columns = [0] * height
    for column in range(1, width + 1):
        if owner[column]:
            columns[owner[column] - 1] = column - 1
    return columns
