"""`gpa benchmark trail`: predictions or our own results against the TRAIL benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gpa.cli.figures import forms, write_tables
from gpa.errors import UsageError


def _print_download_help(ctx: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from gpa.trail import DOWNLOAD

        click.echo(DOWNLOAD, nl=False)
        ctx.exit()


@click.command(name="benchmark")
@click.argument("name", metavar="trail", type=click.Choice(["trail"]))
@click.option(
    "--data", metavar="DIR", help="The benchmark: its repository, or a folder with PART/gold and PART/traces."
)
@click.option("--gold", metavar="DIR", help="A folder of gold files alone, in place of --data.")
@click.option(
    "--traces", metavar="DIR", help="The traces, for what trivial predictors get.  [default: beside the gold]"
)
@click.option("--part", type=click.Choice(["gaia", "swe_bench"]), help="The part of --data.  [default: gaia]")
@click.option("--predictions", metavar="DIR", help="Model answers in TRAIL's form, <trace_id>.json each.")
@click.option("--results", metavar="FILE", help="Our result lines (gpa evaluate --jsonl).")
@click.option("--judge", metavar="NAME", multiple=True, help="Only the findings of this judge; may be repeated.")
@click.option("--sample", type=click.IntRange(min=0), default=0, show_default=True, help="The repetition in --results.")
@click.option(
    "--as-published", is_flag=True, help="Leave out missing and unreadable predictions, as the published scorer does."
)
@click.option(
    "--download-help",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_download_help,
    help="Say where the benchmark is to be had.",
)
@forms
def command(
    *,
    name: str,  # noqa: ARG001 - there is one benchmark so far
    data: str | None,
    gold: str | None,
    traces: str | None,
    part: str | None,
    predictions: str | None,
    results: str | None,
    judge: tuple[str, ...],
    sample: int,
    as_published: bool,
    **options: Any,
) -> None:
    """Score span-localised findings on TRAIL: location, joint accuracy, weighted F1, precision, trivial predictors.

    By our rule a missing or unreadable prediction is an empty one; --as-published leaves it out.

    \b
    Examples:
      gpa benchmark trail --download-help
      gpa benchmark trail --data trail-benchmark --part gaia --results results.jsonl
      gpa benchmark trail --gold gaia/gold --predictions predictions/some-model --as-published
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from gpa import trail
    from gpa.benchmark import Benchmark

    if (data is None) == (gold is None):
        raise UsageError(
            "give the benchmark as --data DIR, or its gold files as --gold DIR (--download-help says where)"
        )
    if (predictions is None) == (results is None):
        raise UsageError("give what is to be scored as --predictions DIR, or as --results FILE")
    if part is not None and data is None:
        raise UsageError("--part chooses a part of --data; with --gold the folder is the part")
    if judge and results is None:
        raise UsageError("--judge chooses findings in --results; TRAIL's predictions name no judges")
    if data is not None:
        layout = trail.find_layout(Path(data), trail.check_part(part or "gaia"))
        gold_folder, beside = layout.gold, layout.traces
    else:
        gold_folder = Path(str(gold))
        beside = trail.traces_beside(gold_folder)
    annotations = trail.read_annotations(gold_folder)
    trace_ids = [case.trace_id for case in annotations.cases]
    said = (
        trail.read_predictions(Path(predictions), trace_ids)
        if predictions is not None
        else trail.read_results(Path(str(results)), judge, sample=sample)
    )
    folder = Path(traces) if traces else beside
    llm = trail.llm_spans(folder, trace_ids) if folder else None
    scored = Benchmark(annotations, said, as_published, llm)
    used = [one.case.trace_id for one in scored.scored]
    notes = [
        f"Gold {annotations.version} ({gold_folder}): {len(trace_ids)} files, {len(annotations.repairs)} quirks.",
        *annotations.repairs,
        f"Traces ({len(used)}, first 8 digits): {' '.join(trace_id[:8] for trace_id in used)}",
    ]
    more = {
        "gold_version": annotations.version,
        "as_published": as_published,
        "trace_ids": used,
        "missing": list(scored.missing),
        "unreadable": list(scored.unreadable),
    }
    write_tables(scored.tables(), notes, digits=4, more=more, **options)
