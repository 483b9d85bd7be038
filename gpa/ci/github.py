"""For GitHub Actions: the summary of a step (Markdown, also fit for a comment), and annotations as workflow commands.

Source: GitHub documentation, "Workflow commands for GitHub Actions"; what is escaped follows actions/toolkit,
packages/core/src/command.ts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from gpa.ci.outcome import Outcome, step_of
from gpa.evaluation import Located, Summary
from gpa.ingest.plain import one_line
from gpa.judges.verdict import Severity
from gpa.locations import kind_of
from gpa.regression import Change, Regression

_MARKDOWN = re.compile(r"[\\`*_\[\]<>#|~@$&!]|:(?=\S)|(?<=www)\.", re.IGNORECASE)
MAX_ANNOTATIONS = 10
"""GitHub shows at most ten of each level a step."""
SHOWN = 20
_LEVELS: dict[Severity, str] = {"HIGH": "error", "MEDIUM": "warning", "LOW": "notice"}
_SIGNS = {"worse": "🔴 worse", "better": "🟢 better", "same": "same", "unclear": "no difference shown"}


def summary(outcome: Outcome) -> str:
    """The outcome in Markdown: the gate, scores, and the findings that matter, new ones apart from known ones."""
    return "\n".join(_lines(outcome)) + "\n"


def workflow_commands(outcome: Outcome) -> Iterator[str]:
    """Workflow commands for the gravest findings, new ones alone when there is a baseline, and why the gate is shut."""
    for reason in outcome.reasons():
        yield command("error", "Agent GPA", reason)
    found = outcome.regression.new if outcome.regression is not None else outcome.findings
    for severity, level in _LEVELS.items():
        grave = (one for one in found if one.finding.severity == severity)
        for located in islice(grave, MAX_ANNOTATIONS):
            where = step_of(outcome.run.place(located))
            text = f"{located.finding.problem} (trace {located.trace_id}{', ' if where else ''}{where})"
            title = f"{' '.join(located.dimensions)} {kind_of(located)}"
            yield command(level, title, text, file=outcome.artifact)


def command(level: str, title: str, text: str, *, file: str | None = None) -> str:
    """One workflow command; its text cannot end it or begin another."""
    properties = {"title": one_line(title, 200), **({"file": file} if file is not None else {})}
    said = ",".join(f"{name}={_escape_property(value)}" for name, value in properties.items())
    return f"::{level} {said}::{_escape(one_line(text, 1_000))}"


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")


def _lines(outcome: Outcome) -> Iterator[str]:
    reasons = outcome.reasons()
    yield f"## Agent GPA: {'❌ stopped' if reasons else '✅ passed'}"
    yield ""
    for reason in reasons:
        yield f"- {markdown(reason, 300)}"
    if reasons:
        yield ""
    evaluation = outcome.run.evaluation
    regression = outcome.regression
    if regression is None:
        yield from _scores(evaluation.summary(), len(evaluation.trace_ids))
        yield from _listed("Findings", outcome.findings, outcome)
        return
    yield from _changes(regression.changes)
    for note in regression.notes():
        yield markdown(note, 500)
    yield ""
    yield from _listed("New findings", regression.new, outcome)
    yield from _folded(regression, outcome)


def _scores(rows: Sequence[Summary], traces: int) -> Iterator[str]:
    yield f"{traces} trace{'s' * (traces != 1)}"
    yield ""
    yield "| dimension | mean (0-3) | scored | n/a | failed | findings |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for row in rows:
        mean = "-" if row.mean is None else f"{row.mean:.2f}"
        counts = f"{row.scored} | {row.not_applicable} | {row.failed} | {row.findings}"
        yield f"| {markdown(f'{row.dimension} {row.name}', 80)} | {mean} | {counts} |"
    yield ""


def _changes(changes: Sequence[Change]) -> Iterator[str]:
    yield "| dimension | baseline | now | difference | 95 % interval | cases | |"
    yield "| --- | ---: | ---: | ---: | :---: | ---: | --- |"
    for change in changes:
        figures = [_figure(change.before), _figure(change.after), _figure(change.difference, "+.2f")]
        interval = f"{change.interval.low:+.2f} … {change.interval.high:+.2f}" if change.interval is not None else "-"
        name = markdown(f"{change.dimension} {change.name}", 80)
        sign = _SIGNS[change.verdict] if change.n else "-"
        yield f"| {name} | {' | '.join(figures)} | {interval} | {change.n} | {sign} |"
    yield ""


def _figure(value: float | None, form: str = ".2f") -> str:
    return "-" if value is None else format(value, form)


def _listed(title: str, found: Sequence[Located], outcome: Outcome) -> Iterator[str]:
    yield f"### {title}: {len(found)}"
    yield ""
    if found:
        yield from _table(found, outcome)


def _table(found: Sequence[Located], outcome: Outcome) -> Iterator[str]:
    yield "| severity | dimensions | what | where |"
    yield "| --- | --- | --- | --- |"
    for located in found[:SHOWN]:
        yield _row(located, outcome)
    if len(found) > SHOWN:
        yield ""
        yield f"... and {len(found) - SHOWN} more"
    yield ""


def _row(located: Located, outcome: Outcome) -> str:
    finding = located.finding
    what = f"**{markdown(kind_of(located), 80)}** {markdown(finding.problem, 240)}"
    goal = outcome.goal(located.trace_id)
    place = step_of(outcome.run.place(located))
    where = " ".join(filter(None, (markdown(place, 120), f"<code>{markdown(located.trace_id, 64)}</code>")))
    asked = f"<br>{markdown(goal, 100)}" if goal else ""
    return f"| {finding.severity} | {markdown(' '.join(located.dimensions), 60)} | {what} | {where}{asked} |"


def _folded(regression: Regression, outcome: Outcome) -> Iterator[str]:
    """Known and gone findings, folded: they are not this change's."""
    for title, found in (("Known findings", regression.known), ("Gone findings", regression.gone)):
        if found:
            yield f"<details><summary>{title}: {len(found)}</summary>"
            yield ""
            yield from _table(found, outcome)
            yield "</details>"
            yield ""


def markdown(text: str, limit: int) -> str:
    """The text on one line with no meaning in Markdown: no link, image, mention, emoji, table cell, formula or HTML."""
    # Entities: a backslash does not keep GitHub from reading @name or #1 as a mention.
    return _MARKDOWN.sub(lambda match: f"&#{ord(match[0])};", one_line(text, limit))
