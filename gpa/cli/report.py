"""`gpa report`: an evaluation as an HTML page that needs nothing beside it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from gpa.cli.output import console, visible
from gpa.cli.reading import Problems

if TYPE_CHECKING:
    from gpa.report import Written

MIB = 2**20


@click.command(name="report")
@click.argument("source", metavar="EVAL")
@click.option(
    "-o",
    "--output",
    metavar="FILE|FOLDER/",
    default="report.html",
    show_default=True,
    help="The page; or a folder (its name ends in /) for an index and pages of transcripts.",
)
@click.option("--baseline", metavar="EVAL", help="Compare with this earlier run: scores, new and gone findings.")
@click.option(
    "--trace-url",
    metavar="URL",
    help="Let each finding open in your tracing tool: a template with {trace_id} and {span_id}, or jaeger, tempo, "
    "phoenix, langfuse, or one of these with its address (jaeger=https://...).",
)
@click.option("--model", metavar="NAME", help="Only results of this model (`checks`, or provider/name).")
@click.option(
    "--traces", metavar="PATH", multiple=True, help="The traces, where EVAL is result lines and has no transcripts."
)
@click.option("--title", metavar="TEXT", help="Heading of the report.  [default: the name of EVAL]")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    source: str,
    output: str,
    baseline: str | None,
    trace_url: str | None,
    model: str | None,
    traces: tuple[str, ...],
    title: str | None,
) -> None:
    """Write what an evaluation found as a page to read: scores, findings, and every transcript with them in place.

    EVAL is a store (gpa.db, or a database URL) or a file of result lines. The page opens from disk, without a server
    or a network. Beyond 24 MiB of packed transcripts they go into pages of their own, in a folder beside it.

    \b
    Examples:
      gpa report gpa.db
      gpa report gpa.db -o report.html --baseline main.db
      gpa report gpa.db -o report/ --trace-url jaeger=https://jaeger.example.com
      gpa report gpa.db --trace-url 'https://traces.example.com/{trace_id}?span={span_id}'
      gpa report results.jsonl --traces traces/

    \b
    Exit codes:
      0 written    2 usage or input error
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from gpa.report import write_report

    with _progress() as show:
        written = write_report(
            source,
            output,
            traces=traces,
            model=model,
            baseline=baseline,
            trace_url=trace_url,
            title=title,
            progress=show,
        )
    problems = Problems()
    for problem in written.problems:
        problems(problem)
    problems.close()
    _say(written)
    ctx.exit(2 if problems.lost else 0)


def _say(written: Written) -> None:
    from gpa.cli.spending import counted

    path, size = visible(str(written.path)), written.size / MIB
    what = f"{counted(written.traces, 'trace')}, {counted(written.findings, 'finding')}"
    if written.files == 1:
        click.echo(f"{path}: {what}, {size:.1f} MiB")
    else:
        why = " (too large for one file)" if written.folder_because_large else ""
        click.echo(
            f"{path}: {what}; transcripts in {counted(written.files - 1, 'page')} beside it{why}, {size:.1f} MiB"
        )
    if written.without_transcript:
        missing = counted(written.without_transcript, "trace")
        click.echo(f"{missing} without a transcript: give the traces with --traces to see their steps")


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None] | None]:
    """A bar on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("writing traces"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
