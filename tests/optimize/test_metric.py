"""What a judgement is worth, and what its advice says and must not say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.judges.gold import GoldError
from gpa.judges.matching import Exact, Fuzzy, Match
from gpa.judges.meta import Decision
from gpa.judges.verdict import CATEGORIES, Failure, Finding, NotApplicable, Verdict
from gpa.optimize.metric import CHARGE, MOST_CHARGED, Scored, agreeing, pooled, scored, transferable
from tests.judges.checks.transcripts import call, llm, said, tool, transcript, user

RUN = transcript(
    llm(said("I will look."), call("search", {"query": "fares to Lisbon"}), new=(user("What is the fare?"),)),
    tool("search", {"query": "fares to Lisbon"}, error="Timeout after 30 s"),
    llm(said("The fare is 4711 escudos, as the search says.")),
    llm(said("FINAL: 4711")),
    trace_id="f" * 32,
)
KIND = "Tool Output Misinterpretation"


def gold(
    span: str = "span3", *, category: str = KIND, dimensions: tuple[str, ...] = ("TC",), name: str = "g1"
) -> GoldError:
    return GoldError(
        id=name,
        trace_id="f" * 32,
        span_id=span,
        category=category,
        dimensions=dimensions,
        evidence="The fare is 4711 escudos",
        description="The agent invents a fare although the search timed out",
    )


def finding(span: str = "span3", *, category: str = KIND, grounded: bool = True) -> Finding:
    return Finding(
        span_ids=(span,) if span else (),
        quote="The fare is 4711 escudos",
        problem="It invents a fare although the search timed out.",
        category=category,
        severity="HIGH",
        grounded=grounded,
    )


def groundless(number: int = 0) -> Finding:
    return Finding(
        span_ids=(f"span{1 + number % 2}",), quote="xyz", problem="unrelated words here", category="Rate Limiting",
        severity="LOW",
    )  # fmt: skip


def verdict(*findings: Finding, judge: str = "TC", score: int = 2, sample: int = 0) -> Verdict:
    return Verdict(
        trace_id="f" * 32, judge=judge, model="m/1", score=score, rationale="r", findings=findings, sample=sample
    )


FAILED = Failure(trace_id="f" * 32, judge="TC", model="m/1", error_type="refusal", message="no")
SKIPPED = NotApplicable(trace_id="f" * 32, judge="TC", model="m/1", reason="no tools")

WORTH: dict[str, tuple[Any, list[GoldError], float, tuple[int, int, int, int]]] = {
    # result, gold, score, (caught, errors, localised, groundless)
    "caught and localised": (verdict(finding()), [gold()], 1.0, (1, 1, 1, 0)),
    "caught elsewhere": (verdict(finding("span1")), [gold()], 1.0, (1, 1, 0, 0)),
    "missed": (verdict(), [gold()], 0.0, (0, 1, 0, 0)),
    "half": (verdict(finding()), [gold(), gold("span1", category="Goal Deviation", name="g2")], 0.5, (1, 2, 1, 0)),
    "one finding without ground": (verdict(finding(), groundless()), [gold()], 1 - CHARGE, (1, 1, 1, 1)),
    "a flood": (verdict(finding(), *map(groundless, range(30))), [gold()], 1 - MOST_CHARGED, (1, 1, 1, 30)),
    "a flood that catches nothing": (verdict(*map(groundless, range(30))), [gold()], 0.0, (0, 1, 0, 30)),
    "another dimension's error": (verdict(finding()), [gold(dimensions=("LC",))], 1.0, (0, 0, 0, 0)),
    "nothing to find, nothing said": (verdict(), [], 1.0, (0, 0, 0, 0)),
    "nothing to find, something said": (verdict(groundless()), [], 1 - CHARGE, (0, 0, 0, 1)),
    "failed": (FAILED, [gold()], 0.0, (0, 1, 0, 0)),
    "not applicable, rightly": (SKIPPED, [], 1.0, (0, 0, 0, 0)),
    "not applicable, wrongly": (SKIPPED, [gold()], 0.0, (0, 1, 0, 0)),
}


@pytest.mark.parametrize(("result", "errors", "score", "counts"), WORTH.values(), ids=WORTH)
def test_a_result_is_worth_its_recall_less_what_has_no_ground(
    result: Any, errors: list[GoldError], score: float, counts: tuple[int, ...]
) -> None:
    one = scored(result, errors, Fuzzy(), transcript=RUN)
    assert one.score == pytest.approx(score)
    assert (one.caught, one.errors, one.localised, one.groundless) == counts
    assert one.failed == (result is FAILED)


ADVICE: dict[str, tuple[Any, list[GoldError], str]] = {
    "a missed one": (verdict(), [gold()], "Missed: Tool Output Misinterpretation (it read a result as saying"),
    "its sign": (verdict(), [gold()], "prose with figures in an llm step, in the middle of the run"),
    "a sign in a failed step": (verdict(), [gold("span2")], "in a tool step that ended with an error"),
    "several of a kind": (verdict(), [gold(), gold(name="g2")], "Missed 2 times: Tool Output"),
    "a span of no step": (verdict(), [gold("elsewhere")], "prose with figures somewhere in the run"),
    "without ground": (verdict(finding(), groundless()), [gold()], "Without ground: finding 2 (Rate Limiting)."),
    "a quote that is not there": (
        verdict(groundless().model_copy(update={"grounded": False})),
        [],
        "The quotes of 1 of them do not stand in the run.",
    ),
    "a later step": (
        verdict(finding("span4")),
        [gold()],
        "Wrong step: A finding is right but cites an llm step after the llm step where the mistake is made.",
    ),
    "no step": (verdict(finding("")), [gold()], "Wrong step: A finding is right but cites no step."),
    "a failure": (FAILED, [gold()], "There is no judgement: it could not be judged (refusal): no"),
    "said not to apply": (SKIPPED, [gold()], "although there is something to judge"),
    "all well": (verdict(finding()), [gold()], "Keep this."),
}


@pytest.mark.parametrize(("result", "errors", "words"), ADVICE.values(), ids=ADVICE)
def test_advice_says_what_to_do_better(result: Any, errors: list[GoldError], words: str) -> None:
    assert words in scored(result, errors, Fuzzy(), transcript=RUN).feedback


@pytest.mark.parametrize(("result", "errors", "_words"), ADVICE.values(), ids=ADVICE)
def test_advice_tells_nothing_of_the_errors_that_people_found(
    result: Any, errors: list[GoldError], _words: str
) -> None:
    told = scored(result, errors, Fuzzy(), transcript=RUN).feedback
    for secret in ("4711", "escudos", "invents", "timed out", "f" * 32, "span", "g1", "gold", "annotat", "reference"):
        assert secret not in told
    assert "expected" not in told


class Asked:
    """A matcher as the meta-judge is one: it knows errors of the judge's own dimension alone."""

    name = "llm"
    own_dimension_only = True

    def __init__(self, *matches: Match | None) -> None:
        self._matches = matches

    def match(self, errors: Sequence[GoldError], verdict: Verdict) -> list[Match] | None:
        del errors, verdict
        return None if None in self._matches else [one for one in self._matches if one is not None]


