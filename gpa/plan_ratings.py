"""Ratings of many plans against their references: who earns which, by planner, by kind of query, and as people did."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from gpa.agreement import (
    Matrix,
    Rate,
    Weights,
    agreement,
    bootstrap,
    cohen_kappa,
    concurrences,
    confusion,
    f_score,
    fleiss_kappa,
    one_against_rest,
    precision,
    rate,
    recall,
)
from gpa.plan_scores import GROUPS, by_kind, grouped, mean
from gpa.plans.one_shot import RATINGS, Comparison, Similarity, similarity
from gpa.plans.plan_files import PlanRow
from gpa.tables import Cell, Table

BUCKETS = ("A+", "A", "B")
_HUMAN = ("rating", "human_rating")
_KAPPAS: tuple[tuple[str, Weights | None], ...] = (
    ("kappa", None),
    ("kappa, linear", "linear"),
    ("kappa, quadratic", "quadratic"),
)
_BY_LETTERS = {"".join(filter(str.isalpha, name.lower())): place for place, name in enumerate(RATINGS)}


class RatedPlan(NamedTuple):
    """A plan compared with its reference; no comparison where a model was asked in vain."""

    row: PlanRow
    there: Comparison | None
    back: Comparison | None = None
    """The reference compared with the plan, where neither is the better by definition."""
    failed: str = ""
    explanation: str = ""
    dropped: int = 0
    """Pairs that a model named of steps which do not exist."""

    @property
    def alike(self) -> Similarity | None:
        """Both directions together, where both are known."""
        return similarity(self.there, self.back) if self.there is not None and self.back is not None else None

    @property
    def place(self) -> int | None:
        """Place of its rating in `RATINGS`, None when there is none."""
        one = self.alike or self.there
        return None if one is None else RATINGS.index(one.rating)


def human_places(row: PlanRow) -> tuple[int, ...]:
    """Places of the ratings that people gave, by their names or as 1 (Extremely Bad) to 7."""
    said = next((row.fields[key] for key in _HUMAN if row.fields.get(key) not in (None, "")), None)
    places = map(_place, said if isinstance(said, list) else [said])
    return tuple(place for place in places if place is not None)


def human_place(row: PlanRow) -> int | None:
    """Place of the rating that people gave: of several the middle one, the lower of two; None when there is none."""
    places = sorted(human_places(row))
    return places[len(places) // 2] if places else None


def _place(said: Any) -> int | None:
    if isinstance(said, str) and said.strip().isdecimal():
        said = int(said)
    if isinstance(said, int) and not isinstance(said, bool):
        return len(RATINGS) - said if 1 <= said <= len(RATINGS) else None
    return _BY_LETTERS.get("".join(filter(str.isalpha, str(said).lower())))


def tables(rated: Sequence[RatedPlan]) -> list[Table]:
    """Ratings, means per planner and kind of query, and how far they agree with people's."""
    known = [one for one in rated if one.there is not None]
    planners = grouped(known, lambda one: one.row.planner)
    found = [_ratings(known), _means("planners", "By planner", "planner", planners)]
    for group in GROUPS:
        kinds = by_kind(known, group)
        if len(kinds) > 1:
            found.append(_means(f"by_{group}", f"By {group} of the query", group, kinds))
    if any(one.back is not None for one in known):
        found.append(_alike(known))
    if len(rated) > 1:
        found.append(_plans(rated))
    people = [(human, one.place) for one in known if (human := human_place(one.row)) is not None]
    found += with_people([(human, ours) for human, ours in people if ours is not None], "people")
    return found + among_people([human_places(one.row) for one in rated])


def with_people(pairs: Sequence[tuple[int, int]], who: str) -> list[Table]:
    """How far ratings (second of each pair) agree with others' (first), by place in `RATINGS`."""
    if not pairs:
        return []
    columns = ("statistic", "value")
    return [
        Table(f"with_{who}", f"Agreement with {who}, over {len(pairs)} plans", columns, _kappas(pairs)),
        _classes(confusion(pairs, len(RATINGS)), who),
    ]


def among_people(ratings: Iterable[Sequence[int]]) -> list[Table]:
    """How far people agree with each other on plans that several rated: what can be asked of any other rater."""
    several = [places for places in ratings if len(places) > 1]
    if not several:
        return []
    if max(map(len, several)) == 2:
        rows = _kappas([(one, other) for one, other in several])
    else:
        units = [concurrences(places, len(RATINGS)) for places in several]
        value = fleiss_kappa([sum(column) for column in zip(*units, strict=True)])
        interval = bootstrap(units, fleiss_kappa) if value is not None else None
        same = sum(len(set(places)) == 1 for places in several)
        rows = (("same rating by all", rate(same, len(several))), ("Fleiss' kappa", Rate(value, None, None, interval)))
    title = f"Agreement among people, over {len(several)} plans"
    return [Table("among_people", title, ("statistic", "value"), rows)]


def _kappas(pairs: Sequence[tuple[int, int]]) -> tuple[tuple[Cell, ...], ...]:
    counts = confusion(pairs, len(RATINGS))
    units = [_unit(pair) for pair in pairs]
    rows: list[tuple[Cell, ...]] = [("same rating", Rate(agreement(counts), *_same(pairs)))]
    for name, weights in _KAPPAS:
        value = cohen_kappa(counts, weights)
        interval = bootstrap(units, partial(_kappa, weights))
        rows.append((name, Rate(value, None, None, interval if value is not None else None)))
    return tuple(rows)


