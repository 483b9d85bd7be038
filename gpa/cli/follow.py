"""`gpa evaluate --follow FILE`: traces judged as a file grows."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpa.cli.options import grouped, option
from gpa.cli.output import one_line, open_output, safe_json, visible
from gpa.cli.serve import SILENCES, say
from gpa.errors import UsageError

if TYPE_CHECKING:
    from gpa.ingest.completion import Patience
    from gpa.ingest.problems import OnProblem
    from gpa.live.evaluating import Evaluated
    from gpa.live.settings import Evaluating

follow_options = grouped(
    "A file that is still written",
    option("--follow", is_flag=True, help="Go on with what is added to PATH (OTLP lines), and with its successor."),
    *SILENCES,
)


def patience_of(options: dict[str, Any]) -> Patience | None:
    """How long to wait for spans, None without `--follow`; these options are taken out of all.

    Raises:
        UsageError: they are about `--follow`, which is not given.
    """
    from gpa.ingest.completion import Patience

    follows = options.pop("follow")
    given = {name: options.pop(name) for name in ("quiet_s", "patience_s")}
    given = {name: value for name, value in given.items() if value is not None}
    if not follows and given:
        raise UsageError(f"--{next(iter(given)).removesuffix('_s')}: is about --follow, which is not given")
    return Patience(**given) if follows else None


def refuse_with_follow(options: dict[str, Any]) -> None:
    """Raise a UsageError for options that need an end."""
    for name, value in options.items():
        if value not in (None, False, ()):
            shown = name if " " in name else f"--{name.replace('_', '-')}"
            raise UsageError(f"{shown}: contradicts --follow, which has no end")


def run(paths: tuple[str, ...], settings: Evaluating, *, jsonl: str | None, on_problem: OnProblem) -> int:
    """Follow the files until a signal; a line for each evaluated trace. How many there were."""
    from gpa.live.following import follow

    if "-" in paths:
        raise UsageError("--follow: expected files, found - (standard input ends by itself)")
    for path in paths:
        if Path(path).is_dir():
            raise UsageError(f"--follow: expected files, found the folder {path}")
    with ExitStack() as stack:
        if not settings.store:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gpa-")))
            settings = replace(settings, store=folder / "gpa.db")
        lines = stack.enter_context(open_output(jsonl) if jsonl else nullcontext())
        show = _printer(lines, quiet=jsonl == "-")
        for path in paths:
            waiting = "" if Path(path).exists() else " (not there yet, waited for)"
            say(f"following {visible(path)}{waiting}")
        return follow(paths, settings, on_evaluated=show, on_problem=on_problem, say=say)


def _printer(lines: Any, *, quiet: bool) -> Callable[[Evaluated], None]:
    from gpa.judges.result_lines import result_line
    from gpa.judges.verdict import Verdict

    def show(evaluated: Evaluated) -> None:
        if lines is not None:
            lines.writelines(safe_json(result_line(result).decode()) for result in evaluated.results)
            lines.flush()
        if quiet:
            return
        verdicts = [result for result in evaluated.results if isinstance(result, Verdict)]
        scores = " ".join(f"{verdict.judge} {verdict.score}" for verdict in verdicts) or "nothing to judge"
        found = len({finding for verdict in verdicts for finding in verdict.findings})
        about = f", {found} finding{'s' * (found != 1)}" if found else ""
        again = f" (revision {evaluated.revision})" if evaluated.revision > 1 else ""
        goal = one_line(evaluated.transcript.goal, 60)
        click.echo(f"{visible(evaluated.transcript.trace_id)}{again}  {scores}{about}  {goal}")

    return show
