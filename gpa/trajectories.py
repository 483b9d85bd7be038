"""Traces against gold trajectories: a judge of TC, PA and EE that asks no model, and tables of the paper's metrics.

What a trace did otherwise than its gold trajectory becomes findings at the spans that hold it, as verdicts of the model
`trajectory`: they are stored, exported, shown and scored like those of every other judge.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, NamedTuple

from gpa.agreement import rate
from gpa.errors import InputError
from gpa.ingest.transcript import Transcript
from gpa.judges.scoring import score_of
from gpa.judges.verdict import GRAVITY, AnyResult, Failure, Finding, NotApplicable, Severity, Verdict
from gpa.plans.cleaning import Cleaned, CleaningCounts, clean, counted
from gpa.plans.differences import TAGS, Difference, Tag, differences
from gpa.plans.observed import Observed, observed
from gpa.plans.trajectory import METRICS, Comparison, Prepared, compare_prepared, compare_trajectories, prepared
from gpa.plans.trajectory_reading import Gold
from gpa.tables import Cell, Table

MODEL = "trajectory"
"""What these results have in place of a model's name."""
DIMENSIONS = ("EE", "PA", "TC")
_VERSION = 1


class _Rule(NamedTuple):
    dimension: str
    category: str
    severity: Severity


RULES: dict[Tag, _Rule] = {
    "missing_tool": _Rule("PA", "Task Orchestration", "HIGH"),
    "extra_tool": _Rule("EE", "Resource Abuse", "MEDIUM"),
    "wrong_order": _Rule("PA", "Task Orchestration", "MEDIUM"),
    "bad_param": _Rule("TC", "Tool-related", "HIGH"),
    "wrong_condition": _Rule("PA", "Goal Deviation", "HIGH"),
    "agent_violation": _Rule("PA", "Task Orchestration", "MEDIUM"),
}
"""Under which dimension a difference stands, and how grave it is."""


class Expected(NamedTuple):
    """What a trace should have done."""

    gold: Gold
    conditional: frozenset[str] = frozenset()
    """Tools that the user's workflows have, whether or not their conditions ask for them."""
    group: str = ""
    """The workflows, as rows of tables are named."""


class Problem(NamedTuple):
    """Why there is nothing that a trace should have done."""

    reason: str
    broken: bool = False
    """Whether that is an error in the workflows or the user's data, rather than a trace of somebody else."""


Lookup = Callable[[str], Expected | Problem]
"""Trace id -> what it should have done."""


class Compared(NamedTuple):
    """A trace beside its gold trajectories."""

    trace_id: str
    user: str
    group: str
    comparison: Comparison
    differences: tuple[Difference, ...]
    span_ids: tuple[tuple[str, ...], ...]
    """For each difference the spans that hold it."""
    own: Prepared
    """What the trace did."""
    gold: tuple[Prepared, ...]


