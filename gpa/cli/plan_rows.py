"""What the plan commands share that read plans: --palette, --query, --queries, and problems as lines on stderr."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from gpa.cli.output import one_line, open_output
from gpa.cli.reading import Problems
from gpa.errors import InputError, UsageError

if TYPE_CHECKING:
    from gpa.plans.plan import Problem
    from gpa.plans.plan_files import PlanRow
    from gpa.tables import Table

SHOWN = 30
"""Plans, deductions and differences shown on a terminal without --all."""
WIDTH = 160
"""Characters shown of a line."""
PLANS = click.argument("plans", metavar="PLANS...", nargs=-1, required=True)


def palette_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command --palette."""
    return click.option(
        "--palette",
        metavar="FILE",
        required=True,
        help="The tools that plans may use: TOML or JSON (docs/plans.md).",
    )(command)


def query_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command --query and --queries."""
    options = (
        click.option("--query", metavar="TEXT", help="What the user asked, for plans that come without."),
        click.option(
            "--queries",
            metavar="FILE",
            multiple=True,
            help="Queries, references and kinds of query, joined by query_id: CSV or JSON Lines.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def is_short(table: Table, plans: int) -> bool:
    """Whether a table is shown without --all: not those by size of the plans, nor a line a plan of many."""
    return table.name not in {"by_steps", "by_hops"} and (table.name != "plans" or plans <= SHOWN)


def judged_options(most: float, mean: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command --all and --fail-under, 0 to `most`, which is about the `mean`."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        limit = click.option(
            "--fail-under", type=click.FloatRange(0, most), metavar="X", help=f"Exit 1 when the {mean} is below X."
        )
        everything = click.option("--all", "everything", is_flag=True, help="Show every table and every line.")
        return everything(limit(command))

    return decorate


def is_below(total: float | None, fail_under: float | None) -> bool:
    """Whether a mean is below what was asked for; what has no mean is."""
    return fail_under is not None and (total is None or total < fail_under)


def write_lines(title: str, lines: Sequence[str], *, everything: bool) -> None:
    """Print lines under a title below the tables, the first ones unless all are asked for."""
    shown = lines if everything else lines[:SHOWN]
    with open_output(None) as file:
        if shown:
            file.write(f"\n{title}\n" + "".join(f"  {one_line(line, WIDTH)}\n" for line in shown))
        if len(lines) > len(shown):
            file.write(f"  and {len(lines) - len(shown)} more (--all)\n")


def unplaced(problems: Iterable[Problem]) -> list[Problem]:
    """The problems of a plan without its file, where that is said already."""
    from msgspec.structs import replace

    return [replace(problem, where="") for problem in problems]


def read(
    plans: Sequence[str],
    problems: Problems,
    *,
    query: str | None = None,
    queries: Sequence[str] = (),
    reference: str | None = None,
) -> list[PlanRow]:
    """The rows to judge. Raises `InputError` when there are none, or the reference is none."""
    from msgspec.structs import replace

    from gpa.ingest.problems import in_short
    from gpa.plans.plan_files import read_one, read_rows

    known = None
    if reference is not None:
        known = read_one(reference, on_problem=problems)
        if known is None:
            raise InputError(f"{reference}: expected a plan to compare with")
    rows = read_rows(list(plans), on_problem=problems, queries=queries, reference=known)
    problems.close()
    if not rows:
        raise InputError(f"no plans in {in_short(list(plans))}")
    if query is not None:
        if not query.strip():
            raise UsageError("--query: expected what the user asked, found nothing")
        rows = [row if row.query else replace(row, query=query) for row in rows]
    return rows
