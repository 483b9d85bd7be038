"""What the commands that read traces share: PATH, --max-bytes, and problems as lines on stderr."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import click

from gpa.cli.output import visible
from gpa.ingest.problems import Problem

_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
MAX_NOTES = 20
"""Lines of what was repaired or skipped; beyond, only their number is said."""


def size(text: str) -> int:
    """The number of bytes: `1073741824`, `500MB`, `1GiB`; units are powers of 1024."""
    match = re.fullmatch(r"\s*(\d+)\s*([kmgt]?)(?:i?b)?\s*", text, re.IGNORECASE)
    if match is None or not int(match[1]):
        raise click.BadParameter(f"{text!r} is not a size, for example 500MB or 2GiB")
    return int(match[1]) * _UNITS[match[2].lower()]


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
