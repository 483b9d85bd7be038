"""Planning horizons of many traces: tables, two sets of runs compared in pairs, strata, and what they say of success.

`gpa.plans.horizon` measures one trace; here are the figures of the paper over many (arXiv 2605.08477, tables 2, 3, 5).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any, Literal, NamedTuple

import msgspec

from gpa.agreement import Rate, bootstrap, rate, sign_flip
from gpa.errors import UsageError
from gpa.ingest.transcript import Transcript
from gpa.plans.horizon import LABELS, Horizon, measure_horizon
from gpa.scored import Scored
from gpa.tables import Cell, Table

By = Literal["horizon", "depth", "breadth", "calls"]
"""What traces can be grouped by in the tables of `gpa score`."""

Figure = Callable[[Horizon], float | None]
FIGURES: dict[str, Figure] = {
    "calls": lambda one: one.calls,
    "mean horizon": lambda one: one.mean_horizon,
    "monitoring rate": lambda one: one.monitoring_rate,
    "replans": lambda one: len(one.replans),
    "after failure": lambda one: sum(replan.trigger == "failure" for replan in one.replans),
    "plan survival": lambda one: one.plan_survival,
    "depth": lambda one: one.depth or None,
    "breadth": lambda one: one.breadth or None,
    "repeats": lambda one: float(one.repeats) if one.calls else None,
    "redundancy": lambda one: one.redundancy,
    "failure rate": lambda one: one.failure_rate,
    "identical retries": lambda one: one.identical_retries,
    "input tokens": lambda one: one.tokens.input_tokens,
    "plan tokens": lambda one: one.tokens.plan_tokens,
    "observation tokens": lambda one: one.tokens.observation_tokens,
    "input per decision": lambda one: one.tokens.input_per_decision,
}
"""What is averaged over traces, in the order it is shown."""


class Outcome(NamedTuple):
    """One run for the regression."""

    question: str
    """Runs of one question are not independent: they form a cluster."""
    correct: bool
    single_step: bool
    depth: float
    breadth: float


def measured(transcripts: Iterable[Transcript]) -> list[Horizon]:
    """The horizon of each transcript."""
    return [measure_horizon(transcript) for transcript in transcripts]


def plain(horizon: Horizon) -> dict[str, Any]:
    """A horizon as JSON holds it, with the figures that follow from others."""
    shown: dict[str, Any] = msgspec.to_builtins(horizon)
    return shown | {
        "repeats": horizon.repeats,
        "redundancy": horizon.redundancy,
        "failure_rate": horizon.failure_rate,
        "replans_by_trigger": {
            trigger: sum(one.trigger == trigger for one in horizon.replans) for trigger in ("failure", "eager")
        },
    }


def tables(horizons: Sequence[Horizon]) -> tuple[Table, ...]:
    """The labels, the figures by label, and one row a trace."""
    by_label: dict[str, list[Horizon]] = {label: [] for label in LABELS}
    for one in horizons:
        by_label[one.label].append(one)
    groups = {label: several for label, several in by_label.items() if several} | {"all traces": list(horizons)}
    labels = tuple((label, rate(len(several), len(horizons))) for label, several in by_label.items())
    figures: tuple[tuple[Cell, ...], ...] = tuple(
        (name, len(several), *(_mean(figure(one) for one in several) for figure in FIGURES.values()))
        for name, several in groups.items()
    )
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (one.trace_id, one.label, one.calls, one.mean_horizon, one.monitoring_rate, len(one.replans))
        for one in horizons
    )
    return (
        Table("labels", "Planning horizon", ("label", "traces"), labels),
        Table("figures", "Means over traces", ("label", "traces", *FIGURES), figures, _ABOUT_FIGURES),
        Table(
            "traces",
            "Traces",
            ("trace", "label", "calls", "mean horizon", "monitoring", "replans"),
            rows,
        ),
    )


_ABOUT_FIGURES = (
    "mean horizon: calls per decision. monitoring rate: decisions per call. repeats: traces that make a call twice.",
    "depth, breadth: of the known dependencies between calls. Tokens: of the model calls that decide.",
)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def compare(
    first: Mapping[str, Sequence[Horizon]],
    second: Mapping[str, Sequence[Horizon]],
    correct: Mapping[str, bool] | None = None,
) -> tuple[Table, ...]:
    """The second set of runs against the first, question by question.

    Args:
        first: Question -> its runs; repeated runs of a question are averaged before they are compared.
        second: The same.
        correct: Trace id -> whether its answer was right; adds the accuracy.

    Raises:
        UsageError: the two have no question in common.
    """
    common = [question for question in first if question in second]
    if not common:
        raise UsageError("the two sets of runs have no question in common; what pairs them is --pair-by")
    figures = dict(FIGURES)
    if correct is not None:
        figures = {"accuracy": lambda one: float(correct[one.trace_id]) if one.trace_id in correct else None} | figures
    rows = tuple((name, *_paired(first, second, common, figure)) for name, figure in figures.items())
    columns = ("figure", "pairs", "first", "second", "second / first", "difference", "p")
    alone = f"{len(first) - len(common)} only in the first, {len(second) - len(common)} only in the second"
    notes = (
        f"{len(common)} questions in both; left out: {alone}.",
        "p: paired, by question (random signs). Repeated runs of a question are averaged first.",
    )
    return (Table("compare", "Two sets of runs", columns, rows, notes),)


def _paired(
    first: Mapping[str, Sequence[Horizon]],
    second: Mapping[str, Sequence[Horizon]],
    common: Sequence[str],
    figure: Figure,
) -> tuple[Cell, ...]:
    units: list[tuple[float, float, float]] = []
    for question in common:
        one, other = (_mean(figure(run) for run in runs[question]) for runs in (first, second))
        if one is not None and other is not None:
            units.append((one, other, 1.0))
    if not units:
        return 0, None, None, None, None, None
    before, after, count = (sum(column) for column in zip(*units, strict=True))

    def difference(sums: Sequence[float]) -> float | None:
        return (sums[1] - sums[0]) / sums[2] if sums[2] else None

    moved = Rate((after - before) / count, None, None, bootstrap(units, difference))
    p = sign_flip([other - one for one, other, _ in units])
    return len(units), before / count, after / count, after / before if before else None, moved, p


def stratum(horizon: Horizon, by: By) -> str:
    """The group that a trace belongs to."""
    if by == "horizon":
        return horizon.label
    if by == "depth":
        return _binned(horizon.depth, "depth", (1, 2, 3))
    if by == "calls":
        return _binned(horizon.calls, "calls", (1, 3, 6, 10))
    if not horizon.calls:
        return "breadth 0"
    return "breadth 1" if horizon.breadth <= 1 else "breadth to 2" if horizon.breadth <= 2 else "breadth over 2"


def _binned(value: int, name: str, bounds: Sequence[int]) -> str:
    """`depth 1`, `depth 4+`, `calls 2-3`."""
    if value <= 0:
        return f"{name} 0"
    low = 1
    for bound in bounds:
        if value <= bound:
            return f"{name} {low}" if low == bound else f"{name} {low}-{bound}"
        low = bound + 1
    return f"{name} {low}+"


def strata(horizons: Iterable[Horizon], by: By) -> dict[str, frozenset[str]]:
    """Group -> trace ids, in the order of the labels or of the numbers."""
    found: dict[str, set[str]] = defaultdict(set)
    for one in horizons:
        found[stratum(one, by)].add(one.trace_id)
    order: dict[str, int] = {label: at for at, label in enumerate(LABELS)}
    keys = sorted(found, key=lambda name: (order.get(name, 0), "over" in name, _digits(name)))
    return {name: frozenset(found[name]) for name in keys}


def _digits(name: str) -> int:
    return int("".join(character for character in name.partition("-")[0] if character.isdigit()) or 0)


def stratified(
    scored: Sequence[Scored], groups: Mapping[str, frozenset[str]], by: By, make: Callable[..., Sequence[Table]]
) -> tuple[Table, ...]:
    """The tables that `make` gives for the evaluations, once for each group of traces; rows are named by group.

    Args:
        scored: One evaluation, or two that are compared.
        groups: What `strata` gives. Groups without an annotated trace are left out.
        by: What they are groups of.
        make: Turns the evaluations, restricted to the traces of one group, into tables.
    """
    merged: dict[str, Table] = {}
    for group, trace_ids in groups.items():
        some = [_restricted(one, trace_ids) for one in scored]
        if not frozenset.intersection(*(frozenset(one.trace_ids) for one in some)):
            continue
        for table in make(*some):
            rows = tuple((f"{group}: {row[0]}", *row[1:]) for row in table.rows)
            known = merged.get(table.name)
            merged[table.name] = replace(
                table,
                name=f"{table.name}_by_{by}",
                title=f"{table.title}, by {by}",
                rows=(known.rows if known else ()) + rows,
            )
    return tuple(merged.values())


def _restricted(scored: Scored, trace_ids: frozenset[str]) -> Scored:
    judged = {
        key: {trace_id: one for trace_id, one in by_trace.items() if trace_id in trace_ids}
        for key, by_trace in scored.judged.items()
    }
    return replace(scored, judged={key: some for key, some in judged.items() if some})


def regress(runs: Sequence[Outcome]) -> Table:
    """The paper's topology regression: log odds of a right answer by depth, breadth, single step, and both with it.

    A logistic GEE whose errors allow for runs of one question being alike (sandwich estimate, independent working
    correlation); depth and breadth are standardised.

    Raises:
        UsageError: statsmodels is missing, or the runs cannot carry the model.
    """
    try:
        import numpy as np
        import statsmodels.api as sm
    except ImportError as error:
        raise UsageError("the regression needs statsmodels: pip install 'agent-gpa[stats]'") from error
    if len({run.correct for run in runs}) < 2 or len({run.question for run in runs}) < 3:
        raise UsageError("the regression needs right and wrong answers, on three questions at least")
    names, columns = _design(runs)
    design = np.column_stack([np.ones(len(runs)), *(np.asarray(column, dtype=float) for column in columns)])
    groups = np.asarray([sorted({run.question for run in runs}).index(run.question) for run in runs])
    order = np.argsort(groups, kind="stable")
    model = sm.GEE(
        np.asarray([float(run.correct) for run in runs])[order],
        design[order],
        groups=groups[order],
        family=sm.families.Binomial(),
        cov_struct=sm.cov_struct.Independence(),
    )
    fitted = model.fit(maxiter=200)
    rows: list[tuple[Cell, ...]] = []
    for name, value, spread, p in zip(("intercept", *names), fitted.params, fitted.bse, fitted.pvalues, strict=True):
        stars = "**" if p < 0.01 else "*" if p < 0.05 else ""
        rows.append((name, float(value), float(spread), float(p), stars))
    left_out = [name for name in ("depth", "breadth", "single step") if name not in names]
    questions = len(set(groups.tolist()))
    notes = [f"{len(runs)} runs of {questions} questions; errors clustered by question. * p < .05, ** p < .01"]
    notes += [f"left out, because it does not vary: {', '.join(left_out)}"] if left_out else []
    headings = ("term", "coefficient", "error", "p", "stars")
    return Table("regression", "Log odds of a right answer", headings, tuple(rows), tuple(notes))


def _design(runs: Sequence[Outcome]) -> tuple[list[str], list[list[float]]]:
    """The terms that vary and their values; a term that is always the same cannot be told from the intercept."""
    single = [float(run.single_step) for run in runs]
    terms = {
        "depth": _standardised([run.depth for run in runs]),
        "breadth": _standardised([run.breadth for run in runs]),
        "single step": single if len(set(single)) > 1 else None,
    }
    known = {name: values for name, values in terms.items() if values is not None}
    if "single step" in known:
        for name in ("depth", "breadth"):
            if name in known:
                known[f"{name} x single step"] = [a * b for a, b in zip(known[name], single, strict=True)]
    return list(known), list(known.values())


def _standardised(values: Sequence[float]) -> list[float] | None:
    mean = fmean(values)
    spread = (sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5
    return [(value - mean) / spread for value in values] if spread > 1e-12 else None
