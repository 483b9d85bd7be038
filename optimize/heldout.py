"""The start and the tuned rubrics on traces that no search has seen: side by side, whether it helped or not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from gpa.agreement import clustered_rate, coincidences, krippendorff_alpha, rate
from gpa.comparison import compare
from gpa.consistency import SIZE, Said, read_scores
from gpa.errors import UsageError
from gpa.evaluation import Progress, evaluated
from gpa.ingest.transcript import Transcript
from gpa.judges.gold import Gold
from gpa.judges.judge import Judge
from gpa.judges.matching import Matcher, matcher_named
from gpa.judges.meta import MetaJudge
from gpa.judges.model import Client
from gpa.judges.rubrics import Rubric
from gpa.judges.verdict import AnyResult, Failure, Verdict
from gpa.judging import Bench
from gpa.optimize.door import Asked
from gpa.optimize.log import Log
from gpa.optimize.pairs import paired, share_test
from gpa.recall import score
from gpa.scored import Scored
from gpa.tables import Cell, Table
from gpa.workload import Run, is_unasked

SIDES = ("start", "tuned")


@dataclass(frozen=True)
class HeldOut:
    """Both sets of rubrics against the gold errors of the held-out traces."""

    start: Scored
    tuned: Scored
    results: tuple[tuple[AnyResult, ...], tuple[AnyResult, ...]]
    unchanged: tuple[str, ...]
    """Dimensions whose rubric is the start's: there is nothing to compare."""

    @cached_property
    def _compared(self) -> tuple[Table, ...]:
        return compare(self.start, self.tuned)

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """Recall, localisation and precision of both, their differences with intervals, and paired tests."""
        caught, localised, quality = self._compared
        samples = (self._consistency,) if len(self.start.samples) > 1 else ()
        return (
            _sided(caught, "held_out_caught", "Held-out traces: recall of gold errors"),
            _sided(localised, "held_out_localised", "Held-out traces: gold errors caught and localised"),
            self._precision(),
            _sided(quality, "held_out_quality", "Held-out traces: F1, precision of findings, mean score"),
            *samples,
        )

    def notes(self) -> tuple[str, ...]:
        """What was measured, and in a sentence for each dimension what came of it."""
        caught = self._compared[0]
        said = [f"Held-out: {len(self.start.trace_ids)} annotated traces that took no part in the search."]
        for judge in self.start.judges:
            if judge in self.unchanged:
                said.append(
                    f"{judge}: no candidate was better than the start on the dev traces; the rubric is unchanged."
                )
                continue
            row = caught.row(judge)
            before, after = (getattr(row[side], "value", None) for side in ("first", "second"))
            verdict = {
                "better": "it helped",
                "worse": "it made the judge WORSE: keep the start",
            }.get(str(row["second is"]), "not shown to have helped: the difference may be chance")
            said.append(f"{judge}: recall {_figure(before)} before, {_figure(after)} after; {verdict}.")
            if len(self.start.samples) > 1:
                agreed = self._consistency.row(judge)
                before, after = (getattr(agreed[side], "value", None) for side in SIDES)
                said.append(f"{judge}: alpha of repeated samples {_figure(before)} before, {_figure(after)} after.")
        failed = [sum(isinstance(result, Failure) for result in side) for side in self.results]
        if any(failed):
            said.append(
                f"Could not be judged: {failed[0]} by the start, {failed[1]} by the tuned rubrics;"
                " errors of those traces count as missed."
            )
        unmatched = [side.failed_matches for side in (self.start, self.tuned)]
        if any(unmatched):
            said.append(
                f"Could not be compared by the meta-judge: {unmatched[0]} verdicts of the start, {unmatched[1]} of the"
                " tuned rubrics; they are in no table."
            )
        return tuple(said)

    def _precision(self) -> Table:
        """The share of findings that match a gold error of the judge's dimension; charged for saying more."""
        rows: list[tuple[Cell, ...]] = []
        for judge in self.start.judges:
            units = self._findings(judge)
            sides = [[(unit[at], unit[at + 1]) for unit in units] for at in (0, 2)]
            found = [sum(count for _, count in side) for side in sides]
            rows.append((judge, *map(clustered_rate, sides), *found, share_test(units)))
        columns = ("judge", *SIDES, "findings, start", "findings, tuned", "p")
        note = (
            "A finding that matches no gold error may be true all the same: people do not find everything.",
            "p: paired, by trace (the two rubrics' reports change places at random).",
        )
        return Table(
            "held_out_precision", "Held-out traces: findings that match a gold error", columns, tuple(rows), note
        )

    def _findings(self, judge: str) -> list[tuple[int, int, int, int]]:
        """For each trace that both gave a verdict on: true and all findings of the start, then of the tuned rubric."""
        units = []
        for trace_id in self.start.trace_ids:
            one, other = self.start.of(judge).get(trace_id), self.tuned.of(judge).get(trace_id)
            if one is not None and other is not None and one.kind == other.kind == "verdict":
                units.append((one.true_own, one.findings, other.true_own, other.findings))
        return units

    @cached_property
    def _consistency(self) -> Table:
        """How well repeated samples of both agree."""
        said = [read_scores(results).by_judge for results in self.results]
        rows: list[tuple[Cell, ...]] = []
        for judge in self.start.judges:
            rated = [
                {
                    trace_id: scores
                    for trace_id, runs in side[judge].items()
                    if len(scores := _scores(runs.values())) > 1
                }
                for side in said
            ]
            both = [(rated[0][trace_id], rated[1][trace_id]) for trace_id in rated[0] if trace_id in rated[1]]
            units = [(coincidences(one, SIZE), coincidences(other, SIZE)) for one, other in both]
            same = [rate(sum(len(set(pair[side])) == 1 for pair in both), len(both)) for side in (0, 1)]
            rows.append((judge, len(both), *paired(units, _alpha), *same))
        columns = ("judge", "traces", *SIDES, "difference", "p", "all the same, start", "all the same, tuned")
        note = (
            "Krippendorff's alpha (interval) over the samples of traces that both scored at least twice.",
            "p: paired, by trace (the two rubrics' scores change places at random); - where scores never differ.",
        )
        return Table("held_out_consistency", "Held-out traces: agreement of samples", columns, tuple(rows), note)


