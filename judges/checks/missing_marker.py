"""An output that lacks a literal marker its instructions demand.

Flags: the instructions say in so many words that an output ends with, begins with or is wrapped in a given text ("end
your answer with '<done>'", "write the '<end_plan>' tag and stop there"), and the output does not hold it anywhere. Why:
whatever reads the output looks for the marker.

A demand is read from one sentence: a verb of position, a literal (quoted or a tag), and what it is about: the plan,
code, the final answer, or every response. "Respond only with JSON" demands that the final answer be JSON. Sentences
with a condition, a negation or an example, and those that do not say what they are about, demand nothing here. Demands
hold for the call whose input states them; those on the final answer for the agent's last text.

Not flagged: an answer that asks back (the final one is still to come); outputs that were cut by their token limit or
end at a stop sequence by the API's own word; an ending that is missing from every one of three or more outputs, which
is how a stop sequence looks that the API took off; code without its marker, unless that is why it could not be read
(code that ran was understood).

Known false alarms: an ending used as stop sequence with fewer than three outputs.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

from gpa.ingest.dialects.call import Message
from gpa.ingest.tool_calls import faults
from gpa.ingest.transcript import Step, Transcript
from gpa.judges.checks.check import Check, Hit
from gpa.judges.checks.replies import asks_back, at_limit, filtered

Scope = Literal["plan", "code", "final", "every"]

_MAX_LINE = 700
_MIN_CUT = 3
"""From this many outputs on, an ending that all of them lack is taken for a stop sequence."""
_TAIL = 240
_HEAD_CHARS, _TAIL_CHARS = 16_000, 6_000
"""How much of a message is read for demands: instructions stand at its beginning or its end."""
_UNREAD = re.compile(
    r"\b(?:pattern|regex|not found in|could not be read|no code|code (?:blob|block|fence)s?)\b", re.IGNORECASE
)

_NEAR = r"[^'\"`“<.!?]{0,80}?"
_ENDING = re.compile(
    rf"\b(?:ends?|finish|conclude|terminate|close)\b{_NEAR}\b(?:with|by)\b"
    rf"|\bafter\b{_NEAR}\b(?:write|add|output|append|put|print)\b",
    re.IGNORECASE,
)
_POSITION = re.compile(
    rf"""{_ENDING.pattern}
      |\b(?:begins?|starts?|preface|prefix)\b{_NEAR}\bwith\b
      |\b(?:wrap|enclose|put|place|surround|return|give)(?:ped|d|ed)?\b{_NEAR}\b(?:in|inside|within|between|with)\b
      |\bformatted\ (?:as|like)\b
      |\b(?:last|final)\ line\b(?:\ of\ (?:your|the)\ \w+)?\ (?:must|should|has\ to|needs\ to)\ (?:be|read|say)\b
      |\buse\ the\ following\ (?:template|format)\s*:""",
    re.IGNORECASE | re.VERBOSE,
)
_LITERAL = re.compile(
    r"""[\s\w:,]{0,32}?(?:
        (?<!\w)'(?P<single>[^'\n]{2,60})'(?!\w) | "(?P<double>[^"\n]{2,60})" | `(?P<tick>[^`\n]{2,60})`
      | “(?P<curly>[^”\n]{2,60})” | (?P<tag></?[A-Za-z_][\w-]{1,30}>)
      | (?<!\w)(?P<capitals>[A-Z]{3,}(?:[ _][A-Z]{2,}){0,3}:)
      | (?<=\b(?:word|term)\ )(?P<word>[A-Z][A-Z_]{3,})\b | (?P<tex>\\boxed\{)
    )""",
    re.VERBOSE,
)
_JSON_ONLY = re.compile(
    r"\b(?:respond|answer|reply)\s+(?:only|solely|exclusively)\s+(?:with|in)\s+(?:a\s+)?(?:single\s+)?(?:valid\s+)?JSON\b"
    r"(?=\s*(?:object|array|list|format)?\s*(?:[.!:,]|$))",
    re.IGNORECASE,
)
_LITERAL_JSON = re.compile(r'(?:```(?:json)?\s*)?(?:"[^\n]*"|-?\d[\d.e+-]*|true|false|null)(?:\s*```)?')
_JSON = "JSON"
"""Stands as the marker where no literal is demanded, but a whole answer in JSON."""
_SIGN = re.compile(r"(?<!\w)['\"`“]|</?[A-Za-z_]|[A-Z]{3}|\\boxed")
"""What each kind of literal begins with: most lines hold none, and are passed over quickly."""
_SHOWN = re.compile(r"\s*(?:calling tools?:|call id:|observations?:|error:|execution logs:|thought:)", re.IGNORECASE)
"""How messages begin that show what was done instead of asking for something."""
_PLACEHOLDER = re.compile(
    r"(?<=.)\s*(?:[\[{<(]\s*(?:your|the|an?|insert|answer|final)\b.*|\.\.\.|…|\{\{?\w*\}?\}.*|\[[A-Z][A-Z ]+\].*"
    r"|(?<=[:=] )<[\w -]+>.*)",
    re.IGNORECASE,
)
_UNLESS = re.compile(
    r"\b(?:if|unless|when|whenever|in case|either|or|may|might|can|could|optional(?:ly)?|for example|e\.g\.|such as"
    r"|like|do not|don't|never|avoid|not|instead|without|will|would|was|were|did"
    r"|user|tool|observation|input|file|filename|string|(?<!last )(?<!final )line|word|paragraph|sentence|section)\b",
    re.IGNORECASE,
)
_SCOPES: tuple[tuple[Scope, re.Pattern[str]], ...] = (
    ("plan", re.compile(r"\bplan\b", re.IGNORECASE)),
    ("code", re.compile(r"\bcode\b", re.IGNORECASE)),
    (
        "every",
        re.compile(
            r"\b(?:each|every|all|any|always)\b.*\b(?:response|reply|message|turn|output)s?\b"
            r"|\b(?:each|every) answer\b",
            re.IGNORECASE,
        ),
    ),
    (
        "final",
        re.compile(
            r"\b(?:answer|(?:final|your) (?:response|reply|output|report|message)|(?:last|final) line)\b", re.IGNORECASE
        ),
    ),
)


class Demand(NamedTuple):
    """A marker that a sentence of the instructions demands."""

    marker: str
    scope: Scope
    ending: bool
    sentence: str


class _Read(dict[str, tuple[Demand, ...]]):
    """The demands of every text met, each text read once."""

    def __missing__(self, text: str) -> tuple[Demand, ...]:
        found = self[text] = tuple(demands(text))
        return found

    def of(self, messages: Iterable[Message]) -> Iterator[tuple[Message, Demand]]:
        """What instructions among these messages demand."""
        for message in messages:
            if message.role in {"system", "developer", "user"} and message.text and not _SHOWN.match(message.text):
                for demand in self[message.text]:
                    yield message, demand


def find(transcript: Transcript) -> Iterator[Hit]:
    """One hit for each marker, at the first output of each agent that lacks it."""
    read = _Read()
    models = [step for step in transcript.steps if step.kind == "llm"]
    last = {step.agent: step.label for step in models if _said(step)}
    asked = {step.agent for step in models for _, demand in read.of(step.messages) if demand.scope == "final"}
    plans = {plan.label for plan in transcript.plans}
    unread = {fault.cause for fault in faults(transcript) if fault.cause and _UNREAD.search(fault.text[:2_000])}
    held: defaultdict[Demand, dict[str, bool]] = defaultdict(dict)
    for step in models:
        text = _said(step).lower()
        if not text or _cut(step):
            continue
        final = last[step.agent] == step.label and not any(message.tool_name for message in step.output)
        final = final and not asks_back(text)
        for message, demand in read.of(_instructions(transcript, step, whole=final and step.agent in asked)):
            own = message.role == "user" and message in step.messages
            applies = {
                "plan": own or step.label in plans,
                "code": step.label in unread,
                "every": own or message.role != "user",
                "final": final,
            }
            if applies[demand.scope]:
                held[demand][step.label] = _holds(text, demand.marker)
    order = {step.label: number for number, step in enumerate(models)}
    for demand, outputs in held.items():
        lacking = sorted((label for label, present in outputs.items() if not present), key=order.__getitem__)
        if lacking and not (demand.ending and len(lacking) == len(outputs) >= _MIN_CUT):
            first = {transcript.step(label).agent: label for label in reversed(lacking)}
            yield _hit(transcript, demand, sorted(first.values(), key=order.__getitem__), len(lacking))


def _instructions(transcript: Transcript, step: Step, *, whole: bool) -> Iterable[Message]:
    """The agent's instructions, where this input begins with them, and what is new in it; or all of the input."""
    if whole:
        return transcript.full_input(step.label)
    agent = transcript.agent(step.agent) if any(run.label == "@" for run in step.history) else None
    return (*agent.system, *step.messages) if agent else step.messages


