"""A price is known with its date, or unknown; it is never made up."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpa.errors import FormatError, InputError
from gpa.judges.model import TokenUsage, load_prices, window_of

MILLION = 1_000_000


def usd(model: str, **tokens: int | bool) -> float | None:
    return load_prices().cost_usd(model, TokenUsage(**tokens))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("tokens", "cost"),
    [
        ({"input_tokens": MILLION}, 2.0),
        ({"output_tokens": MILLION}, 10.0),
        ({"cache_write_tokens": MILLION}, 2.5),
        ({"cache_write_tokens": MILLION, "cache_write_1h_tokens": MILLION}, 4.0),
        ({"cache_read_tokens": MILLION}, 0.1),
        ({"input_tokens": MILLION, "output_tokens": MILLION, "batch": True}, 6.0),
    ],
    ids=["input", "output", "write", "write-1h", "read", "batch"],
)
def test_each_kind_of_token_has_its_price(tokens: dict[str, int], cost: float) -> None:
    assert usd("anthropic/claude-sonnet-5-5", **tokens) == pytest.approx(cost)


def test_long_prompts_of_haiku_cost_more_for_the_whole_request_cached_tokens_counted() -> None:
    short = {"input_tokens": 1, "cache_read_tokens": 99_999, "output_tokens": MILLION}
    long = {**short, "input_tokens": 2}
    assert usd("anthropic/claude-haiku-5-5", **short) == pytest.approx(0.5 + 0.1e-6 + 99_999e-8)
    assert usd("anthropic/claude-haiku-5-5", **long) == pytest.approx(2.5 + 1e-6 + 99_999 * 5e-8)


@pytest.mark.parametrize("model", ["openai/gpt-x", "bedrock/anthropic.claude-sonnet-5-5", "anthropic/claude-next"])
def test_model_that_is_not_in_the_table_has_no_price(model: str) -> None:
    assert usd(model, input_tokens=1) is None


def test_dated_name_has_the_price_of_its_alias() -> None:
    assert usd("anthropic/claude-haiku-4-5-20251001", input_tokens=MILLION) == 1.0


def test_users_table_is_laid_over_ours(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(
        'date = 2030-01-01\n[models."ollama/qwen3"]\ninput = 0\noutput = 0\ncache_write_5m = 0\ncache_write_1h = 0\n'
        "cache_read = 0\ncontext_window = 40_000\n"
    )
    prices = load_prices(path)
    assert prices.cost_usd("ollama/qwen3", TokenUsage(input_tokens=5)) == 0.0
    assert prices.of("anthropic/claude-opus-5-5") is not None
    assert prices.date.isoformat() == "2030-01-01"
    assert window_of("ollama/qwen3", prices) == 40_000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("date = ", "expected a TOML file of prices, found: Invalid value"),
        ("[models]", "date: expected the form of gpa/judges/model/prices.toml, found field required"),
        ('date = 2030-01-01\n[models."a/b"]\ninput = -1', "models.a/b.input: expected the form"),
        ('date = 2030-01-01\n[models."a/b"]\nprice = 1', "models.a/b.input: expected the form"),
    ],
    ids=["toml", "date", "negative", "unknown-field"],
)
def test_table_that_breaks_the_form_says_where(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(text)
    with pytest.raises(FormatError) as caught:
        load_prices(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def test_missing_table_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        load_prices(tmp_path / "none.toml")


def test_shipped_table_writes_cache_dearer_and_reads_it_cheaper_than_input() -> None:
    for name, price in load_prices().models.items():
        assert price.cache_read < price.input < price.cache_write_5m < price.cache_write_1h < price.output, name
        assert price.batch == 0.5


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("anthropic/claude-haiku-4-5", 200_000),
        ("bedrock/us.anthropic.claude-sonnet-5-5", 1_000_000),
        ("vertex/claude-opus-5-5", 1_000_000),
        ("anthropic/claude-next", 200_000),
    ],
)
def test_context_window_is_that_of_the_model_wherever_it_runs(model: str, window: int) -> None:
    assert window_of(model) == window