@dataclass
class TrajectoryJudge:
    """The comparison as a judge. `compared` keeps what the tables are made of."""

    expected: Lookup
    digest: str
    """Of everything the gold trajectories depend on: part of the resume key."""
    ignore: frozenset[str] = frozenset()
    """Tools that are passed over."""
    compared: dict[str, Compared] = field(default_factory=dict)
    problems: dict[str, Problem] = field(default_factory=dict)
    model: str = MODEL
    sample: int = 0

    def rubric_hash(self, dimension: str) -> str:
        """The hash of the gold trajectories, the tools passed over, and the rules of this module."""
        said = [str(_VERSION), dimension, self.digest, *sorted(self.ignore)]
        return blake2b("\n".join(said).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()

    async def judge(self, transcript: Transcript, dimensions: Sequence[str]) -> Sequence[AnyResult]:
        """One result for each of these dimensions."""
        found = self.compare(transcript)
        return tuple(self._result(transcript.trace_id, dimension, found) for dimension in dimensions)

    def compare(self, transcript: Transcript) -> Compared | Problem:
        """The trace beside what it should have done, kept for the tables."""
        trace_id = transcript.trace_id
        expected = self.expected(trace_id)
        if isinstance(expected, Problem):
            self.problems[trace_id] = expected
            return expected
        self.compared[trace_id] = found = _compared(transcript, expected, self.ignore)
        return found

    def _result(self, trace_id: str, dimension: str, found: Compared | Problem) -> AnyResult:
        digest = self.rubric_hash(dimension)
        if isinstance(found, Problem):
            if found.broken:
                return Failure(
                    trace_id=trace_id,
                    judge=dimension,
                    model=MODEL,
                    error_type="gold",
                    message=found.reason,
                    rubric_hash=digest,
                )
            return NotApplicable(
                trace_id=trace_id, judge=dimension, model=MODEL, reason=found.reason, rubric_hash=digest
            )
        if dimension not in DIMENSIONS:
            reason = f"gold trajectories say nothing about {dimension}"
            return NotApplicable(trace_id=trace_id, judge=dimension, model=MODEL, reason=reason, rubric_hash=digest)
        findings = tuple(_findings(found, dimension))
        return Verdict(
            trace_id=trace_id,
            judge=dimension,
            model=MODEL,
            score=score_of(findings),
            rationale=_rationale(found, findings),
            findings=findings,
            rubric_hash=digest,
        )


def _compared(transcript: Transcript, expected: Expected, ignore: frozenset[str]) -> Compared:
    gold, values = expected.gold.set, expected.gold.values
    tools = {call.tool for trajectory in gold.trajectories for call in trajectory} | expected.conditional
    seen = observed(transcript, known=tools, ignore=ignore)
    own = prepared(seen.trajectory, values)
    wanted = tuple(prepared(trajectory, values) for trajectory in gold.trajectories)
    comparison = compare_prepared(wanted, [own])
    # Pairs count different trajectories only; the first one that is the same as the paired one is meant.
    different = list({one.steps: at for at, one in reversed(list(enumerate(wanted)))}.values())[::-1]
    nearest = gold.trajectories[different[comparison.pairs[0].gold]] if comparison.pairs else ()
    found = differences(nearest, seen.trajectory, conditional=expected.conditional, values=values)
    spans = tuple(_spans(one, seen) for one in found)
    return Compared(transcript.trace_id, gold.user, expected.group or "all", comparison, found, spans, own, wanted)


def _spans(difference: Difference, seen: Observed) -> tuple[str, ...]:
    """Where a difference is: the call that holds it, or for a missing one the decision that passed it over."""
    if difference.predicted is None:
        return (seen.end,) if seen.end else ()
    held = seen.span_ids[difference.predicted]
    return held[:1] if difference.tag == "missing_tool" else held


def _findings(found: Compared, dimension: str) -> Iterable[Finding]:
    """The differences of a dimension: once for each set of spans and category, as everywhere."""
    merged: dict[object, list[tuple[Difference, tuple[str, ...]]]] = defaultdict(list)
    for number, (one, spans) in enumerate(zip(found.differences, found.span_ids, strict=True)):
        rule = RULES[one.tag]
        if rule.dimension == dimension:
            merged[frozenset(spans) or number, rule.category].append((one, spans))
    for several in merged.values():
        gravest = max(several, key=lambda pair: GRAVITY[RULES[pair[0].tag].severity])[0]
        yield Finding(
            span_ids=several[0][1],
            quote=gravest.tool,
            problem="; ".join(f"{one.tag}: {one.message}" for one, _ in several),
            category=RULES[gravest.tag].category,
            severity=RULES[gravest.tag].severity,
            check=f"trajectory-{gravest.tag.replace('_', '-')}",
            grounded=gravest.predicted is not None,
        )


def _rationale(found: Compared, findings: Sequence[Finding]) -> str:
    if found.comparison.any_gold:
        return f"The trace is one of the {found.comparison.gold} gold trajectories."
    likeness = found.comparison.mean("similarity")
    nearest = f"The nearest of {found.comparison.gold} gold trajectories has a similarity of {likeness:.3f}"
    return f"{nearest}; {len(findings)} of the differences count here."


def tables(judge: TrajectoryJudge) -> tuple[Table, ...]:
    """Exact matches and counts by workflow, the metrics, and the differences by tag."""
    rows = list(judge.compared.values())
    groups: dict[str, list[Compared]] = defaultdict(list)
    for one in rows:
        groups[one.group].append(one)
    if len(groups) > 1:
        groups["all together"] = rows
    compared = {name: [one.comparison for one in several] for name, several in groups.items()}
    note = "Each trace against the gold trajectory that is nearest. Overlap and prefix in percent of gold."
    return (_matches(groups), _metrics(compared, note), _tags(rows))


def _matches(groups: Mapping[str, list[Compared]]) -> Table:
    made: list[tuple[Cell, ...]] = []
    for name, rows in groups.items():
        users: dict[str, list[Compared]] = defaultdict(list)
        for one in rows:
            users[one.user].append(one)
        by_user = [compare_prepared(several[0].gold, [one.own for one in several]) for several in users.values()]
        made.append(
            (
                name,
                len(rows),
                len(users),
                rate(sum(one.comparison.any_gold for one in rows), len(rows)),
                rate(sum(one.exact_match for one in by_user), len(by_user)),
                fmean(one.count_agreement for one in by_user) if by_user else None,
                sum(one.unmatched_gold for one in by_user),
                sum(one.unmatched_predicted for one in by_user),
            )
        )
    columns = (
        "workflow",
        "traces",
        "users",
        "matches a gold one",
        "exact match",
        "count %",
        "gold alone",
        "trace alone",
    )
    notes = (
        "matches a gold one: by trace. exact match: all traces of a user are all gold trajectories of that user.",
        "gold alone, trace alone: trajectories that nothing was paired with; the metrics leave them out.",
    )
    return Table("matches", "Traces and gold trajectories", columns, tuple(made), notes)


def _metrics(groups: Mapping[str, Sequence[Comparison]], note: str) -> Table:
    """Mean and standard deviation of each metric over traces, or over what was printed for users."""
    columns = ("workflow", "figure", *(name.replace("_", " ") for name in METRICS), "similarity")
    made: list[tuple[Cell, ...]] = []
    for name, rows in groups.items():
        values = [[one.mean(metric) for one in rows] for metric in (*METRICS, "similarity")]
        if rows:
            made.append((name, "mean", *map(fmean, values)))
            made.append((name, "SD", *(stdev(column) if len(column) > 1 else None for column in values)))
    return Table("metrics", "Metrics", columns, tuple(made), (note,))


def _tags(rows: Sequence[Compared]) -> Table:
    made: list[tuple[Cell, ...]] = []
    for tag in TAGS:
        found = [(one.trace_id, difference) for one in rows for difference in one.differences if difference.tag == tag]
        tools = Counter(difference.tool for _, difference in found)
        said = ", ".join(f"{tool} {count}" for tool, count in tools.most_common(3))
        made.append((tag, RULES[tag].dimension, len(found), len({trace for trace, _ in found}), said or None))
    columns = ("difference", "dimension", "times", "traces", "most at")
    return Table("differences", "Differences from the nearest gold trajectory", columns, tuple(made))


def details(judge: TrajectoryJudge) -> list[dict[str, Any]]:
    """For each trace its metrics and its differences with their spans, as plain values."""
    compared: list[dict[str, Any]] = [
        {
            "trace_id": one.trace_id,
            "user": one.user,
            "workflow": one.group,
            "matches_gold": one.comparison.any_gold,
            "gold_trajectories": one.comparison.gold,
            "metrics": {name: one.comparison.mean(name) for name in (*METRICS, "similarity")},
            "differences": [
                {"tag": difference.tag, "tool": difference.tool, "message": difference.message, "span_ids": spans}
                for difference, spans in zip(one.differences, one.span_ids, strict=True)
            ],
        }
        for one in judge.compared.values()
    ]
    return compared + [{"trace_id": trace_id, "problem": one.reason} for trace_id, one in judge.problems.items()]


def read_outputs(path: str | Path) -> list[tuple[str, str]]:
    """(user, output) of each line of a JSON Lines file. Raises `InputError` naming every line that is none."""
    import msgspec

    try:
        lines = Path(path).expanduser().read_bytes().splitlines()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    found: list[tuple[str, str]] = []
    wrong: list[str] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = msgspec.json.decode(line)
        except (msgspec.MsgspecError, RecursionError) as error:
            wrong.append(f"{path}:{number}: expected a JSON object, found {error}")
            continue
        user, output = (value.get("user"), value.get("output")) if isinstance(value, dict) else (None, None)
        if isinstance(user, str | int) and isinstance(output, str):
            found.append((str(user), output))
        else:
            wrong.append(f'{path}:{number}: expected {{"user": id, "output": text}}, found {line[:60]!r}')
    if wrong:
        raise InputError("; ".join(wrong))
    return found


def printed(
    outputs: Sequence[tuple[str, str]], expected: Mapping[str, Expected | Problem]
) -> tuple[tuple[Table, ...], tuple[str, ...]]:
    """Tables and notes on what models printed: a set of trajectories for each user, cleaned where it has to be."""
    groups: dict[str, list[Comparison]] = defaultdict(list)
    cleaned: list[Cleaned] = []
    unknown = 0
    for user, output in outputs:
        one = expected.get(user)
        if not isinstance(one, Expected):
            unknown += 1
            continue
        cleaned.append(clean(output))
        gold, values = one.gold.set.trajectories, one.gold.values
        groups[one.group or "all"].append(compare_trajectories(gold, cleaned[-1].trajectories, values=values))
    if len(groups) > 1:
        groups["all together"] = [one for several in list(groups.values()) for one in several]
    counts = counted(cleaned)
    notes = [
        f"{counts.outputs} outputs: {counts.initial_fail} did not parse as they were, {counts.recovered} recovered."
    ]
    notes += [f"{unknown} outputs of users without gold trajectories were left out."] if unknown else []
    note = "Paired so that similarities add up to the most; a mean over pairs, then over users."
    return (_printed_matches(groups), _metrics(groups, note), _cleaning(counts)), tuple(notes)


def _printed_matches(groups: Mapping[str, list[Comparison]]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            name,
            len(several),
            rate(sum(one.exact_match for one in several), len(several)),
            rate(sum(one.any_gold for one in several), len(several)),
            fmean(one.count_agreement for one in several),
            sum(one.no_prediction for one in several),
        )
        for name, several in groups.items()
    ]
    columns = ("workflow", "outputs", "exact match", "all are gold", "count %", "no prediction")
    return Table("matches", "Outputs and gold trajectories", columns, tuple(rows))


def _cleaning(counts: CleaningCounts) -> Table:
    rows: list[tuple[Cell, ...]] = [
        ("initial fail", counts.initial_fail),
        ("recovered", counts.recovered),
        ("unrecovered", counts.unrecovered),
        *((reason.replace("_", " "), count) for reason, count in counts.reasons.items()),
    ]
    return Table("cleaning", "What had to be mended", ("reason", "outputs"), tuple(rows))
