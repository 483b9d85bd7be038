"""Files that people write by hand, in TOML or JSON, whichever they are: told by how they begin, not by their names."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from gpa.errors import InputError

_JSON = re.compile(rb"\s*(?:\{|\[\s*[{\]])")
"""An object, or a list of them; `[points]` and `[[tools]]` are headings in TOML."""


def read_value(path: Path, expected: str) -> Any:
    """What the file holds. Raises `InputError`, which names what was `expected` there."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    try:
        return msgspec.json.decode(data) if _JSON.match(data) else tomllib.loads(data.decode())
    except RecursionError as error:
        raise InputError(f"{path}: expected {expected}: nested too deeply") from error
    except (msgspec.MsgspecError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: expected {expected}: {error}") from error
