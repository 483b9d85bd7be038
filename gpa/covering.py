"""Traces against what was asked for: a judge of PQ, PA and EE that asks no model, and tables of what plans cover.

What a plan misses or does too early stands at the step that states it (PQ), what was done otherwise than planned at the
call (PA), what was done though nothing asks for it at the call as well (EE): verdicts of the model `coverage`, stored,
exported, shown and scored like those of every other judge.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from gpa.agreement import rate
from gpa.ingest.history import canonical
from gpa.ingest.render import shortened
from gpa.ingest.transcript import Transcript
from gpa.judges.scoring import score_of
from gpa.judges.verdict import GRAVITY, AnyResult, Failure, Finding, NotApplicable, Severity, Verdict
from gpa.plans.coverage import Coverage
from gpa.plans.plan import Plan
from gpa.plans.requirement_files import Asked, Broken
from gpa.plans.review import Review, Rules, Stated, review
from gpa.tables import Cell, Table

MODEL = "coverage"
"""What these results have in place of a model's name."""
DIMENSIONS = ("EE", "PA", "PQ")
_VERSION = 1
_DONE = "done"
_SHOWN = 200
"""Characters of a parameter's value in a finding."""
NOT_KNOWN = "what was asked for is not known: no requirements of this trace"


class _Kind(NamedTuple):
    dimension: str
    category: str
    severity: Severity


KINDS = {
    "missing": _Kind("PQ", "Goal Deviation", "HIGH"),
    "out-of-order": _Kind("PQ", "Task Orchestration", "MEDIUM"),
    "unfounded-claim": _Kind("PQ", "Goal Deviation", "LOW"),
    "semantic-change": _Kind("PA", "Goal Deviation", "HIGH"),
    "not-done": _Kind("PA", "Task Orchestration", "MEDIUM"),
    "unjustified": _Kind("EE", "Resource Abuse", "MEDIUM"),
}
"""What is found, under which dimension it stands, and how grave it is."""


class _Hit(NamedTuple):
    kind: str
    span_ids: tuple[str, ...]
    quote: str
    problem: str


Lookup = Callable[[Transcript], Asked | Broken | None]
"""What a trace was asked for, why that cannot be said, or None when nobody knows."""


class Row(NamedTuple):
    """A plan out of a file and what it covers."""

    id: str
    asked: Asked
    plan: Plan
    coverage: Coverage


@dataclass
class CoverageJudge:
    """Coverage as a judge. `reviews` keeps what the tables are made of."""

    lookup: Lookup
    rules: Rules
    digest: str = ""
    """Of the files the requirements come from and the model they were extracted by: part of the resume key."""
    reviews: dict[str, Review] = field(default_factory=dict)
    without: dict[str, Broken | None] = field(default_factory=dict)
    """Traces without requirements, and why where it is an error."""
    model: str = MODEL
    sample: int = 0

    def rubric_hash(self, dimension: str) -> str:
        """The hash of requirements, registry, mapping, and the rules of this module."""
        rules = self.rules
        said = (_VERSION, dimension, self.digest, rules.registry.digest, rules.mapping, rules.cover_metrics)
        settings = (*said, rules.grain_policy, sorted(rules.ignore))
        return blake2b(msgspec.json.encode(settings, order="deterministic"), digest_size=8).hexdigest()

    async def judge(self, transcript: Transcript, dimensions: Sequence[str]) -> Sequence[AnyResult]:
        """One result for each of these dimensions."""
        found = self.review(transcript)
        return tuple(self._result(transcript.trace_id, dimension, found) for dimension in dimensions)

    def review(self, transcript: Transcript) -> Review | Broken | None:
        """The trace beside what was asked for, kept for the tables."""
        asked = self.lookup(transcript)
        if not isinstance(asked, Asked):
            self.without[transcript.trace_id] = asked
            return asked
        self.reviews[transcript.trace_id] = found = review(transcript, asked, self.rules)
        return found

    def _result(self, trace_id: str, dimension: str, found: Review | Broken | None) -> AnyResult:
        digest = self.rubric_hash(dimension)
        if isinstance(found, Broken):
            return Failure(
                trace_id=trace_id,
                judge=dimension,
                model=MODEL,
                error_type=found.error_type,
                message=found.reason,
                rubric_hash=digest,
            )
        reason = NOT_KNOWN if found is None else _not_applicable(found, dimension)
        if reason or found is None:
            return NotApplicable(trace_id=trace_id, judge=dimension, model=MODEL, reason=reason, rubric_hash=digest)
        findings = tuple(_findings(found, dimension))
        return Verdict(
            trace_id=trace_id,
            judge=dimension,
            model=MODEL,
            score=score_of(findings),
            rationale=_rationale(found, dimension),
            findings=findings,
            rubric_hash=digest,
        )


