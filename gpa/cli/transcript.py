"""`gpa transcript`: traces as text with labelled steps, or as JSON."""

from __future__ import annotations

import click

from gpa.cli.output import json_line, open_output, visible
from gpa.cli.reading import Problems, paths_and_limit
from gpa.errors import InputError, UsageError


@click.command(name="transcript")
@paths_and_limit
@click.option("--json", "as_json", is_flag=True, help="One JSON object for each trace, one a line.")
@click.option(
    "--max-tokens",
    type=click.IntRange(min=1),
    help="Shorten long texts inside steps until a trace fits, saying how much was left out.",
)
@click.option("--trace", "wanted", metavar="ID", help="Only the trace with this id, or whose id begins so.")
@click.option("-o", "--output", metavar="FILE", help="Write there instead of to standard output.")
@click.pass_context
def command(
    ctx: click.Context,
    *,
    paths: tuple[str, ...],
    max_bytes: int,
    as_json: bool,
    max_tokens: int | None,
    wanted: str | None,
    output: str | None,
) -> None:
    """Show each trace in PATH... as a transcript.

    PATH is a file, a folder (read recursively), a glob, or - for standard input. Histories that model
    calls repeat are removed; each step has a label like [s12].

    \b
    Examples:
      gpa transcript trace.json | less
      gpa transcript traces/ --trace 5b8efff7 --max-tokens 20000
      gpa transcript traces/ --json -o transcripts.jsonl
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from gpa.ingest.assembly import read_traces
    from gpa.ingest.transcript import transcribe

    if as_json and max_tokens is not None:
        raise UsageError("--max-tokens shortens text, and --json is always whole: use one of them")
    wanted = wanted.lower() if wanted else ""
    problems = Problems()
    seen = shown = 0
    with open_output(output) as file:
        for trace in read_traces(paths, max_bytes=max_bytes, on_problem=problems):
            seen += 1
            if not trace.trace_id.startswith(wanted):
                continue
            transcript = transcribe(trace)
            if as_json:
                file.write(json_line(transcript.to_dict()) + "\n")
            else:
                file.write("\n" * bool(shown) + visible(transcript.render(max_tokens)).rstrip("\n") + "\n")
            shown += 1
    problems.close()
    if problems.lost:
        ctx.exit(2)
    if not seen:
        raise InputError(f"no trace in {', '.join(paths)}")
    if not shown:
        raise UsageError(f"--trace {wanted}: no such trace among the {seen} in {', '.join(paths)}")
