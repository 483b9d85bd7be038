"""Two runs of an agent: did it get worse, beyond noise, and which errors are new?

Nothing here needs annotations. Traces pair by id where the same traces were judged twice, else by their goal: a test
set that was run again has new ids and the same goals. What counts as a difference is in `gpa.noise`, what counts as the
same finding in `gpa.same_findings`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, NamedTuple

from gpa.agreement import Interval, Rate
from gpa.evaluation import Evaluation, Located
from gpa.judges.verdict import DIMENSIONS, AnyResult, Verdict
from gpa.locations import Recorded, findings, goal_key
from gpa.noise import LEAST_CASES, Basis, Judgement, Values, paired, unpaired
from gpa.same_findings import told_apart
from gpa.tables import Cell, Table

SEVERITIES = ("HIGH", "MEDIUM", "LOW")


class Pairing(NamedTuple):
    """How the traces of the second run found those of the first."""

    by_id: int
    """Traces of the second run."""
    by_goal: int
    only_before: int
    only_after: int

    @property
    def paired(self) -> int:
        """Traces of the second run that have a partner."""
        return self.by_id + self.by_goal


class Case(NamedTuple):
    """What both runs did: one trace judged twice, or the traces of one goal."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    same_trace: bool


class Counts(NamedTuple):
    """Results of a dimension that are no score, in one run."""

    not_applicable: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class Change:
    """One dimension: the second run against the first."""

    dimension: str
    name: str
    before: float | None
    """Mean score, 0-3, over the cases that both runs have a score of (over all traces when nothing pairs)."""
    after: float | None
    difference: float | None
    """After minus before."""
    interval: Interval | None
    """95 %, of the difference."""
    margin: float | None
    """How large a difference noise alone makes."""
    basis: Basis
    verdict: Judgement
    n: int
    """Cases."""
    others: tuple[Counts, Counts] = (Counts(), Counts())
    """What has no score, before and after."""


