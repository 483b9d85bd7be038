"""Findings and gold errors are paired one to one, the heaviest pairs together."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from gpa.errors import UsageError
from gpa.judges.gold import GoldError, load_gold
from gpa.judges.matching import (
    MIN_TEXT,
    Exact,
    Fuzzy,
    Match,
    Matcher,
    Place,
    matcher_named,
    nearness,
    places,
    similarity,
    words,
)
from gpa.judges.trail import benchmark_category, read_prediction
from gpa.judges.verdict import Finding, Verdict
from gpa.plans.assignment import maximum_assignment
from tests.judges.checks.transcripts import call, llm, said, transcript

TRAIL = Path(__file__).parents[2].parent / "shared/data/trail"
SIX = "invoice total misread twelve instead forty seven euros"


@given(
    st.integers(1, 6).flatmap(
        lambda n: st.lists(st.lists(st.integers(0, 9), min_size=n, max_size=n), min_size=1, max_size=6)
    )
)
def test_an_assignment_is_as_heavy_as_scipys(rows: list[list[int]]) -> None:
    weights = {(r, c): float(w) for r, row in enumerate(rows) for c, w in enumerate(row) if w}
    pairs = maximum_assignment(weights) if weights else []
    matrix = np.array(rows)
    best = linear_sum_assignment(matrix, maximize=True)
    assert sum(weights[pair] for pair in pairs) == matrix[best].sum()
    assert len({r for r, _ in pairs}) == len({c for _, c in pairs}) == len(pairs)


def test_of_equal_weights_more_pairs_win() -> None:
    assert maximum_assignment({(0, 0): 2.0, (0, 1): 1.0, (1, 0): 1.0}) == [(0, 1), (1, 0)]


def gold(number: int, span: str = "a1", category: str = "Goal Deviation", text: str = "") -> GoldError:
    return GoldError(
        id=str(number), trace_id="t", span_id=span, category=category, dimensions=("LC",), description=text
    )


def finding(spans: str = "z9", category: str = "Service Errors", text: str = "") -> Finding:
    return Finding(span_ids=tuple(spans.split()), quote="", problem=text, category=category, severity="LOW")


def verdict(*findings: Finding) -> Verdict:
    return Verdict(trace_id="t", judge="LC", model="m/1", score=1, rationale="", findings=findings)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(finding("a1", "Goal Deviation"), [Match(0, 0, True)], id="span and category, whatever the words"),
        pytest.param(finding("b2 a1", "Goal Deviation"), [Match(0, 0, True)], id="one of several spans"),
        pytest.param(finding("a1", text=SIX), [Match(0, 0, True)], id="span, and similar words"),
        pytest.param(finding("a1", text="the loop never ends"), [], id="span, but other words"),
        pytest.param(
            finding(category="Goal Deviation", text=SIX), [Match(0, 0, False)], id="category and words: caught only"
        ),
        pytest.param(finding(text=SIX), [Match(0, 0, False)], id="the words alone, when they are the same"),
        pytest.param(finding(text="invoice total, it was and is to be"), [], id="two of its words"),
        pytest.param(finding(text="the agent did not do it"), [], id="a sentence that says nothing"),
        pytest.param(finding(), [], id="nothing at all"),
    ],
)
def test_fuzzy(found: Finding, expected: list[Match]) -> None:
    assert Fuzzy().match([gold(1, text=SIX)], verdict(found)) == expected


def test_one_finding_is_one_error_at_the_most() -> None:
    errors = [gold(number, text=SIX) for number in range(3)]
    assert len(Fuzzy().match(errors, verdict(finding("a1", text=SIX)))) == 1
    assert len(Fuzzy().match(errors, verdict(*[finding("a1", text=SIX)] * 2))) == 2


def test_the_exact_match_goes_before_a_similar_wording() -> None:
    errors = [gold(1, "b2", text=SIX), gold(2, "a1")]
    found = [finding("a1", "Goal Deviation", SIX), finding(category="Goal Deviation", text=SIX)]
    assert Fuzzy().match(errors, verdict(*found)) == [Match(0, 1, False), Match(1, 0, True)]


def test_exact_asks_for_span_and_category() -> None:
    errors = [gold(1), gold(2, "b2")]
    found = (finding("a1"), finding("b2", "Goal Deviation"), finding("z9", "Goal Deviation"))
    assert Exact().match(errors, verdict(*found)) == [Match(1, 1, True)]


def test_matchers_have_names() -> None:
    assert [matcher_named(name).name for name in ("exact", "fuzzy")] == ["exact", "fuzzy"]
    with pytest.raises(UsageError, match=r"^matcher: expected exact, fuzzy or a matcher object, found 'best'$"):
        matcher_named("best")


SOME_WORDS = st.lists(
    st.sampled_from(["one", "two", "three", "four", "five", "six", "seven", "eight"]), max_size=6
).map(" ".join)
FINDINGS = st.builds(finding, st.sampled_from(("a1", "b2", "a1 b2", "")), st.sampled_from(("A", "B")), SOME_WORDS)
GOLD = st.lists(
    st.builds(gold, st.just(0), st.sampled_from(("a1", "b2")), st.sampled_from(("A", "B")), SOME_WORDS), max_size=5
).map(lambda errors: [error.model_copy(update={"id": str(number)}) for number, error in enumerate(errors)])


@given(GOLD, st.lists(FINDINGS, max_size=5), FINDINGS, st.sampled_from((Exact, Fuzzy)))
def test_recall_never_falls_when_a_finding_is_added(
    errors: list[GoldError], found: list[Finding], more: Finding, kind: type[Exact | Fuzzy]
) -> None:
    matcher: Matcher = kind()
    before, after = matcher.match(errors, verdict(*found)), matcher.match(errors, verdict(*found, more))
    assert before is not None
    assert after is not None
    assert len(after) >= len(before)


@given(GOLD, st.lists(FINDINGS, max_size=5))
def test_fuzzy_catches_as_much_as_exact_and_never_localises_more_than_it_catches(
    errors: list[GoldError], found: list[Finding]
) -> None:
    fuzzy, exact = Fuzzy().match(errors, verdict(*found)), Exact().match(errors, verdict(*found))
    assert len(fuzzy) >= len(exact)
    assert all(errors[match.error].span_id in found[match.finding or 0].span_ids for match in fuzzy if match.localised)


WORDS = st.lists(st.text("abc", min_size=1, max_size=3), unique=True).map(sorted)


@given(WORDS, WORDS)
def test_similarity_is_dices(one: list[str], other: list[str]) -> None:
    both = len(set(one) & set(other))
    expected = 2 * both / (len(one) + len(other)) if one and other else 0.0
    assert math.isclose(similarity(one, other), expected)
    assert similarity(one, other) == similarity(other, one)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The agent did NOT read_file('a.txt')", ["file", "read", "txt"]),
        ("検索した", ["し", "た", "検", "索"]),
        ("naïve Ελλάδα", ["naïve", "ελλάδα"]),
    ],
)
def test_words_of_a_text(text: str, expected: list[str]) -> None:
    assert words(text, "") == expected


def test_how_near_a_citation_is() -> None:
    scene = transcript(llm(call("x", {}, "c1")), llm(said("a")), llm(said("b")))
    where = places(scene)
    assert [place.step for place in where.values()] == sorted(place.step for place in where.values())
    first, *_, last = where
    assert nearness(first, [last], where) == (len(where) - 1, where[first].agent == where[last].agent)
    assert nearness(first, [last, first], where)[0] == 0
    assert nearness("elsewhere", [first], where) == nearness(first, ["elsewhere"], where) == (None, False)
    assert nearness("a", ["b"], {"a": Place(1, "x"), "b": Place(4, "y")}) == (3, False)


@pytest.mark.skipif(not TRAIL.is_dir(), reason="needs the development part of TRAIL")
def test_the_thresholds_tell_traces_apart() -> None:
    """The figures that the documents give for `MIN_TEXT` and `MIN_TEXT_ONE`."""
    by_trace = load_gold(TRAIL).by_trace
    ids = list(by_trace)
    own = foreign = total = 0
    for folder in sorted((TRAIL / "predictions").iterdir()):
        for path in sorted(folder.glob("*.json")):
            found = [
                Finding(
                    span_ids=(error.location,),
                    quote=error.evidence,
                    problem=error.description,
                    category=benchmark_category(error.category),
                    severity="LOW",
                )
                for error in read_prediction(path.read_text(encoding="utf-8")) or ()
            ]
            said_of_it = verdict(*found)
            at = ids.index(path.stem)
            own += len(Fuzzy().match(by_trace[path.stem], said_of_it))
            others = [by_trace[ids[(at + step) % len(ids)]] for step in (7, 19, 31)]
            foreign += sum(len(Fuzzy().match(errors, said_of_it)) for errors in others)
            total += len(found)
    assert MIN_TEXT == 0.45
    assert (total, own) == (365, 140)
    assert foreign / 3 / total < 0.02
