"""TRAIL's files, as people and models wrote them: annotations, recorded predictions, spellings of categories.

The benchmark (arXiv 2505.08638) keeps one JSON file a trace, `{"errors": [...], "scores": [...]}`, and predictions are
raw model text with such an object somewhere in it. What is repaired here is said, so that it can be counted.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from rapidfuzz import fuzz, process

from gpa.errors import FormatError
from gpa.judges.verdict import CATEGORIES

_FIELDS = frozenset({"category", "location", "evidence", "description", "impact"})
_STRING_OR_COMMA = re.compile(r'"(?:\\.|[^"\\])*"|,(?=\s*[}\]])', re.DOTALL)
_SPAN_ID = re.compile(r"[0-9a-f]{16}")
_MISSPELT = 85.0
"""rapidfuzz ratio (0-100) from which a name is a category misspelt; two different categories reach 71 at the most."""


class TrailError(NamedTuple):
    """One annotated error, its category and location as written."""

    category: str
    location: str
    evidence: str
    description: str
    impact: str


class Annotation(NamedTuple):
    """One annotation file, and what had to be repaired to read it."""

    trace_id: str
    errors: tuple[TrailError, ...]
    repairs: tuple[str, ...]
    scores: int
    """How many of TRAIL's own score objects (1-5, on four axes that are no dimensions of ours) the file holds."""


def read_annotation(path: Path, content: bytes) -> Annotation:
    """A gold file of TRAIL; its name is the trace id.

    Raises `FormatError` with line and column when it is no JSON even after repair, and when it holds no list of errors.
    """
    repairs: list[str] = []
    value = _loads(path, content, repairs)
    errors = value.get("errors") if isinstance(value, dict) else None
    if not isinstance(errors, list):
        raise FormatError(f'{path}: expected a TRAIL annotation, {{"errors": [...]}}, found none')
    trace_id = path.stem.lower()
    inside = value.get("trace_id")
    if isinstance(inside, str) and inside.lower() != trace_id:
        repairs.append(f"trace_id {inside!r} inside, taken by the name of the file")
    read = tuple(_error(f"{path}: errors[{number}]", error, repairs) for number, error in enumerate(errors))
    scores = value.get("scores")
    return Annotation(trace_id, read, tuple(repairs), len(scores) if isinstance(scores, list) else 0)


def read_prediction(text: str) -> tuple[TrailError, ...] | None:
    """The errors a model named in its answer; None when no JSON object can be read from it.

    The benchmark's rule: from the first `{` to the last `}`; when that is no JSON, cut from the end until it is, which
    leaves the first complete object.
    """
    start, stop = text.find("{"), text.rfind("}")
    if start < 0 or stop < start:
        return None
    try:
        value = json.loads(text[start : stop + 1])
    except (ValueError, RecursionError):
        try:
            value, _ = json.JSONDecoder().raw_decode(text, start)
        except (ValueError, RecursionError):
            return None
    errors = value.get("errors") if isinstance(value, dict) else None
    named = [error for error in errors if isinstance(error, dict)] if isinstance(errors, list) else []
    return tuple(
        TrailError(*(_text(error.get(name)) for name in ("category", "location", "evidence", "description", "impact")))
        for error in named
    )


@cache
def benchmark_category(name: str) -> str:
    """The category a name stands for by the benchmark's own rule, which is one way only.

    Lower case and trimmed, then without spaces, then as a part of a standard name in their order; else as it is.
    """
    bare = name.lower().strip().replace(" ", "")
    for known in CATEGORIES:
        if bare == known.lower().replace(" ", ""):
            return known
    for known in CATEGORIES:
        if bare and bare in known.lower().replace(" ", ""):
            return known
    return name.lower().strip()


@cache
def category(name: str) -> str | None:
    """The category a name stands for; other case, spaces, plural, prefix and small misspellings are forgiven."""
    bare = _letters(name)
    if not bare:
        return None
    names = {_letters(known): known for known in CATEGORIES}
    if bare in names:
        return names[bare]
    inside = [known for letters, known in names.items() if bare in letters or letters in bare]
    if len(inside) == 1:
        return inside[0]
    best = process.extractOne(bare, list(names), scorer=fuzz.ratio, score_cutoff=_MISSPELT)
    return names[best[0]] if best else inside[0] if inside else None


def span_id(location: str) -> str | None:
    """The location as a span id, None when it is something else (one annotation holds a sentence)."""
    text = location.strip().lower()
    return text if _SPAN_ID.fullmatch(text) else None


def _loads(path: Path, content: bytes, repairs: list[str]) -> Any:
    text = content.decode("utf-8-sig", "replace")
    try:
        return json.loads(text)
    except ValueError:
        pass
    except RecursionError as error:
        raise FormatError(f"{path}: expected a TRAIL annotation, found JSON nested beyond reading") from error
    repaired, commas = _without_trailing_commas(text)
    try:
        value = json.loads(repaired, strict=False)
    except (ValueError, RecursionError) as error:
        where = f":{error.lineno}:{error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        said = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise FormatError(f"{path}{where}: expected a TRAIL annotation (JSON), found {said}") from error
    repairs.append(
        f"not strict JSON: {_counted(commas, 'trailing comma') if commas else 'control characters in texts'}"
    )
    return value


def _without_trailing_commas(text: str) -> tuple[str, int]:
    """The text without commas before a closing bracket, those inside strings left alone, and how many there were."""
    count = 0

    def keep(match: re.Match[str]) -> str:
        nonlocal count
        if match[0] != ",":
            return match[0]
        count += 1
        return ""

    return _STRING_OR_COMMA.sub(keep, text), count


def _error(where: str, error: Any, repairs: list[str]) -> TrailError:
    if not isinstance(error, dict):
        raise FormatError(f"{where}: expected an error object, found {type(error).__name__}")
    for name in ("category", "location"):
        if not isinstance(error.get(name), str):
            raise FormatError(f"{where}: expected a text as {name}, found {error.get(name)!r}")
    description = _text(error.get("description"))
    if not description:
        # An unescaped quotation mark once split the evidence into keys; what they hold is the description.
        stray = [f"{key} {_text(value)}".strip() for key, value in error.items() if key not in _FIELDS]
        description = "\n".join(stray)
        repairs.append("an error without description" + (", taken from the fields beside it" if stray else ""))
    return TrailError(
        category=_text(error["category"]),
        location=_text(error["location"]),
        evidence=_text(error.get("evidence")),
        description=_text(description),
        impact=_text(error.get("impact")),
    )


def _letters(name: str) -> str:
    return "".join(filter(str.isalpha, name.lower()))


def _text(value: object) -> str:
    """The value as a text that any file can hold: escapes in JSON can spell half a surrogate pair."""
    text = value if isinstance(value, str) else "" if value is None else str(value)
    return text.encode("utf-8", "replace").decode("utf-8")


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
