"""Files of requirements -> what each trace or plan was asked for: one for all, by trace id, or by goal.

Read are one object of requirements (for all), an object of them by trace id or goal, and a list or JSON Lines of
records `{"trace_id"|"id"|"query_id": ..., "goal"|"question"|"query": ..., "requirements": {...}, "columns": ...}`; the
fields of the requirements may stand in the record itself. A record that is wrong costs its own trace only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec
from msgspec import Struct

from gpa.errors import InputError
from gpa.plans.capabilities import CapabilityMapping
from gpa.plans.located import Located, found, meant
from gpa.plans.requirements import FIELDS, Requirements, RequirementsError, read_requirements

ColumnType = Literal["temporal", "numeric", "categorical", "unknown"]
_TYPES: tuple[ColumnType, ...] = get_args(ColumnType)

_ID = ("trace_id", "id", "query_id")
_GOAL = ("goal", "question", "query")
_COLUMNS = ("columns", "types", "schema", "dataset")


class Column(Struct, frozen=True):
    """A column of the data that a question is about."""

    name: str
    type: ColumnType = "unknown"
    span_days: float | None = None
    """Of a temporal column: days from its first value to its last."""
    points: int | None = None
    """Of a temporal column: different values in it."""


class Asked(Struct, frozen=True):
    """What was asked for, and the data it is about."""

    requirements: Requirements
    columns: tuple[Column, ...] = ()
    question: str = ""

    @property
    def types(self) -> dict[str, str]:
        """The types of the columns, as far as they are known."""
        return {column.name: column.type for column in self.columns if column.type != "unknown"}


class Broken(Struct, frozen=True):
    """Why there are no requirements where there should be."""

    reason: str
    error_type: str = "requirements"


class Known(Struct, frozen=True):
    """The requirements that are known."""

    for_all: Asked | None = None
    by_key: dict[str, Asked | Broken] = {}
    """By trace id or row id, and by goal in plain form (`plain_goal`)."""
    errors: tuple[Located, ...] = ()

    def of(self, identity: str, goal: str = "") -> Asked | Broken | None:
        """What the trace or row of this id (else of this goal) was asked for; None when that is not known."""
        return self.by_key.get(identity) or self.by_key.get(plain_goal(goal)) or self.for_all


def plain_goal(goal: str) -> str:
    """A goal as goals are compared: case and white space say nothing."""
    return " ".join(goal.split()).casefold()


def load_known(path: str | Path, mapping: CapabilityMapping, columns: tuple[Column, ...] = ()) -> Known:
    """The requirements in a file; `columns` describe the data where a record does not.

    Raises:
        InputError: it cannot be read, or it is one object of requirements and that is wrong.
    """
    value, lines = _content(Path(path).expanduser())
    if isinstance(value, dict) and not _is_record(value) and (value.keys() & set(FIELDS) or not value):
        return Known(Asked(read_requirements(value, mapping, where=str(path)), columns))
    if isinstance(value, dict) and _is_record(value) and not _keys(value):
        return Known(_asked(value, mapping, columns, str(path)))
    by_key: dict[str, Asked | Broken] = {}
    errors: list[Located] = []
    for keys, record, place in _records(value, str(path), lines=lines):
        if not keys:
            why = f"expected a record with trace_id, id or goal, found {found(record)}"
            errors.append(Located(file=place, message=why))
            continue
        try:
            asked: Asked | Broken = _asked(record, mapping, columns, place)
        except RequirementsError as error:
            errors += error.errors
            asked = Broken("; ".join(map(str, error.errors)))
        by_key.update(dict.fromkeys(keys, asked))
    return Known(by_key=by_key, errors=tuple(errors))


def asked_in(fields: Mapping[str, Any], mapping: CapabilityMapping, columns: tuple[Column, ...]) -> Asked | None:
    """The requirements that a row of a file of plans holds itself, or None. Raises `RequirementsError`."""
    return _asked(fields, mapping, columns, "") if "requirements" in fields else None


def load_columns(path: str | Path) -> tuple[Column, ...]:
    """The columns in a JSON file: `{"date": "temporal"}`, or a list (or `columns`) of objects with name and type.

    Raises:
        InputError: it cannot be read, or holds something else.
    """
    value, _ = _content(Path(path).expanduser())
    return read_columns(value, where=str(path))


def read_columns(value: Any, *, where: str = "") -> tuple[Column, ...]:
    """The columns in a decoded value. Raises `RequirementsError`."""
    if isinstance(value, Mapping) and isinstance(value.get("columns"), list | dict):
        value = value["columns"]
    if isinstance(value, Mapping):
        value = [
            {"name": name, **(about if isinstance(about, dict) else {"type": about})} for name, about in value.items()
        ]
    try:
        columns = msgspec.convert(value, tuple[Column, ...])
    except msgspec.ValidationError as error:
        why = f"expected columns with name and type ({', '.join(_TYPES)}): {error}"
        raise RequirementsError([Located(file=where, field="columns", message=why)]) from error
    return columns


def _asked(record: Mapping[str, Any], mapping: CapabilityMapping, columns: tuple[Column, ...], where: str) -> Asked:
    own = next((record[name] for name in _COLUMNS if record.get(name)), None)
    if own is not None:
        columns = read_columns(own, where=where)
    value = record.get("requirements")
    if value is None:
        # The rest of a record is anybody's, but not a field of ours with a slip of the pen in it.
        value = {name: one for name, one in record.items() if name in FIELDS or meant(name, FIELDS)}
        if not value:
            why = f"expected requirements, or one of {', '.join(FIELDS)}, found none"
            raise RequirementsError([Located(file=where, message=why)])
    question = next((str(record[name]) for name in _GOAL if record.get(name)), "")
    return Asked(read_requirements(value, mapping, where=where), columns, question)


def _is_record(value: Mapping[str, Any]) -> bool:
    return "requirements" in value or any(isinstance(value.get(name), str) for name in (*_ID, *_GOAL))


def _keys(record: Mapping[str, Any]) -> tuple[str, ...]:
    """What a record may be found by: its ids, else its goal."""
    ids = tuple(str(record[name]) for name in _ID if isinstance(record.get(name), str | int))
    return ids or tuple(plain_goal(record[name]) for name in _GOAL if isinstance(record.get(name), str))


def _records(value: Any, path: str, *, lines: bool) -> Iterator[tuple[tuple[str, ...], Any, str]]:
    """Each record with what it is found by and its place; by trace id or goal, each entry of an object is one."""
    if isinstance(value, dict) and not _is_record(value):
        for key, one in value.items():
            record = one if isinstance(one, dict) and "requirements" in one else {"requirements": one}
            yield (key, plain_goal(key)), record, f"{path}: {key}"
        return
    listed: Iterable[Any] = value if isinstance(value, list) else [value]
    for number, one in enumerate(listed, 1):
        keys = _keys(one) if isinstance(one, dict) else ()
        yield keys, one, f"{path}:{number}" if lines else f"{path}[{number - 1}]"


def _content(path: Path) -> tuple[Any, bool]:
    """What a JSON file holds, or the values of its lines; and which it was."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    try:
        return msgspec.json.decode(data), False
    except (msgspec.MsgspecError, RecursionError) as error:
        whole = error
    values = []
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            values.append(msgspec.json.decode(line))
        except (msgspec.MsgspecError, RecursionError) as error:
            why = whole if not values else error
            raise InputError(f"{path}:{number}: expected JSON, or one JSON object a line: {why}") from error
    return values, True
