"""An evaluation against gold errors: what each judge caught and localised, and how much of its report is true.

A judge that says "not applicable" or fails has caught nothing; both are kept apart from a verdict that missed, in
columns of their own. Traces and judges that the evaluation does not have are left out, and counted; so is what the
meta-judge could not decide: the scorer's own failure says nothing of the judge.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

from gpa.agreement import Decisions, Rate, bootstrap, clustered_rate, f_score, rate, ratio, recall
from gpa.judges.gold import IMPACTS, Gold, GoldError
from gpa.judges.verdict import DIMENSIONS
from gpa.tables import Cell, Table

Kind = Literal["verdict", "not_applicable", "failure", "unmatched"]
"""What there is of a judge on a trace; `unmatched`: a verdict that the meta-judge could not compare with the gold."""
Measure = Literal["caught", "localised"]

NEAR_STEPS = 3
"""Steps that a cited span may be away from the gold span to count as near."""
_ALL = "all"


class Judged(NamedTuple):
    """One judgement, reduced to what is counted. Numbers in tuples are those of the trace's gold errors."""

    kind: Kind
    model: str
    rubric_hash: str
    score: int | None = None
    findings: int = 0
    caught: tuple[int, ...] = ()
    localised: tuple[int, ...] = ()
    near: tuple[int, ...] = ()
    """Caught, with a cited span at most `near_steps` steps from the gold one."""
    same_agent: tuple[int, ...] = ()
    true_own: int = 0
    """Findings that match a gold error of the judge's dimension."""
    true_any: int = 0
    """Findings that match any gold error of the trace."""
    rationale: str = ""


