"""Text of a trace for a page: what hides, reorders or disturbs is made visible, so that it can only be read.

HTML needs no more than escaping; this is about what a reader would otherwise not see. Characters that hold emoji and
the letters of some scripts together (U+200C, U+200D) stay where they do that, between characters beyond ASCII.
"""

from __future__ import annotations

import re

_UNSEEN = re.compile(
    "\r\n"
    "|[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and newline
    # What reorders or hides (CVE-2021-42574).
    "\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ud800-\udfff\ufff9-\uffff\U000e0000-\U000e007f]"  # halves of characters, annotations, tags
    "|[\u200c\u200d](?![^\x00-\x7f])|(?<![^\x00-\x7f])[\u200c\u200d]"
)


def visible(text: str) -> str:
    """The text with every unseen character written as its code: `⟨U+202E⟩`, control characters as `␛`."""
    return text if text.isascii() and text.isprintable() else _UNSEEN.sub(_code, text)


def excerpt(text: str, limit: int) -> str:
    """The beginning of the text on one line of at most `limit` characters; a cut ends in `…`."""
    line = visible(" ".join(text[: 4 * limit].split()))
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _code(match: re.Match[str]) -> str:
    if match[0] == "\r\n":
        return "\n"
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"
