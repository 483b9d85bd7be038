"""What `gpa evaluate` and `gpa compare` do for CI: hold a run against a baseline, write reports, shut the gate."""

from __future__ import annotations

import math
import os
import secrets
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import click

from gpa.cli.options import grouped, option
from gpa.cli.output import cannot_write, refuse_unwritable, visible
from gpa.cli.reading import names_in
from gpa.errors import UsageError

if TYPE_CHECKING:
    from gpa.ci.outcome import FailOn, Outcome
    from gpa.evaluation import Evaluation
    from gpa.ingest.spans import Trace
    from gpa.ingest.transcript import Transcript
    from gpa.locations import Recorded, Traced
    from gpa.regression import Regression

RULES = "regression, new, new-medium, new-high, any, medium, high"

REPORTS = (
    option("--fail-on", metavar="A,B", help=f"Exit 1 on any of: {RULES} (findings at least that grave)."),
    option(
        "--tolerance",
        type=click.FloatRange(0, 3),
        default=0.0,
        metavar="X",
        help="Changes of a mean up to X are no regression.",
    ),
    option("--junit", metavar="FILE", help="Write JUnit XML: a case for each trace and dimension."),
    option("--sarif", metavar="FILE", help="Write findings as SARIF 2.1.0."),
    option("--gitlab", metavar="FILE", help="Write findings as GitLab's code quality report."),
    option("--summary", metavar="FILE", help="Write a summary in Markdown, fit for a comment."),
    option("--github", is_flag=True, help="In GitHub Actions: annotations, and the summary of the step."),
    option("--artifact", metavar="PATH", help="The file that reports show findings at.  [default: PATH if it is one]"),
)
gate_options = grouped(
    "In CI",
    option("--baseline", metavar="FILE", help="Hold the run against this one: a store, or result lines."),
    *REPORTS,
)
report_options = grouped("In CI", *REPORTS)


@dataclass
class Gate:
    """What a command was asked to do for CI."""

    baseline: str | None = None
    fail_on: tuple[FailOn, ...] = ()
    tolerance: float = 0.0
    junit: str | None = None
    sarif: str | None = None
    gitlab: str | None = None
    summary: str | None = None
    github: bool = False
    artifact: str | None = None
    fail_under: float | None = None
    stderr: bool = False
    """Standard output is for result lines."""
    traces: dict[str, Traced] = field(default_factory=dict)
    """Where the spans of the traces that went by are."""
    _before: Recorded | None = None

    @property
    def asked(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.baseline or self.fail_on or self.github or self.files())

    def open(self, model: str | None) -> None:
        """Read the baseline: what is wrong with it is said before anything is judged."""
        if self.baseline is not None:
            self._before = _recorded(self.baseline, model)

    def watched(self, traces: Iterator[Trace]) -> Iterator[Trace | Transcript]:
        """The traces, as transcripts whose spans are noted, when that is needed."""
        if not self.asked:
            yield from traces
            return
        from gpa.ingest.transcript import transcribe
        from gpa.locations import traced

        for trace in traces:
            try:
                transcript = transcribe(trace)
            except Exception:  # noqa: BLE001 - a bug over one trace: the evaluation makes it that trace's failure
                yield trace
                continue
            self.traces[transcript.trace_id] = traced(transcript)
            yield transcript

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """GitHub's runner obeys no command that stands in what is printed meanwhile: traces say what they like."""
        if not self.github:
            yield
            return
        token = secrets.token_hex(16)
        click.echo(f"::stop-commands::{token}", err=self.stderr)
        try:
            yield
        finally:
            click.echo(f"::{token}::", err=self.stderr)

    def outcome(self, evaluation: Evaluation) -> Outcome:
        """The run as CI sees it."""
        from gpa.locations import Recorded
        from gpa.regression import compare

        after = Recorded(evaluation, self.traces)
        regression = None if self._before is None else compare(self._before, after, tolerance=self.tolerance)
        return self.held(after, regression)

    def held(self, after: Recorded, regression: Regression | None) -> Outcome:
        """A run against what it was compared with."""
        from gpa.ci.outcome import Outcome

        return Outcome(after, regression, self.fail_under, self.fail_on, self.artifact)

    def write(self, outcome: Outcome) -> None:
        """Write every report that was asked for; one that cannot be written costs no other."""
        from gpa.ci.github import summary, workflow_commands
        from gpa.ci.gitlab import code_quality
        from gpa.ci.junit import junit
        from gpa.ci.sarif import sarif

        forms: dict[str, Callable[[Outcome], bytes]] = {
            "junit": junit,
            "sarif": sarif,
            "gitlab": code_quality,
            "summary": lambda outcome: summary(outcome).encode(),
        }
        failed: list[str] = []
        for name, path in self.files().items():
            try:
                _write(path, forms[name](outcome))
            except OSError as error:
                if path == "-":  # a reader that has gone is no fault of the file's
                    raise
                failed.append(str(cannot_write(path, error)))
        if self.github:
            for line in workflow_commands(outcome):
                click.echo(visible(line), err=self.stderr)
            try:
                _to_step_summary(summary(outcome), err=self.stderr)
            except OSError as error:
                failed.append(str(cannot_write(f"GITHUB_STEP_SUMMARY: {_step_summary()}", error)))
        if failed:
            raise UsageError("; ".join(failed))

    def refuse_unwritable(self) -> None:
        """Raise a `UsageError` when a report cannot be written: said before anything is judged and paid for."""
        for path in self.files().values():
            refuse_unwritable(path)
        if self.github and (path := _step_summary()):
            refuse_unwritable(path)

    def files(self) -> dict[str, str]:
        """The reports that are asked for, by the name of their option."""
        files = {"junit": self.junit, "sarif": self.sarif, "gitlab": self.gitlab, "summary": self.summary}
        return {name: path for name, path in files.items() if path}


