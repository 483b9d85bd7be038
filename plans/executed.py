"""What was done, as a plan: the tool calls of a transcript with what flows between them.

A call depends on an earlier one when its arguments hold a placeholder for it, or a value that the earlier one gave and
that was not known before: an argument equal to its result or to a part of it, or text (from four characters on) of one
inside the other. Where neither is seen, only the order is known: a call that its agent decided on after a result
may depend on it, and is linked to the calls before that decision with the basis `order`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct

from gpa.ingest.tool_calls import ToolCall
from gpa.plans.placeholders import placeholders
from gpa.plans.plan import Dependency, Plan, PlanStep

MIN_FLOWING = 4
"""Characters from which text inside other text is taken to have come from there."""
_MAX_TEXT = 100_000
"""Characters of a result that are searched."""
_MAX_PARTS = 2_000
"""Parts of a structured result that are looked at."""
_MAX_PART = 400
"""Characters of a part of a result that may stand inside an argument."""


class _Result(Struct, frozen=True):
    """What a call gave, ready to be found again."""

    number: int
    text: str
    parts: frozenset[str]
    """Every value in it, as text."""
    embedded: tuple[str, ...]
    """Values long enough to be recognised inside an argument."""


def executed_plan(calls: Sequence[ToolCall], known: str = "", *, start: int = 0) -> Plan:
    """The calls as a plan whose steps are numbered from `start`.

    Args:
        calls: What `gpa.ingest.tool_calls.tool_calls` gives.
        known: Text the agent had before its first call (the goal, its instructions): values in it flow from no call.
        start: Number of the first step.
    """
    steps: list[PlanStep] = []
    results: list[_Result] = []
    said = [known]
    for at, call in enumerate(calls):
        arguments = named_arguments(call.arguments)
        found = dict(_referred(call.arguments, at, start))
        # Arguments of one model output were all written before any of their results was there.
        before = [one for one in results if not call.asked or calls[one.number].asked != call.asked]
        known_now = "\n".join(said)
        for dependency in _flowing(arguments, before, known_now, start):
            found.setdefault(dependency.step, dependency)
        if not found:
            for earlier in _decided_before(calls, at):
                found[str(start + earlier)] = Dependency(str(start + earlier), "order")
        steps.append(
            PlanStep(
                str(start + at),
                tool=call.tool,
                arguments=arguments,
                dependencies=tuple(found.values()),
                agent=call.agent,
            )
        )
        results.append(_result(at, call.result if not call.error else ""))
        said.append(call.key[:_MAX_TEXT])
    return Plan(tuple(steps))


def named_arguments(arguments: Any) -> dict[str, Any]:
    """The arguments of a call by name; what is no object stands under "0"."""
    if isinstance(arguments, dict):
        return {str(name): value for name, value in arguments.items()}
    return {"0": arguments} if arguments not in (None, "") else {}


def _referred(arguments: Any, at: int, start: int) -> Iterator[tuple[str, Dependency]]:
    for one in placeholders(arguments):
        if one.certain and one.number is not None and start <= one.number < start + at:
            yield str(one.number), Dependency(str(one.number), "reference")


def _flowing(arguments: dict[str, Any], results: Sequence[_Result], known: str, start: int) -> Iterator[Dependency]:
    """For each value that came from a result, the first call that gave it."""
    for value in dict.fromkeys(_values(arguments)):
        if value in known if len(value) >= MIN_FLOWING else _stands_in(value, known):
            continue
        source = next((one for one in results if _came_from(value, one, known)), None)
        if source is not None:
            yield Dependency(str(start + source.number), "value")


def _came_from(value: str, result: _Result, known: str) -> bool:
    if value in result.parts:
        return True
    if len(value) >= MIN_FLOWING and value in result.text:
        return True
    return len(value) > MIN_FLOWING and any(part in value and part not in known for part in result.embedded)


def _stands_in(value: str, known: str) -> bool:
    """Whether a short value is a word of the text: `5` is not in `15`."""
    return f" {value} " in f" {known} " or f'"{value}"' in known or f":{value}" in known


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


def _result(number: int, text: str) -> _Result:
    text = text[:_MAX_TEXT]
    parts = {text.strip()} - {""}
    if text.lstrip()[:1] in {"{", "["}:
        with suppress(msgspec.MsgspecError, RecursionError):
            parts.update(_values(msgspec.json.decode(text)))
    embedded = tuple(part for part in parts if MIN_FLOWING <= len(part) <= _MAX_PART)
    return _Result(number, text, frozenset(parts), embedded)


def _decided_before(calls: Sequence[ToolCall], at: int) -> Iterator[int]:
    """The calls of the agent's decision before the one that led to this call; none for calls decided together."""
    call = calls[at]
    decision = call.asked or call.before
    earlier = [n for n in range(at) if calls[n].agent == call.agent and (calls[n].asked or calls[n].before) != decision]
    if earlier:
        last = calls[earlier[-1]].asked or calls[earlier[-1]].before
        yield from (n for n in earlier if (calls[n].asked or calls[n].before) == last)
