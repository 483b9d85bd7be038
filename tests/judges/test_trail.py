"""TRAIL's files are read as people and models wrote them, and what was mended is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpa.errors import FormatError
from gpa.judges.trail import benchmark_category, category, read_annotation, read_prediction
from gpa.judges.verdict import CATEGORIES

ERROR = {
    "category": "Goal Deviation",
    "location": "00000000000000a1",
    "evidence": "e",
    "description": "d",
    "impact": "LOW",
}
PATH = Path("gold", "ABC.json")


def annotation(*errors: object, **more: object) -> bytes:
    return json.dumps({"errors": list(errors), **more}).encode()


def test_a_clean_file_needs_no_repair() -> None:
    read = read_annotation(PATH, annotation(ERROR, scores=[{"overall": 3}], trace_id="abc"))
    assert (read.trace_id, read.repairs, read.scores) == ("abc", (), 1)
    assert read.errors[0]._asdict() == ERROR


@pytest.mark.parametrize(
    ("content", "repair"),
    [
        pytest.param(b'{"errors": [], }', "not strict JSON: 1 trailing comma", id="a trailing comma"),
        pytest.param(b'{"errors": [],\n\t"x": [1,2,],\n}', "not strict JSON: 2 trailing commas", id="two of them"),
        pytest.param(
            b'{"errors": [], "x": "a\nb"}', "not strict JSON: control characters in texts", id="a raw newline"
        ),
        pytest.param(
            annotation({k: v for k, v in ERROR.items() if k != "description"}),
            "an error without description",
            id="no description",
        ),
        pytest.param(
            annotation(trace_id="other"), "trace_id 'other' inside, taken by the name of the file", id="another id"
        ),
    ],
)
def test_known_quirks_are_mended_and_said(content: bytes, repair: str) -> None:
    assert read_annotation(PATH, content).repairs == (repair,)


def test_commas_inside_texts_stay() -> None:
    content = annotation({**ERROR, "evidence": 'a, } b,] "c", }'}).replace(b"]", b",]", 1)[:-1] + b",}"
    assert read_annotation(PATH, content).errors[0].evidence.startswith("a, }")


def test_halves_of_surrogate_pairs_are_replaced() -> None:
    read = read_annotation(PATH, annotation({**ERROR, "evidence": "half \ud83d"}))
    assert read.errors[0].evidence == "half ?"


def test_fields_beside_an_error_without_description_become_its_description() -> None:
    broken = {"category": "Resource Abuse", "location": "x", "evidence": "one", "Observation:": "two", "impact": "LOW"}
    read = read_annotation(PATH, annotation(broken))
    assert read.errors[0].description == "Observation: two"
    assert read.repairs == ("an error without description, taken from the fields beside it",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"errors": [}', f"{PATH}:1:13: expected a TRAIL annotation (JSON), found Expecting value"),
        (b"[1]", f'{PATH}: expected a TRAIL annotation, {{"errors": [...]}}, found none'),
        (annotation("text"), f"{PATH}: errors[0]: expected an error object, found str"),
        (annotation(ERROR, {**ERROR, "location": 3}), f"{PATH}: errors[1]: expected a text as location, found 3"),
    ],
)
def test_what_cannot_be_mended_stops_with_its_position(content: bytes, message: str) -> None:
    with pytest.raises(FormatError) as error:
        read_annotation(PATH, content)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param('```json\n{"errors": [{"category": "c", "location": "l"}]}\n```', [("c", "l")], id="fenced"),
        pytest.param('{"errors": [{"category": "c"}]} and {so on}', [("c", "")], id="cut from the end until it parses"),
        pytest.param('{"errors": ["text", {"location": 7}]}', [("", "7")], id="odd entries"),
        pytest.param('{"answer": 1}', [], id="an object without errors"),
        pytest.param('{"errors": [{"category": "c"}', None, id="cut off"),
        pytest.param("I found no errors.", None, id="no object"),
        pytest.param("} {", None, id="brackets the wrong way round"),
        pytest.param('{"a":' * 100_000 + "}", None, id="100,000 levels"),
    ],
)
def test_predictions_are_read_by_the_rule_of_the_benchmark(text: str, found: list[tuple[str, str]] | None) -> None:
    read = read_prediction(text)
    assert (None if read is None else [(error.category, error.location) for error in read]) == found


@pytest.mark.parametrize(
    ("name", "by_the_benchmark", "by_us"),
    [
        pytest.param(" formatting ERRORS ", "Formatting Errors", "Formatting Errors", id="case"),
        pytest.param("GoalDeviation", "Goal Deviation", "Goal Deviation", id="spaces"),
        pytest.param(
            "Context Handling Failure", "Context Handling Failures", "Context Handling Failures", id="singular"
        ),
        pytest.param("Task Orchestration Errors", "task orchestration errors", "Task Orchestration", id="plural"),
        pytest.param("System: Rate Limiting", "system: rate limiting", "Rate Limiting", id="prefix"),
        pytest.param(
            "Instruction non complience", "instruction non complience", "Instruction Non-compliance", id="misspelt"
        ),
        pytest.param("tool", "Tool-related", "Tool-related", id="the first that contains it"),
        pytest.param("Hallucination", "hallucination", None, id="none of them"),
        pytest.param("", "", None, id="empty"),
    ],
)
def test_category_names(name: str, by_the_benchmark: str, by_us: str | None) -> None:
    assert benchmark_category(name) == by_the_benchmark
    assert category(name) == by_us


@pytest.mark.parametrize("name", CATEGORIES)
def test_each_category_is_itself(name: str) -> None:
    assert benchmark_category(name) == category(name) == name
