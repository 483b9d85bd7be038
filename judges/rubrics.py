"""What each judge is asked: one Markdown file a dimension, and the frame around them all; loaded and hashed.

The files are package data in `rubrics/`. A user's folder replaces a dimension by a file of the same name (`TC.md`) or
adds one (`SAFETY.md`); its name is the judge's code in every result. `frame.md`, `single.md` and `final.md` are not
dimensions: what all judges are told, what is added when one request fills all verdicts, and what is asked once a
run has been read in parts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from gpa.errors import UsageError
from gpa.judges.verdict import DIMENSIONS

_NOT_DIMENSIONS = frozenset({"frame", "single", "final", "meta", "readme"})
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}")
_TITLE = re.compile(r"\s*#\s+(\S.*)")


class Rubric(BaseModel):
    """One dimension: its code, its title, and the text a judge is given."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: str
    title: str
    text: str


@cache
def built_in(name: str) -> str:
    """The text of a file that comes with the package (`frame`, `TC`, ...)."""
    return (files("gpa.judges") / "rubrics" / f"{name}.md").read_text(encoding="utf-8")


def load_rubrics(folder: Path | None = None) -> dict[str, Rubric]:
    """All rubrics by code, in the order of the dimensions; those of `folder` replace and add.

    Raises:
        UsageError: The folder is none, holds no rubric, or a file in it is empty, has no title or no proper name.
    """
    rubrics = {code: _rubric(code, built_in(code), f"{code}.md") for code in DIMENSIONS}
    if folder is None:
        return rubrics
    paths = sorted(folder.glob("*.md")) if folder.is_dir() else []
    if not paths:
        raise UsageError(f"{folder}: expected a folder with rubrics (TC.md, ...), found none")
    for path in paths:
        if path.stem.lower() not in _NOT_DIMENSIONS:
            rubrics[path.stem] = _rubric(path.stem, _text(path), str(path))
    return rubrics


def load_frame(folder: Path | None = None) -> str:
    """What all judges are told; a `frame.md` in `folder` replaces ours."""
    own = folder / "frame.md" if folder is not None else None
    if own is None or not own.is_file():
        return built_in("frame")
    text = _text(own)
    if not text.strip():
        raise UsageError(f"{own}: expected what all judges are told, found an empty file")
    return text


def write_rubrics(folder: Path, rubrics: Mapping[str, Rubric]) -> None:
    """Write rubrics so that `load_rubrics(folder)` gives the same ones."""
    folder.mkdir(parents=True, exist_ok=True)
    for rubric in rubrics.values():
        (folder / f"{rubric.code}.md").write_text(rubric.text, encoding="utf-8", newline="\n")


def digest(*texts: str) -> str:
    """16 hex digits that change when any of the texts does."""
    hashed = blake2b(digest_size=8)
    for text in texts:
        data = text.encode("utf-8", "replace")
        hashed.update(len(data).to_bytes(8, "little"))
        hashed.update(data)
    return hashed.hexdigest()


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path}: expected a text, found: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: expected UTF-8, found other bytes at {error.start}") from error


def _rubric(code: str, text: str, origin: str) -> Rubric:
    if not _CODE.fullmatch(code):
        raise UsageError(f"{origin}: expected a file name of letters and digits that names a dimension, found {code!r}")
    title = _TITLE.match(text)
    if title is None:
        raise UsageError(f"{origin}: expected a title line first ('# Tool Calling'), found {text[:40]!r}")
    return Rubric(code=code, title=title[1].strip(), text=text)
