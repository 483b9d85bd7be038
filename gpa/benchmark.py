"""The TRAIL benchmark (arXiv 2505.08638): its three numbers, what they leave out, and what trivial predictors get.

Two rules for a trace whose prediction is missing or unreadable: ours takes it for an empty one, the published scorer
leaves the trace out of every mean (`as_published`), which flatters.

Recall of locations says nothing by itself, so beside every figure stand those of two predictors that read nothing:
"every LLM span" cites all of them, always under the commonest gold category; "random LLM spans" makes the findings
that were made, at LLM spans drawn at random from the same trace (in expectation, so nothing is drawn).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from gpa.agreement import Decisions, Rate, bootstrap, clustered_rate, f_score, rate, ratio
from gpa.judges.gold import IMPACTS
from gpa.judges.trail import TrailError, benchmark_category
from gpa.judges.verdict import CATEGORIES
from gpa.tables import Cell, Table
from gpa.trail import Annotations, Case, Pair, Predictions


@dataclass(frozen=True)
class Figures:
    """What a set of predictions gets on a set of traces, each figure a mean over traces or a ratio of sums."""

    location: Rate
    joint: Rate
    weighted_f1: Rate
    location_precision: Rate
    joint_precision: Rate
    error_recall: Rate
    cited: float
    """Spans cited in a trace, on average."""


class Scored(NamedTuple):
    """A trace that is scored: gold, what was predicted, and its LLM spans where they are known."""

    case: Case
    pairs: frozenset[Pair]
    categories: frozenset[str]
    llm: frozenset[str]

    @property
    def spans(self) -> frozenset[str]:
        """Every span cited."""
        return frozenset(span for span, _ in self.pairs)


@dataclass(frozen=True)
class Benchmark:
    """Predictions scored on the annotated traces."""

    annotations: Annotations
    predictions: Predictions
    as_published: bool
    llm: Mapping[str, frozenset[str]] | None = None
    """LLM spans by trace, None when the traces are not at hand: then there are no trivial predictors."""

    @cached_property
    def scored(self) -> tuple[Scored, ...]:
        """The traces that count: all annotated ones, or by the published rule those with a readable prediction."""
        said = self.predictions
        return tuple(
            Scored(
                case,
                said.pairs.get(case.trace_id, frozenset()),
                said.categories.get(case.trace_id, frozenset()),
                (self.llm or {}).get(case.trace_id, frozenset()),
            )
            for case in self.annotations.cases
            if case.trace_id in said.pairs or not self.as_published
        )

    @property
    def missing(self) -> tuple[str, ...]:
        """Annotated traces without any prediction."""
        said = {*self.predictions.pairs, *self.predictions.unreadable}
        return tuple(case.trace_id for case in self.annotations.cases if case.trace_id not in said)

    @property
    def unreadable(self) -> tuple[str, ...]:
        """Annotated traces whose prediction cannot be read."""
        known = {case.trace_id for case in self.annotations.cases}
        return tuple(trace_id for trace_id in self.predictions.unreadable if trace_id in known)

    def figures(self) -> Figures:
        """The predictions' own figures."""
        return _figures(self.scored, _found)

    def every_llm_span(self) -> Figures | None:
        """What citing every LLM span under the commonest gold category gets."""
        if self.llm is None:
            return None
        name = self.commonest
        trivial = [
            scored._replace(
                pairs=frozenset((span, name) for span in scored.llm), categories=frozenset({name} if scored.llm else ())
            )
            for scored in self.scored
        ]
        return _figures(trivial, _found)

    def random_llm_spans(self) -> Figures | None:
        """What the same findings get at random LLM spans of their traces, in expectation."""
        return None if self.llm is None else _figures(self.scored, _expected)

    @property
    def commonest(self) -> str:
        """The gold category with the most errors."""
        counts = Counter(benchmark_category(error.category) for scored in self.scored for error in scored.case.errors)
        return min(counts, key=lambda name: (-counts[name], name), default=CATEGORIES[0])

    def tables(self) -> tuple[Table, ...]:
        """The three numbers, then locations per category and per impact."""
        return (self._summary(), *(self._split(name, title, of) for name, title, of in _SPLITS))

    def _summary(self) -> Table:
        own, every, drawn = self.figures(), self.every_llm_span(), self.random_llm_spans()
        rows: list[tuple[Cell, ...]] = [
            (
                label,
                getattr(own, name),
                getattr(every, name) if every else None,
                _share(getattr(drawn, name)) if drawn else None,
            )
            for name, label in _LABELS.items()
        ]
        rule = (
            "Rule: as published; a missing or unreadable prediction is left out."
            if self.as_published
            else "Rule: a missing or unreadable prediction is an empty one."
        )
        trivial = (
            f"Every LLM span: all of them, as {self.commonest}. Random LLM spans: the same findings at LLM spans drawn"
            " at random, in expectation."
            if self.llm is not None
            else "Trivial predictors are not shown: they need the traces (--data, or --traces)."
        )
        without = len(self.scored) - sum(bool(scored.llm) for scored in self.scored)
        lacking = f" {without} of these traces are not at hand and count as without LLM spans." if without else ""
        return Table(
            "trail",
            f"TRAIL: {self.predictions.name}, {len(self.scored)} traces",
            ("figure", "predictions", "every LLM span", "random LLM spans"),
            tuple(rows),
            (
                f"{rule} Missing: {len(self.missing)}, unreadable: {len(self.unreadable)}.",
                trivial + (lacking if self.llm is not None else ""),
            ),
        )

    def _split(self, name: str, title: str, of: Callable[[TrailError], str]) -> Table:
        """Gold errors whose span is cited, by a property of theirs."""
        groups: dict[str, list[tuple[TrailError, Scored]]] = defaultdict(list)
        for scored in self.scored:
            for error in scored.case.errors:
                groups[of(error)].append((error, scored))
        rows: list[tuple[Cell, ...]] = []
        order = {label: number for number, label in enumerate((*reversed(IMPACTS), *CATEGORIES))}
        for label, members in sorted(groups.items(), key=lambda group: (order.get(group[0], 99), group[0])):
            total = len(members)
            named = sum((error.location, benchmark_category(error.category)) in s.pairs for error, s in members)
            every: Cell = None
            drawn: Cell = None
            if self.llm is not None:
                every = rate(sum(error.location in scored.llm for error, scored in members), total)
                drawn = sum(_chance(scored, error.location) for error, scored in members) / total
            hit = sum(error.location in scored.spans for error, scored in members)
            rows.append((label, rate(hit, total), rate(named, total), every, drawn))
        columns = (name, "span cited", "span and category", "every LLM span", "random LLM spans")
        return Table(f"trail_{name}", title, columns, tuple(rows))


