"""What can be taken for a step label: `[s12]`, and everything that a reader or a model may see as one.

Labels are how a judge points at a step, so text that was recorded must not be able to hold one: not with blanks,
control or invisible characters inside, not with other brackets, digits or another letter that looks like an s.
"""

from __future__ import annotations

import re

_BLANK = r"\s\x00-\x1a\x1c-\x20\x7f-\x9f"
_INVISIBLE = (
    # Soft hyphen, joiners, fillers, direction marks, variation selectors, tags, halves of
    # surrogate pairs, marks that combine with a letter.
    r"\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    r"\u2028-\u202e\u2060-\u206f\u2800\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff9-\uffff\U000e0000-\U000e0fff"
    r"\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
)
_RARE = (
    "\u2045\u2308\u230a\u23a1\u23a3\u2772\u27ec\u298b\u298d\u298f"
    "\u2997\u3010\u3014\u3016\u3018\u301a\ufe39\ufe3b\ufe47\ufe5d\uff3b"
)
"""Opening brackets beside the ASCII one."""
_OPENING = rf"\[{_RARE}"
_CLOSING = (
    r"\]\u2046\u2309\u230b\u23a4\u23a6\u2773\u27ed\u298c\u298e\u2990\u2998\u3011\u3015\u3017\u3019\u301b"
    r"\ufe3a\ufe3c\ufe48\ufe5e\uff3d"
)
_LETTER = (
    # Latin, its small capital, long, modifier and subscript forms; Cyrillic, Armenian, Cherokee, Lisu; full width,
    # circled and parenthesised, mathematical alphabets (which hold s at distances of 26), regional indicator.
    r"sS\u015a-\u0161\u017f\u0218\u0219\u1e60-\u1e69\u0282\u02e2\u209b\ua731\u0405\u0455\u054f\u13da\u13d5\uab7a\uabaa\ua4e2"
    r"\uff33\uff53\u24c8\u24e2\u24ae"
    + "".join(rf"\U{0x1D400 + 26 * alphabet + 18:08x}" for alphabet in range(26))
    + r"\U0001f122\U0001f142\U0001f162\U0001f182\U0001f1f8"
)
_DIGIT = (
    r"\d\u00b2\u00b3\u00b9\u2070-\u2079\u2080-\u2089\u2460-\u249b\u24ea-\u24ff\u2776-\u2793\u3251-\u325f"
    r"\u32b1-\u32bf\U0001f100-\U0001f10a"
)
_ESCAPE = r"\x1b(?:\[[0-9;?]{0,16}[A-Za-z])?"
"""A terminal's colour sequence, or what is left of one."""


def _label(opening: str, between: str, letter: str, digit: str, closing: str) -> re.Pattern[str]:
    # Possessive: what was taken for a gap is never tried as anything else, and the escape sequences in it are bounded,
    # since each holds a bracket of its own: no text takes more than linear time. `neutral` sees to longer runs of them.
    def run(characters: str) -> str:
        return rf"[{characters}]*+(?:{_ESCAPE}[{characters}]*+){{0,32}}"

    gap = run(between)
    return re.compile(rf"[{opening}]({gap}[{letter}]{gap}[{digit}]{run(digit + between)})[{closing}]")


_PLAIN = _label(r"\[", _BLANK, "sS", "0-9", r"\]")
_ANY = _label(_OPENING, _BLANK + _INVISIBLE, _LETTER, _DIGIT, _CLOSING)
_SEQUENCE = re.compile(_ESCAPE)
_ANY_IN_ASCII_BRACKET = _label(r"\[", _BLANK + _INVISIBLE, _LETTER, _DIGIT, _CLOSING)


def neutral(text: str) -> str:
    """The text with anything that looks like a step label made to look different: `[s12]` becomes `⟦s12⟧`.

    A label hidden in more escape sequences than anybody has a use for makes all of the text's visible (`␛`).
    """
    text = _other_brackets(text)
    if "\x1b" in text and _ANY.search(_SEQUENCE.sub("", text)):
        return text.replace("\x1b", "␛")
    return text


def _other_brackets(text: str) -> str:
    if text.isascii():
        return _PLAIN.sub(r"⟦\1⟧", text) if "[" in text else text
    # Looking for each rare bracket by itself and then for the one that begins with a fixed character is four times
    # faster than one search for any of them, and this runs over megabytes.
    if any(bracket in text for bracket in _RARE):
        return _ANY.sub(r"⟦\1⟧", text)
    return _ANY_IN_ASCII_BRACKET.sub(r"⟦\1⟧", text) if "[" in text else text
