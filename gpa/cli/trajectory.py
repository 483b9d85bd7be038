"""`gpa trajectory`: traces, or what models printed, against gold trajectories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from gpa.cli.by_reference import evaluated_by, print_found, result_options
from gpa.cli.compiling import flat, read_crowd
from gpa.cli.figures import forms, write_tables
from gpa.cli.output import one_line
from gpa.cli.reading import Problems
from gpa.errors import InputError, UsageError

if TYPE_CHECKING:
    from gpa.evaluation import Evaluation
    from gpa.plans.located import Located
    from gpa.plans.trajectory import Values
    from gpa.trajectories import Expected, Problem, TrajectoryJudge

SHOWN = 12
"""Findings shown on a terminal."""


class Sources(NamedTuple):
    """Where gold trajectories come from."""

    workflows: tuple[str, ...]
    users: str | None
    external: str | None
    id_field: str
    gold: str | None


@click.command(name="trajectory")
@click.argument("paths", metavar="[PATH...]", nargs=-1)
@click.option("--workflow", "workflows", metavar="PATH", multiple=True, help="Workflows: JSON files, or a folder.")
@click.option("--users", metavar="FILE", help="The users' data: a JSON list, or JSON Lines.")
@click.option("--external", metavar="FILE", help="JSON object of data that all users share.")
@click.option("--id-field", metavar="NAME", default="customer_id", show_default=True, help="The users' id.")
@click.option("--gold", metavar="FILE", help="Gold trajectories, as gpa workflow compile writes them, instead.")
@click.option(
    "--match-by",
    metavar="ATTRIBUTE",
    help="Attribute of a trace's spans (or resource) that holds the user's id.  [default: the trace id itself]",
)
@click.option(
    "--values",
    type=click.Choice(["typed", "text", "none"]),
    help='How parameters are compared: 5 and "5" differ, are the same, or are not looked at.'
    "  [default: typed, as far as the gold has types]",
)
@click.option("--outputs", metavar="FILE", help='Compare model outputs: JSON Lines of {"user", "output"}; no PATH.')
@result_options
@forms
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    paths: tuple[str, ...],
    workflows: tuple[str, ...],
    users: str | None,
    external: str | None,
    id_field: str,
    gold: str | None,
    match_by: str | None,
    values: Values | None,
    ignore: tuple[str, ...],
    outputs: str | None,
    jsonl: str | None,
    store: str | None,
    fail_under: float | None,
    max_bytes: int,
    **options: Any,
) -> None:
    """Compare the tool calls of each trace in PATH... with what its user's workflow asks for.

    Gold trajectories come from workflows and users' data (--workflow, --users), or from a file (--gold). What a trace
    did otherwise is told with the spans that hold it, as findings of Plan Adherence, Tool Calling and Execution
    Efficiency. No model is asked.

    \b
    Examples:
      gpa trajectory traces/ --workflow workflows/ --users users.json --match-by customer.id
      gpa trajectory traces/ --gold gold.json --match-by customer.id --store gpa.db
      gpa trajectory --outputs answers.jsonl --gold gold.json
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    sources = Sources(workflows, users, external, id_field, gold)
    _refuse(sources, paths, outputs)
    said: list[Located] = []
    expected = _gold(str(gold), values, said) if gold else _compiled(sources, values, said)
    for error in said:
        click.echo(f"gpa: {flat(error)}", err=True)
    if not expected and said:
        ctx.exit(2)
    if outputs is not None:
        _printed(outputs, expected, options)
        ctx.exit(2 if said else 0)
    from gpa.trajectories import DIMENSIONS, TrajectoryJudge

    keys: dict[str, str] = {}
    files = [name for name in (*workflows, users, external, gold) if name]
    judge = TrajectoryJudge(
        _lookup(expected, keys, match_by), _digest(files, f"{id_field} {values}"), frozenset(ignore)
    )
    problems = Problems()
    traces = _traces(paths, keys, match_by, max_bytes, problems)
    evaluation = evaluated_by(judge, DIMENSIONS, traces, look=judge.compare, store=store, jsonl=jsonl)
    problems.close()
    if not evaluation.results:
        raise InputError(f"no trace in {', '.join(paths)}")
    if jsonl != "-":
        _show(judge, evaluation, options)
    code = evaluation.exit_code(fail_under)
    ctx.exit(2 if said or problems.lost else code)


def _refuse(sources: Sources, paths: Sequence[str], outputs: str | None) -> None:
    if bool(sources.workflows) == bool(sources.gold):
        raise UsageError("give the gold trajectories either by --workflow (and --users) or by --gold")
    if sources.workflows and sources.users is None:
        raise UsageError("--workflow needs --users FILE: trajectories depend on a user's data")
    if sources.users and not sources.workflows:
        raise UsageError("--users belongs to --workflow")
    if bool(paths) == bool(outputs):
        raise UsageError("expected PATH... of traces, or --outputs FILE of model outputs")