_LABELS = {
    "location": "location accuracy",
    "joint": "joint accuracy",
    "weighted_f1": "weighted F1 of categories",
    "location_precision": "location precision",
    "joint_precision": "pair precision",
    "error_recall": "errors whose span is cited",
    "cited": "spans cited per trace",
}
_SPLITS: tuple[tuple[str, str, Callable[[TrailError], str]], ...] = (
    ("impact", "Gold errors by impact", lambda error: error.impact.strip().upper() or "(none)"),
    ("category", "Gold errors by category", lambda error: benchmark_category(error.category)),
)


class _Tally(NamedTuple):
    """What a trace adds up to; expected numbers of hits for a random predictor."""

    location: float
    joint: float
    spans: float
    pairs: float
    cited: float
    named: float
    hit: float
    errors: float


def _found(scored: Scored) -> _Tally:
    gold, spans = scored.case, scored.spans
    return _tally(
        scored,
        spans=len(gold.spans & spans),
        pairs=len(gold.pairs & scored.pairs),
        hit=sum(error.location in spans for error in gold.errors),
    )


def _expected(scored: Scored) -> _Tally:
    """The tally when each category's findings stand at as many LLM spans drawn at random."""
    gold, llm = scored.case, scored.llm
    named = Counter(category for _, category in scored.pairs)
    truth = Counter(category for span, category in gold.pairs if span in llm)
    share = min(1.0, len(scored.spans) / len(llm)) if llm else 0.0
    return _tally(
        scored,
        spans=share * len(gold.spans & llm),
        pairs=sum(min(count, len(llm)) * truth[category] / len(llm) for category, count in named.items()) if llm else 0,
        hit=share * sum(error.location in llm for error in gold.errors),
    )


def _chance(scored: Scored, location: str) -> float:
    return min(1.0, len(scored.spans) / len(scored.llm)) if location in scored.llm else 0.0


def _tally(scored: Scored, *, spans: float, pairs: float, hit: float) -> _Tally:
    gold = scored.case
    return _Tally(
        location=spans / len(gold.spans) if gold.spans else 0.0,
        joint=pairs / len(gold.pairs) if gold.pairs else 0.0,
        spans=spans,
        pairs=pairs,
        cited=len(scored.spans),
        named=len(scored.pairs),
        hit=hit,
        errors=len(gold.errors),
    )


def _figures(scored: Sequence[Scored], tally: Callable[[Scored], _Tally]) -> Figures:
    tallies = [tally(one) for one in scored]

    def of(top: str, bottom: str) -> Rate:
        units = [(getattr(one, top), getattr(one, bottom)) for one in tallies]
        return _ratio(units)

    n = len(tallies)
    return Figures(
        location=_mean([(one.location, 1.0) for one in tallies]),
        joint=_mean([(one.joint, 1.0) for one in tallies]),
        weighted_f1=_weighted_f1(scored),
        location_precision=of("spans", "cited"),
        joint_precision=of("pairs", "named"),
        error_recall=of("hit", "errors"),
        cited=sum(one.cited for one in tallies) / n if n else 0.0,
    )


def _ratio(units: Sequence[tuple[float, float]]) -> Rate:
    """A ratio of sums over traces; with its counts where they are whole."""
    if all(float(cell).is_integer() for unit in units for cell in unit):
        return clustered_rate(units)
    return _mean(units)


def _mean(units: Sequence[tuple[float, float]]) -> Rate:
    top, bottom = sum(unit[0] for unit in units), sum(unit[1] for unit in units)
    interval = bootstrap(units, lambda sums: ratio(sums[0], sums[1]))
    return Rate(ratio(top, bottom), None, int(bottom), interval)


def _weighted_f1(scored: Sequence[Scored]) -> Rate:
    """F1 of each category's presence in a trace, weighted by the traces it is in."""
    units = []
    for one in scored:
        truth = {benchmark_category(error.category) for error in one.case.errors}
        cells: list[float] = []
        for name in CATEGORIES:
            expected, named = name in truth, name in one.categories
            cells += [expected and named, named and not expected, expected and not named]
        units.append(cells)

    def statistic(sums: Sequence[float]) -> float | None:
        total = weighted = 0.0
        for at in range(0, len(sums), 3):
            decisions = Decisions(*sums[at : at + 3])
            support = decisions.tp + decisions.fn
            total += support
            weighted += support * (f_score(decisions) or 0.0)
        return weighted / total if total else None

    sums = [sum(column) for column in zip(*units, strict=True)]
    return Rate(statistic(sums) if sums else None, None, len(units), bootstrap(units, statistic))


def _share(cell: Rate | float) -> Cell:
    """An expected figure without an interval: nothing was drawn."""
    return cell if isinstance(cell, float) else Rate(cell.value, None, cell.total)
