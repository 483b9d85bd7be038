"""Plans as the tables of the public release of tool-aware planning: `queries.csv` and `plans.csv`.

Plans and lineages stand in their columns as JSON texts: steps by number, each `{"step": ..., "depends_on": [...]}`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from typing import IO

from gpa.plans.plan_files import PlanRow, length_group
from gpa.plans.plan_text import as_json, plain_plan

QUERIES = (
    "query_id",
    "Sample",
    "query",
    "is_query_subjective",
    "is_query_compound",
    "# steps in the BPP",
    "# steps in the BPP - Grouped",
    "best_plan",
    "plan_lineage",
)
"""Columns of `queries.csv`; BPP is the best possible plan."""
PLANS = ("query_id", "llm", "prompt_type", "plan")


def write_queries(rows: Iterable[PlanRow], file: IO[str]) -> int:
    """Write each query once, with its reference (or last plan of the lineage); the number of rows written."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(QUERIES)
    written: set[str] = set()
    for row in rows:
        best = row.reference or (row.lineage[-1] if row.lineage else row.plan)
        identity = _query_id(row)
        if best is None or identity in written:
            continue
        written.add(identity)
        writer.writerow(
            (
                identity,
                row.fields.get("Sample", ""),
                row.query,
                _flag(row, "subjectivity", "subjective"),
                _flag(row, "compoundness", "compound"),
                len(best),
                length_group(len(best)),
                as_json(plain_plan(best)),
                as_json([plain_plan(one) for one in row.lineage]),
            )
        )
    return len(written)


def write_plans(rows: Sequence[PlanRow], file: IO[str]) -> int:
    """Write every plan; one that could not be read as it stood. The number of rows written."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(PLANS)
    for row in rows:
        source = row.fields.get("plan", "")
        if row.plan is not None:
            source = plain_plan(row.plan)
        plan = source if isinstance(source, str) else as_json(source)
        planner = row.fields.get("llm", row.fields.get("planner", row.planner))
        writer.writerow((_query_id(row), planner, row.fields.get("prompt_type", ""), plan))
    return len(rows)


def _query_id(row: PlanRow) -> str:
    return str(row.fields.get("query_id", row.fields.get("id", row.id)))


def _flag(row: PlanRow, group: str, yes: str) -> str:
    said = row.groups.get(group)
    return "" if said is None else str(int(said == yes))
