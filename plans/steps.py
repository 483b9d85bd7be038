"""A step of a workflow as it is written: `tool(parameter = reference, ...) -> [output, ...]`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from msgspec import Struct

from gpa.errors import FormatError
from gpa.plans.located import found
from gpa.plans.references import Reference, parse

_HEAD = re.compile(r"\s*([^\s()\[\]{}=,'\"]+)\s*\(")
_PARAMETER = re.compile(r"[^\s()\[\]{}=,'\"]+")
_FORM = "expected tool(parameter=reference, ...) -> [output, ...]"

Complain = Callable[[str], None]


class Step(Struct, frozen=True):
    """A call that a workflow may make."""

    tool: str
    parameters: tuple[tuple[str, Reference], ...] = ()
    outputs: tuple[str, ...] = ()
    """What the call gives back: told to readers, used by nothing."""


def read_step(text: str, complain: Complain) -> Step | None:
    """The step that the text is; None after complaining of everything that is wrong with it."""
    head = _HEAD.match(text)
    end = _closing(text, head.end()) if head else None
    if head is None or end is None:
        complain(f"{_FORM}, found {found(text)}")
        return None
    tail = text[end + 1 :].strip()
    wrong: list[str] = []
    if tail and not tail.startswith("->"):
        wrong.append(f"{_FORM}, found {found(tail)} after the closing parenthesis")
    parameters = _parameters(text[head.end() : end], wrong.append)
    for message in wrong:
        complain(message)
    if wrong:
        return None
    # One of the published workflows leaves out the brackets.
    outputs = tail.removeprefix("->").strip().removeprefix("[").removesuffix("]").split(",")
    return Step(head[1], tuple(parameters.items()), tuple(filter(None, map(str.strip, outputs))))


def _parameters(text: str, complain: Complain) -> dict[str, Reference]:
    parameters: dict[str, Reference] = {}
    for argument in _split(text) if text.strip() else ():
        name, equals, expression = (part.strip() for part in argument.partition("="))
        if not equals or _PARAMETER.fullmatch(name) is None:
            complain(f"expected parameter=reference, found {found(argument.strip())}")
        elif name in parameters:
            complain(f"parameter {name!r} is given twice")
        else:
            try:
                parameters[name] = parse(expression)
            except FormatError as error:
                complain(f"parameter {name!r}: {error}")
    return parameters


def _outside_brackets(text: str, start: int) -> Iterator[tuple[int, str]]:
    """Each character that stands in no quotes, with its place, and in no brackets; the closing ones are given too."""
    depth, quote = 0, ""
    for at in range(start, len(text)):
        character = text[at]
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in "[(":
            depth += 1
        elif depth:
            depth -= character in "])"
        else:
            yield at, character


def _closing(text: str, start: int) -> int | None:
    return next((at for at, character in _outside_brackets(text, start) if character == ")"), None)


def _split(text: str) -> list[str]:
    commas = [-1, *(at for at, character in _outside_brackets(text, 0) if character == ","), len(text)]
    return [text[a + 1 : b] for a, b in pairwise(commas)]
