"""Arguments that are made up.

`invented-value` (TC) flags two kinds of values that occur in nothing the agents had been given by then: what looks made
up by its own words (`https://example.com`, `path/to/...`, `your_api_key`, `FLIGHT_ID_PLACEHOLDER`, `{{user_id}}`, an id
`12345`), and the id of a record (`order_id`) with a number of five digits or more. Why: the call cannot succeed, or
succeeds on nothing. Each value is one finding, at the call that has it first.

Only short values count, not texts the agent writes, and no page or file that was there; nothing where the request is
about templates or placeholders. Of ids none where the tool makes records, where an earlier result is not recorded, or
where a neighbour was read: it may be the next of a series. Other paths and addresses are not judged: agents rightly
know many that nobody told them.

Known false alarms: a tool tried out on purpose; an id that the model really knows, or read in a picture.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from gpa.ingest.history import canonical
from gpa.ingest.tool_calls import ToolCall, tool_calls
from gpa.ingest.transcript import Transcript
from gpa.judges.checks.acts import finishes
from gpa.judges.checks.check import Check, Hit

_MADE_UP = re.compile(
    r"""(?<!\w:)\b(?:https?://)?(?:www\.)?example\.(?:com|org|net)\b  # `site:example.org` is no address
      | \bpath/to/[\w./-]+
      | <?\byour[_-](?:[a-z]+[_-])?(?:id|key|token|file|path|url|name)\b>?
      | \b(?:foo|bar|dummy|placeholder|xxx+)[_-]?(?:id|key|file|path|url)\b
      | (?-i:\b(?:[A-Z0-9]+_)*PLACEHOLDER(?:_[A-Z0-9]+)*\b)
      | \{\{[ ]?\w[\w. -]{0,60}\}\}
      | \b(?:insert|replace)[_ -](?:your|the|with)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_PLACE = re.compile(r"https?://|www\.|path/", re.IGNORECASE)
_COUNTED = re.compile(r"(?:[A-Za-z]+[_-])?(?:12345(?:6(?:7(?:8(?:90?)?)?)?)?|0{4,}1?)")
_ID = re.compile(r"(?:\w+_)?id|ID|\w*[a-z]I[dD]", re.ASCII)
_OWN_ID = re.compile(
    r"session|thread|request|trace|span|run|correlat|idempot|conversation|message|chat|call|task|step|client|agent|parent"
    r"|model|element|tab|process",
    re.IGNORECASE,
)
"""Ids that agents and frameworks give out themselves."""
_MAKES = re.compile(
    r"create|new|add|start|regist|insert|open|put|set|save|write|generat|upsert|log|init|make|store|record",
    re.IGNORECASE,
)
_RECORD = re.compile(r"(?=[A-Za-z_-]*\d)[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+){0,4}")
_NUMBER = re.compile(r"\d{5,}")
_ABOUT_IT = re.compile(r"\b(?:templat|placeholder|dumm(?:y|ies)|mock|boilerplate)", re.IGNORECASE)
_MAX_GOAL, _MAX_VALUE, _MAX_ID, _MAX_VALUES, _MAX_DEPTH = 4_000, 200, 24, 500, 20


def find(transcript: Transcript) -> Iterator[Hit]:
    """One hit for each value of an argument that is made up."""
    if _ABOUT_IT.search(transcript.goal[-_MAX_GOAL:]):
        return
    given: _Given | None = None
    seen: set[str] = set()
    for call in tool_calls(transcript):
        if not call.asked or finishes(call.tool):
            continue
        for name, value in _values(call.arguments):
            words = _made_up(name, value)
            said = words or (value if _of_record(call.tool, name, value) else "")
            if not said or said in seen or len(seen) >= _MAX_VALUES or (_PLACE.match(said) and _brought(call)):
                continue
            seen.add(said)
            given = given or _given(transcript)
            if words and not given.holds(words, call.asked):
                problem = f"{call.tool} is called with a made-up value: {words}"
            elif not words and given.lacks_record(value, call.asked):
                problem = f"{call.tool} is called with {name} {value}, which occurs nowhere before"
            else:
                continue
            yield Hit((call.asked,), quote=said, problem=problem, severity="MEDIUM")


def _brought(call: ToolCall) -> bool:
    return bool(call.result.strip()) and not call.error


def _values(arguments: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """The short values of arguments, each with the name it stands under."""
    if isinstance(arguments, dict | list) and depth < _MAX_DEPTH:
        items = arguments.items() if isinstance(arguments, dict) else ((name, value) for value in arguments)
        for key, value in items:
            yield from _values(value, str(key), depth + 1)
    elif isinstance(arguments, str | int) and not isinstance(arguments, bool):
        text = str(arguments)
        if len(text) <= _MAX_VALUE and "\n" not in text:
            yield name, text


def _made_up(name: str, value: str) -> str:
    """The words of a value that say that it is made up, or nothing."""
    match = _MADE_UP.search(value) or (_COUNTED.fullmatch(value) if _ID.fullmatch(name) else None)
    return match[0] if match else ""


def _of_record(tool: str, name: str, value: str) -> bool:
    """Whether a value is the id of a record that must already be there."""
    return (
        _ID.fullmatch(name) is not None
        and len(value) <= _MAX_ID
        and _RECORD.fullmatch(value) is not None
        and _NUMBER.search(value) is not None
        and not _OWN_ID.search(name)
        and not _MAKES.match(tool)
    )


class _Given(NamedTuple):
    """All that the agents of a transcript were given to read, in order."""

    text: str
    """In small letters."""
    until: dict[str, int]
    """Per step how much of the text was given when it ended; more with every step."""
    numbers: dict[str, int]
    """Long numbers, without leading zeros, with where they stand first."""
    series: dict[tuple[str, int], int]
    """The same by all but their last two digits, and their length."""
    silent: int
    """How much was given by the first call whose result is not recorded: what is new later may have been read there."""

    def holds(self, words: str, label: str) -> bool:
        """Whether words were given up to a step."""
        return self.text.find(words.lower(), 0, self.until[label]) >= 0

    def lacks_record(self, value: str, label: str) -> bool:
        """Whether neither a number of an id nor a neighbour of it was given up to a step, and all of it is known."""
        end = self.until[label]
        return end <= self.silent and not any(
            self.numbers.get(number.lstrip("0"), end) < end or self.series.get((number[:-2], len(number)), end) < end
            for number in _NUMBER.findall(value)
        )


def _given(transcript: Transcript) -> _Given:
    parts = [transcript.goal.lower()]
    for agent in transcript.agents:
        parts += [m.text.lower() for m in agent.system]
        parts += [f"{tool.description}\n{canonical(tool.parameters)}".lower() for tool in agent.tools]
    at = sum(len(part) + 1 for part in parts)
    until: dict[str, int] = {}
    for step in transcript.steps:
        # What a tool step is sent is what the agent wrote; what it puts out, the agent reads.
        messages = step.messages if step.kind == "llm" else step.output
        read = "\n".join(m.text if m.arguments is None else f"{m.text}\n{canonical(m.arguments)}" for m in messages)
        parts.append(read.lower())
        at += len(parts[-1]) + 1
        until[step.label] = at
    text = "\n".join(parts)
    numbers: dict[str, int] = {}
    series: dict[tuple[str, int], int] = {}
    for match in _NUMBER.finditer(text):
        numbers.setdefault(match[0].lstrip("0"), match.start())
        series.setdefault((match[0][:-2], len(match[0])), match.start())
    return _Given(text, until, numbers, series, _silent(transcript, until))


def _silent(transcript: Transcript, until: dict[str, int]) -> int:
    first = next((step for step in transcript.steps if step.kind == "llm"), None)
    if first is None or not any(message.text for message in first.messages):
        return -1
    calls = (call for call in tool_calls(transcript) if call.labels and not (call.error or _brought(call)))
    return min((until[call.labels[-1]] for call in calls), default=max(until.values()))


CHECK = Check(
    name="invented-value",
    about="an argument that is a placeholder, or an id that occurs nowhere before",
    category="Tool-related",
    dimensions=("TC",),
    find=find,
    why="The call cannot succeed, or succeeds on nothing.",
    confidence="likely",
    severity="MEDIUM.",
    cited="The model call that wrote it first.",
    false_alarms="A tool tried out on purpose; an id that the model really knows, or read in a picture.",
    version=2,
)
