"""One table in four forms."""

from __future__ import annotations

import csv
import io

import pytest
from rich.console import Console

from gpa.agreement import Interval, Rate
from gpa.tables import Cell, Table, markdown, print_tables, shown, to_csv, to_json

HALF = Rate(0.5, 1, 2, Interval(0.1, 0.9))
TABLE = Table("t", "A title", ("row", "share", "n"), (("a|b", HALF, 3), ("c", Rate(None, 0, 0), None)), ("A note.",))


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (None, "-"),
        (3, "3"),
        (0.12345, "0.123"),
        ("n/a", "n/a"),
        (HALF, "0.500 [0.100, 0.900] 1/2"),
        (Rate(0.5, None, 7), "0.500 n=7"),
        (Rate(0.5, None, None, Interval(-0.1, 0.9)), "0.500 [-0.100, 0.900]"),
        (Rate(None, 0, 0), "- 0/0"),
        (Rate(None), "-"),
    ],
)
def test_cells(cell: Cell, text: str) -> None:
    assert shown(cell) == text


def test_markdown() -> None:
    assert markdown([TABLE]) == (
        "## A title\n\n"
        "| row | share | n |\n"
        "| --- | ---: | ---: |\n"
        "| a\\|b | 0.500 [0.100, 0.900] 1/2 | 3 |\n"
        "| c | - 0/0 | - |\n"
        "\nA note.\n"
    )


def test_json() -> None:
    rate = {"value": 0.5, "low": 0.1, "high": 0.9, "count": 1, "total": 2}
    nothing = {"value": None, "low": None, "high": None, "count": 0, "total": 0}
    rows = [{"row": "a|b", "share": rate, "n": 3}, {"row": "c", "share": nothing, "n": None}]
    assert to_json([TABLE]) == {"t": {"title": "A title", "notes": ["A note."], "rows": rows}}


def test_csv_has_one_line_a_figure() -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv([TABLE]))))
    assert [(row["row"], row["column"], row["value"], row["low"], row["count"]) for row in rows] == [
        ("a|b", "share", "0.5", "0.1", "1"),
        ("a|b", "n", "3", "", ""),
        ("c", "share", "", "", "0"),
        ("c", "n", "", "", ""),
    ]


def test_a_terminal_shows_intervals_below() -> None:
    console = Console(file=io.StringIO(), width=80)
    print_tables([TABLE, TABLE], console)
    assert isinstance(console.file, io.StringIO)
    lines = [line.rstrip() for line in console.file.getvalue().splitlines()]
    first = [
        "A title",
        "row           share  n",
        "a|b       0.500 1/2  3",
        "     [0.100, 0.900]",
        "c             - 0/0  -",
        "A note.",
    ]
    assert lines == [*first, "", *first]


def test_a_table_too_wide_for_the_terminal_goes_on_below() -> None:
    console = Console(file=io.StringIO(), width=21)
    print_tables([TABLE], console)
    assert isinstance(console.file, io.StringIO)
    lines = [line.rstrip() for line in console.file.getvalue().splitlines()]
    first = ["A title", "row           share", "a|b       0.500 1/2", "     [0.100, 0.900]", "c             - 0/0"]
    assert lines == [*first, "", "row  n", "a|b  3", "c    -", "A note."]


def test_a_row_by_its_name() -> None:
    assert TABLE.row("c") == {"row": "c", "share": Rate(None, 0, 0), "n": None}
    with pytest.raises(KeyError):
        TABLE.row("d")