def to_plain(one: RatedPlan) -> dict[str, Any]:
    """A compared plan as a JSON value."""
    row = one.row
    plain: dict[str, Any] = {"id": row.id, "place": row.place, "query": row.query, "planner": row.planner}
    plain |= {"groups": row.groups, "rejected": [str(problem) for problem in row.rejected]}
    if one.failed:
        plain["failed"] = one.failed
    if one.there is None:
        return plain
    plain |= comparison_to_plain(one.there)
    if one.alike is not None:
        alike = one.alike
        plain["mutual"] = {
            "f1": alike.f1,
            "well_formed": alike.well_formed,
            "rating": alike.rating,
            "adjudicate": alike.adjudicate,
        }
    return {**plain, "explanation": one.explanation, "dropped": one.dropped}


def comparison_to_plain(found: Comparison) -> dict[str, Any]:
    """A comparison as a JSON value: scores, rating, buckets, matches, and every step without one."""
    return {
        "precision": found.precision,
        "recall": found.recall,
        "f1": found.f1,
        "format_correctness": found.format_correctness,
        "dependencies": found.dependencies,
        "placeholders": found.placeholders,
        "rating": found.rating,
        "buckets": list(found.buckets),
        "matches": [{"plan": plan, "reference": reference} for plan, reference in found.matches],
        "differences": [{"step": one.step, "side": one.side, "reason": one.reason} for one in found.differences],
    }


def _ratings(rated: Sequence[RatedPlan]) -> Table:
    places = [one.place for one in rated]
    rows = tuple((name, rate(places.count(place), len(places))) for place, name in enumerate(RATINGS))
    return Table("ratings", "Ratings", ("rating", "plans"), rows)


def _means(name: str, title: str, first: str, groups: Mapping[str, Sequence[RatedPlan]]) -> Table:
    columns = (first, "plans", *BUCKETS, "precision", "recall", "F1", "format", "dependencies", "placeholders")
    return Table(
        name,
        title,
        columns,
        tuple(
            (group or "(not said)" if len(groups) > 1 else group or "all", len(some), *_figures(some))
            for group, some in groups.items()
        ),
        ("A+: Extremely Good and Very Good; A: Good too; B: Acceptable too.",),
    )


def _figures(some: Sequence[RatedPlan]) -> Iterable[Cell]:
    for last in (1, 2, 3):
        yield rate(sum(one.place is not None and one.place <= last for one in some), len(some))
    known = [one.there for one in some if one.there is not None]
    yield mean(one.precision for one in known)
    yield mean(one.recall for one in known)
    yield mean(one.f1 for one in known)
    yield mean(one.format_correctness for one in known)
    yield mean(one.dependencies for one in known)
    yield mean(one.placeholders for one in known)


def _alike(rated: Sequence[RatedPlan]) -> Table:
    rows = tuple(
        (one.row.id, alike.f1, alike.rating, "yes" if alike.well_formed else "no", "yes" if alike.adjudicate else "no")
        for one in rated
        if (alike := one.alike) is not None
    )
    columns = ("plan", "F1", "rating", "well formed", "adjudicate")
    return Table("mutual", "Both ways: neither plan is the reference", columns, rows)


def _plans(rated: Sequence[RatedPlan]) -> Table:
    rows = tuple(
        (one.row.id, one.there.rating, one.there.precision, one.there.recall, one.there.f1)
        if one.there is not None
        else (one.row.id, f"not judged: {one.failed}", None, None, None)
        for one in rated
    )
    return Table("plans", "Plans", ("plan", "rating", "precision", "recall", "F1"), rows)


def _classes(counts: Matrix, who: str) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for place, name in enumerate(RATINGS):
        decisions = one_against_rest(counts, place)
        if decisions.tp + decisions.fp + decisions.fn:
            there = int(decisions.tp + decisions.fn)
            rows.append((name, precision(decisions), recall(decisions), f_score(decisions), there))
    macro = [
        mean(value for value in column if isinstance(value, float | int))
        for column in list(zip(*rows, strict=True))[1:4]
    ]
    rows.append(("macro", *macro, int(sum(map(sum, counts)))))
    columns = ("rating", "precision", "recall", "F1", who)
    return Table(f"per_rating_{who}", f"Each rating against {who}", columns, tuple(rows))


def _same(pairs: Sequence[tuple[int, int]]) -> tuple[int, int]:
    return sum(one == other for one, other in pairs), len(pairs)


def _kappa(weights: Weights | None, sums: Sequence[float]) -> float | None:
    return cohen_kappa(_square(sums), weights)


def _unit(pair: tuple[int, int]) -> list[float]:
    unit = [0.0] * len(RATINGS) ** 2
    unit[pair[0] * len(RATINGS) + pair[1]] = 1.0
    return unit


def _square(sums: Sequence[float]) -> list[Sequence[float]]:
    size = len(RATINGS)
    return [sums[row * size : (row + 1) * size] for row in range(size)]