def _not_applicable(found: Review, dimension: str) -> str:
    """Why the dimension has nothing to judge, empty when it has."""
    if dimension not in DIMENSIONS:
        return f"requirements say nothing about {dimension}"
    if dimension in {"PQ", "PA"} and not found.plans:
        return "no stated plan names a tool that the registry knows" if found.in_prose else "no plan in the trace"
    if dimension in {"PA", "EE"} and not found.done.plan.steps:
        return "no tool call in the trace"
    if dimension == "EE" and len(found.done.coverage.unknown) == len(found.done.plan):
        return "no call is of a tool that the registry knows"
    return ""


def _findings(found: Review, dimension: str) -> Iterator[Finding]:
    """What was found under a dimension: once for each set of spans and category, as everywhere."""
    merged: dict[object, list[_Hit]] = defaultdict(list)
    for hit in _hits(found):
        kind = KINDS[hit.kind]
        if kind.dimension == dimension:
            merged[frozenset(hit.span_ids) or hit.problem, kind.category].append(hit)
    for several in merged.values():
        gravest = max(several, key=lambda hit: GRAVITY[KINDS[hit.kind].severity])
        yield Finding(
            span_ids=several[0].span_ids,
            quote=gravest.quote,
            problem="; ".join(dict.fromkeys(hit.problem for hit in several)),
            category=KINDS[gravest.kind].category,
            severity=KINDS[gravest.kind].severity,
            check=f"coverage-{gravest.kind}",
            grounded=gravest.kind != "not-done",
        )


def _hits(found: Review) -> Iterator[_Hit]:
    first = next(iter(found.plans), None)
    if found.missing and first is not None:
        said = ", ".join(found.missing)
        yield _Hit("missing", _spans(found, first), _quote(first), f"no step of the plan serves {said}")
    for stated in found.plans:
        yield from _of_plan(found, stated)
    for one in found.changes:
        change = one.change
        if not change.accepted:
            why = f"{one.tool}: {change.reason} (planned {_value(change.before)}, called with {_value(change.after)})"
            yield _Hit("semantic-change", one.span_ids, one.tool, why)
    for missing in found.not_done:
        why = f"step {missing.step} of the plan ({missing.tool}) was not done"
        yield _Hit("not-done", missing.span_ids, missing.tool, why)
    for step in found.done.coverage.unjustified:
        tool = found.done.plan.step(step).tool
        yield _Hit("unjustified", found.done.span_ids[step], tool, f"{tool} serves nothing that was asked for")


def _of_plan(found: Review, stated: Stated) -> Iterator[_Hit]:
    tools = {step.id: step.tool for step in stated.plan}
    for one in stated.coverage.out_of_order:
        why = f"{tools[one.step]} (step {one.step}) comes before {tools[one.before]} (step {one.before}), which groups"
        yield _Hit("out-of-order", _spans(found, stated), tools[one.step], why)
    for claim in stated.coverage.unfounded:
        why = f"{tools[claim.step] or 'step'} (step {claim.step}) claims to serve {claim.requirement}, and does not"
        yield _Hit("unfounded-claim", _spans(found, stated), tools[claim.step], why)


def _spans(found: Review, stated: Stated) -> tuple[str, ...]:
    return (found.plan_spans[stated.label],)


def _quote(stated: Stated) -> str:
    return ", ".join(dict.fromkeys(step.tool for step in stated.plan if step.tool))


def _value(value: Any) -> str:
    return "nothing" if value is None else shortened(canonical(value), _SHOWN)


def _rationale(found: Review, dimension: str) -> str:
    if dimension == "PQ":
        wanted = len(found.asked.requirements.ids())
        if not found.missing:
            return f"The plan covers all of {wanted} requirements."
        return f"The plan misses {len(found.missing)} of {wanted} requirements: {', '.join(found.missing)}."
    if dimension == "PA":
        semantic = sum(not one.change.accepted for one in found.changes)
        safe = len(found.changes) - semantic
        return (
            f"{len(found.not_done)} planned steps were not done; {semantic} parameters were changed in meaning,"
            f" {safe} safely."
        )
    return f"{len(found.done.coverage.unjustified)} of {len(found.done.plan)} calls serve no requirement."


def tables(reviews: Iterable[Review], rows: Iterable[Row] = ()) -> tuple[Table, ...]:
    """The metrics over all, what was changed on the way from plan to calls, and one line for each trace or plan."""
    reviews = list(reviews)
    listed = _listed(reviews, rows)
    run = [one for one in reviews if one.plans and one.done.plan.steps]
    return (_metrics(listed), *((_changes(run),) if run else ()), _lines(listed))


def to_mend(reviews: Iterable[Review], rows: Iterable[Row] = ()) -> list[tuple[str, tuple[str, ...]]]:
    """Each plan in which something is to be mended, and the lines that say it to a model."""
    listed = _listed(reviews, rows)
    return [(f"{line.name} {line.what}", line.coverage.payload) for line in listed if line.coverage.payload]


class _Line(NamedTuple):
    """One plan of one trace or file."""

    name: str
    what: str
    coverage: Coverage


