"""A replan that answers nothing, and those that do."""

from __future__ import annotations

import pytest

from gpa.ingest.transcript import Plan
from gpa.judges.checks.repeated_plan import find
from tests.judges.checks.transcripts import llm, said, tool, transcript

FIRST = "1. Search the archive for the report\n2. Read its second chapter\n3. Answer"
REWORDED = "- Search the archive for the report\n- Read its second chapter\n- Answer."
OTHER = "1. Ask the librarian\n2. Read the summary she gives\n3. Answer"


@pytest.mark.parametrize(
    ("first", "second", "error", "found"),
    [
        pytest.param(FIRST, REWORDED, "boom", [("s3", "s1")], id="the same with other bullets"),
        pytest.param(FIRST, OTHER, "boom", [], id="another plan"),
        pytest.param(FIRST, FIRST + "\n4. Check", "boom", [], id="a step more"),
        pytest.param(FIRST, FIRST, "", [], id="nothing failed"),
        pytest.param(
            "- look [pending]\n- say [pending]",
            "- look [completed]\n- say [pending]",
            "boom",
            [],
            id="to-do list ticked",
        ),
        pytest.param("- look [pending]", "- look [pending]", "boom", [("s3", "s1")], id="to-do list unchanged"),
    ],
)
def test_find(first: str, second: str, error: str, found: list[tuple[str, str]]) -> None:
    steps = (llm(said(first)), tool("search", {"q": 1}, "x", error=error), llm(said(second)))
    plans = (Plan("s1", "main", first, replan=False), Plan("s3", "main", second, replan=True))
    assert [hit.labels for hit in find(transcript(*steps, plans=plans))] == found
