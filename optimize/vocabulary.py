"""General vocabulary: the words that anybody may use of any run, so that they give nothing away about one.

`words.txt` has three lists: the words of the trade (agents, tools, judging), the common words of English, and the other
words of its dictionaries. An inflected or derived word is known by the word it comes from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import NamedTuple

PUBLIC_NUMBERS = frozenset({"100", "1000", "400", "401", "403", "404", "408", "409", "422", "429", "500", "502", "503"})
"""Round numbers and the status codes of HTTP."""

_SUFFIXES = (
    ("'s", ""), ("ies", "y"), ("ied", "y"), ("ier", "y"), ("iest", "y"), ("ily", "y"), ("iness", "y"), ("ness", ""),
    ("ments", ""), ("ment", ""), ("ions", ""), ("ion", ""), ("ions", "e"), ("ion", "e"), ("ations", "e"),
    ("ation", "e"), ("ations", ""), ("ation", ""), ("ably", "able"), ("ibly", "ible"), ("able", ""), ("able", "e"),
    ("fully", "ful"), ("ally", "al"), ("ally", ""), ("lessly", "less"), ("ly", ""), ("ers", ""), ("ers", "e"),
    ("er", ""), ("er", "e"), ("est", ""), ("est", "e"), ("ors", "e"), ("or", "e"), ("ings", ""), ("ing", ""),
    ("ings", "e"), ("ing", "e"), ("ed", ""), ("ed", "e"), ("es", ""), ("s", ""),
)  # fmt: skip
_PREFIXES = ("un", "re", "mis", "non", "pre", "sub", "over", "under", "multi", "inter", "in", "de", "dis", "self")
_DOUBLED = re.compile(r"([bdglmnprt])\1$")
_SHORTEST = 3
"""Letters a word has at least for another to be derived from it."""


class Words(NamedTuple):
    """The lists of `words.txt`."""

    common: frozenset[str]
    other: frozenset[str]


@cache
def words() -> Words:
    """The lists, read when first needed."""
    text = (files("gpa.optimize") / "words.txt").read_text(encoding="ascii")
    _, trade, common, other = re.split(r"^\[\w+\]$", text, flags=re.MULTILINE)
    return Words(frozenset(trade.split()) | frozenset(common.split()), frozenset(other.split()))


@cache
def is_common(word: str) -> bool:
    """Whether a word in lower case, or one that it comes from, is common English or of the trade."""
    common = words().common
    return any(form in common for form in forms(word))


@cache
def is_english(word: str) -> bool:
    """Whether a word in lower case, or one that it comes from, is in a dictionary of English."""
    common, other = words()
    return any(form in common or form in other for form in forms(word))


def forms(word: str) -> Iterator[str]:
    """The word, and everything it can be an inflection of or derived from: `retried` -> `retry`, `try`."""
    yield word
    bases = [word, *_without_suffix(word)]
    yield from bases[1:]
    for base in bases:
        for prefix in _PREFIXES:
            if base.startswith(prefix) and len(base) - len(prefix) >= _SHORTEST:
                rest = base.removeprefix(prefix).removeprefix("-")
                yield rest
                yield from _without_suffix(rest)


def _without_suffix(word: str) -> Iterator[str]:
    for suffix, ending in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) + len(ending) >= _SHORTEST:
            base = word.removesuffix(suffix) + ending
            yield base
            if not ending and _DOUBLED.search(base):
                yield base[:-1]
            if not ending and suffix != "'s":
                for again, other in (("s", ""), ("ing", ""), ("ing", "e"), ("ed", ""), ("ed", "e")):
                    if base.endswith(again) and len(base) - len(again) + len(other) >= _SHORTEST:
                        yield base.removesuffix(again) + other