def _listed(reviews: Iterable[Review], rows: Iterable[Row]) -> list[_Line]:
    listed: list[_Line] = []
    for one in reviews:
        listed += [_Line(one.trace_id, f"planned in {stated.label}", stated.coverage) for stated in one.plans]
        if one.done.plan.steps:
            listed.append(_Line(one.trace_id, _DONE, one.done.coverage))
    return listed + [_Line(row.id, "planned", row.coverage) for row in rows]


def _metrics(listed: Sequence[_Line]) -> Table:
    planned = [line.coverage for line in listed if line.what != _DONE]
    done = [line.coverage for line in listed if line.what == _DONE]
    made: list[tuple[Cell, ...]] = []
    for name, several in (("planned", planned), (_DONE, done)):
        if several:
            covered = sum(len(one.covered) for one in several)
            wanted = covered + sum(len(one.missing) for one in several)
            unjustified = sum(len(one.unjustified) for one in several)
            steps = sum(one.steps for one in several)
            mended = sum(one.ok for one in several)
            figures = (rate(covered, wanted), rate(unjustified, steps), rate(mended, len(several)))
            made.append((name, len(several), *figures))
    columns = ("what", "plans", "coverage", "unjustified steps", "nothing to mend")
    notes = ("coverage: requirements that are served. unjustified steps: those that serve none.",)
    return Table("metrics", "Coverage of what was asked for", columns, tuple(made), notes)


def _changes(run: Sequence[Review]) -> Table:
    """Safe and semantic changes of parameters over the traces that stated a plan and made calls."""
    safe = [sum(changed.change.accepted for changed in one.changes) for one in run]
    semantic = [len(one.changes) - accepted for one, accepted in zip(run, safe, strict=True)]
    steps = sum(len(one.done.plan) for one in run)
    rows: tuple[tuple[Cell, ...], ...] = (
        ("safe repairs", rate(sum(map(bool, safe)), len(run)), sum(safe), sum(safe) / steps),
        ("changes of meaning", rate(sum(map(bool, semantic)), len(run)), sum(semantic), sum(semantic) / steps),
        (
            "planned, not done",
            rate(sum(bool(one.not_done) for one in run), len(run)),
            sum(len(o.not_done) for o in run),
            None,
        ),
    )
    columns = ("from plan to calls", "plans", "times", "a call")
    return Table("changes", "From plan to calls", columns, rows, ("plans: the repair rate is that of safe repairs.",))


def _lines(listed: Sequence[_Line]) -> Table:
    made: list[tuple[Cell, ...]] = [
        (
            line.name,
            line.what,
            f"{len(line.coverage.covered)}/{len(line.coverage.covered) + len(line.coverage.missing)}",
            len(line.coverage.unjustified),
            len(line.coverage.out_of_order),
            len(line.coverage.unknown),
        )
        for line in listed
    ]
    columns = ("plan", "what", "covered", "unjustified", "out of order", "unknown tools")
    return Table("plans", "Plans", columns, tuple(made))


def details(reviews: Iterable[Review], without: Mapping[str, Broken | None]) -> list[dict[str, Any]]:
    """For each trace everything that was found, with spans, as plain values."""
    known: list[dict[str, Any]] = [
        {
            "trace_id": one.trace_id,
            "requirements": msgspec.to_builtins(one.asked.requirements),
            "grain": one.grain,
            "missing": list(one.missing),
            "plans": [
                {"label": stated.label, "span_id": one.plan_spans[stated.label], "agent": stated.agent}
                | plain(stated.plan, stated.coverage)
                for stated in one.plans
            ],
            "plans_in_prose": one.in_prose,
            "done": {"failed": list(one.done.failed)} | plain(one.done.plan, one.done.coverage, one.done.span_ids),
            "changes": [
                {"tool": changed.tool, "accepted": changed.change.accepted, "span_ids": list(changed.span_ids)}
                | msgspec.to_builtins(changed.change)
                for changed in one.changes
            ],
            "not_done": msgspec.to_builtins(one.not_done),
        }
        for one in reviews
    ]
    return known + [
        {"trace_id": trace_id, "problem": broken.reason if broken else NOT_KNOWN}
        for trace_id, broken in without.items()
    ]


def plain(plan: Plan, one: Coverage, span_ids: Mapping[str, tuple[str, ...]] | None = None) -> dict[str, Any]:
    """Coverage as plain values, steps with their tools and (where they were done) spans."""
    spans = span_ids or {}
    return {
        "coverage": one.rate,
        "unjustified_rate": one.unjustified_rate,
        "ok": one.ok,
        "covered": {requirement: list(steps) for requirement, steps in one.covered.items()},
        "missing": list(one.missing),
        "unjustified": list(one.unjustified),
        "unknown": list(one.unknown),
        "out_of_order": msgspec.to_builtins(one.out_of_order),
        "unfounded": msgspec.to_builtins(one.unfounded),
        "payload": list(one.payload),
        "steps": [
            {"id": step.id, "tool": step.tool, **({"span_ids": list(spans[step.id])} if step.id in spans else {})}
            for step in plan
        ],
    }
