"""What a file format is to this package: a name, a test on a decoded value, and a reader of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from gpa.ingest.spans import LogRecord, Span

Note = Callable[[str], None]
"""Takes one sentence about something dropped or repaired; the caller adds file and line."""


class Format(NamedTuple):
    """A format of JSON documents. `matches` looks at the top level only and costs next to nothing."""

    name: str
    about: str
    """One line for `gpa formats`: what writes it."""
    matches: Callable[[Any], bool]
    read: Callable[[Any, Note], Iterator[Span | LogRecord]]
    """Raises `FormatError` when the whole value is unusable; one bad span is skipped with a note."""
    more: Callable[[Any], str] | None = None
    """For what APIs give in pages: how the value says that another one follows, empty when it is the last."""
