"""Claude through Anthropic's own SDK: the Messages API directly, on Bedrock (`bedrock/`) or on Vertex AI (`vertex/`).

The SDK's retries (408, 409, 429, 5xx, connection errors; it honours a `retry-after` that `waiting` lets pass) are the
only ones. Response bodies
are read by the same code that reads batches and files, not by the SDK's lenient models: a body that is not a message is
a `bad_response`, not an object with None in it.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

import orjson

from gpa.errors import InputError, UsageError
from gpa.judges.model.reply import ErrorType, Outcome, ReplyError, outcome_of_error, outcome_of_message, quoted
from gpa.judges.model.request import Request, wire_name
from gpa.judges.model.waiting import response_hook, too_long

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

DEFAULT_TIMEOUT_S = 600.0
"""One attempt. Given explicitly, or the SDK refuses more than 21,333 max_tokens without streaming."""
DEFAULT_MAX_RETRIES = 2

_BY_STATUS: dict[int, ErrorType] = {
    400: "invalid_request",
    401: "authentication",
    402: "authentication",
    403: "authentication",
    404: "invalid_request",
    413: "context_window_exceeded",
    422: "invalid_request",
    429: "rate_limit",
    529: "overloaded",
}

_CLOUD_PACKAGES = {"bedrock": "boto3", "vertex": "google.auth"}


class AnthropicModel:
    """A Claude model behind `anthropic/NAME`, `bedrock/NAME` or `vertex/NAME`."""

    warms = True
    """Yes: a second request reads the prefix from the prompt cache once the first has begun to answer."""
    batched = False

    def __init__(
        self,
        name: str,
        *,
        context_window: int,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        max_retries: int = DEFAULT_MAX_RETRIES,
    ) -> None:
        self.name, self.context_window, self._timeout_s = name, context_window, timeout_s
        self.client = _connect(name, base_url=base_url, api_key=api_key, max_retries=max_retries, timeout_s=timeout_s)

    async def complete(self, request: Request) -> Outcome:
        """The answer of one Messages API call."""
        try:
            response = await self.client.messages.with_raw_response.create(**request.params(), timeout=self._timeout_s)
            body = await response.read()
        except Exception as error:  # noqa: BLE001 - known ones become values, the others are raised again
            return outcome_of_exception(error)
        return outcome_of_body(body)

    async def count_tokens(self, request: Request) -> int:
        """The provider's count of the input tokens; the estimate on Bedrock's older endpoint, which offers none."""
        params = request.params()
        del params["max_tokens"]
        if not hasattr(self.client.messages, "count_tokens"):
            return request.input_tokens
        try:
            counted = await self.client.messages.count_tokens(**params, timeout=self._timeout_s)
        except Exception as error:
            if "not supported in Bedrock" in str(error):
                return request.input_tokens
            failure = outcome_of_exception(error)
            raise InputError(f"{self.name}: expected a count of tokens, found {failure.message}") from error
        if not isinstance(counted.input_tokens, int):
            raise InputError(f"{self.name}: expected a count of tokens, found {counted.input_tokens!r}")
        return counted.input_tokens

    async def aclose(self) -> None:
        """Close the connections."""
        await self.client.close()


def outcome_of_body(body: bytes) -> Outcome:
    """The bytes of a Messages API response as an outcome."""
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        head = quoted(body[:10_000].decode("utf-8", "replace"), 60)
        return ReplyError(error_type="bad_response", message=f"expected JSON, found {head!r} ({error})")
    return outcome_of_message(message)


def outcome_of_exception(error: Exception) -> ReplyError:
    """An exception of the SDK, or of the cloud libraries under it, as a value; any other is a bug and raised again."""
    import anthropic

    if isinstance(error, anthropic.APIStatusError):
        default = _BY_STATUS.get(error.status_code, "transport" if error.status_code >= 500 else "invalid_request")
        outcome = outcome_of_error(error.body, default=default)
        if not isinstance(error.body, dict):  # a proxy's page, not the API's words
            outcome = ReplyError(error_type=default, message=quoted(str(error), 200))
        message = f"HTTP {error.status_code}: {outcome.message}{too_long(error.response.headers)}"
        return outcome.model_copy(update={"message": message})
    if isinstance(error, anthropic.APIConnectionError):  # a timeout is one of these
        cause = f" ({error.__cause__})" if error.__cause__ is not None and str(error.__cause__) else ""
        return ReplyError(error_type="transport", message=quoted(f"{error.message}{cause}"))
    if isinstance(error, anthropic.APIResponseValidationError):
        return ReplyError(error_type="bad_response", message=quoted(error.message))
    cloud = type(error).__module__.partition(".")[0] in {"botocore", "google"}
    if cloud or isinstance(error, anthropic.CredentialsError):
        return ReplyError(error_type="authentication", message=quoted(f"{type(error).__name__}: {error}"))
    raise error


def _connect(
    name: str, *, base_url: str | None, api_key: str | None, max_retries: int, timeout_s: float
) -> AsyncAnthropic:
    try:
        import anthropic
    except ImportError as error:  # a core dependency, but a stripped installation should say what it lacks
        raise UsageError(f"{name}: expected the package anthropic, found none (pip install anthropic)") from error
    connections = anthropic.DefaultAsyncHttpxClient(
        timeout=timeout_s, event_hooks={"response": [response_hook(max_retries)]}
    )
    options: dict[str, Any] = {
        "base_url": base_url,
        "max_retries": max_retries,
        "timeout": timeout_s,
        "http_client": connections,
    }
    provider = name.partition("/")[0]
    if provider in _CLOUD_PACKAGES:
        _check_cloud_package(name, provider, api_key)
        try:
            return cast("AsyncAnthropic", _cloud_client(anthropic, name, provider, api_key, options))
        except (ValueError, anthropic.AnthropicError) as error:
            found = " ".join(str(error).split())
            raise UsageError(f"{name}: expected credentials and a region for {provider}, found: {found}") from error
    client = anthropic.AsyncAnthropic(api_key=api_key, **options)
    if client.api_key is None and client.auth_token is None and client.credentials is None:
        raise UsageError(f"{name}: expected an API key in ANTHROPIC_API_KEY, found none")
    return client


def _check_cloud_package(name: str, provider: str, api_key: str | None) -> None:
    """Ask now for what signs the requests (the SDK would at the first); a key of the cloud's own needs no signing."""
    package = _CLOUD_PACKAGES[provider]
    if api_key is not None or (provider == "bedrock" and "AWS_BEARER_TOKEN_BEDROCK" in os.environ):
        return
    try:
        found = find_spec(package) is not None
    except ModuleNotFoundError:  # the parent of a dotted name
        found = False
    if not found:
        raise UsageError(f"{name}: expected the package {package}, found none (pip install 'anthropic[{provider}]')")


def _cloud_client(anthropic: Any, name: str, provider: str, api_key: str | None, options: dict[str, Any]) -> Any:
    """The client that fits the model's id.

    On Bedrock, `anthropic.claude-...` names a model of the Messages endpoint; ARNs, inference profiles
    (`us.anthropic...`) and versions (`...-v1:0`) belong to InvokeModel, the older one.
    """
    if provider == "vertex":
        return anthropic.AsyncAnthropicVertex(access_token=api_key, **options)
    model = wire_name(name)
    if model.startswith("anthropic.") and ":" not in model:
        return anthropic.AsyncAnthropicBedrockMantle(api_key=api_key, **options)
    return anthropic.AsyncAnthropicBedrock(api_key=api_key, **options)
