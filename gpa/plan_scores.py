"""Scores of many plans: each by the seven metrics, and their means as tables, by planner and by kind of query."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from gpa.judges.plan_judge import Opinion
from gpa.plans.metrics import METRICS, POINTS, Metric, NoPairs, PlanScore
from gpa.plans.palette import Palette
from gpa.plans.plan_files import PlanRow
from gpa.plans.scoring import score_plan
from gpa.tables import Cell, Table

Rejected = Literal["zero", "exclude"]
T = TypeVar("T")


class _OfRow(Protocol):
    @property
    def row(self) -> PlanRow: ...


R = TypeVar("R", bound=_OfRow)
GROUPS = ("subjectivity", "compoundness", "steps", "hops")
"""Kinds of query that figures are given for, where rows say which."""
_ORDER = ("objective", "subjective", "simple", "compound", "1-2", "3-4", "5-15", "16+", "0", "1", "2", "3+")


class ScoredPlan(NamedTuple):
    """A plan and its score; None for one that is left out because the validator rejects it."""

    row: PlanRow
    score: PlanScore | None
    dropped: int = 0
    """Steps that a model named and the plan does not have."""


def score_rows(
    rows: Sequence[PlanRow],
    palette: Palette,
    *,
    opinions: Mapping[int, Opinion] | None = None,
    points: Mapping[Metric, float] = POINTS,
    no_pairs: NoPairs = "full",
    rejected: Rejected = "zero",
) -> list[ScoredPlan]:
    """The score of each row.

    Args:
        rows: Plans.
        palette: The tools they may use.
        opinions: What a model said, by the row's place.
        points: What each metric is worth.
        no_pairs: See `score_plan`.
        rejected: A plan that the validator rejects has no points, or is left out.
    """
    scored = []
    for place, row in enumerate(rows):
        opinion = (opinions or {}).get(place)
        if row.plan is None and rejected == "exclude":
            scored.append(ScoredPlan(row, None))
            continue
        score = score_plan(
            row.plan,
            palette,
            reference=row.reference,
            judged=opinion.judged if opinion else (),
            failed=opinion.failed if opinion else None,
            points=points,
            no_pairs=no_pairs,
            problems=row.rejected,
        )
        scored.append(ScoredPlan(row, score, opinion.dropped if opinion else 0))
    return scored


def lineage_rows(rows: Iterable[PlanRow]) -> Iterator[PlanRow]:
    """A row for every plan of every lineage, the weakest first, each with the query and reference of its row."""
    from msgspec.structs import replace

    for row in rows:
        for number, plan in enumerate(row.lineage, 1):
            groups = {name: value for name, value in row.groups.items() if name in GROUPS[:2] or row.reference}
            yield replace(row, id=f"{row.id}#{number}", plan=plan, rejected=(), lineage=(), groups=groups)


def tables(scored: Sequence[ScoredPlan]) -> list[Table]:
    """Means of all, per metric, per planner where there are several, and per kind of query."""
    counted = [one for one in scored if one.score is not None]
    found = [_metrics(counted)]
    planners = grouped(counted, lambda one: one.row.planner)
    if len(planners) > 1:
        found.append(_means("planners", "By planner", "planner", planners))
    for group in GROUPS:
        kinds = by_kind(counted, group)
        if len(kinds) > 1:
            found.append(_means(f"by_{group}", f"By {group} of the query", group, kinds))
    if len(scored) > 1:
        found.append(_plans(counted))
    if missing := _missing(counted):
        found.append(missing)
    return found


def by_kind(some: Iterable[R], group: str) -> dict[str, list[R]]:
    """Plans by the kind of their query (one of `GROUPS`)."""
    return grouped(some, lambda one: one.row.groups.get(group, ""))


def grouped(some: Iterable[T], key: Callable[[T], str]) -> dict[str, list[T]]:
    """Things by what they are, in an order that people expect; what is not known comes last."""
    groups: dict[str, list[T]] = defaultdict(list)
    for one in some:
        groups[key(one)].append(one)

    def place(name: str) -> tuple[bool, int, str]:
        return not name, _ORDER.index(name) if name in _ORDER else len(_ORDER), name

    return {name: groups[name] for name in sorted(groups, key=place)}


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of those that are known; None of none."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def to_plain(one: ScoredPlan) -> dict[str, Any]:
    """A scored plan as a JSON value."""
    row, score = one.row, one.score
    plain: dict[str, Any] = {"id": row.id, "place": row.place, "query": row.query, "planner": row.planner}
    if row.trace_id:
        plain["trace_id"] = row.trace_id
    if prompt := row.fields.get("prompt_type"):
        plain["prompt_type"] = str(prompt)
    plain |= {"groups": row.groups, "rejected": [str(problem) for problem in row.rejected]}
    if score is None:
        return {**plain, "score": None}
    metrics = [
        {
            "metric": metric.metric,
            "points": metric.points,
            "out_of": metric.out_of,
            "share": metric.share,
            "steps": metric.steps,
            "by": list(metric.by),
            "explanation": metric.explanation,
            "deductions": [{"step": one.step, "reason": one.reason, "by": one.by} for one in metric.deductions],
        }
        for metric in score.metrics
    ]
    return {**plain, "score": score.score, "metrics": metrics, "missing": score.missing, "dropped": one.dropped}


def _metrics(scored: Sequence[ScoredPlan]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for metric in METRICS:
        found = [one.score.metric(metric) for one in scored if one.score is not None]
        judged = [one for one in found if one is not None]
        rows.append(
            (
                name_of(metric),
                mean(one.points for one in judged),
                judged[0].out_of if judged else None,
                mean(one.share for one in judged),
                sum(len(one.deductions) for one in judged),
                len(judged),
                len(found) - len(judged),
            )
        )
    total = [one.score.score for one in scored if one.score is not None]
    known = [one for one in total if one is not None]
    rows.append(("score", mean(known), 100.0, (mean(known) or 0) / 100 if known else None, None, len(known), None))
    columns = ("metric", "points", "out of", "share", "deductions", "judged", "missing")
    return Table("metrics", "Metrics", columns, tuple(rows))


def _means(name: str, title: str, first: str, groups: Mapping[str, Sequence[ScoredPlan]]) -> Table:
    rows = [
        (
            group or "(not said)",
            len(some),
            mean(one.score.score for one in some if one.score),
            *(mean(_share(one, metric) for one in some) for metric in METRICS),
        )
        for group, some in groups.items()
    ]
    return Table(name, title, (first, "plans", "score", *map(short_name, METRICS)), tuple(rows))


def _plans(scored: Sequence[ScoredPlan]) -> Table:
    rows = [
        (one.row.id, one.score.score if one.score else None, *(_share(one, metric) for metric in METRICS))
        for one in scored
    ]
    return Table("plans", "Plans", ("plan", "score", *map(short_name, METRICS)), tuple(rows))


def _missing(scored: Sequence[ScoredPlan]) -> Table | None:
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for one in scored:
        for metric, why in (one.score.missing if one.score else {}).items():
            counts[name_of(metric), why] += 1
    rows = tuple((f"{metric}: {why}", count) for (metric, why), count in sorted(counts.items()))
    return Table("missing", "Not judged", ("why", "plans"), rows) if rows else None


def _share(one: ScoredPlan, metric: Metric) -> float | None:
    found = one.score.metric(metric) if one.score is not None else None
    return None if found is None else found.share


def short_name(metric: str) -> str:
    """The name for the head of a column: `alignment`."""
    return metric.rpartition("_")[2]


def name_of(metric: str) -> str:
    """A metric as people read it: `tool prompt alignment`."""
    return metric.replace("_", " ")
