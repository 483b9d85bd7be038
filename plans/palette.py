"""The tools a planner may use, as its author describes them: what each is for, what it cannot do, how it is called.

A palette is a file (TOML or JSON), never code: the rules of the plan metrics read their phrases from it.
"""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct
from rapidfuzz import fuzz

from gpa.errors import InputError
from gpa.plans.located import found
from gpa.plans.toml_or_json import read_value

SIMILAR = 90.0
"""How alike (0 to 100) a passage of a prompt must be to a phrase to count as it."""
_EXPECTED = "a palette of tools"
_WORDS = re.compile(r"[^\W_]+")


class Limit(Struct, frozen=True, forbid_unknown_fields=True):
    """Something a tool cannot do, and how prompts ask for it."""

    why: str
    phrases: tuple[str, ...]


class PaletteTool(Struct, frozen=True, forbid_unknown_fields=True):
    """One tool of a palette."""

    name: str
    about: str = ""
    """What it does, what it takes, what it gives: shown to models that plan or judge."""
    limits: tuple[Limit, ...] = ()
    inputs: Literal["anywhere", "argument", "prompt"] = "anywhere"
    """Where the placeholders of earlier results stand: in an argument of their own, or inside the prompt."""
    triggers: tuple[str, ...] = ()
    """Phrases of which a prompt may hold only a few."""
    max_triggers: int = 3
    one_question: bool = False
    """A prompt has to ask one thing."""
    executable: bool = True
    """Whether a prompt can be too hard for it; a language model's cannot."""
    filters: bool = False
    """It filters: a filter that a step before it has applied already is redundant."""


class Palette(Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """The tools there are."""

    tools: tuple[PaletteTool, ...]
    query: tuple[str, ...] = ("the query",)
    """How prompts mention the user's question, for which the placeholder `(query)` has to stand."""

    @cached_property
    def _by_name(self) -> dict[str, PaletteTool]:
        return {tool.name.casefold(): tool for tool in self.tools}

    def get(self, name: str) -> PaletteTool | None:
        """The tool of this name, whatever its case, or None."""
        return self._by_name.get(name.casefold())

    @property
    def described(self) -> str:
        """The tools as a model is told of them."""
        return "\n".join(f"- {tool.name}: {tool.about or 'no description'}" for tool in self.tools)


def load_palette(path: str | Path) -> Palette:
    """The palette in a TOML or JSON file. Raises `InputError`."""
    path = Path(path).expanduser()
    value = read_value(path, _EXPECTED)
    try:
        palette = msgspec.convert(value, Palette)
    except msgspec.ValidationError as error:
        raise InputError(f"{path}: expected {_EXPECTED}: {error}") from error
    names = [tool.name.casefold() for tool in palette.tools]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{path}: expected a name for each tool, found {found(name)} more than once")
    return palette


def phrases_in(text: str, phrases: tuple[str, ...]) -> tuple[str, ...]:
    """The phrases that a text holds, in these words or nearly."""
    words = _WORDS.findall(text.casefold())
    return tuple(phrase for phrase in phrases if _holds(words, _WORDS.findall(phrase.casefold())))


def _holds(words: list[str], phrase: list[str]) -> bool:
    """Whether some run of as many words is the phrase, give or take its endings."""
    size, wanted = len(phrase), " ".join(phrase)
    return size > 0 and any(
        fuzz.ratio(" ".join(words[at : at + size]), wanted) >= SIMILAR for at in range(len(words) - size + 1)
    )
