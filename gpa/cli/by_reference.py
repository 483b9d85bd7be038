"""What commands share that judge traces by something known beforehand: gold trajectories, requirements.

Their options about results, the judging itself, and the findings as lines.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from gpa.cli.output import one_line, open_output, safe_json, visible
from gpa.cli.reading import size

if TYPE_CHECKING:
    from gpa.evaluation import Evaluation, Located
    from gpa.ingest.transcript import Transcript
    from gpa.judges.run import Judge


def result_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command --ignore, --jsonl, --store, --fail-under and --max-bytes."""
    options = (
        click.option("--ignore", metavar="TOOL", multiple=True, help="Pass over calls of this tool."),
        click.option("--jsonl", metavar="FILE", help="Write every result of a trace as a JSON line; - for stdout."),
        click.option("--store", metavar="FILE", help="Keep results of traces in this SQLite file (or database URL)."),
        click.option(
            "--fail-under", type=click.FloatRange(0, 3), metavar="X", help="Exit 1 when a mean score is below X."
        ),
        click.option(
            "--max-bytes",
            callback=lambda _ctx, _option, text: size(text),
            metavar="SIZE",
            default="1GiB",
            show_default=True,
            help="Most bytes that one compressed file may unpack to.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def evaluated_by(
    judge: Judge,
    dimensions: tuple[str, ...],
    transcripts: Iterable[Transcript],
    *,
    look: Callable[[Transcript], object],
    store: str | None,
    jsonl: str | None,
) -> Evaluation:
    """The transcripts judged, kept in `store` and written to `jsonl` as they come.

    What the store has is not judged again, but tables are over every trace: `look` sees those too.
    """
    from gpa.cli.progress import reporting
    from gpa.evaluation import evaluated
    from gpa.judges.result_lines import result_line
    from gpa.workload import Run

    run = Run((judge,), dimensions, concurrency=1)
    with ExitStack() as stack:
        if store is not None:
            from gpa.store import open_store

            run.store = stack.enter_context(open_store(store))
        lines = stack.enter_context(open_output(jsonl)) if jsonl is not None else None
        reporter = stack.enter_context(reporting())

        def progress(done: Any) -> None:
            reporter.trace(done)
            if lines is not None:
                lines.writelines(safe_json(result_line(result).decode()) for result in done.results)

        seen = _looked_at(transcripts, look) if store is not None else transcripts
        return asyncio.run(evaluated(seen, run, progress))


def _looked_at(transcripts: Iterable[Transcript], look: Callable[[Transcript], object]) -> Iterator[Transcript]:
    for transcript in transcripts:
        look(transcript)
        yield transcript


def print_found(found: Sequence[Located]) -> None:
    """Print findings, each with its trace, dimensions, severity and spans."""
    for one in found:
        where = f"{one.trace_id} {'/'.join(one.dimensions)} {one.finding.severity}"
        spans = " ".join(one.finding.span_ids) or "no span"
        click.echo(f"\n{visible(where)} at {visible(spans)}\n  {one_line(one.finding.problem, 300)}")
