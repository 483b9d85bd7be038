"""Two small pictures of a search as SVG text: the score over metric calls, and the candidates by recall and precision.

Written by hand, so that a report is one file without scripts; colours follow the reader's light or dark setting.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from gpa.ingest.plain import plain
from gpa.optimize.results import Candidate, SearchResult

WIDTH, HEIGHT = 560, 260
LEFT, RIGHT, TOP, BOTTOM = 48, 14, 16, 40
TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


def score_over_calls(result: SearchResult) -> str:
    """Each candidate's score on the dev traces at the metric call it was known at, with the best so far as a line."""
    most = max([result.calls, *(one.calls for one in result.candidates), 1])
    best = 0.0
    line: list[str] = []
    for one in sorted(result.candidates, key=lambda one: one.calls):
        x = _x(one.calls / most)
        if line:
            line.append(f"{x:.1f},{_y(best):.1f}")
        best = max(best, one.score)
        line.append(f"{x:.1f},{_y(best):.1f}")
    if line:
        line.append(f"{_x(result.calls / most):.1f},{_y(best):.1f}")
    refused = "".join(_cross(_x(one.calls / most), _y(0.0) - 6, f"refused: {one.reason}") for one in result.rejected)
    points = "".join(
        _point(_x(one.calls / most), _y(one.score), one, result, f"score {one.score:.3f}") for one in result.candidates
    )
    body = f'<polyline class="best" points="{" ".join(line)}"/>{refused}{points}'
    return _picture(body, "metric calls", "score on dev", f"{most:,}", "Score over metric calls")


def pareto_front(result: SearchResult) -> str:
    """Each candidate by precision (across) and recall (up); those that no other dominates are filled."""
    points = "".join(
        _point(
            _x(one.objectives.get("precision", 0.0)),
            _y(one.objectives.get("recall", 0.0)),
            one,
            result,
            ", ".join(f"{name} {value:.3f}" for name, value in one.objectives.items()),
        )
        for one in result.candidates
    )
    return _picture(points, "precision on dev", "recall on dev", "1", "Candidates by recall and precision")


def _x(share: float) -> float:
    return LEFT + max(0.0, min(1.0, share)) * (WIDTH - LEFT - RIGHT)


def _y(share: float) -> float:
    return TOP + (1 - max(0.0, min(1.0, share))) * (HEIGHT - TOP - BOTTOM)


def _point(x: float, y: float, one: Candidate, result: SearchResult, said: str) -> str:
    kind = "winner" if one.number == result.best else "front" if one.number in result.front else "candidate"
    title = f"candidate {one.number} (from {_parents(one.parents)}): {said}"
    return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="5"><title>{escape(plain(title))}</title></circle>'


def _parents(parents: Sequence[int]) -> str:
    return " and ".join(map(str, parents)) or "the start"


def _cross(x: float, y: float, said: str) -> str:
    path = f"M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8"
    return f'<path class="refused" d="{path}"><title>{escape(plain(said))}</title></path>'


def _picture(body: str, across: str, up: str, last: str, title: str) -> str:
    grid = "".join(
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{_y(tick):.1f}" y2="{_y(tick):.1f}"/>'
        f'<text x="{LEFT - 6}" y="{_y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>'
        for tick in TICKS
    )
    floor = HEIGHT - BOTTOM + 16
    labels = (
        f'<text x="{LEFT}" y="{floor}" text-anchor="middle">0</text>'
        f'<text x="{WIDTH - RIGHT}" y="{floor}" text-anchor="end">{escape(last)}</text>'
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{floor + 14}" text-anchor="middle">{escape(across)}</text>'
        f'<text transform="translate(12 {(TOP + HEIGHT - BOTTOM) / 2:.0f}) rotate(-90)" text-anchor="middle">'
        f"{escape(up)}</text>"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img" aria-label="{escape(title)}">{grid}{labels}{body}</svg>'
    )
