"""Which of many tools to offer: those of the template, what a search finds, and a few that are always there.

The search is an index's business (`LexicalIndex` here; embeddings where they are installed): anything that ranks tools
by name for a question will do, as long as it ranks them the same way every time.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from msgspec import Struct

from gpa.errors import UsageError
from gpa.plans.capabilities import Registry
from gpa.plans.requirements import Requirements

CAPS = range(8, 13)
"""How many tools may be offered: enough to choose from, few enough for a small model."""
OVER = 2
"""How many tools that are always offered may exceed the cap."""
FOUND = 10
"""Tools that are looked at for each question."""

_WORD = re.compile(r"[^\W_]+")


class Scored(Struct, frozen=True):
    """A tool and how well it fits a question, 0 to 1."""

    tool: str
    score: float


class Index(Protocol):
    """Ranks the tools of one registry."""

    def search(self, question: str, limit: int) -> Sequence[Scored]:
        """The best tools, best first, ties by name."""
        ...


class LexicalIndex:
    """Ranks by the words a question and a tool share, weighed by how rare they are (TF-IDF, cosine)."""

    def __init__(self, registry: Registry) -> None:
        documents = {tool.name: Counter(_words(tool.document)) for tool in registry.tools}
        spread = Counter(word for words in documents.values() for word in words)
        self._rarity = {word: math.log((1 + len(documents)) / (1 + count)) + 1 for word, count in spread.items()}
        self._tools = {name: self._weighed(words) for name, words in documents.items()}

    def search(self, question: str, limit: int) -> Sequence[Scored]:
        """The best tools; those that share no word with the question are not among them."""
        asked = self._weighed(Counter(_words(question)))
        found = [
            Scored(name, sum(weight * words[word] for word, weight in asked.items() if word in words))
            for name, words in self._tools.items()
        ]
        return sorted((one for one in found if one.score > 0), key=lambda one: (-one.score, one.tool))[:limit]

    def _weighed(self, words: Counter[str]) -> dict[str, float]:
        """Words with weights of length one; words no tool has say nothing."""
        weights = {w: (1 + math.log(n)) * self._rarity[w] for w, n in sorted(words.items()) if w in self._rarity}
        length = math.sqrt(math.fsum(weight * weight for weight in weights.values()))
        return {word: weight / length for word, weight in weights.items()} if length else {}


class Narrowed(Struct, frozen=True):
    """The tools to offer, and how they came to be."""

    tools: tuple[str, ...]
    template: tuple[str, ...]
    retrieved: tuple[Scored, ...]
    """What the search brought, best first, whether it is offered or not."""
    always: tuple[str, ...]
    """Added because they are always offered."""
    dropped: tuple[str, ...]
    """Found and let go again to make room."""
    notes: tuple[str, ...] = ()


def questions(requirements: Requirements) -> tuple[str, ...]:
    """One question for each requirement, and one with all of them."""
    single = [one.replace(".", " ").replace("_", " ") for one in requirements.ids(cover_metrics=True)]
    if requirements.group_by:
        single.append("group by " + " ".join(requirements.group_by))
    return (*single, " ".join(single)) if len(single) > 1 else tuple(single)


def retrieved(asked: Iterable[str], index: Index, *, limit: int = FOUND) -> tuple[Scored, ...]:
    """The tools any of the questions brings, each with its best score, best first, ties by name."""
    best: dict[str, float] = {}
    for question in asked:
        for one in index.search(question, limit):
            best[one.tool] = max(one.score, best.get(one.tool, one.score))
    return tuple(sorted((Scored(tool, score) for tool, score in best.items()), key=lambda one: (-one.score, one.tool)))


def narrow(
    found: Sequence[Scored],
    *,
    template: Sequence[str] = (),
    always: Collection[str] = (),
    cap: int = CAPS.start,
) -> Narrowed:
    """The tools to offer: the template's, then the found ones up to `cap`, then those that are always offered.

    These may exceed the cap by `OVER`; beyond that the found tools with the lowest scores give way. Tools of the
    template and those that are always offered never do: where they alone are too many, a note says so.

    Raises `UsageError` for a cap outside `CAPS`.
    """
    if cap not in CAPS:
        raise UsageError(f"cap: expected {CAPS.start} to {CAPS.stop - 1} tools, found {cap}")
    fixed = tuple(dict.fromkeys(template))
    taken: list[str] = []
    for one in found:
        if len(fixed) + len(taken) >= cap:
            break
        if one.tool not in fixed and one.tool not in taken:
            taken.append(one.tool)
    added = tuple(name for name in dict.fromkeys(always) if name not in fixed and name not in taken)
    dropped: list[str] = []
    while len(fixed) + len(taken) + len(added) > cap + OVER:
        at = next((n for n in reversed(range(len(taken))) if taken[n] not in always), None)
        if at is None:
            break
        dropped.append(taken.pop(at))
    tools = (*fixed, *taken, *added)
    notes: tuple[str, ...] = ()
    if len(tools) > cap + OVER:
        notes = (f"{len(tools)} tools of the template or always offered: more than {cap} and {OVER} over",)
    return Narrowed(tools, fixed, tuple(found), added, tuple(dropped), notes)


def _words(text: str) -> list[str]:
    """Words in lower case, without the `s` of a plural."""
    return [
        word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
        for word in _WORD.findall(text.casefold())
    ]
