"""Gold split in two by trace: one half to develop judges on, the other to measure them once.

Stratified by the gravest impact in a trace, so that both halves hold about the same share of each. A trace's place is
decided by a hash of seed and trace id, not by the order of the files: the same gold and seed give the same split.
"""

from __future__ import annotations

from collections import defaultdict
from hashlib import sha256

from gpa.errors import UsageError
from gpa.judges.gold import IMPACTS, Gold
from gpa.judges.verdict import DIMENSIONS
from gpa.tables import Cell, Table

SEED = 0


def split(gold: Gold, *, share: float = 0.5, seed: int = SEED) -> tuple[Gold, Gold]:
    """The gold of the dev traces and of the test traces; `share` of the traces of each impact go to dev.

    Raises `UsageError` when the share is not between 0 and 1.
    """
    if not 0 < share < 1:
        raise UsageError(f"share: expected a number between 0 and 1, found {share}")
    strata: dict[int, list[str]] = defaultdict(list)
    for trace_id, errors in gold.by_trace.items():
        strata[max((IMPACTS.index(error.impact) + 1 for error in errors if error.impact), default=0)].append(trace_id)
    dev: set[str] = set()
    seen = 0
    for stratum in sorted(strata, reverse=True):
        for trace_id in sorted(strata[stratum], key=lambda trace_id: sha256(f"{seed}/{trace_id}".encode()).digest()):
            seen += 1
            # As many as bring the running share nearest to the one asked for: rounding never adds up over strata.
            if int(seen * share + 0.5) > len(dev):
                dev.add(trace_id)
    return gold.of(dev), gold.of(trace_id for trace_id in gold.by_trace if trace_id not in dev)


def split_table(dev: Gold, test: Gold) -> Table:
    """What the two halves hold."""
    rows: list[tuple[Cell, ...]] = [("traces", len(dev.by_trace), len(test.by_trace))]
    rows.append(("errors", len(dev.errors), len(test.errors)))
    rows += [(name.lower(), *(sum(e.impact == name for e in gold.errors) for gold in (dev, test))) for name in IMPACTS]
    rows += [(code, *(sum(code in e.dimensions for e in gold.errors) for gold in (dev, test))) for code in DIMENSIONS]
    rows.append(("human scores", len(dev.scores), len(test.scores)))
    return Table("split", "Split by trace", ("", "dev", "test"), tuple(rows))
