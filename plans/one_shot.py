"""A plan against a reference plan, step by step: precision, recall, F1, and a rating of seven points.

Steps match when they use the same tool, ask the same thing and need the steps that match what the other needs, however
either plan is numbered. Source: tool-aware planning, sections C4 and g.14.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, get_args

from msgspec import Struct

from gpa.plans.assignment import Edge, maximum_assignment
from gpa.plans.metrics import Deduction
from gpa.plans.palette import Palette
from gpa.plans.placeholders import malformed, placeholders, texts
from gpa.plans.plan import Plan, PlanStep
from gpa.plans.plan_rules import SAME_PROMPT, call_faults, dependency_faults, likeness, placeholder_faults

Rating = Literal["Extremely Good", "Very Good", "Good", "Acceptable", "Bad", "Very Bad", "Extremely Bad"]
RATINGS: tuple[Rating, ...] = get_args(Rating)
"""Best first."""
BOUNDS = (0.95, 0.85, 0.75, 0.60, 0.45, 0.30)
"""A rating needs an F1 *above* its bound."""
Bucket = Literal["A+", "A", "B"]
_BUCKETS: tuple[tuple[Bucket, int], ...] = (("A+", 1), ("A", 2), ("B", 3))
"""Bucket -> place of the last rating in it."""
_TOLERANCE = 1e-9


class Difference(Struct, frozen=True):
    """A step that has no match, and why."""

    step: str
    side: Literal["plan", "reference"]
    reason: str


class Comparison(Struct, frozen=True):
    """How close a plan is to its reference. Shares are 0 to 1."""

    precision: float
    recall: float
    f1: float
    rating: Rating
    matches: tuple[tuple[str, str], ...]
    """(id in the plan, id in the reference)."""
    differences: tuple[Difference, ...]
    format_correctness: float
    """Steps of the plan, looked at by itself, that are written properly, placeholders aside."""
    dependencies: float
    """Steps of the plan, looked at by itself, that depend on what they use."""
    placeholders: float
    """Steps of the plan, looked at by itself, whose placeholders are right."""

    @property
    def buckets(self) -> tuple[Bucket, ...]:
        """A+ holds the top two ratings, A also Good, B also Acceptable; none below."""
        place = RATINGS.index(self.rating)
        return tuple(name for name, last in _BUCKETS if place <= last)


def rating(f1: float) -> Rating:
    """The rating of an F1 of 0 to 1: strictly above 0.95 is Extremely Good, and so on down; at 0.30 Extremely Bad."""
    return next((name for name, bound in zip(RATINGS, BOUNDS, strict=False) if f1 > bound + _TOLERANCE), RATINGS[-1])


def f_score(steps: int, reference: int, matched: int) -> float:
    """The harmonic mean of precision (matched of `steps`) and recall (matched of `reference`)."""
    return 2 * matched / (steps + reference) if steps + reference else 1.0


def compare(
    plan: Plan | None,
    reference: Plan,
    palette: Palette,
    *,
    same: float = SAME_PROMPT,
    strict_index: bool = False,
    matches: Sequence[tuple[str, str]] | None = None,
) -> Comparison:
    """The plan against the reference.

    Args:
        plan: None when it could not be read: Extremely Bad, whatever the reference.
        reference: The plan known to be good.
        palette: The tools, for the form of their calls.
        same: How alike (0 to 100) prompts must be.
        strict_index: Whether matching steps must have the same number.
        matches: Pairs (plan, reference) that a model or a person says mean the same, instead of likeness; tool, form
            and dependencies are checked all the same.
    """
    if plan is None:
        gone = tuple(Difference(step.id, "reference", "the plan cannot be read") for step in reference)
        return Comparison(0.0, 0.0, 0.0, "Extremely Bad", (), gone, 0.0, 0.0, 0.0)
    alike = (
        _alike(plan, reference, same, strict_index=strict_index)
        if matches is None
        else _given(plan, reference, matches)
    )
    counterpart = dict(alike)
    miswritten, misreferred = _steps(call_faults(plan)), _steps(placeholder_faults(plan, palette))
    faulty = miswritten | misreferred
    faulty_reference = _steps(call_faults(reference)) | _steps(placeholder_faults(reference, palette))
    needs, reference_needs = plan.dependencies(), reference.dependencies()
    differences: list[Difference] = []
    kept: list[tuple[str, str]] = []
    for step in plan:
        other = counterpart.get(step.id)
        if other is None:
            differences.append(Difference(step.id, "plan", "no step of the reference uses this tool for this"))
            continue
        same_needs = _mapped(needs[step.id], counterpart) == set(reference_needs[other])
        same_places = _placeholders(step, counterpart) == _placeholders(reference.step(other), None)
        reasons = [
            reason
            for reason, holds in (
                ("needs other steps", same_needs),
                ("has other placeholders", same_places),
                ("is not well formed", step.id not in faulty or other in faulty_reference),
            )
            if not holds
        ]
        if reasons:
            differences.append(Difference(step.id, "plan", f"is like step {other} but {' and '.join(reasons)}"))
        else:
            kept.append((step.id, other))
    found = {other for _, other in kept}
    differences += [
        Difference(step.id, "reference", "no step of the plan does this") for step in reference if step.id not in found
    ]
    f1 = f_score(len(plan), len(reference), len(kept))
    return Comparison(
        precision=_share(len(kept), len(plan)),
        recall=_share(len(kept), len(reference)),
        f1=f1,
        rating=rating(f1),
        matches=tuple(kept),
        differences=tuple(differences),
        format_correctness=_share(len(plan) - len(miswritten), len(plan)),
        dependencies=_share(len(plan) - len(_steps(dependency_faults(plan))), len(plan)),
        placeholders=_share(len(plan) - len(misreferred), len(plan)),
    )


class Similarity(Struct, frozen=True):
    """How alike two plans are, neither of them the reference: two people's plans for one query."""

    f1: float
    """Mean of both directions."""
    well_formed: bool
    """Whether no step of either has a fault of form."""
    rating: Rating
    """Of the F1; Extremely Bad where one of them is not well formed."""

    @property
    def adjudicate(self) -> bool:
        """Whether a third person should decide: below Very Good."""
        return RATINGS.index(self.rating) > RATINGS.index("Very Good")


