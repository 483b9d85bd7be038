"""How long coverage takes: `python benchmarks/coverage.py [PLANS]`, 1,000 plans of 12 steps by default."""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

from gpa.plans.capabilities import load_mapping, load_registry
from gpa.plans.coverage import coverage
from gpa.plans.plan import Plan, PlanStep
from gpa.plans.requirements import Requirements, TimeAxis

STEPS = 12
TOOLS = Path(__file__).parent.parent / "fixtures/tools/data_analysis.toml"
COLUMNS = ("region", "product", "date", "channel", "store")


def main() -> None:
    """Print the time for all plans, and for one."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    registry, mapping = load_registry(TOOLS), load_mapping()
    chance = random.Random(7)
    plans = [Plan(tuple(step(n, registry.names, chance) for n in range(STEPS))) for _ in range(count)]
    asked = [
        Requirements(
            group_by=tuple(chance.sample(COLUMNS, 2)),
            time=TimeAxis("date"),
            analysis=tuple(chance.sample(sorted(mapping.analysis), 3)),
            outputs=("chart", "table"),
        )
        for _ in range(count)
    ]
    start = time.perf_counter()
    rates = [coverage(plan, one, registry, mapping).rate for plan, one in zip(plans, asked, strict=True)]
    took = time.perf_counter() - start
    print(f"{count} plans of {STEPS} steps: {took:.2f} s, {took / count * 1e6:.0f} us each")
    print(f"mean coverage {sum(rates) / count:.3f}")


def step(number: int, tools: tuple[str, ...], chance: random.Random) -> PlanStep:
    """A step with some tool that groups by some columns."""
    arguments = {"group_by": chance.sample(COLUMNS, 3), "x": "date", "y": "revenue"}
    return PlanStep(str(number + 1), chance.choice(tools), arguments=arguments)


if __name__ == "__main__":
    main()
