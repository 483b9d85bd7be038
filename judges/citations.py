"""Labels and quotes -> span ids that exist: nothing a model cites reaches a result unchecked.

A cited label that names no step is replaced by the step that holds the quote; so is one whose step does not hold it,
since the quote is what the model read. What cannot be replaced is dropped and counted. A quote that stands nowhere
makes the finding ungrounded.

Quotes are compared with what the model was shown (every step as it is rendered, in full), white space and escapes
aside.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from rapidfuzz import fuzz

from gpa.ingest.render import Page, neutral
from gpa.ingest.transcript import Transcript

MIN_SIMILARITY = 90.0
"""rapidfuzz partial_ratio (0-100) from which a passage counts as the quoted one: a few changed characters in a sentence
(another dash, a dropped word) stay above it, another sentence of the same kind stays below."""
MIN_QUOTE = 8
"""Characters a quote needs to be looked for outside the cited steps."""
MIN_FUZZY = 24
"""Characters it needs to be compared inexactly, and to overrule a label of a step: short ones recur by chance."""
MAX_FUZZY = 400
"""Characters of a quote that are compared inexactly."""
MAX_RANGE = 20
"""Steps that a cited range may name; a longer one points at nothing in particular, and only its ends count."""
FUZZY_BUDGET = 200_000_000
"""Characters that all inexact comparisons in one transcript may go through (some seconds); then only exact ones."""

ELISION = re.compile(
    # What a model leaves out of a quote, what a rendering leaves out of a text, and its references.
    r"\s*(?:\[\s*\.\.\.[^\]\n]{0,60}\]|\(\s*as in s\d{1,9}\s*\)|\[?\s*(?:\.{3,}|\u2026)\s*\]?)\s*"
)
_BLANK = re.compile(r"(?:[\s\u200b-\u200f\u2060\ufeff]|\\+[nrt])+")
_ESCAPED = re.compile(r"\\+([\"'/\\])")
_LABEL = re.compile(r"(?<![^\W_])s(\d{1,9})(?!\w)", re.IGNORECASE)
_NUMBER = re.compile(
    # A bare number, in brackets or after `step`; a negative one or a share (-1, 5 %) is none.
    r"[^\w%\u2010-\u2015\u2212-]*(?:step(?:-(?=\d)|[^\w%\u2010-\u2015\u2212-]*))?(\d{1,9})[^\w%]*",
    re.IGNORECASE,
)
_RANGE = re.compile(
    r"(?<![^\W_])(?:s|steps?\s+)(\d{1,9})\]?\s*(?:[\u2010-\u2015-]|\.{2,3}|\u2026|to|through)\s*\[?s?(\d{1,9})(?!\w)",
    re.IGNORECASE,
)
_ALIKE = str.maketrans("\u2018\u2019\u201c\u201d\u2011\u2013\u2014", "''\"\"---")
_BETWEEN = "\x00"
"""Between the texts of two steps; no quote holds it."""


class Resolved(NamedTuple):
    """Where a finding is."""

    labels: tuple[str, ...]
    grounded: bool
    """Whether the quote stands in the trace."""
    dropped: int = 0
    """Cited labels that name no step and could not be repaired."""
    repaired: bool = False
    """Whether the quote decided where it is, in place of a label that was missing or wrong."""


class Citations:
    """Looks up labels and quotes in one transcript, as it was shown to the model."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._labels = tuple(step.label for step in transcript.steps)
        self._position = {label: number for number, label in enumerate(self._labels)}
        self._left = FUZZY_BUDGET
        self._known: dict[str, tuple[int, int] | None] = {}
        """Found inexactly, by quote: the steps between which it stands."""

    @cached_property
    def _by_span(self) -> dict[str, str]:
        return {span_id: step.label for step in self._transcript.steps for span_id in step.span_ids}

    @cached_property
    def _pages(self) -> tuple[str, tuple[int, ...]]:
        """The texts of all steps, then of the agents' instructions and tools; and where each begins."""
        texts, starts, at = [], [], 0
        for text in self._rendered():
            texts.append(normal(text))
            starts.append(at)
            at += len(texts[-1]) + len(_BETWEEN)
        return _BETWEEN.join(texts), tuple(starts)

    def _rendered(self) -> Iterator[str]:
        for step in self._transcript.steps:
            page = Page()
            page.step(step)
            page.footer()
            yield page.text()
        page = Page()
        page.header(self._transcript)
        plans = (plan.text for plan in self._transcript.plans)
        yield "\n".join((page.text(), *map(neutral, (self._transcript.goal, *plans))))

    def resolve(self, cited: Iterable[str], quote: str) -> Resolved:
        """The steps a finding is about, in the order cited; a step found by the quote comes first."""
        labels, dropped = self._read(cited)
        parts = [part for piece in ELISION.split(neutral(quote)) if (part := normal(piece))]
        wanted = max(parts, key=len, default="")
        if not wanted:
            return Resolved(labels, grounded=False, dropped=dropped)
        if any(self._stands(wanted, self._position[label]) for label in labels):
            return Resolved(labels, self._all_stand(parts), dropped)
        if len(wanted) < MIN_QUOTE:
            return Resolved(labels, grounded=False, dropped=dropped)
        found = self._find(wanted, near=self._position[labels[0]] if labels else 0)
        if found is None:
            return Resolved(labels, grounded=False, dropped=dropped)
        grounded = self._all_stand(parts)
        if found == len(self._labels) or (labels and not dropped and len(wanted) < MIN_FUZZY):
            return Resolved(labels, grounded, dropped)  # in the instructions; or too short to overrule a label
        # In place of a label that names no step, if there is one, else of the first one cited.
        kept = labels if dropped or not labels or self._had_read(labels[0], found) else labels[1:]
        return Resolved((self._labels[found], *kept), grounded, max(0, dropped - 1), repaired=True)

    def _read(self, cited: Iterable[str]) -> tuple[tuple[str, ...], int]:
        """The steps named, each once, and how many names there were of none."""
        known: dict[str, None] = {}
        unknown: set[str] = set()
        for text in cited:
            for name in self._names(text.strip()):
                if name in self._position:
                    known[name] = None
                else:
                    unknown.add(name)
        return tuple(known), len(unknown)

    def _names(self, text: str) -> Iterable[str]:
        """Labels in a text (`[s3]`, `S03`, `s3-s5`, `step 3`), the label of the span it is the id of, or the text."""
        if (label := self._by_span.get(text.lower())) is not None:
            return (label,)
        if number := _NUMBER.fullmatch(text):
            return (f"s{int(number[1])}",)
        return [f"s{int(digits)}" for digits in _LABEL.findall(_RANGE.sub(self._spelled_out, text))] or (text,)

    def _spelled_out(self, found: re.Match[str]) -> str:
        """The labels of a range of steps (`s2-s4`), if they all exist and are not too many; else what stood there."""
        first, last = int(found[1]), int(found[2])
        labels = [f"s{number}" for number in range(first, min(last, first + MAX_RANGE) + 1)]
        fits = first <= last < first + MAX_RANGE and all(label in self._position for label in labels)
        return ", ".join(labels) if fits else found[0]

    def _had_read(self, label: str, found: int) -> bool:
        """Whether the step is a model call after the found one in the same agent: it had the quote before it."""
        step, other = self._transcript.step(label), self._transcript.steps[found]
        return step.kind == "llm" and step.agent == other.agent and found < self._position[label]

    def _all_stand(self, parts: Iterable[str]) -> bool:
        return all(len(part) < MIN_QUOTE or self._find(part, near=0) is not None for part in parts)

    def _stands(self, wanted: str, position: int) -> bool:
        """Whether the step at this position holds the passage, exactly or nearly."""
        text, starts = self._pages
        start, stop = starts[position], starts[position + 1] - len(_BETWEEN)
        if text.find(wanted, start, stop) >= 0:
            return True
        return len(wanted) >= MIN_FUZZY and self._similar(wanted, text[start:stop]) is not None

    def _find(self, wanted: str, near: int) -> int | None:
        """Position of the step that holds the passage: exactly, the nearest one; else where it nearly stands."""
        text, starts = self._pages
        at = starts[near]
        after, before = text.find(wanted, at), text.rfind(wanted, 0, at + len(wanted) - 1)
        exact = [self._holder(place) for place in (after, before) if place >= 0]
        if exact:
            return min(exact, key=lambda position: abs(position - near))
        if len(wanted) < MIN_FUZZY:
            return None
        if wanted not in self._known:
            self._known[wanted] = self._similar(wanted, text)
        place = self._known[wanted]
        return None if place is None else self._holder(sum(place) // 2)

    def _holder(self, place: int) -> int:
        return bisect_right(self._pages[1], place) - 1

    def _similar(self, wanted: str, text: str) -> tuple[int, int] | None:
        """Where in the text a passage like the wanted one stands, if there is one."""
        self._left -= len(text)
        if self._left < 0 or len(text) < len(wanted[:MAX_FUZZY]) // 2:
            return None  # a text so much shorter would be looked for in the quote
        found = fuzz.partial_ratio_alignment(wanted[:MAX_FUZZY], text, score_cutoff=MIN_SIMILARITY)
        return None if found is None else (found.dest_start, found.dest_end)


def passage_stands(passage: str, texts: Iterable[str]) -> bool:
    """Whether one of the texts holds what is quoted, compared as quotes of a trace are: exactly or nearly."""
    parts = [part for piece in ELISION.split(neutral(passage)) if (part := normal(piece))]
    return bool(parts) and any(all(_holds(text, part) for part in parts) for text in map(normal, map(neutral, texts)))


def _holds(text: str, part: str) -> bool:
    if part in text:
        return True
    if len(part) < MIN_FUZZY or len(text) < len(part[:MAX_FUZZY]) // 2:
        return False
    return fuzz.partial_ratio(part[:MAX_FUZZY], text, score_cutoff=MIN_SIMILARITY) > 0


def normal(text: str) -> str:
    r"""The text as quotes are compared: white space (also written as `\n`) as one blank, no escapes, plain quotes."""
    return _BLANK.sub(" ", _ESCAPED.sub(r"\1", text).translate(_ALIKE)).replace(_BETWEEN, " ").strip()
