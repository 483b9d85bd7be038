"""References into a user's data: `name`, `name['key']`, `name[0]`, and `name[other['key']]`, whose key is data too."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, TypeAlias

from msgspec import UNSET, Struct

from gpa.errors import FormatError
from gpa.plans.located import found

MAX_DEPTH = 32
"""References inside references; more is an attack or an accident."""

_NAME = re.compile(r"[^\W\d]\w*")
_KEY = re.compile(r"""\s*(?:'([^']*)'|"([^"]*)"|(\d{1,9}))\s*\]""")
_DIGITS = 9
_FORM = "expected a reference like name, name['key'] or name[other['key']]"


class Reference(Struct, frozen=True):
    """A path into a user's data."""

    name: str
    """The field at the top."""
    keys: tuple[str | int | Reference, ...] = ()
    """Keys of objects, indexes of arrays, or references whose value is the key."""

    def __str__(self) -> str:
        return self.name + "".join(f"[{_shown(key)}]" for key in self.keys)


def parse(text: str) -> Reference:
    """The reference that the text is; raises `FormatError` when it is none."""
    reference, end = _reference(text, 0, MAX_DEPTH)
    if text[end:].strip():
        raise FormatError(f"{_FORM}, found {found(text)}")
    return reference


def parts(reference: Reference) -> Iterator[Reference]:
    """The references inside it, innermost first, and itself."""
    for key in reference.keys:
        if isinstance(key, Reference):
            yield from parts(key)
    yield reference


Getter: TypeAlias = Callable[[Mapping[str, Any]], Any]
"""From a user's data to the value there, `UNSET` when there is none. A value may be null, 0, false or empty."""


def getter(reference: Reference) -> Getter:
    """The function that looks the reference up."""
    name, keys = reference.name, reference.keys
    if not keys:
        return lambda data: data.get(name, UNSET)
    if len(keys) == 1 and isinstance(keys[0], str):  # nearly every reference: worth its own road
        key = keys[0]

        def nested(data: Mapping[str, Any]) -> Any:
            holder = data.get(name, UNSET)
            return holder.get(key, UNSET) if type(holder) is dict else item(holder, key)

        return nested
    return lambda data: resolve(reference, data)


def reader(references: Iterable[Reference]) -> tuple[tuple[Reference, ...], Callable[[Mapping[str, Any]], list[Any]]]:
    """The references in some order, and the function that looks all of them up in it, `UNSET` where one leads nowhere.

    References into one object are taken in one step from data that has them all, which is nearly all data; anything
    else goes the long way.
    """
    top: list[Reference] = []
    grouped: dict[str, list[Reference]] = {}
    others: list[Reference] = []
    for reference in references:
        if not reference.keys:
            top.append(reference)
        elif len(reference.keys) == 1 and isinstance(reference.keys[0], str):
            grouped.setdefault(reference.name, []).append(reference)
        else:
            others.append(reference)
    ordered = tuple(chain(top, *grouped.values(), others))
    take_top = _several([one.name for one in top])
    groups = tuple((name, _several([str(one.keys[0]) for one in members])) for name, members in grouped.items())
    getters, long_ways = tuple(map(getter, ordered)), tuple(map(getter, others))

    def read(data: Mapping[str, Any]) -> list[Any]:
        try:
            values = [*take_top(data)]
            for name, take in groups:
                holder = data[name]
                if type(holder) is not dict:
                    break
                values += take(holder)
            else:
                if long_ways:
                    values += [get(data) for get in long_ways]
                return values
        except KeyError:
            pass
        return [get(data) for get in getters]

    return ordered, read


def _several(keys: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """From an object to what it holds at the keys; raises `KeyError` when one is not there."""
    if len(keys) > 1:
        return itemgetter(*keys)
    if not keys:
        return lambda _: ()
    [key] = keys
    return lambda holder: (holder[key],)


def resolve(reference: Reference, data: Mapping[str, Any]) -> Any:
    """The value at the reference, or `UNSET`."""
    value = data.get(reference.name, UNSET)
    for key in reference.keys:
        value = item(value, resolve(key, data) if isinstance(key, Reference) else key)
    return value


def item(holder: Any, key: Any) -> Any:
    """What an object or array holds at the key, or `UNSET`.

    Keys of JSON objects are text, ids in the data often numbers: a key that is not there is tried as text.
    """
    if type(holder) is dict or isinstance(holder, Mapping):
        try:
            return holder[key] if key in holder else holder.get(key_text(key), UNSET)
        except TypeError:  # an array or object is no key
            return UNSET
    if isinstance(holder, list | tuple):
        if isinstance(key, str) and key.isascii() and key.isdigit() and len(key) <= _DIGITS:
            key = int(key)
        if isinstance(key, int) and not isinstance(key, bool) and 0 <= key < len(holder):
            return holder[key]
    return UNSET


def why_missing(reference: Reference, data: Mapping[str, Any]) -> str:
    """Where on the way the reference ends: `user_provided_info has no 'address'`."""
    if reference.name not in data:
        return f"the data has no {reference.name!r}"
    value, so_far = data[reference.name], Reference(reference.name)
    for key in reference.keys:
        actual = resolve(key, data) if isinstance(key, Reference) else key
        if actual is UNSET:
            return f"{key} has no value to be a key"
        inside = item(value, actual)
        if inside is UNSET:
            holds = "has no" if isinstance(value, Mapping | list | tuple) else f"is {found(value)} and has no"
            return f"{so_far} {holds} {found(actual) if isinstance(actual, str) else actual}"
        value, so_far = inside, Reference(so_far.name, (*so_far.keys, key))
    return f"{reference} is there"


def _reference(text: str, start: int, depth: int) -> tuple[Reference, int]:
    start += len(text) - start - len(text[start:].lstrip())
    match = _NAME.match(text, start)
    if match is None or depth == 0:
        raise FormatError(f"{_FORM}, found {found(text)}")
    end = match.end()
    keys: list[str | int | Reference] = []
    while text[end:].lstrip().startswith("["):
        end = text.index("[", end) + 1
        literal = _KEY.match(text, end)
        if literal is not None:
            single, double, index = literal.groups()
            keys.append(int(index) if index is not None else single if single is not None else double)
            end = literal.end()
            continue
        inner, end = _reference(text, end, depth - 1)
        rest = text[end:].lstrip()
        if not rest.startswith("]"):
            raise FormatError(f"{_FORM}, found {found(text)}: a bracket is not closed")
        keys.append(inner)
        end = len(text) - len(rest) + 1
    return Reference(match[0], tuple(keys)), end


def _shown(key: str | int | Reference) -> str:
    if isinstance(key, str):
        return f'"{key}"' if "'" in key else f"'{key}'"
    return str(key)


def key_text(key: Any) -> str:
    """The key as JSON writes it."""
    return ("true" if key else "false") if isinstance(key, bool) else str(key)
