"""What a proposed rubric is refused for: a changed scale, scope or form, too much text, or traces it was tuned on.

A judge's score means something only as long as 0 and 3 do, its findings add up with the other judges' only as long as
its borders hold, and its answer can be read only in the one form that the frame around every rubric asks for. So those
passages of the starting rubric stay word for word (`kept`), and nothing new may stand beside them.

The reasons are written for the model that proposes: they name what of *its* text is wrong, never what a trace holds.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence

from gpa.ingest.transcript import Transcript
from gpa.judges.gold import Gold
from gpa.judges.rubrics import Rubric
from gpa.optimize.leaks import Traits, known, leaked, traits

MAX_CHARS = 6_000
"""Of a rubric; three times the starting one when that is more. Long ones are read less closely, and paid for each
time."""
SHOWN = 6
"""Offending passages named in a reason."""

_ANCHOR = re.compile(
    r"^[^\w\n]*(?:score\s+(?:of\s+)?)?(?P<points>[0-9]{1,3}(?:\s*(?:and|or|,|-|\u2013|to)\s*[0-9]{1,3})?)(?:\s+points?)?"
    r"\W*(?:[:=\u2013\u2014]|lies?\b|(?:is|are|means)\b).*$",
    re.IGNORECASE | re.MULTILINE,
)
"""A line that says what a score means: `3: ...`, `**0** = ...`, `1 and 2 lie between`."""
_BORDER = re.compile(
    r"^\W*(?:not yours|out of scope|not in scope|another judge|leave to other judges|do not judge)\b", re.IGNORECASE
)
_INAPPLICABLE = re.compile(r"\b(?:does not apply|not applicable|another judge|other judges?)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?;])[\s*_]+(?=\S)")
_SCALE = re.compile(
    r"\b(?:scale (?:of|from)\W+|(?:scores?|rated?|graded?)\b[^.\n]{0,30}\bout of\W+"
    r"|(?:scores?|scored|ratings?|rated?|grades?|graded?|points?|marks?)\W+"
    r"(?:(?:are|is|run|runs|range|ranges|of|from|between|it|each|the|run|agent|a|as|on|in)\W+){0,4})"
    r"(?:(?P<low>\d+(?:\.\d+)?)\s*(?:-|\u2013|to|and|/)\s*)?(?P<high>\d+(?:\.\d+)?)",
    re.IGNORECASE,
)
_FIXED = re.compile(
    r"\b(?:score|scores|scored|scoring)\s+(?:(?:is|of|as|a|it|the|run|must|be|to)\s+){0,4}[03]\b", re.IGNORECASE
)
_FORM = re.compile(
    r"```|\{\s*[\"']\w+[\"']\s*:"
    r"|(?:^|(?<=[.!?:] )|^[^\S\n]*[-*\d.)]+[^\S\n]*)(?:please\s+|always\s+|then\s+|only\s+)*(?:"
    r"(?:respond|reply)\s+(?:(?:only|just|strictly|exactly)\s+)?(?:with|in|as|using|yes|no)\b"
    r"|(?:output|return|print|give|write)\s+(?:(?:only|just|strictly|exactly|your|the|a|an|one|it|as|in|single|valid)\s+)*"
    r"(?:json|xml|yaml|score|verdict|rating|object|true|false|pass|fail)\b"
    r"|answer\s+(?:(?:only|just|with|in|as|by|a|an|one)\s+)*(?:yes|no|true|false|json|pass|fail|word|number)\b)"
    r"|\b(?:output|answer|response|reply)\s+(?:format|schema|template)\b|\byour\s+(?:answer|response|reply|output)\b"
    r"|={4,}|\bbegins\s+={2,}",
    re.IGNORECASE | re.MULTILINE,
)
_LABEL = re.compile(r"\[s\d+\]|\bs\d{1,6}\b")
_REFERENCE = re.compile(
    r"\b(?:gold(?:en)?[- ](?:errors?|labels?|standards?|annotations?|answers?|findings?|set)|ground[- ]truth"
    r"|annotators?|annotated (?:errors?|traces?|spans?)|human (?:labels?|annotations?)|answer key"
    r"|reference (?:errors?|annotations?|labels?|findings?)"
    r"|(?:training|development|dev|held[- ]out|validation) (?:traces?|sets?|splits?|data|examples?))\b",
    re.IGNORECASE,
)


def guard_of(rubrics: Iterable[Rubric], gold: Gold, *, also_known: Iterable[str] = ()) -> Callable[..., str | None]:
    """A `results.Guard`: why a proposed rubric is refused, or None.

    Args:
        rubrics: All rubrics the search starts from: their words are no leaks.
        gold: The errors people found in the training traces, and in others.
        also_known: Further texts whose words are none: the frame, notes on the agent.
    """
    allowed = known([*(rubric.text for rubric in rubrics), *also_known])
    seen: dict[tuple[str, ...], Traits] = {}

    def guard(start: Rubric, proposed: Rubric, train: Sequence[Transcript]) -> str | None:
        which = tuple(transcript.trace_id for transcript in train)
        if which not in seen:
            seen[which] = traits(train, gold.of(which).errors)
        reasons = _too_long(start.text, proposed.text) or (
            *drift(start.text, proposed.text),
            *leak_reasons(leaked(proposed.text, seen[which], allowed)),
        )
        return " ".join(reasons) or None

    return guard


def leak_reasons(passages: Sequence[str]) -> tuple[str, ...]:
    """What is said of leaking passages."""
    if not passages:
        return ()
    rule = (
        "state the general rule in words that fit any agent and task, without names, numbers, identifiers or quotations"
    )
    return (f"It names particulars of single runs ({_listed(passages)}): {rule}.",)


def drift(start: str, proposed: str) -> tuple[str, ...]:
    """Where a proposed rubric leaves what has to stay of the starting one, a sentence each; empty when it does not."""
    if not proposed.strip():
        return ("It is empty.",)
    if long := _too_long(start, proposed):
        return long
    reasons = []
    title, own = _first_line(start), _first_line(proposed)
    if own != title:
        reasons.append(f"Its first line has to stay {title!r}.")
    held = _plain(proposed)
    lost = [passage for passage in kept(start)[1:] if _plain(passage) not in held]
    if lost:
        reasons.append(f"These passages have to stay word for word: {_listed(lost, 1_000)}.")
    for what, found in (
        ("It changes the scale, which is 0, 1, 2, 3 with 0 and 3 as they are defined", _scales(start, proposed)),
        ("It asks for a form of answer; the form is given elsewhere", _new(_FORM, start, proposed)),
        ("It cites labels of steps", _new(_LABEL, start, proposed)),
        ("It speaks of reference data; a judge has none", _new(_REFERENCE, start, proposed)),
        ("It holds invisible or control characters", _invisible(proposed)),
    ):
        if found:
            reasons.append(f"{what}: {_listed(found)}.")
    return tuple(reasons)


def _too_long(start: str, proposed: str) -> tuple[str, ...]:
    """The one reason against a text that is too long: nothing else is looked for in whatever a model may send."""
    limit = max(MAX_CHARS, 3 * len(start))
    if len(proposed) <= limit:
        return ()
    return (f"It has {len(proposed):,} characters: {limit:,} are the most.",)


def kept(start: str) -> tuple[str, ...]:
    """The passages of a rubric that have to stay word for word: title, scale, borders, when it does not apply."""
    passages = [_first_line(start)]
    passages += [match[0].strip() for match in _ANCHOR.finditer(start)]
    for block in re.split(r"\n\s*\n|\n(?=\s*[-*] )", start):
        if _BORDER.match(block):
            passages.append(" ".join(block.split()))
        else:
            passages += [one for one in _SENTENCE.split(" ".join(block.split())) if _INAPPLICABLE.search(one)]
    return tuple(dict.fromkeys(passages))


def _scales(start: str, proposed: str) -> list[str]:
    """What gives scores another meaning or another range."""
    before = {_plain(match[0]) for match in _ANCHOR.finditer(start)}
    found = [match[0] for match in _ANCHOR.finditer(proposed)]
    # The beginning of one that stays is one whose line was broken.
    found = [line for line in found if not any(one.startswith(_plain(line)) for one in before)]
    # Numbered paragraphs ("4: ...") are scores too where the scale is written like that; 1 and 2 may be told apart.
    found = [line for line in found if not set(re.findall(r"\d+", _points(line))) <= {"1", "2"}]
    for match in _SCALE.finditer(proposed):
        low, high = match["low"], match["high"]
        ends = {low, high} - {None}
        if (not ends <= {"0", "1", "2", "3"} or ends == {"1", "3"}) and match[0] not in start:
            found.append(match[0])
    return found + _new(_FIXED, start, proposed)


def _points(line: str) -> str:
    match = _ANCHOR.match(line)
    return match["points"] if match else ""


def _new(pattern: re.Pattern[str], start: str, proposed: str) -> list[str]:
    """What the pattern finds in the proposed rubric and not in the starting one."""
    before = {_plain(match[0]) for match in pattern.finditer(start)}
    return [match[0].strip() for match in pattern.finditer(proposed) if _plain(match[0]) not in before]


def _invisible(text: str) -> list[str]:
    return [f"U+{ord(sign):04X}" for sign in text if unicodedata.category(sign)[0] == "C" and sign not in "\n\t\r"]


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _plain(text: str) -> str:
    """The text without emphasis, in lower case, every white space a blank."""
    return " ".join(re.sub(r"[*_`]", "", text).lower().split())


def _listed(passages: Iterable[str], limit: int = 60) -> str:
    some = list(dict.fromkeys(" ".join(passage.split()) for passage in passages))
    shown = [passage if len(passage) <= limit else passage[: limit - 1] + "…" for passage in some[:SHOWN]]
    more = f" and {len(some) - SHOWN} more" if len(some) > SHOWN else ""
    return ", ".join(f"`{passage}`" for passage in shown) + more