def gate_of(
    options: dict[str, Any], paths: Sequence[str] = (), *, fail_under: float | None = None, stderr: bool = False
) -> Gate:
    """The gate that these options ask for; they are taken out of `options`.

    Raises:
        UsageError: --fail-on names what is no rule; a limit is no number; a report cannot be written.
    """
    from dataclasses import fields

    _refuse_not_finite({"--fail-under": fail_under, "--tolerance": options.get("tolerance")})
    names = {one.name for one in fields(Gate)} - {"traces", "fail_under", "stderr", "_before"}
    given = {name: options.pop(name) for name in list(options) if name in names}
    given["fail_on"] = _rules_of(given.get("fail_on"))
    gate = Gate(**given, fail_under=fail_under, stderr=stderr)
    if gate.artifact is None and len(paths) == 1 and paths[0] != "-":
        gate.artifact = PurePath(paths[0]).as_posix()
    gate.refuse_unwritable()
    return gate


def refuse_without_baseline(gate: Gate) -> None:
    """Raise a `UsageError` for what only a baseline gives a meaning."""
    from gpa.ci.outcome import NEEDS_BASELINE

    if gate.baseline is None:
        for rule in gate.fail_on:
            if rule in NEEDS_BASELINE:
                raise UsageError(f"--fail-on {rule}: needs --baseline FILE, or gpa compare")
        if gate.tolerance:
            raise UsageError("--tolerance: needs --baseline FILE, or gpa compare")


def say_reasons(outcome: Outcome, named: Sequence[str] | None = None) -> bool:
    """Say why the gate is shut, one line each, on stderr; whether it is.

    A limit that had nothing to be held against is a note: over the `named` dimensions, else when none has a score.
    """
    reasons = outcome.reasons()
    for reason in reasons:
        click.echo(f"gpa: {visible(reason)}", err=True)
    rows = outcome.run.evaluation.summary()
    unheld = [row.dimension for row in rows if row.mean is None]
    if outcome.fail_under is not None and unheld and (named is not None or len(unheld) == len(rows)):
        where = visible(" ".join(unheld))
        limit = f"--fail-under {outcome.fail_under:.15g}"
        click.echo(f"gpa: note: {limit}: nothing to hold it against in {where}: no trace has a score there", err=True)
    return bool(reasons)


def _refuse_not_finite(limits: dict[str, float | None]) -> None:
    """Raise a UsageError for limits that no figure is above or below: a range lets NaN through."""
    for name, limit in limits.items():
        if limit is not None and not math.isfinite(limit):
            raise UsageError(f"{name}: expected a number from 0 to 3, found {limit}")


def _recorded(path: str, model: str | None) -> Recorded:
    """The run at a path; of several models' results those of `model`."""
    from gpa.locations import recorded

    try:
        return recorded(path)
    except UsageError:
        if model is None:
            raise
        return recorded(path, model=model)


def _rules_of(names: str | None) -> tuple[FailOn, ...]:
    from gpa.ci.outcome import FAIL_ON

    wanted = [name.lower() for name in names_in(names) or []]
    for name in wanted:
        if name not in FAIL_ON:
            raise UsageError(f"--fail-on: expected some of {', '.join(FAIL_ON)}, found {name!r}")
    return tuple(rule for rule in FAIL_ON if rule in wanted)


def _write(path: str, content: bytes) -> None:
    if path == "-":
        sys.stdout.buffer.write(content)
        return
    Path(path).expanduser().write_bytes(content)


def _step_summary() -> str:
    """The file that GitHub Actions shows as the summary of the step; empty elsewhere."""
    return os.environ.get("GITHUB_STEP_SUMMARY", "")


def _to_step_summary(text: str, *, err: bool) -> None:
    """Add the text to the summary of the step; outside GitHub Actions print it."""
    path = _step_summary()
    if not path:
        click.echo(text, err=err)
        return
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(text)
