"""`gpa plan cover`: which requirements plans and traces cover, and which steps none of them asks for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from gpa.cli.by_reference import evaluated_by, print_found, result_options
from gpa.cli.figures import forms, write_tables
from gpa.cli.options import Grouped
from gpa.cli.output import one_line, visible
from gpa.cli.plan_model import Opened, model_options, only_written, taken, with_model
from gpa.cli.reading import Problems
from gpa.errors import InputError, UsageError

if TYPE_CHECKING:
    from gpa.covering import CoverageJudge, Row
    from gpa.evaluation import Evaluation
    from gpa.ingest.transcript import Transcript
    from gpa.judges.extraction import Extracted, Question
    from gpa.plans.plan import Plan
    from gpa.plans.plan_files import PlanRow
    from gpa.plans.requirement_files import Asked, Broken, Column, Known
    from gpa.plans.review import Review, Rules

SHOWN = 12
"""Findings, and traces without requirements, that are shown on a terminal."""
EXIT_NOT_COVERED = 1
EXIT_FAILED = 3


class _Inputs(NamedTuple):
    """What the paths hold."""

    traces: tuple[str, ...]
    plans: tuple[str, ...]
    max_bytes: int


class _Results(NamedTuple):
    """What came of traces and of plans in files."""

    evaluation: Evaluation | None
    rows: list[Row]
    without: dict[str, Broken | None]
    """Rows of files of which no requirements are known, or no plan can be read, and why."""


@click.command(name="cover", cls=Grouped)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--tools", metavar="FILE", required=True, help="Registry of the tools: TOML or JSON.")
@click.option("--mapping", metavar="FILE", help="Which capabilities serve what.  [default: ours, for data analysis]")
@click.option("--requirements", metavar="FILE", help="What was asked for: JSON (lines); by trace id, by goal, or one.")
@click.option("--types", metavar="FILE", help="The columns of the data and their types, as JSON.")
@click.option("--cover-metrics", is_flag=True, help="Each metric has to be served as well.")
@click.option(
    "--grain-policy",
    type=click.Choice(["literal", "span_first"]),
    default="literal",
    show_default=True,
    help="Which rule decides on a grain nobody named.",
)
@click.option("--gate", is_flag=True, help="Exit 1 unless there is nothing to mend in any plan.")
@result_options
@forms
@model_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    paths: tuple[str, ...],
    tools: str,
    mapping: str | None,
    requirements: str | None,
    types: str | None,
    cover_metrics: bool,
    grain_policy: Any,
    ignore: tuple[str, ...],
    gate: bool,
    jsonl: str | None,
    store: str | None,
    fail_under: float | None,
    max_bytes: int,
    **options: Any,
) -> None:
    """Say which requirements each plan in PATH... serves, what it misses, and which steps nothing asks for.

    PATH is traces, of which the stated plan and the calls that were made are both looked at, or files of plans. What
    was asked for comes from --requirements; with --model, a model writes it down where the file does not have it.
    Traces of which it is not known are not judged. What is found is a finding of Plan Quality, Plan Adherence or
    Execution Efficiency, at the spans that hold it.

    \b
    Examples:
      gpa plan cover traces/ --tools tools.toml --requirements asked.jsonl --store gpa.db
      gpa plan cover plans.jsonl --tools tools.toml --requirements asked.json --gate
      gpa plan cover traces/ --tools tools.toml --types columns.json --model anthropic/claude-haiku-5-5
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from gpa.covering import DIMENSIONS, CoverageJudge
    from gpa.plans.capabilities import load_mapping, load_registry
    from gpa.plans.requirement_files import Known, load_columns, load_known
    from gpa.plans.review import Rules

    asking = taken(options)
    if requirements is None and asking["model"] is None:
        raise UsageError("expected --requirements FILE, or --model NAME to write down what was asked for")
    rules = Rules(load_registry(tools), load_mapping(mapping), cover_metrics, grain_policy, frozenset(ignore))
    columns = load_columns(types) if types else ()
    known = load_known(requirements, rules.mapping, columns) if requirements else Known()
    for error in known.errors:
        click.echo(f"gpa: {visible(str(error))}", err=True)
    problems = Problems()
    inputs = _inputs(paths, max_bytes, problems)
    if inputs.plans and not inputs.traces and (jsonl or store or fail_under is not None):
        raise UsageError("--jsonl, --store and --fail-under are about traces; for plans in files there is --gate")
    rows = _plan_rows(inputs, problems)
    known = _extracted(asking, known, _questions(inputs, rows, known, columns), rules)
    if only_written(asking):
        problems.close()
        ctx.exit(2 if problems.lost or known.errors else 0)
    files = [name for name in (requirements, types) if name]
    judge = CoverageJudge(
        lambda transcript: known.of(transcript.trace_id, transcript.goal), rules, _digest(files, asking, rules)
    )
    evaluation = None
    if inputs.traces:
        traces = _transcripts(inputs, problems)
        evaluation = evaluated_by(judge, DIMENSIONS, traces, look=judge.review, store=store, jsonl=jsonl)
    problems.close()
    covered, without = _covered(rows, known, rules, columns)
    results = _Results(evaluation, covered, without)
    if not (covered or without or (evaluation and evaluation.results)):
        raise InputError(f"no plan and no trace in {', '.join(paths)}")
    if jsonl != "-":
        _show(judge, results, options)
    lost = problems.lost or known.errors
    ctx.exit(2 if lost else _exit_code(judge, results, fail_under, gate=gate))


