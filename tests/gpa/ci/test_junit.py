"""JUnit XML, against the schema that Jenkins' xunit plugin validates with (junit-10.xsd, MIT licence)."""

from __future__ import annotations

import io
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import xmlschema

from gpa.ci.junit import junit
from gpa.ci.outcome import Outcome
from gpa.judges.verdict import Verdict
from gpa.locations import Recorded
from tests.gpa.ci.outcomes import EMPTY, fixtures, hostile, outcome

SCHEMA = xmlschema.XMLSchema(str(Path(__file__).parent / "schemas" / "junit-10.xsd"))


def runs() -> dict[str, Recorded]:
    return {"fixtures": fixtures(), "hostile": hostile(), "empty": EMPTY}


@pytest.mark.parametrize("run", runs().values(), ids=runs().keys())
def test_it_is_valid(run: Recorded) -> None:
    SCHEMA.validate(io.BytesIO(junit(outcome(run))))


def cases(written: Outcome) -> dict[tuple[str, str], ET.Element]:
    return {
        (str(case.get("classname")), str(case.get("name"))): case
        for case in ET.fromstring(junit(written)).iter("testcase")
    }


def test_there_is_a_case_for_each_trace_and_dimension_with_a_name_of_its_own() -> None:
    results = fixtures().evaluation.results
    found = cases(outcome(fixtures()))
    assert len(found) == len({(result.trace_id, result.judge) for result in results})
    assert ("gpa.TC", "Please pay invoice R-2207.") in found  # the goal: the same name in the next run
    assert ("gpa.TC", "Where is my parcel AT-90-117? trace 9440cf5b844bdda1e67d734a14c01c99") in found


@pytest.mark.parametrize(
    ("fail_under", "failing"), [(None, 2.0), (0.5, 0.5), (3, 3.0)], ids=["by default under 2", "0.5", "3"]
)
def test_a_score_below_the_threshold_is_a_failure(fail_under: float | None, failing: float) -> None:
    root = ET.fromstring(junit(outcome(fixtures(), fail_under=fail_under)))
    below = [
        result for result in fixtures().evaluation.results if isinstance(result, Verdict) and result.score < failing
    ]
    assert len(list(root.iter("failure"))) == len(below) == int(root.get("failures", "-1"))


def test_the_three_outcomes_are_three_elements_and_counted() -> None:
    tc, pa, lc = by_class(hostile())
    assert [child.tag for child in tc] == ["failure"]
    assert [child.tag for child in pa] == ["skipped"]
    assert [child.tag for child in lc] == ["error"]
    root = ET.fromstring(junit(outcome(hostile())))
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("3", "1", "1")


def by_class(run: Recorded) -> list[ET.Element]:
    found = {classname: case for (classname, _), case in cases(outcome(run)).items()}
    return [found[f"gpa.{code}"] for code in ("TC", "PA", "LC")]


def test_a_failure_says_what_is_wrong_and_where() -> None:
    failure = cases(outcome(fixtures()))["gpa.TC", "Please move booking QX4 to seat A in row twelve."].find("failure")
    assert failure is not None
    assert failure.get("message", "").startswith("score 1 is below 2: tool-arguments-schema: arguments of change_seat")
    assert "llm scripted-model-1 of seat_desk [s2] span" in (failure.text or "")


def test_control_characters_are_removed_and_markup_is_text() -> None:
    written = junit(outcome(hostile())).decode()
    assert not [char for char in written if ord(char) < 32 and char not in "\n\t"]
    [failure] = ET.fromstring(written.encode()).iter("failure")
    assert "<script>alert(1)</script>" in (failure.text or "")
    assert "\u202e" not in written
