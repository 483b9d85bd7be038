"""What tokens cost: a dated table of list prices, a user's own laid over it, and "unknown" for the rest."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from datetime import date as Date  # noqa: N812 - a field of the table is called date
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gpa.errors import FormatError, InputError
from gpa.judges.model.reply import TokenUsage

DEFAULT_CONTEXT_WINDOW = 200_000
"""Assumed for a Claude model the table does not know: the smallest of those in service."""

Usd = Annotated[float, Field(ge=0)]
_DATED = re.compile(r"[-@]20\d{6}$")


class Rates(BaseModel):
    """USD per million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: Usd
    output: Usd
    cache_write_5m: Usd
    cache_write_1h: Usd
    cache_read: Usd


class LongPrompt(Rates):
    """Rates of a request whose input is longer than `above` tokens."""

    above: Annotated[int, Field(ge=0)]


class Price(Rates):
    """Rates of a model, its batch factor, and its rates for long prompts if it has such."""

    batch: Annotated[float, Field(gt=0, le=1)] = 1.0
    long_prompt: LongPrompt | None = None
    context_window: Annotated[int, Field(ge=1)] | None = None

    def rates(self, prompt_tokens: int) -> Rates:
        """The rates that hold for a request with this much input, cached or not."""
        long = self.long_prompt
        return long if long is not None and prompt_tokens > long.above else self

    def cost_usd(self, usage: TokenUsage) -> float:
        """What a request of this usage costs."""
        rates = self.rates(usage.prompt_tokens)
        written_1h = min(usage.cache_write_1h_tokens, usage.cache_write_tokens)
        millionths = (
            usage.input_tokens * rates.input
            + usage.output_tokens * rates.output
            + (usage.cache_write_tokens - written_1h) * rates.cache_write_5m
            + written_1h * rates.cache_write_1h
            + usage.cache_read_tokens * rates.cache_read
        )
        return millionths / 1e6 * (self.batch if usage.batch else 1.0)


class Prices(BaseModel):
    """A dated table of prices by `provider/name`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    date: Date
    """The day the table was last compared with its sources."""
    source: str = ""
    models: Mapping[str, Price] = {}

    def of(self, model: str) -> Price | None:
        """The price of a model, also under a dated name (`...-20251001`); None when it is unknown."""
        return self.models.get(model) or self.models.get(_DATED.sub("", model))

    def cost_usd(self, model: str, usage: TokenUsage) -> float | None:
        """What a request costs; None when the model has no known price."""
        price = self.of(model)
        return None if price is None else price.cost_usd(usage)


def load_prices(path: Path | None = None) -> Prices:
    """The table that comes with the package, with a user's TOML file of the same form laid over it model by model."""
    shipped = _shipped()
    if path is None:
        return shipped
    try:
        own = _parse(path.read_text("utf-8"), str(path))
    except OSError as error:
        raise InputError(f"{path}: expected a TOML file of prices, found: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: expected a TOML file of prices in UTF-8, found other bytes") from error
    return own.model_copy(update={"models": {**shipped.models, **own.models}})


@cache
def _shipped() -> Prices:
    return _parse((files("gpa.judges.model") / "prices.toml").read_text("utf-8"), "prices.toml")


def _parse(text: str, where: str) -> Prices:
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FormatError(f"{where}: expected a TOML file of prices, found: {error}") from error
    try:
        return Prices.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise FormatError(
            f"{where}: {place}: expected the form of gpa/judges/model/prices.toml, found {first['msg'].lower()}"
        ) from error
