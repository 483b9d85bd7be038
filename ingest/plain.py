"""Recorded text made harmless: what hides or reorders, in one place, and for files and pages without it.

Terminals (`gpa.cli.output`) and reports (`gpa.report.visible`) show the same characters as escapes and as codes.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_HIDING = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and newline: terminals obey them, XML forbids most
    # What reorders (CVE-2021-42574), and what Unicode calls ignorable by default: nothing of it is seen. Not among
    # these are selectors of variants, which say what the character before them looks like.
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
    "\ud800-\udfff\ufdd0-\ufdef\ufff0-\ufffb\ufffe\uffff"  # halves of characters, noncharacters, annotations
)
_JOINERS = "\u200c\u200d"
"""They hold emoji and the letters of some scripts together, and hide anywhere else."""
_JOINED = f"[^\x00-\x7f{_JOINERS}{_HIDING}]"
UNSEEN = re.compile(
    # One set at the beginning, and what is special about it behind: that is what `re` searches fast for.
    f"[{_HIDING}{_JOINERS}](?:(?<=\r)\n|(?<![{_JOINERS}])|(?!{_JOINED})|(?<!{_JOINED}[{_JOINERS}]))"
)
"""A character that hides, reorders or disturbs others, a joiner that joins nothing, or a line end of Windows."""


def plain(text: str) -> str:
    """The text without what XML, JSON readers or browsers choke on, hide, or obey; every line ends in a newline."""
    return text if text.isascii() and text.isprintable() else UNSEEN.sub(_left, text)


def one_line(text: str, limit: int, clean: Callable[[str], str] = plain) -> str:
    """The text, cleaned, on one line of at most `limit` characters; a cut ends in `…`."""
    # Only as much is looked at as can be shown. White space goes first, since a cleaner may show some of it as codes,
    # and once more, since what a cleaner drops may have stood between blanks.
    return _at_most(" ".join(clean(" ".join(text[: 8 * limit].split())).split()), limit)


def cut(text: str, limit: int) -> str:
    """At most `limit` characters of the text; a cut ends in `…`."""
    return _at_most(plain(text[: 2 * limit]), limit)


def _at_most(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _left(match: re.Match[str]) -> str:
    return "\n" if match[0] in {"\r\n", "\u2028", "\u2029"} else ""
