"""JSON inside attribute values: decoded, put back as text, and saved when it was cut off.

Trace content is untrusted, so nothing here raises: what cannot be decoded stays the text it was.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import orjson

# A string up to its end or to the last whole escape before a cut (`\u00e` at the end is left outside).
# Its group is not possessive: before Python 3.11.4 one that fails half-way loses its place (gh-100061).
_STRING = re.compile(r'"[^"\\]*+(?:\\(?:[^u]|u[0-9a-fA-F]{4})[^"\\]*+)*')
_NEXT = re.compile(r'["{}\[\],]')
_HIGH_SURROGATE_END = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\Z")
_CLOSING = {"{": "}", "[": "]"}


def decode(text: str) -> Any:
    """The value of a JSON text, or `text` itself when it is not JSON (or is nested too deep to hold)."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        # Python's own writer emits NaN, Infinity and lone surrogates, which strict JSON has not.
        if not ("NaN" in text or "Infinity" in text or "\\ud" in text or "\\uD" in text):
            return text
    try:
        value = json.loads(text)
        # A lone surrogate is no text that could be stored or sent: `?` stands for it.
        return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")) if "\\u" in text else value
    except (ValueError, RecursionError):
        return text


def structure(value: Any) -> Any:
    """The list or object that a text holds; any other value, and text that is no JSON, unchanged."""
    if isinstance(value, str) and value[:1] in _BRACKETS_OR_SPACE and value.lstrip()[:1] in _BRACKETS:
        return decode(value)
    return value


def unquoted(text: str) -> str:
    """The text that one JSON string holds; any other text unchanged. Producers encode results that are texts, too."""
    inner = decode(text) if text[:1] == text[-1:] == '"' else text
    return inner if isinstance(inner, str) else text


_BRACKETS = frozenset("[{")
_BRACKETS_OR_SPACE = frozenset("[{ \n\r\t")


def recover(value: Any) -> tuple[Any, bool]:
    """`structure(value)` and whether it had to be saved from a cut text.

    Length limits of SDKs and stores end a JSON text in its middle (docs/conventions.md H8). Everything
    before the cut is kept, a string that was cut included.
    """
    if value.__class__ is not str:
        return value, False
    if value[:1] in _BRACKETS:
        try:
            return orjson.loads(value), False
        except orjson.JSONDecodeError:
            pass
    found = structure(value)
    if not isinstance(found, str) or found is not value or found.lstrip()[:1] not in _BRACKETS:
        return found, False
    closed = _close(found)
    if closed is None:
        return found, False
    whole = decode(closed)
    return (found, False) if whole is closed else (whole, True)


def _close(text: str) -> str | None:
    """A cut JSON text with its strings and brackets closed, or None when it was not cut but broken."""
    stack: list[str] = []
    whole = 0  # the end of the last complete value; nothing is opened or closed behind it
    is_key = False
    position = 0
    while found := _NEXT.search(text, position):
        mark, position = found[0], found.end()
        if mark == '"':
            string = _STRING.match(text, found.start())
            end = string.end() if string else position
            if end >= len(text) or text[end] != '"':
                if end < len(text) and not text[end:].startswith("\\"):
                    return None
                if is_key:
                    break
                head = _HIGH_SURROGATE_END.sub("", text[:end])
                return head + '"' + _closers(stack)
            position = end + 1
            if not is_key:
                whole = position
            is_key = False
        elif mark == ",":
            whole = found.start()
            is_key = bool(stack) and stack[-1] == "{"
        elif mark in _BRACKETS:
            stack.append(mark)
            whole = position
            is_key = mark == "{"
        else:
            if not stack or _CLOSING[stack.pop()] != mark:
                return None
            whole = position
            is_key = False
    if not stack:
        return None
    return text[:whole] + _closers(stack)


def _closers(stack: list[str]) -> str:
    return "".join(_CLOSING[mark] for mark in reversed(stack))


def is_deep(value: Any) -> bool:
    """Whether a structure is nested more than 100 levels, beyond which comparing two of them could fail."""
    level = [value]
    for _ in range(100):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if outer.__class__ is dict else outer)
            if inner.__class__ is dict or inner.__class__ is list
        ]
        if not level:
            return False
    return True


def compact(value: Any) -> str:
    """`value` as JSON text without spaces; total, so bytes, NaN and any depth have a text too."""
    try:
        written = orjson.dumps(value, default=_plain, option=orjson.OPT_NON_STR_KEYS)
    except (TypeError, RecursionError):  # orjson's errors are TypeErrors: too deep, too large, lone surrogates
        return _write(value)
    # orjson writes null for NaN and Infinity, and a reader could not tell them from nothing.
    return _write(value) if b"null" in written and _is_infinite_somewhere(value) else written.decode()


def _is_infinite_somewhere(value: Any) -> bool:
    """Whether a structure that an encoder could walk holds a NaN or an infinite number."""
    if isinstance(value, dict | list | tuple):
        return any(map(_is_infinite_somewhere, value.values() if isinstance(value, dict) else value))
    return isinstance(value, float) and not math.isfinite(value)


def _plain(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes | bytearray) else str(value)


def _write(value: Any) -> str:
    """`compact` without recursion, for what orjson refuses."""
    pieces: list[str] = []
    todo: list[tuple[bool, Any]] = [(False, value)]  # (written as it is, what)
    while todo:
        literal, item = todo.pop()
        if literal:
            pieces.append(item)
        elif isinstance(item, dict):
            todo.append((True, "}"))
            for index, (key, inner) in reversed(list(enumerate(item.items()))):
                todo.append((False, inner))
                todo.append((True, ("," if index else "") + _scalar(str(key)) + ":"))
            todo.append((True, "{"))
        elif isinstance(item, list | tuple):
            todo.append((True, "]"))
            for index, inner in reversed(list(enumerate(item))):
                todo.append((False, inner))
                if index:
                    todo.append((True, ","))
            todo.append((True, "["))
        else:
            pieces.append(_scalar(item))
    return "".join(pieces)


def _scalar(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int):
        try:
            return str(value)
        except ValueError:  # more digits than Python converts
            return hex(value)
    if isinstance(value, float):
        return json.dumps(value)  # NaN, Infinity and -Infinity as Python's own writer has them
    text = value if isinstance(value, str) else _plain(value)
    return json.dumps(text.encode("utf-8", "replace").decode(), ensure_ascii=False)
