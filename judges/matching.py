"""Which finding of a judge is which gold error: caught or not, and at the right span or not.

A judge's findings are compared with every gold error of the trace, not only with those of its dimension, so that what
it reports of another's business is known too. One finding stands for one gold error at the most and the other way
round (maximum assignment): a judge cannot catch three errors with one vague sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from rapidfuzz.distance import Indel

from gpa.errors import UsageError
from gpa.ingest.transcript import Transcript
from gpa.judges.gold import GoldError
from gpa.judges.verdict import Finding, Verdict
from gpa.plans.assignment import Edge, maximum_assignment

MIN_TEXT = 0.45
"""Similarity of two texts from which they name the same behaviour when neither span nor category agrees."""
MIN_TEXT_ONE = 0.3
"""The same when the span or the category agrees."""
MAX_CHARS = 1_000
"""Characters compared of an evidence, and of a description."""
_AGREEMENT = 0.1
"""What an agreeing span or category adds to the similarity when errors compete for a finding."""

_WORD = re.compile("[\u2e80-\u9fff\uac00-\ud7ff]|[^\\W_\u2e80-\u9fff\uac00-\ud7ff]+")
"""A word; in scripts without blanks a character."""
_EMPTY_WORDS = frozenset(
    "a an the of to and or nor in on at by for from with as into about than then that this these those it its is are"  # noqa: SIM905
    " was were be been being do does did done has have had not no but so if which who what when where there their they"
    " them he she his her we our you your i my can could will would should may might must also only any all each other"
    " some such more most after before while because instead without within agent step system".split()
)
"""Words that say nothing about which error is meant."""


class Match(NamedTuple):
    """A gold error that a finding names."""

    error: int
    """Its number among the errors given."""
    finding: int | None
    """The number of the finding; None when the meta-judge found it in the rationale alone."""
    localised: bool
    """Whether a span that the finding cites is the gold span."""


class Matcher(Protocol):
    """Says which gold errors a verdict names."""

    @property
    def name(self) -> str:
        """`exact`, `fuzzy` or `llm`."""
        ...

    @property
    def own_dimension_only(self) -> bool:
        """Whether only errors of the judge's dimension are looked for; then nothing is known of the others."""
        ...

    def match(self, errors: Sequence[GoldError], verdict: Verdict) -> Sequence[Match] | None:
        """The matches; None when it could not be said (the meta-judge failed)."""
        ...


class Exact:
    """The same span and the same category; caught is localised, always."""

    name = "exact"
    own_dimension_only = False

    def match(self, errors: Sequence[GoldError], verdict: Verdict) -> list[Match]:
        """One to one, as many as there can be."""
        return _assigned(errors, verdict.findings, _exact_weight)


class Fuzzy:
    """Span, category and the similarity of the texts together, offline.

    Both span and category agree: the same error (of 423 gold errors in TRAIL's development half one pair shares both).
    One of them agrees: the texts must be similar (`MIN_TEXT_ONE`). Neither: very similar (`MIN_TEXT`).

    The thresholds are chosen on the recorded predictions of that half (365 findings of four models and parts): set
    against the gold of a trace that is not theirs 1.6 % of findings match something, against their own trace's 38 %; of
    pairs of two *different* gold errors of one trace that share neither span nor category 6 % reach `MIN_TEXT`.
    """

    name = "fuzzy"
    own_dimension_only = False

    def __init__(self) -> None:
        self._words: dict[str, list[str]] = {}

    def match(self, errors: Sequence[GoldError], verdict: Verdict) -> list[Match]:
        """One to one, the most similar ones together."""
        if not errors or not verdict.findings:
            return []
        gold = [self._gold_words(error) for error in errors]
        weights: dict[Edge, float] = {}
        for number, finding in enumerate(verdict.findings):
            said = words(finding.quote, finding.problem)
            for at, error in enumerate(errors):
                agreeing = (error.span_id in finding.span_ids) + (error.category == finding.category)
                least = (MIN_TEXT, MIN_TEXT_ONE, 0.0)[agreeing]
                alike = similarity(gold[at], said, at_least=least)
                if alike or agreeing == 2:
                    # More than any text can give: an exact match is never given up for a similar wording.
                    weights[at, number] = alike + (0.0, _AGREEMENT, 2.0)[agreeing]
        return _matches(maximum_assignment(weights) if weights else [], errors, verdict.findings)

    def _gold_words(self, error: GoldError) -> list[str]:
        found = self._words.get(error.id)
        if found is None:
            found = self._words[error.id] = words(error.evidence, error.description)
        return found


MATCHERS: dict[str, Callable[[], Matcher]] = {"exact": Exact, "fuzzy": Fuzzy}
"""Those that need no model."""


def matcher_named(name: str) -> Matcher:
    """The offline matcher of that name. Raises `UsageError`."""
    if name not in MATCHERS:
        raise UsageError(f"matcher: expected exact, fuzzy or a matcher object, found {name!r}")
    return MATCHERS[name]()


def similarity(one: Sequence[str], other: Sequence[str], *, at_least: float = 0.0) -> float:
    """How much two sorted word lists have in common, 0-1: twice the shared words by all words (Dice).

    That is rapidfuzz's normalised Indel similarity, since a longest common subsequence of sorted lists is what they
    share. Of eight measures tried on TRAIL it separates best (area under the curve 0.98 between pairs that agree in
    span and category and pairs of different traces; token_set_ratio 0.95, and that one takes any text whose
    words all occur in the other for the same). Below `at_least` it is 0.
    """
    return Indel.normalized_similarity(one, other, score_cutoff=at_least) if one and other else 0.0


def words(evidence: str, description: str) -> list[str]:
    """The words that are compared of an error: of its passage and of what is said of it, each once, sorted."""
    text = f"{evidence[:MAX_CHARS]} {description[:MAX_CHARS]}".lower()
    return sorted(set(_WORD.findall(text)) - _EMPTY_WORDS)


class Place(NamedTuple):
    """Where a span stands in a transcript."""

    step: int
    agent: str


def places(transcript: Transcript) -> dict[str, Place]:
    """Every span of a transcript that a step shows, and its place."""
    return {
        span_id: Place(number, step.agent) for number, step in enumerate(transcript.steps) for span_id in step.span_ids
    }


def nearness(gold_span: str, cited: Iterable[str], where: Mapping[str, Place]) -> tuple[int | None, bool]:
    """How many steps the nearest cited span is away from the gold one, and whether any is of the same agent.

    (None, False) when either side names no step of the transcript.
    """
    gold = where.get(gold_span)
    found = [where[span] for span in cited if span in where]
    if gold is None or not found:
        return None, False
    return min(abs(place.step - gold.step) for place in found), any(place.agent == gold.agent for place in found)


def _exact_weight(error: GoldError, finding: Finding) -> float:
    return float(error.category == finding.category and error.span_id in finding.span_ids)


def _assigned(
    errors: Sequence[GoldError], findings: Sequence[Finding], weight: Callable[[GoldError, Finding], float]
) -> list[Match]:
    weights = {
        (at, number): found
        for at, error in enumerate(errors)
        for number, finding in enumerate(findings)
        if (found := weight(error, finding))
    }
    return _matches(maximum_assignment(weights) if weights else [], errors, findings)


def _matches(pairs: Iterable[Edge], errors: Sequence[GoldError], findings: Sequence[Finding]) -> list[Match]:
    return [Match(at, number, errors[at].span_id in findings[number].span_ids) for at, number in pairs]
