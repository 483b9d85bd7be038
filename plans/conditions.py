"""When a rule of a workflow applies: operators, and clauses that combine them, over values of a user's data.

Deviations from the public package traxgen 0.1.5 are marked; `Comparing` brings back those that can be defended.
"""

from __future__ import annotations

import operator as python
import re
from collections.abc import Callable, Container, Iterator, Sequence
from typing import Any, TypeAlias

from msgspec import UNSET, Struct

from gpa.plans.references import Reference

ORDERINGS: dict[str, Callable[[Any, Any], bool]] = {
    "<": python.lt,
    "<=": python.le,
    ">": python.gt,
    ">=": python.ge,
}
_ALIKE = {"==": python.eq, "!=": python.ne, "not": python.ne, **ORDERINGS}
_SCALARS = (str, int, float, bool)
OPERATORS = ("==", "!=", "not", *ORDERINGS, "in", "not in", "contains", "not contains")
"""`not` is another way to write `!=`."""

_NUMBER = re.compile(r"\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?\s*")
_LONGEST = 300


class Comparing(Struct, frozen=True):
    """How values of different types compare."""

    coerce: bool = True
    """`"5"` equals 5 and `"true"` equals true: data that went through forms and tables is often text."""
    null_differs: bool = True
    """null != "x" holds, as in Python. The package says no: there null fits `== null` and lists alone."""


class Comparison(Struct, frozen=True):
    """`field operator value`, or `field operator` the value of another field."""

    field: Reference
    operator: str
    value: Any = None
    compare_to: Reference | None = None

    def __str__(self) -> str:
        expected = self.compare_to if self.compare_to is not None else _json(self.value)
        return f"{self.field} {self.operator} {expected}"


class AllOf(Struct, frozen=True):
    """Every clause holds; true when there is none."""

    clauses: tuple[Clause, ...]

    def __str__(self) -> str:
        return _joined(self.clauses, " and ") or "always"


class AnyOf(Struct, frozen=True):
    """At least one clause holds; false when there is none."""

    clauses: tuple[Clause, ...]

    def __str__(self) -> str:
        return _joined(self.clauses, " or ") or "never"


Clause: TypeAlias = Comparison | AllOf | AnyOf
Test: TypeAlias = Callable[[Sequence[Any]], bool]
"""From the values of all references of a workflow to whether the clause holds."""


def comparisons(clause: Clause) -> Iterator[Comparison]:
    """The comparisons in a clause, in order."""
    if isinstance(clause, Comparison):
        yield clause
    else:
        for part in clause.clauses:
            yield from comparisons(part)


def bound(clause: Clause, slots: dict[Reference, int], comparing: Comparing) -> Test:
    """The clause as a function of the values, which stand where `slots` says."""
    if isinstance(clause, Comparison):
        return _bound_comparison(clause, slots, comparing)
    tests = tuple(bound(part, slots, comparing) for part in clause.clauses)
    if isinstance(clause, AllOf):
        return tests[0] if len(tests) == 1 else lambda values: all(test(values) for test in tests)
    return lambda values: any(test(values) for test in tests)


def compare(actual: Any, operator: str, expected: Any, comparing: Comparing | None = None) -> bool:
    """Whether the comparison holds. Never raises: what cannot be compared is unequal and in no order."""
    comparing = comparing or Comparing()
    if operator in {"in", "contains"}:
        return _within(actual, expected) if operator == "in" else _within(expected, actual)
    if operator in {"not in", "not contains"}:
        return not compare(actual, operator.removeprefix("not "), expected, comparing)
    if actual is None and expected is not None and not comparing.null_differs:
        return False
    if operator == "==":
        return _equal(actual, expected, comparing.coerce)
    if operator in ORDERINGS:
        return _ordered(actual, ORDERINGS[operator], expected, comparing.coerce)
    return not _equal(actual, expected, comparing.coerce)


def _bound_comparison(clause: Comparison, slots: dict[Reference, int], comparing: Comparing) -> Test:
    left, operator, expected = slots[clause.field], clause.operator, clause.value
    if clause.compare_to is not None:
        right = slots[clause.compare_to]
        return lambda values: compare(_given(values[left]), operator, _given(values[right]), comparing)
    alike = _ALIKE.get(operator)
    if alike is not None and type(expected) in _SCALARS:
        kind = type(expected)

        def quick(values: Sequence[Any]) -> bool:
            actual = values[left]
            if type(actual) is kind:  # no coercion and no null: what the workflow's author had in mind
                return bool(alike(actual, expected))
            return compare(_given(actual), operator, expected, comparing)

        return quick
    return lambda values: compare(_given(values[left]), operator, expected, comparing)


def _given(value: Any) -> Any:
    return None if value is UNSET else value


def _within(value: Any, container: Any) -> bool:
    if not isinstance(container, Container):
        return False
    try:
        return value in container
    except TypeError:  # a number in a text, an array among the keys of an object
        return False


def _equal(actual: Any, expected: Any, coerce: bool) -> bool:
    if actual == expected:
        return True
    if not coerce or isinstance(actual, str) == isinstance(expected, str):
        return False
    text, other = (actual, expected) if isinstance(actual, str) else (expected, actual)
    if isinstance(other, bool):
        # The package takes bool("false"), which is true.
        return bool(text.strip().lower() == ("true" if other else "false"))
    return isinstance(other, int | float) and _number(text) == other


def _ordered(actual: Any, holds: Callable[[Any, Any], bool], expected: Any, coerce: bool) -> bool:
    if actual is None or expected is None:
        return False
    if coerce and isinstance(actual, str) != isinstance(expected, str):
        # Numbers compare as numbers even when one is written as text; the package compares "10" and "9" by letters.
        actual = _number(actual) if isinstance(actual, str) else actual
        expected = _number(expected) if isinstance(expected, str) else expected
    try:
        return bool(holds(actual, expected))
    except TypeError:
        return False


def _number(text: str) -> int | float | None:
    if len(text) > _LONGEST or _NUMBER.fullmatch(text) is None:
        return None
    try:
        return int(text)
    except ValueError:
        return float(text)


def _joined(clauses: Sequence[Clause], word: str) -> str:
    """The clauses with the word between them; what has words of its own stands in parentheses."""
    alone = len(clauses) == 1
    return word.join(str(part) if alone or isinstance(part, Comparison) else f"({part})" for part in clauses)


def _json(value: Any) -> str:
    import msgspec

    return msgspec.json.encode(value).decode()
