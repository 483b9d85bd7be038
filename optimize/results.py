"""What a search of rubrics is given and what comes of it: budget, candidates, rejections; plain values, no DSPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from gpa.errors import UsageError
from gpa.ingest.transcript import Transcript
from gpa.judges.model import Request
from gpa.judges.rubrics import Rubric

Objective = Literal["recall", "consistency"]
Optimizer = Literal["gepa", "miprov2", "simba"]
Stopped = Literal["calls", "cost", "time", "interrupted", "unanswered", "perfect", "finished", "model"]
"""Why a search ended: a budget (`calls`, `cost`, `time`), Ctrl-C, answers that are not in the files yet, nothing left
to gain (`perfect`), the optimiser's own end, or a model that cannot be reached."""

Guard = Callable[[Rubric, Rubric, Sequence[Transcript]], str | None]
"""Judges a proposal before it costs anything: the start rubric of its dimension, the proposed one, the training
transcripts; None, or why it is refused, in words that may be told to the reflection model."""


def accept(_start: Rubric, _proposed: Rubric, _train: Sequence[Transcript]) -> str | None:
    """None: the guard that refuses nothing."""
    return None


@dataclass(frozen=True, slots=True)
class Budget:
    """What a search may take. A metric call is one trace judged by one candidate, in all its dimensions and samples."""

    max_calls: int
    max_cost_usd: float | None = None
    """Of the whole search, what earlier starts of it paid included."""
    max_seconds: float | None = None
    """Of this start."""

    def __post_init__(self) -> None:
        limits = {"--max-calls": self.max_calls, "--max-cost": self.max_cost_usd, "--max-minutes": self.max_seconds}
        for option, value in limits.items():
            if value is not None and not value > 0:
                raise UsageError(f"{option}: expected a number above 0, found {value}")


@dataclass(frozen=True)
class Candidate:
    """Rubrics that were judged by on every dev trace."""

    number: int
    """0 is the start."""
    rubrics: dict[str, Rubric]
    """Of the searched dimensions."""
    parents: tuple[int, ...]
    score: float
    """Mean over the dev traces."""
    objectives: dict[str, float]
    """Means over the dev traces, each 0-1: `recall`, `precision`, `localisation`, and `consistency` where it counts."""
    scores: dict[str, float]
    """By dev trace."""
    calls: int
    """Metric calls made when the last dev trace was judged."""
    caught: int = 0
    errors: int = 0
    localised: int = 0
    groundless: int = 0
    """Findings that match no error that people found."""
    failed: int = 0
    """Judgements that failed."""
    alpha: float | None = None
    """Krippendorff's alpha (interval) of repeated samples; None with a single one, or where scores never differ."""

    @property
    def recall(self) -> float | None:
        """Caught errors of all on the dev traces; None when there are none."""
        return self.caught / self.errors if self.errors else None


@dataclass(frozen=True, slots=True)
class Rejection:
    """A proposal that a guard refused."""

    dimension: str
    text: str
    reason: str
    parent: int | None
    """Number of the candidate it was made from, where that is known."""
    calls: int


@dataclass(frozen=True)
class SearchResult:
    """All that a search found, the best first among equals."""

    dimensions: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    best: int
    rejected: tuple[Rejection, ...]
    stopped: Stopped
    message: str
    """Why it ended, in a sentence."""
    calls: int
    proposals: int
    """Texts the reflection model proposed, refused ones included."""
    cost_usd: float
    """Of the whole search, answers of earlier starts included."""
    paid: int
    """Answers paid for in this start."""
    replayed: int
    """Answers taken from the search's own log."""
    from_cache: int
    """Answers that some other run paid for."""
    unpriced: int
    unanswered: tuple[Request, ...] = ()
    """Requests that the files of responses do not answer."""
    seconds: float = 0.0

    @property
    def start(self) -> Candidate | None:
        """The rubrics as they were given; None when not even they could be judged."""
        return self.candidates[0] if self.candidates else None

    @property
    def winner(self) -> Candidate | None:
        """The best candidate."""
        return self.candidates[self.best] if self.candidates else None

    @property
    def front(self) -> tuple[int, ...]:
        """The candidates that no other one is at least as good as in every objective and better in one."""
        return tuple(
            one.number
            for one in self.candidates
            if not any(_dominates(other.objectives, one.objectives) for other in self.candidates)
        )


@dataclass(frozen=True)
class Progress:
    """How far a search is; given to the `step` callback."""

    calls: int
    max_calls: int
    candidates: int
    best: Candidate | None
    cost_usd: float
    replayed: int
    event: str
    """What happened last."""


Step = Callable[[Progress], None]


def _dominates(one: dict[str, float], other: dict[str, float]) -> bool:
    shared = one.keys() & other.keys()
    return all(one[name] >= other[name] for name in shared) and any(one[name] > other[name] for name in shared)
