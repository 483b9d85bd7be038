"""What LLM judges will take (`--dry-run`) and took, as a person reads it in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from gpa.cli.output import one_line, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from gpa.forecast import Forecast
    from gpa.judges.model import Estimate
    from gpa.judging import Spending

SHOWN = 5


def print_forecast(forecast: Forecast, console: Console, *, model: str, max_cost: float | None = None) -> None:
    """Print requests, tokens and cost per judge, by the four ways to send them."""
    total = forecast.judges.get("")
    console.print(f"Would ask {visible(model)} about {counted(forecast.traces, 'trace')}; nothing was sent.\n")
    if total is None:
        console.print("There is nothing left to ask.")
    else:
        _print_costs(forecast, total, console, max_cost)
    if forecast.in_parts:
        parts, finals = counted(forecast.in_parts, "question"), counted(forecast.finals, "short request")
        console.print(
            f"{parts} about traces beyond the model's window, asked in parts; up to {finals} for scores follow."
        )
    print_left_out(forecast.left_out, console)
    if forecast.too_long:
        console.print(f"{counted(forecast.too_long, 'judgement')} would fail: the question exceeds the model's window.")
    if forecast.stored:
        console.print(f"{counted(forecast.stored, 'result')} in the store already: nothing is asked for them.")
    if forecast.cached:
        console.print(f"{counted(forecast.cached, 'answer')} in the response cache already: not asked again.")


def _print_costs(forecast: Forecast, total: Estimate, console: Console, max_cost: float | None) -> None:
    console.print(_table(forecast))
    console.print(
        "\nshared: tokens of input in prefixes that the judges of a trace have in common; cached: with the provider's\n"
        "prompt cache, as a run without --batch has it; both: the best case of a batch, which promises no cache hits."
    )
    console.print(f"{total.shared:.0%} of the input stands in prefixes that the judges of a trace share.")
    console.print(f"Assumed: {total.assumptions}.")
    if forecast.unpriced:
        console.print(
            f"No price is known for {', '.join(map(visible, forecast.unpriced))} in the table of"
            f" {forecast.prices_date}: give one with --prices FILE."
        )
    if total.most_usd is not None:
        console.print(f"No more than {usd(total.most_usd)} even if every answer had its full length.")
        if max_cost is not None and (total.usd.cached or 0) > max_cost:
            console.print(f"--max-cost {usd(max_cost)} would stop it on the way.")


def _table(forecast: Forecast) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("judge")
    headings = ("requests", "input", "shared", "output", "plain", "cached", "batch", "both")
    for heading in headings:
        table.add_column(heading, justify="right")
    for code in (*forecast.names, *(code for code in forecast.judges if code and code not in forecast.names)):
        if code in forecast.judges:
            table.add_row(code, *_cells(forecast.judges[code]))
    if "" in forecast.judges:
        table.add_row("in all", *_cells(forecast.judges[""]), style="bold")
    return table


def _cells(one: Estimate) -> tuple[str, ...]:
    costs = (one.usd.plain, one.usd.cached, one.usd.batch, one.usd.batch_cached)
    tokens = (one.input_tokens, one.prefix_tokens, one.output_tokens)
    return (f"{one.requests:,}", *map(_tokens, tokens), *map(usd, costs))


def _tokens(count: int) -> str:
    """A number of tokens, shortened: 950, 31.4k, 2.00M."""
    if count < 1_000:
        return str(count)
    return f"{count / 1e3:.1f}k" if count < 999_950 else f"{count / 1e6:.2f}M"


def print_spending(spending: Spending, console: Console) -> None:
    """Print what was asked, used, paid and taken out."""
    used = spending.usage
    prompt = used.input_tokens + used.cache_read_tokens + used.cache_write_tokens
    asked = [counted(spending.paid, "answer") + " paid for"]
    if spending.from_cache:
        asked.append(f"{spending.from_cache:,} from the response cache")
    if spending.refused:
        asked.append(f"{spending.refused:,} not asked because of --max-cost")
    cost = "cost unknown" if spending.unpriced and not spending.cost_usd else usd(spending.cost_usd)
    console.print(f"\n{', '.join(asked)}: {cost}")
    if spending.unpriced and spending.cost_usd:
        console.print(f"  without {counted(spending.unpriced, 'answer')} of models that have no known price")
    if prompt or used.output_tokens:
        shares = f"{used.cache_read_tokens:,} read from and {used.cache_write_tokens:,} written to the prompt cache"
        console.print(f"  {prompt:,} tokens of input ({shares}), {used.output_tokens:,} of output")
    if spending.redactions:
        kinds = ", ".join(f"{count} {kind}" for kind, count in spending.redactions)
        console.print(f"Redacted in what the judges were shown: {one_line(kinds, 400)}")
    print_left_out(spending.left_out, console)
    print_lines(spending, console)


def print_left_out(left_out: Sequence[tuple[str, int]], console: Console) -> None:
    """Print how much of which traces is not shown to the judges because a step exceeds the model's window."""
    if not left_out:
        return
    total = sum(count for _, count in left_out)
    where = ", ".join(f"{visible(trace_id)} {count:,}" for trace_id, count in left_out[:SHOWN])
    more = f" and {len(left_out) - SHOWN} more" if len(left_out) > SHOWN else ""
    console.print(
        f"{counted(total, 'character')} of steps beyond the model's window left out of what judges see, by trace:"
        f" {where}{more}"
    )


def print_lines(spending: Spending, console: Console) -> None:
    """Print what was wrong with the files of responses, and what they lack."""
    for count, one, several in (
        (spending.unknown, "belongs to no request of this run", "belong to no request of this run"),
        (spending.duplicates, "repeats an earlier one", "repeat earlier ones"),
    ):
        if count:
            console.print(f"{counted(count, 'response line')} {one if count == 1 else several}")
    if spending.bad_lines:
        console.print(f"{counted(len(spending.bad_lines), 'response line')} cannot be read")
    for line in spending.bad_lines[:SHOWN]:
        console.print(f"  {one_line(line, 200)}")


def usd(amount: float | None) -> str:
    """An amount with as many digits as it has to say; `-` for none."""
    if amount is None:
        return "-"
    return f"${amount:,.2f}" if amount >= 1 or not amount else f"${amount:.4f}"


def counted(number: int, noun: str) -> str:
    """`1 trace`, `2 traces`."""
    return f"{number:,} {noun}{'s' * (number != 1)}"
