"""What of its training traces a proposed rubric gives away: names, numbers, identifiers, quotes and passages.

A rubric that says what stood in the traces it was tuned on ("look for QX-4471") scores well on them and is worth
nothing on others. What the starting rubrics hold is no leak, nor is general vocabulary (`vocabulary`); everything else
has to be absent from the training traces. Uncommon words of a dictionary are leaks only where they tempt: in the
passages that people cited as evidence. The laws of both sides are in `tests/optimize/test_leaks.py`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple
from unicodedata import normalize

from msgspec import Struct

from gpa.ingest.transcript import Transcript
from gpa.judges.gold import GoldError
from gpa.optimize.vocabulary import PUBLIC_NUMBERS, forms, is_common, is_english

EVIDENCE_WORDS = 4
"""Words in a row that a rubric may not share with an evidence, when three of them have content."""
PASSAGE_WORDS = 7
"""The same for any text of a trace, when four have content: shorter ones are idioms and phrases of instructions."""
QUOTED_WORDS = 3
"""The same for what a rubric puts in quotation marks."""
SMALL_NUMBER = 12
"""Numbers up to this one are spoken like words."""
_LONGEST_QUOTE = 200

_CHUNK = re.compile(r"\b\d{1,3}(?:,\d{3})+(?:\.\d+)?\b|\w+(?:[.@'\u2019]\w+)*")
_WORD = re.compile("[\u2e80-\u9fff\uac00-\ud7ff]|[^\\W_\u2e80-\u9fff\uac00-\ud7ff]+")
"""A word of a passage; in scripts without blanks a character."""
_BLANKLESS = re.compile("[\u2e80-\u9fff\uac00-\ud7ff]")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th|s|x)", re.IGNORECASE)
_CAMEL = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]{2}")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\dA-Z_]+|[^\W\d_]+")
_QUOTED = re.compile(r"\"([^\"\n]+)\"|\u201c([^\u201d\n]+)\u201d|`([^`\n]+)`|(?<!\w)'([^'\n]+)'(?!\w)")
_PROPER = re.compile(r"\b[A-Z][a-z]{3,}(?:[ \t]+[A-Z][a-z]{3,})+\b")
"""A name of several words, each of which may be an ordinary one: Golden Gate."""
_STARTS = frozenset("#>.!?:;*-\u2022\u2013\u2014\"'\u201c\u2018(`")
"""Signs after which a word has a capital for being the first."""


class Token(NamedTuple):
    """Something written without a blank."""

    text: str
    """In lower case."""
    kind: str
    """`word`, `number` or `identifier`."""
    named: bool = False
    """Whether a capital stands there in the middle of a sentence."""
    small: bool = False
    """Whether it has no capital."""


class Traits(NamedTuple):
    """What is peculiar to some texts."""

    rare: frozenset[str]
    """Words of no dictionary, and what they may be inflections of."""
    named: frozenset[str]
    """Words that have a capital in the middle of sentences, and never go without."""
    tempting: frozenset[str]
    """Uncommon words of the passages people cited."""
    numbers: frozenset[str]
    cited_numbers: frozenset[str]
    identifiers: frozenset[str]
    proper: Mapping[str, int]
    """Pairs of neighbouring words with capitals, and how often."""
    text: str
    """All words in a row, a blank on either side of each."""
    evidence: str


class Known(NamedTuple):
    """What a rubric may say although traces hold it."""

    tokens: frozenset[str]
    text: str
    english: bool
    """Whether the texts are in English: of other languages no vocabulary is known."""


def known(texts: Iterable[str]) -> Known:
    """What these texts (the rubrics a search starts from, notes on the agent) make common knowledge."""
    said = list(texts)
    tokens = [token for text in said for token in tokens_of(text)]
    plain = [token.text for token in tokens if token.kind == "word"]
    english = 2 * sum(map(is_english, plain)) >= len(plain)
    tellable = {form for token in tokens for form in (forms(token.text) if token.kind == "word" else (token.text,))}
    return Known(frozenset(tellable), "\n".join(map(row, said)), english)


def traits(transcripts: Iterable[Transcript], errors: Iterable[GoldError]) -> Traits:
    """What is peculiar to training traces and to the errors people found in them."""
    texts = {
        transcript.trace_id: [normalize("NFKC", text) for text in strings(transcript)] for transcript in transcripts
    }
    rare: set[str] = set()
    high: set[str] = set()
    low: set[str] = set()
    numbers: set[str] = set()
    identifiers: set[str] = set()
    vocabulary: dict[str, set[str]] = {}
    for trace_id, some in texts.items():
        words = vocabulary[trace_id] = set()
        for token in (token for text in some for token in tokens_of(text)):
            if token.kind == "word":
                words.add(token.text)
                if token.named:
                    high.add(token.text)
                elif token.small:
                    low.add(token.text)
            else:
                (numbers if token.kind == "number" else identifiers).add(token.text)
        rare.update(form for word in words if not is_english(word) for form in forms(word))
    cited: set[str] = set()
    cited_numbers: set[str] = set()
    evidence = []
    for error in errors:
        evidence.append(error.evidence)
        for token in tokens_of(error.evidence):
            (cited_numbers if token.kind == "number" else cited if token.kind == "word" else identifiers).add(
                token.text
            )
        # What an annotator says in words of his own is no trace's; what he took over from the trace is.
        there = vocabulary.get(error.trace_id, set())
        cited.update(token.text for token in tokens_of(error.description) if token.text in there)
    rare.update(form for word in cited if not is_english(word) for form in forms(word))
    return Traits(
        rare=frozenset(form for form in rare if not is_english(form)),
        named=frozenset(high - low),
        tempting=frozenset(word for word in cited if is_english(word) and not is_common(word)),
        numbers=frozenset(numbers),
        cited_numbers=frozenset(cited_numbers),
        identifiers=frozenset(identifiers),
        proper=Counter(pair for some in texts.values() for text in some for pair in _proper(text)),
        text="\n".join(row(text) for some in texts.values() for text in some),
        evidence="\n".join(map(row, evidence)),
    )


def leaked(rubric: str, training: Traits, allowed: Known) -> tuple[str, ...]:
    """What the rubric has from the training traces, each as it stands in the rubric, in the order it does."""
    rubric = normalize("NFKC", rubric)
    found = dict.fromkeys(
        token.text
        for token in tokens_of(rubric)
        if not _is_allowed(token, allowed) and _is_leak(token, training, english=allowed.english)
    )
    found |= dict.fromkeys(
        pair
        for pair in _proper("\n".join(line for line in rubric.splitlines() if not line.startswith("#")))
        if _is_name(pair, training, allowed)
    )
    found |= dict.fromkeys(_quotes(rubric, training, allowed))
    for size, content, text in ((EVIDENCE_WORDS, 3, training.evidence), (PASSAGE_WORDS, 4, training.text)):
        found |= dict.fromkeys(_passages(rubric, text, allowed.text, size=size, content=content))
    return tuple(found)


def _is_allowed(token: Token, allowed: Known) -> bool:
    if token.kind == "word":
        return any(form in allowed.tokens for form in forms(token.text))
    return token.text in allowed.tokens


def _is_leak(token: Token, training: Traits, *, english: bool) -> bool:
    text = token.text
    if token.kind == "identifier":
        return text in training.identifiers
    if token.kind == "number":
        # `int` refuses thousands of digits, and a model may send them.
        if text in PUBLIC_NUMBERS or (text.isdecimal() and len(text) < 10 and int(text) <= SMALL_NUMBER):
            return False
        return text in training.cited_numbers or (len(text) > 2 and text in training.numbers)
    if not english:
        return False
    if token.named and text in training.named:
        return True
    if is_common(text):
        return False
    if is_english(text):
        return text in training.tempting
    return any(form in training.rare for form in forms(text))


def _proper(text: str) -> Iterator[str]:
    for match in _PROPER.finditer(text):
        parts = match[0].lower().split()
        yield from map(" ".join, pairwise(parts))


def _is_name(pair: str, training: Traits, allowed: Known) -> bool:
    """Whether two words of a rubric are a name in the runs: there they never stand together without capitals."""
    needle = f" {pair} "
    return (
        pair in training.proper and needle not in allowed.text and training.text.count(needle) <= training.proper[pair]
    )


def _quotes(rubric: str, training: Traits, allowed: Known) -> Iterator[str]:
    for match in _QUOTED.finditer(rubric):
        quoted = next(group for group in match.groups() if group)
        needle = row(quoted[:_LONGEST_QUOTE])
        long = len(needle.split()) >= QUOTED_WORDS
        if long and needle not in allowed.text and (needle in training.text or needle in training.evidence):
            yield quoted


def _passages(rubric: str, text: str, allowed: str, *, size: int, content: int) -> Iterator[str]:
    """The longest runs of at least `size` words that stand in the text and not in what is allowed."""
    words = row(rubric).split()
    end = 0
    for start in range(len(words) - size + 1):
        if start + size <= end:
            continue  # inside the run before
        if not _is_copied(words[start : start + size], text, allowed, content):
            continue
        end = start + size
        while end < len(words) and f" {' '.join(words[start : end + 1])} " in text:
            end += 1
        yield " ".join(words[start:end])


def _is_copied(words: list[str], text: str, allowed: str, content: int) -> bool:
    if sum(len(word) > 3 or not word.isascii() for word in words) < content:
        return False
    needle = f" {' '.join(words)} "
    return needle not in allowed and needle in text


def tokens_of(text: str) -> Iterator[Token]:
    """The words, numbers and identifiers of a text; an identifier's parts come after it, as words."""
    for match in _CHUNK.finditer(text):
        chunk = re.sub(r"['\u2019]s$", "", match[0])
        if chunk.isalpha() and not _CAMEL.search(chunk):
            yield from _word(chunk, named=_is_named(chunk, text, match.start()))
        elif _NUMBER.fullmatch(chunk) or _ORDINAL.fullmatch(chunk):
            yield Token(chunk.replace(",", "").lower(), "number")
        else:
            yield from _parts(chunk)


