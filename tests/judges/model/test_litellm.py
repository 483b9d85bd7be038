"""Other providers through the real LiteLLM, against a server that speaks OpenAI's chat completions."""

from __future__ import annotations

import asyncio
import json
import sys
import warnings
from collections.abc import Iterator

import pytest

from gpa.errors import UsageError
from gpa.judges.model import Client, LiteLLMModel, Outcome, Reply, ReplyError, Request, open_model
from tests.judges.model.asking import ANSWER, SCHEMA, ask
from tests.servers.chat import ChatService, chat_error, chat_service
from tests.servers.serving import Response

GPT = "openai/gpt-4o-mini"


def test_missing_extra_is_a_usage_error_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "litellm", None)
    with pytest.raises(UsageError) as caught:
        open_model(GPT)
    assert str(caught.value) == f"{GPT}: expected the package litellm, found none (pip install 'agent-gpa[litellm]')"


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatService]:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LiteLLM's own imports warn
        pytest.importorskip("litellm", reason="needs the extra litellm")
    with chat_service() as found:
        yield found


def complete(service: ChatService, request: Request | None = None, name: str = GPT, key: str = "key") -> Outcome:
    async def run() -> Outcome:
        model = open_model(name, base_url=f"{service.url}/v1", api_key=key, max_retries=1)
        try:
            return await model.complete(ask(model=name) if request is None else request)
        finally:
            await model.aclose()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its pydantic models warn about each other
        return asyncio.run(run())


def test_structured_answer_comes_back_with_its_usage(service: ChatService) -> None:
    first, second = complete(service), complete(service)
    assert isinstance(first, Reply)
    assert isinstance(second, Reply)
    assert (first.text, first.stop_reason) == (ANSWER, "end_turn")
    assert first.usage.cache_read_tokens == 0
    assert second.usage.cache_read_tokens == 1024
    assert second.usage.prompt_tokens == first.usage.input_tokens


def test_server_gets_the_shared_block_first_and_the_schema(service: ChatService) -> None:
    request = ask(model=GPT, turns=[{"role": "assistant", "text": "{"}, {"role": "user", "text": "JSON, please."}])
    complete(service, request)
    (sent,) = service.asked
    assert [message["role"] for message in sent["messages"]] == ["system", "user", "assistant", "user"]
    assert sent["messages"][1]["content"] == f"{request.prefix}\n\n{request.tail}"
    assert sent["response_format"]["json_schema"]["schema"] == SCHEMA
    assert sent["model"] == "gpt-4o-mini"
    assert sent.get("max_tokens", sent.get("max_completion_tokens")) == 1_000
    assert "temperature" not in sent


@pytest.mark.parametrize(
    ("response", "error_type"),
    [
        (chat_error(400, "invalid_request_error", "no such field"), "invalid_request"),
        (
            chat_error(400, "invalid_request_error", "This model's maximum context length is 8 tokens.", "x"),
            "context_window_exceeded",
        ),
        (chat_error(401, "invalid_request_error", "Incorrect API key provided"), "authentication"),
        (chat_error(404, "invalid_request_error", "The model does not exist"), "invalid_request"),
        (chat_error(429, "tokens", "Rate limit reached", retry_after="0.01"), "rate_limit"),
        (chat_error(500, "server_error", "oops", retry_after="0.01"), "transport"),
        (chat_error(503, "server_error", "overloaded", retry_after="0.01"), "overloaded"),
        (Response(200, raw=b'{"choices": [{"mess'), "transport"),
    ],
    ids=["bad", "too-long", "key", "model", "rate-limit", "server-error", "overloaded", "cut-json"],
)
def test_failure_of_the_server_is_a_value(service: ChatService, response: Response, error_type: str) -> None:
    service.faults.extend([response] * 3)
    outcome = complete(service)
    assert isinstance(outcome, ReplyError)
    assert outcome.error_type == error_type
    assert service.attempts == (2 if response.status in {429, 500, 503} else 1)  # one retry, by one layer


def test_a_wait_of_an_hour_is_a_failure_that_says_so(service: ChatService) -> None:
    service.faults.append(chat_error(429, "tokens", "Rate limit reached", retry_after="3600"))
    outcome = complete(service)
    assert isinstance(outcome, ReplyError)
    assert (outcome.error_type, service.attempts) == ("rate_limit", 1)
    assert outcome.message.endswith("(asked to wait 3,600 s; no more than 60 s are waited)")


def test_an_account_without_credit_is_tried_once_however_many_requests_follow(service: ChatService) -> None:
    service.faults.extend([chat_error(429, "insufficient_quota", "You exceeded it", "insufficient_quota")] * 9)

    async def run() -> list[Outcome]:
        model = open_model(GPT, base_url=f"{service.url}/v1", api_key="key")
        async with Client(model) as client:
            return [await client.complete(ask(judge, model=GPT)) for judge in ("LC", "EE", "PQ")]

    assert [isinstance(one, ReplyError) and one.error_type for one in asyncio.run(run())] == ["authentication"] * 3
    assert service.attempts == 1


def test_server_that_is_not_there_is_tried_again_and_is_a_transport_failure(
    service: ChatService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpa.judges.model.litellm.MAX_PAUSE_S", 0.01)
    service.url = "http://127.0.0.1:9"
    outcome = complete(service)
    assert isinstance(outcome, ReplyError)
    assert outcome.error_type == "transport"


@pytest.mark.parametrize(
    ("finish_reason", "refusal", "error_type"),
    [("length", None, "max_tokens"), ("content_filter", None, "refusal"), ("stop", "I cannot.", "refusal")],
    ids=["length", "filter", "refusal"],
)
def test_incomplete_answer_is_a_failure_with_its_usage(
    service: ChatService, finish_reason: str, refusal: str | None, error_type: str
) -> None:
    service.finish_reason, service.refusal = finish_reason, refusal
    outcome = complete(service)
    assert isinstance(outcome, ReplyError)
    assert outcome.error_type == error_type
    assert outcome.usage.prompt_tokens > 0


def test_window_is_litellms_the_users_or_a_small_one(service: ChatService) -> None:
    del service
    windows = {name: open_model(name, api_key="key").context_window for name in (GPT, "openai/some-local-model")}
    assert windows == {GPT: 128_000, "openai/some-local-model": 32_768}
    assert open_model(GPT, api_key="key", context_window=5).context_window == 5


def test_ollama_is_told_the_window_so_that_it_does_not_cut_the_transcript(service: ChatService) -> None:
    model = open_model("ollama/qwen3", base_url=service.url, context_window=40_000)
    assert isinstance(model, LiteLLMModel)
    assert model._options["num_ctx"] == 40_000


def test_missing_key_is_a_usage_error(service: ChatService, monkeypatch: pytest.MonkeyPatch) -> None:
    del service
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(UsageError, match="expected credentials in OPENAI_API_KEY, found none"):
        open_model(GPT)


def test_answer_is_the_text_even_when_it_is_not_json(service: ChatService) -> None:
    service.text = "I think it went well."
    outcome = complete(service)
    assert isinstance(outcome, Reply)
    with pytest.raises(json.JSONDecodeError):
        json.loads(outcome.text)
