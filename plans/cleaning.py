"""What a model printed as trajectories -> trajectories, with what had to be mended, counted by reason.

The paper's "output cleaning" (Traxgen, Table 9): an output either parses as it is, is recovered, or is not; the reasons
are those of `gpa.plans.tolerant`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from gpa.plans.calls import Trajectory
from gpa.plans.pseudo_json import parse
from gpa.plans.tolerant import REASONS
from gpa.plans.trajectory_reading import trajectories_in

Outcome = Literal["clean", "recovered", "unrecovered"]


class Cleaned(Struct, frozen=True):
    """One output of a model, read."""

    trajectories: tuple[Trajectory, ...]
    outcome: Outcome
    reasons: tuple[str, ...] = ()
    """What was mended, each reason once."""
    problem: str = ""
    """Why nothing could be recovered."""


class CleaningCounts(Struct, frozen=True):
    """How many outputs parsed as they were, and what was wrong with the others."""

    outputs: int
    initial_fail: int
    recovered: int
    unrecovered: int
    reasons: dict[str, int]
    """Every reason, in how many outputs it was met."""


def clean(text: str) -> Cleaned:
    """The trajectories in an output; never raises."""
    parsed = parse(text)
    if parsed is None:
        return Cleaned((), "unrecovered", ("incorrect_format",), "no JSON and no calls in it")
    reasons = tuple(dict.fromkeys(repair.reason for repair in parsed.repairs))
    found, problems = trajectories_in(parsed.value)
    if problems and not any(found):
        return Cleaned((), "unrecovered", (*reasons, "incorrect_format"), str(problems[0]))
    if problems:
        reasons = tuple(dict.fromkeys((*reasons, "incorrect_format")))
    return Cleaned(found, "recovered" if reasons else "clean", reasons, str(problems[0]) if problems else "")


def counted(cleaned: Iterable[Cleaned]) -> CleaningCounts:
    """The counters over many outputs."""
    outcomes: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for one in cleaned:
        outcomes[one.outcome] += 1
        reasons.update(one.reasons)
    return CleaningCounts(
        outputs=outcomes.total(),
        initial_fail=outcomes["recovered"] + outcomes["unrecovered"],
        recovered=outcomes["recovered"],
        unrecovered=outcomes["unrecovered"],
        reasons={reason: reasons[reason] for reason in REASONS},
    )
