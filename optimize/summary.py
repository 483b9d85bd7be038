"""What a search found, as tables: the same ones for the terminal, and README.md and report.html of its folder."""

from __future__ import annotations

from collections.abc import Sequence

from gpa.agreement import rate
from gpa.ingest.plain import one_line
from gpa.optimize.results import Candidate, SearchResult
from gpa.tables import Cell, Table

MAX_REASON = 200


def search_table(searches: Sequence[SearchResult]) -> Table:
    """One row a search: what it tried, what it found on the dev traces, and what it cost."""
    rows: list[tuple[Cell, ...]] = []
    for one in searches:
        start, winner = one.start, one.winner
        rows.append(
            (
                name_of(one),
                one.calls,
                one.proposals,
                len(one.rejected),
                len(one.candidates),
                None if start is None else start.score,
                None if winner is None else winner.score,
                one.best if winner is not None else None,
                f"${one.cost_usd:.2f}" if not one.unpriced else f"${one.cost_usd:.2f} + {one.unpriced} unpriced",
                one.stopped,
            )
        )
    columns = (
        *("search", "calls", "proposals", "refused", "candidates", "score, start", "score, best", "best", "cost"),
        "ended by",
    )
    note = "Scores are means over the dev traces, by which the winner was chosen: they flatter it."
    return Table("search", "Search", columns, tuple(rows), (note,))


def candidates_table(search: SearchResult) -> Table:
    """One row a candidate: where it comes from, and its figures on the dev traces."""
    rows = tuple(_row(one, search) for one in search.candidates)
    columns = ("candidate", "from", "score", "recall", "localised", "precision", "groundless", "failed", "calls", "")
    note = "Front: no other candidate is at least as good in every objective and better in one."
    return Table(f"candidates_{name_of(search)}", f"{name_of(search)}: candidates on dev", columns, rows, (note,))


def _row(one: Candidate, search: SearchResult) -> tuple[Cell, ...]:
    marks = [
        mark
        for mark, holds in (
            ("best", one.number == search.best),
            ("front", one.number in search.front),
            ("start", one.number == 0),
        )
        if holds
    ]
    return (
        str(one.number),
        " ".join(map(str, one.parents)) or None,
        one.score,
        rate(one.caught, one.errors),
        rate(one.localised, one.errors),
        one.objectives.get("precision"),
        one.groundless,
        one.failed,
        one.calls,
        ", ".join(marks) or None,
    )


def refusals_table(search: SearchResult) -> Table | None:
    """Proposals that a guard refused, and why; None when it refused none."""
    rows = tuple(
        (
            str(number),
            one.dimension,
            None if one.parent is None else str(one.parent),
            one.calls,
            one_line(one.reason, MAX_REASON),
        )
        for number, one in enumerate(search.rejected, 1)
    )
    if not rows:
        return None
    columns = ("proposal", "dimension", "from", "calls", "reason")
    return Table(f"refused_{name_of(search)}", f"{name_of(search)}: proposals refused", columns, rows)


def name_of(search: SearchResult) -> str:
    """The dimensions searched, as one word."""
    return "-".join(search.dimensions)
