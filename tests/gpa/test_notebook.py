"""What a notebook shows of transcripts, verdicts and evaluations: readable, and never obeyed."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from gpa.errors import UsageError
from gpa.evaluation import Evaluation, evaluate
from gpa.ingest.assembly import read_traces
from gpa.ingest.transcript import transcribe
from gpa.judges.verdict import Verdict
from tests.gpa.ci.outcomes import HOSTILE, hostile
from tests.judges.checks.transcripts import call, llm, said, tool, transcript, user

TRACE = Path(__file__).parents[2] / "fixtures" / "traces" / "pydantic-ai" / "seat_change.traces.jsonl"


class Page(HTMLParser):
    """The elements and the text of a piece of HTML; every element must be closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


TAGS = {"b", "bdi", "details", "div", "p", "pre", "summary", "table", "tbody", "td", "th", "thead", "tr"}


def test_a_transcript_shows_goal_steps_and_the_whole() -> None:
    [trace] = read_traces(str(TRACE))
    page = Page(transcribe(trace)._repr_html_())
    assert page.text.startswith(f"trace {trace.trace_id}, 6 stepsPlease move booking QX4 to seat A in row twelve.")
    assert "change_seat" in page.text
    assert "The row must be a number; I send 12." in page.text
    assert page.tags <= TAGS


def test_a_verdict_shows_score_and_findings() -> None:
    [verdict] = [one for one in evaluate(str(TRACE), dimensions=["TC"]).results if isinstance(one, Verdict)]
    page = Page(verdict._repr_html_())
    assert page.text.startswith("TC Tool Calling: 1 of 3, trace fa8f90348cb567b18b6dc3028865a018, by checks")
    assert "tool-arguments-schema" in page.text
    assert page.tags <= TAGS


def test_an_evaluation_shows_scores_and_the_gravest_findings() -> None:
    page = Page(evaluate(str(TRACE))._repr_html_())
    assert page.text.startswith("1 trace")
    assert "TC Tool Calling1.001001" in page.text
    assert "row: expected integer, got string" in page.text


def test_what_a_trace_says_is_text() -> None:
    [verdict, *_] = hostile().evaluation.results
    shown = transcript(
        llm(said(HOSTILE), call(HOSTILE, {HOSTILE: HOSTILE}), new=(user(HOSTILE),), agent=HOSTILE),
        tool(HOSTILE, {}, error=HOSTILE),
        trace_id=HOSTILE,
    )
    assert isinstance(verdict, Verdict)
    for html in (verdict._repr_html_(), hostile().evaluation._repr_html_(), shown._repr_html_()):
        page = Page(html)
        assert page.tags <= TAGS
        assert page.attributes <= {"style"}
        assert "<script>alert(1)</script>" in page.text
        assert not set(html) & {"\u202e", "\x1b", "\x00", "\ud800"}
        html.encode()


def test_nothing_to_show_is_shown() -> None:
    assert Page(Evaluation(())._repr_html_()).text.startswith("0 traces")
    assert "0 steps" in Page(transcript()._repr_html_()).text


def test_findings_are_a_frame_of_their_own() -> None:
    pytest.importorskip("pandas")
    evaluation = evaluate(str(TRACE))
    frame = evaluation.to_frame("findings")
    assert len(frame) == sum(row.findings for row in evaluation.summary())
    [row] = frame.to_dict("records")
    assert (row["judge"], row["check"], row["severity"]) == ("TC", "tool-arguments-schema", "MEDIUM")
    assert isinstance(row["span_ids"], list)
    assert list(Evaluation(()).to_frame("findings").columns) == list(frame.columns)


def test_without_pandas_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match="needs pandas"):
        Evaluation(()).to_frame("findings")
