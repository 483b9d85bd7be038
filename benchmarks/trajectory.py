"""How long it takes to score trajectories, and to measure planning horizons.

    python benchmarks/trajectory.py            10,000 pairs of trajectories, users of several, and clean-up of outputs
    python benchmarks/trajectory.py PATH...    the horizons of the traces in PATH...

Trajectories are drawn with a fixed seed: 12 calls of 20 tools with up to three parameters, the predicted one a gold
one with a few calls dropped, doubled, swapped or changed.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable

from gpa.ingest.assembly import read_traces
from gpa.ingest.transcript import transcribe
from gpa.plans.calls import ToolCall, Trajectory
from gpa.plans.cleaning import clean
from gpa.plans.differences import differences
from gpa.plans.horizon import measure_horizon
from gpa.plans.trajectory import compare_trajectories

PAIRS = 10_000
LENGTH = 12


def drawn(draw: random.Random) -> Trajectory:
    """A gold trajectory."""
    return tuple(
        ToolCall(f"tool_{draw.randrange(20)}", {f"p{n}": draw.randrange(1_000) for n in range(draw.randrange(4))})
        for _ in range(LENGTH)
    )


def damaged(gold: Trajectory, draw: random.Random) -> Trajectory:
    """The trajectory with a few mistakes."""
    made = list(gold)
    for _ in range(draw.randrange(4)):
        at = draw.randrange(len(made))
        mistake = draw.choice(("drop", "double", "swap", "change"))
        if mistake == "drop" and len(made) > 1:
            del made[at]
        elif mistake == "double":
            made.insert(at, made[at])
        elif mistake == "swap":
            other = draw.randrange(len(made))
            made[at], made[other] = made[other], made[at]
        else:
            made[at] = ToolCall(made[at].tool, {**made[at].arguments, "p0": "changed"})
    return tuple(made)


def timed(what: str, count: int, work: Callable[[], object]) -> None:
    """Print what the work took."""
    begun = time.perf_counter()
    work()
    took = time.perf_counter() - begun
    print(f"{what:<52} {count:>7} in {took:6.2f} s, {1e6 * took / count:8.1f} us each")


def score() -> None:
    """Time the metrics."""
    draw = random.Random(1)
    gold = [drawn(draw) for _ in range(PAIRS)]
    predicted = [damaged(one, draw) for one in gold]
    sides = list(zip(gold, predicted, strict=True))
    timed("pairs, all metrics", PAIRS, lambda: [compare_trajectories([one], [other]) for one, other in sides])
    timed("pairs, tagged differences", PAIRS, lambda: [differences(one, other) for one, other in sides])
    users = [(gold[at : at + 8], predicted[at : at + 8]) for at in range(0, PAIRS, 8)]
    timed(
        "users with 8 x 8 trajectories, aligned",
        len(users),
        lambda: [compare_trajectories(one, other) for one, other in users],
    )
    soft = [([gold[at], *(damaged(gold[at], draw) for _ in range(23))], [predicted[at]]) for at in range(500)]
    timed(
        "traces against 24 gold trajectories",
        len(soft),
        lambda: [compare_trajectories(one, other) for one, other in soft],
    )
    texts = [
        "```json\n" + json.dumps([[{"tool_name": c.tool, "tool_input": c.arguments} for c in one]])[:-1] + ",]\n```"
        for one in gold[:1_000]
    ]
    timed("outputs cleaned", len(texts), lambda: [clean(text) for text in texts])


def horizons(paths: list[str]) -> None:
    """Time the horizons of recorded traces."""
    found = [transcribe(trace) for trace in read_traces(paths, on_problem=lambda _: None)]
    timed("horizons", len(found), lambda: [measure_horizon(one) for one in found])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        horizons(sys.argv[1:])
    else:
        score()
