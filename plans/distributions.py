"""How the values of made-up users are distributed: read from a template, and told apart with everything wrong at once.

A distribution is `{"Gold": 0.2, "null": 0.8}`: weights of values, where a value may be `random_int(1, 6)`,
`random_float(0, 1)` or `random_date('2025-01-01', '2025-12-31')`, and `true`, `false`, `null` are those of JSON. Values
of other types stand in pairs, `[[359, 1], [360, 1]]`. `{"same_as": "order_id", "probability": 0.9}` copies another
field. The names are those of the package traxgen 0.1.5.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from math import isfinite
from random import Random
from typing import Any, TypeAlias

from msgspec import Struct

from gpa.errors import FormatError
from gpa.plans.located import Located, WorkflowError, found
from gpa.plans.references import Reference, parse, parts
from gpa.plans.users import SEQUENCE

_WORDS = {"true": True, "false": False, "null": None}
_NUMBER = r"\s*([+-]?\d+(?:\.\d+)?)\s*"
_DATE = r"\s*['\"](\d{4}-\d\d-\d\d)['\"]\s*"
_GENERATORS = {
    "random_int": re.compile(rf"random_int\({_NUMBER},{_NUMBER}\)"),
    "random_float": re.compile(rf"random_float\({_NUMBER},{_NUMBER}\)"),
    "random_date": re.compile(rf"random_date\({_DATE},{_DATE}\)"),
}

Draw: TypeAlias = Callable[[Random], Any]
"""From a source of chance to a value."""


class Field(Struct, frozen=True):
    """How the values of one field come about."""

    reference: Reference
    draw: Draw | None
    """None: only copied, or drawn as the field that it copies is."""
    same_as: Reference | None = None
    probability: float = 1.0


class Sequences(Struct, frozen=True):
    """Which workflows users go through."""

    draw: Draw
    exact: tuple[tuple[str, ...], ...] = ()
    """The sequence of each user, where the weights are whole numbers: that many users."""
    known: bool = True
    """Whether the template says anything about it."""


def read_template(template: Mapping[str, Any], file: str = "") -> tuple[list[Field], Sequences]:
    """The fields in the order to sample them, and the sequences; raises `WorkflowError` with all that is wrong."""
    errors: list[Located] = []
    fields: list[Field] = []
    sequences = Sequences(lambda _: (), known=False)
    known: set[Reference] = set()
    for name, value in template.items():
        try:
            if name == SEQUENCE:
                sequences = _sequences(value)
            else:
                known.add(parse(name))
                fields.append(_field(name, value))
        except FormatError as error:
            errors.append(Located(file=file, field=name, message=str(error)))
    for field in fields:
        for length in range(len(field.reference.keys)):
            if Reference(field.reference.name, field.reference.keys[:length]) in known:
                message = "a field above it has a distribution of its own: it cannot be a value and an object"
                errors.append(Located(file=file, field=str(field.reference), message=message))
        if field.same_as is not None and field.same_as not in known:
            message = f"same_as {field.same_as}: the template has no such field"
            errors.append(Located(file=file, field=str(field.reference), message=message))
    if errors:
        raise WorkflowError(errors)
    # Copies come last, and a field whose key is data comes after that data.
    fields.sort(key=lambda f: (f.same_as is not None, len(list(parts(f.reference))), str(f.reference)))
    return fields, sequences


def _field(name: str, value: Any) -> Field:
    reference = parse(name)
    same_as, probability = None, 1.0
    if isinstance(value, Mapping) and "same_as" in value:
        if not isinstance(value["same_as"], str):
            raise FormatError(f"same_as: expected a field, found {found(value['same_as'])}")
        same_as, probability = parse(value["same_as"]), value.get("probability", 1.0)
        if not is_number(probability) or not 0 <= probability <= 1:
            raise FormatError(f"probability: expected a number from 0 to 1, found {found(probability)}")
        value = {key: weight for key, weight in value.items() if key not in {"same_as", "probability"}}
        if not value:
            return Field(reference, None, same_as, probability)
    options = [(_option(value), weight) for value, weight in _weights(value)]
    return Field(reference, _chooser(options), same_as, probability)


def _sequences(value: Any) -> Sequences:
    options = []
    for names, weight in _weights(value):
        listed = names.split(",") if isinstance(names, str) else names
        if not isinstance(listed, list | tuple) or not all(isinstance(name, str) and name.strip() for name in listed):
            raise FormatError(f"expected names of workflows, found {found(names)}")
        options.append((tuple(name.strip() for name in listed), weight))
    whole = all(isinstance(weight, int) for _, weight in options)
    exact = tuple(names for names, weight in options for _ in range(int(weight))) if whole else ()
    return Sequences(_chooser([(_constant(names), weight) for names, weight in options]), exact)


def _weights(value: Any) -> list[tuple[Any, int | float]]:
    pairs = list(value.items()) if isinstance(value, Mapping) else value
    if not isinstance(pairs, list) or not pairs:
        raise FormatError(f"expected an object of values and weights, or pairs of them, found {found(value)}")
    for pair in pairs:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise FormatError(f"expected pairs of a value and its weight, found {found(pair)}")
        if not is_number(pair[1]) or pair[1] < 0:
            raise FormatError(f"weight of {found(pair[0])}: expected a number of 0 or more, found {found(pair[1])}")
    if not any(weight for _, weight in pairs):
        raise FormatError("all weights are 0")
    return [(option, weight) for option, weight in pairs]


def is_number(value: Any) -> bool:
    """Whether the value is a finite number, which true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _chooser(options: Sequence[tuple[Draw, float]]) -> Draw:
    draws, weights = [draw for draw, _ in options], [weight for _, weight in options]
    return lambda chance: chance.choices(draws, weights)[0](chance)


def _option(value: Any) -> Draw:
    if not isinstance(value, str):
        return _constant(value)
    generator = value.partition("(")[0]
    if generator in _GENERATORS:
        match = _GENERATORS[generator].fullmatch(value.strip())
        if match is None:
            raise FormatError(f"expected {generator}(from, to), found {found(value)}")
        return _generated(generator, match[1], match[2])
    return _constant(_WORDS.get(value.lower(), value))


def _constant(value: Any) -> Draw:
    return lambda _: value


def _generated(generator: str, low: str, high: str) -> Draw:
    try:
        if generator == "random_date":
            first, days = date.fromisoformat(low), (date.fromisoformat(high) - date.fromisoformat(low)).days
            _ordered(0, days, low, high)
            return lambda chance: (first + timedelta(days=chance.randint(0, days))).isoformat()
        if generator == "random_int":
            _ordered(int(low), int(high), low, high)
            return lambda chance: chance.randint(int(low), int(high))
    except ValueError as error:
        raise FormatError(f"{generator}({low}, {high}): {error}") from error
    _ordered(float(low), float(high), low, high)
    return lambda chance: round(chance.uniform(float(low), float(high)), 2)


def _ordered(first: float, last: float, low: str, high: str) -> None:
    if first > last:
        raise FormatError(f"expected a range from low to high, found {low} to {high}")


def distribution(values: Sequence[Any]) -> Any:
    """Equal weights; in pairs when a value is no text, or a text that would be read as something else."""
    if all(value is None or isinstance(value, bool) or (isinstance(value, str) and _plain(value)) for value in values):
        words = {True: "true", False: "false", None: "null"}
        return {value if isinstance(value, str) else words[value]: 1.0 for value in values}
    return [[value, 1.0] for value in values]


def _plain(text: str) -> bool:
    return text.lower() not in _WORDS and text.partition("(")[0] not in _GENERATORS
