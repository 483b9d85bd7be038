"""`gpa plan compare`: plans against their references, step by step."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from gpa.cli.figures import forms, write_tables
from gpa.cli.options import Grouped
from gpa.cli.plan_model import Opened, model_options, only_written, taken, with_model
from gpa.cli.plan_rows import (
    is_below,
    is_short,
    judged_options,
    palette_option,
    query_options,
    read,
    unplaced,
    write_lines,
)
from gpa.cli.reading import Problems
from gpa.errors import UsageError

if TYPE_CHECKING:
    from gpa.judges.plan_judge import Matching
    from gpa.plan_ratings import RatedPlan
    from gpa.plans.palette import Palette
    from gpa.plans.plan_files import PlanRow


class Asked(NamedTuple):
    """What a model said of one row, in both directions where both were asked."""

    there: Matching
    back: Matching | None


@click.command(name="compare", cls=Grouped)
@click.argument("plans", metavar="PLANS [REFERENCE]", nargs=-1, required=True)
@palette_option
@query_options
@click.option(
    "--same",
    type=click.FloatRange(0, 100),
    metavar="P",
    help="How alike (0 to 100) the words of two steps must be to match.  [default: 90]",
)
@click.option("--strict-index", is_flag=True, help="Steps match only under the same number.")
@click.option(
    "--mutual",
    is_flag=True,
    help="Compare both ways and average: two people's plans, neither of which is the reference.",
)
@judged_options(1, "mean F1")
@model_options
@forms
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    plans: tuple[str, ...],
    palette: str,
    query: str | None,
    queries: tuple[str, ...],
    same: float | None,
    strict_index: bool,
    mutual: bool,
    everything: bool,
    fail_under: float | None,
    **options: Any,
) -> None:
    """Compare a plan with a reference: precision, recall and F1 of its steps, and a rating of seven points.

    With two files the second is the reference of every plan in the first. With one, its rows bring their own
    ({"plan", "reference"}), or --queries does. Steps match when they use the same tool for the same thing and need the
    steps that match; --model lets a model say what is the same thing. Rows with a "rating" by people are compared with
    it.

    \b
    Examples:
      gpa plan compare plan.json reference.json --palette tools.toml
      gpa plan compare plans.csv --queries queries.csv --palette tools.toml
      gpa plan compare pairs.jsonl --palette tools.toml --mutual --json

    \b
    Exit codes:
      0 compared    1 below --fail-under    2 usage or input error    3 something could not be judged
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from gpa.plan_ratings import tables, to_plain
    from gpa.plans.palette import load_palette

    if len(plans) > 2:
        raise UsageError(f"expected PLANS and at most one REFERENCE, found {len(plans)} files")
    asking = taken(options)
    if same is not None and asking["model"] is not None:
        raise UsageError("--same: is about the rules, which --model replaces")
    tools = load_palette(palette)
    problems = Problems()
    reference = plans[1] if len(plans) > 1 else None
    rows = read(plans[:1], problems, query=query, queries=queries, reference=reference)
    compared = [row for row in rows if row.reference is not None]
    if not compared:
        raise UsageError(f"{plans[0]}: expected plans with a reference: give REFERENCE, or --queries FILE")
    asked = with_model(asking, lambda opened: _asked(opened, compared, tools, mutual=mutual))
    if only_written(asking):
        ctx.exit(2 if problems.lost else 0)
    rated = [
        _rated(row, tools, asked[place] if asked else None, same=same, strict_index=strict_index, mutual=mutual)
        for place, row in enumerate(compared)
    ]
    write_tables(
        tables(rated),
        _notes(rated, len(rows) - len(compared)),
        shown=lambda table: everything or (len(rated) > 1 and is_short(table, len(rated))),
        more={"plans": [to_plain(one) for one in rated]},
        **options,
    )
    if not (options["as_json"] or options["csv"] or options["markdown"] or options["output"]):
        _differences(rated, everything=everything)
    ctx.exit(_code(rated, problems, fail_under))