def _parts(chunk: str) -> Iterator[Token]:
    pieces = [piece for piece in re.split(r"[\W_]+", chunk) if piece]
    if "'" in chunk or "\u2019" in chunk:  # don't, they're
        for piece in pieces:
            if len(piece) > 2 and piece.isalpha():
                yield from _word(piece, named=False)
        return
    if any(len(piece) > 1 for piece in pieces):  # not i.e., a.m.
        yield Token(chunk.lower(), "identifier")
    for part in _PART.findall(chunk):
        yield from _word(part, named=False)


def _word(text: str, *, named: bool) -> Iterator[Token]:
    """The word; nothing of a single letter, nor of a script without blanks, where a run of signs is no word."""
    if len(text) > 1 and not _BLANKLESS.search(text):
        yield Token(text.lower(), "word", named, text.islower())


def _is_named(word: str, text: str, start: int) -> bool:
    if not word.istitle():
        return False
    before = text[max(0, start - 80) : start]
    line = before[before.rfind("\n") + 1 :].rstrip()
    return bool(line) and line[-1] not in _STARTS and not line.startswith("#")


def row(text: str) -> str:
    """The words of a text in lower case, a blank on either side of each."""
    return f" {' '.join(_WORD.findall(text.lower()))} "


def strings(value: Any) -> Iterator[str]:
    """Every text inside a value: of a transcript all that was recorded, names and keys of arguments too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Struct):
        for name in value.__struct_fields__:
            yield from strings(getattr(value, name))
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from strings(key)
            yield from strings(inner)
    elif isinstance(value, list | tuple | set | frozenset):
        for inner in value:
            yield from strings(inner)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)
