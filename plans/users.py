"""Users: records with an id, the workflows they go through, and the data that references look into."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from gpa.errors import InputError
from gpa.plans.located import Located, found, meant
from gpa.plans.references import Getter, getter, parse

ID_FIELD = "customer_id"
SEQUENCE = "agent_sequence"
_IDS = (int, str)
_BOM = b"\xef\xbb\xbf"


class User(Struct, frozen=True):
    """One record that can be compiled."""

    id: str
    sequence: tuple[str, ...]
    """Workflows, in the order the user goes through them."""
    data: Mapping[str, Any]
    """The whole record."""
    place: str = ""
    """`users.json[3]`, or `users.jsonl:4` for a line."""


class Users(Struct, frozen=True):
    """The records of a file, those that can be used and what is wrong with the others."""

    users: tuple[User, ...]
    errors: tuple[Located, ...] = ()


def load_users(path: str | Path, *, id_field: str = ID_FIELD) -> Users:
    """The users in a file: a JSON array, one JSON object, or JSON Lines; one that is wrong costs itself alone.

    Raises `InputError` when the file cannot be read at all.
    """
    file = str(path)
    try:
        content = Path(path).read_bytes().removeprefix(_BOM)
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror})") from error
    values, errors = _values(content, file)
    users = read_users(values, id_field=id_field)
    return Users(users.users, (*errors, *users.errors))


def read_users(values: Iterable[tuple[str, Any]], *, id_field: str = ID_FIELD) -> Users:
    """The users that the values are, each with its place."""
    users: dict[str, User] = {}
    errors: list[Located] = []
    of_id = getter(parse(id_field))
    for place, value in values:
        user = read_user(value, place, of_id, id_field)
        if not isinstance(user, User):
            errors += user
        elif user.id in users:
            message = f"the id is already that of {users[user.id].place}"
            errors.append(Located(file=place, user=user.id, field=id_field, message=message))
        else:
            users[user.id] = user
    return Users(tuple(users.values()), tuple(errors))


def read_user(value: Any, place: str, of_id: Getter, id_field: str) -> User | list[Located]:
    """The user that the value is, or what is wrong with it."""
    if not isinstance(value, Mapping):
        return [Located(file=place, message=f"expected an object for each user, found {found(value)}")]
    identity, names = of_id(value), value.get(SEQUENCE, msgspec.UNSET)
    if (
        type(names) is list
        and len(names) == 1
        and type(names[0]) is str
        and names[0]
        and identity
        and type(identity) in _IDS
    ):
        return User(identity if type(identity) is str else str(identity), (names[0],), value, place)  # nearly all
    errors: list[Located] = []
    name = str(identity) if _is_id(identity) else ""
    if not name:
        said = "missing" if identity is msgspec.UNSET else f"expected text or a number, found {found(identity)}"
        message = f"{said}; every user needs an id (or choose another id field)"
        errors.append(Located(file=place, field=id_field, message=message))
    sequence, wrong = _sequence(names)
    errors += (Located(file=place, user=name, field=SEQUENCE, message=message) for message in wrong)
    return errors or User(name, sequence, value, place)


def unknown_workflows(user: User, known: Iterable[str]) -> list[Located]:
    """An error for each workflow of the user's that does not exist."""
    names = list(known)
    return [
        Located(
            file=user.place,
            user=user.id,
            workflow=name,
            field=f"{SEQUENCE}[{index}]",
            message=f"no usable workflow has this name{meant(name, names)}; there are {', '.join(names) or 'none'}",
        )
        for index, name in enumerate(user.sequence)
        if name not in names
    ]


def _sequence(value: Any) -> tuple[tuple[str, ...], list[str]]:
    """The sequence, and what is wrong with it; one workflow may stand without an array."""
    if value is msgspec.UNSET:
        return (), ["missing; expected the names of the user's workflows"]
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not names or not all(isinstance(name, str) and name for name in names):
        return (), [f"expected an array of names of workflows, found {found(value)}"]
    twice = [name for index, name in enumerate(names) if name in names[:index]]
    return tuple(names), [f"{name!r} stands in it twice" for name in dict.fromkeys(twice)]


def _is_id(value: Any) -> bool:
    return (isinstance(value, str) and bool(value)) or (isinstance(value, int | float) and not isinstance(value, bool))


def _values(content: bytes, file: str) -> tuple[list[tuple[str, Any]], list[Located]]:
    try:
        value = msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        lines = [(number, line) for number, line in enumerate(content.splitlines(), 1) if line.strip()]
        if len(lines) > 1 and isinstance(_decoded(lines[0][1]), dict):
            return _lines(lines, file)
        return [], [Located(file=file, message=f"expected JSON or JSON Lines: {_reason(error)}")]
    if isinstance(value, list):
        errors = [] if value else [Located(file=file, message="expected users, found an empty array")]
        return [(f"{file}[{index}]", item) for index, item in enumerate(value)], errors
    return [(file, value)], []


def _lines(lines: list[tuple[int, bytes]], file: str) -> tuple[list[tuple[str, Any]], list[Located]]:
    values: list[tuple[str, Any]] = []
    errors: list[Located] = []
    for number, line in lines:
        value = _decoded(line)
        if isinstance(value, Exception):
            errors.append(Located(file=f"{file}:{number}", message=f"expected a JSON object: {_reason(value)}"))
        else:
            values.append((f"{file}:{number}", value))
    return values, errors


def _decoded(line: bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        return error


def _reason(error: Exception) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)