async def held_out(
    bench: Bench,
    start: Mapping[str, Rubric],
    tuned: Mapping[str, Rubric],
    transcripts: Sequence[Transcript],
    gold: Gold,
    *,
    dimensions: Sequence[str],
    log: Log,
    matcher: str = "fuzzy",
    meta: Client | None = None,
    concurrency: int = 8,
    progress: Callable[[Progress], None] | None = None,
) -> HeldOut | None:
    """Both sets of rubrics on these transcripts; None when answers are missing from files of responses.

    A dimension whose rubric did not change is judged once. With `meta` the meta-judge, asked through that client,
    matches in place of `matcher`. What the `log` has an answer to is not asked again.
    """
    truth = gold.of(transcript.trace_id for transcript in transcripts)
    if not truth.by_trace:
        raise UsageError("held-out: expected annotated traces, found none")
    unchanged = tuple(code for code in dimensions if tuned[code].text == start[code].text)
    sides: list[tuple[AnyResult, ...]] = []
    asked = Asked(log, bench.client)
    for rubrics in (start, tuned):
        wanted = tuple(code for code in dimensions if not sides or code not in unchanged)
        judges = tuple(
            Judge(asked, rubrics, bench.asking, sample=judge.sample, clean=_cleaner(bench, judge.sample))
            for judge in bench.judges
        )
        new: tuple[AnyResult, ...] = ()
        if wanted:
            run = Run(judges, wanted, concurrency, bench=bench, names=bench.names)
            new = (await evaluated(transcripts, run, progress)).results
        sides.append(new + tuple(result for some in sides for result in some if result.judge in unchanged))
    if any(is_unasked(result) for side in sides for result in side):
        return None
    clean = _cleaner(bench, 0)
    matching = None if meta is None else Asked(log, meta)
    scored = [await _scored(side, truth, transcripts, matcher=matcher, meta=matching, clean=clean) for side in sides]
    if meta is not None and any(
        failure.error_type == "missing"
        for _, meta_judge in scored
        if meta_judge
        for failure in meta_judge.failures.values()
    ):
        return None
    return HeldOut(scored[0][0], scored[1][0], (sides[0], sides[1]), unchanged)


async def _scored(
    results: Sequence[AnyResult],
    gold: Gold,
    transcripts: Sequence[Transcript],
    *,
    matcher: str,
    meta: Asked | None,
    clean: Callable[[str], str] | None,
) -> tuple[Scored, MetaJudge | None]:
    chosen: Matcher
    if meta is None:
        chosen, judge = matcher_named(matcher), None
    else:
        chosen = judge = MetaJudge(meta, transcripts, clean=clean)
        await judge.ask([result for result in results if isinstance(result, Verdict)], gold)
    return score(results, gold, chosen), judge


def _cleaner(bench: Bench, sample: int) -> Callable[[str], str] | None:
    return bench.redactors[sample] if bench.redactors else None


def _alpha(sums: Sequence[float]) -> float | None:
    return krippendorff_alpha(sums, "interval")


def _scores(runs: Iterable[Said]) -> list[int]:
    return [one.score for one in runs if one.score is not None]


def _sided(table: Table, name: str, title: str) -> Table:
    """The table of a comparison with the two sides by their names."""
    words = {"first": "start", "second": "tuned", "second is": "tuned is"}
    columns = tuple(
        words.get(column, column.replace(", first", ", start").replace(", second", ", tuned"))
        for column in table.columns
    )
    return Table(name, title, columns, table.rows, table.notes)


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