@dataclass
class Scored:
    """An evaluation against gold: `tables()` has the figures, `judged` what they are made of."""

    gold: Gold
    matcher: str
    own_dimension_only: bool = False
    judged: dict[tuple[str, int], dict[str, Judged]] = field(default_factory=lambda: defaultdict(dict))
    """(judge, sample) -> trace id -> judgement."""
    sample: int = 0
    near_steps: int = NEAR_STEPS
    with_places: bool = False
    replaced: int = 0
    """Judgements that a later line of the same judge, model and sample replaced."""
    _mapped_to: dict[str, dict[str, frozenset[int]]] = field(default_factory=dict, repr=False)

    @cached_property
    def judges(self) -> tuple[str, ...]:
        """The judges that have results, dimensions first."""
        present = {judge for judge, _ in self.judged}
        return tuple(code for code in DIMENSIONS if code in present) + tuple(sorted(present - DIMENSIONS.keys()))

    @cached_property
    def samples(self) -> tuple[int, ...]:
        """The repetitions there are."""
        return tuple(sorted({sample for _, sample in self.judged}))

    @cached_property
    def trace_ids(self) -> tuple[str, ...]:
        """The annotated traces that were evaluated, in the order of the gold."""
        present = {trace_id for (_, sample), by in self.judged.items() if sample == self.sample for trace_id in by}
        return tuple(trace_id for trace_id in self.gold.by_trace if trace_id in present)

    @cached_property
    def missing(self) -> tuple[str, ...]:
        """Annotated traces the evaluation does not have."""
        return tuple(trace_id for trace_id in self.gold.by_trace if trace_id not in set(self.trace_ids))

    def of(self, judge: str, sample: int | None = None) -> Mapping[str, Judged]:
        """The judge's judgements by trace, without those that the meta-judge could not compare with the gold."""
        return self._decided.get((judge, self.sample if sample is None else sample), {})

    @cached_property
    def _decided(self) -> dict[tuple[str, int], dict[str, Judged]]:
        return {
            key: {trace_id: one for trace_id, one in by_trace.items() if one.kind != "unmatched"}
            for key, by_trace in self.judged.items()
        }

    @cached_property
    def undecided(self) -> dict[tuple[str, int], tuple[str, ...]]:
        """(judge, sample) -> the traces whose verdict the meta-judge could not compare with the gold."""
        found = {
            key: tuple(trace_id for trace_id, one in by_trace.items() if one.kind == "unmatched")
            for key, by_trace in self.judged.items()
        }
        return {key: trace_ids for key, trace_ids in found.items() if trace_ids}

    @property
    def failed_matches(self) -> int:
        """How many verdicts those are."""
        return sum(map(len, self.undecided.values()))

    def decisions(
        self, judge: str, measure: Measure = "caught", impact: str = _ALL, sample: int | None = None
    ) -> dict[str, Decisions]:
        """Per trace: (error, judge) pairs as binary decisions. Positive is mapped, predicted positive caught."""
        counted = {}
        mapped_in, scopes = self._mapped(judge), self._scopes[impact]
        for trace_id, one in self.of(judge, sample).items():
            scope = scopes.get(trace_id)
            if scope is None:
                continue
            mapped = mapped_in[trace_id] & scope
            said = scope.intersection(one.caught if measure == "caught" else one.localised)
            right = len(said & mapped)
            missed, wrong = len(mapped) - right, len(said) - right
            counted[trace_id] = Decisions(right, wrong, missed, len(scope) - right - missed - wrong)
        return counted

    @cached_property
    def _scopes(self) -> dict[str, dict[str, frozenset[int]]]:
        """Impact (or all) -> trace -> the numbers of its errors of that impact."""
        return {
            impact: {
                trace_id: frozenset(n for n, error in enumerate(errors) if impact in {_ALL, error.impact})
                for trace_id, errors in self.gold.by_trace.items()
            }
            for impact in (_ALL, *IMPACTS)
        }

    def _mapped(self, judge: str) -> dict[str, frozenset[int]]:
        """Trace -> the numbers of its errors that are the judge's business."""
        if judge not in self._mapped_to:
            self._mapped_to[judge] = {
                trace_id: frozenset(n for n, error in enumerate(errors) if judge in error.dimensions)
                for trace_id, errors in self.gold.by_trace.items()
            }
        return self._mapped_to[judge]

    def caught_by_any(self, trace_id: str) -> dict[str, frozenset[int]]:
        """The errors of a trace that at least one judge caught, localised, came near, or had the agent of."""
        judged = [self.of(judge)[trace_id] for judge in self.judges if trace_id in self.of(judge)]
        return {
            name: frozenset(number for one in judged for number in getattr(one, name))
            for name in ("caught", "localised", "near", "same_agent")
        }

    def tables(self) -> tuple[Table, ...]:
        """Every table, the ones to be read first first."""
        measures: tuple[Measure, ...] = ("caught", "localised")
        return (
            self._counts(),
            self._union(),
            *(self._per_judge(measure) for measure in measures),
            self._findings(),
            *([self._stability()] if len(self.samples) > 1 else []),
            *(self._per_judge(measure, impact) for measure in measures for impact in reversed(IMPACTS)),
            self._matrix(),
        )

    def notes(self) -> tuple[str, ...]:
        """What has to be known of the whole: which gold, what was left out."""
        errors, traces = len(self.gold.errors), len(self.gold.trace_ids)
        said = [
            f"Gold {self.gold.version}: {errors} errors in {traces} traces, {len(self.trace_ids)} of them evaluated.",
            f"Matching: {self.matcher}. Sample {self.sample} of {len(self.samples)}.",
        ]
        said += [f"Repaired in the gold: {count} x {what}." for what, count in self.gold.repair_counts.items()]
        if self.missing:
            lost = sum(len(self.gold.by_trace[trace_id]) for trace_id in self.missing)
            said.append(f"Not evaluated and left out: {len(self.missing)} annotated traces with {lost} errors.")
        homeless = sum(not error.dimensions for error in self.gold.errors)
        if homeless:
            said.append(f"{homeless} errors are mapped to no dimension; they count in the union alone.")
        if self.replaced:
            said.append(f"{self.replaced} results were replaced by later ones of the same judge, model and sample.")
        if self.failed_matches:
            pairs = sum(
                len(self._mapped(judge)[trace_id])
                for (judge, _), trace_ids in self.undecided.items()
                for trace_id in trace_ids
            )
            said.append(
                f"The meta-judge could not decide {pairs} (error, judge) pairs of {self.failed_matches} verdicts;"
                " they are in no table, nor are their errors in the coverage."
            )
        return (*said, *gold_notes(self.gold, self.judges))

    def _errors(self) -> Iterator[tuple[str, int, GoldError]]:
        for trace_id in self.trace_ids:
            for number, error in enumerate(self.gold.by_trace[trace_id]):
                yield trace_id, number, error

    def _counts(self) -> Table:
        """Gold errors per dimension and impact (the paper's Table 1)."""
        errors = [error for _, _, error in self._errors()]
        known = dict.fromkeys((*DIMENSIONS, *(code for error in errors for code in error.dimensions)))

        def row(name: str, members: Sequence[GoldError]) -> tuple[Cell, ...]:
            return (name, *(sum(e.impact == impact for e in members) for impact in IMPACTS), len(members))

        rows = [row(code, [error for error in errors if code in error.dimensions]) for code in known]
        return Table(
            "counts",
            "Gold errors by dimension and impact",
            ("dimension", "low", "medium", "high", "all"),
            (*rows, row("errors", errors)),
            ("An error can belong to several dimensions.",),
        )

    def _union(self) -> Table:
        """Errors that at least one judge caught and localised (Tables 2 and 5)."""
        found = {trace_id: self.caught_by_any(trace_id) for trace_id in self.trace_ids}
        # Not even those that another judge caught: to leave out only what is uncaught so far would raise the share.
        open_ = {
            (trace_id, number)
            for judge in self.judges
            for trace_id in self.undecided.get((judge, self.sample), ())
            for number in self._mapped(judge)[trace_id]
        }
        known = [(t, number, error) for t, number, error in self._errors() if (t, number) not in open_]
        rows: list[tuple[Cell, ...]] = []
        for impact in (*IMPACTS, _ALL):
            members = [(t, number) for t, number, error in known if impact in {_ALL, error.impact}]

            def share(name: str, of: Sequence[tuple[str, int]] = members) -> Rate:
                return rate(sum(number in found[t][name] for t, number in of), len(of))

            more = (share("near"), share("same_agent")) if self.with_places else ()
            rows.append((impact.lower(), share("caught"), share("localised"), *more))
        columns: tuple[str, ...] = ("impact", "caught", "localised")
        if self.with_places:
            columns += (f"within {self.near_steps} steps", "same agent")
        return Table("union", "Coverage by all judges together", columns, tuple(rows))

    def _per_judge(self, measure: Measure, impact: str = _ALL) -> Table:
        """Precision, recall, F1, F2 and accuracy of each judge (Tables 3, 6, 11-18)."""
        rows = tuple(self._judge_row(judge, measure, impact) for judge in self.judges)
        scope = "" if impact == _ALL else f"_{impact.lower()}"
        title = f"Gold errors {measure}, by judge" + (f", {impact.lower()} impact" if scope else "")
        notes: tuple[str, ...] = (
            f"Each (error, judge) pair is a decision: true when mapped to the judge, predicted when {measure} by it.",
            "n/a, failed: mapped errors where it found nothing to judge, or could not judge; not in `recall, judged`.",
        )
        if self.own_dimension_only:
            notes += ("The meta-judge was asked of each judge's own errors only: no precision, F or accuracy.",)
        columns = ("judge", "P", "recall", "F1", "F2", "accuracy", "recall, judged", "n/a", "failed")
        return Table(measure + scope, title, columns, rows, notes if not scope else ())

    def _judge_row(self, judge: str, measure: Measure, impact: str) -> tuple[Cell, ...]:
        decisions = self.decisions(judge, measure, impact)
        total = summed(decisions.values())
        lost: dict[Kind, int] = {"not_applicable": 0, "failure": 0, "verdict": 0}
        for trace_id, one in decisions.items():
            lost[self.of(judge)[trace_id].kind] += int(one.tp + one.fn)
        mapped, caught, said = int(total.tp + total.fn), int(total.tp), int(total.tp + total.fp)
        right = int(total.tp + total.tn)
        chance: tuple[Cell, ...] = (None, None, None)
        if not self.own_dimension_only:
            f1, f2 = (_f_rate(list(decisions.values()), beta) for beta in (1.0, 2.0))
            chance = (f1, f2, rate(right, int(sum(total))))
        return (
            judge,
            None if self.own_dimension_only else rate(caught, said),
            rate(caught, mapped),
            *chance,
            rate(caught, lost["verdict"]),
            lost["not_applicable"],
            lost["failure"],
        )

    def _findings(self) -> Table:
        """How many findings match a gold error: precision of what is reported, which the paper lacks."""
        rows: list[tuple[Cell, ...]] = []
        for judge in self.judges:
            judged = [one for t, one in self.of(judge).items() if t in self.gold.by_trace and one.kind == "verdict"]
            findings = sum(one.findings for one in judged)
            rows.append(
                (
                    judge,
                    len(judged),
                    findings,
                    findings / len(judged) if judged else None,
                    clustered_rate([(one.true_own, one.findings) for one in judged]),
                    None
                    if self.own_dimension_only
                    else clustered_rate([(one.true_any, one.findings) for one in judged]),
                )
            )
        columns = ("judge", "verdicts", "findings", "per trace", "match an error of its own", "match any error")
        return Table("findings", "Findings that match a gold error", columns, tuple(rows))

    def _stability(self) -> Table:
        """Recall over the repeated runs."""
        rows: list[tuple[Cell, ...]] = []
        for judge in self.judges:
            runs = [self.decisions(judge, sample=sample) for sample in self.samples]
            recalls = [value for run in runs if (value := recall(summed(run.values()))) is not None]
            pooled: dict[str, list[int]] = defaultdict(lambda: [0, 0])
            for run in runs:
                for trace_id, one in run.items():
                    pooled[trace_id][0] += int(one.tp)
                    pooled[trace_id][1] += int(one.tp + one.fn)
            caught = self._caught_in_samples(judge)
            rows.append(
                (
                    judge,
                    sum(bool(run) for run in runs),
                    Rate(
                        sum(recalls) / len(recalls) if recalls else None,
                        interval=bootstrap(list(pooled.values()), lambda sums: ratio(sums[0], sums[1])),
                    ),
                    min(recalls, default=None),
                    max(recalls, default=None),
                    rate(sum(all(said) for said in caught), len(caught)),
                    rate(sum(any(said) for said in caught), len(caught)),
                )
            )
        columns = ("judge", "samples", "mean recall", "lowest", "highest", "caught in every", "caught in any")
        return Table("stability", "Errors caught over repeated samples", columns, tuple(rows))

    def _caught_in_samples(self, judge: str) -> list[list[bool]]:
        """For each error mapped to the judge whether it was caught, sample by sample."""
        found: dict[tuple[str, int], list[bool]] = defaultdict(list)
        for sample in self.samples:
            for trace_id, one in self.of(judge, sample).items():
                for number in self._mapped(judge).get(trace_id, ()):
                    found[trace_id, number].append(number in one.caught)
        return list(found.values())

    def _matrix(self) -> Table:
        """Errors x judges (Figures 3 and 4)."""
        rows: list[tuple[Cell, ...]] = []
        for trace_id, number, error in self._errors():
            cells: list[Cell] = []
            for judge in self.judges:
                one = self.of(judge).get(trace_id)
                if one is None or judge not in error.dimensions:
                    cells.append(None)
                elif one.kind != "verdict":
                    cells.append("n/a" if one.kind == "not_applicable" else "failed")
                else:
                    cells.append((number in one.caught) + (number in one.localised))
            rows.append((error.id, error.category, *cells))
        return Table(
            "matrix",
            "Gold errors x judges",
            ("error", "category", *self.judges),
            tuple(rows),
            ("-: not mapped to the judge, or not decided. 0: missed. 1: caught. 2: caught and localised.",),
        )