def test_what_the_meta_judge_finds_in_the_rationale_is_caught_but_not_localised() -> None:
    one = scored(verdict(), [gold()], Asked(Match(0, None, localised=False)), transcript=RUN)
    assert (one.caught, one.localised, one.score) == (1, 0, 1.0)
    assert "named in the rationale only" in one.feedback


def test_a_meta_judge_is_not_asked_about_other_dimensions_so_their_errors_are_matched_by_words() -> None:
    errors = [gold(dimensions=("LC",))]
    assert scored(verdict(finding()), errors, Asked()).groundless == 0


def test_a_judgement_that_the_meta_judge_could_not_compare_is_compared_by_words_and_is_no_failure() -> None:
    for one in (verdict(finding()), verdict()):
        assert scored(one, [gold()], Asked(None)) == scored(one, [gold()], Fuzzy())
    assert scored(verdict(finding()), [gold()], Asked(None)).failed == 0


HINTS: dict[str, tuple[str, bool]] = {
    "a general rule": ("Compare what is claimed with what a result contains.", True),
    "words in a row of the description": ("Look where the agent invents a fare.", False),
    "a figure of the evidence": ("Look for 4711.", False),
    "an id": (f"See {'f' * 32}.", False),
    "three words in a row are no quotation": ("Where the search says nothing, doubt it.", True),
}


