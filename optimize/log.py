"""The log of a search: every outcome it used, in a file of lines, so that a stopped search is repeated for nothing.

What judging the held-out traces was answered stands in such a log too, one for the whole run.

A search is decided by its settings, its seed and the answers it gets. So the log holds no state of the optimiser, only
the answers: a search that starts again in the same folder is given them anew, takes the same turns, and goes on where
it was cut off. (GEPA's own way is a pickle, which runs whatever code stands in it; none is ever written or read here.)

The first line says what the search is. A folder with anything in it that does not begin so is not touched.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gpa.errors import StoreError, UsageError
from gpa.judges.model import Client, Outcome, Reply, ReplyError, Request

ANSWERS = "answers.jsonl"
MARKER = "gpa optimize log"
SCHEMA = 1
_OF_THE_WORLD = frozenset({"authentication", "budget", "missing"})


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    outcome: Reply | ReplyError = Field(discriminator="kind")


class _Header(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    marker: Literal["gpa optimize log"]
    schema_: int = Field(alias="schema")
    search: dict[str, Any]


class Log:
    """The outcomes of a search by request; a context manager. Without a folder it remembers, but keeps nothing.

    Raises:
        UsageError: The folder belongs to something else, or to a search with other settings.
        StoreError: It cannot be written, or a line in the middle of it is broken.
    """

    def __init__(self, folder: Path | None, search: Mapping[str, Any]) -> None:
        self._known: dict[str, Outcome] = {}
        self._file: int | None = None
        self.path = None if folder is None else folder / ANSWERS
        if folder is None or self.path is None:
            return
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)  # answers quote the traces
            if self.path.is_file():
                end = self._read(self.path, search)
            else:
                _refuse_foreign(folder)
                end = 0
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
            os.ftruncate(self._file, end)  # what a killed process was about to write
            os.lseek(self._file, 0, os.SEEK_END)
            if not end:
                self._append({"marker": MARKER, "schema": SCHEMA, "search": dict(search)})
        except OSError as error:
            raise StoreError(f"{folder}: expected a folder for the log of a search, found: {error.strerror}") from error

    def get(self, request: Request) -> Outcome | None:
        """What this search was answered before."""
        return self._known.get(request.key)

    @property
    def paid_usd(self) -> float:
        """What its answers cost when they were paid for, those left out that came from a cache or have no price."""
        return sum(outcome.cost_usd or 0.0 for outcome in self._known.values() if not outcome.from_cache)

    async def ask(self, client: Client, request: Request) -> Outcome:
        """The outcome from here, else from the client and, when it says something of the request, from then on here."""
        known = self.get(request)
        if known is not None:
            return known
        outcome = await client.complete(request)
        if not is_of_the_world(outcome):
            self.put(request, outcome)
        return outcome

    def put(self, request: Request, outcome: Outcome) -> None:
        """Keep an outcome; it is on the disk when this returns."""
        self._known[request.key] = outcome
        if self._file is not None:
            self._append({"key": request.key, "outcome": outcome.model_dump(mode="json")})

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._known)

    def _append(self, value: Mapping[str, Any]) -> None:
        assert self._file is not None
        line = orjson.dumps(value) + b"\n"
        while line:
            line = line[os.write(self._file, line) :]
        os.fsync(self._file)

    def _read(self, path: Path, search: Mapping[str, Any]) -> int:
        """Take in the lines of the file; the length of what is whole."""
        end = 0
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    break  # cut off while it was written
                if number == 1:
                    _check(path, line, search)
                else:
                    self._take(path, number, line)
                end += len(line)
        return end

    def _take(self, path: Path, number: int, line: bytes) -> None:
        try:
            read = _Line.model_validate_json(line)
        except ValidationError as error:
            raise StoreError(
                f"{path}:{number}: expected an answer, found {error.errors(include_url=False)[0]['msg']}"
            ) from error
        self._known[read.key] = read.outcome


def is_of_the_world(outcome: Outcome) -> bool:
    """Whether it says nothing of what was asked: no money, no network, no line in the file of responses."""
    return isinstance(outcome, ReplyError) and (outcome.retryable or outcome.error_type in _OF_THE_WORLD)


def _check(path: Path, line: bytes, search: Mapping[str, Any]) -> None:
    try:
        header = _Header.model_validate_json(line)
    except ValidationError as error:
        raise UsageError(f"{path}: expected the log of a search, found another file; it is left alone") from error
    if header.schema_ != SCHEMA:
        raise UsageError(f"{path}: expected a log of schema {SCHEMA}, found schema {header.schema_}")
    wanted: dict[str, Any] = orjson.loads(orjson.dumps(dict(search)))
    differing = [name for name in {**wanted, **header.search} if wanted.get(name) != header.search.get(name)]
    if differing:
        name = differing[0]
        raise UsageError(
            f"{path}: expected the log of this search, found that of one with other settings: {name} was"
            f" {header.search.get(name)!r}, is {wanted.get(name)!r} (take another folder, or delete this one)"
        )


def _refuse_foreign(folder: Path) -> None:
    found = next(folder.iterdir(), None)
    if found is not None:
        raise UsageError(
            f"{folder}: expected an empty folder or the log of a search, found {found.name}; nothing in it is touched"
        )
