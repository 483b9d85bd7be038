"""Numbers as texts write them, and which of them say the same.

One value has many notations: separators (1,234.50 and 1.234,50), a scale (0.29 million), fewer digits, another unit
(53.6 F for 12 C), a span of time for two times of day. `Given` holds what a text says and knows it again in another
notation, as a share or as a sum or mean of figures that follow one another.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from math import isfinite
from typing import NamedTuple

_SEPARATOR = r"[.,'’\u00a0\u202f\u2009]"
_FIGURE = re.compile(rf"(?<![\w.,/:-])\d++(?:{_SEPARATOR}\d++)*+(?![\w/:-])")
"""A number that stands for itself: no part of a date, a time, a version or an identifier. Never gives back a digit."""
_ANY = re.compile(rf"\d+(?:{_SEPARATOR}\d+)*")
_SPLIT = re.compile(_SEPARATOR)
_AFTER = re.compile(r"[\s-]?(°?[^\W\d_]+(?:/[^\W\d_]+)?)")
_TIME = re.compile(r"(?<![\d:])([01]?\d|2[0-3]):([0-5]\d)(?!\d)")
_SCALES = {
    **dict.fromkeys(("k", "thousand", "tausend"), 1e3),
    **dict.fromkeys(("m", "mn", "mio", "million", "millions", "millionen"), 1e6),
    **dict.fromkeys(("b", "bn", "mrd", "billion", "billions", "milliarden"), 1e9),
    **dict.fromkeys(("tn", "trillion", "trillions"), 1e12),
}
_UNITS: dict[str, tuple[str, float, float]] = {
    name: (kind, factor, offset)
    for kind, names, factor, offset in (
        ("length", "mm millimetre millimetres millimeters", 0.001, 0.0),
        ("length", "cm centimetre centimetres centimeters", 0.01, 0.0),
        ("length", "m metre metres meter meters", 1.0, 0.0),
        ("length", "km kilometre kilometres kilometer kilometers", 1_000.0, 0.0),
        ("length", "inch inches", 0.0254, 0.0),
        ("length", "ft foot feet", 0.3048, 0.0),
        ("length", "mi mile miles", 1_609.344, 0.0),
        ("mass", "g gram grams", 0.001, 0.0),
        ("mass", "kg kilo kilos kilogram kilograms", 1.0, 0.0),
        ("mass", "oz ounce ounces", 0.028349523, 0.0),
        ("mass", "lb lbs pound pounds", 0.45359237, 0.0),
        ("speed", "m/s", 1.0, 0.0),
        ("speed", "km/h kph", 1 / 3.6, 0.0),
        ("speed", "mph", 0.44704, 0.0),
        ("time", "s sec second seconds", 1.0, 0.0),
        ("time", "min mins minute minutes", 60.0, 0.0),
        ("time", "h hr hrs hour hours", 3_600.0, 0.0),
        ("time", "day days", 86_400.0, 0.0),
        ("temperature", "c °c celsius", 1.0, 0.0),
        ("temperature", "f °f fahrenheit", 5 / 9, -160 / 9),
    )
    for name in names.split()
}
"""Per unit what it measures, and factor and offset to that measure's first unit."""
_MAX_SUMMED, _MAX_TERMS, _MAX_TIMES = 200, 12, 40
_TOLERANCE = 0.006
_MAX_DIGITS = 300


_Readings = tuple[tuple[float, float], ...]
_Measure = tuple[str, float, float]


class Figure(NamedTuple):
    """A number as it is written."""

    written: str
    readings: _Readings
    """What it may say, the likeliest first: a value, and what one of its last digit shown is worth."""
    measure: _Measure | None
    """What it measures where a unit follows: the kind, and value and last digit in the first unit of that kind."""


def figures(text: str) -> Iterator[Figure]:
    """The numbers of two digits and more that a text states."""
    for match in _FIGURE.finditer(text):
        if sum(sign.isdigit() for sign in match[0][:8]) > 1 and (read := _figure(text, match)) is not None:
            yield read


def values(text: str) -> Iterator[float]:
    """Every number of a text, as it is most likely read."""
    return (readings[0][0] for readings, _ in _all(text))


