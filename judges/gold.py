"""What people found: gold errors and human scores, from our own JSON Lines or TRAIL's folders of annotations.

A line of ours is an error (`{"trace_id", "span_id", "category", "description", "impact", ...}`), a score
(`{"type": "score", "trace_id", "judge", "score", "rater"}`), or a trace that was annotated and has no error
(`{"type": "trace", "trace_id"}`). A line that is none of these stops the reading with its position; the known quirks
of TRAIL's files are repaired, and counted.
"""

from __future__ import annotations

import re
import tomllib
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import orjson
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from gpa.errors import FormatError, InputError, UsageError
from gpa.judges import trail
from gpa.judges.verdict import CATEGORIES, Severity

IMPACTS: tuple[Severity, ...] = ("LOW", "MEDIUM", "HIGH")

_HEX = re.compile(r"[0-9A-Fa-f]+")
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}")


def _id(value: object) -> object:
    """The id as `ingest` writes it: hexadecimal ones in lower case."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    return text.lower() if _HEX.fullmatch(text) else text


Id = Annotated[str, BeforeValidator(_id)]


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class GoldError(_Line):
    """An error that a person found in a trace, and the span it is in."""

    type: Literal["error"] = Field(default="error", exclude=True)
    id: str = ""
    """Unique; made from the trace id and the number of the error in it when not given."""
    trace_id: Annotated[Id, Field(min_length=1)]
    span_id: Id = ""
    """Empty: it is not known where, so no judge can localise it."""
    category: Annotated[str, Field(min_length=1)]
    """One of TRAIL's 21 names; another one needs `dimensions`, or a mapping that knows it."""
    dimensions: tuple[str, ...] = ()
    """Judges it is the business of; from the mapping when not given."""
    evidence: str = ""
    description: str = ""
    impact: Severity | None = None


class HumanScore(_Line):
    """What a person would have given a trace in a dimension."""

    type: Literal["score"] = "score"
    trace_id: Annotated[Id, Field(min_length=1)]
    judge: Annotated[str, Field(min_length=1)]
    score: Annotated[int, Field(ge=0, le=3, strict=True)]
    rater: str = ""


class AnnotatedTrace(_Line):
    """A trace that a person has gone through, with or without errors."""

    type: Literal["trace"]
    trace_id: Annotated[Id, Field(min_length=1)]


class Repair(NamedTuple):
    """Something in a gold file that is not as it should be and was mended."""

    where: str
    what: str
    """The kind of quirk: repairs of one kind are counted together."""
    found: str = ""
    """What stood there."""


@dataclass(frozen=True)
class Gold:
    """Gold errors and human scores, and which traces they are about."""

    errors: tuple[GoldError, ...]
    scores: tuple[HumanScore, ...] = ()
    trace_ids: tuple[str, ...] = ()
    """Every annotated trace, those without errors too."""
    repairs: tuple[Repair, ...] = ()
    version: str = ""
    """12 hex digits over the names and contents of the files read."""
    files: int = 0

    @cached_property
    def by_trace(self) -> dict[str, tuple[GoldError, ...]]:
        """The errors of each annotated trace."""
        found: dict[str, list[GoldError]] = {trace_id: [] for trace_id in self.trace_ids}
        for error in self.errors:
            found.setdefault(error.trace_id, []).append(error)
        return {trace_id: tuple(errors) for trace_id, errors in found.items()}

    @property
    def repair_counts(self) -> dict[str, int]:
        """How many repairs of each kind."""
        return dict(Counter(repair.what for repair in self.repairs))

    def of(self, trace_ids: Iterable[str]) -> Gold:
        """What concerns these traces alone."""
        wanted = set(trace_ids)
        return Gold(
            tuple(error for error in self.errors if error.trace_id in wanted),
            tuple(score for score in self.scores if score.trace_id in wanted),
            tuple(trace_id for trace_id in self.trace_ids if trace_id in wanted),
            self.repairs,
            self.version,
            self.files,
        )

    def lines(self) -> Iterator[bytes]:
        """Our own JSON Lines, from which the same gold is read."""
        with_errors = {error.trace_id for error in self.errors}
        for trace_id in self.trace_ids:
            if trace_id not in with_errors:
                yield orjson.dumps({"type": "trace", "trace_id": trace_id}) + b"\n"
        for error in self.errors:
            yield error.model_dump_json(exclude_defaults=True).encode() + b"\n"
        for score in self.scores:
            yield score.model_dump_json(exclude={"rater"} if not score.rater else set()).encode() + b"\n"


