"""Requirements in their closed vocabulary: read, refused with everything that is wrong, and their schema for models."""

from __future__ import annotations

from typing import Any

import pytest

from gpa.plans.requirements import Requirements, RequirementsError, read_requirements, requirements_schema
from tests.plans.revenue import ASKED, MAPPING, READ


def test_requirements_are_read_and_have_ids() -> None:
    read = read_requirements(READ, MAPPING)
    assert read == ASKED
    assert read.ids() == (
        *("analysis.total", "analysis.compare", "analysis.trend", "outputs.chart", "outputs.table"),
        *("group_by", "time"),
    )


def test_what_is_unknown_is_empty() -> None:
    unknown = {"group_by": "unknown", "time": "unknown", "analysis": ["unknown"], "metrics": None}
    assert read_requirements(unknown, MAPPING) == Requirements()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        pytest.param({"analysis": ["forecast"]}, "field analysis: expected total, compare, trend", id="label"),
        pytest.param({"outputs": ["charts"]}, "(did you mean 'chart'?), found 'charts'", id="near label"),
        pytest.param({"goals": []}, "field goals: expected metrics, group_by", id="field"),
        pytest.param({"metrics": 3}, "field metrics: expected a list of texts, found 3", id="type"),
        pytest.param({"metrics": ["a", 3]}, "field metrics[1]: expected a text, found 3", id="entry"),
        pytest.param({"time": {"column": "d", "grain": "hourly"}}, "field time.grain: expected unknown", id="grain"),
        pytest.param({"time": {"column": 3}}, "field time.column: expected a text", id="column"),
        pytest.param({"time": {"zone": "UTC"}}, "field time.zone", id="time field"),
        pytest.param({"time": 3}, "field time: expected column and grain, found 3", id="time"),
        pytest.param([], "expected an object of requirements, found an empty array", id="list"),
    ],
)
def test_requirements_outside_the_vocabulary_are_refused_with_their_place(value: Any, said: str) -> None:
    with pytest.raises(RequirementsError) as error:
        read_requirements(value, MAPPING, where="asked.json")
    assert said in str(error.value)
    assert str(error.value).startswith("asked.json: ")


def test_everything_wrong_is_said_at_once() -> None:
    with pytest.raises(RequirementsError) as error:
        read_requirements({"analysis": ["forecast"], "outputs": ["map"], "x": 1}, MAPPING)
    assert len(error.value.errors) == 3


def test_the_schema_for_models_closes_labels_and_fields() -> None:
    schema = requirements_schema(MAPPING)
    assert schema["additionalProperties"] is False
    assert schema["properties"]["analysis"]["items"]["enum"] == list(MAPPING.analysis)
