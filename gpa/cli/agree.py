"""`gpa agree`: scores against people's, against repeated samples, and dimensions against each other."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from gpa.cli.figures import forms, write_tables
from gpa.errors import UsageError

if TYPE_CHECKING:
    from gpa.consistency import Alike
    from gpa.tables import Table


@click.command(name="agree")
@click.argument("evaluation", metavar="EVAL")
@click.option(
    "--gold",
    metavar="PATH",
    multiple=True,
    help='Human scores: JSON Lines of {"type": "score", "trace_id", "judge", "score"}.',
)
@click.option("--model", metavar="NAME", help="Only results of this model (`checks`, or provider/name).")
@click.option(
    "--sample",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="The repetition compared with people and between dimensions.",
)
@click.option(
    "--rationales",
    metavar="HOW",
    help="Compare the rationales of samples: `lexical` (shared words), or MODULE:FUNCTION of an installed package that"
    " turns a list of texts into vectors.",
)
@forms
def command(
    *, evaluation: str, gold: tuple[str, ...], model: str | None, sample: int, rationales: str | None, **options: Any
) -> None:
    """Say how far the scores of EVAL agree: with people (--gold), over samples, and between dimensions.

    EVAL is a store (gpa.db) or a file of result lines. "Not applicable" and failed judgements are no scores: they are
    counted beside.

    \b
    Examples:
      gpa agree results.jsonl --gold scores.jsonl
      gpa agree gpa.db --rationales lexical
      gpa agree gpa.db --model checks --json
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from gpa.consistency import gold_failures, orthogonality, read_scores
    from gpa.judges.gold import load_gold
    from gpa.scored import gold_notes

    alike, vectors = _alike(rationales)
    scores = read_scores(evaluation, model=model, alike=alike, vectors=vectors)
    judged = {trace_id for traces in scores.by_judge.values() for trace_id in traces}
    tables: list[Table] = []
    truth = load_gold(gold) if gold else None
    notes = [f"{len(judged)} traces, {len(scores.judges)} judges, up to {scores.samples} samples."]
    if truth is not None:
        known = {score.trace_id for score in truth.scores}
        counted = f"{len(truth.scores)} human scores of {len(known)} traces; {len(known & judged)} judged."
        notes.append(f"Gold {truth.version}: {counted}")
        notes += gold_notes(truth, scores.judges)
        if truth.scores:
            tables += scores.with_people(truth, sample)
    if scores.samples > 1:
        tables += scores.over_samples()
    tables += scores.between_dimensions(sample)
    if truth is not None and truth.errors:
        tables += [table.named(f"gold_{table.name}") for table in orthogonality(gold_failures(truth), "gold errors")]
    write_tables(tables, notes, **options)


def _alike(how: str | None) -> tuple[Alike | None, str]:
    from gpa.consistency import embedded, lexical

    if how is None:
        return None, ""
    if how == "lexical":
        return lexical, "TF-IDF of words, no embedding model"
    module, colon, name = how.partition(":")
    try:
        function = getattr(import_module(module), name) if colon and module and name else None
    except (ImportError, AttributeError) as error:
        raise UsageError(f"--rationales {how}: {error}") from error
    if not callable(function):
        raise UsageError(f"--rationales: expected `lexical` or MODULE:FUNCTION, found {how!r}")
    return embedded(function), how