_LINE: TypeAdapter[GoldError | HumanScore | AnnotatedTrace] = TypeAdapter(
    Annotated[GoldError | HumanScore | AnnotatedTrace, Field(discriminator="type")]
)


def load_gold(
    paths: str | Path | Iterable[str | Path], *, mapping: str | Path | Mapping[str, Iterable[str]] | None = None
) -> Gold:
    """The gold errors and human scores in files and folders.

    Args:
        paths: Files of our lines, TRAIL annotation files, and folders of either; in a folder without such files, its
            subfolders `gold` and `*annotations*` are read.
        mapping: Category -> dimensions, or a file of that (see `mapping.toml`); replaces what it names.

    Raises:
        InputError: A path that is not there, or holds no gold.
        FormatError: A malformed line or file, with its position.
        UsageError: A mapping that is none.
    """
    found = list(_files([paths] if isinstance(paths, str | Path) else paths))
    dimensions = load_mapping(mapping)
    reading = _Reading(dimensions)
    digest = sha256()
    for path in found:
        try:
            content = path.read_bytes()
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
        digest.update(path.name.encode() + b"\0" + sha256(content).digest())
        content = content.removeprefix(BOM_UTF8)
        if _is_annotation(path, content):
            reading.annotation(path, content)
        else:
            reading.lines(path, content)
    return Gold(
        tuple(reading.errors),
        tuple(reading.scores),
        tuple(reading.trace_ids),
        tuple(reading.repairs),
        digest.hexdigest()[:12],
        len(found),
    )


def load_mapping(mapping: str | Path | Mapping[str, Iterable[str]] | None = None) -> dict[str, tuple[str, ...]]:
    """Category -> dimensions: ours, with what the mapping or file names replaced or added.

    Raises `UsageError` for a file that is not of the form of `mapping.toml`.
    """
    known = _table(files("gpa.judges").joinpath("mapping.toml").read_text(encoding="utf-8"), "mapping.toml")
    if mapping is None:
        return known
    if isinstance(mapping, Mapping):
        return known | {name: _dimensions(list(codes), name, "mapping") for name, codes in mapping.items()}
    try:
        text = Path(mapping).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{mapping}: expected a mapping of categories to dimensions, found {error}") from error
    return known | _table(text, str(mapping))


def _table(text: str, where: str) -> dict[str, tuple[str, ...]]:
    try:
        table = tomllib.loads(text).get("dimensions")
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{where}: expected TOML with a table [dimensions], found {error}") from error
    if not isinstance(table, dict):
        raise UsageError(f"{where}: expected a table [dimensions] of categories, found none")
    return {trail.category(name) or name: _dimensions(codes, name, where) for name, codes in table.items()}


def _dimensions(codes: object, category: str, where: str) -> tuple[str, ...]:
    if isinstance(codes, list) and all(isinstance(code, str) and _CODE.fullmatch(code) for code in codes):
        return tuple(dict.fromkeys(codes))
    raise UsageError(f'{where}: {category}: expected a list of dimensions (["LC", "TC"]), found {codes!r}')


def _files(paths: Iterable[str | Path]) -> Iterator[Path]:
    for given in paths:
        path = Path(given).expanduser()
        if not path.is_dir():
            if not path.exists():
                raise InputError(f"{path}: no such file or folder")
            yield path
            continue
        found = _gold_files(path)
        if not found:
            nested = (folder for folder in sorted(path.rglob("*")) if folder.is_dir())
            named = (folder for folder in nested if folder.name == "gold" or "annotations" in folder.name)
            found = [file for folder in named for file in _gold_files(folder)]
        if not found:
            raise InputError(f"{path}: expected a folder of gold files (*.json of TRAIL, or *.jsonl), found none")
        yield from found


def _gold_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix in {".json", ".jsonl"} and path.is_file())


