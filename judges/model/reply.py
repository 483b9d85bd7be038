"""What comes back from a model: a `Reply`, or a `ReplyError` as a value; never an exception for a failed answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from gpa.judges.redact import Redactor
from gpa.judges.verdict import Usage

ErrorType = Literal[
    "refusal",
    "max_tokens",
    "context_window_exceeded",
    "transport",
    "rate_limit",
    "overloaded",
    "authentication",
    "invalid_request",
    "bad_response",
    "errored",
    "expired",
    "canceled",
    "missing",
    "budget",
]
"""Why there is no answer. `bad_response`: the server's bytes are not what its API promises; `errored`, `expired` and
`canceled`: as Message Batches says it; `missing`: no line in the responses file; `budget`: not sent, it could have
passed `--max-cost`."""

RETRYABLE: frozenset[str] = frozenset(
    {"transport", "rate_limit", "overloaded", "bad_response", "errored", "expired", "canceled"}
)
"""Types for which the same request may well succeed later. A refusal or a cut-off answer would most likely repeat."""

ERROR_TYPES: dict[str, ErrorType] = {
    "invalid_request_error": "invalid_request",
    "not_found_error": "invalid_request",
    "request_too_large": "context_window_exceeded",
    "authentication_error": "authentication",
    "permission_error": "authentication",
    "billing_error": "authentication",
    "rate_limit_error": "rate_limit",
    "overloaded_error": "overloaded",
    "timeout_error": "transport",
}
"""`error.type` of the Messages API -> ours; any other (`api_error`) is the provider's own failure."""

_FAILED_STOPS: dict[str, tuple[ErrorType, str]] = {
    "refusal": ("refusal", "the model refused to answer"),
    "max_tokens": ("max_tokens", "the answer was cut off at max_tokens"),
    "model_context_window_exceeded": ("context_window_exceeded", "the answer was cut off at the end of the window"),
}
_COMPLETE_STOPS = frozenset({"end_turn", "stop_sequence"})


class TokenUsage(Usage):
    """Tokens as the provider bills them; the four sums are exclusive of each other."""

    cache_write_1h_tokens: int = 0
    """The part of `cache_write_tokens` written for an hour, at twice the input price instead of 1.25 times."""
    batch: bool = False
    """Served by Message Batches, at half the price."""
    counted: bool = True
    """Whether the provider said how many; where it did not, the zeros here are not what was paid for."""

    @property
    def prompt_tokens(self) -> int:
        """All input, from the cache or not."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens

    def total(self) -> Usage:
        """The four sums alone, as verdicts carry them."""
        return Usage(
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cache_read_tokens=self.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens,
        )


class _Outcome(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    usage: TokenUsage = TokenUsage()
    cost_usd: float | None = None
    """What it cost when it was paid for; None when no price is known. Filled in by `Client`, which knows the prices."""
    from_cache: bool = False
    """Nothing was sent and nothing paid for it in this run."""


class Reply(_Outcome):
    """A complete answer."""

    kind: Literal["reply"] = "reply"
    usage: TokenUsage = TokenUsage(counted=False)
    text: str
    stop_reason: str = "end_turn"
    model: str = ""
    """The model's name as the provider reports it; a dated one where the request named an alias."""
    id: str = ""
    """The provider's id of the message."""


class ReplyError(_Outcome):
    """No usable answer, and why. Refused and cut-off answers are paid for: `usage` and `cost_usd` say how much."""

    kind: Literal["error"] = "error"
    error_type: ErrorType
    message: str

    @property
    def retryable(self) -> bool:
        """Whether the same request may well succeed later."""
        return self.error_type in RETRYABLE


Outcome = Reply | ReplyError


