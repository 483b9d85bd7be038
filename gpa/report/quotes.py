"""Where a quote stands in the texts of a step, as character ranges, so that a page can highlight it.

Quotes come from the rendering a judge was shown: white space may differ, escapes of JSON come and go, passages are
left out, and what a model typed from memory may be off by a few characters. The rules are those by which
`gpa.judges.citations` calls a quote grounded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from rapidfuzz import fuzz

from gpa.ingest.labels import neutral
from gpa.judges.citations import ELISION, MAX_FUZZY, MIN_FUZZY, MIN_QUOTE, MIN_SIMILARITY

Range = tuple[int, int, int]
"""A number, usually of the text; first character; one behind the last."""

MAX_TEXT = 200_000
"""Characters of a text that are searched inexactly."""
_ALIKE = {"'": "'\u2018\u2019", '"': '"\u201c\u201d', "-": "-\u2011\u2013\u2014"}
_BLANK = r"(?:[\s\u200b-\u200f\u2060\ufeff]|\\+[nrt])+"


def ranges(quote: str, texts: Sequence[str]) -> list[Range]:
    """Every passage of the quote in the first text that holds one; empty when none does."""
    for number, text in enumerate(texts):
        if quote and (at := text.find(quote)) >= 0:
            return [(number, at, at + len(quote))]
    parts = [part.strip() for part in ELISION.split(quote) if part.strip()]
    for number, text in enumerate(texts):
        found = [span for part in parts if len(part) >= MIN_QUOTE and (span := _similar_range(part, text))]
        if found:
            return [(number, start, stop) for start, stop in sorted(found)]
    return []


def _similar_range(part: str, text: str) -> tuple[int, int] | None:
    # Labels inside texts were shown with other brackets; that changes no position.
    match = _pattern(part).search(neutral(text))
    if match:
        return match.span()
    if len(part) < MIN_FUZZY or len(text) > MAX_TEXT or len(text) < len(part[:MAX_FUZZY]) // 2:
        return None
    near = fuzz.partial_ratio_alignment(part[:MAX_FUZZY], text, score_cutoff=MIN_SIMILARITY)
    return None if near is None else (near.dest_start, near.dest_end)


@lru_cache(maxsize=256)
def _pattern(part: str) -> re.Pattern[str]:
    r"""The passage with any white space (also written as `\n`), any quotes and dashes, escaped or not."""
    words = re.split(_BLANK, neutral(part).replace("\\", ""))
    return re.compile(_BLANK.join("".join(map(_character, word)) for word in words if word))


def _character(character: str) -> str:
    for plain, alike in _ALIKE.items():
        if character in alike:
            escaped = r"\\*" if plain != "-" else ""
            return f"{escaped}[{re.escape(alike)}]"
    return r"\\*/" if character == "/" else re.escape(character)


def utf16(text: str, position: int) -> int:
    """The position as JavaScript counts it: characters beyond the Basic Multilingual Plane are two."""
    if text.isascii():
        return position
    return position + sum(character > "\uffff" for character in text[:position])
