"""Where the values in the arguments of calls came from: the first call whose result holds a value not known before.

A value came from a result that is equal to it or has it as a part, or when text (from four characters on) of one stands
inside the other. It was known when it stands in what the agent had at first, or in the arguments of an earlier call.

Each text is read once for all values (`gpa.plans.needles`): the time a run takes grows with its texts, not with its
values times its texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate, chain
from typing import Any

import msgspec

from gpa.ingest.tool_calls import ToolCall
from gpa.plans.needles import Needles

MIN_FLOWING = 4
"""Characters from which text inside other text is taken to have come from there."""
_MAX_TEXT = 100_000
"""Characters of a result that are searched."""
_MAX_PARTS = 2_000
"""Parts of a structured value that are looked at."""
_MAX_PART = 400
"""Characters of a part of a result that may stand inside an argument."""


def sources(calls: Sequence[ToolCall], arguments: Sequence[Any], known: str = "") -> list[tuple[int, ...]]:
    """For each call the numbers of the earlier calls that its values came from, each once.

    Args:
        calls: In the order they were made.
        arguments: Of each call.
        known: Text the agent had before its first call: values in it came from no call.
    """
    values = [tuple(dict.fromkeys(_values(one))) for one in arguments]
    every = dict.fromkeys(chain.from_iterable(values))
    wanted = Needles(value for value in every if len(value) >= MIN_FLOWING)
    parts, holders = _Givers(calls), _Givers(calls)
    for number, call in enumerate(calls):
        result = "" if call.error else call.result[:_MAX_TEXT]
        parts.add(number, _parts(result))
        holders.add(number, wanted.first_in(result))
    embedded = Needles(part for part in parts.given if MIN_FLOWING <= len(part) <= _MAX_PART)
    inside = {value: tuple(embedded.first_in(value)) if len(value) > MIN_FLOWING else () for value in every}
    said = _Said([known, *(call.key[:_MAX_TEXT] for call in calls)], chain(every, *inside.values()))

    def source(value: str, at: int) -> int | None:
        givers = [parts.first(value, at), holders.first(value, at)]
        givers += [parts.first(part, at) for part in inside[value] if not said.holds(part, at)]
        return min((number for number in givers if number is not None), default=None)

    found = []
    for at, some in enumerate(values):
        numbers = (source(value, at) for value in some if not said.mentions(value, at))
        found.append(tuple(dict.fromkeys(number for number in numbers if number is not None)))
    return found


class _Givers:
    """The first calls that gave a text, as far as they can matter."""

    def __init__(self, calls: Sequence[ToolCall]) -> None:
        self._calls = calls
        self.given: dict[str, list[int]] = {}
        """Text -> the first call that gave it, and the first one that another model output asked for."""

    def add(self, number: int, texts: Iterable[str]) -> None:
        """The call gave the texts; calls come in order."""
        for text in texts:
            numbers = self.given.get(text)
            if numbers is None:
                self.given[text] = [number]
            elif len(numbers) == 1 and self._calls[numbers[0]].asked != self._calls[number].asked:
                numbers.append(number)

    def first(self, text: str, at: int) -> int | None:
        """The first call before this one that gave the text.

        Arguments of one model output were all written before any of their results was there.
        """
        asked = self._calls[at].asked
        earlier = (number for number in self.given.get(text, ()) if number < at)
        return next((number for number in earlier if not asked or self._calls[number].asked != asked), None)


class _Said:
    """What was known before each call: the text at first, then the arguments of the calls."""

    def __init__(self, texts: Sequence[str], values: Iterable[str]) -> None:
        self._text = " " + "\n".join(texts)
        self._ends = tuple(accumulate(len(text) + 1 for text in texts))
        """For each call where in the text ends what was known before it."""
        needles = ((value,) if len(value) >= MIN_FLOWING else _as_words(value) for value in values)
        self._places = Needles(chain.from_iterable(needles)).first_in(self._text)

    def holds(self, text: str, at: int) -> bool:
        """Whether the text was there before the call."""
        place = self._places.get(text)
        return place is not None and place + len(text) <= self._ends[at]

    def mentions(self, value: str, at: int) -> bool:
        """Whether the value was: a short one as a word, for `5` is not in `15`."""
        if len(value) >= MIN_FLOWING:
            return self.holds(value, at)
        last = self._text.endswith(f" {value}", 0, self._ends[at])
        return last or any(self.holds(one, at) for one in _as_words(value))


def _as_words(value: str) -> tuple[str, ...]:
    return f" {value} ", f'"{value}"', f":{value}"


def _parts(result: str) -> set[str]:
    """The result and, when it is JSON, every value in it, as text."""
    parts = {result.strip()} - {""}
    if result.lstrip()[:1] in {"{", "["}:
        with suppress(msgspec.MsgspecError, RecursionError):
            parts.update(_values(msgspec.json.decode(result)))
    return parts


def _values(value: Any) -> Iterator[str]:
    """Every text and number in a value, as text, without those that say nothing (true, null, one character)."""
    waiting = [value]
    seen = 0
    while waiting and seen < _MAX_PARTS:
        one = waiting.pop()
        seen += 1
        if isinstance(one, dict):
            waiting.extend(reversed(one.values()))
        elif isinstance(one, list | tuple):
            waiting.extend(reversed(one))
        elif isinstance(one, str | int | float) and not isinstance(one, bool):
            text = str(one).strip()
            if len(text) > 1:
                yield text
