"""How far a run is, on stderr: a bar on a terminal; elsewhere a line now and then, and only where models cost time."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from gpa.cli.output import console, visible

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from gpa.evaluation import Progress

EVERY_S = 10.0
"""Between two lines where stderr is no terminal."""


class Reporter:
    """Shows progress by traces, and what is new about a batch."""

    def __init__(self, bar: Bar | None = None, task: TaskID | None = None) -> None:
        self._bar, self._task = bar, task
        self._said_at = time.monotonic()
        self._batches: dict[str, tuple[str, int]] = {}

    def trace(self, progress: Progress) -> None:
        """Another trace is done."""
        if self._bar is not None and self._task is not None:
            asked = _asked(progress)
            self._bar.update(self._task, completed=progress.done, total=progress.total, asked=asked)
        elif progress.spending is not None and time.monotonic() - self._said_at >= EVERY_S:
            self._said_at = time.monotonic()
            self._say(f"gpa: {progress.done} traces judged{_asked(progress)}")

    def batch(self, batch_id: str, status: str, done: int, total: int) -> None:
        """A batch was looked at: said when something about it is new."""
        if self._batches.get(batch_id) != (status, done):
            new = batch_id not in self._batches
            self._batches[batch_id] = (status, done)
            hint = " (it may be stopped; the same command picks it up)" if new and status != "ended" else ""
            self._say(f"gpa: batch {visible(batch_id)}: {visible(status)}, {done} of {total} requests done{hint}")

    def _say(self, text: str) -> None:
        if self._bar is not None:
            self._bar.console.print(text)
        else:
            click.echo(text, err=True)


@contextmanager
def reporting() -> Iterator[Reporter]:
    """A reporter as long as the block lasts."""
    if not sys.stderr.isatty():
        yield Reporter()
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("judging traces"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[asked]}"),
    )
    with Bar(*columns, console=console(stderr=True), transient=True) as bar:
        yield Reporter(bar, bar.add_task("", total=None, asked=""))


def _asked(progress: Progress) -> str:
    spending = progress.spending
    if spending is None:
        return ""
    kept = f" + {spending.from_cache} kept" if spending.from_cache else ""
    return f"; {spending.paid} answers{kept}, ${spending.cost_usd:.4f}"
