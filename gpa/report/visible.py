"""Text of a trace for a page: what hides, reorders or disturbs is made visible, so that it can only be read.

HTML needs no more than escaping; this is about what a reader would otherwise not see.
"""

from __future__ import annotations

import re

from gpa.ingest.plain import UNSEEN, one_line


def visible(text: str) -> str:
    """The text with every unseen character written as its code: `⟨U+202E⟩`, control characters as `␛`."""
    return text if text.isascii() and text.isprintable() else UNSEEN.sub(_code, text)


def excerpt(text: str, limit: int) -> str:
    """The beginning of the text on one line of at most `limit` characters; a cut ends in `…`."""
    return one_line(text, limit, visible)


def _code(match: re.Match[str]) -> str:
    if match[0] == "\r\n":
        return "\n"
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"
