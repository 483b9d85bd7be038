"""The folder that a search leaves: rubrics for `gpa evaluate --rubrics`, and everything that says where they come from.

TC.md ...           the tuned rubrics, and those of the start folder that were not searched, its frame.md included
manifest.json       models, seed, budgets, portions, hashes, candidates with parents and scores, held-out figures
changes.diff        the tuned rubrics against the start
README.md           the report for people; report.html the same with its plots (no rubric has either name)
candidates/TC/3.md  the text of every candidate, to pick another one from the Pareto front
search/TC/          the log a search goes on from; answers quote the traces
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import orjson

from gpa.errors import InputError, UsageError
from gpa.ingest.plain import plain
from gpa.ingest.whole import replacing
from gpa.judges.rubrics import Rubric, digest, write_rubrics
from gpa.optimize.heldout import HeldOut
from gpa.optimize.plots import pareto_front, score_over_calls
from gpa.optimize.portions import Portions
from gpa.optimize.results import Candidate, SearchResult
from gpa.optimize.summary import candidates_table, name_of, refusals_table, search_table
from gpa.tables import Table, markdown, shown, to_json

SCHEMA = 1
MANIFEST = "manifest.json"
SEARCH = "search"
"""Folder of the logs."""
PACKAGES = ("agent-gpa", "dspy", "gepa")

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --page: #fff; --soft: #d0d7de; --mark: #0a7d4f; --other: #57606a; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --page: #0d1117; --soft: #30363d; --mark: #3fb950; --other: #8b949e; }
}
body { background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto;
  max-width: 72rem; padding: 0 1rem; }
table { border-collapse: collapse; margin: .5rem 0; display: block; overflow-x: auto; }
th, td { border-bottom: 1px solid var(--soft); padding: .25rem .75rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; } td.text { white-space: normal; text-align: left; }
svg { max-width: 100%; height: auto; font: 11px system-ui, sans-serif; } svg text { fill: var(--ink); }
.grid { stroke: var(--soft); } .best { fill: none; stroke: var(--mark); stroke-width: 2; }
.candidate, .front, .winner { fill: var(--page); stroke: var(--other); stroke-width: 2; }
.front { fill: var(--other); } .winner { fill: var(--mark); stroke: var(--mark); }
.refused { stroke: #cf222e; stroke-width: 2; fill: none; } .note { color: var(--other); }
pre { border: 1px solid var(--soft); border-radius: 6px; overflow-x: auto; padding: .75rem; white-space: pre-wrap; }
"""


@dataclass(frozen=True)
class Tuned:
    """Everything a run of `gpa optimize` came to."""

    start: Mapping[str, Rubric]
    """All rubrics the search started from."""
    searches: tuple[SearchResult, ...]
    portions: Portions
    portions_table: Table
    settings: Mapping[str, Any]
    """Models, seed, budgets and options, as they were asked for."""
    held_out: HeldOut | None = None
    """None: the held-out traces were not judged (yet)."""
    why_not: str = ""
    """Why they were not."""
    notes: tuple[str, ...] = ()
    kept: Mapping[str, Rubric] = field(default_factory=dict)
    """Rubrics of the start folder that were not searched and go into the new one."""
    frame: str | None = None
    """The start folder's own frame."""

    @property
    def rubrics(self) -> dict[str, Rubric]:
        """The searched rubrics as they came out; the start's where no candidate was better."""
        tuned: dict[str, Rubric] = {}
        for search in self.searches:
            winner = search.winner
            for code in search.dimensions:
                tuned[code] = self.start[code] if winner is None else winner.rubrics[code]
        return tuned


def write_folder(folder: Path, tuned: Tuned) -> None:
    """Write everything but the logs, which searches write as they go. Raises `InputError` when that is impossible."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in _texts(tuned).items():
            _write(folder / name, text)
        for search in tuned.searches:
            for one in search.candidates:
                for code, rubric in one.rubrics.items():
                    (folder / "candidates" / code).mkdir(parents=True, exist_ok=True)
                    _write(folder / "candidates" / code / f"{one.number}.md", rubric.text)
        write_rubrics(folder, {**tuned.kept, **tuned.rubrics})
    except OSError as error:
        raise InputError(
            f"{folder}: expected a folder to write rubrics to, found: {error.strerror or error}"
        ) from error


def check_folder(folder: Path, *, resume: bool, start: Path | None) -> None:
    """Raise a `UsageError` when the folder holds something that a new search would mix with or write over."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--out: expected a folder, found a file: {folder}")
    if start is not None and folder.resolve() == start.resolve():
        raise UsageError(f"--out: expected another folder than --rubrics, found {folder} for both")
    if resume or not folder.is_dir() or not any(folder.iterdir()):
        return
    if (folder / SEARCH).is_dir():
        raise UsageError(f"{folder}: expected an empty folder, found a search (--resume goes on with it)")
    raise UsageError(f"{folder}: expected an empty folder, found other files")


def difference(start: Mapping[str, Rubric], tuned: Mapping[str, Rubric]) -> str:
    """The tuned rubrics against the start as a unified diff; empty when none changed."""
    parts: list[str] = []
    for code, rubric in tuned.items():
        one, other = start[code].text.splitlines(), rubric.text.splitlines()
        parts += difflib.unified_diff(one, other, f"start/{code}.md", f"tuned/{code}.md", lineterm="")
    return "".join(f"{line}\n" for line in parts)


