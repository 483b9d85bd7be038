"""Every other provider, and every OpenAI-compatible server, through LiteLLM (the extra `litellm`)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping
from typing import Any

from gpa.errors import UsageError
from gpa.judges.model.reply import ErrorType, Outcome, Reply, ReplyError, TokenUsage, are_counts, is_overflow, quoted
from gpa.judges.model.request import Request
from gpa.judges.model.waiting import say_wait, too_long, wait_s

UNKNOWN_CONTEXT_WINDOW = 32_768
"""Assumed when neither the user nor LiteLLM's table says; small, since a server may silently cut what is longer."""

MAX_PAUSE_S = 8.0
"""Between two tries, where the server asks for no other."""

_ERRORS: tuple[tuple[str, ErrorType], ...] = (
    ("ContextWindowExceededError", "context_window_exceeded"),
    ("ContentPolicyViolationError", "refusal"),
    ("AuthenticationError", "authentication"),
    ("PermissionDeniedError", "authentication"),
    ("RateLimitError", "rate_limit"),
    ("ServiceUnavailableError", "overloaded"),
    ("NotFoundError", "invalid_request"),
    ("UnprocessableEntityError", "invalid_request"),
    ("BadRequestError", "invalid_request"),
    ("APIResponseValidationError", "bad_response"),
    ("Timeout", "transport"),
    ("APIConnectionError", "transport"),
    ("InternalServerError", "transport"),
    ("BadGatewayError", "transport"),
    ("APIError", "transport"),
)
"""Exceptions of `litellm.exceptions`, special ones before those they derive from."""

_STOPS: dict[str, tuple[ErrorType, str]] = {
    "length": ("max_tokens", "the answer was cut off at max_tokens"),
    "content_filter": ("refusal", "the provider's content filter stopped the answer"),
}
NO_CREDIT = "insufficient_quota"
"""What OpenAI and its like call an account without credit, with the status of a rate limit that passes."""
_LOST = frozenset({"APIConnectionError", "APITimeoutError", "Timeout"})
"""Exceptions, of LiteLLM or the SDK under it, for which no answer came back."""
_EFFORTS = {"xhigh": "high", "max": "high"}


class LiteLLMModel:
    """A model behind any of LiteLLM's prefixes (`openai/NAME`, `ollama/NAME`); with a base URL, any such server."""

    warms = False
    """No: where there is a prompt cache, nothing is known of when it can be read."""
    batched = False

    def __init__(
        self,
        name: str,
        *,
        context_window: int | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout_s: float = 600.0,
        max_retries: int = 2,
    ) -> None:
        # Without this, importing LiteLLM fetches its table of prices from the network.
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        try:
            import litellm  # type: ignore[import-not-found,unused-ignore]
        except ImportError as error:
            raise UsageError(
                f"{name}: expected the package litellm, found none (pip install 'agent-gpa[litellm]')"
            ) from error
        litellm.suppress_debug_info = True  # else it prints hints to stdout, where the results go
        self._litellm: Any = litellm
        self.name = name
        # The SDKs under LiteLLM would obey any `retry-after`, and ask again where there is no credit.
        self._options: dict[str, Any] = {"timeout": timeout_s, "max_retries": 0}
        self._max_retries = max_retries
        if base_url is not None:
            self._options["base_url"] = base_url
        if api_key is not None:
            self._options["api_key"] = api_key
        if not _is_known_provider(litellm, name):
            raise UsageError(
                f"--model: expected a provider that LiteLLM knows, found {name.partition('/')[0]!r} in {name!r}"
                " (openai/NAME with --base-url asks any OpenAI-compatible server)"
            )
        missing = [] if api_key is not None or base_url is not None else _missing_keys(litellm, name)
        if missing:
            raise UsageError(f"{name}: expected credentials in {', '.join(missing)}, found none")
        self.context_window = context_window or _known_window(litellm, name) or UNKNOWN_CONTEXT_WINDOW
        if name.startswith("ollama"):
            # Ollama's own default is a few thousand tokens, and it drops the start of what is longer.
            self._options["num_ctx"] = self.context_window

    async def complete(self, request: Request) -> Outcome:
        """The answer of one chat completion, tried again where that may help."""
        tries = 0
        while True:
            try:
                completion = await self._litellm.acompletion(**chat_params(request), **self._options, drop_params=True)
            except Exception as error:
                outcome = _outcome_of_exception(self._litellm.exceptions, error)
                if outcome is None:
                    raise
                if tries == self._max_retries or not _may_pass(error, outcome):
                    return outcome
                seconds = wait_s(_headers(error))
                say_wait(getattr(error, "status_code", ""), seconds)
            else:
                return outcome_of_completion(completion)
            await asyncio.sleep(seconds or min(MAX_PAUSE_S, 0.5 * 2**tries))
            tries += 1

    async def count_tokens(self, request: Request) -> int:
        """By the offline rule: LiteLLM's counters are those of other models, or fetch files from the network."""
        return request.input_tokens

    async def aclose(self) -> None:
        """Close the connections that LiteLLM keeps for the whole process."""
        close = getattr(self._litellm, "close_litellm_async_clients", None)
        if close is not None:
            await close()