def demands(text: str) -> Iterator[Demand]:
    """The markers a text demands, each once, in order."""
    seen: set[str] = set()
    if len(text) > _HEAD_CHARS + _TAIL_CHARS:
        text = f"{text[:_HEAD_CHARS]}\n{text[-_TAIL_CHARS:]}"
    for line in text.splitlines():
        if len(line) <= _MAX_LINE and _SIGN.search(line):
            for demand in _of_line(line):
                if demand.marker not in seen:
                    seen.add(demand.marker)
                    yield demand


@lru_cache(maxsize=4_096)
def _of_line(line: str) -> tuple[Demand, ...]:
    """What a line demands; remembered, as the traces of one agent begin with the same lines."""
    found = [_demand(line, position) for position in _POSITION.finditer(line)]
    found += [_json_demand(line, position) for position in _JSON_ONLY.finditer(line)]
    return tuple(demand for demand in found if demand is not None)


def _json_demand(line: str, position: re.Match[str]) -> Demand | None:
    before = line[_sentence_start(line, position) : position.start()]
    return (
        None
        if _UNLESS.search(before)
        else Demand(_JSON, "final", ending=False, sentence=f"{before}{position[0]}".strip())
    )


def _sentence_start(line: str, position: re.Match[str]) -> int:
    return max(line.rfind(sign, 0, position.start()) for sign in (". ", "! ", "? ", "; ")) + 1


