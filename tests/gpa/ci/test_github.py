"""The summary of a step and workflow commands: readable, and deaf to what traces say."""

from __future__ import annotations

import re

import pytest

from gpa.ci.github import command, markdown, summary, workflow_commands
from gpa.locations import Recorded
from tests.gpa.ci.outcomes import HOSTILE, fixtures, hostile, outcome, part


def test_without_a_baseline_it_shows_scores_and_findings() -> None:
    text = summary(outcome(fixtures()))
    assert text.startswith("## Agent GPA: ✅ passed\n")
    [row] = [row for row in fixtures().evaluation.summary() if row.dimension == "TC"]
    assert f"| TC Tool Calling | {row.mean:.2f} | {row.scored} | {row.not_applicable} | 0 | {row.findings} |" in text
    assert "| HIGH | LC TC GF | **claimed-success** says that it is paid, but every call of pay&#95;invoice" in text
    assert re.search(r"^\.\.\. and \d+ more$", text, re.MULTILINE)


def test_with_a_baseline_it_shows_what_moved_and_new_findings_apart() -> None:
    text = summary(outcome(fixtures(), "new-high", baseline=part(fixtures(), 2)))
    assert text.startswith("## Agent GPA: ❌ stopped\n\n- ")
    assert re.search(r"^- \d+ new findings? of severity HIGH$", text, re.MULTILINE)
    new, known = text.split("<details><summary>Known findings")
    assert "### New findings: " in new
    assert "</details>" in known


def test_known_findings_are_not_annotated() -> None:
    assert list(workflow_commands(outcome(fixtures(), baseline=fixtures()))) == []
    lines = list(workflow_commands(outcome(fixtures())))
    assert all(re.match(r"::(error|warning|notice) title=[^:,]+,file=traces/run.jsonl::", line) for line in lines)
    counts = [sum(line.startswith(f"::{level} ") for line in lines) for level in ("error", "warning", "notice")]
    assert counts[0] > 3
    assert max(counts) <= 10  # GitHub shows no more of each


@pytest.mark.parametrize("run", [hostile()], ids=["hostile"])
def test_nothing_a_trace_says_begins_a_command_or_a_line(run: Recorded) -> None:
    for line in workflow_commands(outcome(run, "any")):
        assert "\n" not in line
        assert "\r" not in line
        assert re.fullmatch(r"::(error|warning|notice) title=[^:,\n]*(?:,file=[^:,\n]*)?::[^\n]*", line)


def test_a_command_escapes_what_would_end_its_properties() -> None:
    assert command("error", "a:b,c%", "50% of\nall", file="x:y") == (
        "::error title=a%3Ab%2Cc%25,file=x%3Ay::50%25 of all"
    )


def test_recorded_text_means_nothing_in_markdown() -> None:
    text = summary(outcome(hostile()))
    shown = re.sub(r"&#\d+;", "?", markdown(HOSTILE, 1_000))  # what is left when entities are no syntax
    for active in ("<script", "@here", "](", "`", "|", "#1", "https:", "www.", ":smile:", "\u202e", "\x1b", "\n"):
        assert active not in shown
    assert "<script" not in text
    rows = [line for line in text.splitlines() if line.startswith("| HIGH")]
    assert {row.count("|") for row in rows} == {5}


def test_the_gate_says_why_it_is_shut() -> None:
    shut = outcome(fixtures(), "high", "regression", fail_under=2.5).reasons()
    assert re.fullmatch(r"[A-Z]{2} .*: mean \d\.\d\d is below 2.5", shut[0])
    assert re.fullmatch(r"\d+ findings of severity HIGH", shut[-1])
    assert outcome(fixtures(), "new", "new-high", "regression", baseline=fixtures()).reasons() == ()
