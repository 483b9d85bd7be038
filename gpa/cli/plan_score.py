"""`gpa plan score`: plans by the seven metrics, with every deduction named and located."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from gpa.cli.figures import forms, write_tables
from gpa.cli.options import Grouped
from gpa.cli.output import open_output, visible
from gpa.cli.plan_model import Opened, model_options, only_written, taken, with_model
from gpa.cli.plan_rows import (
    PLANS,
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
    from gpa.judges.plan_judge import Opinion
    from gpa.plan_scores import Rejected, ScoredPlan
    from gpa.plans.metrics import Metric, NoPairs
    from gpa.plans.palette import Palette
    from gpa.plans.plan_files import PlanRow


@click.command(name="score", cls=Grouped)
@PLANS
@palette_option
@click.option("--reference", metavar="FILE", help="A plan known to be good, for plans that come without.")
@query_options
@click.option("--lineages", is_flag=True, help="Score every plan of each row's lineage in place of its plan.")
@click.option("--points", metavar="FILE", help="What the metrics are worth: TOML or JSON.  [default: 70 + 30]")
@click.option(
    "--tuc-na",
    "no_pairs",
    type=click.Choice(["full", "exclude"]),
    default="full",
    show_default=True,
    help="Tool-usage completeness where the reference asks nothing of two tools: all its points, or not applicable.",
)
@click.option(
    "--rejected",
    type=click.Choice(["zero", "exclude"]),
    default="zero",
    show_default=True,
    help="A plan that the validator rejects has no points, or is left out and counted.",
)
@click.option("--metrics", metavar="A,B", help="Ask the model about these only.  [default: all but format]")
@judged_options(100, "mean")
@click.option("--queries-csv", metavar="FILE", help="Write the queries as the public release does (queries.csv).")
@click.option("--plans-csv", metavar="FILE", help="Write the plans as the public release does (plans.csv).")
@model_options
@forms
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    plans: tuple[str, ...],
    palette: str,
    reference: str | None,
    query: str | None,
    queries: tuple[str, ...],
    lineages: bool,
    points: str | None,
    no_pairs: NoPairs,
    rejected: Rejected,
    metrics: str | None,
    everything: bool,
    fail_under: float | None,
    queries_csv: str | None,
    plans_csv: str | None,
    **options: Any,
) -> None:
    """Score the plans in PLANS... by seven metrics, 0 to 100, and say where each deduction is.

    PLANS are files of one plan, JSON Lines of {"query", "plan", "reference"}, CSV of the public release, or traces,
    whose stated plans are taken. Rules decide what they can see; --model lets a model judge the rest.

    \b
    Examples:
      gpa plan score plan.json --palette tools.toml
      gpa plan score plans.csv --queries queries.csv --palette tools.toml --json
      gpa plan score plans.jsonl --palette tools.toml --model anthropic/claude-sonnet-5-5
      gpa plan score traces/ --palette tools.toml --all

    \b
    Exit codes:
      0 scored    1 below --fail-under    2 usage or input error    3 something could not be judged
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from gpa.plan_scores import lineage_rows, score_rows, tables, to_plain
    from gpa.plans.metrics import POINTS
    from gpa.plans.palette import load_palette
    from gpa.plans.points import load_points

    asking = taken(options)
    if metrics is not None and asking["model"] is None:
        raise UsageError("--metrics: is about what the model is asked; add --model")
    tools = load_palette(palette)
    worth = POINTS if points is None else load_points(points)
    problems = Problems()
    rows = read(plans, problems, query=query, queries=queries, reference=reference)
    _export(rows, queries_csv, plans_csv)
    if lineages and not (rows := list(lineage_rows(rows))):
        raise UsageError("--lineages: expected rows with a lineage, found none")
    opinions = with_model(asking, lambda opened: _judged(opened, rows, tools, _metrics_of(metrics)))
    if only_written(asking):
        ctx.exit(2 if problems.lost else 0)
    scored = score_rows(rows, tools, opinions=opinions, points=worth, no_pairs=no_pairs, rejected=rejected)
    write_tables(
        tables(scored),
        _notes(scored, opinions),
        shown=lambda table: everything or is_short(table, len(scored)),
        more={**_asked_of(asking, metrics), "plans": [to_plain(one) for one in scored]},
        **options,
    )
    if not (options["as_json"] or options["csv"] or options["markdown"] or options["output"]):
        _deductions(scored, everything=everything)
    ctx.exit(_code(scored, opinions, problems, fail_under))


