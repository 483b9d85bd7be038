"""Files of requirements in all their forms, and what is wrong with the others, each record by itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpa.errors import InputError
from gpa.plans.requirement_files import Asked, Broken, Column, Known, load_columns, load_known
from gpa.plans.requirements import RequirementsError
from tests.plans.revenue import ASKED, COLUMNS, MAPPING, READ

TRACE = "5f" * 16


def known(folder: Path, text: str, columns: tuple[Column, ...] = ()) -> Known:
    path = folder / "asked.json"
    path.write_text(text)
    return load_known(path, MAPPING, columns)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(READ, id="one for all"),
        pytest.param({"requirements": READ}, id="one record for all"),
        pytest.param({TRACE: READ}, id="by trace id"),
        pytest.param({"Show  Me": READ}, id="by goal"),
        pytest.param({TRACE: {"requirements": READ}}, id="records by trace id"),
        pytest.param([{"trace_id": TRACE, "requirements": READ}], id="list"),
        pytest.param({"trace_id": TRACE, **READ, "answer": "x"}, id="fields in the record"),
        pytest.param([{"goal": "show me", "requirements": READ}], id="goal"),
        pytest.param([{"id": TRACE, "question": "show me", "requirements": READ}], id="id before goal"),
    ],
)
@pytest.mark.parametrize("lines", [False, True], ids=["JSON", "JSON Lines"])
def test_requirements_are_found_by_trace_by_goal_or_for_all(tmp_path: Path, value: Any, lines: bool) -> None:
    listed = value if isinstance(value, list) else [value]
    text = "\n".join(map(json.dumps, listed)) if lines else json.dumps(value)
    asked = known(tmp_path, text).of(TRACE, "show\nME ")
    assert isinstance(asked, Asked)
    assert asked.requirements == ASKED


def test_a_trace_that_the_file_does_not_name_has_no_requirements(tmp_path: Path) -> None:
    assert known(tmp_path, json.dumps({TRACE: READ})).of("6a" * 16, "something else") is None


def test_a_record_that_is_wrong_costs_its_own_trace_only(tmp_path: Path) -> None:
    rows = [
        {"trace_id": "a", "requirements": {"analysis": ["forecast"]}},
        {"trace_id": "b", "requirements": READ},
        {"requirements": READ},
        {"trace_id": "d", "anlysis": ["total"]},
        {"trace_id": "e"},
    ]
    found = known(tmp_path, "\n".join(map(json.dumps, rows)))
    assert isinstance(found.of("a"), Broken)
    assert isinstance(found.of("b"), Asked)
    said = [str(error) for error in found.errors]
    allowed = "total, compare, trend, distribution, anomaly, correlation"
    assert said[0].endswith(f"asked.json:1: field analysis: expected {allowed}, found 'forecast'")
    assert "asked.json:3: expected a record with trace_id, id or goal" in said[1]
    assert "(did you mean 'analysis'?)" in said[2]
    assert "asked.json:5: expected requirements" in said[3]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("{", "expected JSON", id="cut"),
        pytest.param('{"analysis": ["forecast"]}', "found 'forecast'", id="label for all"),
        pytest.param('{"a": 1}\n{', ":2: expected JSON", id="bad line"),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        known(tmp_path, text)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file"):
        load_known(tmp_path / "none.json", MAPPING)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(COLUMNS, id="types by name"),
        pytest.param({"columns": COLUMNS}, id="under columns"),
        pytest.param([{"name": name, "type": kind} for name, kind in COLUMNS.items()], id="list"),
        pytest.param({name: {"type": kind} for name, kind in COLUMNS.items()}, id="objects by name"),
    ],
)
def test_columns_are_read_in_all_forms(tmp_path: Path, value: Any) -> None:
    path = tmp_path / "columns.json"
    path.write_text(json.dumps(value))
    assert Asked(ASKED, load_columns(path)).types == COLUMNS


def test_a_record_may_describe_its_own_data(tmp_path: Path) -> None:
    row = {"trace_id": TRACE, "requirements": READ, "columns": {"date": {"type": "temporal", "span_days": 400}}}
    asked = known(tmp_path, json.dumps([row]), (Column("x"),)).of(TRACE)
    assert isinstance(asked, Asked)
    assert asked.columns == (Column("date", "temporal", 400),)


@pytest.mark.parametrize("value", [3, {"date": "time"}, [{"type": "temporal"}], ["date"]])
def test_columns_that_are_none_are_refused(tmp_path: Path, value: Any) -> None:
    path = tmp_path / "columns.json"
    path.write_text(json.dumps(value))
    with pytest.raises(RequirementsError, match="expected columns with name and type"):
        load_columns(path)
