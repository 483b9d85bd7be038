"""Identifiers copied wrongly.

`misread-value` (TC, LC): an argument, or the answer, holds an identifier (six characters or more, with digits) that
occurs nowhere before, while one with two neighbouring characters the other way round does. Copying went wrong.

Other single changes are not flagged: they may be the next number of a series. Known false alarms: two identifiers that
really differ by a swap, where the right one was never shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpa.ingest.history import canonical
from gpa.ingest.transcript import Transcript
from gpa.judges.checks.acts import conduct
from gpa.judges.checks.check import Check, Hit
from gpa.judges.checks.sources import answer_of

_IDENTIFIER = re.compile(r"(?<![\w.])(?=[\w-]*\d)[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*(?![\w])")
_MIN, _MAX = 6, 40
_MAX_TEXT = 40_000
_MAX_WRITTEN = 500


def find(transcript: Transcript) -> Iterator[Hit]:
    """One hit for each identifier that was copied wrongly."""
    texts: list[str] = []
    written: dict[str, tuple[str, int]] = {}
    at = 0
    for text, label, said in _in_order(transcript):
        for value in _identifiers(said) if len(written) < _MAX_WRITTEN else ():
            written.setdefault(value, (label, at + len(text)))
        texts += [text, said]
        at += len(text) + len(said)
    whole = "".join(texts)
    # Nearly every identifier was read before, which a search says at once; words are looked at for the rest only.
    new = {value: place for value, place in written.items() if whole.find(value, 0, place[1]) < 0}
    anagrams = _anagrams(whole, {"".join(sorted(value)) for value in new}) if new else {}
    for value, (label, before) in new.items():
        near = next(
            (o for o, start in anagrams.get("".join(sorted(value)), ()) if start < before and _swapped(value, o)), ""
        )
        if near:
            problem = f"{value} occurs nowhere before; what was read is {near}"
            yield Hit((label,), quote=value, problem=problem, severity="HIGH")


def _in_order(transcript: Transcript) -> Iterator[tuple[str, str, str]]:
    """Per step what it brings to read, its label, and what a model wrote into calls and answers there."""
    read = conduct(transcript)
    first = {acts[0].label for acts in read.by_agent.values()}
    answers = {a.label for acts in read.by_agent.values() if (a := answer_of(x for x in acts if not x.planning))}
    for step in transcript.steps:
        if step.kind != "llm":
            yield "".join(f"{m.text[:_MAX_TEXT]}\n" for m in step.output), step.label, ""
            continue
        agent = transcript.agent(step.agent) if step.label in first else None
        given = (*(agent.system if agent else ()), *step.messages)
        said = "".join(f"{canonical(m.arguments)}\n" for m in step.output if m.tool_name and m.arguments is not None)
        if step.label in answers:
            said += read.acts[step.label].prose + "\n"
        yield "".join(f"{m.text[:_MAX_TEXT]}\n" for m in given), step.label, said[:_MAX_TEXT]


def _anagrams(text: str, wanted: set[str]) -> dict[str, list[tuple[str, int]]]:
    """Identifiers of a text with the letters wanted, with where they first stand."""
    sizes = {len(letters) for letters in wanted}
    found: dict[str, dict[str, int]] = {}
    for match in _IDENTIFIER.finditer(text):
        if len(match[0]) in sizes:
            letters = "".join(sorted(match[0]))
            if letters in wanted:
                found.setdefault(letters, {}).setdefault(match[0], match.start())
    return {letters: list(places.items()) for letters, places in found.items()}


def _identifiers(text: str) -> list[str]:
    found = (match[0] for match in _IDENTIFIER.finditer(text))
    return [value for value in dict.fromkeys(found) if _MIN <= len(value) <= _MAX]


def _swapped(one: str, other: str) -> bool:
    """Whether two texts differ by two neighbours that stand the other way round."""
    differing = [at for at in range(len(one)) if one[at] != other[at]]
    return len(differing) == 2 and differing[1] - differing[0] == 1


CHECK = Check(
    name="misread-value",
    about="an identifier copied with two characters swapped",
    category="Tool Output Misinterpretation",
    dimensions=("TC", "LC"),
    find=find,
    why="The value goes to the wrong record, and nothing fails.",
    confidence="likely",
    severity="HIGH.",
    cited="The model call that wrote it.",
    false_alarms="Two identifiers that really differ by a swap, where the right one was never shown.",
)
