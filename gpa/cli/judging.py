"""The options of `gpa evaluate` that are about LLM judges, and how they become a `Judging`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from gpa.cli.options import grouped, option
from gpa.errors import UsageError

if TYPE_CHECKING:
    from gpa.judging import Judging

POSITIVE = click.FloatRange(min=0, min_open=True)

MODEL = (
    option(
        "--redact/--no-redact",
        default=None,
        help="Take keys, passwords, e-mail and card numbers out of what is sent.  [default: redact]",
    ),
    option(
        "--effort",
        type=click.Choice(["low", "medium", "high", "xhigh", "max"]),
        help="How hard the model thinks.  [default: the provider's]",
    ),
    option("--max-tokens", type=click.IntRange(min=1), metavar="N", help="Of one answer.  [default: 16000]"),
    option(
        "--context-window", type=click.IntRange(min=1), metavar="N", help="Of the model, in tokens, if it is not known."
    ),
    option("--base-url", metavar="URL", help="Ask this server, in place of the provider's own."),
)
"""How a model is asked, whatever it is asked about."""

QUESTIONS = grouped(
    "LLM judges",
    option("--model", metavar="NAME", help="Let this model judge, as provider/name; without it, checks do."),
    option(
        "--mode",
        type=click.Choice(["panel", "single"]),
        help="panel: a request a dimension; single: one for all, about a seventh of the cost.  [default: panel]",
    ),
    option("--rubrics", metavar="DIR", help="Markdown rubrics that replace ours (TC.md) or add dimensions."),
    option("--agent-notes", metavar="FILE", help="What the judges should know of the agent's architecture."),
    option("--examples", metavar="FILE", help="Gold errors to show the judges as examples."),
    option("--samples", type=click.IntRange(min=1), metavar="K", help="Verdicts per trace and judge.  [default: 1]"),
    option("--with-checks", is_flag=True, help="Give the judges what the checks found, to confirm or reject."),
    option(
        "--max-tools",
        type=click.IntRange(min=1),
        metavar="N",
        help="Tools of an agent to describe: the used ones, and the best for the goal.  [default: 40]",
    ),
    *MODEL,
)
SPENDING = (
    option(
        "--max-cost",
        type=click.FloatRange(min=0),
        metavar="USD",
        help="Stop before the request that could cost more in all.",
    ),
    option("--concurrency", type=click.IntRange(min=1), metavar="N", help="Requests at a time.  [default: 8]"),
    option("--requests-per-minute", type=POSITIVE, metavar="N", help="At the most."),
    option("--tokens-per-minute", type=POSITIVE, metavar="N", help="Of input, at the most; cached ones not counted."),
    option("--cache", metavar="FILE", help="Keep answers here, so that none is paid twice.  [default: a user folder]"),
    option("--no-cache", is_flag=True, help="Keep no answers, and ask again what was asked before."),
    option("--prices", metavar="FILE", help="TOML of prices, laid over the ones that come with gpa."),
)
"""What asking may cost and how fast it goes."""
_MONEY = grouped(
    "Cost and speed of LLM judges",
    option("--dry-run", is_flag=True, help="Print requests, tokens and cost per judge; send nothing. Needs no key."),
    *SPENDING,
)
FILES = grouped(
    "Batches and files in place of live requests",
    option("--batch", is_flag=True, help="Message Batches: half the price. Can be stopped; the same command goes on."),
    option("--requests-to", metavar="FILE", help="Write the requests there as Message Batches lines; send nothing."),
    option(
        "--responses-from",
        metavar="FILE",
        multiple=True,
        help="Take the answers from these result lines; with --requests-to, write what they lack.",
    ),
)


def judging_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of LLM judges; they arrive as keyword arguments, None (or empty) where not given."""
    decorated: Callable[..., Any] = QUESTIONS(_MONEY(FILES(command)))
    return decorated


def judging_of(options: dict[str, Any]) -> Judging:
    """The options as given on the command line, without `model` and `dry_run`, as a `Judging`."""
    from gpa.judging import Judging

    given = {name: value for name, value in options.items() if _is_given(name, value)}
    if given.pop("no_cache", False):
        if "cache" in given:
            raise UsageError("--no-cache: contradicts --cache")
        given["cache"] = None
    return Judging(**given)


def refuse_without_model(options: dict[str, Any]) -> None:
    """Raise a UsageError when an option of LLM judges was given although no model was."""
    for name, value in options.items():
        if _is_given(name, value):
            option_name = "no-redact" if name == "redact" and not value else name.replace("_", "-")
            raise UsageError(f"--{option_name}: is about LLM judges; add --model (anthropic/claude-sonnet-5-5)")


def refuse_with_model(options: dict[str, Any]) -> None:
    """Raise a UsageError when an option of the checks was given although a model judges."""
    for name, value in options.items():
        if _is_given(name, value):
            raise UsageError(f"--{name.replace('_', '-')}: is about the checks, which --model replaces")


def _is_given(name: str, value: object) -> bool:
    """Whether an option stands on the command line: flags that do not are False, but --no-redact is one that does."""
    return value is not None and value != () and (value is not False or name == "redact")
