"""The parser of text that is nearly JSON: never raises over its input, notes every liberty it takes.

One descent over the text, a character at a time where something is wrong and by patterns elsewhere. What a container's
end, a quote or a comma must be is decided where they stand, from what could follow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, get_args

from msgspec import Struct

Reason = Literal[
    "bracket_mismatch",
    "hallucinated_code",
    "incorrect_format",
    "invalid_commas",
    "junk_between_brackets",
    "markdown_fences",
    "mismatched_quotes",
    "missing_commas",
    "null_literals",
    "single_quotes",
    "ellipses",
    "expression_in_quotes",
    "comments",
    "unquoted_words",
    "cut_off",
]
REASONS: tuple[Reason, ...] = get_args(Reason)

_MAX_DEPTH = 100
_LITERALS: dict[str, Any] = {"true": True, "false": False, "null": None}
_PYTHON: dict[str, Any] = {
    "True": True,
    "False": False,
    "None": None,
    "NULL": None,
    "Null": None,
    "nil": None,
    "undefined": None,
    "NaN": None,
    "nan": None,
    "TRUE": True,
    "FALSE": False,
}
_NUMBER = re.compile(r"[-+]?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?![\w.$])")
NAME = re.compile(r"[^\W\d][\w.\-]*(?=\s*\()")
_BLANK = re.compile(r"\s*")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)|\#(?![A-Za-z]+\d)[^\n]*", re.DOTALL)
_ELLIPSIS = re.compile(r"\.{3,}|…")
_REFERENCE = re.compile(r"\(\s*(?:query|(?:(?:tool|sub-query|step)\s+)?\d+(?:\s*,\s*\d+)*)\s*\)", re.IGNORECASE)
"""`(query)`, `(1)`, `(tool 1)`, `(sub-query 1)`, and the malformed `(1, 2)`: placeholders, not Python tuples."""
_KEY = re.compile(r"[^\s:=,{}\[\]\"']+(?:[ \t]+[^\s:=,{}\[\]\"']+)*(?=\s*[:=])")
_KEYWORD = re.compile(r"([^\W\d]\w*)\s*[=:](?!=)\s*")
_COMMA = re.compile(r"\s*,")
_WORD = re.compile(r"[^,\n\]})]*")
_LOW_HALF = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_QUOTES = {'"': '"', "'": "'", "“": "”", "”": "”", "’": "’", "`": "`"}
_CLOSERS = {"{": "}", "[": "]", "(": ")"}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\n": ""}


class Repair(Struct, frozen=True):
    """One liberty taken with the text."""

    reason: Reason
    line: int
    """Counted from 1."""


class BareCall(Struct, frozen=True):
    """A call written as code where JSON wants a value: `search("x", limit=3)`."""

    name: str
    positional: tuple[Any, ...]
    named: dict[str, Any]
    text: str
    """As written."""


class Parser:
    """A tolerant descent over `text[at:stop]`; every method leaves `at` behind what it read."""

    def __init__(self, text: str, at: int, stop: int) -> None:
        self.text = text
        self.at = at
        self.stop = stop
        self.repairs: list[Repair] = []
        self.cut_at: tuple[str | int, ...] = ()
        self._open: list[str] = []
        self._counted = (0, 1)

    def repair(self, reason: Reason, at: int | None = None) -> None:
        """Note a liberty taken here, or at `at`."""
        self.repairs.append(Repair(reason, self._line(self.at if at is None else at)))

    def value(self, path: tuple[str | int, ...]) -> Any:
        """The value that begins here."""
        self.skip()
        character = self.peek()
        if character == "{":
            return self._object(path)
        if character == "[":
            return self._list(path)
        if character == "(":
            placeholder = _REFERENCE.match(self.text, self.at, self.stop)
            if placeholder:
                self.at = placeholder.end()
                return placeholder[0]
            self.repair("incorrect_format")
            return self._list(path)
        if character in _QUOTES:
            return self._string(path)
        return self._word(path)

    def peek(self) -> str:
        """The character that comes next, empty at the end."""
        return self.text[self.at] if self.at < self.stop else ""

    def skip(self) -> None:
        """Move over white space and comments."""
        while True:
            self.at = min(_after_blanks(self.text, self.at), self.stop)
            comment = _COMMENT.match(self.text, self.at, self.stop)
            if comment is None or not comment[0]:
                return
            self.repair("comments")
            self.at = comment.end()

    def _object(self, path: tuple[str | int, ...]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for _ in self._elements("{", path):
            key = self._key(path)
            if key is None:
                continue
            self.skip()
            if self.peek() in {":", "="}:
                if self.peek() == "=":
                    self.repair("incorrect_format")
                self.at += 2 if self.text.startswith("=>", self.at) else 1
                found[key] = self.value((*path, key))
            elif self.peek():
                self.repair("incorrect_format")
                found.setdefault(key, None)
        return found

    def _list(self, path: tuple[str | int, ...]) -> list[Any]:
        found: list[Any] = []
        for _ in self._elements(self.peek(), path):
            found.append(self.value((*path, len(found))))
        return found

    def _elements(self, opener: str, path: tuple[str | int, ...]) -> Iterator[None]:
        """Stops at each element of the container that begins here, and behind its end."""
        closer = _CLOSERS[opener]
        self.at += 1
        self._open.append(closer)
        # Whether a comma stands between the last element and here; the first element needs none.
        separated, first = True, True
        while True:
            self.skip()
            character = self.peek()
            if not character or len(self._open) > _MAX_DEPTH:
                self._ends(path)
                break
            if character == closer:
                if separated and not first:
                    self.repair("invalid_commas")
                self.at += 1
                break
            if character in "]})":
                self.repair("bracket_mismatch")
                if character in self._open[:-1]:
                    break  # it closes a container around this one, which was never closed
                self.at += 1
            elif character in ",;":
                if separated:
                    self.repair("invalid_commas")
                separated = True
                self.at += 1
            elif ellipsis := _ELLIPSIS.match(self.text, self.at, self.stop):
                self.repair("ellipses")
                comma = _COMMA.match(self.text, ellipsis.end(), self.stop)
                self.at, separated, first = comma.end() if comma else ellipsis.end(), True, True
            else:
                if not separated:
                    self.repair("missing_commas")
                before = self.at
                yield
                separated = first = False
                if self.at == before:
                    self.repair("junk_between_brackets")
                    self.at += 1
        self._open.pop()

    def _ends(self, path: tuple[str | int, ...]) -> None:
        """Note that the text ends inside a container; the innermost one tells where."""
        if not self.cut_at and self.at >= self.stop:
            self.cut_at = path or ("",)
            self.repair("cut_off")
        elif len(self._open) > _MAX_DEPTH:
            self.repair("bracket_mismatch")
            self.at = self.stop

    def _key(self, path: tuple[str | int, ...]) -> str | None:
        character = self.peek()
        if character in _QUOTES:
            return self._string(path, key=True)
        match = _KEY.match(self.text, self.at, self.stop)
        if match is None:
            value = self.value(path)
            self.repair("junk_between_brackets")
            return None if isinstance(value, dict | list) else str(value)
        self.at = match.end()
        self.repair("unquoted_words")
        return match[0]

    def _string(self, path: tuple[str | int, ...], *, key: bool = False) -> str:
        """The quoted text that begins here; a quote that cannot be its end belongs to it."""
        opener = self.text[self.at]
        closer = _QUOTES[opener]
        if opener in "'`":
            self.repair("single_quotes")
        elif opener != '"':
            self.repair("mismatched_quotes")
        triple = opener * 3 if self.text.startswith(opener * 3, self.at) else ""
        self.at += len(triple) or 1
        pieces: list[str] = []
        brackets = 0
        while self.at < self.stop:
            character = self.text[self.at]
            brackets += (character == "[") - (character == "]")
            if character == "\\" and self.at + 1 < self.stop:
                pieces.append(self._escape())
            elif triple and self.text.startswith(triple, self.at):
                self.at += 3
                return "".join(pieces)
            elif not triple and character == closer and self._closes(brackets, key=key):
                self.at += 1
                return "".join(pieces)
            else:
                if character == closer and not triple:
                    self.repair("mismatched_quotes")
                pieces.append(character)
                self.at += 1
        if not self.cut_at:
            self.cut_at = path or ("",)
        self.repair("cut_off")
        return "".join(pieces)

    def _closes(self, brackets: int, *, key: bool) -> bool:
        """Whether the quote here ends its text: what follows could follow a text, and no bracket of it is open."""
        after = _after_blanks(self.text, self.at + 1)
        following = self.text[after] if after < self.stop else ""
        between = self.text[self.at + 1 : after]
        if not following:
            return True
        if key:
            return following in ":=,}"
        if following == "]" and brackets > 0:
            self.repair("expression_in_quotes")
            return False
        if following in ",]})" or "\n" in between:
            return True
        if following == ":":
            return True
        if following in {"/", "#"}:
            return bool(_COMMENT.match(self.text, after))
        return bool(between) and following in "\"'{["

    def _escape(self) -> str:
        """The character behind the backslash here."""
        letter = self.text[self.at + 1]
        self.at += 2
        if letter == "u":
            digits = self.text[self.at : self.at + 4]
            if re.fullmatch(r"[0-9a-fA-F]{4}", digits):
                self.at += 4
                high = chr(int(digits, 16))
                low = _LOW_HALF.match(self.text, self.at, self.stop)
                if "\ud800" <= high <= "\udbff" and low:
                    self.at = low.end()
                    return (high + chr(int(low[1], 16))).encode("utf-16", "surrogatepass").decode("utf-16")
                return high.encode("utf-8", "replace").decode()
        return _ESCAPES.get(letter, letter)

    def _word(self, path: tuple[str | int, ...]) -> Any:
        """A number, a literal, a call, or text without quotes."""
        number = _NUMBER.match(self.text, self.at, self.stop)
        if number and self._delimited(number.end()):
            self.at = number.end()
            return _number(number[0])
        name = NAME.match(self.text, self.at, self.stop)
        if name:
            return self._call(name[0], path)
        match = _WORD.match(self.text, self.at, self.stop)
        assert match is not None
        word = match[0].strip()
        self.at = match.end()
        if word in _LITERALS:
            return _LITERALS[word]
        if word in _PYTHON:
            self.repair("null_literals")
            return _PYTHON[word]
        if word:
            self.repair("unquoted_words")
        return word or None

    def _delimited(self, end: int) -> bool:
        after = _after_blanks(self.text, end)
        return after >= self.stop or self.text[after] in ",]}):;/#" or "\n" in self.text[end:after]

    def _call(self, name: str, path: tuple[str | int, ...]) -> BareCall:
        start = self.at
        self.at = self.text.index("(", self.at + len(name))
        positional: list[Any] = []
        named: dict[str, Any] = {}
        for _ in self._elements("(", path):
            match = _KEYWORD.match(self.text, self.at, self.stop)
            if match:
                self.at = match.end()
                named[match[1]] = self.value(path)
            else:
                positional.append(self.value(path))
        return BareCall(name, tuple(positional), named, self.text[start : self.at])

    def _line(self, at: int) -> int:
        """The number of the line; counted on from the last one asked for, so that many repairs cost one pass."""
        known_at, known = self._counted
        line = known + (self.text.count("\n", known_at, at) if at >= known_at else -self.text.count("\n", at, known_at))
        self._counted = (at, line)
        return line


def _after_blanks(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _number(text: str) -> int | float:
    plain = text.replace("_", "")
    try:
        return int(plain) if len(plain) < 400 else float(plain)
    except ValueError:
        return float(plain)
