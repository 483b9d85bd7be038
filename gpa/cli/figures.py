"""What the commands that print tables share: --json, --markdown, --csv, -o, and the notes above them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from gpa.cli.output import console, json_line, one_line, open_output, visible
from gpa.errors import UsageError

if TYPE_CHECKING:
    from gpa.tables import Table

MAX_TEXT = 60
"""Characters shown of a text in a table on a terminal."""


def forms(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say how its tables are written."""
    options = (
        click.option("--json", "as_json", is_flag=True, help="One JSON object: notes, and every table by name."),
        click.option("--markdown", is_flag=True, help="Every table in Markdown."),
        click.option(
            "--csv", is_flag=True, help="One line a figure: table, row, column, value, low, high, count, total."
        ),
        click.option("-o", "--output", metavar="FILE", help="Write there instead of to standard output."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def write_tables(
    tables: Sequence[Table],
    notes: Iterable[str],
    *,
    as_json: bool,
    markdown: bool,
    csv: bool,
    output: str | None,
    shown: Callable[[Table], bool] = lambda _table: True,
    digits: int = 3,
    more: dict[str, Any] | None = None,
) -> None:
    """Write the tables in the form asked for; on a terminal only those that are `shown`. `more` goes into the JSON."""
    from gpa import tables as forms_of

    if as_json + markdown + csv > 1:
        raise UsageError("--json, --markdown and --csv are three forms of the same: use one of them")
    said = list(notes)
    with open_output(output) as file:
        if as_json:
            file.write(json_line({"notes": said, **(more or {}), "tables": forms_of.to_json(tables)}) + "\n")
        elif csv:
            file.write(visible(forms_of.to_csv(tables)))
        elif markdown:
            listed = "\n".join(f"- {note}" for note in said)
            file.write(visible(f"{listed}\n\n{forms_of.markdown(tables, digits)}"))
        else:
            screen = console()
            screen.file = file
            for note in said:
                screen.print(visible(note))
            screen.print()
            forms_of.print_tables([_safe(table) for table in tables if shown(table)], screen, digits)


def _safe(table: Table) -> Table:
    """The table with its texts (names of files, categories, errors) safe to show."""
    rows = tuple(
        tuple(one_line(cell, MAX_TEXT) if isinstance(cell, str) else cell for cell in row) for row in table.rows
    )
    return replace(table, title=visible(table.title), rows=rows)
