"""From what a user types after `--model` to a model."""

from __future__ import annotations

from gpa.errors import UsageError
from gpa.judges.model.anthropic import DEFAULT_MAX_RETRIES, DEFAULT_TIMEOUT_S, AnthropicModel
from gpa.judges.model.litellm import LiteLLMModel
from gpa.judges.model.model import Model
from gpa.judges.model.prices import DEFAULT_CONTEXT_WINDOW, Prices, load_prices

CLAUDE_PROVIDERS = ("anthropic", "bedrock", "vertex")


def open_model(
    spec: str,
    *,
    prices: Prices | None = None,
    context_window: int | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    max_retries: int = DEFAULT_MAX_RETRIES,
) -> Model:
    """The model named `provider/name`, ready to be asked.

    `anthropic/`, `bedrock/` and `vertex/` go through Anthropic's SDK, every other provider through LiteLLM.

    Raises:
        UsageError: The name has no provider, its package is not installed, or its key is not set.
    """
    check_spec(spec)
    if spec.partition("/")[0] in CLAUDE_PROVIDERS:
        return AnthropicModel(
            spec,
            context_window=context_window or window_of(spec, prices),
            base_url=base_url,
            api_key=api_key,
            timeout_s=timeout_s,
            max_retries=max_retries,
        )
    return LiteLLMModel(
        spec,
        context_window=context_window,
        base_url=base_url,
        api_key=api_key,
        timeout_s=timeout_s,
        max_retries=max_retries,
    )


def window_of(spec: str, prices: Prices | None = None) -> int:
    """The context window the price table gives a model, on Bedrock and Vertex that of the same name at Anthropic's."""
    table = load_prices() if prices is None else prices
    name = spec.partition("/")[2].rpartition("anthropic.")[2]
    for known in (spec, f"anthropic/{name}"):
        price = table.of(known)
        if price is not None and price.context_window is not None:
            return price.context_window
    return DEFAULT_CONTEXT_WINDOW


def check_spec(spec: str) -> None:
    """Raise a UsageError unless the text is `provider/name`."""
    provider, slash, name = spec.partition("/")
    if slash and provider and name and not spec.isspace():
        return
    hint = f" (did you mean anthropic/{spec}?)" if spec.startswith("claude-") else ""
    raise UsageError(f"--model: expected provider/name, such as anthropic/claude-sonnet-5-5, found {spec!r}{hint}")
