"""How often `gpa compare` calls a dimension worse: when nothing changed (it should not), and when scores fell.

    python benchmarks/regression.py
    python benchmarks/regression.py --trials 1000 --drop 0.5

Cases differ in difficulty (a score of 0-3 each); each score of a case is off by one two times in five. A drop is one
point in that share of the cases. What is unchanged should be called better or worse one time in twenty at the most.
"""

from __future__ import annotations

import argparse
import random

from gpa.noise import Values, paired

DIFFICULTY = (0.15, 0.2, 0.25, 0.4)
WAVERING = (0.2, 0.6, 0.2)


def scores(rng: random.Random, level: int, repeats: int) -> list[float]:
    """What a judge gives a case of that level, over and over."""
    return [max(0, min(3, level + rng.choices((-1, 0, 1), WAVERING)[0])) for _ in range(repeats)]


def main() -> None:
    """Print one row for each number of cases and repeats."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--drop", type=float, default=1.0, help="share of cases that fall by one point")
    given = parser.parse_args()
    print(f"{'cases':>5} {'repeats':>7} {'worse, unchanged':>17} {'better, unchanged':>18} {'worse, dropped':>15}")
    for cases in (6, 10, 20, 60):
        for repeats in (1, 3):
            rng = random.Random(f"{cases}/{repeats}")
            unchanged, dropped = [], []
            for _ in range(given.trials):
                levels = rng.choices(range(4), DIFFICULTY, k=cases)
                falls = [rng.random() < given.drop for _ in levels]
                before = [scores(rng, level, repeats) for level in levels]
                after = [scores(rng, level, repeats) for level in levels]
                fallen = [scores(rng, level - fell, repeats) for level, fell in zip(levels, falls, strict=True)]
                unchanged.append(paired(list(map(Values, before, after))).verdict)
                dropped.append(paired(list(map(Values, before, fallen))).verdict)
            shares = [
                sum(verdict == wanted for verdict in found) / given.trials
                for found, wanted in ((unchanged, "worse"), (unchanged, "better"), (dropped, "worse"))
            ]
            print(f"{cases:>5} {repeats:>7} {shares[0]:>17.1%} {shares[1]:>18.1%} {shares[2]:>15.1%}")


if __name__ == "__main__":
    main()
