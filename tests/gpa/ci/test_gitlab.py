"""GitLab's code quality report: what its documentation requires of each entry."""

from __future__ import annotations

import json

import pytest

from gpa.ci.gitlab import code_quality
from gpa.locations import Recorded
from tests.gpa.ci.outcomes import fixtures, hostile, outcome


@pytest.mark.parametrize("run", [fixtures(), hostile()], ids=["fixtures", "hostile"])
def test_each_entry_has_what_gitlab_requires(run: Recorded) -> None:
    entries = json.loads(code_quality(outcome(run)))
    assert len(entries) == len(outcome(run).findings)
    for entry in entries:
        assert set(entry) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert entry["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert entry["location"] == {"path": "traces/run.jsonl", "lines": {"begin": 1}}
        assert entry["description"].isprintable()
    assert len({entry["fingerprint"] for entry in entries}) == len(entries)  # GitLab drops what repeats


def test_a_description_says_dimension_problem_and_step() -> None:
    [entry] = [one for one in json.loads(code_quality(outcome(fixtures()))) if "change_seat" in one["description"]]
    assert entry["description"].startswith("TC: arguments of change_seat break its schema: row: expected integer")
    assert "(llm scripted-model-1 of seat_desk [s2])" in entry["description"]