async def _judged(
    opened: Opened, rows: Sequence[PlanRow], palette: Palette, metrics: Sequence[Metric]
) -> dict[int, Opinion]:
    """What the model says of each row, by its place; of a plan that is rejected there is nothing to ask."""
    from gpa.judges.plan_judge import PlanJudge, Subject

    judge = PlanJudge(opened.client, palette, clean=opened.clean, max_tokens=opened.max_tokens, effort=opened.effort)
    asked = {place: row for place, row in enumerate(rows) if row.plan is not None}
    opinions = await asyncio.gather(
        *(
            judge.judge(Subject(row.id, row.plan, row.query, row.reference), metrics)
            for row in asked.values()
            if row.plan is not None
        )
    )
    return dict(zip(asked, opinions, strict=True))


def _metrics_of(text: str | None) -> Sequence[Metric]:
    from gpa.judges.plan_judge import ASKED
    from gpa.plans.metrics import METRICS

    if text is None:
        return ASKED
    named = [name.strip().lower().replace("-", "_").replace(" ", "_") for name in text.split(",")]
    for name in named:
        if name not in METRICS:
            raise UsageError(f"--metrics: expected some of {','.join(METRICS)}, found {name!r}")
    return [metric for metric in METRICS if metric in named]


def _asked_of(asking: Mapping[str, Any], metrics: str | None) -> dict[str, Any]:
    """The model and the version of what it was asked, where one was."""
    from gpa.judges.plan_judge import rubric_hash

    model = asking["model"]
    return {} if model is None else {"model": model, "rubric_hash": rubric_hash(_metrics_of(metrics))}


def _notes(scored: Sequence[ScoredPlan], opinions: Mapping[int, Opinion] | None) -> list[str]:
    from gpa.plan_scores import mean

    known = [one for one in scored if one.score is not None]
    total = mean(one.score.score for one in known if one.score)
    rejected = sum(bool(one.row.rejected) for one in scored)
    count = f"{len(scored)} plan{'s' * (len(scored) != 1)}"
    notes = [f"{count}: {'nothing to score' if total is None else f'{total:.2f} of 100'}"]
    if rejected:
        left = "left out" if len(known) < len(scored) else "no points"
        notes.append(f"{rejected} rejected by the validator ({left}).")
    if opinions is None:
        notes.append("By rules alone; what only a model can see is not judged (--model).")
    elif dropped := sum(one.dropped for one in scored):
        notes.append(f"{dropped} steps that the model named do not exist and were dropped.")
    return notes


def _deductions(scored: Sequence[ScoredPlan], *, everything: bool) -> None:
    lines = []
    for one in scored:
        name = f"{one.row.id}: " if len(scored) > 1 else ""
        if one.row.rejected:
            lines += [f"{name}rejected: {problem}" for problem in unplaced(one.row.rejected)]
            continue
        for found in one.score.deductions if one.score else ():
            where = f"step {found.step}" if found.step else "the plan"
            by = "" if found.by == "rules" else f" ({found.by})"
            lines.append(f"{name}{where}: {found.metric.replace('_', ' ')}: {found.reason}{by}")
    write_lines("Deductions", lines, everything=everything)


def _export(rows: Sequence[PlanRow], queries_csv: str | None, plans_csv: str | None) -> None:
    from gpa.plans.plan_release import write_plans, write_queries

    for path, write in ((queries_csv, write_queries), (plans_csv, write_plans)):
        if path is not None:
            with open_output(path) as file:
                count = write(rows, file)
            click.echo(f"{visible(path)}: {count} rows written", err=True)


def _code(
    scored: Sequence[ScoredPlan],
    opinions: Mapping[int, Opinion] | None,
    problems: Problems,
    fail_under: float | None,
) -> int:
    from gpa.plan_scores import mean

    if problems.lost:
        return 2
    if any(one.failed for one in (opinions or {}).values()):
        return 3
    total = mean(one.score.score for one in scored if one.score)
    return int(is_below(total, fail_under))