def _inputs(paths: Sequence[str], max_bytes: int, problems: Problems) -> _Inputs:
    """The files by what they hold; a file from which a span can be read holds traces."""
    from gpa.ingest.files import STDIN, expand, read_spans

    traces: list[str] = []
    plans: list[str] = []
    for file in expand(list(paths), problems):
        # Standard input can be read once only: it is taken for traces.
        span = (
            True if file.path == STDIN else next(read_spans([file.path], max_bytes=max_bytes, on_problem=_unsaid), None)
        )
        (plans if span is None else traces).append(file.path)
    return _Inputs(tuple(traces), tuple(plans), max_bytes)


def _unsaid(_problem: object) -> None:
    """What is wrong with a file is told when it is read for good."""


def _plan_rows(inputs: _Inputs, problems: Problems) -> list[PlanRow]:
    from gpa.plans.plan_files import read_rows

    return read_rows(inputs.plans, on_problem=problems) if inputs.plans else []


def _transcripts(inputs: _Inputs, problems: Any) -> Iterator[Transcript]:
    from gpa.ingest.assembly import read_traces
    from gpa.ingest.transcript import transcribe

    for trace in read_traces(inputs.traces, max_bytes=inputs.max_bytes, on_problem=problems):
        yield transcribe(trace)


def _questions(
    inputs: _Inputs, rows: Sequence[PlanRow], known: Known, columns: tuple[Column, ...]
) -> Iterator[Question]:
    """What a model has to read: the goal of every trace and row whose requirements are not known. Read when needed."""
    from gpa.ingest.files import STDIN
    from gpa.judges.extraction import Question

    if STDIN in inputs.traces:
        raise UsageError("--model: expected traces in files, found standard input, which cannot be read twice")
    for row in rows:
        if known.of(row.id, row.query) is None and "requirements" not in row.fields:
            yield Question(row.id, row.query, columns)
    if inputs.traces:
        for transcript in _transcripts(inputs, _unsaid):  # problems are told when they are judged
            if known.of(transcript.trace_id, transcript.goal) is None:
                yield Question(transcript.trace_id, transcript.goal, columns)


def _extracted(asking: dict[str, Any], known: Known, questions: Iterable[Question], rules: Rules) -> Known:
    """What is known, with what the model wrote down of the other questions; without --model, what is known."""
    from msgspec.structs import replace

    async def work(opened: Opened) -> list[tuple[str, Extracted]]:
        from gpa.judges.extraction import Extracting, extract

        settings = Extracting(max_tokens=opened.max_tokens, effort=opened.effort)
        waiting = list({one.id: one for one in questions}.values())
        found = await asyncio.gather(
            *(extract(opened.client, one, rules.mapping, settings, clean=opened.clean) for one in waiting)
        )
        return [(one.id, came) for one, came in zip(waiting, found, strict=True)]

    came = with_model(asking, work)
    if not came or only_written(asking):
        return known
    for identity, one in came:
        for note in one.notes:
            click.echo(f"gpa: note: {visible(identity)}: {one_line(note, 300)}", err=True)
    return replace(known, by_key={**known.by_key, **{identity: one.asked for identity, one in came}})


def _digest(files: Sequence[str], asking: dict[str, Any], rules: Rules) -> str:
    """A hash of what requirements come from: files, and the model with what it is asked."""
    digest = blake2b(digest_size=16)
    for name in files:
        digest.update(Path(name).expanduser().read_bytes())
    if asking["model"] is not None:
        from gpa.judges.extraction import extraction_hash

        digest.update(f"{asking['model']} {extraction_hash(rules.mapping)}".encode())
    return digest.hexdigest()


