"""Text a model wrote as JSON, or nearly: what it means, and every liberty that had to be taken to read it.

Models put JSON between prose and fences, quote with the wrong quotes, forget commas or brackets, write Python (`None`,
`True`, tuples, calls), leave keys unquoted, stop in the middle. Strict JSON is decoded as it is; anything else is read
by a tolerant parser that never raises over its input. The names of the liberties are the reasons of Table 9 of the
Traxgen paper, with three more that plans need.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from gpa.plans.tolerant import NAME, BareCall, Parser, Reason, Repair

_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*\n(.*?)(?:^[ \t]*(?:```|~~~)|\Z)", re.DOTALL | re.MULTILINE)
# Blanks at the start of a line are those of that line: with `\s*` every line of many empty ones would read all others.
_CODE = re.compile(
    r"^[ \t]*(?:import|from|def|class|for|return|print|async|await)\b|^[ \t]*[\w.]+\s*=\s*(?=[\[{(\w]|\Z)",
    re.MULTILINE,
)
_CALL_LINE = re.compile(
    r"^[ \t]*(?:[\w$#]+[ \t]*=[ \t]*|\d+[.)][ \t]*|[-*][ \t]*|(?:await|return)[ \t]+)*([^\W\d][\w.\-]*)\s*\(",
    re.MULTILINE,
)
_BRACKET = re.compile(r"[\[{]")


class Parsed(Struct, frozen=True):
    """A value and what it took to read it. Calls written as code are `BareCall`s inside it."""

    value: Any
    repairs: tuple[Repair, ...] = ()
    cut_at: tuple[str | int, ...] = ()
    """Keys and indices of what was still open where the text ends; empty when it is whole."""


def parse(text: str) -> Parsed | None:
    """The value the text holds: the longest object or list in it, else the calls it makes; None when it has neither."""
    strict = _strict(text)
    if strict is not None:
        return strict
    found = max(parse_all(text), key=lambda one: one[1] - one[0], default=None)
    calls, spans = _calls(text)
    if found is None or calls is None:
        return found[2] if found else calls
    inside = any(start < found[0] and found[1] <= stop for start, stop in spans)
    # An argument of a call is not the plan, unless one call wraps it: `run([{"tool": ...}, ...])`.
    return calls if inside and (len(spans) > 1 or not _holds_steps(found[2].value)) else found[2]


def _holds_steps(value: Any) -> bool:
    inner = value.values() if isinstance(value, dict) else value
    return any(isinstance(one, dict) or (isinstance(one, list) and _holds_steps(one)) for one in inner)


def parse_call(text: str) -> BareCall | None:
    """The call that the text is, as a whole (`RAG((1), 'Find ...')`), None when it is anything else."""
    text = text.strip()
    if not text.endswith(")") or not NAME.match(text):
        return None
    parser = Parser(text, 0, len(text))
    value = parser.value(())
    return value if isinstance(value, BareCall) and parser.at == len(text) else None


def parse_all(text: str) -> Iterator[tuple[int, int, Parsed]]:
    """Every object or list at the top of the text: where it begins and ends, and what it means, in order."""
    fences = [match.span(1) for match in _FENCE.finditer(text)]
    held = [span for span in fences if any(mark in text[span[0] : span[1]] for mark in "[{")]
    for start, stop in held or [(0, len(text))]:
        at = start
        while (begin := _next_container(text, at, stop)) is not None:
            parser = Parser(text, begin, stop)
            if held:
                parser.repair("markdown_fences", start)
            elif at > start or text[:begin].strip(" \t\r\n,;"):
                parser.repair(_around(text[at:begin]), begin)
            value = parser.value(())
            yield begin, parser.at, Parsed(value, tuple(dict.fromkeys(parser.repairs)), parser.cut_at)
            at = max(parser.at, begin + 1)


def _strict(text: str) -> Parsed | None:
    try:
        value = msgspec.json.decode(text.encode("utf-8", "surrogatepass"))
    except (msgspec.MsgspecError, RecursionError):
        return None
    if isinstance(value, str) and value.strip()[:1] in {"[", "{"}:
        inner = parse(value)
        if inner is not None:
            return Parsed(inner.value, (Repair("expression_in_quotes", 1), *inner.repairs), inner.cut_at)
    return Parsed(value) if isinstance(value, dict | list) else None


def _around(before: str) -> Reason:
    return "hallucinated_code" if _CODE.search(before) else "incorrect_format"


def _next_container(text: str, at: int, stop: int) -> int | None:
    """Where the next object or list begins that is not a bracket in prose: `{{`, `[x](link)`, `name[0]`."""
    for match in _BRACKET.finditer(text, at, stop):
        before = text[match.start() - 1 : match.start()]
        if not before or not (before.isalnum() or before in "_]$#"):
            return match.start()
    return None


def _calls(text: str) -> tuple[Parsed | None, list[tuple[int, int]]]:
    """The calls of a text that is code, one a line, and where each begins and ends."""
    found: list[BareCall] = []
    spans: list[tuple[int, int]] = []
    repairs: list[Repair] = []
    at = 0
    for match in _CALL_LINE.finditer(text):
        if match.start() < at or match[1] in {"print", "def", "for", "if", "while"}:
            continue
        parser = Parser(text, match.start(1), len(text))
        value = parser.value(())
        at = parser.at
        if isinstance(value, BareCall):
            found.append(value)
            spans.append((match.start(1), parser.at))
            repairs += parser.repairs
    if not found:
        return None, spans
    return Parsed(found, (Repair("hallucinated_code", 1), *dict.fromkeys(repairs))), spans
