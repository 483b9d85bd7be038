"""`gpa plan lineage`: the plans that agents state in recorded runs, with repetitions, diffs and scores."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.gpa.call_plans import PALETTE, PLAN, SPLIT
from tests.gpa.command_line import gpa

ROOT = Path(__file__).parents[2]


@pytest.fixture
def palette(tmp_path: Path) -> Path:
    path = tmp_path / "tools.toml"
    path.write_text(PALETTE)
    return path


def test_the_stated_plans_of_a_trace_are_shown_with_their_repetitions(palette: Path) -> None:
    result = gpa("plan", "lineage", ROOT / "fixtures" / "traces" / "openinference-smolagents", "--palette", palette)
    assert result.code == 0, result.err
    assert "triage: 1 plan, stated again 1 time" in result.out
    assert "s2: 3 steps in words, nothing to score" in result.out


def trace_of(path: Path, *said: str) -> Path:
    """A recorded run of one agent that says these texts, one model call each."""
    spans = [
        {
            "traceId": "0" * 31 + "1",
            "spanId": f"{number:016x}",
            "name": "chat",
            "startTimeUnixNano": str(number * 10**9),
            "endTimeUnixNano": str(number * 10**9 + 1),
            "attributes": [
                {"key": key, "value": {"stringValue": value}}
                for key, value in {
                    "openinference.span.kind": "LLM",
                    "llm.output_messages.0.message.role": "assistant",
                    "llm.output_messages.0.message.content": text,
                }.items()
            ],
        }
        for number, text in enumerate(said, 1)
    ]
    path.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}))
    return path


def test_replans_of_a_trace_are_shown_with_diffs_and_scores(palette: Path, tmp_path: Path) -> None:
    by_number = {one["id"]: {"step": one["step"], "depends_on": one["depends_on"]} for one in SPLIT}
    plans = (f"Plan:\n{json.dumps(PLAN)}", f"New plan:\n{json.dumps(by_number)}", "Plan: I shall see.")
    trace = trace_of(tmp_path / "trace.json", *plans)
    result = gpa("plan", "lineage", trace, "--palette", palette)
    assert result.code == 0, result.err
    for shown in (
        ": 2 plans",
        "  s1: 2 steps, score 90.45 of 100 (by 5 of 7 metrics)",
        '    -"1": {"step": "T2S([], \'Count call drivers; list moments\')"',
        "  s2: 3 steps, score 100.00 of 100 (by 5 of 7 metrics)",
        "  s3: not read: it is neither steps nor a list",
        "  score by the rules: 90.45 -> 100.00 of 100 (by 5 of 7 metrics): step executability 7.5 -> 15.0",
    ):
        assert shown in result.out
    found = json.loads(gpa("plan", "lineage", trace, "--palette", palette, "--replanned", "--json").out)
    assert [version["label"] for version in found["versions"]] == ["s1", "s2"]
    assert (found["status"], len(found["lineage"]), list(found["unread"])) == ("replanned", 2, ["s3"])
    (revision,) = found["revisions"]
    assert revision["step"] == "s2"


def test_replanned_leaves_out_agents_that_kept_their_plan(palette: Path, tmp_path: Path) -> None:
    trace = trace_of(tmp_path / "trace.json", "Plan:\n1. Look\n2. Answer")
    assert gpa("plan", "lineage", trace, "--palette", palette, "--replanned").out == ""
    assert "2 steps in words" in gpa("plan", "lineage", trace, "--palette", palette).out


def test_traces_without_a_plan_are_counted_and_a_path_without_traces_is_an_error(palette: Path, tmp_path: Path) -> None:
    none = gpa("plan", "lineage", ROOT / "fixtures" / "traces" / "openllmetry-openai", "--palette", palette, "--json")
    assert (none.code, none.out) == (0, "")
    assert "state no plan" in none.err
    (tmp_path / "empty").mkdir()
    assert gpa("plan", "lineage", tmp_path / "empty", "--palette", palette).code == 2