def _gold(path: str, values: Values | None, said: list[Located]) -> dict[str, Expected | Problem]:
    """By user what a gold file says is right; every error is added to `said`, and costs its own user only."""
    from msgspec.structs import replace

    from gpa.plans.trajectory_reading import read_gold
    from gpa.trajectories import Expected, Problem

    sets, wrong = read_gold(path)
    said += wrong
    broken = {one.user: Problem(str(one), broken=True) for one in wrong if one.user and one.user not in sets}
    made = {user: Expected(replace(one, values=values) if values else one) for user, one in sets.items()}
    return made | broken


def _compiled(sources: Sources, values: Values | None, said: list[Located]) -> dict[str, Expected | Problem]:
    """By user what the workflows ask for; every error is added to `said`, and costs its own user only."""
    from gpa.plans.compile import Rejected, compile_users
    from gpa.plans.trajectory_reading import Gold
    from gpa.plans.workflow_files import survey_workflows
    from gpa.trajectories import Expected, Problem

    known, errors = survey_workflows(sources.workflows)
    crowd = read_crowd(str(sources.users), sources.external, sources.id_field)
    said += (*errors, *crowd.errors)
    found: dict[str, Expected | Problem] = {
        one.user: Problem(str(one), broken=True) for one in crowd.errors if one.user
    }
    for one in compile_users(known, crowd.users, id_field=sources.id_field, external=crowd.external):
        if isinstance(one, Rejected):
            said += one.errors
            found.setdefault(one.user, Problem("; ".join(map(str, one.errors)), broken=True))
        else:
            tools = frozenset(tool for name in one.agents if name in known for tool in known[name].tools)
            gold = Gold(one, values) if values else Gold(one)
            found[one.user] = Expected(gold, tools, " + ".join(one.agents))
    return found


def _lookup(expected: dict[str, Expected | Problem], keys: dict[str, str], match_by: str | None) -> Any:
    from gpa.trajectories import Problem

    def look_up(trace_id: str) -> Expected | Problem:
        key = keys.get(trace_id, "")
        if not key:
            return Problem(f"no span of the trace has the attribute {match_by}")
        return expected.get(key) or Problem(f"no gold trajectory of {key}")

    return look_up


def _traces(
    paths: Sequence[str], keys: dict[str, str], match_by: str | None, max_bytes: int, problems: Problems
) -> Iterator[Any]:
    """The transcripts; the user each belongs to goes to `keys`."""
    from gpa.ingest.assembly import read_traces
    from gpa.ingest.transcript import transcribe

    for trace in read_traces(paths, max_bytes=max_bytes, on_problem=problems):
        key = trace.trace_id if match_by is None else _attribute(trace, match_by)
        if key:
            keys[trace.trace_id] = key
        yield transcribe(trace)


def _attribute(trace: Any, name: str) -> str:
    """The first value of the attribute in the trace, on spans before resources; users' ids are text."""
    for source in ("attributes", "resource"):
        for span in trace.spans:
            value = getattr(span, source).get(name)
            if isinstance(value, str | int | float) and not isinstance(value, bool):
                return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    return ""


def _digest(files: Iterable[str], settings: str) -> str:
    """A hash of the files that the gold trajectories come from; a folder is its JSON files."""
    digest = blake2b(settings.encode(), digest_size=16)
    for name in files:
        path = Path(name)
        for file in sorted(path.glob("*.json")) if path.is_dir() else [path]:
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _show(judge: TrajectoryJudge, evaluation: Evaluation, options: dict[str, Any]) -> None:
    from gpa.trajectories import details, tables

    unmatched = [f"{trace_id}: {problem.reason}" for trace_id, problem in judge.problems.items()]
    notes = [f"{len(judge.compared)} of {len(evaluation.trace_ids)} traces have gold trajectories."]
    notes += [one_line(text, 200) for text in unmatched[:SHOWN]]
    if len(unmatched) > SHOWN:
        notes.append(f"... and {len(unmatched) - SHOWN} more without")
    write_tables(tables(judge), notes, more={"traces": details(judge)}, **options)
    if not (options["as_json"] or options["markdown"] or options["csv"] or options["output"]):
        found = evaluation.worst(SHOWN)
        total = sum(len(one.differences) for one in judge.compared.values())
        print_found(found)
        if total > len(found):
            click.echo(f"\n{len(found)} findings shown of {total} differences; --json and --jsonl have all.")


def _printed(path: str, expected: dict[str, Expected | Problem], options: dict[str, Any]) -> None:
    """Compare what models printed, and count what had to be mended to read it."""
    from gpa.trajectories import printed, read_outputs

    write_tables(*printed(read_outputs(path), expected), **options)
