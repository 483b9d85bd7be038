"""Errors that the agent goes on from as if nothing had happened.

`unacknowledged-error` flags: a tool call or a piece of code failed, and nothing the same agent put out afterwards
speaks of it, calls any tool or runs any code again. Why: an answer that rests on a call that failed is unsupported,
and nobody can see it in the answer.

Silence is the condition, so a single word of acknowledgement, any retry and any other attempt clear it. Not judged:
errors of the model's own API, and errors after which the agent said nothing more. LOW when other calls of the same
step succeeded.

`claimed-success` flags: every call of a tool failed, and the answer says that what the tool is named after was done
(`reserve`: "your chairs are reserved"), without a word of the failure.

Known false alarms: an error in a step that did not matter to the answer; an acknowledgement in a language other
than the handful the word list covers.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from functools import cache

from gpa.ingest.tool_calls import faults, tool_calls
from gpa.ingest.transcript import Step, Transcript
from gpa.judges.checks.acts import conduct, finishes
from gpa.judges.checks.check import Check, Hit
from gpa.judges.checks.sources import answer_of

_ACKNOWLEDGED = re.compile(
    r"""\b(?:error\w*|exception\w*|fail\w*|unable|can(?:no|')t|(?:could|was|were|did|does|do)\ ?n[o']t
      |unavailable|not\ (?:available|found|possible|able|accessible|work\w*)|no\ (?:results?|access|data|information)
      |problem\w*|issue\w*|trouble
      |sorry|apolog\w+|unfortunately|however|instead|alternativ\w+|another|different\w*|again|retry\w*|try\w*|tried
      |attempt\w*|invalid|incorrect\w*|mistake\w*|wrong\w*|correct(?:ed|ion)|fix\w*|missing|denied|refused
      |timed?\ ?out|limit\w*|without|unknown|undetermined
      |fehler\w*|leider|nicht|erreur\w*|malheureusement|impossible|lamentablemente|fall[oó]\w*|errore|purtroppo
      |erro|infelizmente)\b
      |错误|失败|无法|抱歉|エラー|失敗|できません|오류|실패|ошибк|к\ сожалению""",
    re.VERBOSE | re.IGNORECASE,
)
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
    silent: dict[tuple[str, int], Step | None] = {}
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
        if heard is not None:
            yield Hit(
                (heard.label, fault.label),
                quote=fault.text,
                problem=f"the error of [{fault.label}] is never acknowledged, retried or worked around",
                severity="LOW" if fault.cause in worked else "MEDIUM",
            )


def _silent(steps: list[Step]) -> Step | None:
    """The first of these steps when all of them pass over the error, else None."""
    for step in steps:
        for message in step.output:
            if message.tool_name and not finishes(message.tool_name):
                return None
            text = f"{message.text} {message.arguments or ''}"
            if _CODE in text or _ACKNOWLEDGED.search(text):
                return None
    return next((step for step in steps if any(m.text.strip() or m.tool_name for m in step.output)), None)


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
    false_alarms=(
        "An error in a step that did not matter; an acknowledgement in a language the word list does not cover."
    ),
    version=2,
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
)
