"""`gpa score`: an evaluation against gold errors, or two of them against each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from gpa.cli.figures import forms, write_tables
from gpa.cli.output import visible
from gpa.cli.reading import Problems, annotated
from gpa.errors import UsageError

if TYPE_CHECKING:
    from gpa.horizon import By
    from gpa.ingest.transcript import Transcript
    from gpa.judges.gold import Gold
    from gpa.judges.matching import Matcher
    from gpa.judges.meta import MetaJudge
    from gpa.scored import Scored
    from gpa.tables import Table

SHOWN = {"counts", "union", "caught", "localised", "findings", "stability"}
"""Tables shown on a terminal without --all."""
ASKING = ("meta_model", "batch", "max_cost", "cache", "prices", "requests_to", "responses_from")
"""Options of the meta-judge."""
SHOWN_FAILURES = 5


@click.command(name="score")
@click.argument("evaluations", metavar="EVAL [EVAL2]", nargs=-1, required=True)
@click.option(
    "--gold", metavar="PATH", multiple=True, required=True, help="Gold errors: JSON Lines, or a folder of TRAIL's."
)
@click.option("--mapping", metavar="FILE", help="Category -> dimensions (TOML); replaces what it names of ours.")
@click.option(
    "--matcher",
    type=click.Choice(["exact", "fuzzy", "llm"]),
    default="fuzzy",
    show_default=True,
    help="How findings are matched to gold errors.",
)
@click.option("--traces", metavar="PATH", multiple=True, help="The traces: adds `within n steps` and `same agent`.")
@click.option("--near", type=click.IntRange(min=0), default=3, show_default=True, help="That n.")
@click.option("--model", metavar="NAME", help="Only results of this model (`checks`, or provider/name).")
@click.option("--sample", type=click.IntRange(min=0), help="The repetition to score.  [default: the first]")
@click.option("--all", "everything", is_flag=True, help="Show every table: per impact, and errors x judges.")
@click.option(
    "--by",
    type=click.Choice(["horizon", "depth", "breadth", "calls"]),
    help="Every table once more for each group of traces, by how far ahead their agents planned, or by the shape"
    " of their work.",
)
@click.option("--meta-model", metavar="PROVIDER/NAME", help="The model of --matcher llm.")
@click.option("--batch", is_flag=True, help="Ask it by Message Batches, at half the price.")
@click.option("--max-cost", type=click.FloatRange(min=0), metavar="USD", help="What asking it may cost at the most.")
@click.option(
    "--cache", metavar="FILE", help="Keep its answers here, so that none is paid twice.  [default: a user folder]"
)
@click.option("--prices", metavar="FILE", help="TOML of prices, laid over the ones that come with gpa.")
@click.option("--requests-to", metavar="FILE", help="Write its requests there as Message Batches lines; send nothing.")
@click.option("--responses-from", metavar="FILE", multiple=True, help="Take its answers from these result lines.")
@forms
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    evaluations: tuple[str, ...],
    gold: tuple[str, ...],
    mapping: str | None,
    matcher: str,
    traces: tuple[str, ...],
    near: int,
    model: str | None,
    sample: int | None,
    everything: bool,
    by: By | None,
    **options: Any,
) -> None:
    """Say what share of the gold errors each judge of EVAL caught and localised, and how much of its report is true.

    EVAL is a store (gpa.db) or a file of result lines. With two of them the second is compared with the first.
    Every rate comes with its counts and a 95 % interval.

    \b
    Examples:
      gpa score results.jsonl --gold gold.jsonl
      gpa score gpa.db --gold trail/gaia/gold --traces trail/gaia/traces --all
      gpa score before.jsonl after.jsonl --gold gold.jsonl --markdown
      gpa score gpa.db --gold gold.jsonl --by horizon

    \b
    Exit codes:
      0 all compared    2 usage or input error    3 the meta-judge could not decide some
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from gpa.comparison import compare, comparison_notes
    from gpa.evaluation import EXIT_FAILED
    from gpa.judges.gold import load_gold
    from gpa.recall import score
    from gpa.scored import Scored

    if len(evaluations) > 2:
        raise UsageError(f"expected one evaluation, or two to compare, found {len(evaluations)}")
    given = {name: options.pop(name) for name in ASKING}
    asking = {name: value for name, value in given.items() if value is not None and value is not False and value != ()}
    if asking and matcher != "llm":
        raise UsageError(f"--{next(iter(asking)).replace('_', '-')} belongs to --matcher llm")
    if "requests_to" in asking and len(evaluations) > 1:
        raise UsageError("--requests-to writes the requests of one evaluation: give one")
    truth = load_gold(gold, mapping=mapping)
    problems = Problems()
    transcripts = annotated(traces, truth, problems) if traces else []
    problems.close()
    scored = []
    for path in evaluations:
        chosen: Matcher | str = matcher
        if matcher == "llm":
            known = transcripts or _stored(path, truth)
            chosen = _ask(path, truth, known, model, **asking)
            if "requests_to" in asking:
                return
        scored.append(score(path, truth, chosen, sample=sample, model=model, transcripts=transcripts, near_steps=near))
    groups = _groups(by, transcripts or [one for path in evaluations for one in _stored(path, truth)]) if by else {}
    if len(scored) == 1:
        tables, notes = scored[0].tables(), scored[0].notes()
    else:
        tables, notes = compare(*scored), (*_about(scored, evaluations), *comparison_notes(*scored))
    if by:
        from gpa.horizon import stratified

        make = Scored.tables if len(scored) == 1 else compare
        tables = (*tables, *stratified(scored, groups, by, make))

    def shown(table: Table) -> bool:
        return everything or len(scored) > 1 or table.name.partition("_by_")[0] in SHOWN

    write_tables(tables, notes, shown=shown, **options)
    if any(one.failed_matches for one in scored):
        ctx.exit(EXIT_FAILED)


