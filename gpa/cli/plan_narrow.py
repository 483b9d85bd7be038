"""`gpa plan narrow`: the few tools of many to offer for a question."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from gpa.cli.figures import forms, write_tables
from gpa.cli.options import Grouped
from gpa.cli.output import one_line, visible
from gpa.cli.plan_model import Opened, model_options, only_written, taken, with_model
from gpa.errors import InputError, UsageError

if TYPE_CHECKING:
    from gpa.judges.extraction import Extracted
    from gpa.plans.capabilities import CapabilityMapping, Registry
    from gpa.plans.narrowing import Index
    from gpa.plans.offering import Offer
    from gpa.plans.requirement_files import Asked, Broken, Column
    from gpa.tables import Table

EXIT_FAILED = 3
_SHOWN = 12


class _Offered(NamedTuple):
    """The tools for one question."""

    name: str
    offer: Offer


@click.command(name="narrow", cls=Grouped)
@click.option("--tools", metavar="FILE", required=True, help="Registry of the tools: TOML or JSON.")
@click.option("--mapping", metavar="FILE", help="Which capabilities serve what.  [default: ours, for data analysis]")
@click.option("--requirements", metavar="FILE", help="What is asked for: JSON (lines), one set or many.")
@click.option("--question", metavar="TEXT", help="Or the question itself; with --model, requirements are read from it.")
@click.option("--types", metavar="FILE", help="The columns of the data and their types, as JSON.")
@click.option("--template", metavar="FILE", help="Tools that are always taken: a JSON list of names, or a plan.")
@click.option(
    "--cap", type=click.IntRange(8, 12), default=8, show_default=True, help="How many tools; two over for safety tools."
)
@click.option("--limit", type=click.IntRange(1), default=10, show_default=True, help="Tools looked at for a question.")
@click.option(
    "--index",
    "kind",
    type=click.Choice(["lexical", "embeddings"]),
    default="lexical",
    show_default=True,
    help="Search by words, or by meaning (pip install 'agent-gpa[narrow]').",
)
@click.option("--embedding-model", metavar="NAME", help="Model of the embeddings: a name, or a folder.")
@click.option("--index-cache", metavar="DIR", help="Keep the vectors here.  [default: a user folder]")
@forms
@model_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    tools: str,
    mapping: str | None,
    requirements: str | None,
    question: str | None,
    types: str | None,
    template: str | None,
    cap: int,
    limit: int,
    kind: str,
    embedding_model: str | None,
    index_cache: str | None,
    **options: Any,
) -> None:
    """Choose the few of many tools that a question needs, and say what was not found.

    Offered are the tools of the template, then what a search brings up to the cap, then a few that are always there.
    What the requirements need and the search did not bring is searched for once more. The retrieval miss rate is the
    share of needed capabilities that the first search lacked.

    \b
    Examples:
      gpa plan narrow --tools tools.toml --requirements asked.json
      gpa plan narrow --tools tools.toml --question "revenue by region over time" --cap 10
      gpa plan narrow --tools tools.toml --requirements asked.json --index embeddings --embedding-model models/bge
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from gpa.plans.capabilities import load_mapping, load_registry
    from gpa.plans.offering import load_template, offer
    from gpa.plans.requirement_files import load_columns

    asking = taken(options)
    _refuse(requirements, question, asking, embedding_model or index_cache, kind)
    registry, rules = load_registry(tools), load_mapping(mapping)
    columns = load_columns(types) if types else ()
    asked = _asked(requirements, question, rules, columns, asking)
    if only_written(asking):
        return
    index = _index(registry, kind, embedding_model, index_cache)
    curated = load_template(template) if template else ()
    stray = [name for name in curated if registry.get(name) is None]
    if stray:
        raise InputError(f"{template}: expected tools of {tools}, found {', '.join(map(repr, stray))}")
    offered = [
        _Offered(
            name,
            offer(
                one.requirements,
                registry,
                rules,
                index,
                question=one.question,
                types=one.types,
                template=curated,
                cap=cap,
                limit=limit,
            ),
        )
        for name, one in asked[0].items()
    ]
    _show(offered, asked[1], options)
    ctx.exit(EXIT_FAILED if asked[1] else 0)


def _refuse(
    requirements: str | None, question: str | None, asking: dict[str, Any], embeddings: str | None, kind: str
) -> None:
    if (requirements is None) == (question is None):
        raise UsageError("expected either --requirements FILE or --question TEXT")
    if requirements is not None and asking["model"] is not None:
        raise UsageError("--model: reads requirements from --question; --requirements gives them")
    if embeddings is not None and kind != "embeddings":
        raise UsageError("--embedding-model, --index-cache: belong to --index embeddings")