async def _asked(opened: Opened, rows: Sequence[PlanRow], palette: Palette, *, mutual: bool) -> list[Asked | None]:
    """What the model says of each row; None of a plan that cannot be read, which needs no question."""
    from gpa.judges.plan_judge import PlanJudge, Subject

    judge = PlanJudge(opened.client, palette, clean=opened.clean, max_tokens=opened.max_tokens, effort=opened.effort)

    async def ask(row: PlanRow) -> Asked | None:
        if row.plan is None or row.reference is None:
            return None
        questions = [judge.match(Subject(row.id, row.plan, row.query, row.reference))]
        if mutual:
            questions.append(judge.match(Subject(f"{row.id}-back", row.reference, row.query, row.plan)))
        there, *back = await asyncio.gather(*questions)
        return Asked(there, back[0] if back else None)

    return await asyncio.gather(*(ask(row) for row in rows))


def _rated(
    row: PlanRow, palette: Palette, asked: Asked | None, *, same: float | None, strict_index: bool, mutual: bool
) -> RatedPlan:
    from gpa.plan_ratings import RatedPlan
    from gpa.plans.one_shot import compare
    from gpa.plans.plan_rules import SAME_PROMPT

    assert row.reference is not None
    least = SAME_PROMPT if same is None else same
    matches = back_matches = None
    explanation, dropped = "", 0
    if asked is not None:
        several = [one for one in asked if one is not None]
        failed = next((one.failed for one in several if one.failed), "")
        if failed:
            return RatedPlan(row, None, failed=failed)
        matches, explanation = asked.there.pairs, asked.there.explanation
        back_matches = asked.back.pairs if asked.back else None
        dropped = sum(one.dropped for one in several)
    there = compare(row.plan, row.reference, palette, same=least, strict_index=strict_index, matches=matches)
    back = None
    if mutual:
        back = there
        if row.plan is not None:
            back = compare(
                row.reference, row.plan, palette, same=least, strict_index=strict_index, matches=back_matches
            )
    return RatedPlan(row, there, back, "", explanation, dropped)


def _notes(rated: Sequence[RatedPlan], without: int) -> list[str]:
    from gpa.plan_scores import mean

    known = [one.there for one in rated if one.there is not None]
    notes = [f"{len(rated)} plan{'s' * (len(rated) != 1)} compared"]
    if len(known) == 1:
        (one,) = known
        shares = (one.format_correctness, one.dependencies, one.placeholders)
        well_formed, linked, placed = (f"{share:.0%}" for share in shares)
        notes = [
            f"{one.rating}: F1 {one.f1:.3f} (precision {one.precision:.3f}, recall {one.recall:.3f})",
            f"Its steps by themselves: form {well_formed}, dependencies {linked}, placeholders {placed} right.",
        ]
    elif known:
        notes[0] += f": mean F1 {mean(one.f1 for one in known):.3f}"
    if without:
        notes.append(f"{without} without a reference, left out.")
    if failed := sum(bool(one.failed) for one in rated):
        notes.append(f"{failed} could not be judged.")
    if dropped := sum(one.dropped for one in rated):
        notes.append(f"{dropped} pairs that the model named are of steps that do not exist and were dropped.")
    return notes


def _differences(rated: Sequence[RatedPlan], *, everything: bool) -> None:
    lines = []
    for one in rated:
        name = f"{one.row.id}: " if len(rated) > 1 else ""
        lines += [f"{name}rejected: {problem}" for problem in unplaced(one.row.rejected)]
        if one.there is not None and not one.row.rejected:
            sides = {"plan": "step", "reference": "reference step"}
            lines += [f"{name}{sides[it.side]} {it.step}: {it.reason}" for it in one.there.differences]
    write_lines("Differences", lines, everything=everything)


def _code(rated: Sequence[RatedPlan], problems: Problems, fail_under: float | None) -> int:
    from gpa.plan_scores import mean

    if problems.lost:
        return 2
    if any(one.failed for one in rated):
        return 3
    total = mean(one.there.f1 for one in rated if one.there is not None)
    return int(is_below(total, fail_under))