@dataclass(frozen=True)
class Regression:
    """What changed from one run to another."""

    changes: tuple[Change, ...]
    """One a dimension that both runs have, in their order."""
    new: tuple[Located, ...]
    """Findings of the second run that the first does not have, the gravest first."""
    known: tuple[Located, ...]
    """Findings of the second run that the first has too."""
    gone: tuple[Located, ...]
    """Findings of the first run that the second does not have, where it has the case."""
    pairing: Pairing
    changed_judges: tuple[str, ...] = ()
    """Dimensions that other checks, another rubric or another model judged in the second run."""
    one_sided: tuple[str, ...] = ()
    """What only one of the runs was judged on, in words."""

    @property
    def worse(self) -> tuple[Change, ...]:
        """The dimensions that got worse."""
        return tuple(change for change in self.changes if change.verdict == "worse")

    def tables(self) -> tuple[Table, ...]:
        """One row a dimension; then new, known and gone findings by severity."""
        columns = ("dimension", "before", "after", "difference", "margin", "verdict", "cases")
        rows = tuple(map(_row, self.changes))
        without = tuple(_others_row(change) for change in self.changes if any(map(any, change.others)))
        kinds = {"new": self.new, "known": self.known, "gone": self.gone}
        counts = {kind: Counter[str](one.finding.severity for one in found) for kind, found in kinds.items()}
        found: tuple[tuple[Cell, ...], ...] = tuple(
            (kind, *(counts[kind][severity] for severity in SEVERITIES)) for kind in kinds
        )
        return (
            Table("changes", "Scores, before and after", columns, rows, _LEGEND),
            *([Table("without_score", "Without a score, before -> after", _OTHERS, without)] if without else ()),
            Table("findings", "Findings", ("findings", *SEVERITIES), found, (_FINDINGS,)),
        )

    def notes(self) -> tuple[str, ...]:
        """How the traces paired, and what speaks against the comparison."""
        by_id, by_goal, only_before, only_after = self.pairing
        alone = f"{only_before} only in the first run, {only_after} only in the second"
        said = [f"{by_id} traces paired by id, {by_goal} by goal; {alone}."]
        if not self.pairing.paired:
            said.append("No trace is in both: compared as two samples; a finding of the first run anywhere is known.")
        elif any(change.basis == "traces" and change.n < LEAST_CASES for change in self.changes):
            said.append(f"Under {LEAST_CASES} cases no difference of scores can be told from chance: see the findings.")
        if self.changed_judges:
            said.append(
                f"Judged differently in the two runs (other checks, rubric or model): {' '.join(self.changed_judges)}."
            )
        return (*said, *self.one_sided)

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists, texts and numbers."""
        return {
            "pairing": self.pairing._asdict(),
            "changed_judges": list(self.changed_judges),
            "changes": [_change_dict(change) for change in self.changes],
            "new": [_located_dict(located) for located in self.new],
            "known": [_located_dict(located) for located in self.known],
            "gone": [_located_dict(located) for located in self.gone],
        }


_LEGEND = (
    "Means over cases (traces, or goals) that both runs scored. Difference with its 95 % interval.",
    "Margin: how large a difference noise alone makes.",
    "worse, better: beyond noise; same: every case scored as before; unclear: not shown to differ.",
)
_OTHERS = ("dimension", "n/a", "failed")
_FINDINGS = "New: not in the first run. Gone: of cases that both runs have."


def compare(before: Recorded | Evaluation, after: Recorded | Evaluation, *, tolerance: float = 0.0) -> Regression:
    """The second run against the first.

    Args:
        before: Results, with the goals of their traces (`gpa.locations.recorded`) when traces can pair by goal.
        after: The same of the later run.
        tolerance: Differences of a mean up to this (0-3) are called neither better nor worse.
    """
    one = before if isinstance(before, Recorded) else Recorded(before)
    other = after if isinstance(after, Recorded) else Recorded(after)
    cases = cases_of(one, other)
    scores, later = _scores(one.evaluation.results), _scores(other.evaluation.results)
    names = {**DIMENSIONS, **one.evaluation.names, **other.evaluation.names}
    judges, later_judges = _judges(one.evaluation.results), _judges(other.evaluation.results)
    codes = [code for code in dict.fromkeys((*names, *judges)) if code in judges and code in later_judges]
    others, later_others = _others(one.evaluation.results), _others(other.evaluation.results)

    def change(code: str) -> Change:
        if cases:
            shift = paired(_values(cases, scores[code], later[code]), tolerance)
        else:
            earlier_means, later_means = ([fmean(runs) for runs in side[code].values()] for side in (scores, later))
            shift = unpaired(earlier_means, later_means, tolerance)
        return Change(
            code, names.get(code, code), *shift, (others.get(code, Counts()), later_others.get(code, Counts()))
        )

    new, known, gone = told_apart(
        [(case.before, case.after) for case in cases],
        one,
        findings(one.evaluation.results),
        other,
        findings(_first_samples(other.evaluation.results)),
    )
    return Regression(
        tuple(map(change, codes)),
        new,
        known,
        gone,
        _pairing(cases, one.evaluation, other.evaluation),
        tuple(code for code in codes if _differ(judges[code], later_judges[code])),
        _missing(names, judges, later_judges),
    )


def cases_of(before: Recorded, after: Recorded) -> list[Case]:
    """What both runs have: traces with the same id, then goals that traces of both state."""
    earlier, later = before.evaluation.trace_ids, after.evaluation.trace_ids
    both = set(earlier) & set(later)
    cases = [Case((trace_id,), (trace_id,), same_trace=True) for trace_id in later if trace_id in both]
    goals: dict[str, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for side, (run, ids) in enumerate(((before, earlier), (after, later))):
        for trace_id in ids:
            found = run.traces.get(trace_id)
            if trace_id not in both and found is not None and (key := goal_key(found.goal)):
                goals[key][side].append(trace_id)
    cases += [Case(tuple(one), tuple(other), same_trace=False) for one, other in goals.values() if one and other]
    return cases


def _pairing(cases: Sequence[Case], before: Evaluation, after: Evaluation) -> Pairing:
    by_id = sum(case.same_trace for case in cases)
    by_goal = sum(len(case.after) for case in cases if not case.same_trace)
    paired_before = sum(len(case.before) for case in cases)
    return Pairing(by_id, by_goal, len(before.trace_ids) - paired_before, len(after.trace_ids) - by_id - by_goal)


Scores = dict[str, dict[str, list[int]]]
"""Judge -> trace -> score of each sample."""


def _scores(results: Iterable[AnyResult]) -> Scores:
    scores: Scores = defaultdict(lambda: defaultdict(list))
    for result in results:
        if isinstance(result, Verdict):
            scores[result.judge][result.trace_id].append(result.score)
    return scores


class Judges(NamedTuple):
    """What judged a dimension."""

    models: frozenset[str]
    rubrics: frozenset[str]
    """Hashes of the rubric, or of the checks; results without a score do not say them."""


def _judges(results: Iterable[AnyResult]) -> dict[str, Judges]:
    models: dict[str, set[str]] = defaultdict(set)
    rubrics: dict[str, set[str]] = defaultdict(set)
    for result in results:
        models[result.judge].add(result.model)
        if isinstance(result, Verdict) and result.rubric_hash:
            rubrics[result.judge].add(result.rubric_hash)
    return {judge: Judges(frozenset(names), frozenset(rubrics[judge])) for judge, names in models.items()}


def _differ(before: Judges, after: Judges) -> bool:
    return before.models != after.models or bool(before.rubrics and after.rubrics and before.rubrics != after.rubrics)


def _others(results: Iterable[AnyResult]) -> dict[str, Counts]:
    kinds = Counter((result.judge, result.type) for result in results)
    return {judge: Counts(kinds[judge, "not_applicable"], kinds[judge, "failure"]) for judge, _ in kinds}


def _first_samples(results: Sequence[AnyResult]) -> Iterator[AnyResult]:
    """One judgement of each trace: what only a repetition found is noise until it is found again."""
    first: dict[tuple[str, str], int] = {}
    for result in results:
        key = (result.trace_id, result.judge)
        first[key] = min(result.sample, first.get(key, result.sample))
    return (result for result in results if result.sample == first[result.trace_id, result.judge])


def _values(cases: Sequence[Case], scores: Mapping[str, list[int]], later: Mapping[str, list[int]]) -> list[Values]:
    """The cases that both runs scored.

    Samples of one trace are repeats when the trace is the same on both sides. Traces of one goal are repeats of the
    agent, noise of the judge included; there samples of a trace are one value, for they say nothing of the agent's.
    """
    found = []
    for case in cases:
        one: Sequence[float]
        other: Sequence[float]
        if case.same_trace:
            one, other = scores.get(case.before[0], []), later.get(case.after[0], [])
        else:
            one = [fmean(scores[trace_id]) for trace_id in case.before if scores.get(trace_id)]
            other = [fmean(later[trace_id]) for trace_id in case.after if later.get(trace_id)]
        if one and other:
            found.append(Values(one, other))
    return found


def _missing(names: Mapping[str, str], *judges: Mapping[str, object]) -> tuple[str, ...]:
    """A note on dimensions that only one of the runs has."""
    one, other = ({code for code in side if code not in judges[1 - at]} for at, side in enumerate(judges))
    known = tuple(dict.fromkeys((*names, *sorted(one | other))))
    return tuple(
        f"Judged in the {which} run only: {' '.join(code for code in known if code in some)}."
        for which, some in (("first", one), ("second", other))
        if some
    )


def _row(change: Change) -> tuple[Cell, ...]:
    return (
        f"{change.dimension} {change.name}",
        change.before,
        change.after,
        Rate(change.difference, None, None, change.interval),
        change.margin,
        change.verdict if change.n else None,
        change.n,
    )


def _others_row(change: Change) -> tuple[Cell, ...]:
    before, after = change.others
    counts = (_arrow(before.not_applicable, after.not_applicable), _arrow(before.failed, after.failed))
    return (f"{change.dimension} {change.name}", *counts)


def _arrow(before: int, after: int) -> Cell:
    return f"{before} -> {after}" if before or after else None


def _change_dict(change: Change) -> dict[str, Any]:
    return {
        "dimension": change.dimension,
        "name": change.name,
        "before": change.before,
        "after": change.after,
        "difference": change.difference,
        "interval": list(change.interval) if change.interval is not None else None,
        "margin": change.margin,
        "basis": change.basis,
        "verdict": change.verdict,
        "cases": change.n,
        "not_applicable": [counts.not_applicable for counts in change.others],
        "failed": [counts.failed for counts in change.others],
    }


def _located_dict(located: Located) -> dict[str, Any]:
    return {
        "trace_id": located.trace_id,
        "dimensions": list(located.dimensions),
        **located.finding.model_dump(mode="json"),
    }