class Given:
    """The numbers of a text, made to be found again in another notation."""

    def __init__(self, text: str, *, means: bool = False) -> None:
        read = list(_all(text))
        told = [readings[0][0] for readings, _ in read]
        self._told = sorted({value for readings, _ in read for value, _ in readings})
        self._sums, averages = _sums_and_means(told[-_MAX_SUMMED:])
        self._means = sorted(averages) if means else []
        measures: defaultdict[str, set[float]] = defaultdict(set, {"time": set(_spans(text))})
        for _, measure in read:
            if measure is not None:
                measures[measure[0]].add(measure[1])
        self._measures = {kind: sorted(found) for kind, found in measures.items()}

    def holds(self, figure: Figure) -> bool:
        """Whether the text says what the figure says, in whatever notation."""
        return any(self._says(value, digit) for value, digit in figure.readings) or self._measures_as(figure)

    def knows(self, value: float) -> bool:
        """Whether a value stands in the text or is a sum of values there."""
        return _near(self._told, value, 1e-9) or round(value, 2) in self._sums

    def _says(self, value: float, digit: float) -> bool:
        return (
            _near(self._told, value, digit / 2)
            or _near(self._told, value * 100, 1e-9)
            or round(value, 2) in self._sums
            or _near(self._means, value, digit / 2 if digit < 1 else 1e-9)
        )

    def _measures_as(self, figure: Figure) -> bool:
        if figure.measure is None:
            return False
        kind, value, digit = figure.measure
        return _near(self._measures.get(kind, []), value, max(digit / 2, abs(value) * _TOLERANCE))


def derived(figure: Figure, others: list[float], given: Given) -> bool:
    """Whether a figure is the result of one operation on two of the others, at least one of them given."""
    value = figure.readings[0][0]
    near = max(abs(value) * _TOLERANCE, 0.006)
    known = {other: given.knows(other) for other in others if other != value}
    for one, other in product(known, repeat=2):
        if known[one] or known[other]:
            quotient = one / other if other else 0.0
            results = (one + other, one - other, one * other, quotient, 100 * quotient)
            if any(abs(value - result) <= near for result in results):
                return True
    return False


def _all(text: str) -> Iterator[tuple[_Readings, _Measure | None]]:
    """What every number of a text says; those of a date, a version or a list also one by one."""
    for match in _ANY.finditer(text):
        figure = _figure(text, match)
        if figure is not None:
            yield figure.readings, figure.measure
        if figure is None or ("," in match[0] and figure.readings[0][1] < 1):
            yield from ((((float(part), 1.0),), None) for part in _SPLIT.split(match[0]) if len(part) < _MAX_DIGITS)


def _figure(text: str, match: re.Match[str]) -> Figure | None:
    """What a number says, or nothing where its separators are those of a date, a version or a list."""
    if match.end() - match.start() > _MAX_DIGITS:
        return None
    after = _AFTER.match(text, match.end(), match.end() + 24)
    word = after[1].lower() if after else ""
    return _read(match[0], word if word in _SCALES or word in _UNITS else "")


@lru_cache(maxsize=4_096)
def _read(number: str, word: str) -> Figure | None:
    """What a number says with the scale or unit that follows it; remembered, as texts are full of the same ones."""
    readings = ((float(number), 1.0),) if number.isdigit() else tuple(_readings(number))
    if not readings:
        return None
    measure = None
    if word in _UNITS:
        kind, factor, offset = _UNITS[word]
        value, digit = readings[0]
        measure = kind, value * factor + offset, digit * factor
    if word in _SCALES:
        readings = (*((value * _SCALES[word], digit * _SCALES[word]) for value, digit in readings), *readings)
    return Figure(number, readings, measure)


def _readings(number: str) -> Iterator[tuple[float, float]]:
    """What a number may say, the likeliest first: 1,234 is more often a thousand, 1.234 more often one and a bit."""
    parts = _SPLIT.split(number)
    signs = [sign for sign in number if not sign.isdigit()]
    found = []
    if len(set(signs)) < 2 and all(len(part) == 3 for part in parts[1:]):
        found.append((float("".join(parts)), 1.0))
    if signs and signs[-1] in ".," and signs[-1] not in signs[:-1] and all(len(part) == 3 for part in parts[1:-1]):
        found.append((float(f"{''.join(parts[:-1])}.{parts[-1]}"), 10.0 ** -len(parts[-1])))
    yield from reversed(found) if signs == ["."] else found


def _sums_and_means(numbers: list[float]) -> tuple[set[float], set[float]]:
    """Sums and means of every run of numbers, one after the other or every second or third (amounts with dates)."""
    sums: set[float] = set()
    means: set[float] = set()
    for stride, start in product((1, 2, 3), range(len(numbers))):
        total = 0.0
        for count, number in enumerate(numbers[start : start + stride * _MAX_TERMS : stride], 1):
            total += number
            if isfinite(total):
                sums.add(round(total, 2))
                means.add(total / count)
    return sums, means


def _spans(text: str) -> Iterator[float]:
    """The seconds from one time of day to a later one of the same text."""
    times = [int(match[1]) * 60 + int(match[2]) for match in _TIME.finditer(text)][-_MAX_TIMES:]
    for number, start in enumerate(times):
        yield from ((end - start) % 1_440 * 60.0 for end in times[number + 1 :])


def _near(found: list[float], value: float, tolerance: float) -> bool:
    at = bisect_left(found, value - tolerance - 1e-9)
    return at < len(found) and found[at] <= value + tolerance + 1e-9
