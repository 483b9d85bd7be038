"""Which checks run: all, some by name, all but some."""

from __future__ import annotations

from collections.abc import Iterable

from rapidfuzz import process

from gpa.errors import UsageError
from gpa.judges.checks import CHECKS
from gpa.judges.checks.check import Check


def select(only: Iterable[str] | None = None, skip: Iterable[str] = ()) -> tuple[Check, ...]:
    """The checks named in `only` (all when None) without those named in `skip`, in the order of the registry.

    Raises `UsageError` for a name no check has, and when nothing is left.
    """
    wanted = None if only is None else {_known(name) for name in only}
    left_out = {_known(name) for name in skip}
    chosen = tuple(check for check in CHECKS if (wanted is None or check.name in wanted) and check.name not in left_out)
    if not chosen:
        raise UsageError("checks: expected at least one to run, found none")
    return chosen


def _known(name: str) -> str:
    names = [check.name for check in CHECKS]
    if name in names:
        return name
    near = process.extractOne(name, names, score_cutoff=60)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise UsageError(f"checks: expected a name that `gpa checks` lists, found {name!r}{hint}")
