"""Words, texts and counts out of attributes that nobody checked.

A trace is untrusted: a string may be a list, a count may be NaN or text. Nothing here raises.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpa.ingest.dialects.json_text import compact


def text(value: object) -> str:
    """The value as text: a string as recorded, None as nothing, anything else as JSON."""
    return value if isinstance(value, str) else "" if value is None else compact(value)


def word(attributes: Mapping[str, Any], *keys: str) -> str:
    """The first of these attributes that is a non-empty string, or ""."""
    for key in keys:
        value = attributes.get(key)
        if value and isinstance(value, str):
            return value
    return ""


def count(value: object) -> int:
    """A token count as a whole number; 0 for anything that is not a finite positive number or the text of one."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return 0
    if isinstance(value, int | float) and 0 < value < 1e15:  # false for NaN
        return int(value)
    return 0