def _asked(
    requirements: str | None,
    question: str | None,
    mapping: CapabilityMapping,
    columns: tuple[Column, ...],
    asking: dict[str, Any],
) -> tuple[dict[str, Asked], dict[str, str]]:
    """By name what is asked for, and why it is not known."""
    from gpa.plans.requirement_files import Asked, load_known
    from gpa.plans.requirements import Requirements

    if requirements is not None:
        known = load_known(requirements, mapping, columns)
        for error in known.errors:
            click.echo(f"gpa: {visible(str(error))}", err=True)
        every: dict[str, Asked | Broken] = {**known.by_key}
        if known.for_all is not None:
            every["question"] = known.for_all
        unique = {id(one): (name, one) for name, one in reversed(every.items())}  # one record may have several names
        found = {name: one for name, one in reversed(unique.values()) if isinstance(one, Asked)}
        return found, {name: one.reason for name, one in every.items() if not isinstance(one, Asked)}
    assert question is not None
    asked: Asked | Broken = Asked(Requirements(), columns, question)
    came = _extracted(question, mapping, columns, asking)
    if came is not None:
        for note in came.notes:
            click.echo(f"gpa: note: {one_line(note, 300)}", err=True)
        asked = came.asked
    if isinstance(asked, Asked):
        return {"question": asked}, {}
    return {}, {"question": asked.reason}


def _extracted(
    question: str, mapping: CapabilityMapping, columns: tuple[Column, ...], asking: dict[str, Any]
) -> Extracted | None:
    async def work(opened: Opened) -> Extracted:
        from gpa.judges.extraction import Extracting, Question, extract

        settings = Extracting(max_tokens=opened.max_tokens, effort=opened.effort)
        text = Question("question", question, columns)
        return await extract(opened.client, text, mapping, settings, clean=opened.clean)

    return with_model(asking, work)


def _index(registry: Registry, kind: str, model: str | None, cache: str | None) -> Index:
    if kind == "lexical":
        from gpa.plans.narrowing import LexicalIndex

        return LexicalIndex(registry)
    from gpa.judging import default_cache
    from gpa.plans.embedding_index import DEFAULT_MODEL, EmbeddingIndex, open_encoder

    folder = Path(cache).expanduser() if cache else default_cache().parent / "tool_index"
    encode, name = open_encoder(model or DEFAULT_MODEL)
    return EmbeddingIndex(registry, encode, model=name, folder=folder)


def _show(offered: list[_Offered], failed: dict[str, str], options: dict[str, Any]) -> None:
    from gpa.agreement import rate

    wanted = sum(len(one.offer.needed) for one in offered)
    lacked = sum(len(one.offer.rounds[0].missing) for one in offered)
    figure = rate(lacked, wanted).value
    notes = [
        f"{lacked} of {wanted} needed capabilities were not found by the first search"
        + (f": a miss rate of {figure:.3f}." if figure is not None else ".")
    ]
    if not wanted:
        notes = ["No requirements are known: the tools are those that the words of the question bring."]
    for one in offered:
        notes += [f"{one.name}: {note}" for note in one.offer.narrowed.notes]
        notes += [f"{one.name}: no tool can do {' or '.join(missing)}" for missing in one.offer.missing]
    notes += [one_line(f"{name}: {why}", 300) for name, why in list(failed.items())[:_SHOWN]]
    more = {"offers": [_plain(one) for one in offered]}
    tables = [_tools(offered[0])] if len(offered) == 1 else []
    write_tables([*tables, _offers(offered)] if len(offered) != 1 else tables, notes, more=more, **options)


def _tools(one: _Offered) -> Table:
    from gpa.tables import Table

    narrowed = one.offer.narrowed
    scores = {scored.tool: scored.score for scored in narrowed.retrieved}
    rows = tuple((name, _why(name, one.offer), scores.get(name)) for name in narrowed.tools)
    return Table("tools", "Tools to offer", ("tool", "why", "score"), rows)


def _why(name: str, offer: Offer) -> str:
    if name in offer.narrowed.template:
        return "template"
    if name in offer.added:
        return "found for a missing capability"
    return "always" if name in offer.narrowed.always else "found"


def _offers(offered: list[_Offered]) -> Table:
    from gpa.tables import Table

    rows = tuple(
        (one.name, len(one.offer.narrowed.tools), one.offer.miss_rate, one.offer.left_rate, len(one.offer.rounds))
        for one in offered
    )
    columns = ("asked for", "tools", "miss rate", "after searching again", "searches")
    return Table("offers", "Tools to offer", columns, rows)


def _plain(one: _Offered) -> dict[str, Any]:
    import msgspec

    offer = one.offer
    plain: dict[str, Any] = msgspec.to_builtins(offer)
    return {"name": one.name, "miss_rate": offer.miss_rate, "left_rate": offer.left_rate} | plain
