"""What a command reads must not be what it writes to: an output is emptied when it is opened."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from gpa.errors import UsageError


def refuse_overwriting(paths: Sequence[str], max_bytes: int, **outputs: str | None) -> None:
    """Raise a UsageError when one of the outputs, each named as its option, is a file of traces that is read.

    In a folder or pattern it must hold spans: reports of the last run may lie beside the traces.
    """
    there = {name: file for name, path in outputs.items() if path and (file := Path(path).expanduser()).is_file()}
    if not there:
        return
    from gpa.ingest.files import expand

    written = {_identity(str(file)): name for name, file in there.items()}
    for found in expand(paths, lambda _problem: None):
        name = written.get(_identity(found.path))
        if name is not None and (found.named or _holds_spans(found.path, max_bytes)):
            option = f"--{name.replace('_', '-')} {outputs[name]}"
            raise UsageError(f"{option}: is one of the inputs, which it would overwrite")


def _identity(path: str) -> tuple[int, int] | None:
    """The same for every name of a file, None where there is none."""
    from gpa.ingest.files import STDIN

    try:
        status = os.fstat(0) if path == STDIN else Path(path).stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _holds_spans(path: str, max_bytes: int) -> bool:
    from gpa.ingest.files import read_spans

    return any(True for _ in read_spans(path, max_bytes=max_bytes, on_problem=lambda _problem: None))
