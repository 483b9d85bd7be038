"""A model's reply, read: what is right is taken, what is wrong is said so that the model can mend it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.judges.answer import Answer, BadAnswer, read_answer, read_answers
from gpa.judges.verdict import CATEGORIES

FINDING = {"quote": "q", "problem": "p", "category": "Tool-related", "severity": "LOW", "steps": ["s1"]}


def reply(**fields: Any) -> str:
    return json.dumps({"findings": [], "rationale": "r", "not_applicable": None, "score": 2, **fields})


def finding(**fields: Any) -> str:
    return reply(findings=[{**FINDING, **fields}])


def test_an_answer_is_read() -> None:
    answer = read_answer(finding())
    assert (answer.score, answer.rationale, answer.not_applicable, answer.leads) == (2, "r", None, ())
    assert answer.findings[0].model_dump() == {**FINDING, "steps": ("s1",)}


@pytest.mark.parametrize(
    "text",
    [
        reply(),
        f"```json\n{reply()}\n```",
        f"Here it is: {reply()} That is all.",
        f"\ufeff{reply()}",
        reply(extra="passed over"),
        reply(score=2.0),
    ],
    ids=["bare", "fence", "sentences", "byte order mark", "extra field", "whole float"],
)
def test_what_stands_around_an_answer_is_passed_over(text: str) -> None:
    assert read_answer(text).score == 2


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"category": "tool related"}, {"category": "Tool-related"}),
        ({"category": " GOAL_deviation "}, {"category": "Goal Deviation"}),
        ({"severity": "high"}, {"severity": "HIGH"}),
        ({"steps": "s3"}, {"steps": ("s3",)}),
        ({"steps": [3, "s4"]}, {"steps": ("3", "s4")}),
        ({"quote": "a\x00b"}, {"quote": "ab"}),
    ],
    ids=["blank for hyphen", "case and signs", "severity", "one label", "number", "NUL"],
)
def test_small_slips_are_forgiven(fields: dict[str, Any], expected: dict[str, Any]) -> None:
    read = read_answer(finding(**fields)).findings[0].model_dump()
    assert {name: read[name] for name in expected} == expected


@pytest.mark.parametrize("category", CATEGORIES)
def test_every_category_is_known_by_its_name(category: str) -> None:
    assert read_answer(finding(category=category)).findings[0].category == category


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "there is no JSON object in it"),
        ("I would give a 3.", "there is no JSON object in it"),
        ("} {", "there is no JSON object in it"),
        ('{"score": 3', "there is no JSON object in it"),
        ('{"score": 3,}', "it is no valid JSON: trailing comma is not allowed: line 1 column 12 (char 11)"),
        ("[1, 2]", "there is no JSON object in it"),
        (reply(score=4), "score: Input should be less than or equal to 3"),
        (reply(score=-1), "score: Input should be greater than or equal to 0"),
        (reply(score=2.5), "score: Input should be a valid integer"),
        (reply(score=True), "score: Input should be a valid integer"),
        (reply(score="3"), "score: Input should be a valid integer"),
        (reply(score=None), "score is null although not_applicable gives no reason"),
        (reply(score=None, not_applicable=" "), "score is null although not_applicable gives no reason"),
        (reply(score=None, not_applicable="no", findings=[FINDING]), "not_applicable contradicts the findings"),
        (
            reply(score=None, not_applicable="no", leads=[{"id": "c1", "decision": "confirm"}]),
            "not_applicable contradicts the findings",
        ),
        ('{"rationale": "r", "score": 3}', "findings: Field required"),
        (finding(category="Sloth"), "findings.0.category: Value error, expected one of the named categories"),
        (finding(severity="FATAL"), "findings.0.severity: Input should be 'LOW', 'MEDIUM' or 'HIGH'"),
        (finding(steps=[["s1"]]), "findings.0.steps.0: Input should be a valid string"),
        ("{" * 50_000 + "}" * 50_000, "it is no valid JSON:"),
        ('{"a": NaN}', "it is no valid JSON:"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(text: str, complaint: str) -> None:
    with pytest.raises(BadAnswer) as error:
        read_answer(text)
    assert str(error.value).startswith(complaint)


def test_a_dimension_that_does_not_apply_has_a_reason_and_no_score() -> None:
    answer = read_answer(reply(score=None, not_applicable="no plan"))
    assert (answer.score, answer.not_applicable) == (None, "no plan")


def test_of_several_answers_in_a_reply_each_is_read_by_itself() -> None:
    good = json.loads(reply())
    read = read_answers(json.dumps({"LC": good, "EE": {**good, "score": 7}, "PQ": 3}), ["LC", "EE", "PQ", "PA"])
    assert isinstance(read["LC"], Answer)
    assert str(read["EE"]) == "score: Input should be less than or equal to 3"
    assert str(read["PQ"]) == str(read["PA"]) == "there is no object for it"


def test_a_reply_that_is_no_object_is_wrong_for_every_dimension() -> None:
    assert {str(error) for error in read_answers("no", ["LC", "EE"]).values()} == {"there is no JSON object in it"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["findings", "score", "rationale", "leads", "steps"]), inner, max_size=4)
    ),
    max_leaves=8,
)


@given(JSON.map(json.dumps) | st.text())
def test_no_reply_raises_anything_but_a_bad_answer(text: str) -> None:
    try:
        answer = read_answer(text)
    except BadAnswer:
        return
    assert answer.score in {0, 1, 2, 3} or answer.not_applicable