def manifest(tuned: Tuned) -> dict[str, Any]:
    """Where the rubrics come from, as one JSON object."""
    return {
        "schema": SCHEMA,
        "versions": {name: _version(name) for name in PACKAGES},
        "settings": dict(tuned.settings),
        "portions": {name: list(ids) for name, ids in tuned.portions.named().items()},
        "start": {code: digest(tuned.start[code].text) for code in tuned.rubrics},
        "tuned": {code: digest(rubric.text) for code, rubric in tuned.rubrics.items()},
        "searches": [_search(search) for search in tuned.searches],
        "held_out": None if tuned.held_out is None else to_json(tuned.held_out.tables),
        "notes": [*tuned.notes, *_held_out_notes(tuned)],
    }


def result_tables(tuned: Tuned) -> tuple[Table, ...]:
    """All tables, those that answer whether it helped first."""
    held_out = () if tuned.held_out is None else tuned.held_out.tables
    searched = [table for one in tuned.searches for table in (candidates_table(one), refusals_table(one)) if table]
    return (*held_out, search_table(tuned.searches), tuned.portions_table, *searched)


def result_notes(tuned: Tuned) -> tuple[str, ...]:
    """What has to be known of the whole, whether it helped first."""
    ended = tuple(f"{name_of(search)}: {search.message}" for search in tuned.searches)
    return (*_held_out_notes(tuned), *ended, *tuned.notes)


def report_markdown(tuned: Tuned) -> str:
    """The report for people; what models wrote is escaped."""
    notes = "".join(f"- {escape(note, quote=False)}\n" for note in result_notes(tuned))
    changes = difference(tuned.start, tuned.rubrics)
    fence = "`" * max(3, 1 + max(map(len, changes.split()), default=0) if "```" in changes else 3)
    shown_changes = f"{fence}diff\n{changes}{fence}\n" if changes else "No rubric changed.\n"
    tables = markdown([_escaped(table) for table in result_tables(tuned)])
    return f"# Tuned rubrics\n\n{notes}\n{tables}\n## Changes\n\n{shown_changes}"


def report_html(tuned: Tuned) -> str:
    """The report with its plots, as one page that loads nothing."""
    notes = "".join(f"<li>{escape(note)}</li>" for note in result_notes(tuned))
    plots = "".join(
        f"<h2>{escape(name_of(search))}: search</h2>{score_over_calls(search)}{pareto_front(search)}"
        for search in tuned.searches
        if search.candidates
    )
    tables = "".join(map(_html_table, result_tables(tuned)))
    changes = escape(difference(tuned.start, tuned.rubrics)) or "No rubric changed."
    legend = (
        "Green: the winner; filled: on the Pareto front; crosses: refused by a guard. Point at one for its figures."
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Tuned rubrics</title>'
        '<meta name="viewport" content="width=device-width">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<style>{_STYLE}</style></head><body><h1>Tuned rubrics</h1><ul>{notes}</ul>{plots}"
        f'<p class="note">{legend}</p>{tables}<h2>Changes</h2><pre>{changes}</pre></body></html>\n'
    )


def _texts(tuned: Tuned) -> dict[str, str]:
    texts = {
        MANIFEST: orjson.dumps(manifest(tuned), option=orjson.OPT_INDENT_2).decode() + "\n",
        "changes.diff": plain(difference(tuned.start, tuned.rubrics)),
        "README.md": plain(report_markdown(tuned)),
        "report.html": plain(report_html(tuned)),
    }
    return texts if tuned.frame is None else texts | {"frame.md": tuned.frame}


def _write(path: Path, text: str) -> None:
    with replacing(path) as file:
        file.write(text.encode("utf-8", "backslashreplace"))


def _held_out_notes(tuned: Tuned) -> tuple[str, ...]:
    if tuned.held_out is not None:
        return tuned.held_out.notes()
    return (f"Held-out traces not judged: {tuned.why_not}. Whether it helped is not known.",)


def _search(search: SearchResult) -> dict[str, Any]:
    return {
        "dimensions": list(search.dimensions),
        "stopped": search.stopped,
        "message": search.message,
        "calls": search.calls,
        "proposals": search.proposals,
        "cost_usd": search.cost_usd,
        "unpriced": search.unpriced,
        "best": search.best,
        "front": list(search.front),
        "candidates": [_candidate(one) for one in search.candidates],
        "refused": [
            {"dimension": one.dimension, "parent": one.parent, "calls": one.calls, "reason": one.reason}
            for one in search.rejected
        ],
    }


def _candidate(one: Candidate) -> dict[str, Any]:
    return {
        "number": one.number,
        "parents": list(one.parents),
        "score": one.score,
        "objectives": one.objectives,
        "scores": one.scores,
        "calls": one.calls,
        "errors": one.errors,
        "caught": one.caught,
        "localised": one.localised,
        "groundless": one.groundless,
        "failed": one.failed,
        "alpha": one.alpha,
        "rubrics": {code: digest(rubric.text) for code, rubric in one.rubrics.items()},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _escaped(table: Table) -> Table:
    rows = tuple(
        tuple(escape(cell, quote=False) if isinstance(cell, str) else cell for cell in row) for row in table.rows
    )
    return Table(table.name, table.title, table.columns, rows, table.notes)


def _html_table(table: Table) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in table.columns)
    body = "".join(f"<tr>{''.join(map(_html_cell, row))}</tr>" for row in table.rows)
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in table.notes)
    return f"<h2>{escape(table.title)}</h2><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}"


def _html_cell(cell: Any) -> str:
    text = escape(shown(cell))
    return f'<td class="text">{text}</td>' if isinstance(cell, str) and len(cell) > 40 else f"<td>{text}</td>"


def unsearched(start: Mapping[str, Rubric], searched: Iterable[str], own: Sequence[str]) -> dict[str, Rubric]:
    """The rubrics of a user's folder that go over as they are."""
    return {code: start[code] for code in own if code in start and code not in set(searched)}
