"""`gpa evaluate`: traces judged; a table of scores, the worst findings, result lines, and an exit code for CI."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, TYPE_CHECKING, Any

import click

from gpa.cli.follow import follow_options, patience_of, refuse_with_follow
from gpa.cli.follow import run as follow
from gpa.cli.gate import gate_of, gate_options, refuse_without_baseline, say_reasons
from gpa.cli.inputs import refuse_overwriting
from gpa.cli.judging import judging_of, judging_options, refuse_with_model, refuse_without_model
from gpa.cli.options import Grouped, grouped, option
from gpa.cli.output import console, open_output, refuse_unwritable, safe_json, visible
from gpa.cli.progress import reporting
from gpa.cli.reading import Problems, codes_in, names_in, paths_and_limit
from gpa.errors import InputError, UsageError

if TYPE_CHECKING:
    from types import FrameType

    from gpa.cli.gate import Gate
    from gpa.evaluation import Evaluation, Progress
    from gpa.ingest.spans import Trace
    from gpa.ingest.transcript import Transcript
    from gpa.judging import Judging
    from gpa.live.settings import Evaluating

_CHECKS = grouped(
    "Checks (where no model judges)",
    option("--checks", metavar="A,B", help="Run only these checks, by the names that gpa checks lists."),
    option("--skip-checks", metavar="A,B", help="Run all checks but these."),
    option("--suppress", metavar="FILE", help="Mute the findings that this TOML file names, with reasons."),
    option("--jobs", type=click.IntRange(min=1), metavar="N", help="Processes that run the checks.  [default: 1]"),
)


@click.command(name="evaluate", cls=Grouped)
@paths_and_limit
@click.option(
    "--dimensions",
    metavar="LC,TC",
    help="Judge only these, of LC EE PQ PA TS TC GF and those of --rubrics.  [default: all that can be]",
)
@click.option("--jsonl", metavar="FILE", help="Write every result as a JSON line there, as it comes; - for stdout.")
@click.option(
    "--store",
    metavar="FILE",
    help="Keep results in this SQLite file (or database URL); a later run takes them from there.",
)
@click.option(
    "--fail-under", type=click.FloatRange(0, 3), metavar="X", help="Exit 1 when a dimension's mean is below X."
)
@gate_options
@follow_options
@_CHECKS
@judging_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    paths: tuple[str, ...],
    max_bytes: int,
    dimensions: str | None,
    jsonl: str | None,
    store: str | None,
    fail_under: float | None,
    checks: str | None,
    skip_checks: str | None,
    suppress: str | None,
    jobs: int | None,
    model: str | None,
    dry_run: bool,
    **asking: Any,
) -> None:
    """Judge the traces in PATH... and say which spans hold which error.

    PATH is a file, a folder (read recursively), a glob, or - for standard input. Without --model, checks judge: they
    need no key and no network. With it, a model reads each transcript against a rubric per dimension.

    \b
    Examples:
      gpa evaluate traces/
      gpa evaluate traces/ --dimensions TC,EE --store gpa.db --fail-under 2
      gpa evaluate traces/ --baseline main.db --fail-on regression,new-high --junit junit.xml
      gpa evaluate traces/ --skip-checks from-memory --suppress muted.toml
      gpa evaluate --follow /var/lib/otel/agent-traces.jsonl --store gpa.db
      gpa evaluate trace.json --jsonl - | jq 'select(.score < 2)'
      gpa evaluate traces/ --model anthropic/claude-sonnet-5-5 --dry-run
      gpa evaluate traces/ --model anthropic/claude-sonnet-5-5 --store gpa.db --max-cost 5
      gpa evaluate traces/ --model anthropic/claude-sonnet-5-5 --store gpa.db --batch
      gpa evaluate traces/ --model ollama/qwen3 --mode single --context-window 131072
      gpa evaluate traces/ --model anthropic/claude-sonnet-5-5 --requests-to requests.jsonl
      gpa evaluate traces/ --model anthropic/claude-sonnet-5-5 --responses-from responses.jsonl

    \b
    Exit codes:
      0 all judged    1 below --fail-under, or what --fail-on names    2 usage or input error
      3 some could not be judged
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    patience = patience_of(asking)
    gate = gate_of(asking, paths, fail_under=fail_under, stderr=jsonl == "-")
    refuse_without_baseline(gate)
    judging: Judging | None = None
    if model is None or model == "checks":
        refuse_without_model({"dry_run": dry_run, **asking})
    else:
        refuse_with_model({"checks": checks, "skip_checks": skip_checks, "suppress": suppress, "jobs": jobs})
        judging = judging_of(asking)
        _refuse_without_results(judging, jsonl=jsonl, fail_under=fail_under, gate=gate.asked or None, dry_run=dry_run)
    refuse_overwriting(paths, max_bytes, jsonl=jsonl, requests_to=asking["requests_to"], **gate.files())
    problems, codes = Problems(), codes_in(dimensions)
    if patience is not None:
        only = ("batch", "requests_to", "responses_from")
        ended = {"fail_under": fail_under, "dry_run": dry_run, "the options for CI": gate.asked}
        refuse_with_follow({**ended, **{name: asking[name] for name in only}})
        settings = _following(
            store=store or "",
            dimensions=codes,
            checks=names_in(checks),
            skip_checks=names_in(skip_checks) or (),
            suppress=suppress,
            jobs=1 if jobs is None else jobs,
            model=model,
            judging=judging,
            patience=patience,
        )
        follow(paths, settings, jsonl=jsonl, on_problem=problems)
        problems.close()
        ctx.exit(2 if problems.lost else 0)
    traces = _traces(paths, max_bytes, problems)
    if dry_run and model is not None:
        _rehearse(traces, model, judging, codes, store)
        problems.close()
        ctx.exit(2 if problems.lost else 0)
    gate.open(model or "checks")
    with gate.guarded():
        run = _Run(store, jsonl)
        evaluation = run.evaluate(
            gate.watched(traces),
            dimensions=codes,
            model=model,
            judging=judging,
            checks=names_in(checks),
            skip_checks=names_in(skip_checks) or (),
            suppress=suppress,
            jobs=jobs,
        )
        problems.close()
        if not run.judged:
            if not problems.lost:
                raise InputError(f"no trace in {', '.join(paths)}")
        elif judging is not None and judging.requests_to is not None and not judging.responses_from:
            _say_written(evaluation, judging, run.judged)
            ctx.exit(2 if problems.lost else 0)
        else:
            _print(evaluation, run, judging, stderr=jsonl == "-")
    shut = (gate.asked or fail_under is not None) and _is_shut(gate, evaluation, codes)
    ctx.exit(2 if problems.lost else 1 if shut else evaluation.exit_code(fail_under))


