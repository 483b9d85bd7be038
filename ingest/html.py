"""Small pieces of HTML for notebooks. Recorded text is escaped: a notebook runs the scripts of what it shows."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

from gpa.ingest.plain import cut, one_line

if TYPE_CHECKING:
    from gpa.ingest.transcript import Transcript

_MAX_STEPS = 200
_MAX_CELL = 300
_MAX_TOKENS = 4_000
_COLOURS = {"HIGH": "#b00020", "MEDIUM": "#8a5a00", "LOW": "#00677f"}


def text(value: object, limit: int = _MAX_CELL) -> str:
    """A value as escaped text on one line; its direction does not reach beyond it."""
    return f"<bdi>{escape(one_line(str(value), limit))}</bdi>"


def block(value: str, limit: int) -> str:
    """A text as it is laid out, escaped."""
    return f'<pre style="white-space:pre-wrap;text-align:left">{escape(cut(value, limit))}</pre>'


def folded(title: str, inside: str) -> str:
    """HTML behind a title (HTML too) that opens it."""
    return f"<details><summary>{title}</summary>{inside}</details>"


def table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of cells that are HTML already."""
    head = "".join(f'<th style="text-align:left">{escape(column)}</th>' for column in columns)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align:left;vertical-align:top">{cell}</td>' for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def severity(word: str) -> str:
    """A severity in its colour; the word says it too."""
    return f'<b style="color:{_COLOURS.get(word, "inherit")}">{escape(word)}</b>'


def transcript_html(transcript: Transcript) -> str:
    """Goal, a table of steps, and the rendered text behind a click."""
    failed = '<b style="color:#b00020">error</b>'
    rows = (
        (
            text(step.label),
            text(step.kind),
            text(step.name, 80),
            text(step.agent, 80),
            f"{step.duration_ns / 1e9:.3g}" if step.duration_ns else "",
            f"{failed} {text(step.error, 120)}" if step.error or step.status == "error" else "",
        )
        for step in transcript.steps[:_MAX_STEPS]
    )
    left = len(transcript.steps) - _MAX_STEPS
    more = f"<p>... and {left} more steps</p>" if left > 0 else ""
    steps = table(("step", "kind", "name", "agent", "s", ""), rows) + more
    whole = folded("transcript", block(transcript.render(max_tokens=_MAX_TOKENS), 10 * _MAX_TOKENS))
    count = len(transcript.steps)
    goal = f"<p>{text(transcript.goal, 600)}</p>" if transcript.goal else ""
    heading = f"<b>trace {text(transcript.trace_id)}</b>, {count} step{'s' * (count != 1)}"
    return f"<div>{heading}{goal}{folded('steps', steps) if count > 20 else steps}{whole}</div>"
