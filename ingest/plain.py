"""Recorded text made harmless for files and pages: nothing that is invisible, nothing that reorders."""

from __future__ import annotations

_KEPT = "\n\t\u200c\u200d"


def plain(text: str) -> str:
    """The text without characters that XML, JSON readers or browsers choke on, hide, or obey.

    Left out are control characters but tab and newline (XML 1.0, production 2, forbids most), halves of surrogate
    pairs, noncharacters, and format characters, which can reorder what people see (CVE-2021-42574). Kept are the two
    joiners that scripts and emoji are spelled with.
    """
    text = text.replace("\r\n", "\n")
    if text.isprintable():
        return text
    return "".join(char for char in text if char.isprintable() or char in _KEPT or _is_blank(char))


def _is_blank(char: str) -> bool:
    return char.isspace() and char > "\x9f"  # no-break spaces and their like, but no control character


def one_line(text: str, limit: int) -> str:
    """The text on one line of at most `limit` characters; a cut ends in `…`."""
    text = " ".join(plain(text[: 8 * limit]).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def cut(text: str, limit: int) -> str:
    """At most `limit` characters of the text; a cut ends in `…`."""
    text = plain(text[: 2 * limit])
    return text if len(text) <= limit else text[: limit - 1] + "…"