def _groups(by: By, transcripts: Sequence[Transcript]) -> dict[str, frozenset[str]]:
    from gpa.horizon import measured, strata

    if not transcripts:
        raise UsageError(f"--by {by} needs the traces: --traces PATH, or a store that holds them")
    return strata(measured(transcripts), by)


def _about(scored: Sequence[Scored], names: Sequence[str]) -> Iterable[str]:
    for one, name in zip(scored, names, strict=True):
        yield f"{name}: {one.notes()[0]}"
        yield from one.notes()[1:]


def _stored(path: str, gold: Gold) -> list[Transcript]:
    """The transcripts of annotated traces that a store keeps."""
    from gpa.store import is_store, open_store

    if not is_store(path):
        return []
    with open_store(path, must_exist=True) as store:
        return [transcript for transcript in store.transcripts() if transcript.trace_id in gold.by_trace]


def _ask(
    path: str,
    gold: Gold,
    transcripts: Sequence[Transcript],
    model: str | None,
    *,
    meta_model: str | None = None,
    **asking: Any,
) -> MetaJudge:
    """The meta-judge with the answers it got; what it cost, and why some are missing, is said on stderr."""
    import asyncio

    from gpa.judges.meta import MetaJudge
    from gpa.judges.redact import Redactor
    from gpa.judges.verdict import Verdict
    from gpa.judging import Judging, Spending
    from gpa.judging import opened as opened_bench
    from gpa.recall import opened

    if meta_model is None:
        raise UsageError("--matcher llm needs --meta-model PROVIDER/NAME")
    with opened(path) as results:
        verdicts = [
            result
            for result in results
            if isinstance(result, Verdict) and model in {None, result.model} and result.trace_id in gold.by_trace
        ]

    async def run() -> tuple[MetaJudge, Spending]:
        async with opened_bench(meta_model, Judging(**asking)) as bench:
            meta = MetaJudge(bench.client, transcripts, clean=Redactor())
            await meta.ask(verdicts, gold)
        return meta, bench.spending()

    meta, spent = asyncio.run(run())
    if "requests_to" in asking:
        target = visible(str(asking["requests_to"]))
        click.echo(f"{spent.unanswered} requests written to {target}; nothing was sent", err=True)
        return meta
    click.echo(
        f"meta-judge: {spent.paid} answers paid (${spent.cost_usd:.4f}), {spent.from_cache} from the cache", err=True
    )
    for (trace_id, judge, _, _), failure in list(meta.failures.items())[:SHOWN_FAILURES]:
        click.echo(f"gpa: note: {judge} on trace {visible(trace_id)}: {visible(failure.message)}", err=True)
    return meta
