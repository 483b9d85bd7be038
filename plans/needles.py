"""Which of many texts stand in a longer one, and where each first does, in one reading of it.

Asking `needle in text` for every needle and every text takes as long as there are pairs of them. Here the needles are
kept by their beginnings of 3, 6, 12, ... characters: at each place of the text these are looked up, the next only where
the one before was there. How much further some needle agrees is found by halving, as routers find the longest prefix of
an address (Waldvogel et al., SIGCOMM 1997), so that no text makes it look up more than a score of them at a place.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

_HEADS = (3, 6, 12, 24, 48, 96, 192, 384)
"""Characters of the beginnings by which needles are known."""
_SHORTEST, _LONGEST = _HEADS[0], _HEADS[-1]
_STEPS = {size: tuple(1 << bit for bit in reversed(range((size - 1).bit_length()))) for size in _HEADS[:-1]}
_STEPS[_LONGEST] = ()
"""Steps that lead from a beginning to every length below the next; beyond the longest, needles are searched for."""


class Needles:
    """Texts to be looked for together; one of fewer than three characters is never found."""

    def __init__(self, needles: Iterable[str]) -> None:
        self._ends: dict[str, set[int]] = {}
        """Beginning -> the lengths of the needles of which it is the longest one that is kept."""
        self._marks: set[str] = set()
        """What the steps from that beginning to its end make of a needle."""
        self._short: set[str] = set()
        self._long: defaultdict[str, list[str]] = defaultdict(list)
        """Longest beginning -> the needles that are longer still."""
        for needle in dict.fromkeys(needles):
            size = 0
            for head in _HEADS:
                if head > len(needle):
                    break
                size = head
                self._ends.setdefault(needle[:head], set())
            if len(needle) > _LONGEST:
                self._long[needle[:_LONGEST]].append(needle)
            elif size:
                self._short.add(needle)
                self._ends[needle[:size]].add(len(needle))
                for step in _STEPS[size]:
                    if size + step <= len(needle):
                        size += step
                        self._marks.add(needle[:size])

    def first_in(self, text: str) -> dict[str, int]:
        """Each needle that stands in the text, with the place where it first does."""
        found: dict[str, int] = {}
        seen: set[str] = set()
        known = self._ends
        for at in [at for at in range(len(text) - _SHORTEST + 1) if text[at : at + _SHORTEST] in known]:
            agreed = self._agreed(text, at)
            if agreed not in seen:
                seen.add(agreed)
                for needle in self._begun(agreed):
                    found.setdefault(needle, at)
                for needle in self._long.get(agreed, ()):  # what is not found from here on is not there
                    place = text.find(needle, at)
                    if place >= 0:
                        found[needle] = place
        return found

    def _agreed(self, text: str, at: int) -> str:
        """What the text and some needle have in common from this place on; every short needle there is within it."""
        size = 0
        for head in _HEADS:
            if text[at : at + head] not in self._ends:
                break
            size = head
        for step in _STEPS[size]:
            if text[at : at + size + step] in self._marks:
                size += step
        return text[at : at + size]

    def _begun(self, agreed: str) -> Iterator[str]:
        """The short needles that it begins with."""
        for head in _HEADS:
            if head > len(agreed):
                break
            for length in self._ends[agreed[:head]]:
                if length <= len(agreed) and (needle := agreed[:length]) in self._short:
                    yield needle