def gold_notes(gold: Gold, judges: Iterable[str]) -> Iterator[str]:
    """What is odd in the gold and may be a slip: errors that stand in it twice, judges that nobody has heard of."""
    alike = Counter(error.model_copy(update={"id": ""}) for error in gold.errors)
    if again := sum(count - 1 for count in alike.values()):
        yield f"{again} gold errors repeat another one in all but the id; each counts."
    known = {*DIMENSIONS, *judges}
    unknown = {
        "errors": Counter(code for error in gold.errors for code in error.dimensions if code not in known),
        "human scores": Counter(score.judge for score in gold.scores if score.judge not in known),
    }
    for what, counts in unknown.items():
        if counts:
            named = ", ".join(f"{code} ({count} {what})" for code, count in counts.items())
            yield f"Judges in the gold that are no dimension and have no results: {named}."


def summed(decisions: Iterable[Decisions]) -> Decisions:
    """All of them counted together."""
    columns = list(zip(*decisions, strict=True))
    return Decisions(*map(sum, columns)) if columns else Decisions(0, 0, 0, 0)


def _f_rate(units: Sequence[Decisions], beta: float) -> Rate:
    value = f_score(summed(units), beta)
    moving = [unit[:3] for unit in units]
    interval = bootstrap(moving, lambda sums: f_score(Decisions(*sums), beta)) if value is not None else None
    return Rate(value, None, None, interval)
