"""`gpa plan refine`: plans improved step by step by a model, every plan on the way kept."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpa.cli.options import Grouped, grouped, option
from gpa.cli.output import console, json_line, one_line, open_output
from gpa.cli.plan_history import plain_lineage, score_line, visit_lines
from gpa.cli.plan_model import Opened, model_options, only_written, taken, with_model
from gpa.cli.plan_rows import PLANS, palette_option, query_options, read
from gpa.cli.reading import Problems
from gpa.errors import InputError, UsageError

if TYPE_CHECKING:
    from rich.status import Status

    from gpa.optimize.lineage import Progress
    from gpa.optimize.log import Log
    from gpa.optimize.refinement import Refined, Subject
    from gpa.plans.palette import Palette
    from gpa.plans.plan_files import PlanRow

EVERY_S = 10.0
"""Between two lines of progress where stderr is no terminal."""
EXIT_INTERRUPTED = 128 + 2
LOG = ".log"
"""Added to the name of the output: the folder that holds the answers of a run that is not done."""

_LIMITS = grouped(
    "When to stop",
    option("--max-passes", type=click.IntRange(min=1), metavar="N", default=4, show_default=True, help="Over a plan."),
    option("--max-edits", type=click.IntRange(min=0), metavar="N", help="In one pass.  [default: 3 x its steps + 10]"),
    option("--stop-on-repeat", is_flag=True, help="Stop before a plan comes back that was there before."),
    option("--max-calls", type=click.IntRange(min=1), metavar="N", help="Questions about one plan."),
    option("--max-minutes", type=click.FloatRange(min=0, min_open=True), metavar="M", help="Of this start of the run."),
)


@click.command(name="refine", cls=Grouped)
@PLANS
@palette_option
@query_options
@click.option(
    "-o", "--output", metavar="FILE", help="Write a JSON line for each plan there: its lineage, and all else."
)
@click.option("--resume", is_flag=True, help="Go on with the run that was to write -o FILE; nothing is paid twice.")
@click.option("--json", "as_json", is_flag=True, help="The same JSON lines to standard output.")
@_LIMITS
@model_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    plans: tuple[str, ...],
    palette: str,
    query: str | None,
    queries: tuple[str, ...],
    output: str | None,
    resume: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Improve each plan in PLANS... step by step, and keep every plan on the way.

    A model looks at one step at a time, with the steps it depends on and without the query, and says what is wrong with
    it; then it repairs that step, and what the other steps need to fit it. So it goes over the plan until a whole pass
    finds nothing to change. The plans are never run.

    \b
    Examples:
      gpa plan refine plan.json --palette tools.toml --query "Why do customers cancel?" \\
        --model anthropic/claude-sonnet-5-5 -o lineage.json
      gpa plan refine plans.jsonl --palette tools.toml --model anthropic/claude-sonnet-5-5 --max-cost 5 -o out.jsonl
      gpa plan refine plans.jsonl --palette tools.toml --model anthropic/claude-sonnet-5-5 --resume -o out.jsonl
      gpa plan refine plan.json --palette tools.toml --query "..." --model anthropic/claude-sonnet-5-5 \\
        --requests-to next.jsonl --responses-from answers.jsonl

    \b
    Exit codes:
      0 refined (or requests written)    2 usage or input error
      3 some step could not be judged    130 interrupted; what there is was written
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from gpa.optimize.lineage import Limits
    from gpa.optimize.refinement import Budget, Subject
    from gpa.plans.palette import load_palette

    limits = Limits(options.pop("max_passes"), options.pop("max_edits"), options.pop("stop_on_repeat"))
    minutes = options.pop("max_minutes")
    budget = Budget(options.pop("max_calls"), None if minutes is None else 60 * minutes)
    asking = taken(options)
    if asking["model"] is None:
        raise UsageError("--model: expected the model that is to refine, as provider/name")
    if asking["dry_run"]:
        raise UsageError("--dry-run: every question depends on the last answer; --max-cost and --max-calls bound them")
    folder = _log_folder(output, asking, resume=resume)
    tools = load_palette(palette)
    problems = Problems()
    rows = _usable(read(plans, problems, query=query, queries=queries), problems)
    subjects = [Subject(row.id, row.plan, row.query) for row in rows if row.plan is not None]

    async def work(opened: Opened) -> list[Refined]:
        bounds = {"limits": limits, "budget": budget, "offline": _offline(asking)}
        return await _refined(opened, subjects, tools, folder, bounds)

    done = with_model(asking, work) or []
    waiting = sum(one.lineage.status == "waiting" for one in done)
    if waiting and only_written(asking):
        click.echo(
            f"gpa: {waiting} of {len(done)} plans wait for an answer: answer the requests, and run the same command"
            " with all answers so far as --responses-from FILE",
            err=True,
        )
        ctx.exit(2 if problems.lost else 0)
    _write(done, rows, tools, output, as_json=as_json)
    if folder is not None and all(one.lineage.status not in {"interrupted", "budget"} for one in done):
        _drop(folder)
    ctx.exit(_code(done, problems, output))


def _offline(asking: Mapping[str, Any]) -> bool:
    return bool(asking["requests_to"] or asking["responses_from"])


def _log_folder(output: str | None, asking: Mapping[str, Any], *, resume: bool) -> Path | None:
    """Where answers are kept until the run is done; None when nothing is."""
    if output is None or output == "-":
        if resume:
            raise UsageError("--resume: expected the file of the run to go on with (-o FILE)")
        return None
    path = Path(output).expanduser()
    if path.is_dir():
        raise UsageError(f"{output}: expected a file to write to, found a folder")
    if _offline(asking):
        return None  # the files are the memory
    folder = path.with_name(path.name + LOG)
    if folder.exists() and not resume:
        raise UsageError(f"{folder}: a run was stopped here; go on with --resume, or delete the folder")
    return folder


def _usable(rows: Sequence[PlanRow], problems: Problems) -> list[PlanRow]:
    """The rows that can be refined; of the others it is said why not."""
    from gpa.ingest.problems import Problem

    usable = []
    for row in rows:
        if row.plan is None:
            for found in row.rejected:
                problems(Problem(row.place or row.id, f"not a valid plan: {found}"))
        elif not row.query.strip():
            problems(Problem(row.place or row.id, "expected a query for the plan (--query TEXT, or a field query)"))
        else:
            usable.append(row)
    if not usable:
        raise InputError("there is no plan to refine")
    return usable


async def _refined(
    opened: Opened, subjects: Sequence[Subject], tools: Palette, folder: Path | None, bounds: dict[str, Any]
) -> list[Refined]:
    from gpa.optimize.log import Log
    from gpa.optimize.refinement import log_settings, refine_all

    with Log(folder, log_settings(opened.client.name)) as log, _showing(len(subjects), log) as show:
        return await refine_all(
            subjects,
            opened.client,
            tools,
            log,
            clean=opened.clean,
            max_tokens=opened.max_tokens,
            effort=opened.effort,
            on_step=show.step,
            **bounds,
        )


def _write(
    done: Sequence[Refined], rows: Sequence[PlanRow], tools: Palette, output: str | None, *, as_json: bool
) -> None:
    from gpa.plans.scoring import score_plan

    lines, shown = [], []
    for one, row in zip(done, rows, strict=True):
        scores = [score_plan(plan, tools, reference=row.reference) for plan in one.lineage.plans]
        named = {"type": "plan_lineage", "schema": 1, "id": row.id, "query": row.query, "calls": one.calls}
        lines.append(json_line({**named, **plain_lineage(one.lineage, scores)}))
        shown += [*_head(one), *visit_lines(one.lineage), f"  score by the rules: {score_line(scores)}", ""]
    if output is not None and output != "-":
        with open_output(str(Path(output).expanduser())) as file:
            file.writelines(f"{line}\n" for line in lines)
    with open_output(None) as file:
        file.writelines(f"{line}\n" for line in (lines if as_json or output == "-" else shown))


def _head(one: Refined) -> Iterator[str]:
    lineage = one.lineage
    counts = (
        f"{len(lineage.plans)} plan{'s' * (len(lineage.plans) != 1)}",
        f"{lineage.passes} pass{'es' * (lineage.passes != 1)}",
        f"{one.calls} question{'s' * (one.calls != 1)}",
    )
    why = f" ({one_line(lineage.message, 200)})" if lineage.message else ""
    yield f"{one_line(one.subject.id, 100)}: {', '.join(counts)}; {lineage.status.replace('_', ' ')}{why}"


def _drop(folder: Path) -> None:
    """Remove the log of a run that is done."""
    from gpa.optimize.log import ANSWERS

    (folder / ANSWERS).unlink(missing_ok=True)
    folder.rmdir()


def _code(done: Sequence[Refined], problems: Problems, output: str | None) -> int:
    if any(one.lineage.status == "interrupted" for one in done):
        kept = f"; what there is is in {output}, and --resume goes on from there" if output else ""
        click.echo(f"gpa: interrupted{kept}", err=True)
        return EXIT_INTERRUPTED
    if problems.lost:
        return 2
    return 3 if any(one.lineage.failures or one.lineage.status == "waiting" for one in done) else 0


class _Show:
    """How far the plans are, on stderr: one line that changes on a terminal; elsewhere a line now and then."""

    def __init__(self, total: int, log: Log, status: Status | None) -> None:
        self._total, self._log, self._status = total, log, status
        self._at: dict[str, Progress] = {}
        self._said_at = time.monotonic()

    def step(self, subject: Subject, progress: Progress) -> None:
        """Another step is looked at."""
        self._at[subject.id] = progress
        which = f"{len(self._at)} of {self._total} plans begun; " if self._total > 1 else ""
        text = (
            f"{which}{subject.id}: pass {progress.pass_number}, step {progress.step} of {progress.steps},"
            f" {progress.plans} in its lineage; {len(self._log)} answers"
        )
        if self._status is not None:
            self._status.update(one_line(text, 200))
        elif time.monotonic() - self._said_at >= EVERY_S:
            self._said_at = time.monotonic()
            click.echo(f"gpa: {one_line(text, 200)}", err=True)


@contextmanager
def _showing(total: int, log: Log) -> Iterator[_Show]:
    if not sys.stderr.isatty():
        yield _Show(total, log, None)
        return
    with console(stderr=True).status("refining plans") as status:
        yield _Show(total, log, status)
