"""Requests to a file and responses from one, in the shapes of Message Batches, for whoever sends them elsewhere.

A request line is `{"custom_id","params"}`; a response line is `{"custom_id","result"}`, the result
`{"type":"succeeded","message":...}` or an errored, expired or canceled one. Responses come in any order, from any
runner, and may be incomplete.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import orjson

from gpa.errors import FormatError, InputError
from gpa.ingest.whole import replacing
from gpa.judges.model.reply import Outcome, Reply, ReplyError, outcome_of_result
from gpa.judges.model.request import Request


def request_line(request: Request) -> bytes:
    """One line for Message Batches, with its line end; the same bytes for the same request on every run."""
    return b'{"custom_id":' + orjson.dumps(request.custom_id) + b',"params":' + request.body + b"}\n"


def write_requests(target: Path | IO[bytes], requests: Iterable[Request]) -> int:
    """Number of lines written. A file appears under its name only when it is complete; equal requests are one line."""
    if not isinstance(target, Path):
        return _write(target, requests)
    try:
        with replacing(target) as file:
            return _write(file, requests)
    except OSError as error:
        raise InputError(f"{target}: expected a place to write requests to, found: {error.strerror}") from error


def _write(file: IO[bytes], requests: Iterable[Request]) -> int:
    written: set[str] = set()
    for request in requests:
        if request.custom_id not in written:
            written.add(request.custom_id)
            file.write(request_line(request))
    return len(written)


@dataclass
class Responses:
    """A responses file, read: outcomes by custom_id, and what was wrong with the rest of it."""

    path: str
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    duplicates: int = 0
    """Lines whose custom_id had come before. A reply counts over a failure, else the earlier line counts."""
    bad_lines: list[str] = field(default_factory=list)
    """`path:line: expected ..., found ...` for each line that is not a response line."""

    def unknown(self, expected: Iterable[str]) -> list[str]:
        """Ids in the file that belong to none of the expected requests."""
        return sorted(self.outcomes.keys() - set(expected))


def read_responses(path: Path) -> Responses:
    """All outcomes in a responses file. Lines that break the form are counted and located, and stop nothing."""
    responses = Responses(path=str(path))
    try:
        with path.open("rb") as file:
            _collect(file, responses)
    except OSError as error:
        raise InputError(f"{path}: expected a file of response lines, found: {error.strerror}") from error
    return responses


def _collect(lines: Iterable[bytes], responses: Responses) -> None:
    for number, given in enumerate(lines, 1):
        line = given.removeprefix(BOM_UTF8) if number == 1 else given
        if not line.strip():
            continue
        try:
            custom_id, outcome = read_line(line)
        except FormatError as error:
            responses.bad_lines.append(f"{responses.path}:{number}: {error}")
            continue
        earlier = responses.outcomes.get(custom_id)
        if earlier is not None:
            responses.duplicates += 1
        if earlier is None or (isinstance(outcome, Reply) and not isinstance(earlier, Reply)):
            responses.outcomes[custom_id] = outcome


def read_line(line: bytes) -> tuple[str, Outcome]:
    """The custom_id and outcome of one response line; a FormatError without a place when it is not one.

    A line that names its request but holds no proper message is that request's failure, not a bad line.
    """
    try:
        value: Any = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise FormatError(f"expected a JSON object, found {error}") from error
    custom_id = value.get("custom_id") if isinstance(value, dict) else None
    if not isinstance(custom_id, str) or not custom_id:
        raise FormatError(f'expected {{"custom_id","result"}}, found {_head(line)}')
    return custom_id, outcome_of_result(value.get("result"))


def _head(line: bytes) -> str:
    text = line.strip().decode("utf-8", "replace")
    return text if len(text) <= 80 else text[:79] + "…"


class RecordingModel:
    """Sends nothing and remembers what it was asked, for `--requests-to` and `--dry-run`; every answer is `missing`."""

    warms = False
    batched = False

    def __init__(self, name: str, *, context_window: int) -> None:
        self.name, self.context_window = name, context_window
        self.requests: list[Request] = []

    async def complete(self, request: Request) -> Outcome:
        """`missing`: the request was recorded, not sent."""
        self.requests.append(request)
        return ReplyError(error_type="missing", message="not sent: requests are only recorded in this run")

    async def count_tokens(self, request: Request) -> int:
        """By the offline rule."""
        return request.input_tokens

    async def aclose(self) -> None:
        """Nothing to close."""


class FileModel:
    """Answers from a responses file as if live; a request without a line is `missing`."""

    warms = False
    batched = False
    """No; whether a reply was served by a batch stands in its usage."""

    def __init__(self, name: str, responses: Responses, *, context_window: int) -> None:
        self.name, self.context_window = name, context_window
        self.responses = responses
        self.asked: set[str] = set()
        """The custom_ids asked for, to tell unknown lines (`responses.unknown(model.asked)`)."""

    async def complete(self, request: Request) -> Outcome:
        """The file's outcome for this request."""
        self.asked.add(request.custom_id)
        found = self.responses.outcomes.get(request.custom_id)
        if found is not None:
            return found
        return ReplyError(
            error_type="missing", message=f"{self.responses.path}: expected a line with custom_id {request.custom_id!r}"
        )

    async def count_tokens(self, request: Request) -> int:
        """By the offline rule."""
        return request.input_tokens

    async def aclose(self) -> None:
        """Nothing to close."""
