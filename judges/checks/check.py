"""What a check is: a name, what it looks for and why, how sure it is, and a pure function from a transcript to hits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

from gpa.ingest.transcript import Transcript
from gpa.judges.verdict import Dimension, Severity

Confidence = Literal["certain", "likely", "hint"]


class Hit(NamedTuple):
    """One error a check found, in the terms of the transcript."""

    labels: tuple[str, ...]
    """Steps that hold it, the one where it starts first."""
    quote: str
    """A passage of those steps, as it stands there; may be long, is shortened for the result."""
    problem: str
    severity: Severity


class Check(NamedTuple):
    """A detector that needs no model and holds for any framework. Prefers silence to a false alarm."""

    name: str
    about: str
    """One line for people: what it flags."""
    category: str
    """One of TRAIL's categories."""
    dimensions: tuple[Dimension, ...]
    find: Callable[[Transcript], Iterable[Hit]]
    why: str = ""
    """Why this is an error: a sentence."""
    confidence: Confidence = "likely"
    """`certain`: follows from what the trace records. `likely`: follows from its wording. `hint`: worth a look."""
    severity: str = ""
    """The rule that sets a hit's severity."""
    cited: str = ""
    """Which step a hit cites."""
    false_alarms: str = ""
    """What it is known to flag wrongly."""
    version: int = 1
    """Raised whenever `find` changes its mind: stored results of another version are not reused."""
