"""`gpa compare`: two runs of an agent; which dimensions moved beyond noise, and which findings are new."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gpa.cli.figures import forms, write_tables
from gpa.cli.gate import gate_of, report_options, say_reasons
from gpa.cli.options import Grouped
from gpa.cli.output import console

if TYPE_CHECKING:
    from gpa.regression import Regression

SHOWN = 10


@click.command(name="compare", cls=Grouped)
@click.argument("before", metavar="BEFORE")
@click.argument("after", metavar="AFTER")
@click.option("--model", metavar="NAME", help="Only results of this model (`checks`, or provider/name).")
@click.option(
    "--fail-under", type=click.FloatRange(0, 3), metavar="X", help="Exit 1 when a dimension's mean in AFTER is below X."
)
@report_options
@forms
@click.pass_context
def command(
    ctx: click.Context, /, *, before: str, after: str, model: str | None, fail_under: float | None, **options: Any
) -> None:
    """Say whether an agent got better or worse from the run BEFORE to the run AFTER, and which findings are new.

    Each is a store (gpa.db) or a file of result lines. Traces pair by id, or, from stores, by the goal that the user
    stated: a test set that was run again. A difference counts when noise does not explain it: that of repeated scores
    where there are some, else of cases drawn with replacement.

    \b
    Examples:
      gpa compare main.db branch.db
      gpa compare main.db branch.db --fail-on regression,new-high --summary comment.md
      gpa compare before.jsonl after.jsonl --json

    \b
    Exit codes:
      0 compared    1 what --fail-on or --fail-under names    2 usage or input error
      3 some of AFTER could not be judged
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from gpa.locations import recorded
    from gpa.regression import compare

    gate = gate_of(options, fail_under=fail_under, stderr=any(options[form] for form in ("as_json", "markdown", "csv")))
    earlier, later = recorded(before, model=model), recorded(after, model=model)
    regression = compare(earlier, later, tolerance=gate.tolerance)
    with gate.guarded():
        write_tables(regression.tables(), regression.notes(), more=regression.to_dict(), digits=2, **options)
        if not gate.stderr and options["output"] is None:
            _print_findings(regression)
    outcome = gate.held(later, regression)
    say_reasons(outcome)
    gate.write(outcome)
    ctx.exit(1 if outcome.reasons() else later.evaluation.exit_code())


def _print_findings(regression: Regression) -> None:
    from gpa.cli.scores import print_finding

    if not regression.new:
        return
    screen = console()
    shown = "" if len(regression.new) <= SHOWN else f", the {SHOWN} gravest"
    screen.print(f"\nNew: {len(regression.new)} finding{'s' * (len(regression.new) != 1)}{shown}")
    for located in regression.new[:SHOWN]:
        screen.print()
        print_finding(located, screen)