@pytest.mark.parametrize(("hint", "passed_on"), HINTS.values(), ids=HINTS)
def test_a_hint_of_the_meta_judge_is_passed_on_when_it_fits_any_run(hint: str, passed_on: bool) -> None:
    said = Decision(id="e1", passage="", finding=None, caught=0, look_for=hint)
    one = scored(verdict(), [gold()], Asked(), transcript=RUN, decisions={"g1": said})
    assert (hint in one.feedback) == passed_on == transferable(hint, gold())


def test_a_name_in_a_hint_is_no_general_rule() -> None:
    error = gold().model_copy(update={"description": "It asks for Lisbon in place of Porto"})
    assert not transferable("Check whether the agent took Porto for another city.", error)


AGREEMENT: dict[str, tuple[list[int | None], float]] = {
    "all the same": ([2, 2, 2], 1.0),
    "neighbours": ([1, 2], 0.6),
    "as far apart as chance": ([0, 3], 0.0),
    "one failed": ([2, None], 0.0),
    "none has a score": ([None, None], 1.0),
}


@pytest.mark.parametrize(("scores", "consistency"), AGREEMENT.values(), ids=AGREEMENT)
def test_samples_agree_as_far_as_their_scores_are_near(scores: list[int | None], consistency: float) -> None:
    parts = [scored(verdict(finding()), [gold()], Fuzzy()) for _ in scores]
    one = agreeing(parts, scores)
    assert one.objectives["consistency"] == pytest.approx(consistency)
    assert one.score == pytest.approx((1 + consistency) / 2)
    assert ("Say more exactly" in one.feedback) == (consistency < 1)


SCORED = st.builds(
    Scored,
    score=st.floats(0, 1),
    feedback=st.text(max_size=3),
    objectives=st.fixed_dictionaries({"recall": st.floats(0, 1), "precision": st.floats(0, 1)}),
    caught=st.integers(0, 9),
    errors=st.integers(0, 9),
    localised=st.integers(0, 9),
    groundless=st.integers(0, 9),
)


@given(st.lists(SCORED, min_size=1, max_size=4))
def test_parts_pool_to_a_score_within_theirs_and_to_their_sums(parts: list[Scored]) -> None:
    one = pooled(parts)
    assert min(part.score for part in parts) - 1e-9 <= one.score <= max(part.score for part in parts) + 1e-9
    assert one.caught == sum(part.caught for part in parts)
    assert set(one.objectives) == {"recall", "precision"}


@given(
    st.lists(st.tuples(st.integers(1, 4), st.sampled_from(CATEGORIES[:4])), max_size=5),
    st.lists(st.tuples(st.integers(1, 4), st.sampled_from(CATEGORIES[:4])), max_size=5),
)
def test_scores_and_objectives_stay_between_0_and_1(found: list[tuple[int, str]], known: list[tuple[int, str]]) -> None:
    errors = [gold(f"span{at}", category=kind, name=f"g{n}") for n, (at, kind) in enumerate(known)]
    one = scored(verdict(*(finding(f"span{at}", category=kind) for at, kind in found)), errors, Exact(), transcript=RUN)
    assert 0 <= one.score <= 1
    assert all(0 <= value <= 1 for value in one.objectives.values())
    assert one.localised <= one.caught <= one.errors
    assert one.groundless <= len(found)
