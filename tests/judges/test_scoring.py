"""How findings become results: scores, not applicable, failures, one finding for each set of spans."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from gpa.ingest.dialects.call import Message
from gpa.ingest.transcript import Plan, Transcript
from gpa.judges.checks import CHECKS
from gpa.judges.checks.check import Check, Hit
from gpa.judges.scoring import NO_CONTENT, judge, rubric_hash
from gpa.judges.verdict import CATEGORIES, DIMENSIONS, RESULT, AnyResult, Failure, NotApplicable, Severity, Verdict
from tests.judges.checks.transcripts import SEARCH, call, llm, said, tool, transcript

LOW, MEDIUM, HIGH = "LOW", "MEDIUM", "HIGH"


def test_a_dimension_that_no_selected_check_looks_at_is_not_applicable() -> None:
    outcome = only(judge(TEN, ["GF"], checks=(finds(),)))
    assert isinstance(outcome, NotApplicable)
    assert outcome.reason == "none of the checks that judge Goal Fulfillment was selected"


def test_a_dimension_that_no_check_looks_at_needs_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpa.judges.scoring.CHECKS", (finds(),))
    outcome = only(judge(TEN, ["GF"], checks=(finds(),)))
    assert isinstance(outcome, NotApplicable)
    assert outcome.reason == "no check that runs can judge Goal Fulfillment; it needs an LLM judge"


def check_that(find: Any, name: str = "planted", dimensions: Any = ("LC",)) -> Check:
    return Check(name, "planted by the test", "Language-only", dimensions, find)


def finds(*severities: Severity) -> Check:
    return check_that(
        lambda _: [Hit((f"s{n}",), "quote", "problem", severity) for n, severity in enumerate(severities, 1)]
    )


def only(results: Iterable[AnyResult]) -> AnyResult:
    (result,) = results
    return result


TEN = transcript(*(llm(said(str(n))) for n in range(10)))


@pytest.mark.parametrize(
    ("severities", "score"),
    [
        ((), 3),
        ((LOW,), 2),
        ((LOW,) * 9, 2),
        ((MEDIUM,), 1),
        ((HIGH,), 1),
        ((HIGH, MEDIUM, LOW), 1),
        ((MEDIUM,) * 4, 0),
        ((HIGH, HIGH), 0),
    ],
    ids=str,
)
def test_score(severities: tuple[Severity, ...], score: int) -> None:
    verdict = only(judge(TEN, ["LC"], checks=(finds(*severities),)))
    assert isinstance(verdict, Verdict)
    assert (verdict.score, len(verdict.findings)) == (score, len(severities))


EMPTY = Transcript("t", "", (), ())


@pytest.mark.parametrize(
    ("given", "dimension", "reason"),
    [
        pytest.param(TEN, "PQ", "no plan in the trace", id="no plan"),
        pytest.param(TEN, "PA", "no plan in the trace", id="no plan to follow"),
        pytest.param(TEN, "TC", "no tools and no tool calls in the trace", id="no tools"),
        pytest.param(TEN, "TS", "no tools and no tool calls in the trace", id="no tools to choose"),
        pytest.param(EMPTY, "LC", "no model, tool or agent call in the trace", id="no agent at all"),
        pytest.param(transcript(llm(), llm()), "LC", NO_CONTENT, id="content switched off"),
        pytest.param(
            transcript(llm(Message("assistant", tool_name="search")), tools=(SEARCH,)),
            "TC",
            NO_CONTENT,
            id="only names left",
        ),
        pytest.param(
            replace(transcript(llm()), warnings=("no model or tool call carries its content; set X=1",)),
            "LC",
            "no model or tool call carries its content; set X=1",
            id="content switched off, with the producer's own hint",
        ),
    ],
)
def test_not_applicable(given: Transcript, dimension: str, reason: str) -> None:
    result = only(judge(given, [dimension]))
    assert isinstance(result, NotApplicable)
    assert result.reason == reason


def test_what_can_be_judged_is_judged() -> None:
    given = transcript(
        llm(call("search", {"query": "a"})),
        tool("search", {"query": "a"}, "x"),
        tools=(SEARCH,),
        plans=(Plan("s1", "main", "1. look", replan=False),),
    )
    assert [result.type for result in judge(given, ["LC", "EE", "PQ", "TC"])] == ["verdict"] * 4


def test_a_broken_check_fails_its_own_dimensions_only() -> None:
    def broken(_: Transcript) -> Iterator[Hit]:
        yield Hit(("s1",), "", "", "LOW")
        raise KeyError("x")

    checks = (check_that(broken, "broken", ("LC", "TC")), check_that(lambda _: [], "sound", ("LC", "EE")))
    results = {result.judge: result for result in judge(TEN, ["LC", "EE"], checks=checks)}
    assert isinstance(results["EE"], Verdict)
    assert isinstance(results["LC"], Failure)
    assert (results["LC"].error_type, results["LC"].message) == ("KeyError", "check broken: 'x'")


def test_two_checks_on_the_same_spans_are_one_finding_the_graver_first() -> None:
    checks = (
        check_that(lambda _: [Hit(("s1", "s2"), "q", "first", "LOW")], "one"),
        check_that(lambda _: [Hit(("s2", "s1"), "q", "second", "HIGH")], "two"),
    )
    verdict = only(judge(TEN, ["LC"], checks=checks))
    assert isinstance(verdict, Verdict)
    assert [(f.check, f.severity, f.problem, f.span_ids) for f in verdict.findings] == [
        ("two", "HIGH", "second; also: first", ("span2", "span1"))
    ]


def test_a_label_of_no_step_never_reaches_a_result() -> None:
    verdict = only(judge(TEN, ["LC"], checks=(check_that(lambda _: [Hit(("s99", "s1"), "q", "p", "LOW")]),)))
    assert isinstance(verdict, Verdict)
    assert (verdict.findings[0].span_ids, verdict.unresolved) == (("span1",), 1)


def test_halves_of_surrogate_pairs_do_not_reach_a_result() -> None:
    verdict = only(judge(TEN, ["LC"], checks=(check_that(lambda _: [Hit(("s1",), "a\ud800b", "p\udfff", "LOW")]),)))
    assert RESULT.validate_json(verdict.model_dump_json()) == verdict


def test_the_hash_follows_names_and_versions_of_the_dimensions_checks() -> None:
    one, other = finds(), check_that(lambda _: [], "other", ("TC",))
    assert rubric_hash("LC", (one,)) == rubric_hash("LC", (one, other)) != rubric_hash("LC", (one._replace(version=2),))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
class TestEveryCheck:
    def test_is_described(self, check: Check) -> None:
        assert check.category in CATEGORIES
        assert check.about
        assert set(check.dimensions) <= set(DIMENSIONS)

    @pytest.mark.parametrize(
        "given",
        [
            EMPTY,
            TEN,
            transcript(llm(call("", ""), call("x", [1])), tool("", None), tool("x", 5), tool("x", "\ud800", "\ud800")),
            transcript(llm(call("x", {"a": float("nan")})), tool("x", {"a": {1: 2}}, error="\ud800")),
        ],
        ids=["empty", "text only", "odd arguments", "what JSON cannot hold"],
    )
    def test_survives(self, check: Check, given: Transcript) -> None:
        assert all(given.span_id(label) for hit in check.find(given) for label in hit.labels)


def test_the_names_of_checks_differ() -> None:
    assert len({check.name for check in CHECKS}) == len(CHECKS)
