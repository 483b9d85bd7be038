"""The real SDK against a server that behaves like the API: failures are values, and caching is paid as billed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

from gpa.errors import InputError, UsageError
from gpa.judges.model import AnthropicModel, Client, Outcome, Reply, ReplyError, Request, open_model
from tests.judges.model.asking import ANSWER, SONNET, ask
from tests.servers.messages import Answer, MessagesService, error, messages_service
from tests.servers.serving import Response

T = TypeVar("T")


def run(service: MessagesService, use: Callable[[AnthropicModel], Awaitable[T]], **options: Any) -> T:
    async def inside() -> T:
        model = open_model(SONNET, base_url=service.url, api_key="key", **options)
        assert isinstance(model, AnthropicModel)
        try:
            return await use(model)
        finally:
            await model.aclose()

    return asyncio.run(inside())


def complete(service: MessagesService, request: Request | None = None, **options: Any) -> Outcome:
    asked = ask() if request is None else request
    return run(service, lambda model: model.complete(asked), **options)


def test_structured_answer_comes_back_with_its_usage() -> None:
    with messages_service() as service:
        outcome = complete(service)
        assert isinstance(outcome, Reply)
        assert (outcome.text, outcome.stop_reason, outcome.model) == (ANSWER, "end_turn", "claude-sonnet-5-5")
        assert outcome.usage.cache_write_tokens > 1024
        assert service.asked == [ask().params()]


def test_seven_judges_write_the_shared_prefix_once_and_read_it_six_times() -> None:
    async def judge_all(model: AnthropicModel) -> list[Outcome]:
        client = Client(model)
        return list(await asyncio.gather(*(client.complete(ask(f"J{number}")) for number in range(7))))

    with messages_service(delay_s=0.05) as service:
        outcomes = run(service, judge_all)
    usages = [outcome.usage for outcome in outcomes]
    assert [usage.cache_write_tokens > 0 for usage in usages] == [True] + [False] * 6
    assert {usage.cache_read_tokens for usage in usages[1:]} == {usages[0].cache_write_tokens}
    assert 2 <= service.most_under_way <= 6  # the others at once, after the first


def test_judges_with_schemas_of_their_own_would_share_nothing() -> None:
    async def judge_all(model: AnthropicModel) -> list[Outcome]:
        client = Client(model)
        asked = [ask(judge, answer_schema={"type": "object", "title": judge}) for judge in ("LC", "EE")]
        return list(await asyncio.gather(*map(client.complete, asked)))

    with messages_service() as service:
        outcomes = run(service, judge_all)
    assert all(outcome.usage.cache_write_tokens and not outcome.usage.cache_read_tokens for outcome in outcomes)


FAILURES = {
    "bad-request": (error(400, "invalid_request_error", "max_tokens: too large"), "invalid_request"),
    "too-long": (error(400, "invalid_request_error", "prompt is too long: 9 tokens > 8"), "context_window_exceeded"),
    "unauthenticated": (error(401, "authentication_error", "invalid x-api-key"), "authentication"),
    "unpaid": (error(402, "billing_error", "credit balance is too low"), "authentication"),
    "forbidden": (error(403, "permission_error", "no access"), "authentication"),
    "no-such-model": (error(404, "not_found_error", "model: claude-x"), "invalid_request"),
    "too-large": (error(413, "request_too_large", "over 32 MB"), "context_window_exceeded"),
    "rate-limit": (error(429, "rate_limit_error", "slow down", retry_after="0.01"), "rate_limit"),
    "server-error": (error(500, "api_error", "internal", retry_after="0.01"), "transport"),
    "overloaded": (error(529, "overloaded_error", "Overloaded", retry_after="0.01"), "overloaded"),
    "proxy-page": (Response(502, raw=b"<html>bad gateway</html>", headers={"retry-after": "0.01"}), "transport"),
    "not-json": (Response(200, raw=b'{"id": "msg_1", "type": "mess'), "bad_response"),
    "html": (Response(200, raw=b"<html>", headers={"content-type": "text/html"}), "bad_response"),
    "not-a-message": (Response(200, {"hello": "world"}), "bad_response"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_failure_of_the_server_is_a_value_after_the_sdks_retries(name: str) -> None:
    response, error_type = FAILURES[name]
    retried = response.status in {429, 500, 502, 529}
    with messages_service() as service:
        service.faults.extend([response] * 3)
        outcome = complete(service)
        assert isinstance(outcome, ReplyError)
        assert outcome.error_type == error_type
        assert service.attempts == (3 if retried else 1)  # 2 retries, by nobody but the SDK
        if response.status >= 400:
            assert outcome.message.startswith(f"HTTP {response.status}: ")


@pytest.mark.parametrize(
    ("answer", "error_type"),
    [
        (Answer("", "refusal"), "refusal"),
        (Answer(ANSWER, "max_tokens", output_tokens=4), "max_tokens"),
        (Answer("{", "model_context_window_exceeded"), "context_window_exceeded"),
    ],
    ids=["refusal", "max_tokens", "window"],
)
def test_incomplete_answer_is_a_failure_that_was_paid_for(answer: Answer, error_type: str) -> None:
    with messages_service(model=lambda _: answer) as service:
        outcome = run(service, lambda model: Client(model).complete(ask()))
    assert isinstance(outcome, ReplyError)
    assert outcome.error_type == error_type
    assert outcome.cost_usd is not None
    assert outcome.cost_usd > 0


def test_retry_after_is_waited_for_and_the_answer_is_paid_once() -> None:
    with messages_service() as service:
        service.faults.append(error(429, "rate_limit_error", "slow down", retry_after="0.2"))
        started = time.monotonic()
        outcome = complete(service)
        assert isinstance(outcome, Reply)
        assert time.monotonic() - started >= 0.15  # the SDK waits up to a quarter less than it is told
        assert list(service.paid.values()) == [1]


def test_a_wait_of_an_hour_is_a_failure_that_says_so_and_may_be_retried(caplog: pytest.LogCaptureFixture) -> None:
    with messages_service() as service:
        service.faults.append(error(429, "rate_limit_error", "slow down", retry_after="3600"))
        outcome = complete(service)
        assert service.attempts == 1
    assert isinstance(outcome, ReplyError)
    assert (outcome.error_type, outcome.retryable) == ("rate_limit", True)
    assert outcome.message.endswith("slow down (asked to wait 3,600 s; no more than 60 s are waited)")
    assert caplog.messages == []


def test_a_wait_that_is_obeyed_is_said(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpa.judges.model.waiting.SAID_FROM_S", 0.01)
    with messages_service() as service:
        service.faults.extend([error(429, "rate_limit_error", "slow down", retry_after="0.02")] * 2)
        complete(service, max_retries=1)
    assert caplog.messages == ["gpa: HTTP 429: waiting 0 s, as the provider asks"]  # once: nothing follows the second


def test_a_key_that_is_repeated_by_the_server_is_not_kept() -> None:
    with messages_service() as service:
        service.faults.append(error(401, "authentication_error", "invalid x-api-key sk-ant-api03-SECRETSECRET"))
        outcome = complete(service)
    assert isinstance(outcome, ReplyError)
    assert outcome.message == "HTTP 401: authentication_error: invalid x-api-key [REDACTED API Key]"


def test_server_that_is_too_slow_is_a_transport_failure() -> None:
    with messages_service(delay_s=0.5) as service:
        outcome = complete(service, max_retries=0, timeout_s=0.1)
    assert isinstance(outcome, ReplyError)
    assert (outcome.error_type, outcome.retryable) == ("transport", True)
    assert outcome.message.startswith("Request timed out")


def test_server_that_is_not_there_is_a_transport_failure() -> None:
    with messages_service() as service:
        pass
    outcome = complete(service, max_retries=0)
    assert isinstance(outcome, ReplyError)
    assert outcome.error_type == "transport"
    assert outcome.message.startswith("Connection error.")


def test_transcript_over_the_window_is_told_apart_from_other_bad_requests() -> None:
    with messages_service(context_window=1000) as service:
        outcome = complete(service)
    assert isinstance(outcome, ReplyError)
    assert outcome.error_type == "context_window_exceeded"


def test_more_output_than_the_sdk_would_wait_for_is_asked_without_streaming() -> None:
    with messages_service() as service:
        assert isinstance(complete(service, ask(max_tokens=64_000)), Reply)


def test_wrong_key_is_tried_once_however_many_requests_follow() -> None:
    async def judge_all(model: AnthropicModel) -> list[Outcome]:
        client = Client(model)
        return [await client.complete(ask(judge)) for judge in ("LC", "EE", "PQ")]

    with messages_service() as service:
        service.faults.extend([error(401, "authentication_error", "invalid x-api-key")] * 3)
        outcomes = run(service, judge_all)
        assert [isinstance(outcome, ReplyError) and outcome.error_type for outcome in outcomes] == [
            "authentication"
        ] * 3
        assert service.attempts == 1


def test_tokens_are_counted_by_the_provider_when_asked() -> None:
    async def count(service: MessagesService) -> int:
        model = open_model(SONNET, base_url=service.url, api_key="key", max_retries=0)
        try:
            return await model.count_tokens(ask())
        finally:
            await model.aclose()

    with messages_service() as service:
        assert asyncio.run(count(service)) == sum(map(len, [ask().system, ask().prefix, ask().tail])) // 4
    with pytest.raises(InputError, match="expected a count of tokens, found Connection error"):
        asyncio.run(count(service))


@pytest.mark.parametrize("variable", ["ANTHROPIC_API_KEY"])
def test_missing_key_is_a_usage_error_before_anything_is_sent(
    variable: str, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    for name in (variable, "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(UsageError) as caught:
        open_model(SONNET)
    assert str(caught.value) == f"{SONNET}: expected an API key in {variable}, found none"


def test_bedrocks_messages_endpoint_is_reached_with_its_key() -> None:
    name = "bedrock/anthropic.claude-sonnet-5-5"

    async def once(service: MessagesService) -> Outcome:
        model = open_model(name, base_url=service.url, api_key="key", max_retries=0)
        try:
            return await model.complete(ask(model=name))
        finally:
            await model.aclose()

    with messages_service() as service:
        assert isinstance(asyncio.run(once(service)), Reply)
        assert service.asked[0]["model"] == "anthropic.claude-sonnet-5-5"


CLOUD = ["bedrock/anthropic.claude-sonnet-5-5", "bedrock/us.anthropic.claude-sonnet-4-6-v1:0", "vertex/claude-opus-5-5"]


@pytest.mark.parametrize("name", CLOUD)
def test_cloud_without_a_region_is_a_usage_error(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("AWS_REGION", "AWS_DEFAULT_REGION", "CLOUD_ML_REGION"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(UsageError, match=r"expected credentials and a region for (bedrock|vertex), found: No "):
        open_model(name, api_key="key")


@pytest.mark.parametrize(("name", "package"), [(CLOUD[0], "boto3"), (CLOUD[2], "google.auth")], ids=["aws", "google"])
def test_missing_cloud_package_is_a_usage_error_with_the_command(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_BEARER_TOKEN_BEDROCK", raising=False)
    monkeypatch.setattr("gpa.judges.model.anthropic.find_spec", lambda _: None)
    with pytest.raises(UsageError) as caught:
        open_model(name)
    provider = name.partition("/")[0]
    assert str(caught.value) == (
        f"{name}: expected the package {package}, found none (pip install 'anthropic[{provider}]')"
    )
