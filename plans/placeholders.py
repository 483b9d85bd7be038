"""Placeholders in a step for what an earlier step gave: `$1`, `#E1`, `{{step1}}`, `(1)`, `<step 1>`.

Each framework has its own: `$i` (LLMCompiler, arXiv 2605.08477), `#E1` (ReWOO), `{{step1.output}}` (templates), `(k)`,
`(tool k)`, `(sub-query k)` and `(query)` (tool-aware planning), `$node.field` (workflow engines).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

_PLACEHOLDER = re.compile(
    r"""
      \$\{?(?P<dollar>[A-Za-z_]*\d+|[A-Za-z_]\w*(?=[.\[}]))(?:[\w.\[\]'"]*\})?
    | \#(?P<hash>E\d+)\b
    | \{\{\s*(?:steps?\.|nodes?\.|tasks?\.|\$)?(?P<braces>[\w-]+)(?:[.\[][^{}]*)?\s*\}\}
    | <\s*(?:(?:output|result)s?\ (?:of|from)\ )?(?P<angle>(?:step|task|node)[ _-]?\d+)(?:[.\w]*)\s*>
    | \{(?P<single>(?:step|task|node|s|t)_?\d+)(?:[.\[][^{}]*)?\}
    | \(\s*(?:(?P<part>tool|sub-query)\s+)?(?P<parens>\d+)\s*\)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_MALFORMED = re.compile(r"\(\s*\d+(?:\s*,\s*\d+)+\s*\)")
_DIGITS = re.compile(r"\d+$")


class Placeholder(Struct, frozen=True):
    """A placeholder, where it stands in its text."""

    target: str
    """The step it names, as written: `1`, `E1`, `step1`, `search`."""
    written: str
    start: int
    certain: bool = True
    """False for `(5)` and `$5`, which are also how people number things and write prices."""

    @property
    def number(self) -> int | None:
        """The number the name ends in, None when it ends in none."""
        digits = _DIGITS.search(self.target)
        return int(digits[0]) if digits and len(digits[0]) < 10 else None


def placeholders(value: Any) -> tuple[Placeholder, ...]:
    """Every placeholder in a text, or in the texts of a list or object, in order."""
    return tuple(found for text in texts(value) for found in _in_text(text))


def malformed(value: Any) -> tuple[str, ...]:
    """Placeholders like `(1, 2)`, which name no step: it should be `(1)` and `(2)`."""
    return tuple(match[0] for text in texts(value) for match in _MALFORMED.finditer(text))


def filled_in(text: str) -> re.Pattern[str] | None:
    """What the text looks like once its certain placeholders are filled in; None when it has none."""
    pieces, at = [], 0
    for found in _in_text(text):
        if found.certain:
            pieces.append(re.escape(text[at : found.start]))
            at = found.start + len(found.written)
    return re.compile(".*".join((*pieces, re.escape(text[at:]))), re.DOTALL) if pieces else None


def texts(value: Any) -> Iterator[str]:
    """The texts of a value: itself, or those of its elements and their elements."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            waiting.extend(reversed(one.values()))
        elif isinstance(one, list | tuple):
            waiting.extend(reversed(one))


def _in_text(text: str) -> Iterator[Placeholder]:
    if not any(mark in text for mark in "$#{<("):
        return
    for match in _PLACEHOLDER.finditer(text):
        target = next(match[name] for name in ("dollar", "hash", "braces", "angle", "single", "parens") if match[name])
        yield Placeholder(target, match[0], match.start(), certain=match["parens"] is None or match["part"] is not None)