def similarity(there: Comparison, back: Comparison) -> Similarity:
    """How alike two plans are, compared in both directions (tool-aware planning, section C8)."""
    f1 = (there.f1 + back.f1) / 2
    well_formed = all(one.format_correctness == one.placeholders == 1 for one in (there, back))
    return Similarity(f1, well_formed, rating(f1) if well_formed else RATINGS[-1])


def _share(count: int, total: int) -> float:
    return max(0, count) / total if total else 1.0


def _steps(deductions: Iterable[Deduction]) -> set[str]:
    return {one.step for one in deductions}


def _alike(plan: Plan, reference: Plan, same: float, *, strict_index: bool) -> list[tuple[str, str]]:
    """The steps of the same tool and meaning, each at most once, so that most of them, and the most alike, pair."""
    needs, reference_needs = plan.dependencies(), reference.dependencies()
    weights: dict[Edge, float] = {}
    for row, step in enumerate(plan):
        for column, other in enumerate(reference):
            if step.tool.casefold() != other.tool.casefold() or (strict_index and step.id != other.id):
                continue
            alike = likeness(step.prompt, other.prompt)
            if alike >= same:
                # Among steps that ask the same, the one with as many needs at the same place is the counterpart.
                near = len(needs[step.id]) == len(reference_needs[other.id])
                weights[row, column] = 1000 + alike + near - abs(row - column) / 1000
    pairs = maximum_assignment(weights) if weights else []
    return [(plan.steps[row].id, reference.steps[column].id) for row, column in pairs]


def _given(plan: Plan, reference: Plan, matches: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The pairs that name steps which exist and use the same tool, each step once."""
    kept: dict[str, str] = {}
    tools = {step.id: step.tool.casefold() for step in plan}
    other_tools = {step.id: step.tool.casefold() for step in reference}
    for one, other in matches:
        known = one in tools and other in other_tools
        if known and one not in kept and other not in kept.values() and tools[one] == other_tools[other]:
            kept[one] = other
    return list(kept.items())


def _mapped(needed: Sequence[str], counterpart: Mapping[str, str]) -> set[str]:
    """The needed steps by the numbers of the reference; one without a counterpart stays something it does not know."""
    return {counterpart.get(one, f"plan {one}") for one in needed}


def _placeholders(step: PlanStep, counterpart: Mapping[str, str] | None) -> frozenset[str]:
    """The steps that placeholders name, by the numbers of the reference, and those that are malformed."""
    written = [step.instruction, step.arguments, step.text]
    named = {one.target for one in placeholders(written)}
    if counterpart is not None:
        named = {counterpart.get(one, f"plan {one}") for one in named}
    query = ("(query)",) if any("(query)" in text.casefold() for text in texts(written)) else ()
    return frozenset((*named, *malformed(written), *query))
