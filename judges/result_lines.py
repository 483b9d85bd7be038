"""Results as JSON Lines: one object a line, `"type"` first, then `"schema"`. The form for import and export."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import orjson
from pydantic import ValidationError

from gpa.errors import InputError
from gpa.judges.verdict import RESULT, AnyResult


def result_line(result: AnyResult) -> bytes:
    """A result as one line of JSON, newline included."""
    return result.model_dump_json().encode() + b"\n"


def read_lines(path: Path) -> Iterator[AnyResult]:
    """Every result in a file of lines, in order; empty lines are passed over.

    Raises `InputError` for a file that cannot be read and for a line that is no result, with its number.
    """
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield _read_line(line, f"{path}:{number}")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error


def _read_line(line: bytes, where: str) -> AnyResult:
    try:
        return RESULT.validate_python(orjson.loads(line))
    except orjson.JSONDecodeError as error:
        raise InputError(f"{where}: expected a result (a JSON object), found invalid JSON: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the line"
        raise InputError(f"{where}: expected a result, found {place}: {first['msg']}") from error
