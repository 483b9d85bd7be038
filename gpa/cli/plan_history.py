"""How a lineage is shown: revisions with tags, reasons and diffs, failures, scores; and the same as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from gpa.cli.output import one_line, visible

if TYPE_CHECKING:
    from gpa.plans.lineage import Lineage, Revision, Visit
    from gpa.plans.metrics import PlanScore

WIDTH = 200
"""Characters shown of a reason, or of a line of a diff."""
TOLD = 0.05
"""Points by which a metric has to change to be told of."""
ASIDE = {
    "same": "the optimiser left the plan as it is",
    "repeated": "the repair gives a plan that was there before",
}
"""What is said of visits that led to no new plan; failures are said with their reasons."""


def plain_lineage(lineage: Lineage, scores: Sequence[PlanScore]) -> dict[str, Any]:
    """The lineage as a JSON value."""
    from msgspec import to_builtins

    from gpa.plans.plan_text import plain_plan

    return {
        "status": lineage.status,
        "message": lineage.message,
        "meta": to_builtins(lineage.meta) if lineage.plans else None,
        "plan": plain_plan(lineage.last) if lineage.plans else None,
        "lineage": [plain_plan(plan) for plan in lineage.plans],
        "scores": [plain_score(score) for score in scores],
        "revisions": to_builtins(lineage.revisions),
        "failures": to_builtins(lineage.failures),
        "visits": to_builtins(lineage.visits),
    }


def plain_score(score: PlanScore) -> dict[str, Any]:
    """The score by the rules: 0 to 100 of what was judged, points by metric, and what was not judged."""
    from msgspec import to_builtins

    return {
        "score": score.score,
        "points": {one.metric: one.points for one in score.metrics},
        "missing": dict(score.missing),
        "deductions": to_builtins(score.deductions),
    }


def visit_lines(lineage: Lineage) -> Iterator[str]:
    """What happened, pass by pass, safe to show."""
    revisions = iter(lineage.revisions)
    failures = iter(lineage.failures)
    for number in range(1, lineage.passes + 1):
        visits = [visit for visit in lineage.visits if visit.pass_number == number]
        for visit in visits:
            if visit.outcome == "edited":
                yield from revision_lines(next(revisions))
            elif visit.outcome in {"failed", "refused"}:
                failure = next(failures)
                why = f"the {failure.stage} failed: {failure.error_type}: {failure.message}"
                yield f"  {_place(visit)}{_tags(visit.tags)}: {one_line(why, WIDTH)}; the step stays as it is"
            elif visit.outcome != "kept":
                yield f"  {_place(visit)}{_tags(visit.tags)}: {ASIDE[visit.outcome]}"
        if visits and all(visit.outcome == "kept" for visit in visits):
            whole = lineage.status == "clean" or number < lineage.passes
            yield f"  pass {number}: nothing to change in {len(visits)} step{'s' * (len(visits) != 1)}" + (
                "" if whole else " so far"
            )


def revision_lines(revision: Revision) -> Iterator[str]:
    """One revision, safe to show."""
    if revision.pass_number:
        yield f"  pass {revision.pass_number}, step {one_line(revision.step, 40)}{_tags(revision.tags)}"
        for name, text in (
            *(("because", reason) for reason in revision.reasons),
            ("change 0", revision.change0),
            ("change 1", revision.change1),
        ):
            if text.strip():
                yield f"    {name}: {one_line(text, WIDTH)}"
    for line in revision.diff.splitlines():
        yield f"    {visible(line) if len(line) <= WIDTH else one_line(line, WIDTH)}"


def score_line(scores: Sequence[PlanScore]) -> str:
    """The first and the last score, and the metrics that changed."""
    if not scores:
        return "nothing to score"
    first, last = scores[0], scores[-1]
    if len(scores) == 1 or last.score is None or first.score is None:
        return f"{points_of(first)}, then {points_of(last)}" if len(scores) > 1 else points_of(last)
    changed = [
        f"{one.metric.replace('_', ' ')} {one.points:.1f} -> {new.points:.1f}"
        for one in first.metrics
        if (new := last.metric(one.metric)) is not None and abs(new.points - one.points) > TOLD
    ]
    return f"{first.score:.2f} -> {points_of(last)}" + (f": {', '.join(changed)}" if changed else "")


def points_of(score: PlanScore) -> str:
    """A score, and by how many of the metrics."""
    from gpa.plans.metrics import METRICS

    if score.score is None:
        return "nothing to score"
    return f"{score.score:.2f} of 100 (by {len(score.metrics)} of {len(METRICS)} metrics)"


def _place(visit: Visit) -> str:
    return f"pass {visit.pass_number}, step {one_line(visit.step, 40)}"


def _tags(tags: Sequence[Any]) -> str:
    from gpa.plans.lineage import TITLES

    return f" [{', '.join(TITLES[tag] for tag in tags)}]" if tags else ""
