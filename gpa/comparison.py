"""Two evaluations of the same traces against the same gold: is the second one better?

Paired by trace: what makes a trace hard is the same for both. Each difference has an interval (bootstrap by trace) and
the p of a paired test; errors of one trace are not independent, so the test by trace (random signs) is the one to go
by, and McNemar's on single errors stands beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpa.agreement import Decisions, Interval, Rate, bootstrap, f_score, mcnemar, rate, sign_flip
from gpa.errors import UsageError
from gpa.scored import Measure, Scored
from gpa.tables import Cell, Table

ALPHA = 0.05


def compare(first: Scored, second: Scored) -> tuple[Table, ...]:
    """The second against the first, on the traces that both have.

    Raises `UsageError` when they have no annotated trace in common.
    """
    if not set(first.trace_ids) & set(second.trace_ids):
        raise UsageError("the two evaluations have no annotated trace in common")
    judges = [judge for judge in first.judges if judge in second.judges]
    measures: tuple[Measure, ...] = ("caught", "localised")
    return (*(_recalls(first, second, judges, measure) for measure in measures), _quality(first, second, judges))


def comparison_notes(first: Scored, second: Scored) -> tuple[str, ...]:
    """What was left out, and how to read the tables."""
    both = set(first.trace_ids) & set(second.trace_ids)
    only = [len(set(one.trace_ids) - both) for one in (first, second)]
    return (
        f"{len(both)} annotated traces in both; left out: {only[0]} only in the first, {only[1]} only in the second.",
        "p: paired, by trace (random signs); `better` and `worse` mean p < 0.05 and an interval without 0.",
        "With several judges, one comparison in twenty looks like that by chance.",
    )


def _recalls(first: Scored, second: Scored, judges: Sequence[str], measure: Measure) -> Table:
    rows = [_union_row(first, second, measure)]
    for judge in judges:
        pairs = _paired(first, second, judge, measure)
        units = [(one.tp, other.tp, one.tp + one.fn) for one, other in pairs]
        changed = _changed(first, second, judge, measure)
        rows.append((judge, *_recall_cells(units), *changed, mcnemar(*changed), *_verdict(units)))
    columns = ("judge", "first", "second", "difference", "lost", "won", "McNemar p", "p", "second is")
    return Table(f"compare_{measure}", f"Recall of gold errors {measure}", columns, tuple(rows))


def _union_row(first: Scored, second: Scored, measure: Measure) -> tuple[Cell, ...]:
    units: list[tuple[float, float, float]] = []
    lost = won = 0
    for trace_id in first.trace_ids:
        if trace_id in set(second.trace_ids):
            one, other = (scored.caught_by_any(trace_id)[measure] for scored in (first, second))
            units.append((len(one), len(other), len(first.gold.by_trace[trace_id])))
            lost, won = lost + len(one - other), won + len(other - one)
    return ("all together", *_recall_cells(units), lost, won, mcnemar(lost, won), *_verdict(units))


def _recall_cells(units: Sequence[tuple[float, float, float]]) -> tuple[Cell, ...]:
    one, other, total = (int(sum(column)) for column in zip(*units, strict=True)) if units else (0, 0, 0)
    return rate(one, total), rate(other, total), _difference(units)


def _difference(units: Sequence[tuple[float, float, float]]) -> Rate:
    def statistic(sums: Sequence[float]) -> float | None:
        return (sums[1] - sums[0]) / sums[2] if sums[2] else None

    sums = [sum(column) for column in zip(*units, strict=True)]
    return Rate(statistic(sums) if sums else None, None, None, bootstrap(units, statistic))


def _verdict(units: Sequence[tuple[float, float, float]]) -> tuple[Cell, ...]:
    p = sign_flip([other - one for one, other, _ in units])
    return p, _said(_difference(units), p)


def _said(difference: Rate, p: float | None) -> str:
    if p is None or p >= ALPHA or difference.interval is None or _holds_zero(difference.interval):
        return "not shown to differ"
    return "better" if (difference.value or 0.0) > 0 else "worse"


def _holds_zero(interval: Interval) -> bool:
    return interval.low <= 0.0 <= interval.high


def _quality(first: Scored, second: Scored, judges: Sequence[str]) -> Table:
    """F1 on (error, judge) decisions, precision of findings, and mean scores."""
    rows: list[tuple[Cell, ...]] = []
    for judge in judges:
        pairs = _paired(first, second, judge, "caught")
        f1: tuple[Cell, ...] = (None, None, None)
        if not first.own_dimension_only:
            units = [(*one[:3], *other[:3]) for one, other in pairs]
            f1 = _both(units, lambda counts: f_score(Decisions(*counts)), 3)
        rows.append((judge, *f1, *_both(_findings(first, second, judge), _share, 2), *_scores(first, second, judge)))
    columns = (
        "judge",
        *(f"{figure}, {side}" for figure in ("F1", "findings true") for side in ("first", "second", "difference")),
        *("mean score, first", "mean score, second", "score difference", "score p"),
    )
    return Table("compare_quality", "F1, precision of findings, mean score", columns, tuple(rows))


def _both(
    units: Sequence[Sequence[float]], statistic: Callable[[Sequence[float]], float | None], width: int
) -> tuple[Cell, ...]:
    """A statistic of the first half of the columns, of the second, and the difference with its interval."""

    def difference(sums: Sequence[float]) -> float | None:
        one, other = statistic(sums[:width]), statistic(sums[width:])
        return None if one is None or other is None else other - one

    sums = [sum(column) for column in zip(*units, strict=True)]
    if not sums:
        return None, None, None
    value = difference(sums)
    interval = bootstrap(units, difference) if value is not None else None
    return statistic(sums[:width]), statistic(sums[width:]), Rate(value, None, None, interval)


def _share(counts: Sequence[float]) -> float | None:
    return counts[0] / counts[1] if counts[1] else None


def _findings(first: Scored, second: Scored, judge: str) -> list[tuple[float, ...]]:
    units: list[tuple[float, ...]] = []
    for trace_id in first.trace_ids:
        one, other = first.of(judge).get(trace_id), second.of(judge).get(trace_id)
        if one is not None and other is not None and one.kind == other.kind == "verdict":
            units.append((one.true_own, one.findings, other.true_own, other.findings))
    return units


def _scores(first: Scored, second: Scored, judge: str) -> tuple[Cell, ...]:
    """Mean scores on traces that both scored, annotated or not."""
    units = []
    for trace_id, one in first.of(judge).items():
        other = second.of(judge).get(trace_id)
        if other is not None and one.score is not None and other.score is not None:
            units.append((one.score, other.score, 1.0))
    sums = [sum(column) for column in zip(*units, strict=True)]
    means: tuple[Cell, ...] = (sums[0] / sums[2], sums[1] / sums[2]) if sums else (None, None)
    return *means, _difference(units), sign_flip([other - one for one, other, _ in units])


def _paired(first: Scored, second: Scored, judge: str, measure: Measure) -> list[tuple[Decisions, Decisions]]:
    one, other = first.decisions(judge, measure), second.decisions(judge, measure)
    return [(one[trace_id], other[trace_id]) for trace_id in one if trace_id in other]


def _changed(first: Scored, second: Scored, judge: str, measure: Measure) -> tuple[int, int]:
    """Mapped errors that only the first has, and only the second."""
    lost = won = 0
    for trace_id, one in first.of(judge).items():
        other = second.of(judge).get(trace_id)
        errors = first.gold.by_trace.get(trace_id)
        if other is None or errors is None:
            continue
        mapped = {number for number, error in enumerate(errors) if judge in error.dimensions}
        before, after = (
            mapped & set(judged.caught if measure == "caught" else judged.localised) for judged in (one, other)
        )
        lost, won = lost + len(before - after), won + len(after - before)
    return lost, won
