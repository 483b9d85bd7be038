"""A response body is a reply or a failure with its reason; nothing in between, and nothing raises."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.judges.model.reply import (
    ERROR_TYPES,
    Reply,
    ReplyError,
    outcome_of_error,
    outcome_of_message,
    outcome_of_result,
)


def message(**fields: Any) -> dict[str, Any]:
    base = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-5-5",
        "content": [{"type": "text", "text": "{}"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 10, "output_tokens": 2},
    }
    return {**base, **fields}


def test_text_blocks_are_joined_and_thinking_is_left_out() -> None:
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "x"},
        {"type": "text", "text": '{"a":'},
        {"type": "text", "text": "1}"},
    ]
    outcome = outcome_of_message(message(content=content))
    assert isinstance(outcome, Reply)
    assert (outcome.text, outcome.model, outcome.id) == ('{"a":1}', "claude-sonnet-5-5", "msg_1")


def test_usage_has_all_kinds_of_tokens_and_the_tier() -> None:
    usage = {
        "input_tokens": 1,
        "output_tokens": 2,
        "cache_read_input_tokens": 3,
        "cache_creation_input_tokens": 4,
        "cache_creation": {"ephemeral_5m_input_tokens": 1, "ephemeral_1h_input_tokens": 3},
        "service_tier": "batch",
    }
    found = outcome_of_message(message(usage=usage)).usage
    assert found.model_dump() == {
        "input_tokens": 1,
        "output_tokens": 2,
        "cache_read_tokens": 3,
        "cache_write_tokens": 4,
        "cache_write_1h_tokens": 3,
        "batch": True,
        "counted": True,
    }
    assert found.prompt_tokens == 8


@pytest.mark.parametrize(
    "usage",
    [None, {}, {"input_tokens": 5}, {"input_tokens": -5, "output_tokens": 2}, {"input_tokens": 0, "output_tokens": 0}],
    ids=["none", "empty", "partial", "negative", "zero"],
)
@pytest.mark.parametrize("stop_reason", ["end_turn", "refusal", "max_tokens"])
def test_answer_without_token_counts_says_so(usage: dict[str, int] | None, stop_reason: str) -> None:
    assert not outcome_of_message(message(usage=usage, stop_reason=stop_reason)).usage.counted


def test_what_a_provider_says_is_kept_without_secrets_also_where_it_is_cut() -> None:
    key = "sk-ant-api03-" + "Ab1" * 20
    error = {"type": "error", "error": {"type": "authentication_error", "message": f"invalid x-api-key {key}"}}
    for outcome in (
        outcome_of_result({"type": "errored", "error": error}),
        outcome_of_message({"type": "error", "note": f"the key was {key}"}),
        outcome_of_message(message(stop_reason="refusal", stop_details={"explanation": key})),
    ):
        assert isinstance(outcome, ReplyError)
        assert "sk-ant" not in outcome.message
        assert "[REDACTED" in outcome.message


@pytest.mark.parametrize(
    ("fields", "error_type"),
    [
        ({"stop_reason": "refusal", "content": []}, "refusal"),
        ({"stop_reason": "max_tokens", "content": [{"type": "text", "text": '{"sco'}]}, "max_tokens"),
        ({"stop_reason": "model_context_window_exceeded"}, "context_window_exceeded"),
        ({"stop_reason": None}, "bad_response"),
        ({"stop_reason": "tool_use"}, "bad_response"),
        ({"stop_reason": "pause_turn"}, "bad_response"),
        ({"stop_reason": ["end_turn"]}, "bad_response"),
        ({"content": None}, "bad_response"),
        ({"type": "error"}, "bad_response"),
    ],
    ids=["refusal", "cut-off", "window", "unfinished", "tool", "pause", "list", "no-content", "no-message"],
)
def test_an_answer_that_is_not_complete_is_a_failure_that_keeps_its_usage(
    fields: dict[str, Any], error_type: str
) -> None:
    outcome = outcome_of_message(message(**fields))
    assert isinstance(outcome, ReplyError)
    assert outcome.error_type == error_type
    if "stop_reason" in fields:
        assert outcome.usage.output_tokens == 2


def test_refusal_says_what_the_provider_says() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "malware"}
    outcome = outcome_of_message(message(stop_reason="refusal", stop_details=details))
    assert isinstance(outcome, ReplyError)
    assert outcome.message == "the model refused to answer: malware"
    assert not outcome.retryable


@pytest.mark.parametrize(
    ("result", "error_type", "retryable"),
    [
        ({"type": "expired"}, "expired", True),
        ({"type": "canceled"}, "canceled", True),
        (
            {"type": "errored", "error": {"type": "error", "error": {"type": "api_error", "message": "x"}}},
            "errored",
            True,
        ),
        ({"type": "errored", "error": {"type": "overloaded_error", "message": "x"}}, "overloaded", True),
        ({"type": "errored", "error": {"type": "invalid_request_error", "message": "x"}}, "invalid_request", False),
        (
            {"type": "errored", "error": {"type": "invalid_request_error", "message": "prompt is too long: 9 > 8"}},
            "context_window_exceeded",
            False,
        ),
        ({"type": "errored"}, "errored", True),
        ({"type": "succeeded", "message": "text"}, "bad_response", True),
        ({"type": "done"}, "bad_response", True),
        ("text", "bad_response", True),
        (None, "bad_response", True),
    ],
)
def test_batch_results_are_read_by_their_type(result: object, error_type: str, retryable: bool) -> None:
    outcome = outcome_of_result(result)
    assert isinstance(outcome, ReplyError)
    assert (outcome.error_type, outcome.retryable) == (error_type, retryable)


def test_every_error_type_of_the_api_has_one_of_ours() -> None:
    for name, ours in ERROR_TYPES.items():
        assert outcome_of_error({"type": name, "message": "m"}, default="errored").error_type == ours


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)


@given(json_values, json_values, json_values)
def test_no_json_raises(content: Any, stop_reason: Any, usage: Any) -> None:
    body = message(content=content, usage=usage)
    for value in (content, {"type": "succeeded", "message": body}, {"type": "errored", "error": content}):
        assert isinstance(outcome_of_result(value), Reply | ReplyError)
    assert isinstance(outcome_of_message(message(stop_reason=stop_reason)), Reply | ReplyError)
