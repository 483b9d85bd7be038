"""What the plan commands share that ask a model: its options, how it is opened, and what is said of the cost."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from gpa.cli.judging import FILES, MODEL, SPENDING, judging_of, refuse_without_model
from gpa.cli.options import grouped, option
from gpa.cli.output import console, visible
from gpa.cli.progress import Reporter
from gpa.errors import UsageError

if TYPE_CHECKING:
    from gpa.judges.model import Client
    from gpa.judging import Bench, Spending

T = TypeVar("T")
EVERY_S = 0.25
"""Between two looks at what was answered, on a terminal."""

_MODEL = grouped(
    "A model",
    option("--model", metavar="NAME", help="Let this model judge what rules cannot see, as provider/name."),
    *MODEL,
)
_SPENDING = grouped(
    "Cost and speed of the model",
    option("--dry-run", is_flag=True, help="Print requests, tokens and cost; send nothing. Needs no key."),
    *SPENDING,
)
NAMES = frozenset(
    {
        "model",
        "redact",
        "effort",
        "max_tokens",
        "context_window",
        "base_url",
        "dry_run",
        "max_cost",
        "concurrency",
        "requests_per_minute",
        "tokens_per_minute",
        "cache",
        "no_cache",
        "prices",
        "batch",
        "requests_to",
        "responses_from",
    }
)
"""The keyword arguments in which these options arrive."""


class Opened(NamedTuple):
    """A model that can be asked, and how."""

    client: Client
    clean: Callable[[str], str] | None
    """Takes secrets and personal data out of a text; None with --no-redact."""
    max_tokens: int
    effort: Any


def model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of a model; they arrive as keyword arguments (`NAMES`).

    Its class must be `Grouped`.
    """
    decorated: Callable[..., Any] = _MODEL(_SPENDING(FILES(command)))
    return decorated


def taken(options: dict[str, Any]) -> dict[str, Any]:
    """The options of a model, taken out of all that a command was given."""
    return {name: options.pop(name) for name in sorted(NAMES & options.keys())}


def with_model(options: dict[str, Any], work: Callable[[Opened], Awaitable[T]]) -> T | None:
    """What `work` makes of the model that the options (`taken`) name; None when they name none.

    What it cost is said on stderr; with --requests-to, how many requests were written; with --dry-run, what it would
    cost, on stdout. Raises `UsageError` for options that contradict each other.
    """
    given = dict(options)
    model = given.pop("model")
    if model is None:
        refuse_without_model(given)
        return None
    if given["dry_run"] and given["requests_to"] is not None:
        raise UsageError("--dry-run: contradicts --requests-to")
    return asyncio.run(_run(model, given, work))


def only_written(options: dict[str, Any]) -> bool:
    """Whether questions are only written or counted: there is nothing to show but that."""
    return options["requests_to"] is not None or options["dry_run"]


async def _run(model: str, given: dict[str, Any], work: Callable[[Opened], Awaitable[T]]) -> T:
    from gpa.judging import opened

    rehearsal = given.pop("dry_run")
    judging = judging_of(given)
    async with opened(model, judging, recording=rehearsal, on_batch=Reporter().batch) as bench:
        clean = bench.redactors[0] if bench.redactors else None
        async with _shown(bench):
            done = await work(Opened(bench.client, clean, judging.max_tokens, judging.effort))
        spending = bench.spending(final=True)
    if rehearsal:
        _say_cost(bench, model)
    else:
        _say(spending, judging.requests_to)
    return done


@asynccontextmanager
async def _shown(bench: Bench) -> AsyncIterator[None]:
    """How many answers there are and what they cost, on a terminal only, as long as the block lasts."""
    if not sys.stderr.isatty():
        yield
        return
    with console(stderr=True).status("asking") as status:

        async def watch() -> None:
            while True:
                spent = bench.spending()
                kept = f" + {spent.from_cache} kept" if spent.from_cache else ""
                status.update(f"{visible(spent.model)}: {spent.paid} answers{kept}, ${spent.cost_usd:.4f}")
                await asyncio.sleep(EVERY_S)

        watching = asyncio.create_task(watch())
        try:
            yield
        finally:
            watching.cancel()


def _say_cost(bench: Bench, model: str) -> None:
    """Print what the questions that were not sent would take, by kind of question where there are several."""
    from gpa.cli.spending import counted, usd
    from gpa.judges.model import estimate

    kinds = estimate(bench.unanswered, bench.prices)
    total = kinds.pop("", None)
    if total is None:
        click.echo(f"There is nothing left to ask {visible(model)}; nothing was sent.")
    else:
        click.echo(f"Would ask {visible(model)}; nothing was sent.")
        shown = {**(kinds if len(kinds) > 1 else {}), "in all": total}
        for name, one in shown.items():
            tokens = f"{one.input_tokens:,} tokens of input, {one.output_tokens:,} of output"
            cost = f"{usd(one.usd.cached)}, as a batch {usd(one.usd.batch)}"
            click.echo(f"  {visible(name)}: {counted(one.requests, 'request')}, {tokens}: {cost}")
        click.echo(f"Assumed: {total.assumptions}; no answer that has to be asked for again.")
        if total.most_usd is not None:
            click.echo(f"No more than {usd(total.most_usd)} even if every answer had its full length.")
    if bench.client.ledger.from_cache:
        click.echo(f"{counted(bench.client.ledger.from_cache, 'answer')} in the response cache already.")


def _say(spending: Spending, requests_to: object) -> None:
    if requests_to is not None:
        count = spending.unanswered
        noun = "request" if count == 1 else "requests"
        click.echo(f"{count} {noun} written to {visible(str(requests_to))}; nothing was sent", err=True)
    elif spending.paid or spending.from_cache or spending.refused:
        known = "cost unknown" if spending.unpriced and not spending.cost_usd else f"${spending.cost_usd:.4f}"
        refused = f", {spending.refused} not asked because of --max-cost" if spending.refused else ""
        paid = f"{spending.paid} answers paid for ({known}), {spending.from_cache} from the cache{refused}"
        click.echo(f"{visible(spending.model)}: {paid}", err=True)
    for count, what in (
        (spending.unknown, "belong to no request of this run"),
        (spending.duplicates, "repeat earlier ones"),
        (len(spending.bad_lines), "cannot be read"),
    ):
        if count:
            click.echo(f"gpa: note: {count} response lines {what}", err=True)
