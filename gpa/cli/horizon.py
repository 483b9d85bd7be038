"""`gpa horizon`: how far ahead agents plan, and two sets of runs against each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpa.cli.figures import forms, write_tables
from gpa.cli.output import visible
from gpa.cli.reading import Problems, paths_and_limit
from gpa.errors import InputError, UsageError

if TYPE_CHECKING:
    from gpa.plans.horizon import Horizon

SHOWN = {"labels", "figures", "compare", "regression"}
"""Tables shown on a terminal without --all."""
RIGHT = frozenset({"true", "correct", "1", "yes", "pass"})
WRONG = frozenset({"false", "incorrect", "partially_correct", "refusal", "unsure", "refusal/unsure", "0", "no", "fail"})
"""Labels of the paper's answer judges, and what else people write; a partially correct answer is none."""


@click.command(name="horizon")
@paths_and_limit
@click.option("--against", metavar="PATH", multiple=True, help="Compare with these runs of the same questions.")
@click.option(
    "--pair-by",
    metavar="ATTRIBUTE",
    help="Attribute that names the question of a run.  [default: what the user asked for]",
)
@click.option("--correct", metavar="FILE", help='Answers that were right: JSON Lines of {"trace_id", "correct"}.')
@click.option("--regress", is_flag=True, help="Logistic model of right answers by depth, breadth and single step.")
@click.option("--all", "everything", is_flag=True, help="Show one line a trace, with what its label rests on.")
@forms
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    paths: tuple[str, ...],
    max_bytes: int,
    against: tuple[str, ...],
    pair_by: str | None,
    correct: str | None,
    regress: bool,
    everything: bool,
    **options: Any,
) -> None:
    """Say for each trace in PATH... how far ahead its agents planned: single step, whole plan, or in between.

    Labels, replans and what made them happen, how much of a plan survived, repetition, shape of the work, and tokens.
    No model is asked.

    \b
    Examples:
      gpa horizon traces/ --all
      gpa horizon plan_ahead/ --against step_by_step/ --correct answers.jsonl
      gpa horizon traces/ --json | jq '.traces[] | {trace_id, label, evidence}'
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from gpa.horizon import compare, plain, tables

    if regress and correct is None:
        raise UsageError("--regress needs --correct FILE: which answers were right")
    problems = Problems()
    first = _runs(paths, pair_by, max_bytes, problems)
    second = _runs(against, pair_by, max_bytes, problems) if against else {}
    problems.close()
    horizons = [one for runs in first.values() for one in runs]
    if not horizons:
        raise InputError(f"no trace in {', '.join(paths)}")
    right = _right(correct) if correct else None
    made = list(tables(horizons))
    notes = [f"{len(horizons)} traces of {len(first)} questions."]
    if against:
        made = [*compare(first, second, right), *(table.named(f"first_{table.name}") for table in made)]
        others = [one for runs in second.values() for one in runs]
        made += [table.named(f"second_{table.name}") for table in tables(others)]
        notes.append(f"Against {len(others)} traces of {len(second)} questions.")
    if regress:
        made.append(_regression((first, second), right or {}))
    more = {"traces": [plain(one) for one in horizons]}
    if against:
        more["against"] = [plain(one) for runs in second.values() for one in runs]
    write_tables(made, notes, shown=lambda table: everything or table.name in SHOWN, more=more, **options)
    if everything and not any(options.values()):
        click.echo()
        for one in horizons:
            click.echo(visible(f"{one.trace_id} {one.label}: {one.evidence}"))
    ctx.exit(2 if problems.lost else 0)


def _runs(paths: Sequence[str], pair_by: str | None, max_bytes: int, problems: Problems) -> dict[str, list[Horizon]]:
    """The horizons by question; runs without one are questions of their own."""
    from gpa.ingest.assembly import read_traces
    from gpa.ingest.transcript import transcribe
    from gpa.plans.horizon import measure_horizon

    found: dict[str, list[Horizon]] = defaultdict(list)
    for trace in read_traces(paths, max_bytes=max_bytes, on_problem=problems):
        transcript = transcribe(trace)
        if pair_by is None:
            question = transcript.goal.strip()
        else:
            values = (source.get(pair_by) for span in trace.spans for source in (span.attributes, span.resource))
            question = next((str(value) for value in values if value is not None), "")
        found[question or f"trace {trace.trace_id}"].append(measure_horizon(transcript))
    return dict(found)


def _right(path: str) -> dict[str, bool]:
    """Trace id -> whether its answer was right. Raises `InputError` naming every line that does not say so."""
    import msgspec

    try:
        lines = Path(path).expanduser().read_bytes().splitlines()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    found: dict[str, bool] = {}
    wrong: list[str] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = msgspec.json.decode(line)
        except (msgspec.MsgspecError, RecursionError):
            value = None
        said = str(value.get("correct", value.get("label"))).strip().lower() if isinstance(value, dict) else ""
        if isinstance(value, dict) and isinstance(value.get("trace_id"), str) and said in RIGHT | WRONG:
            found[value["trace_id"]] = said in RIGHT
        else:
            wrong.append(f'{path}:{number}: expected {{"trace_id", "correct"}}, found {line[:60]!r}')
    if wrong:
        raise InputError("; ".join(wrong))
    return found


def _regression(sets: Sequence[Mapping[str, Sequence[Horizon]]], right: Mapping[str, bool]) -> Any:
    from gpa.horizon import Outcome, regress

    runs = [
        Outcome(question, right[one.trace_id], one.label.startswith("single-step"), one.depth, one.breadth)
        for several in sets
        for question, horizons in several.items()
        for one in horizons
        if one.trace_id in right and one.calls
    ]
    return regress(runs)
