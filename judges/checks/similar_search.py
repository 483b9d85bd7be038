"""A search again in nearly the same words.

Flags: a call whose text argument (four words or more) has at least 78 of 100 in common with one of the agent's last
eight calls of that tool (rapidfuzz `token_sort_ratio`: order does not count). Why: the same words find the same
pages; what is needed is another source, or another way to ask. One hit an agent and tool, at its last such call.

Linear: a call is compared with eight others at most. LOW, MEDIUM from the third on. Identical calls are
`repeated-call`.

Known false alarms: one word changed that changes everything (a year, a name in a list that is worked through): where
the earlier call succeeded and only numbers or one capitalised word differ, nothing is flagged.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterator

from rapidfuzz import fuzz

from gpa.ingest.tool_calls import ToolCall, tool_calls
from gpa.ingest.transcript import Transcript
from gpa.judges.checks.acts import finishes
from gpa.judges.checks.check import Check, Hit

_SIMILAR = 78.0
_BACK = 8
_MIN_WORDS = 4
_COMPARED = 400
_PATH = re.compile(r"^\S+$")


def find(transcript: Transcript) -> Iterator[Hit]:
    """One hit for each agent and tool with calls in nearly the same words, at the last of them."""
    recent: defaultdict[tuple[str, str], deque[tuple[ToolCall, str]]] = defaultdict(lambda: deque(maxlen=_BACK))
    found: defaultdict[tuple[str, str], list[tuple[ToolCall, ToolCall]]] = defaultdict(list)
    for call in tool_calls(transcript):
        text = _text(call)
        if not text or finishes(call.tool) or not call.labels:
            continue
        key = (call.agent, call.tool)
        like = next((other for other, said in reversed(recent[key]) if _similar(call, text, other, said)), None)
        if like is not None:
            found[key].append((call, like))
        recent[key].append((call, text))
    for (_, tool), pairs in found.items():
        call, like = pairs[-1]
        yield Hit(
            call.labels[:1],
            quote=_text(call),
            problem=f"{tool} is asked in nearly the words of [{like.labels[0]}]: {_text(like)[:160]}",
            severity="MEDIUM" if len(pairs) >= 2 else "LOW",
        )


def _text(call: ToolCall) -> str:
    """The longest text among the arguments, when it is some words long."""
    arguments = call.arguments if isinstance(call.arguments, dict) else {}
    inner = arguments.get("kwargs")
    values = [*arguments.values(), *(inner.values() if isinstance(inner, dict) else ())]
    text = max((value for value in values if isinstance(value, str)), key=len, default="")[:_COMPARED]
    return text if len(text.split()) >= _MIN_WORDS and not _PATH.match(text) else ""


def _similar(call: ToolCall, text: str, other: ToolCall, said: str) -> bool:
    if call.key == other.key or (call.asked and call.asked == other.asked):
        return False
    if not fuzz.token_sort_ratio(text, said, score_cutoff=_SIMILAR):
        return False
    changed = set(text.split()) ^ set(said.split())
    return (
        bool(other.error)
        or len(changed) > 2
        or not any(word[:1].isupper() or any(map(str.isdigit, word)) for word in changed)
    )


CHECK = Check(
    name="similar-search",
    about="a search again in nearly the same words",
    category="Poor Information Retrieval",
    dimensions=("EE",),
    find=find,
    why="The same words find the same pages.",
    confidence="hint",
    severity="LOW; MEDIUM from the second such call on.",
    cited="The last such call of an agent and tool.",
    false_alarms="One word changed that changes everything.",
)