def chat_params(request: Request) -> dict[str, Any]:
    """The arguments of a chat completion: both blocks in one message, the shared one first, for prefix caches."""
    question = "\n\n".join(filter(None, (request.prefix, request.tail)))
    system = [{"role": "system", "content": request.system}] if request.system else []
    turns = [{"role": turn.role, "content": turn.text} for turn in request.turns]
    params: dict[str, Any] = {
        "model": request.model,
        "messages": [*system, {"role": "user", "content": question}, *turns],
        "max_tokens": request.max_tokens,
    }
    if request.answer_schema is not None:
        schema = {"name": "answer", "schema": request.answer_schema, "strict": True}
        params["response_format"] = {"type": "json_schema", "json_schema": schema}
    if request.effort is not None:
        params["reasoning_effort"] = _EFFORTS.get(request.effort, request.effort)
    return params


def outcome_of_completion(completion: Any) -> Outcome:
    """A chat completion as an outcome."""
    usage = _usage(getattr(completion, "usage", None))
    choices = getattr(completion, "choices", None)
    if not choices:
        return ReplyError(error_type="bad_response", message="expected a choice, found none", usage=usage)
    choice = choices[0]
    refusal = (getattr(choice.message, "provider_specific_fields", None) or {}).get("refusal")
    if refusal:  # OpenAI's structured outputs say so beside the content
        return ReplyError(error_type="refusal", message=f"the model refused to answer: {quoted(refusal)}", usage=usage)
    if choice.finish_reason in _STOPS:
        error_type, message = _STOPS[choice.finish_reason]
        return ReplyError(error_type=error_type, message=message, usage=usage)
    return Reply(
        text=choice.message.content or "",
        stop_reason="end_turn",
        usage=usage,
        model=getattr(completion, "model", None) or "",
        id=getattr(completion, "id", None) or "",
    )


def _usage(usage: Any) -> TokenUsage:
    prompt = getattr(usage, "prompt_tokens", None) or 0
    details = getattr(usage, "prompt_tokens_details", None)
    answer = getattr(usage, "completion_tokens", None) or 0
    read = min(getattr(details, "cached_tokens", None) or 0, prompt)
    if not are_counts(prompt, answer, read):  # LiteLLM fills in zeros where the server says nothing
        return TokenUsage(counted=False)
    return TokenUsage(
        input_tokens=prompt - read,
        output_tokens=answer,
        cache_read_tokens=read,
    )


def _outcome_of_exception(exceptions: Any, error: Exception) -> ReplyError | None:
    for name, error_type in _ERRORS:
        kind = getattr(exceptions, name, None)
        if kind is not None and isinstance(error, kind):
            message = quoted(str(getattr(error, "message", None) or error), 500)
            return ReplyError(
                error_type=_special(error_type, message, error), message=message + too_long(_headers(error))
            )
    return None


def _special(error_type: ErrorType, message: str, error: Exception) -> ErrorType:
    """What the exception's type does not tell: a transcript beyond the window, an account without credit."""
    if error_type == "invalid_request" and is_overflow(message):
        return "context_window_exceeded"
    if error_type == "rate_limit" and any(getattr(one, "code", None) == NO_CREDIT for one in _chain(error)):
        return "authentication"
    return error_type


def _may_pass(error: Exception, outcome: ReplyError) -> bool:
    """Whether to ask again: no answer came back, or one that says so. What may be paid for is not asked twice."""
    headers = _headers(error)
    if too_long(headers) or not outcome.retryable:
        return False
    return bool(headers) or any(type(one).__name__ in _LOST for one in _chain(error))


def _headers(error: Exception) -> Mapping[str, str]:
    """Of the response that was an error; empty where there was none."""
    return getattr(error, "litellm_response_headers", None) or {}


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The exception and what it was made from."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _is_known_provider(litellm: Any, name: str) -> bool:
    try:
        litellm.get_llm_provider(model=name)
    except litellm.exceptions.BadRequestError:
        return False
    return True


def _missing_keys(litellm: Any, name: str) -> list[str]:
    """Environment variables LiteLLM would need for this model; none for local servers."""
    try:
        found = litellm.validate_environment(model=name)
    except Exception:  # noqa: BLE001 - a provider it cannot judge is asked when the request is made
        return []
    return [] if found.get("keys_in_environment") else list(found.get("missing_keys", ()))


def _known_window(litellm: Any, name: str) -> int | None:
    """The window in LiteLLM's table; not by its look-up function, which calls the server for some providers."""
    row = litellm.model_cost.get(name) or litellm.model_cost.get(name.partition("/")[2]) or {}
    window = row.get("max_input_tokens")
    return window if isinstance(window, int) and window > 0 else None
