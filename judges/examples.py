"""Annotated errors of other runs, shown to judges as examples of what counts (`--examples FILE`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from gpa.errors import InputError


class Example(BaseModel):
    """An annotated error: what shows it, what is wrong. Other fields of a gold error (span, impact) are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    evidence: str = ""
    description: str = ""
    category: str = ""
    dimensions: tuple[str, ...] = ()
    """The judges it is shown to; empty: all."""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not (self.evidence.strip() or self.description.strip()):
            raise ValueError("neither evidence nor description")
        return self


def load_examples(path: Path) -> tuple[Example, ...]:
    """The examples in a file: JSON Lines, a JSON list, or an object with the list under `errors` or `examples`.

    Raises:
        InputError: The file cannot be read, or something in it is no example; says where.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: expected a file of examples, found: {error.strerror or error}") from error
    # A file of gold errors may also hold scores and traces without errors: those are no examples.
    found = tuple(
        _example(value, where)
        for where, value in _values(data, path)
        if not isinstance(value, dict) or value.get("type", "error") == "error"
    )
    if not found:
        raise InputError(f"{path}: expected examples (objects with `evidence` and `description`), found none")
    return found


def _values(data: bytes, path: Path) -> Iterator[tuple[str, Any]]:
    try:
        whole = orjson.loads(data)
    except orjson.JSONDecodeError:
        for number, line in enumerate(data.splitlines(), 1):
            if line.strip():
                yield f"{path}:{number}", _line(line, f"{path}:{number}")
        return
    if isinstance(whole, dict) and "evidence" not in whole:
        whole = whole.get("examples", whole.get("errors", []))
    for number, value in enumerate(whole if isinstance(whole, list) else [whole], 1):
        yield f"{path}: example {number}", value


def _line(line: bytes, where: str) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise InputError(f"{where}: expected an example (a JSON object), found invalid JSON: {error}") from error


def _example(value: Any, where: str) -> Example:
    try:
        return Example.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the example"
        raise InputError(f"{where}: expected an example with `evidence`, found {place}: {first['msg']}") from error