def outcome_of_message(message: object) -> Outcome:
    """A Messages API response body, live, from a batch or a file, as an outcome; `bad_response` if it is none."""
    if not isinstance(message, Mapping) or message.get("type") != "message":
        return _bad(f'an object of "type": "message", found {_show(message)}')
    content, stop_reason = message.get("content"), message.get("stop_reason")
    if not isinstance(stop_reason, str):  # null only in streams
        stop_reason = repr(stop_reason)
    if not isinstance(content, list):
        return _bad(f"a list of content blocks, found {_show(content)}")
    usage = _usage(message.get("usage"))
    if stop_reason in _FAILED_STOPS:
        error_type, why = _FAILED_STOPS[stop_reason]
        return ReplyError(error_type=error_type, message=why + _explanation(message), usage=usage)
    if stop_reason not in _COMPLETE_STOPS:
        return _bad(f"a finished message, found stop_reason {_show(stop_reason)}", usage)
    blocks = (block for block in content if isinstance(block, Mapping) and block.get("type") == "text")
    return Reply(
        text="".join(text for block in blocks if isinstance(text := block.get("text"), str)),
        stop_reason=stop_reason,
        usage=usage,
        model=_text(message.get("model")),
        id=_text(message.get("id")),
    )


def outcome_of_result(result: object) -> Outcome:
    """The `result` of a Message Batches line as an outcome: succeeded, errored, expired or canceled."""
    kind = result.get("type") if isinstance(result, Mapping) else None
    if not isinstance(result, Mapping) or not isinstance(kind, str):
        return _bad(f"a result with a type, found {_show(result)}")
    if kind == "succeeded":
        return outcome_of_message(result.get("message"))
    if kind == "errored":
        return outcome_of_error(result.get("error"), default="errored")
    if kind == "expired":
        return ReplyError(error_type="expired", message="the batch expired before this request was processed")
    if kind == "canceled":
        return ReplyError(error_type="canceled", message="the batch was canceled before this request was processed")
    return _bad(f"a result that succeeded, errored, expired or was canceled, found type {kind!r}")


def outcome_of_error(error: object, *, default: ErrorType) -> ReplyError:
    """An error body of the Messages API, `{"type":"error","error":{"type","message"}}` or its inside, as an outcome."""
    inside = error.get("error") if isinstance(error, Mapping) else None
    inside = inside if isinstance(inside, Mapping) else error if isinstance(error, Mapping) else {}
    name, message = _text(inside.get("type")), _text(inside.get("message"))
    error_type = ERROR_TYPES.get(name, default)
    if error_type == "invalid_request" and is_overflow(message):
        error_type = "context_window_exceeded"
    said = ": ".join(filter(None, (name, quoted(message))))
    return ReplyError(error_type=error_type, message=said or _show(error))


def is_overflow(message: str) -> bool:
    """Whether an error message says that the input is longer than the window; the API has no type of its own for it."""
    text = message.lower()
    return "prompt is too long" in text or "context window" in text or "context limit" in text


def quoted(text: str, limit: int | None = None) -> str:
    """A provider's words, at most so many characters, without secrets: some repeat the key they turn away."""
    return Redactor()(text)[:limit]


def are_counts(*values: object) -> bool:
    """Whether these are numbers of tokens that an answer can have had: none negative, and not all of them 0."""
    return all(isinstance(value, int) and value >= 0 for value in values) and any(values)


def _usage(usage: object) -> TokenUsage:
    if not isinstance(usage, Mapping):
        return TokenUsage(counted=False)
    by_ttl = usage.get("cache_creation")
    caching = [usage.get(f"cache_{name}_input_tokens") or 0 for name in ("creation", "read")]
    return TokenUsage(
        counted=are_counts(usage.get("input_tokens"), usage.get("output_tokens"), *caching),
        input_tokens=_count(usage.get("input_tokens")),
        output_tokens=_count(usage.get("output_tokens")),
        cache_read_tokens=_count(usage.get("cache_read_input_tokens")),
        cache_write_tokens=_count(usage.get("cache_creation_input_tokens")),
        cache_write_1h_tokens=_count(by_ttl.get("ephemeral_1h_input_tokens")) if isinstance(by_ttl, Mapping) else 0,
        batch=usage.get("service_tier") == "batch",
    )


def _explanation(message: Mapping[str, Any]) -> str:
    """What `stop_details` adds, when it does."""
    details = message.get("stop_details")
    text = details.get("explanation") if isinstance(details, Mapping) else None
    return f": {quoted(text)}" if isinstance(text, str) and text else ""


def _bad(expected_found: str, usage: TokenUsage | None = None) -> ReplyError:
    return ReplyError(
        error_type="bad_response", message=f"expected {expected_found}", usage=TokenUsage() if usage is None else usage
    )


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _show(value: object) -> str:
    text = quoted(repr(value))
    return text if len(text) <= 80 else text[:79] + "…"