def _covered(
    rows: Sequence[PlanRow], known: Known, rules: Rules, columns: tuple[Column, ...]
) -> tuple[list[Row], dict[str, Broken | None]]:
    """What the plans of files cover; rows without plan or requirements are told with the reason."""
    from gpa.covering import Row
    from gpa.plans.requirement_files import Broken
    from gpa.plans.review import covered_by, without_tools

    covered: list[Row] = []
    without: dict[str, Broken | None] = {}
    for row in rows:
        asked = _asked(row, known, rules, columns)
        plan = _plan_of(row)
        if plan is None:
            without[row.id] = Broken("; ".join(map(str, row.rejected)) or "no plan", "plan")
        elif asked is None or isinstance(asked, Broken):
            without[row.id] = asked
        else:
            plan = without_tools(plan, rules.ignore)
            covered.append(Row(row.id, asked, plan, covered_by(plan, asked, rules)))
    return covered, without


def _plan_of(row: PlanRow) -> Plan | None:
    """The plan of a row, also one with gaps in its numbers: what covers something does not depend on them."""
    from gpa.plans.plan_reading import try_plan

    source = row.fields.get("plan", row.fields.get("candidate"))
    return row.plan or (None if source is None else try_plan(source)[0])


def _asked(row: PlanRow, known: Known, rules: Rules, columns: tuple[Column, ...]) -> Asked | Broken | None:
    from gpa.plans.requirement_files import Broken, asked_in

    try:
        own = asked_in(row.fields, rules.mapping, columns)
    except InputError as error:
        return Broken(f"{row.place}: {error}")
    return own or known.of(row.id, row.query)


def _show(judge: CoverageJudge, results: _Results, options: dict[str, Any]) -> None:
    from gpa.covering import NOT_KNOWN, details, plain, tables, to_mend

    reviews = list(judge.reviews.values())
    without = {**judge.without, **results.without}
    total = len(reviews) + len(results.rows) + len(without)
    notes = [f"{total - len(without)} of {total} have requirements and can be looked at."]
    told = [f"{name}: {broken.reason if broken else NOT_KNOWN}" for name, broken in without.items()]
    notes += [one_line(text, 300) for text in told[:SHOWN]]
    strangers = sum(bool(one.done.plan.steps) and not _knows(one) for one in reviews)
    if strangers:
        notes.append(f"{strangers} traces call no tool of the registry: is it that of their agents?")
    if len(told) > SHOWN:
        notes.append(f"... and {len(told) - SHOWN} more without")
    listed = [
        {"id": row.id, "grain": _grain(row, judge.rules), **plain(row.plan, row.coverage)} for row in results.rows
    ]
    listed += [{"id": name, "problem": one.reason if one else NOT_KNOWN} for name, one in results.without.items()]
    more = {"traces": details(reviews, judge.without), "plans": listed}
    write_tables(tables(reviews, results.rows), notes, more=more, **options)
    if any(options[name] for name in ("as_json", "markdown", "csv", "output")):
        return
    mend = to_mend(reviews, results.rows)
    for name, lines in mend[:SHOWN]:
        click.echo("\n" + "\n  ".join(one_line(line, 300) for line in (name, *lines)))
    if len(mend) > SHOWN:
        click.echo(f"\n... and {len(mend) - SHOWN} more to mend; --json has all")
    if results.evaluation is None:
        return
    print_found(results.evaluation.worst(SHOWN))


def _knows(one: Review) -> bool:
    return len(one.done.coverage.unknown) < len(one.done.plan)


def _grain(row: Row, rules: Rules) -> str:
    from gpa.plans.review import grain_of

    return grain_of(row.asked, rules.grain_policy)


def _exit_code(judge: CoverageJudge, results: _Results, fail_under: float | None, *, gate: bool) -> int:
    """0, 1 below the threshold or not through the gate, 3 when something could not be judged."""
    code = results.evaluation.exit_code(fail_under) if results.evaluation else 0
    if code == 0 and any(results.without.values()):
        return EXIT_FAILED
    if code == 0 and gate:
        plans = [row.coverage.ok for row in results.rows]
        plans += [stated.coverage.ok for one in judge.reviews.values() for stated in one.plans[-1:]]
        plans += [one.done.coverage.ok for one in judge.reviews.values() if one.done.plan.steps]
        return 0 if all(plans) else EXIT_NOT_COVERED
    return code
