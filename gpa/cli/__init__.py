"""The `gpa` command: a table of subcommands, each imported only when it is called, and what any of them may end in."""

from __future__ import annotations

import errno
import gc
import io
import os
import sys

import click

from gpa.cli.lazy import Lazy
from gpa.cli.output import visible
from gpa.errors import GpaError

COMMANDS = {
    "evaluate": ("gpa.cli.evaluate", "Judge traces: scores per dimension, and the spans that hold each error."),
    "serve": ("gpa.cli.serve", "Receive traces over OTLP, evaluate each when it is complete, and show them on a page."),
    "transcript": ("gpa.cli.transcript", "Show traces as transcripts that a person or a model can read."),
    "report": ("gpa.cli.report", "Write an evaluation as an HTML page to read and to share."),
    "score": (
        "gpa.cli.score",
        "Say what share of gold errors each judge caught and localised, or compare two evaluations.",
    ),
    "compare": ("gpa.cli.compare", "Say whether an agent got better or worse, and which findings are new."),
    "export": ("gpa.cli.export", "Send a stored evaluation to an OpenTelemetry backend, as events on its spans."),
    "workflow": ("gpa.cli.workflow", "Compile workflows and users into every valid trajectory of tool calls."),
    "trajectory": ("gpa.cli.trajectory", "Compare traces with the gold trajectories of their users' workflows."),
    "plan": ("gpa.cli.plan", "Judge plans before they are run: score, compare, refine, cover, narrow."),
    "horizon": ("gpa.cli.horizon", "Say how far ahead agents plan, and compare two sets of runs."),
    "agree": ("gpa.cli.agree", "Say how far scores agree with people, over samples, and between dimensions."),
    "split": ("gpa.cli.split", "Split gold by trace into a part to tune on and a part to measure on."),
    "optimize": (
        "gpa.cli.optimize",
        "Improve the rubrics of LLM judges on gold errors; prove it on traces held out.",
    ),
    "benchmark": ("gpa.cli.benchmark", "Score findings on the TRAIL benchmark."),
    "checks": ("gpa.cli.checks", "List the checks: what each flags, why, how sure it is, what it gets wrong."),
    "formats": ("gpa.cli.formats", "List the file formats and attribute conventions that can be read."),
}
"""Name -> module that holds a click command `command`, and its line in `gpa --help`."""

INTERRUPTED = 128 + 2
BROKEN_PIPE = 128 + 13
"""What a shell reports for a process that SIGINT or SIGPIPE ended."""


class Commands(Lazy):
    """The commands, and what any of them may end in."""

    def invoke(self, ctx: click.Context) -> None:
        """Run the command; errors that a person can act on become one line and an exit code."""
        try:
            # Reading a trace makes millions of objects that stay: looking through them for cycles every 700 new ones,
            # as Python does by default, takes a quarter of the time.
            gc.set_threshold(100_000, 50, 50)
            for stream in (sys.stdout, sys.stderr):
                if isinstance(stream, io.TextIOWrapper):
                    # A terminal or a file of another encoding shows an escape where it lacks a character.
                    stream.reconfigure(errors="backslashreplace")
            super().invoke(ctx)
            sys.stdout.flush()
        except GpaError as error:
            click.echo(f"gpa: {visible(' '.join(str(error).split()))}", err=True)
            ctx.exit(2)
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)
        except OSError as error:
            if error.errno != errno.EPIPE:
                raise
            # The reader has gone (`| head`): not an error, and nothing more can be said to it, even at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(BROKEN_PIPE)


def _print_version(ctx: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from importlib.metadata import version

        click.echo(f"gpa {version('agent-gpa')}")
        ctx.exit()


@click.group(
    cls=Commands,
    lines=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_print_version, help="Show the version."
)
def main() -> None:
    """Read traces of LLM agents; say how well goal, plan and action went, and where it went wrong.

    \b
    Examples:
      gpa evaluate traces/
      gpa transcript trace.json | less
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
