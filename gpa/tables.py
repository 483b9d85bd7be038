"""A table of figures, and its four forms: for a terminal, Markdown, JSON and CSV.

A figure that is a share carries its counts and interval in one cell (`Rate`); one that is not defined is a dash.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gpa.agreement import Rate

if TYPE_CHECKING:
    from rich.console import Console

Cell = str | int | float | Rate | None
DASH = "-"


@dataclass(frozen=True)
class Table:
    """Rows of figures under one title."""

    name: str
    """Its key in JSON and CSV."""
    title: str
    columns: tuple[str, ...]
    """The first one names the rows."""
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    """What has to be known to read it."""

    def __post_init__(self) -> None:
        wrong = [row for row in self.rows if len(row) != len(self.columns)]
        assert not wrong, f"{self.name}: {len(self.columns)} columns, but {wrong[0]}"

    def named(self, name: str) -> Table:
        """The same under another name."""
        return replace(self, name=name)

    def row(self, name: str) -> dict[str, Cell]:
        """The row of that name by column; `KeyError` when there is none."""
        for row in self.rows:
            if row[0] == name:
                return dict(zip(self.columns, row, strict=True))
        raise KeyError(name)


def shown(cell: Cell, digits: int = 3) -> str:
    """The cell as text: `0.950 [0.918, 0.970] 267/281`."""
    if cell is None:
        return DASH
    if isinstance(cell, float):
        return f"{cell:.{digits}f}"
    if not isinstance(cell, Rate):
        return str(cell)
    if cell.value is None:
        return DASH if cell.total is None else f"{DASH} {_counts(cell)}".strip()
    interval = f" [{cell.interval.low:.{digits}f}, {cell.interval.high:.{digits}f}]" if cell.interval else ""
    return f"{cell.value:.{digits}f}{interval} {_counts(cell)}".rstrip()


def markdown(tables: Iterable[Table], digits: int = 3) -> str:
    """The tables in GitHub's Markdown, one section each."""
    parts = []
    for table in tables:
        lines = [_line(table.columns), _line("---" if number == 0 else "---:" for number in range(len(table.columns)))]
        lines += [_line(shown(cell, digits) for cell in row) for row in table.rows]
        notes = "".join(f"\n{note}\n" for note in table.notes)
        parts.append(f"## {table.title}\n\n" + "\n".join(lines) + f"\n{notes}")
    return "\n".join(parts)


def to_json(tables: Iterable[Table]) -> dict[str, Any]:
    """Table name -> title, notes and rows, each row an object by column; a rate is an object of its parts."""
    return {
        table.name: {
            "title": table.title,
            "notes": list(table.notes),
            "rows": [dict(zip(table.columns, map(_plain, row), strict=True)) for row in table.rows],
        }
        for table in tables
    }


def to_csv(tables: Iterable[Table]) -> str:
    """One line a figure: table, row, column, value, low, high, count, total."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["table", "row", "column", "value", "low", "high", "count", "total"])
    for table in tables:
        for row in table.rows:
            for column, cell in zip(table.columns[1:], row[1:], strict=True):
                writer.writerow([table.name, row[0], column, *_parts(cell)])
    return file.getvalue()


def print_tables(tables: Iterable[Table], console: Console, digits: int = 3) -> None:
    """Print the tables to a terminal; one too wide for it goes on below, with the names of its rows again."""
    for number, table in enumerate(tables):
        if number:
            console.print()
        console.print(table.title, style="bold")
        for part, lines in enumerate(_laid_out(table, console.width, digits)):
            if part:
                console.print()
            console.print(lines[0], style="bold")
            for line in lines[1:]:
                console.print(line)
        for note in table.notes:
            console.print(note)


def _laid_out(table: Table, width: int, digits: int) -> list[list[str]]:
    """The table in parts of as many columns as fit, each as lines with its heading first; nothing is cut off."""
    from rich.cells import cell_len

    columns = [[name, *(_stacked(row[at], digits) for row in table.rows)] for at, name in enumerate(table.columns)]
    widths = [max(cell_len(line) for cell in column for line in cell.split("\n")) for column in columns]
    parts: list[list[int]] = [[]]
    for at in range(1, len(columns)):
        if parts[-1] and widths[0] + sum(widths[other] + 2 for other in (*parts[-1], at)) > width:
            parts.append([])
        parts[-1].append(at)
    laid_out = []
    for part in parts:
        lines = []
        for cells in zip(*(columns[at] for at in (0, *part)), strict=True):
            height = max(cell.count("\n") for cell in cells) + 1
            for level in range(height):
                texts = [(cell.split("\n") + [""] * height)[level] for cell in cells]
                pads = [" " * (widths[at] - cell_len(text)) for at, text in zip((0, *part), texts, strict=True)]
                first, *others = zip(texts, pads, strict=True)
                lines.append("  ".join((first[0] + first[1], *(pad + text for text, pad in others))).rstrip())
        laid_out.append(lines)
    return laid_out


def _stacked(cell: Cell, digits: int) -> str:
    """The cell on two lines when it has an interval: a terminal is narrow."""
    if not isinstance(cell, Rate) or cell.interval is None or cell.value is None:
        return shown(cell, digits)
    head = f"{cell.value:.{digits}f} {_counts(cell)}".rstrip()
    return f"{head}\n[{cell.interval.low:.{digits}f}, {cell.interval.high:.{digits}f}]"


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _counts(cell: Rate) -> str:
    return "" if cell.total is None else f"{cell.count}/{cell.total}" if cell.count is not None else f"n={cell.total}"


def _plain(cell: Cell) -> Any:
    if not isinstance(cell, Rate):
        return cell
    value, low, high, count, total = _parts(cell)
    return {"value": value, "low": low, "high": high, "count": count, "total": total}


def _parts(cell: Cell) -> Sequence[Any]:
    if not isinstance(cell, Rate):
        return [cell, None, None, None, None]
    low, high = cell.interval or (None, None)
    return [cell.value, low, high, cell.count, cell.total]