class _Run:
    """One evaluation as the command does it: lines as they come, progress, and a word when it is interrupted."""

    def __init__(self, store: str | None, jsonl: str | None) -> None:
        self._store, self._jsonl = store, jsonl
        self.judged = 0
        """Traces."""
        self.warnings = 0
        """Repaired or missing parts of them."""

    def evaluate(self, traces: Iterator[Trace | Transcript], **options: Any) -> Evaluation:
        """The evaluation of these traces with the options of `gpa.evaluate`."""
        from gpa.evaluation import evaluate
        from gpa.judges.result_lines import result_line

        if self._jsonl:
            refuse_unwritable(self._jsonl)
        with ExitStack() as opened, reporting() as show:
            lines: IO[str] | None = None

            def arrived(progress: Progress) -> None:
                nonlocal lines
                self.judged = progress.done
                self.warnings += progress.warnings
                if self._jsonl:
                    # Not before: a mistake in the options must not cost the results of the last run.
                    lines = lines or opened.enter_context(open_output(self._jsonl))
                    lines.writelines(safe_json(result_line(result).decode()) for result in progress.results)
                    lines.flush()
                show.trace(progress)

            try:
                with _interruptible():
                    return evaluate(traces, store=self._store, progress=arrived, on_batch=show.batch, **options)
            except KeyboardInterrupt:
                click.echo(f"gpa: interrupted after {self._kept(options)}", err=True)
                raise

    def _kept(self, options: dict[str, Any]) -> str:
        said = f"{self.judged} trace{'s' * (self.judged != 1)}"
        judging: Judging | None = options.get("judging")
        if self._store:
            said += f"; their results are in {visible(self._store)}, and the same command goes on from there"
        elif judging is not None and judging.cache is not None and not judging.offline:
            said += "; the answers paid for are kept, and the same command goes on from there"
        if judging is not None and judging.batch:
            said += "; a batch that is out goes on without it"
        return said


