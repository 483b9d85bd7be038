"""Text for a terminal: what comes out of a trace is shown, never obeyed."""

from __future__ import annotations

import base64
import errno
import json
import math
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from gpa.errors import UsageError
from gpa.ingest import plain

if TYPE_CHECKING:
    from rich.console import Console

_MAX_DEPTH = 200
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
"""What happens to a file that is open for writing."""


def visible(text: str) -> str:
    """The text with every character that a terminal obeys, or that hides or reorders others, written as an escape."""
    return plain.UNSEEN.sub(_escaped, text)


def one_line(text: str, limit: int) -> str:
    """The text on one line of at most `limit` characters, safe to show; a cut ends in `…`."""
    return plain.one_line(text, limit, visible)


def json_line(value: Any) -> str:
    """The value as one line of JSON that is safe to show and reads back as the same value.

    Values nested deeper than any reader of JSON needs to follow become a text that says so.
    """
    import orjson

    try:
        text = orjson.dumps(value, default=_plain, option=orjson.OPT_NON_STR_KEYS).decode()
    except orjson.JSONEncodeError:
        # Beyond orjson: whole numbers over 64 bits, halves of surrogate pairs, 255 levels and more.
        text = json.dumps(_shallow(value, _MAX_DEPTH), default=_plain, separators=(",", ":"))
    return safe_json(text)


def safe_json(text: str) -> str:
    """The JSON with what `visible` escapes written as JSON escapes: the same value, safe to show."""
    return plain.UNSEEN.sub(_json_escaped, text)


@contextmanager
def open_output(path: str | None) -> Iterator[IO[str]]:
    """The file to write text to, standard output for None or `-`."""
    if path in (None, "-"):
        yield sys.stdout
        return
    try:
        file = Path(str(path)).open("w", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115 - closed below
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        with file:
            yield file
    except OSError as error:
        if error.errno not in _NO_ROOM:  # of something else that goes on meanwhile
            raise
        raise cannot_write(path, error) from error


def refuse_unwritable(path: str) -> None:
    """Raise a UsageError when no file can be written there; what is there stays as it is."""
    file = Path(path).expanduser()
    if path == "-" or (file.exists() and not (file.is_file() or file.is_dir())):
        return  # a pipe or device: opening it and closing it again may be all that its reader waits for
    new = not file.exists()
    try:
        file.open("ab").close()  # permissions do not tell: the system may be mounted for reading only
        if new:
            file.unlink()
    except OSError as error:
        raise cannot_write(path, error) from error


def cannot_write(path: str | None, error: OSError) -> UsageError:
    """What is said of a file that cannot be written."""
    return UsageError(f"{path}: cannot be written ({error.strerror})")


def console(*, stderr: bool = False) -> Console:
    """A rich console that takes no markup from text. Colours only on a terminal, and never with NO_COLOR set."""
    from rich.console import Console

    return Console(stderr=stderr, markup=False, highlight=False, emoji=False, soft_wrap=True)


def _escaped(match: re.Match[str]) -> str:
    if match[0] == "\r\n":  # a terminal shows it as the line end it is
        return match[0]
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escaped(match: re.Match[str]) -> str:
    if match[0] == "\r\n":  # between lines of JSON: inside of a text both are escaped already
        return match[0]
    units = match[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _plain(value: Any) -> str:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


def _shallow(value: Any, depth: int) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None  # as orjson does: JSON has no NaN
    if not isinstance(value, dict | list | tuple):
        return value
    if depth == 0:
        return f"(nested deeper than {_MAX_DEPTH} levels)"
    if isinstance(value, dict):
        return {str(key): _shallow(item, depth - 1) for key, item in value.items()}
    return [_shallow(item, depth - 1) for item in value]