def _demand(line: str, position: re.Match[str]) -> Demand | None:
    literal = _LITERAL.match(line, position.end())
    if literal is None:
        return None
    marker = next(value for value in literal.groups() if value is not None)
    marker = _PLACEHOLDER.sub("", marker.replace("\\n", " ")).strip()
    start = _sentence_start(line, position)
    sentence = line[start : literal.end()].strip()
    rest = line[literal.end() : literal.end() + 60]
    before = line[start : literal.start()]
    if (
        len(marker) < 3
        or _UNLESS.search(before)
        or rest.lstrip().lower().startswith(("or ", "if ", "unless ", "when "))
    ):
        return None
    scope = next((scope for scope, pattern in _SCOPES if pattern.search(before)), None)
    if scope is None and position[0].lower().startswith("use the following") and "final" in before.lower():
        scope = "final"
    return Demand(marker, scope, bool(_ENDING.match(position[0])), sentence) if scope else None


def _said(step: Step) -> str:
    return "\n".join(
        message.text for message in step.output if message.role not in {"reasoning", "tool"} and message.text.strip()
    )


def _holds(text: str, marker: str) -> bool:
    """Whether a text, in small letters, holds a marker; what shows an object, a list or a literal is JSON enough."""
    if marker == _JSON:
        return "{" in text or "[" in text or _LITERAL_JSON.fullmatch(text.strip()) is not None
    return marker.lower() in text


def _cut(step: Step) -> bool:
    """Whether the output ends where a limit or a stop sequence cut it."""
    return at_limit(step) or filtered(step) or "stop_sequence" in step.finish_reason.lower()


def _named(demand: Demand) -> str:
    return demand.marker if demand.marker == _JSON else repr(demand.marker)


def _hit(transcript: Transcript, demand: Demand, first: list[str], times: int) -> Hit:
    text = _said(transcript.step(first[0]))
    lacks = "the output lacks" if times == 1 else f"{times} outputs, this one first, lack"
    return Hit(
        tuple(first),
        quote=text[-_TAIL:] if demand.ending else text[:_TAIL],
        problem=f"{lacks} {_named(demand)}, which its instructions demand: {demand.sentence}",
        severity="MEDIUM" if demand.scope == "final" else "LOW",
    )


CHECK = Check(
    name="missing-marker",
    about="an output that lacks a literal marker its instructions demand",
    category="Instruction Non-compliance",
    dimensions=("LC",),
    find=find,
    why="Whatever reads the output looks for the marker.",
    confidence="likely",
    severity="LOW; MEDIUM for the final answer.",
    cited="The first output of each agent that lacks it.",
    false_alarms=(
        "An ending that serves as stop sequence, so that the API takes it off, in a run with fewer than "
        "three such outputs."
    ),
    version=3,
)