def _following(**settings: Any) -> Evaluating:
    from gpa.live.settings import Evaluating

    return Evaluating(**settings)


def _is_shut(gate: Gate, evaluation: Evaluation, named: list[str] | None) -> bool:
    """Write what CI reads; whether the run is to fail, which is said on stderr."""
    outcome = gate.outcome(evaluation)
    shut = say_reasons(outcome, named)
    gate.write(outcome)
    return shut


def _traces(paths: tuple[str, ...], max_bytes: int, problems: Problems) -> Iterator[Trace]:
    from gpa.ingest.assembly import read_traces

    return read_traces(paths, max_bytes=max_bytes, on_problem=problems)


def _refuse_without_results(
    judging: Judging, *, jsonl: str | None, fail_under: float | None, gate: bool | None, dry_run: bool
) -> None:
    """Raise a UsageError for options about results where there will be none."""
    if dry_run and judging.requests_to is not None:
        raise UsageError("--dry-run: contradicts --requests-to")
    if dry_run or (judging.requests_to is not None and not judging.responses_from):
        why = "--dry-run" if dry_run else "--requests-to without --responses-from"
        for name, value in {"--jsonl": jsonl, "--fail-under": fail_under, "the options for CI": gate}.items():
            if value is not None:
                raise UsageError(f"{name}: contradicts {why}, which has no results")


def _rehearse(
    traces: Iterator[Trace], model: str, judging: Judging | None, codes: list[str] | None, store: str | None
) -> None:
    from gpa.cli.spending import print_forecast
    from gpa.forecast import aforecast

    with reporting() as show, _interruptible():
        rehearsal = aforecast(traces, model=model, judging=judging, dimensions=codes, store=store, progress=show.trace)
        forecast = asyncio.run(rehearsal)
    print_forecast(forecast, console(), model=model, max_cost=judging.max_cost if judging else None)


def _say_written(evaluation: Evaluation, judging: Judging, traces: int) -> None:
    from gpa.cli.spending import counted, print_left_out
    from gpa.forecast import exceeding

    assert evaluation.spending is not None  # a model was named
    about = f"{counted(evaluation.spending.unanswered, 'request')} about {counted(traces, 'trace')}"
    click.echo(f"{about} in {visible(str(judging.requests_to))}; nothing was sent")
    print_left_out(evaluation.spending.left_out, console())
    if too_long := exceeding(evaluation.results):
        click.echo(f"{counted(too_long, 'judgement')} will fail: the question exceeds the model's window")
    if evaluation.reused:
        click.echo(f"{counted(evaluation.reused, 'result')} in the store already: nothing is asked for them")


def _print(evaluation: Evaluation, run: _Run, judging: Judging | None, *, stderr: bool) -> None:
    from gpa.cli.scores import print_scores

    shown = console(stderr=stderr)
    print_scores(evaluation, shown, warnings=run.warnings)
    if judging is not None and judging.requests_to is not None and evaluation.spending is not None:
        shown.print(f"{evaluation.spending.unanswered} requests without an answer are in {judging.requests_to}")


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C raises at once: asyncio's own handler would wait for the end of a blocking read."""
    interrupted = False

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    except Exception as error:  # raised again: a library may make an error of its own of an interrupt, as pydantic does
        if interrupted:
            raise KeyboardInterrupt from error
        raise
    finally:
        signal.signal(signal.SIGINT, before)
