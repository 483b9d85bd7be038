"""Silence after an error, and everything that breaks it."""

from __future__ import annotations

import pytest

from gpa.ingest.transcript import Step
from gpa.judges.checks.unacknowledged_error import find
from tests.judges.checks.transcripts import call, llm, said, tool, transcript

FAILED = (llm(call("search", {"q": 1}, "c1")), tool("search", {"q": 1}, error="boom", call_id="c1"))


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        pytest.param((*FAILED, llm(said("The answer is 7."))), [(("s3", "s2"), "MEDIUM")], id="passed over"),
        pytest.param((*FAILED, llm(said("The search failed; from memory: 7."))), [], id="acknowledged"),
        pytest.param((*FAILED, llm(said("Die Suche ging leider schief."))), [], id="acknowledged in German"),
        pytest.param((*FAILED, llm(call("search", {"q": 2}))), [], id="retried"),
        pytest.param((*FAILED, llm(said("Next."), call("browse", {})), llm(said("It is 7."))), [], id="worked around"),
        pytest.param((*FAILED, llm(said("Thought: compute\n```py\nprint(7)\n```"))), [], id="other code"),
        pytest.param(
            (*FAILED, llm(said("One moment.")), llm(said("The call gave an error."))), [], id="acknowledged later"
        ),
        pytest.param(FAILED, [], id="nothing said afterwards"),
        pytest.param((*FAILED, llm(said("It is 7."), agent="other")), [], id="another agent speaks"),
        pytest.param(
            (
                llm(call("search", {"q": 1}, "c1"), call("search", {"q": 2}, "c2")),
                tool("search", {"q": 1}, error="boom", call_id="c1"),
                tool("search", {"q": 2}, "7", call_id="c2"),
                llm(said("It is 7.")),
            ),
            [(("s4", "s2"), "LOW")],
            id="a call beside it succeeded",
        ),
        pytest.param((llm(said("x")), llm(said("It is 7."))), [], id="no error"),
    ],
)
def test_find(steps: tuple[Step, ...], found: list[tuple[tuple[str, ...], str]]) -> None:
    assert [(hit.labels, hit.severity) for hit in find(transcript(*steps))] == found
