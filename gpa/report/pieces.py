"""A long text cut for reading: its beginning and what surrounds its highlighted passages, and how much is between.

The page's script does the same on demand (`texts.js`); this is for what is readable without one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpa.report.steps import ShownText

WHOLE = 1_600
"""Characters up to which a text is shown whole."""
HEAD = 1_000
"""Characters shown of the beginning of a longer one."""
AROUND = 240
"""Characters shown before and behind a highlighted passage."""


class Piece(NamedTuple):
    """A stretch of text, a highlighted one (quoted by `findings`), or one that is left out (`text` is empty)."""

    text: str
    findings: tuple[int, ...] = ()
    left_out: int = 0


def pieces(shown: ShownText) -> Iterator[Piece]:
    """The text in order, cut where it is long."""
    # Marks count as JavaScript does, so cut what JavaScript would cut.
    units = shown.text.encode("utf-16-le")
    size = len(units) // 2

    def part(start: int, stop: int) -> str:
        return units[2 * start : 2 * stop].decode("utf-16-le", "replace")

    kept = [(0, size)] if size <= WHOLE else [(0, HEAD)]
    if size > WHOLE:
        kept += [(max(0, mark.start - AROUND), min(size, mark.stop + AROUND)) for mark in shown.marks]
    at = 0
    for start, stop in kept:
        if start > at:
            yield Piece("", left_out=start - at)
        at = max(at, start)
        for mark in shown.marks:
            if at <= mark.start < stop:
                yield Piece(part(at, mark.start))
                yield Piece(part(mark.start, mark.stop), findings=mark.findings)
                at = mark.stop
        if at < stop:
            yield Piece(part(at, stop))
            at = stop
    if at < size:
        yield Piece("", left_out=size - at)
