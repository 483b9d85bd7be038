"""`gpa plan weights`: what the metrics are worth, learnt from plans known to be better and worse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from gpa.cli.figures import forms, write_tables
from gpa.cli.output import json_line, open_output
from gpa.cli.plan_triples import planner_scores, ranked_plans
from gpa.errors import InputError

if TYPE_CHECKING:
    from gpa.tables import Table
    from gpa.weights import Learnt, Margins


@click.command(name="weights")
@click.argument("file", metavar="FILE")
@click.option("--step", type=click.IntRange(min=1), default=5, show_default=True, help="Round to multiples of this.")
@click.option(
    "--hinge",
    type=click.FloatRange(min=1),
    default=1.0,
    show_default=True,
    metavar="C",
    help="What a point of violation costs where no weights keep every plan in order.",
)
@click.option("--no-grid", is_flag=True, help="Leave out the search on the grid.")
@click.option(
    "--planners",
    metavar="FILE",
    help="Scores of planners (gpa plan score --json, or lines of them): how much their ranking depends on the weights.",
)
@click.option("--draws", type=click.IntRange(min=1), default=10, show_default=True, help="Random weights to try.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random weights.")
@click.option("--points-to", metavar="FILE", help="Write the rounded weights there, for gpa plan score --points.")
@forms
def command(
    *,
    file: str,
    step: int,
    hinge: float,
    no_grid: bool,
    planners: str | None,
    draws: int,
    seed: int,
    points_to: str | None,
    **options: Any,
) -> None:
    """Learn what each metric is worth, so that better plans score higher by a wide margin.

    FILE has for each query the scores (0 to 1) of its best plan and the ones before it: JSON Lines of {"best",
    "penultimate", "antepenultimate"}, of {"lineage": [weakest, ..., best]}, or what gpa plan score --lineages --json
    writes. Effectiveness keeps 70 points and efficiency 30. Needs pip install 'agent-gpa[stats]'.

    \b
    Examples:
      gpa plan weights triples.jsonl
      gpa plan weights scores.json --step 1 --points-to points.json
      gpa plan weights triples.jsonl --planners planners.json --draws 100
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from gpa.plans.metrics import POINTS
    from gpa.weights import differences, judged, learn, rounded, searched

    ranked = ranked_plans(file)
    if not ranked:
        raise InputError(f"{file}: expected queries with two or three scored plans, found none")
    margins = differences(ranked)
    learnt = learn(margins, hinge=hinge)
    found = {"learnt": learnt}
    if not no_grid:
        found["grid"] = searched(margins)
    found["rounded"] = judged(rounded(learnt.weights, step=step), margins, learnt.method)
    found["default"] = judged(dict(POINTS.items()), margins, learnt.method)
    tables = [_weights(found), _fit(found), _triplets(margins)]
    if planners is not None:
        tables.append(_sensitivity(planner_scores(planners), found["rounded"].weights, draws, seed))
    if points_to is not None:
        with open_output(points_to) as output:
            output.write(json_line({"points": found["rounded"].weights}) + "\n")
    how = "keep every plan in order" if learnt.method == "margin" else "cannot all be kept in order: by hinge loss"
    notes = [f"{len(ranked)} queries, {len(margins)} inequalities: {how}, margin {learnt.margin:.3f} points."]
    write_tables(tables, notes, **options)


def _weights(found: Mapping[str, Learnt]) -> Table:
    from gpa.plan_scores import name_of
    from gpa.plans.metrics import METRICS
    from gpa.tables import Cell, Table

    rows: list[tuple[Cell, ...]] = [
        (name_of(metric), *(one.weights[metric] for one in found.values())) for metric in METRICS
    ]
    return Table("weights", "Points of each metric", ("metric", *found), tuple(rows))


def _fit(found: Mapping[str, Learnt]) -> Table:
    from gpa.agreement import rate
    from gpa.tables import Table

    rows = tuple(
        (name, rate(one.satisfied, one.inequalities), one.margin, one.median_margin) for name, one in found.items()
    )
    columns = ("weights", "in order", "smallest margin", "median margin")
    return Table("fit", "How well they keep better plans above", columns, rows)


def _triplets(margins: Sequence[Margins]) -> Table:
    from gpa.agreement import rate
    from gpa.plan_scores import mean, name_of
    from gpa.tables import Cell, Table
    from gpa.weights import triplet_agreement

    shares = triplet_agreement(margins)
    counts = [(one.count or 0, one.total or 0) for one in shares.values()]
    rows: list[tuple[Cell, ...]] = [(name_of(metric), share) for metric, share in shares.items()]
    rows.append(("mean of metrics", mean(one.value for one in shares.values())))
    rows.append(("all together", rate(sum(count for count, _ in counts), sum(total for _, total in counts))))
    note = "Share of neighbouring plans of which the better one scores no lower."
    return Table("triplets", "Agreement with the order of plans", ("metric", "in order or equal"), tuple(rows), (note,))


def _sensitivity(
    prompts: Mapping[str, Mapping[str, Mapping[str, float]]], weights: Mapping[str, float], draws: int, seed: int
) -> Table:
    from gpa.tables import Cell, Table
    from gpa.weights import sensitivity

    rows: list[tuple[Cell, ...]] = []
    for prompt, planners in prompts.items():
        one = sensitivity(planners, weights, draws=draws, seed=seed)
        rows.append((prompt or "all", len(planners), one.equal, one.lowest, one.middle, one.highest))
    columns = ("prompt", "planners", "equal weights", "lowest", "median", "highest")
    note = f"Spearman's correlation of rankings with the one by the rounded weights; {draws} random draws."
    return Table("sensitivity", "How much the ranking depends on the weights", columns, tuple(rows), (note,))
