"""`gpa plan lineage`: the plans that agents stated in recorded runs, version by version."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from gpa.cli.output import json_line, one_line, open_output
from gpa.cli.plan_history import plain_lineage, plain_score, points_of, revision_lines, score_line
from gpa.cli.plan_rows import palette_option
from gpa.cli.reading import Problems, paths_and_limit
from gpa.errors import InputError

if TYPE_CHECKING:
    from gpa.plans.metrics import PlanScore
    from gpa.plans.replans import Replans


@click.command(name="lineage")
@paths_and_limit
@palette_option
@click.option("--replanned", is_flag=True, help="Only agents that changed their plan.")
@click.option("--json", "as_json", is_flag=True, help="A JSON line for each agent of each trace.")
@click.option("-o", "--output", metavar="FILE", help="Write there instead of to standard output.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    paths: tuple[str, ...],
    max_bytes: int,
    palette: str,
    replanned: bool,
    as_json: bool,
    output: str | None,
) -> None:
    """Show how each agent in the traces of PATH... changed its plan: the stated plans in order, diffs, scores.

    A plan that is stated again as it was counts once. Plans in words are read as lists; they are scored by the metrics
    that apply to them.

    \b
    Examples:
      gpa plan lineage traces/ --palette tools.toml
      gpa plan lineage traces/ --palette tools.toml --replanned --json -o lineages.jsonl

    \b
    Exit codes:
      0 shown    2 usage or input error
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from gpa.ingest.assembly import read_traces
    from gpa.ingest.transcript import transcribe
    from gpa.plans.palette import load_palette
    from gpa.plans.replans import replans

    tools = load_palette(palette)
    problems = Problems()
    traces = without = 0
    with open_output(output) as file:
        for trace in read_traces(paths, max_bytes=max_bytes, on_problem=problems):
            traces += 1
            found = replans(transcribe(trace), tools)
            without += not found
            for one in found:
                if not replanned or one.lineage.revisions:
                    file.writelines(f"{line}\n" for line in ([_line(one)] if as_json else _shown(one)))
    problems.close()
    if not traces:
        raise InputError(f"no traces in {', '.join(paths)}")
    if without:
        click.echo(f"gpa: {without} of {traces} traces state no plan", err=True)
    ctx.exit(2 if problems.lost else 0)


def _scores(one: Replans) -> Sequence[PlanScore]:
    return [version.score for version in one.versions]


def _line(one: Replans) -> str:
    versions = [
        {"label": version.label, "in_words": version.in_words, **plain_score(version.score)} for version in one.versions
    ]
    named = {"type": "plan_lineage", "schema": 1, "trace_id": one.trace_id, "agent": one.agent}
    more = {"versions": versions, "restated": one.restated, "unread": {each.label: each.why for each in one.unread}}
    return json_line({**named, **plain_lineage(one.lineage, _scores(one)), **more})


def _shown(one: Replans) -> Iterator[str]:
    count = len(one.versions)
    again = f", stated again {one.restated} time{'s' * (one.restated != 1)}" if one.restated else ""
    yield f"{one.trace_id} {one_line(one.agent, 60)}: {count} plan{'s' * (count != 1)}{again}"
    for number, version in enumerate(one.versions):
        if number:
            yield from revision_lines(one.lineage.revisions[number - 1])
        steps = len(version.plan)
        form = " in words" if version.in_words else ""
        yield f"  {version.label}: {steps} step{'s' * (steps != 1)}{form}, {_told(version.score)}"
    for each in one.unread:
        yield f"  {each.label}: not read: {one_line(each.why, 160)}"
    if count > 1:
        yield f"  score by the rules: {score_line(_scores(one))}"
    yield ""


def _told(score: PlanScore) -> str:
    return points_of(score) if score.score is None else f"score {points_of(score)}"