def _is_annotation(path: Path, content: bytes) -> bool:
    """Whether a file is one TRAIL annotation rather than lines: one object, over several lines or with `errors`."""
    if path.suffix == ".jsonl":
        return False
    head = content[:4096].lstrip()
    first = head.partition(b"\n")[0]
    return head.startswith(b"{") and (b'"errors"' in first or not first.rstrip().endswith(b"}"))


class _Reading:
    """What has been read so far."""

    def __init__(self, mapping: Mapping[str, tuple[str, ...]]) -> None:
        self._mapping = mapping
        self._ids: dict[str, str] = {}
        self._numbers: Counter[str] = Counter()
        self._annotated: dict[str, Path] = {}
        self.errors: list[GoldError] = []
        self.scores: list[HumanScore] = []
        self.trace_ids: dict[str, None] = {}
        self.repairs: list[Repair] = []

    def lines(self, path: Path, content: bytes) -> None:
        for number, line in enumerate(content.splitlines(), 1):
            if not line.strip():
                continue
            where = f"{path}:{number}"
            value = _parsed(line, where)
            self.trace_ids[value.trace_id] = None
            if isinstance(value, HumanScore):
                self.scores.append(value)
            elif isinstance(value, GoldError):
                self._add(self._checked(value, where), where)

    def _checked(self, error: GoldError, where: str) -> GoldError:
        """The error with its category as it is spelled; one that nobody knows needs dimensions of its own."""
        if error.category in CATEGORIES or error.category in self._mapping:
            return error
        known = trail.category(error.category)
        if known is None and not error.dimensions:
            raise FormatError(
                f"{where}: category: expected one of TRAIL's 21 (or a `dimensions` field), found {error.category!r}"
            )
        return error.model_copy(update={"category": known or error.category})

    def annotation(self, path: Path, content: bytes) -> None:
        read = trail.read_annotation(path, content)
        if read.trace_id in self._annotated:
            raise FormatError(f"{path}: the annotations of this trace are in {self._annotated[read.trace_id]} already")
        self._annotated[read.trace_id] = path
        self.trace_ids[read.trace_id] = None
        self.repairs.extend(Repair(str(path), what) for what in read.repairs)
        for number, error in enumerate(read.errors):
            self._add(self._mended(read.trace_id, error, f"{path}: errors[{number}]"), str(path))

    def _mended(self, trace_id: str, error: trail.TrailError, where: str) -> GoldError:
        name = trail.category(error.category)
        if name is None:
            self.repairs.append(Repair(where, "a category that is none of the 21, kept as it is", error.category))
        elif name != error.category:
            self.repairs.append(Repair(where, "a category in another spelling", error.category))
        span_id = trail.span_id(error.location)
        if span_id is None:
            self.repairs.append(Repair(where, "a location that is no span id: nothing can localise it", error.location))
        impact = next((known for known in IMPACTS if known == error.impact.strip().upper()), None)
        if impact is None:
            self.repairs.append(Repair(where, "an impact that is none of LOW, MEDIUM, HIGH: left open", error.impact))
        return GoldError(
            trace_id=trace_id,
            span_id=span_id or "",
            category=name or error.category or "unknown",
            evidence=error.evidence,
            description=error.description,
            impact=impact,
        )

    def _add(self, error: GoldError, where: str) -> None:
        self._numbers[error.trace_id] += 1
        name = error.id or f"{error.trace_id}-{self._numbers[error.trace_id]}"
        if name in self._ids:
            raise FormatError(f"{where}: expected a new id, found {name!r}, which is in {self._ids[name]} already")
        self._ids[name] = where
        dimensions = error.dimensions or self._mapping.get(error.category, ())
        update = {"id": name, "dimensions": tuple(dict.fromkeys(dimensions))}
        self.errors.append(error.model_copy(update=update))
        self.trace_ids[error.trace_id] = None


def _parsed(line: bytes, where: str) -> GoldError | HumanScore | AnnotatedTrace:
    try:
        value: Any = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise FormatError(f"{where}:{error.colno}: expected a gold error (a JSON object), found {error.msg}") from error
    if not isinstance(value, dict):
        raise FormatError(f"{where}: expected a gold error (a JSON object), found {type(value).__name__}")
    try:
        return _LINE.validate_python({"type": "error"} | value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"][1:])) or "type"
        raise FormatError(f"{where}: expected a gold error, found {place}: {first['msg']}") from error
