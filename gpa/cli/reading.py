"""What the commands that read traces share: PATH, --max-bytes, lists of names, and problems as lines on stderr."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from gpa.cli.output import visible
from gpa.ingest.problems import Problem

if TYPE_CHECKING:
    from gpa.ingest.transcript import Transcript
    from gpa.judges.gold import Gold

_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
MAX_NOTES = 20
"""Lines of what was repaired or skipped; beyond, only their number is said."""


def size(text: str) -> int:
    """The number of bytes: `1073741824`, `500MB`, `1GiB`; units are powers of 1024."""
    match = re.fullmatch(r"\s*(\d+)\s*([kmgt]?)(?:i?b)?\s*", text, re.IGNORECASE)
    if match is None or not int(match[1]):
        raise click.BadParameter(f"{text!r} is not a size, for example 500MB or 2GiB")
    return int(match[1]) * _UNITS[match[2].lower()]


def names_in(text: str | None) -> list[str] | None:
    """The names in an option that lists them with commas, None where it is not given."""
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


def codes_in(text: str | None) -> list[str] | None:
    """The codes of dimensions in such an option; ours in any case, those of a user's rubrics as they are spelled."""
    from gpa.judges.verdict import DIMENSIONS

    names = names_in(text)
    return None if names is None else [name.upper() if name.upper() in DIMENSIONS else name for name in names]


def paths_and_limit(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command its PATH arguments and --max-bytes."""
    limit = click.option(
        "--max-bytes",
        callback=lambda _ctx, _option, text: size(text),
        metavar="SIZE",
        default="1GiB",
        show_default=True,
        help="Most bytes that one compressed file may unpack to.",
    )
    return click.argument("paths", metavar="PATH...", nargs=-1, required=True)(limit(command))


class Problems:
    """Prints each problem as one line on stderr and remembers whether an input was lost."""

    def __init__(self) -> None:
        self.lost = 0
        """Inputs, or parts of one, that could not be read."""
        self.notes = 0
        """What was repaired or skipped on the way."""

    def __call__(self, problem: Problem) -> None:
        """Count the problem and say it."""
        if problem.fatal:
            self.lost += 1
        else:
            self.notes += 1
            if self.notes > MAX_NOTES:
                return
        kind = "gpa" if problem.fatal else "gpa: note"
        click.echo(f"{kind}: {visible(' '.join(str(problem).split()))}", err=True)

    def close(self) -> None:
        """Say how many notes were not printed."""
        if self.notes > MAX_NOTES:
            click.echo(f"gpa: note: {self.notes - MAX_NOTES} more of these", err=True)


def annotated(paths: Sequence[str], gold: Gold, problems: Problems, **limits: int) -> list[Transcript]:
    """The transcripts of those traces that have gold errors; `limits` are those of `read_traces`."""
    from gpa.ingest.assembly import read_traces
    from gpa.ingest.transcript import transcribe

    read = read_traces(paths, on_problem=problems, **limits)
    return [transcribe(trace) for trace in read if trace.trace_id in gold.by_trace]
