"""The same call again without new information in between.

Flags: an agent calls a tool with the same arguments and gets the same result, or the same error, as the last time.
Why: the second call could not tell it anything, and a loop of them is the commonest waste in agent runs. One hit
holds all repeats of one call.

Not flagged: polling (the results differ, or say that something is still running), a first retry after a transient
error (rate limit, time-out, 5xx), a call again in a new turn of the user, a repeat inside one piece of code (a
retry the agent did not decide on), and a call that may have another effect now because a different call succeeded
in between, unless the tool only reads by its name. MEDIUM, HIGH from the third repeat on.

Known false alarms: a tool with a reading name that changes something; a check repeated on purpose after a change
made outside every tool.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from msgspec import Struct

from gpa.ingest.tool_calls import ToolCall, tool_calls
from gpa.ingest.transcript import Transcript
from gpa.judges.checks.check import Check, Hit

_TRANSIENT = re.compile(
    r"\b(?:429|50[0234]|rate.?limit\w*|too many requests|timed? ?out|time-?out|temporar\w+|unavailable|overloaded"
    r"|connection (?:reset|refused|aborted|error)|try again)\b",
    re.IGNORECASE,
)
_WAITING = re.compile(
    r"\b(?:pending|queued|in.progress|running|processing|not (?:yet )?ready|waiting|scheduled)\b", re.IGNORECASE
)
_WAITING_MAX = 400
"""A report that something is still running is short."""
_READS = re.compile(
    r"(?:^|[_.\-/ ])(?:get|search|list|read|find|look_?up|fetch|query|visit|retrieve|view|show|describe|inspect|browse)"
    r"(?:$|[_.\-/ ])"
)
_WORD_EDGE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_HIGH_FROM = 3


class _Known(Struct):
    """A call as one agent made it in one turn, with its repeats in vain."""

    first: ToolCall
    outcome: str
    changes: int = 0
    """How many calls with a new outcome the agent had made when it last made this one."""
    retries: int = 0
    repeats: list[ToolCall] = []


def find(transcript: Transcript) -> Iterator[Hit]:
    """One hit for each call that was repeated in vain."""
    turns = _turns(transcript)
    known: dict[tuple[str, int, str, str], _Known] = {}
    changes: dict[str, int] = defaultdict(int)
    found: list[_Known] = []
    for call in tool_calls(transcript):
        if not call.answered or not _recorded(call):
            continue
        key = (call.agent, turns.get(call.asked or call.before, 0), call.tool, call.key)
        last = known.get(key)
        if last is None or last.outcome != _outcome(call):
            known[key] = last = _Known(call, _outcome(call))
            changes[call.agent] += not call.error
        elif _in_vain(call, last, changes[call.agent]):
            if not last.repeats:
                found.append(last)
            last.repeats.append(call)
        last.changes = changes[call.agent]
    by_tool: dict[tuple[str, str], list[_Known]] = {}
    for last in found:
        by_tool.setdefault((last.first.agent, last.first.tool), []).append(last)
    for several in by_tool.values():
        yield _hit(several)


def _in_vain(call: ToolCall, last: _Known, changes: int) -> bool:
    """Whether a call with the outcome of the last time was made with nothing new to be learnt from it."""
    if not call.asked and call.before and call.before == last.first.before:
        return False
    if call.error and _TRANSIENT.search(call.error[:2_000]):
        last.retries += 1
        return last.retries > 1
    if not call.error and len(call.result) <= _WAITING_MAX and _WAITING.search(call.result):
        return False
    return changes == last.changes or _reads(call.tool)


def _recorded(call: ToolCall) -> bool:
    """Whether the trace holds both what was asked and what came back: a producer can be told to leave either out."""
    return call.arguments != "" and bool(call.error or call.result)


def _reads(tool: str) -> bool:
    return _READS.search(_WORD_EDGE.sub("_", tool).lower()) is not None


def _outcome(call: ToolCall) -> str:
    return f"error: {call.error.strip()}" if call.error else call.result.strip()


def _turns(transcript: Transcript) -> dict[str, int]:
    """Per LLM step the turn of its agent's user it belongs to: how often a user message came when no tool had run.

    Agents that are told tool results in user messages are why the second half is asked.
    """
    turns: dict[str, int] = {}
    turn: dict[str, int] = defaultdict(int)
    acted: dict[str, bool] = {}
    for step in transcript.steps:
        if step.kind == "llm":
            if acted.get(step.agent) is False and any(m.role == "user" and m.text for m in step.messages):
                turn[step.agent] += 1
            turns[step.label] = turn[step.agent]
            acted[step.agent] = any(m.tool_name for m in step.output)
        else:
            acted[step.agent] = True
    return turns


def _hit(several: list[_Known]) -> Hit:
    """The calls of one tool that one agent repeated, at the first repeat and the last."""
    first = several[0].first
    repeats = sorted((call for known in several for call in known.repeats), key=_position)
    what = "the same error" if first.error else "the same result"
    times = "once more" if len(repeats) == 1 else f"{len(repeats)} more times"
    return Hit(
        tuple(dict.fromkeys((repeats[0].labels[0], repeats[-1].labels[0]))),
        quote=repeats[-1].key or first.result or first.error,
        problem=f"{first.tool} was called {times} with the same arguments and gave {what}",
        severity="HIGH" if len(repeats) >= _HIGH_FROM else "MEDIUM",
    )


def _position(call: ToolCall) -> int:
    """Where in the trace: labels are numbered."""
    return int(call.labels[0][1:]) if call.labels else -1


CHECK = Check(
    name="repeated-call",
    about="the same tool call repeated without new information in between",
    category="Resource Abuse",
    dimensions=("EE",),
    find=find,
    why="The second call could not tell the agent anything: loops of them are the commonest waste.",
    confidence="certain",
    severity="MEDIUM; HIGH from the third repeat on.",
    cited="The model call of the first repeat and of the last; one finding an agent and tool.",
    false_alarms=(
        "A tool with a reading name that changes something; a check repeated on purpose after a change made "
        "outside every tool."
    ),
    version=2,
)
