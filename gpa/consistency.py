"""Scores against people's, against repeated runs of the same judge, and of one dimension against another.

Only scores are compared: "not applicable" and failed judgements are no scores, and are counted beside.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple, TypeVar

from gpa.agreement import (
    Matrix,
    Rate,
    agreement,
    bootstrap,
    cohen_kappa,
    coincidences,
    confusion,
    cosine,
    deviation,
    jaccard,
    krippendorff_alpha,
    merged,
    normalised_error,
    pearson,
    phi,
    rate,
)
from gpa.errors import UsageError
from gpa.judges.gold import Gold
from gpa.judges.verdict import DIMENSIONS, Verdict
from gpa.recall import Results, opened
from gpa.tables import Cell, Table

T = TypeVar("T")

SIZE = 4
"""Scores are 0, 1, 2, 3."""
THREE_POINT = (0, 1, 1, 2)
TWO_POINT = (0, 0, 0, 1)
"""An error of any gravity, or none."""

Embed = Callable[[Sequence[str]], Sequence[Sequence[float]]]
"""Texts to vectors, by a model."""
Alike = Callable[[Sequence[Sequence[str]]], Sequence[float]]
"""For each group of texts their mean pairwise cosine similarity."""


class Said(NamedTuple):
    """What one sample of a judge said of a trace."""

    score: int | None
    """None: not applicable or failed."""
    kind: str
    rationale: str = ""


@dataclass
class Scores:
    """All scores of an evaluation: judge -> trace -> sample."""

    by_judge: dict[str, dict[str, dict[int, Said]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(dict))
    )
    alike: Alike | None = None
    vectors: str = ""
    """How rationales become vectors, for the notes."""

    @property
    def judges(self) -> tuple[str, ...]:
        """Those with results, dimensions first."""
        return tuple(code for code in DIMENSIONS if code in self.by_judge) + tuple(
            sorted(self.by_judge.keys() - DIMENSIONS.keys())
        )

    @property
    def samples(self) -> int:
        """Most samples that any judge has of a trace."""
        return max((len(runs) for traces in self.by_judge.values() for runs in traces.values()), default=0)

    def with_people(self, gold: Gold, sample: int = 0) -> tuple[Table, ...]:
        """Agreement with human scores (Tables 4, 10, 19-21): shares, then statistics that allow for chance."""
        people: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        for score in gold.scores:
            people[score.judge][score.trace_id].append(score.score)
        shares: list[tuple[Cell, ...]] = []
        statistics: list[tuple[Cell, ...]] = []
        for judge in [code for code in self.judges if code in people]:
            said = {t: runs[sample] for t, runs in self.by_judge[judge].items() if sample in runs}
            pairs = [
                [(human, said[t].score or 0) for human in scores]
                for t, scores in people[judge].items()
                if t in said and said[t].score is not None
            ]
            without = Counter(said[t].kind for t in people[judge] if t in said and said[t].score is None)
            counts = confusion((pair for trace in pairs for pair in trace), SIZE)
            ratings = [
                (*scores, said[t].score or 0)
                for t, scores in people[judge].items()
                if t in said and said[t].score is not None
            ]
            error = _figure(_tables_of(pairs), _of_table(normalised_error, SIZE))
            shares.append((judge, *_shares(counts), error, without["not_applicable"], without["failure"]))
            statistics.append((judge, *_statistics(pairs, ratings)))
        rows = tuple(shares)
        columns = ("judge", "same score", "off by one", "3-point", "2-point", "NMAE", "n/a", "failed")
        chance = (
            "judge",
            "correlation",
            "kappa",
            "kappa, linear",
            "kappa, quadratic",
            "alpha, ordinal",
            "alpha, interval",
        )
        return (
            Table(
                "people",
                "Agreement with human scores",
                columns,
                rows,
                (
                    "Off by one: at most 1 apart on 0-3. 3-point: 1 and 2 are one class. 2-point: 3, or any error.",
                    "n/a and failed: traces with a human score and none of the judge; not counted.",
                ),
            ),
            Table(
                "people_chance",
                "Agreement with human scores beyond chance",
                chance,
                tuple(statistics),
                ("Correlation: Pearson. Kappa: Cohen's. Alpha: Krippendorff's. Intervals: bootstrap by trace.",),
            ),
        )

    def over_samples(self) -> tuple[Table, ...]:
        """How stable each judge is over repeated runs (Table 7, Figures 2, 5, 6)."""
        rows: list[tuple[Cell, ...]] = []
        for judge in self.judges:
            traces = self.by_judge[judge]
            runs = [[one.score for one in said.values() if one.score is not None] for said in traces.values()]
            rated = [scores for scores in runs if len(scores) > 1]
            mixed = sum(0 < len(scores) < len(said) for scores, said in zip(runs, traces.values(), strict=True))
            units = [coincidences(scores, SIZE) for scores in rated]
            value = (
                krippendorff_alpha([sum(column) for column in zip(*units, strict=True)], "interval") if units else None
            )
            interval = (
                bootstrap(units, lambda sums: krippendorff_alpha(sums, "interval")) if value is not None else None
            )
            rows.append(
                (
                    judge,
                    len(rated),
                    max(map(len, rated), default=0),
                    Rate(value, None, None, interval),
                    _mean([deviation(scores) for scores in rated]),
                    rate(sum(len(set(scores)) == 1 for scores in rated), len(rated)),
                    _mean(self.alike(_rationales(traces))) if self.alike else None,
                    mixed,
                )
            )
        columns = (
            "judge",
            "traces",
            "samples",
            "alpha",
            "mean std",
            "all the same",
            "SCI",
            "mixed",
        )
        notes = (
            "Alpha: Krippendorff's, interval, over traces with at least two scores. Intervals: bootstrap by trace.",
            "Mean std: the standard deviation (population) of a trace's scores, averaged over traces.",
            f"SCI: mean pairwise cosine similarity of the rationales ({self.vectors or 'not computed'}).",
            "Mixed: traces with a score in some samples and none in others.",
        )
        return (Table("samples", "Consistency over samples", columns, tuple(rows), notes),)

    def between_dimensions(self, sample: int = 0) -> tuple[Table, ...]:
        """Whether dimensions fail together (Tables 22-25), on "any failure" (a score below 3) per trace."""
        failing = {
            judge: {
                trace_id: int(one.score < SIZE - 1)
                for trace_id, runs in self.by_judge[judge].items()
                if (one := runs.get(sample)) is not None and one.score is not None
            }
            for judge in self.judges
        }
        return orthogonality(failing, "the judges' scores")


def read_scores(
    evaluation: Results, *, model: str | None = None, alike: Alike | None = None, vectors: str = ""
) -> Scores:
    """The scores of an evaluation; rationales are kept only when they are to be compared.

    Raises `UsageError` when there is none, or several models judged the same.
    """
    scores = Scores(alike=alike, vectors=vectors)
    models: dict[tuple[str, str, int], str] = {}
    with opened(evaluation) as results:
        for result in results:
            if model is not None and result.model != model:
                continue
            key = (result.judge, result.trace_id, result.sample)
            if models.setdefault(key, result.model) != result.model:
                names = ", ".join(sorted({models[key], result.model}))
                raise UsageError(f"judge {result.judge} has results of several models ({names}): choose one (--model)")
            scores.by_judge[result.judge][result.trace_id][result.sample] = (
                Said(result.score, result.type, result.rationale if alike else "")
                if isinstance(result, Verdict)
                else Said(None, result.type)
            )
    if not scores.by_judge:
        raise UsageError("no results" + (f" of model {model!r}" if model else "") + " in the evaluation")
    return scores


def orthogonality(failing: Mapping[str, Mapping[str, int]], what: str) -> tuple[Table, ...]:
    """Four matrices of dimensions x dimensions over traces that both have a label for: 1 failed, 0 did not."""
    cells: dict[tuple[str, str, str], Rate] = {}
    for one, other in combinations(failing, 2):
        shared = [trace_id for trace_id in failing[one] if trace_id in failing[other]]
        units = [[cell for row in confusion([(failing[one][t], failing[other][t])], 2) for cell in row] for t in shared]
        for name, statistic in _PAIRWISE.items():
            figure = _figure(units, _of_table(statistic, 2))
            cells[name, one, other] = cells[name, other, one] = figure
    found: dict[str, list[tuple[Cell, ...]]] = {
        name: [(one, *(cells.get((name, one, other)) for other in failing)) for one in failing] for name in _PAIRWISE
    }
    note = f"Traces in which both fail or not, by {what}; a value near 0 means that they fail independently."
    return tuple(
        Table(
            f"orthogonality_{name}",
            f"Dimensions against each other: {_TITLES[name]}",
            ("", *failing),
            tuple(rows),
            (note,),
        )
        for name, rows in found.items()
    )


def gold_failures(gold: Gold) -> dict[str, dict[str, int]]:
    """For each dimension whether a trace has a gold error of it."""
    codes = [code for code in DIMENSIONS if any(code in error.dimensions for error in gold.errors)]
    return {
        code: {t: int(any(code in error.dimensions for error in errors)) for t, errors in gold.by_trace.items()}
        for code in codes
    }


def embedded(embed: Embed) -> Alike:
    """Similarity by the vectors of an embedding model, which is given all texts at once."""

    def alike(groups: Sequence[Sequence[str]]) -> list[float]:
        vectors = iter(embed([text for texts in groups for text in texts]))
        return [_pairwise([[float(x) for x in next(vectors)] for _ in texts], cosine) for texts in groups]

    return alike


def lexical(groups: Sequence[Sequence[str]]) -> list[float]:
    """Similarity of words, weighted by how few of all texts have them (TF-IDF): for SCI without an embedding model."""
    bags = [[Counter(re.findall(r"\w+", text.lower())) for text in texts] for texts in groups]
    having = Counter(word for texts in bags for bag in texts for word in bag)
    total = sum(map(len, groups))
    weight = {word: math.log((1 + total) / (1 + count)) + 1 for word, count in having.items()}

    def similarity(one: Mapping[str, float], other: Mapping[str, float]) -> float:
        words = sorted({*one, *other})
        return cosine([one.get(word, 0.0) for word in words], [other.get(word, 0.0) for word in words])

    weighted = [[{word: n * weight[word] for word, n in bag.items()} for bag in texts] for texts in bags]
    return [_pairwise(texts, similarity) for texts in weighted]


def _pairwise(items: Sequence[T], similarity: Callable[[T, T], float]) -> float:
    pairs = [similarity(one, other) for one, other in combinations(items, 2)]
    return sum(pairs) / len(pairs)


def _rationales(traces: Mapping[str, Mapping[int, Said]]) -> list[list[str]]:
    """The rationales of each trace that has several."""
    texts = [[one.rationale for one in said.values() if one.rationale] for said in traces.values()]
    return [some for some in texts if len(some) > 1]


def _alpha_of_table(counts: Matrix) -> float | None:
    """Alpha of two raters from their 2x2 table."""
    both = counts[0][1] + counts[1][0]
    return krippendorff_alpha([2 * counts[0][0], both, both, 2 * counts[1][1]], "nominal")


_PAIRWISE: dict[str, Callable[[Matrix], float | None]] = {
    "alpha": _alpha_of_table,
    "kappa": cohen_kappa,
    "jaccard": jaccard,
    "phi": phi,
}
_TITLES = {"alpha": "Krippendorff's alpha", "kappa": "Cohen's kappa", "jaccard": "Jaccard", "phi": "phi"}


def _shares(counts: Matrix) -> tuple[Cell, ...]:
    total = int(sum(map(sum, counts)))

    def share(of: Matrix, within: int = 0) -> Rate:
        value = agreement(of, within)
        return rate(round(value * total), total) if value is not None else Rate(None, 0, 0)

    return (
        share(counts),
        share(counts, 1),
        share(merged(counts, THREE_POINT)),
        share(merged(counts, TWO_POINT)),
    )


def _statistics(pairs: Sequence[Sequence[tuple[int, int]]], ratings: Sequence[Sequence[int]]) -> tuple[Cell, ...]:
    """Statistics of the pairs (human, judge) of each trace, and alpha over all ratings of a trace."""
    units = _tables_of(pairs)
    coincident = [coincidences(trace, SIZE) for trace in ratings]
    of_table: tuple[Callable[[Matrix], float | None], ...] = (
        pearson,
        cohen_kappa,
        lambda counts: cohen_kappa(counts, "linear"),
        lambda counts: cohen_kappa(counts, "quadratic"),
    )
    found: list[Cell] = [_figure(units, _of_table(of, SIZE)) for of in of_table]
    found.append(_figure(coincident, lambda sums: krippendorff_alpha(sums, "ordinal")))
    found.append(_figure(coincident, lambda sums: krippendorff_alpha(sums, "interval")))
    return tuple(found)


def _tables_of(pairs: Sequence[Sequence[tuple[int, int]]]) -> list[list[int]]:
    """Each trace's table of (human, judge) scores, row by row."""
    return [[cell for row in confusion(trace, SIZE) for cell in row] for trace in pairs]


def _figure(units: Sequence[Sequence[float]], statistic: Callable[[Sequence[float]], float | None]) -> Rate:
    value = statistic([sum(column) for column in zip(*units, strict=True)]) if units else None
    return Rate(value, None, len(units), bootstrap(units, statistic) if value is not None else None)


def _of_table(statistic: Callable[[Matrix], float | None], size: int) -> Callable[[Sequence[float]], float | None]:
    """The statistic of a square table as one of its cells, row by row."""
    return lambda cells: statistic([cells[at : at + size] for at in range(0, size * size, size)])


def _mean(values: Sequence[float]) -> Rate:
    return _figure([(value, 1.0) for value in values], lambda sums: sums[0] / sums[1] if sums[1] else None)
