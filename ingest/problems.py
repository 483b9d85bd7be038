"""What is wrong with the input, for a person: collected per file, each sentence once, with where and how often."""

from __future__ import annotations

import logging
from collections.abc import Callable

from msgspec import Struct

from gpa.errors import InputError
from gpa.ingest.documents import CUT_OFF

_DISTINCT = 20
"""Messages about one file; more are only counted."""
_NAMES = 5
_log = logging.getLogger(__name__)


class Problem(Struct, frozen=True):
    """Something about the input a person should know; `fatal` when something could not be read."""

    where: str
    message: str
    fatal: bool = True

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


OnProblem = Callable[[Problem], None]


def collect(problems: list[Problem]) -> OnProblem:
    """A callback that keeps fatal problems and logs the others."""

    def on_problem(problem: Problem) -> None:
        if problem.fatal:
            problems.append(problem)
        else:
            _log.warning("%s", problem)

    return on_problem


def raise_fatal(problems: list[Problem]) -> None:
    """Raise one `InputError` that lists the problems, if there are any."""
    if problems:
        raise InputError("\n".join(map(str, problems)))


def in_short(paths: list[str]) -> str:
    """The paths in one line, only the first few when there are many."""
    return ", ".join(paths[:_NAMES]) + (f" and {len(paths) - _NAMES} more" if len(paths) > _NAMES else "")


class Notes:
    """What there is to say about one file, each sentence once, with the first place and how often."""

    __slots__ = ("_counts", "_on_problem", "_others", "where")

    def __init__(self, where: str, on_problem: OnProblem) -> None:
        self.where = where
        self._on_problem = on_problem
        self._counts: dict[tuple[str, bool], tuple[str, int]] = {}
        self._others = 0

    def __bool__(self) -> bool:
        return bool(self._counts)

    def add(self, place: str, message: str, *, fatal: bool = False) -> None:
        """Count a message; `place` is a line number or a position in words."""
        key = (message, fatal)
        if key in self._counts:
            first, count = self._counts[key]
            self._counts[key] = (first, count + 1)
        elif len(self._counts) < _DISTINCT or (fatal and not self.fatal):
            self._counts[key] = (place, 1)
        else:
            self._others += 1

    @property
    def fatal(self) -> bool:
        """Whether anything was lost."""
        return any(fatal for _, fatal in self._counts)

    def at(self, place: str) -> Callable[[str], None]:
        """A `Note` for the format that reads what is at this place."""
        return lambda message: self.add(place, message)

    def send(self) -> None:
        """Hand everything over."""
        for (message, fatal), (place, count) in self._counts.items():
            more = f" (and {count - 1} more like it)" if count > 1 else ""
            self._on_problem(Problem(f"{self.where}:{place}" if place else self.where, message + more, fatal))
        if self._others:
            self._on_problem(Problem(self.where, f"{self._others} further problems", self.fatal))


class Losses:
    """Tells a last document that was cut off, as in any file still being written, from one lost in the middle."""

    __slots__ = ("_last", "_notes", "_unit", "count")

    def __init__(self, notes: Notes, unit: str = "") -> None:
        self._notes = notes
        self._unit = unit
        self._last: tuple[int, str] | None = None
        self.count = 0

    def report(self, line: int, message: str, lost: bool) -> None:
        """The `Report` of the documents."""
        if lost:
            self.more_follows()
            self._last = (line, message)
            self.count += 1
        else:
            self._notes.add(f"{self._unit}{line}", message)

    def more_follows(self) -> None:
        """Another document came after the loss."""
        if self._last:
            self._notes.add(f"{self._unit}{self._last[0]}", self._last[1], fatal=True)
            self._last = None

    def forget(self) -> None:
        """The loss at the end has another cause, which is reported."""
        self._last = None

    def end(self, first: int | None, *, of_lines: bool = False) -> None:
        """Nothing follows; `first` is where the first document was read, `of_lines` when more of them were to come.

        A file that holds more than the document that was cut off is still being written; one that holds nothing else
        was damaged on its way, also when some of it could be read.
        """
        growing = self._last and first is not None and (of_lines or first < self._last[0])
        if self._last and growing and self._last[1].startswith(CUT_OFF):
            self._notes.add(f"{self._unit}{self._last[0]}", self._last[1])
            self._last = None
        self.more_follows()
