"""Lists that were flattened into dotted, numbered attribute keys, put together again.

OpenInference (`llm.input_messages.10.message.role`) and old OpenLLMetry (`gen_ai.prompt.0.tool_calls.1.name`) spread
one list over hundreds of attributes. Keys arrive in any order, and the SDK's attribute limit (128) takes the oldest
away, so that numbers may start above 0 and have holes (docs/conventions.md H7).
"""

from __future__ import annotations

from collections.abc import Mapping
from sys import intern
from typing import Any

from gpa.ingest.dialects.json_text import structure

Fields = dict[str, Any]
"""One item of a flattened list: what follows the number in the key -> value."""
Items = dict[int, Fields]
"""The items of one list by their number."""
Columns = dict[str, dict[int, Any]]
"""Key with `*` for its first number (`llm.tools.*.tool.json_schema`) -> number -> value."""

LEAVES = ("arguments", "arguments_json", "json_schema", "metadata", "parameters", "input_schema", "vector")
"""Fields whose value may itself be an object and is never taken apart."""
MAX_DEPTH = 12


class _Places(dict[str, tuple[str, int] | None]):
    """Key -> `place(key)`, remembered because every span of a run uses the same few hundred keys; bounded."""

    LIMIT = 16_384

    def __missing__(self, key: str) -> tuple[str, int] | None:
        if len(self) >= self.LIMIT:
            self.clear()
        found = self[key] = place(key)
        return found


_PLACES = _Places()


def place(key: str) -> tuple[str, int] | None:
    """(`llm.tools.*.tool.json_schema`, 3) of `llm.tools.3.tool.json_schema`; None when the key holds no number."""
    start = key.find(".")
    while start >= 0:
        stop = key.find(".", start + 1)
        digits = key[start + 1 :] if stop < 0 else key[start + 1 : stop]
        if digits.isdecimal() and digits.isascii() and len(digits) < 10:
            return intern(f"{key[:start]}.*{'' if stop < 0 else key[stop:]}"), int(digits)
        start = stop
    return None


def columns(attributes: Mapping[str, Any]) -> Columns:
    """Every numbered attribute, by its key without the number: the cheapest form to read many messages from."""
    found: Columns = {}
    for key, value in attributes.items():
        if (where := _PLACES[key]) is not None:
            pattern, number = where
            if pattern in found:
                found[pattern][number] = value
            else:
                found[pattern] = {number: value}
    return found


def items(found: Columns, prefix: str, *, without: tuple[str, ...] = ()) -> Items:
    """The items of the list `prefix`, in no order; fields `without` are left out, and items that have no others."""
    start = f"{prefix}.*"
    gathered: Items = {}
    for pattern, column in found.items():
        if pattern.startswith(start) and pattern not in without:
            field = pattern[len(start) + 1 :]
            for number, value in column.items():
                gathered.setdefault(number, {})[field] = value
    return gathered


def in_order(gathered: Items) -> list[Fields]:
    """The items by ascending number."""
    return [gathered[number] for number in sorted(gathered)]


def unflattened(prefix: str, value: object) -> Columns:
    """The columns of a list that was never flattened, or put together again by a backend.

    Takes a list of objects or its JSON text, with nested or dotted keys (Phoenix dataframes: docs/conventions.md F7);
    anything else is an empty result.
    """
    listed = structure(value)
    if isinstance(listed, dict):
        listed = [listed]
    if not isinstance(listed, list):
        return {}
    return columns(
        {f"{prefix}.{number}.{field}": inner for number, item in enumerate(listed) for field, inner in flatten(item)}
    )


def nested(attributes: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """The object whose members stand under `prefix.`: how Phoenix hands out a JSON schema."""
    found: dict[str, Any] = {}
    start = f"{prefix}."
    for key, value in attributes.items():
        if key.startswith(start):
            *branches, leaf = key[len(start) :].split(".", MAX_DEPTH)
            inner = found
            for branch in branches:
                below = inner.setdefault(branch, {})
                if not isinstance(below, dict):
                    break  # a value and a branch of one name: the value was first
                inner = below
            else:
                inner.setdefault(leaf, value)
    return found


def flatten(value: object) -> list[tuple[str, Any]]:
    """The dotted members of a nested object: `{"message": {"role": "user"}}` -> `[("message.role", "user")]`."""
    members: list[tuple[str, Any]] = []
    if isinstance(value, dict):
        _flatten(value, "", members, MAX_DEPTH)
    return members


def _flatten(value: object, key: str, members: list[tuple[str, Any]], depth: int) -> None:
    if depth and not key.endswith(LEAVES):
        prefix = f"{key}." if key else ""
        if isinstance(value, dict):
            for name, inner in value.items():
                _flatten(inner, f"{prefix}{name}", members, depth - 1)
            return
        if isinstance(value, list) and any(isinstance(inner, dict) for inner in value):
            for number, inner in enumerate(value):
                _flatten(inner, f"{prefix}{number}", members, depth - 1)
            return
    if value is not None:
        members.append((key, value))
