"""Runs to be judged, and evaluations of them by a model that a server plays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpa.evaluation import Evaluation, evaluate
from gpa.ingest.transcript import Transcript
from gpa.judges.verdict import Failure
from gpa.judging import Judging
from tests.judges.checks.transcripts import llm, said, tool, transcript
from tests.servers.messages import MessagesService

ROOT = Path(__file__).parents[3]
SONNET = "anthropic/claude-sonnet-5-5"


def run_of(name: str) -> Transcript:
    """A run whose trace id is this letter, 32 times."""
    return transcript(llm(said(f"I am {name}.")), tool("search", {"query": name}, "nothing"), trace_id=name * 32)


A, B = run_of("a"), run_of("b")


def live(
    service: MessagesService, traces: Sequence[Any] = (A, B), *, store: Path | None = None, **options: Any
) -> Evaluation:
    """Those runs, judged by asking the server."""
    judging = Judging(base_url=service.url, **options)
    return evaluate(traces, model=SONNET, store=store, judging=judging)


def kinds(evaluation: Evaluation) -> list[tuple[str, str, str]]:
    """Of each result the letter of the run, the dimension, and what came of it."""
    return [
        (one.trace_id[:1], one.judge, one.error_type if isinstance(one, Failure) else one.type)
        for one in evaluation.results
    ]
