"""Errors that the agent goes on from as if nothing had happened.

`unacknowledged-error` flags: a tool call or a piece of code failed, and nothing the same agent put out afterwards
speaks of it, calls any tool or runs any code again. Why: an answer that rests on a call that failed is unsupported,
and nobody can see it in the answer.

Silence is the condition, so a single word of acknowledgement, a word of the error itself that came from nowhere else
(its class, what it is about), any retry and any other attempt clear it: nobody can tell a way around from the next
errand. Not judged: texts that are not in English, for there nothing could be recognised; errors of the model's own
API, and errors after which the agent said nothing more. LOW when other calls of the same step succeeded.

`claimed-success` flags: every call of a tool failed, and the answer says that what the tool is named after was done
(`reserve`: "your chairs are reserved"), without a word of the failure.

Known false alarms: an error in a step that did not matter to the answer; an acknowledgement in words the list does
not hold.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from functools import cache

from gpa.ingest.tool_calls import Fault, faults, tool_calls
from gpa.ingest.transcript import Step, Transcript
from gpa.judges.checks.acts import conduct, finishes
from gpa.judges.checks.check import Check, Hit
from gpa.judges.checks.sources import answer_of

_ACKNOWLEDGED = re.compile(
    r"""\b(?:error\w*|exception\w*|fail\w*|unable|can(?:no|['’])t
      |(?:could|was|were|is|are|did|does|do|has|have|had)(?:\ not|n['’]t)
      |(?:am|be|can|will|would)\ not|won['’]t|never
      |unavailable|inaccessible|unreachable|offline|down|blocked|rejected|declined|broken|crash\w*|out\ of\ service
      |not\ (?:available|found|possible|able|accessible|work\w*|yet)
      |no\ (?:results?|access|data|information|such|way|longer)|nothing|nowhere|none|neither
      |problem\w*|issue\w*|trouble
      |sorry|apolog\w+|unfortunately|instead|alternativ\w+|another|different\w*|again|retry\w*|trying|tried
      |(?:me|us|i|i'll|we|we'll|will|to)\ try|attempt\w*
      |invalid|incorrect\w*|mistake\w*|wrong\w*|correct(?:ed|ion)|fix\w*|missing|denied|refused|raise[sd]?
      |timed?\ ?out|limit(?:s|ed|ation\w*)?|without|unknown|undetermined)\b""",
    re.VERBOSE | re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+")
_ENGLISH = re.compile(
    r"\b(?:I|(?i:the|and|it|it's|its|you|your|this|that|these|with|are|were|from|which|they|there|their|i'm|i've))\b"
)
"""Words that English has in every other sentence, and its neighbours do not spell so."""
_ENGLISH_SHARE = 15
"""In English, one word of so many is one of these, at the least."""
_TELLING = re.compile(r"[^\W\d_]{5,}|\d{3,}")
_TOLD_MAX = 600
"""Characters at either end of an error that are looked at for words of its own."""
_FEW_WORDS = 2
_CODE = "```"
_IRREGULAR = {
    "pay": "paid", "send": "sent", "make": "made", "set": "set", "write": "written", "buy": "bought", "sell": "sold",
    "put": "put", "submit": "submitted", "cancel": "cancelled", "ship": "shipped", "get": "got", "find": "found",
    "transfer": "transferred", "refund": "refunded", "run": "run", "begin": "begun", "stop": "stopped",
}  # fmt: skip


def find(transcript: Transcript) -> Iterator[Hit]:
    """One hit for each error the agent never comes back to."""
    order = {step.label: number for number, step in enumerate(transcript.steps)}
    spoken: dict[str, list[Step]] = defaultdict(list)
    for step in transcript.steps:
        if step.kind == "llm" and step.output:
            spoken[step.agent].append(step)
    last_call: dict[str, int] = {}
    worked: set[str] = set()
    for call in tool_calls(transcript):
        if finishes(call.tool):
            continue
        last_call[call.agent] = max(last_call.get(call.agent, -1), order.get(call.asked or call.ran, -1))
        if not call.error and call.asked:
            worked.add(call.asked)
    given = _given(transcript)
    silent: dict[tuple[str, int], tuple[Step, str] | None] = {}
    for fault in faults(transcript):
        at = order.get(fault.label, -1)
        if last_call.get(fault.agent, -1) > at or (fault.call is None and not fault.cause):
            continue
        steps = spoken.get(fault.agent, [])
        start = bisect_right(steps, at, key=lambda step: order[step.label])
        key = (fault.agent, start)
        if key not in silent:
            silent[key] = _silent(steps[start:])
        heard = silent[key]
        if heard is not None and not _repeats(heard[1], fault, given):
            yield Hit(
                (heard[0].label, fault.label),
                quote=fault.text,
                problem=f"the error of [{fault.label}] is never acknowledged, retried or worked around",
                severity="LOW" if fault.cause in worked else "MEDIUM",
            )


def _silent(steps: list[Step]) -> tuple[Step, str] | None:
    """The first of these steps, and all they say, when all of them pass over the error; else None."""
    said: list[str] = []
    first: Step | None = None
    for step in steps:
        for message in step.output:
            if message.tool_name and not finishes(message.tool_name):
                return None
            text = f"{message.text} {message.arguments or ''}"
            if _CODE in text or _ACKNOWLEDGED.search(text) or not _is_read(text):
                return None
            said.append(text)
            if first is None and (message.text.strip() or message.tool_name):
                first = step
    return None if first is None else (first, " ".join(said))


def _is_read(text: str) -> bool:
    """Whether an acknowledgement in this text would have been recognised: it is English, or hardly words at all."""
    words = _WORD.findall(text)
    if len(words) <= _FEW_WORDS:
        return all(word.isascii() for word in words)
    return len(_ENGLISH.findall(text)) * _ENGLISH_SHARE >= len(words)


def _repeats(said: str, fault: Fault, given: frozenset[str]) -> bool:
    """Whether a text has a word of the error that was in nothing the agent had been given."""
    told = fault.words
    told = told if len(told) <= 2 * _TOLD_MAX else f"{told[:_TOLD_MAX]} {told[-_TOLD_MAX:]}"
    asked = _telling(f"{fault.call.tool} {fault.call.key}") if fault.call else frozenset()
    return bool((_telling(told) - asked - given) & _telling(said))


def _given(transcript: Transcript) -> frozenset[str]:
    """Telling words of the request, which an answer holds whatever became of the call."""
    return _telling(transcript.goal[:20_000])


def _telling(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _TELLING.findall(text))


def claimed_success(transcript: Transcript) -> Iterator[Hit]:
    """One hit for each answer that reports as done what failed each time."""
    failed: dict[tuple[str, str], bool] = {}
    for call in tool_calls(transcript):
        if call.answered and not finishes(call.tool):
            key = (call.agent, call.tool)
            failed[key] = failed.get(key, True) and bool(call.error)
    read = conduct(transcript)
    for (agent, tool), always in failed.items():
        acts = [act for act in read.by_agent.get(agent, ()) if not act.planning]
        answer = answer_of(acts) if always else None
        if answer is None:
            continue
        text = " ".join([answer.said, *(str(call.arguments) for call in answer.calls if finishes(call.tool))])
        done = _done(tool).search(text)
        if done and not _ACKNOWLEDGED.search(text):
            yield Hit(
                (answer.label,),
                quote=done[0],
                problem=f"says that it is {done[0]}, but every call of {tool} failed",
                severity="HIGH",
            )


@cache
def _done(tool: str) -> re.Pattern[str]:
    """Matches the participles of the words a tool is named with."""
    words = [word.lower() for word in re.split(r"[^A-Za-z]+|(?<=[a-z])(?=[A-Z])", tool) if len(word) >= 3]
    forms = [re.escape(_IRREGULAR.get(word, f"{word.rstrip('e')}ed")) for word in words]
    forms += [f"{re.escape(word[:-1])}ied" for word in words if word.endswith("y")]
    return re.compile(rf"\b(?:{'|'.join(forms)})\b" if forms else r"(?!)", re.IGNORECASE)


CHECK = Check(
    name="unacknowledged-error",
    about="an error the agent never acknowledges, retries or works around",
    category="Tool Output Misinterpretation",
    dimensions=("LC", "TC"),
    find=find,
    why="An answer that rests on a call that failed is unsupported, and nobody can see it in the answer.",
    confidence="likely",
    severity="MEDIUM; LOW when other calls of the same step succeeded.",
    cited="The first model call that passes over the error, then the step that failed.",
    false_alarms=("An error in a step that did not matter; an acknowledgement in words the list does not hold."),
    version=3,
)
CLAIMED_SUCCESS = Check(
    name="claimed-success",
    about="an answer that reports as done what failed each time",
    category="Tool-related",
    dimensions=("LC", "TC", "GF"),
    find=claimed_success,
    why="The user takes it for done.",
    confidence="likely",
    severity="HIGH.",
    cited="The model call that hands over the answer.",
    false_alarms="A deed done by another tool than the one named after it.",
    version=2,
)
