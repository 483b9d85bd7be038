"""Sizes that the instructions set and the agent does not keep.

- `chunk-limit` (LC): "read it 500 characters at a time" or "in chunks of at most 500 characters", and what the agent's
  code or call brought back is longer by more than half (headings and labels around a passage are no breach). Cited is
  the model call that is told, where the breach shows. Directory trees and patches the agent wrote itself are no
  reading.
- `answer-length` (GF, LC): "in at most 50 words", and the answer is longer.

Only limits in numbers count, stated for reading or for the answer, outside conditions. Known false alarms: a limit
meant for one of several sources; a result the agent could not know to be longer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from gpa.ingest.transcript import Transcript
from gpa.judges.checks.acts import Act, conduct, instructions
from gpa.judges.checks.check import Check, Hit
from gpa.judges.checks.sources import answer_of

_CHUNK = re.compile(
    r"(?P<chunks>\b(?:read|load|view|open|fetch|inspect|process)\w*\b[^.\n]{0,60}"
    r"\b(?:chunks|blocks|batches|pieces|parts|portions|segments) of\s+"
    r"(?:(?:at most|no more than|not more than|up to|max(?:imum)?(?: of)?)\s+)?)?"
    r"\b(?P<limit>\d[\d,]{1,6})\s*(?P<unit>characters?|chars?|lines?|words?)\b"
    r"(?(chunks)|\s+at\s+(?:(?:a|one)\s+time|once)\b)",
    re.IGNORECASE,
)
_LENGTH = re.compile(
    r"\b(?:at most|no more than|not more than|no longer than|up to|max(?:imum)?(?: of)?|under|fewer than"
    r"|less than|within)\s+"
    r"(?P<limit>\d{1,5})\s+(?P<unit>words?|characters?|sentences?|lines?)\b",
    re.IGNORECASE,
)
_ANSWER = re.compile(r"\b(?:answer|reply|repl(?:y|ies)|respon[ds]e?|summar\w+|output|message)\b", re.IGNORECASE)
_UNLESS = re.compile(
    r"\b(?:if|unless|when|each|every|per|query|queries|title|subject|step|plan|thought|task)\b", re.IGNORECASE
)
_SLACK = 1.5
_TREE = re.compile(r"[├└│]──|^[+-]{3} ", re.MULTILINE)
_HEAD = 20_000
_SENTENCE_END = re.compile(
    # Not after e.g., an initial or a title, nor before a small letter.
    r"(?<!\b[^\W\d_])(?<!\b[DJMS]r)(?<!\bM[rs]s)(?<!\bMs)(?<!\bSt)(?<!\bvs)(?<!\bProf)"
    r"[.!?](?=\s+[^a-zß-ÿ\s]|\s*\Z)"
)
_UNITS = {"char": "characters", "line": "lines", "word": "words", "sent": "sentences"}
_MEASURE: dict[str, Callable[[str], int]] = {
    "char": len,
    "line": lambda text: text.count("\n") + 1,
    "word": lambda text: len(text.split()),
    "sent": lambda text: max(1, len(_SENTENCE_END.findall(text))),
}


def chunk_limit(transcript: Transcript) -> Iterator[Hit]:
    """One hit for each act that is told more at a time than its instructions allow to read."""
    for agent, acts in conduct(transcript).by_agent.items():
        stated = next(_stated(transcript, agent, _CHUNK), None)
        if stated is None:
            continue
        limit, unit, sentence = stated
        for last, act in pairwise(acts):
            size = _MEASURE[unit](act.told) if last.acts and act.told else 0
            if size > limit * _SLACK and not _TREE.search(act.told[:200_000]) and not _own(act.told, last):
                yield Hit(
                    (act.label,),
                    quote=act.told.strip().partition("\n")[0][:200],
                    problem=(
                        f"{size} {_UNITS[unit]} were brought back at a time, the instructions allow {limit}: {sentence}"
                    ),
                    severity="MEDIUM",
                )


def answer_length(transcript: Transcript) -> Iterator[Hit]:
    """One hit for each agent whose answer is longer than its instructions allow."""
    for agent, acts in conduct(transcript).by_agent.items():
        answer = answer_of(act for act in acts if not act.planning)
        if answer is None or answer.acts:
            continue
        for limit, unit, sentence in _stated(transcript, agent, _LENGTH):
            size = _MEASURE[unit](answer.said)
            if size > limit and _ANSWER.search(sentence) and not _UNLESS.search(sentence):
                yield Hit(
                    (answer.label,),
                    quote=answer.said[:200],
                    problem=f"the answer has {size} {_UNITS[unit]}, the instructions allow {limit}: {sentence}",
                    severity="MEDIUM",
                )
                break


def _stated(transcript: Transcript, agent: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, str, str]]:
    """(limit, unit, sentence) as the agent's instructions state it."""
    for message in instructions(transcript, agent):
        text = message.text[:_HEAD]
        for match in pattern.finditer(text):
            start = max(text.rfind(sign, 0, match.start()) for sign in (". ", "\n", "! ", "? ")) + 1
            yield (
                int(match["limit"].replace(",", "")),
                match["unit"].lower()[:4],
                text[start : match.end()].strip()[-240:],
            )


def _own(told: str, last: Act) -> bool:
    """Whether most of what came back is what the agent's own code holds."""
    lines = [line.strip() for line in told[:20_000].splitlines() if len(line.strip()) > 10]
    return bool(lines) and sum(line in last.code for line in lines) * 2 > len(lines)


CHUNK_LIMIT = Check(
    name="chunk-limit",
    about="more read at a time than the instructions allow",
    category="Instruction Non-compliance",
    dimensions=("LC",),
    find=chunk_limit,
    why="The limit protects the context window, or is a rule of the user.",
    confidence="likely",
    severity="MEDIUM.",
    cited="Each model call that is told too much.",
    false_alarms="A limit meant for one of several sources; a result the agent could not know to be longer.",
    version=2,
)
ANSWER_LENGTH = Check(
    name="answer-length",
    about="an answer longer than the instructions allow",
    category="Instruction Non-compliance",
    dimensions=("LC", "GF"),
    find=answer_length,
    why="The limit is part of the request.",
    confidence="certain",
    severity="MEDIUM.",
    cited="The answer.",
    false_alarms="A limit meant for another text than the answer.",
    version=2,
)
