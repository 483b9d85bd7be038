"""JSON in which spans hold their children, deeper than a parser can call itself -> values.

Only the lists of spans are walked here, on a stack; everything else in a span is left to the standard parser, so
values nested without end are still refused.
"""

from __future__ import annotations

import json
import re
from typing import Any

_NESTING = frozenset({"child_spans", "spans"})
_BLANK = re.compile(r"[ \t\r\n]*+")
_decode = json.JSONDecoder(strict=False).raw_decode


def load_nested(text: str) -> Any:
    """The value of a text that is an object or a list of objects.

    Raises:
        ValueError: it is not JSON.
        RecursionError: something other than spans is nested too deeply.
    """
    top: list[Any] = []
    stack: list[Any] = [top]
    at = _skip(text, 0)
    while at < len(text):
        inside = stack[-1]
        char = text[at]
        if char in "]}" and len(stack) > 1:
            stack.pop()
            at += 1
        elif char == "," and len(stack) > 1:
            at += 1
        elif isinstance(inside, dict):
            key, at = _key(text, at)
            if key in _NESTING and text.startswith("[", at):
                stack.append([])
                inside[key] = stack[-1]
                at += 1
            else:
                inside[key], at = _decode(text, at)
        elif (char == "{" and not (inside is top and top)) or (char == "[" and not top):
            stack.append({} if char == "{" else [])
            inside.append(stack[-1])
            at += 1
        else:
            value, at = _decode(text, at)
            inside.append(value)
        at = _skip(text, at)
    if len(stack) > 1 or len(top) != 1:
        raise json.JSONDecodeError("Expecting one whole document", text, at)
    return top[0]


def _key(text: str, at: int) -> tuple[str, int]:
    """A key, and where its value begins."""
    if text[at] != '"':
        raise json.JSONDecodeError("Expecting property name enclosed in double quotes", text, at)
    key, at = _decode(text, at)
    at = _skip(text, at)
    if not text.startswith(":", at):
        raise json.JSONDecodeError("Expecting ':' delimiter", text, at)
    return key, _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    return blank.end() if blank else at
