"""Which of several systems answered a question best, by gates and ranks that a person can follow.

Each answer has a validity and a consistency (0 or 1), a completeness and a redundancy (1 to 7; 7 means nothing
superfluous). An answer that is invalid or inconsistent is out; the others are compared by completeness, then by
redundancy. Source: tool-aware planning, section C9.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gpa.agreement import Rate, rate
from gpa.judges.answer_judge import Answer

__all__ = ["ALL", "NEITHER", "Answer", "canonical", "decision", "win_rates"]

NEITHER = "Neither"
ALL = "All"


def decision(answers: Mapping[str, Answer]) -> str:
    """The system that answered best; several with a comma, all of them as `All`, none as `Neither`."""
    standing = {name: (one.completeness, one.redundancy) for name, one in answers.items() if one.stands}
    best = max(standing.values(), default=None)
    winners = [name for name, rank in standing.items() if rank == best]
    if not winners:
        return NEITHER
    return ALL if len(winners) == len(answers) and len(winners) > 1 else ",".join(winners)


def canonical(text: str, systems: Sequence[str]) -> str | None:
    """A decision as `decision` writes it, whatever its case, order and blanks; None when it is none."""
    names = {name.casefold(): name for name in systems}
    parts = [part.strip().casefold() for part in text.split(",")]
    if parts in (["neither"], ["none"], ["all"]):
        return ALL if parts == ["all"] else NEITHER
    if not set(parts) <= set(names):
        return None
    winners = [name for name in systems if name.casefold() in parts]
    return ALL if len(winners) == len(systems) and len(winners) > 1 else ",".join(winners)


def win_rates(decisions: Iterable[str], systems: Sequence[str]) -> dict[str, Rate]:
    """Per system the share of questions it won or shared; they need not add up to 1."""
    made = [set(systems) if one == ALL else set() if one == NEITHER else set(one.split(",")) for one in decisions]
    return {system: rate(sum(system in won for won in made), len(made)) for system in systems}
