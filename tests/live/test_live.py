"""Real models, with a real key, for a few cents: `ANTHROPIC_API_KEY=... pytest -m live -s`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpa.evaluation import Evaluation, evaluate
from gpa.judges.verdict import Failure, Verdict
from gpa.judging import Judging

MODEL = os.environ.get("GPA_LIVE_MODEL", "anthropic/claude-haiku-5-5")
TRACE = Path(__file__).parents[2] / "fixtures" / "traces" / "openinference-smolagents" / "invoice_payment.traces.jsonl"

pytestmark = [
    pytest.mark.live,
    pytest.mark.enable_socket,
    pytest.mark.skipif("ANTHROPIC_API_KEY" not in os.environ, reason="needs ANTHROPIC_API_KEY"),
]


def judged(judging: Judging, *dimensions: str) -> Evaluation:
    evaluation = evaluate(TRACE, model=MODEL, dimensions=dimensions or None, judging=judging)
    failures = [one for one in evaluation.results if isinstance(one, Failure)]
    assert failures == []
    assert evaluation.spending is not None
    print(f"\n{MODEL}: {evaluation.spending}")  # noqa: T201 - what it cost, with -s
    return evaluation


def test_a_planted_error_is_found_in_its_span(tmp_path: Path) -> None:
    evaluation = judged(Judging(cache=tmp_path / "answers.db"), "TC")
    [verdict] = [one for one in evaluation.results if isinstance(one, Verdict)]
    assert verdict.score < 3
    assert "29a37f2b923bbafc" in {span for found in verdict.findings for span in found.span_ids}


def test_the_schema_of_all_dimensions_at_once_is_accepted(tmp_path: Path) -> None:
    assert len(judged(Judging(mode="single", cache=tmp_path / "answers.db")).results) == 7


def test_later_judges_read_the_prefix_from_the_prompt_cache(tmp_path: Path) -> None:
    notes = tmp_path / "notes.md"
    notes.write_text("The agent pays invoices with one tool. " * 600)  # long enough for the prompt cache of any model
    evaluation = judged(Judging(agent_notes=notes, cache=tmp_path / "answers.db", concurrency=1), "LC", "TC", "GF")
    assert evaluation.spending is not None
    assert evaluation.spending.usage.cache_read_tokens > evaluation.spending.usage.input_tokens


def test_what_was_paid_is_not_paid_again(tmp_path: Path) -> None:
    judging = Judging(cache=tmp_path / "answers.db")
    first, second = judged(judging, "GF"), judged(judging, "GF")
    assert second.results == first.results
    assert second.spending is not None
    assert second.spending.paid == 0
