"""Requests and responses in files and batches: the results are those of a live run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gpa.evaluation import Evaluation, evaluate
from gpa.judges.verdict import Verdict
from gpa.judging import Judging
from gpa.store import open_store
from tests.gpa.answers import varied
from tests.gpa.judging.runs import ROOT, SONNET, A, B, kinds, live
from tests.judges.checks.transcripts import llm, said, transcript
from tests.judges.replies import reply
from tests.servers.messages import messages_service


def requests_in(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def respond(path: Path, requests: Sequence[dict[str, Any]], text: str | None = None) -> Path:
    """A file of responses to these requests."""
    with path.open("w") as file:
        for request in requests:
            said = varied(request["params"]).text if text is None else text
            message = {
                "type": "message",
                "content": [{"type": "text", "text": said}],
                "stop_reason": "end_turn",
                "usage": {"input_tokens": 10, "output_tokens": 5, "service_tier": "batch"},
            }
            result = {"type": "succeeded", "message": message}
            file.write(json.dumps({"custom_id": request["custom_id"], "result": result}) + "\n")
    return path


def test_by_file_the_results_are_those_of_a_live_run(tmp_path: Path) -> None:
    evaluate([A, B], model=SONNET, judging=Judging(requests_to=tmp_path / "q.jsonl"))
    answers = respond(tmp_path / "a.jsonl", requests_in(tmp_path / "q.jsonl"))
    by_file = evaluate([A, B], model=SONNET, judging=Judging(responses_from=(answers,)))
    with messages_service(model=varied) as service:
        by_wire = live(service)
    assert [(one.judge, getattr(one, "score", None), getattr(one, "findings", None)) for one in by_file.results] == [
        (one.judge, getattr(one, "score", None), getattr(one, "findings", None)) for one in by_wire.results
    ]
    assert by_file.spending is not None
    assert by_file.spending.unanswered == 0
    assert by_file.spending.cost_usd == pytest.approx(14 * (10 * 2 + 5 * 10) / 1e6 / 2)


def test_what_the_responses_lack_is_written_down_until_nothing_is_left(tmp_path: Path) -> None:
    """A run too long for the window needs a second round, whose requests rest on the answers of the first."""
    long = transcript(*(llm(said(f"{number} " + "word " * 1500)) for number in range(12)))

    def round_of(*answers: Path, to: str) -> tuple[Evaluation, list[dict[str, Any]]]:
        judging = Judging(requests_to=tmp_path / to, responses_from=answers, context_window=24_000, max_tokens=2_000)
        evaluation = evaluate(long, model=SONNET, dimensions=["GF"], judging=judging, store=tmp_path / "gpa.db")
        return evaluation, requests_in(tmp_path / to)

    evaluation, parts = round_of(to="q1.jsonl")
    assert len(parts) > 1
    assert kinds(evaluation) == [("t", "GF", "missing")]
    first = respond(tmp_path / "a1.jsonl", parts, reply(score=1))
    evaluation, final = round_of(first, to="q2.jsonl")
    assert len(final) == 1
    assert "final" in final[0]["custom_id"]
    assert kinds(evaluation) == [("t", "GF", "missing")]
    second = respond(tmp_path / "a2.jsonl", final, reply(score=2))
    evaluation, nothing = round_of(first, second, to="q3.jsonl")
    assert nothing == []
    assert [one.score for one in evaluation.results if isinstance(one, Verdict)] == [2]
    with open_store(tmp_path / "gpa.db") as store:
        assert [one.type for one in store.results()] == ["verdict"]


def test_requests_are_the_same_bytes_on_every_run(tmp_path: Path) -> None:
    for name in ("one.jsonl", "two.jsonl"):
        evaluate(
            str(ROOT / "fixtures" / "traces"),
            model=SONNET,
            judging=Judging(requests_to=tmp_path / name, concurrency=5 if name == "one.jsonl" else 1),
        )
    one, two = ((tmp_path / name).read_bytes().splitlines() for name in ("one.jsonl", "two.jsonl"))
    assert sorted(one) == sorted(two)
    assert len(one) % 7 == 0


def test_a_batch_is_picked_up_by_the_next_run_and_asked_once(tmp_path: Path) -> None:
    seen: list[tuple[str, str, int, int]] = []

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with messages_service(polls_until_ended=3) as service:
        judging = Judging(base_url=service.url, batch=True, poll_s=0.01)
        with pytest.raises(KeyboardInterrupt):
            evaluate([A, B], model=SONNET, judging=judging, on_batch=stop)
        assert len(service.batches) == 1
        evaluation = evaluate([A, B], model=SONNET, judging=judging, on_batch=lambda *one: seen.append(one))
        assert len(service.batches) == 1
        assert service.paid.total() == 14
    assert [one.type for one in evaluation.results] == ["verdict"] * 14
    assert seen[-1][1:] == ("ended", 14, 14)
    assert evaluation.spending is not None
    assert evaluation.spending.paid == 14
