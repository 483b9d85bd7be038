"""Annotated traces in three portions that share none: to learn from, to choose by, and to be measured on once.

A candidate rubric is proposed from `train`, chosen on `dev`, and neither ever sees `held_out`: a figure measured on
traces that took part in the choice says how well the choice was fitted to them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gpa.errors import FormatError, InputError, UsageError
from gpa.ingest.transcript import Transcript
from gpa.judges.gold import Gold, Id, load_gold
from gpa.split import split
from gpa.tables import Cell, Table

SHARES = (0.3, 0.3, 0.4)
"""Of the traces, for train, dev and held-out. The last is the largest: its intervals are what a reader goes by."""
NAMES = ("train", "dev", "held-out")
SHOWN = 3


@dataclass(frozen=True)
class Portions:
    """Trace ids; each in one portion at the most.

    Raises `UsageError` when a trace is in two portions, or a portion is empty.
    """

    train: tuple[str, ...]
    dev: tuple[str, ...]
    held_out: tuple[str, ...]

    def __post_init__(self) -> None:
        where: dict[str, str] = {}
        for name, ids in self.named().items():
            twice = [trace_id for trace_id in ids if where.setdefault(trace_id, name) != name]
            if twice:
                raise UsageError(
                    f"{where[twice[0]]} and {name}: expected different traces, found {_some(twice)} in both"
                )
        for name, ids in self.named().items():
            if not ids:
                raise UsageError(f"{name}: expected at least one annotated trace, found none")

    def named(self) -> dict[str, tuple[str, ...]]:
        """The portions by name."""
        return dict(zip(NAMES, (self.train, self.dev, self.held_out), strict=True))

    def table(self, gold: Gold, dimensions: Sequence[str]) -> Table:
        """What each portion holds."""
        parts = {name: gold.of(ids) for name, ids in self.named().items()}
        rows: list[tuple[Cell, ...]] = [("traces", *map(len, self.named().values()))]
        rows += [
            (f"{code} errors", *(sum(code in error.dimensions for error in part.errors) for part in parts.values()))
            for code in dimensions
        ]
        return Table("portions", "Traces and gold errors", ("", *NAMES), tuple(rows))


def apportion(
    gold: Gold,
    available: Collection[str],
    *,
    shares: Sequence[float] = SHARES,
    seed: int = 0,
    given: Mapping[str, Collection[str]] | None = None,
) -> Portions:
    """The annotated traces that there are, in portions; the same gold, traces and seed give the same ones.

    Args:
        gold: What people found, and which traces they went through.
        available: Ids of the traces that can be judged.
        shares: For train, dev and held-out; only their proportions count.
        seed: Another one, another split.
        given: Portions chosen by hand, by name; what they leave is shared out among the others.

    Raises:
        UsageError: Portions that overlap or are empty, ids that are not annotated or have no trace, other shares.
    """
    if len(shares) != len(NAMES) or not all(0 <= share < float("inf") for share in shares) or not sum(shares):
        raise UsageError(f"--shares: expected three numbers for {', '.join(NAMES)}, found {_listed(map(str, shares))}")
    chosen = {name: tuple(dict.fromkeys(ids)) for name, ids in (given or {}).items()}
    for name, ids in chosen.items():
        _refuse_unknown(name, ids, gold, available)
    taken = {trace_id for ids in chosen.values() for trace_id in ids}
    left = gold.of(trace_id for trace_id in gold.by_trace if trace_id in set(available) - taken)
    open_ = [(name, share) for name, share in zip(NAMES, shares, strict=True) if name not in chosen]
    while open_:
        (name, share), open_ = open_[0], open_[1:]
        rest = sum(other for _, other in open_)
        if not rest:
            part, left = left, left.of(())
        elif not share:
            part = left.of(())
        else:
            part, left = split(left, share=share / (share + rest), seed=seed)
        chosen[name] = tuple(part.by_trace)
    return Portions(*(chosen[name] for name in NAMES))


def read_ids(path: str | Path) -> tuple[str, ...]:
    """The trace ids a file or folder names: gold as `gpa split` writes it, any lines with a `trace_id`, or bare ids.

    Raises:
        InputError: It cannot be read, or names none.
        FormatError: A line that is neither, with its position.
    """
    path = Path(path).expanduser()
    if path.is_dir():
        return load_gold(path).trace_ids
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise InputError(f"{path}: expected a file of trace ids, found: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: expected trace ids in UTF-8, found other bytes at {error.start}") from error
    found = [
        _id(line.strip(), f"{path}:{number}")
        for number, line in enumerate(lines, 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if not found:
        raise InputError(f"{path}: expected trace ids, found none")
    return tuple(dict.fromkeys(found))


def same_tasks(portions: Portions, transcripts: Iterable[Transcript]) -> int:
    """Held-out traces whose task, word for word, is that of a trace that rubrics were tuned on."""
    goals = {transcript.trace_id: transcript.goal.strip() for transcript in transcripts}
    seen = {goals.get(trace_id, "") for trace_id in (*portions.train, *portions.dev)} - {""}
    return sum(goals.get(trace_id, "") in seen for trace_id in portions.held_out)


class _Named(BaseModel):
    """A line that names a trace, by its id as gold has it."""

    model_config = ConfigDict(extra="ignore")

    trace_id: Annotated[Id, Field(min_length=1)]


def _id(line: str, where: str) -> str:
    if not line.startswith("{"):
        if len(line.split()) > 1:
            raise FormatError(f"{where}: expected a trace id or an object with one, found {line[:60]!r}")
        return _Named(trace_id=line).trace_id
    try:
        return _Named.model_validate_json(line).trace_id
    except ValidationError as error:
        raise FormatError(f"{where}: expected a JSON object with a trace_id, found {line[:60]!r}") from error


def _refuse_unknown(name: str, ids: Sequence[str], gold: Gold, available: Collection[str]) -> None:
    strange = [trace_id for trace_id in ids if trace_id not in gold.by_trace]
    if strange:
        raise UsageError(f"{name}: expected traces that --gold annotates, found {_some(strange)}")
    missing = [trace_id for trace_id in ids if trace_id not in available]
    if missing:
        raise UsageError(f"{name}: expected ids of traces in PATH, found none for {_some(missing)}")


def _some(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - SHOWN} more" if len(ids) > SHOWN else ""
    return _listed(ids[:SHOWN]) + more


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(texts)
