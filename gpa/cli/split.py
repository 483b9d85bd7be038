"""`gpa split`: gold in two parts by trace, one to tune on and one to measure on."""

from __future__ import annotations

from typing import Any

import click

from gpa.cli.figures import forms, write_tables
from gpa.cli.output import open_output
from gpa.errors import UsageError


@click.command(name="split")
@click.argument("gold", metavar="GOLD...", nargs=-1, required=True)
@click.option("--dev", metavar="FILE", required=True, help="Write the gold to tune on there, as JSON Lines.")
@click.option("--test", metavar="FILE", required=True, help="Write the gold to measure on there.")
@click.option(
    "--share",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.5,
    show_default=True,
    help="Share of the traces that go to dev.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Another seed, another split.")
@click.option("--mapping", metavar="FILE", help="Category -> dimensions (TOML); replaces what it names of ours.")
@forms
def command(
    *, gold: tuple[str, ...], dev: str, test: str, share: float, seed: int, mapping: str | None, **options: Any
) -> None:
    """Split gold errors and human scores by trace, stratified by the gravest impact in each trace.

    GOLD is JSON Lines or a folder of TRAIL annotations. The same gold and seed always give the same split.

    \b
    Examples:
      gpa split gold.jsonl --dev dev.jsonl --test test.jsonl
      gpa split trail/gaia/gold --dev dev.jsonl --test test.jsonl --seed 7 --share 0.3
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from gpa.judges.gold import load_gold
    from gpa.split import split, split_table

    if dev == test:
        raise UsageError(f"--dev and --test are the same file: {dev}")
    truth = load_gold(gold, mapping=mapping)
    parts = split(truth, share=share, seed=seed)
    for path, part in zip((dev, test), parts, strict=True):
        with open_output(path) as file:
            file.writelines(line.decode() for line in part.lines())
    notes = [f"Gold {truth.version}: {len(truth.trace_ids)} traces, seed {seed}, share {share}."]
    notes += [f"Repaired in the gold: {count} x {what}." for what, count in truth.repair_counts.items()]
    write_tables([split_table(*parts)], notes, **options)
