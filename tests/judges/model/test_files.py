"""Requests go to a file as Message Batches takes them; responses come from one in any order and any state."""

from __future__ import annotations

import asyncio
import io
import json
import random
from pathlib import Path
from typing import Any

import pytest

from gpa.errors import InputError
from gpa.judges.model import (
    Client,
    FileModel,
    RecordingModel,
    Reply,
    ReplyError,
    Request,
    open_model,
    read_responses,
    write_requests,
)
from tests.judges.model.asking import ANSWER, SONNET, ask
from tests.judges.model.test_reply import message
from tests.servers.messages import check

JUDGES = ("LC", "EE", "PQ", "PA", "TS", "TC", "GF")


def succeeded(request: Request, text: str = ANSWER) -> dict[str, Any]:
    body = message(content=[{"type": "text", "text": text}])
    return {"custom_id": request.custom_id, "result": {"type": "succeeded", "message": body}}


def answers(path: Path, requests: list[Request]) -> list[Reply | ReplyError]:
    async def run() -> list[Reply | ReplyError]:
        model = FileModel(SONNET, read_responses(path), context_window=200_000)
        return [await Client(model).complete(request) for request in requests]

    return asyncio.run(run())


def test_request_file_holds_valid_requests_and_is_the_same_every_time(tmp_path: Path) -> None:
    requests = [ask(judge, effort="low") for judge in JUDGES]
    assert write_requests(tmp_path / "r.jsonl", requests) == 7
    assert write_requests(tmp_path / "again.jsonl", requests) == 7
    lines = (tmp_path / "r.jsonl").read_bytes().splitlines()
    assert (tmp_path / "again.jsonl").read_bytes().splitlines() == lines
    for line in lines:
        value = json.loads(line)
        assert list(value) == ["custom_id", "params"]
        assert check(value["params"]) is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.jsonl", "r.jsonl"]


def test_equal_requests_are_one_line_also_on_a_stream() -> None:
    stream = io.BytesIO()
    assert write_requests(stream, [ask(), ask(), ask("GF")]) == 2
    assert stream.getvalue().count(b"\n") == 2


def test_interrupted_writing_leaves_no_file(tmp_path: Path) -> None:
    def breaking() -> Any:
        yield ask()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_requests(tmp_path / "r.jsonl", breaking())
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="expected a place to write requests to"):
        write_requests(tmp_path / "missing" / "r.jsonl", [])


def test_responses_in_any_order_and_state_are_matched_counted_and_located(tmp_path: Path) -> None:
    requests = [ask(judge) for judge in JUDGES]
    by_judge = {request.judge: request for request in requests}
    lines = [
        json.dumps(succeeded(by_judge["LC"])),
        json.dumps({"custom_id": by_judge["EE"].custom_id, "result": {"type": "expired"}}),
        json.dumps({"custom_id": by_judge["PQ"].custom_id, "result": {"type": "canceled"}}),
        json.dumps(
            {
                "custom_id": by_judge["PA"].custom_id,
                "result": {"type": "errored", "error": {"type": "invalid_request_error", "message": "no"}},
            }
        ),
        json.dumps({"custom_id": by_judge["TS"].custom_id, "result": {"type": "succeeded", "message": {}}}),
        json.dumps(
            {
                "custom_id": by_judge["TC"].custom_id,
                "result": {"type": "succeeded", "message": message(stop_reason="refusal")},
            }
        ),
        json.dumps({"custom_id": "stranger", "result": {"type": "expired"}}),
        json.dumps({"custom_id": by_judge["LC"].custom_id, "result": {"type": "expired"}}),
        "",
        "not json",
        '["a list"]',
        '{"result": {}}',
    ]
    random.Random(1).shuffle(lines)
    path = tmp_path / "responses.jsonl"
    path.write_text("\n".join(lines))
    found = [outcome.text if isinstance(outcome, Reply) else outcome.error_type for outcome in answers(path, requests)]
    assert found == [ANSWER, "expired", "canceled", "invalid_request", "bad_response", "refusal", "missing"]

    responses = read_responses(path)
    assert responses.duplicates == 1
    assert responses.unknown(request.custom_id for request in requests) == ["stranger"]
    assert len(responses.bad_lines) == 3
    for bad in responses.bad_lines:
        place, _, why = bad.removeprefix(f"{path}:").partition(": ")
        assert lines[int(place) - 1] in {"not json", '["a list"]', '{"result": {}}'}
        assert why.startswith("expected ")


@pytest.mark.parametrize("reply_first", [True, False])
def test_reply_counts_over_a_failure_with_the_same_id(tmp_path: Path, reply_first: bool) -> None:
    lines = [succeeded(ask()), {"custom_id": ask().custom_id, "result": {"type": "expired"}}]
    path = tmp_path / "r.jsonl"
    path.write_text("\n".join(map(json.dumps, lines if reply_first else lines[::-1])))
    assert isinstance(answers(path, [ask()])[0], Reply)


def test_a_byte_order_mark_at_the_beginning_is_passed_over(tmp_path: Path) -> None:
    request = ask("LC")
    (tmp_path / "a.jsonl").write_text(json.dumps(succeeded(request)), encoding="utf-8-sig")
    [outcome] = answers(tmp_path / "a.jsonl", [request])
    assert isinstance(outcome, Reply)


def test_missing_file_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a file of response lines, found: No such file"):
        read_responses(tmp_path / "none.jsonl")


def test_recording_model_sends_nothing_and_remembers_everything() -> None:
    async def run() -> list[Request]:
        model = RecordingModel(SONNET, context_window=1000)
        outcome = await Client(model).complete(ask())
        assert isinstance(outcome, ReplyError)
        assert (outcome.error_type, outcome.cost_usd) == ("missing", 0.0)
        assert await model.count_tokens(ask()) == ask().input_tokens
        return model.requests

    assert asyncio.run(run()) == [ask()]


def test_answers_from_a_file_equal_live_ones(tmp_path: Path) -> None:
    from tests.servers.messages import messages_service

    async def live(url: str) -> Reply | ReplyError:
        model = open_model(SONNET, base_url=url, api_key="key", max_retries=0)
        try:
            return await model.complete(ask())
        finally:
            await model.aclose()

    with messages_service() as service:
        outcome = asyncio.run(live(service.url))
        body = service._answered(ask().params(), tier="standard")
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps({"custom_id": ask().custom_id, "result": {"type": "succeeded", "message": body}}))
    (replayed,) = answers(path, [ask()])
    assert isinstance(outcome, Reply)
    assert isinstance(replayed, Reply)
    assert (replayed.text, replayed.id, replayed.usage.prompt_tokens) == (
        outcome.text,
        outcome.id,
        outcome.usage.prompt_tokens,
    )
