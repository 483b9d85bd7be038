"""The same call again without new information in between.

Flags: an agent calls a tool with the same arguments and gets the same result, or the same error, as the last time.
Why: the second call could not tell it anything, and a loop of them is the commonest waste in agent runs. One hit
holds all repeats of one call. Figures that only say how long a look took are no part of its result.

A tool that reads (by its name) is held to every repeat, and so is any call that fails again. Any other tool may be
meant to act again each time (a key pressed, an item added, a die rolled), so that its successes count only from the
third repeat on, and only where the result is more than a receipt.

Not flagged: polling (the results differ, something came in the end, or the result says that something is still
running), waiting, a first retry after a transient error (rate limit, time-out, 5xx), a call again in a new turn of the
user, repeats within one model turn or one piece of code (decided on before there was a result), the same task for
several sub-agents, and a call after a change: a success in between of a tool that does not read, told or silent, and
for a tool that acts any new result. MEDIUM, HIGH from the third repeat on, but never for a tool that acts and works.

Known false alarms: a tool with a reading name that changes something; a check repeated on purpose after a change
made outside every tool.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache

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
_WAITS = re.compile(r"(?:^|[_.\-/ ])(?:sleep|wait|delay|pause)(?:$|[_.\-/ ])")
_TOOK = re.compile(
    r'"(?:took|latency|elapsed_?ms|(?:query|search|response|request)_?time|request_?id)(?:_?(?:ms|s|seconds))?"\s*:\s*'
    r'(?:"[^"]*"|[\d.]+)',
    re.IGNORECASE,
)
"""What a JSON result says of the look and not of what was looked at."""
_WORD_EDGE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_HIGH_FROM = 3
_ACTS_FROM = 3
_RECEIPT_WORDS = 6
"""Words of a result that only says that something was done."""


class _News(Struct):
    """How often an agent had done or learnt something new."""

    any: int = 0
    """New results, and successes without one: what may be a reason to act again."""
    acts: int = 0
    """Successes of tools that do not read: what may be a reason to look again."""

    def to(self, tool: str) -> int:
        """Those that give a reason to call the tool again."""
        return self.acts if _reads(tool) else self.any


class _Known(Struct):
    """A call as one agent made it in one turn, with its repeats in vain."""

    first: ToolCall
    outcome: str
    latest: str = ""
    """Label of the model call behind the latest of them."""
    news: int = 0
    """What the agent had for news when it last made this one."""
    retries: int = 0
    repeats: list[ToolCall] = []


def find(transcript: Transcript) -> Iterator[Hit]:
    """One hit for each tool whose calls an agent repeated in vain."""
    turns = _turns(transcript)
    delegates = {agent.name for agent in transcript.agents}
    known: dict[tuple[str, int, str, str], _Known] = {}
    news: dict[str, _News] = defaultdict(_News)
    found: list[_Known] = []
    for call in tool_calls(transcript):
        if not _recorded(call):
            _note(call, news[call.agent], new=False)
            continue
        decided = call.asked or call.before
        key = (call.agent, turns.get(decided, 0), call.tool, call.key)
        last = known.get(key)
        new = last is None or last.outcome != _outcome(call)
        if last is None or new:
            if last is not None and last.news == news[call.agent].to(call.tool):
                last.repeats.clear()  # what they were waiting for came
            known[key] = last = _Known(call, _outcome(call))
            found.append(last)
        # A trace without its model calls does not tell turns apart.
        elif (
            (not decided or decided != last.latest)
            and call.tool not in delegates
            and _in_vain(call, last, news[call.agent])
        ):
            last.repeats.append(call)
        _note(call, news[call.agent], new=new)
        last.latest = decided
        last.news = news[call.agent].to(call.tool)
    by_tool: dict[tuple[str, str], list[_Known]] = {}
    for last in found:
        if last.repeats and (_surely(last.first) or _too_often(last)):
            by_tool.setdefault((last.first.agent, last.first.tool), []).append(last)
    for several in by_tool.values():
        yield _hit(several)


def _note(call: ToolCall, news: _News, *, new: bool) -> None:
    """Count what a call brought: one that says nothing and did not fail has done its work."""
    acted = not call.error and not _reads(call.tool)
    news.acts += acted
    news.any += not call.error and (new or (acted and not call.result))


def _in_vain(call: ToolCall, last: _Known, news: _News) -> bool:
    """Whether a call with the outcome of the last time was made with nothing new to be learnt from it."""
    if _WAITS.search(_spelt(call.tool)):
        return False
    if call.error and _TRANSIENT.search(call.error[:2_000]):
        last.retries += 1
        return last.retries > 1
    if not call.error and len(call.result) <= _WAITING_MAX and _WAITING.search(call.result):
        return False
    return news.to(call.tool) == last.news


def _surely(call: ToolCall) -> bool:
    """Whether the call could only tell, not do: it failed, or its tool reads."""
    return bool(call.error) or _reads(call.tool)


def _too_often(known: _Known) -> bool:
    return len(known.repeats) >= _ACTS_FROM and len(known.first.result.split()) > _RECEIPT_WORDS


def _recorded(call: ToolCall) -> bool:
    """Whether the trace holds both what was asked and what came back: a producer can be told to leave either out."""
    return call.answered and call.arguments != "" and bool(call.error or call.result)


@lru_cache(maxsize=4_096)
def _reads(tool: str) -> bool:
    return _READS.search(_spelt(tool)) is not None


def _spelt(tool: str) -> str:
    return _WORD_EDGE.sub("_", tool).lower()


def _outcome(call: ToolCall) -> str:
    if call.error:
        return f"error: {call.error.strip()}"
    return (_TOOK.sub("", call.result) if _reads(call.tool) else call.result).strip()


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
        severity="HIGH" if len(repeats) >= _HIGH_FROM and _surely(first) else "MEDIUM",
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
    confidence="likely",
    severity="MEDIUM; HIGH from the third repeat on of what fails or only reads.",
    cited="The model call of the first repeat and of the last; one finding an agent and tool.",
    false_alarms=(
        "A tool with a reading name that changes something; a check repeated on purpose after a change made "
        "outside every tool."
    ),
    version=3,
)
