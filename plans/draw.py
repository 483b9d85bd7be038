"""A picture as Mermaid, as DOT, as SVG, or for a terminal. The same picture always gives the same bytes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import escape
from itertools import pairwise
from textwrap import wrap

from gpa.plans.picture import Node, Picture

COLOURS = ("#cfe2f3", "#fde3c8", "#d5e8d4", "#e8d5ee", "#fbe0e0", "#fff2b8", "#d0ece7", "#e3e3e3")
"""Of the agents, in turn; dark text can be read on each."""

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_CHARACTER = 7.3
_LINE = 16
_PADDING = 9
_GAP = 34
_BETWEEN = 26
_WIDEST = 56
"""Sizes of the SVG in pixels, `_WIDEST` in characters."""


def mermaid(picture: Picture) -> str:
    """A Mermaid flowchart; GitHub and most editors show it."""
    lines = ["---", f"title: {_yaml(picture.title)}", "---", "flowchart TD"]
    for number, row in enumerate(_numbered(picture)):
        nodes = [
            f'n{at}["{"<br/>".join(map(_entities, _texts(node)))}"]:::a{_colour(picture, node)}' for at, node in row
        ]
        if len(row) > 1:
            nodes = [f'subgraph g{number}["any order"]', *(f"  {node}" for node in nodes), "end"]
        lines += (f"  {line}" for line in nodes)
    lines += (f"  n{before} --> n{after}" for before, after in _edges(picture))
    lines += (f"  %% {' '.join(remark.split())}" for remark in picture.remarks)
    lines += (f"  classDef a{at} fill:{COLOURS[at % len(COLOURS)]},stroke:#555,color:#111" for at in _used(picture))
    if len(picture.agents) > 1:
        names = [f'l{at}["{_entities(name)}"]:::a{at}' for at, name in enumerate(picture.agents)]
        lines += ['  subgraph legend["agents"]', *(f"    {name}" for name in names), "  end"]
    return "\n".join(lines) + "\n"


def dot(picture: Picture) -> str:
    """A graph for Graphviz."""
    title = _left((picture.title, *picture.remarks))
    lines = [
        "digraph workflow {",
        f'  graph [label="{title}", labelloc=t, labeljust=l];',
        '  node [shape=box, style="rounded,filled", fontname="monospace", fontsize=11];',
    ]
    for number, row in enumerate(_numbered(picture)):
        nodes = [
            f'n{at} [label="{_left(_texts(node))}", fillcolor="{COLOURS[_colour(picture, node) % len(COLOURS)]}"];'
            for at, node in row
        ]
        if len(row) > 1:
            inside = ('label="any order"; style=dashed;', *nodes)
            nodes = [f"subgraph cluster_{number} {{", *(f"  {node}" for node in inside), "}"]
        lines += (f"  {line}" for line in nodes)
    lines += (f"  n{before} -> n{after};" for before, after in _edges(picture))
    if len(picture.agents) > 1:
        lines.append('  subgraph cluster_legend { label="agents"; style=dotted;')
        for at, name in enumerate(picture.agents):
            lines.append(f'    l{at} [label="{_quoted(name)}", fillcolor="{COLOURS[at % len(COLOURS)]}"];')
        lines.append("  }")
    return "\n".join([*lines, "}"]) + "\n"


def terminal(picture: Picture) -> str:
    """Lines of text; calls between brackets at the left may be made in any order."""
    lines = [picture.title, ""]
    agent = None
    for number, row in enumerate(picture.rows):
        if number:
            lines.append("    ↓")
        if len(picture.agents) > 1 and row[0].agent != agent:
            agent = row[0].agent
            lines.append(f"  {agent}:")
        edges = ["  "] if len(row) == 1 else ["╭ ", *["│ "] * (len(row) - 2), "╰ "]
        for at, (edge, node) in enumerate(zip(edges, row, strict=True)):
            said = "   any order" if len(row) > 1 and at == 0 else ""
            lines.append(f"  {edge}{node.tool}({node.parameters}){said}")
            inner = "│ " if len(row) > 1 and at < len(row) - 1 else "  "
            lines += (f"  {inner}    {remark}" for remark in node.remarks)
    if not picture.rows:
        lines.append("    no call")
    lines += ("", *picture.remarks) if picture.remarks else ()
    return "\n".join(lines) + "\n"


def svg(picture: Picture) -> str:
    """A drawing that browsers and documents show, without scripts, fonts or references to anywhere."""
    texts = {at: _texts(node) for row in _numbered(picture) for at, node in row}
    sizes = {at: (_width(lines), len(lines) * _LINE + 2 * _PADDING) for at, lines in texts.items()}
    head = [line for text in (picture.title, *picture.remarks) for line in wrap(text, 110) or [""]]
    widths = [sum(sizes[at][0] for at, _ in row) + _BETWEEN * (len(row) - 1) for row in _numbered(picture)]
    legend_width = max((_width((name,)) for name in picture.agents), default=0.0) if len(picture.agents) > 1 else 0.0
    width = max([*widths, _width(head)]) + 80 + (2 * legend_width if legend_width else 0)
    top = 24.0 + len(head) * _LINE
    boxes: dict[int, tuple[float, float]] = {}
    shapes: list[str] = []
    for row, row_width in zip(_numbered(picture), widths, strict=True):
        left, height = (width - row_width) / 2, max(sizes[at][1] for at, _ in row)
        if len(row) > 1:
            top += 18
            shapes += _group(left - 12, top - 22, row_width + 24, height + 34)
        for at, node in row:
            boxes[at] = (left, top)
            shapes += _box(left, top, sizes[at], texts[at], COLOURS[_colour(picture, node) % len(COLOURS)])
            left += sizes[at][0] + _BETWEEN
        top += height + _GAP + (12 if len(row) > 1 else 0)
    arrows = [
        _arrow(boxes[a][0] + sizes[a][0] / 2, boxes[a][1] + sizes[a][1], boxes[b][0] + sizes[b][0] / 2, boxes[b][1])
        for a, b in _edges(picture)
    ]
    legend = [
        shape
        for at, name in enumerate(picture.agents if legend_width else ())
        for shape in _box(
            width - legend_width - 16,
            24 + len(head) * _LINE + at * (_LINE + 2 * _PADDING + 6),
            (legend_width, _LINE + 2 * _PADDING),
            (name,),
            COLOURS[at % len(COLOURS)],
        )
    ]
    bottom = max(top, 24 + len(head) * _LINE + len(legend) / 2 * (_LINE + 2 * _PADDING + 6))
    lines = [_line(12, 20 + at * _LINE, text, bold=at == 0) for at, text in enumerate(head)]
    return "\n".join([*_frame(width, bottom, picture.title), *lines, *arrows, *shapes, *legend, "</svg>"]) + "\n"


FORMS: dict[str, Callable[[Picture], str]] = {"terminal": terminal, "mermaid": mermaid, "dot": dot, "svg": svg}


def _numbered(picture: Picture) -> Iterator[list[tuple[int, Node]]]:
    at = 0
    for row in picture.rows:
        yield list(enumerate(row, at))
        at += len(row)


def _edges(picture: Picture) -> Iterator[tuple[int, int]]:
    rows = list(_numbered(picture))
    for before, after in pairwise(rows):
        yield from ((a, b) for a, _ in before for b, _ in after)


def _colour(picture: Picture, node: Node) -> int:
    return picture.agents.index(node.agent) if node.agent in picture.agents else 0


def _used(picture: Picture) -> range:
    return range(max(1, len(picture.agents)))


def _texts(node: Node) -> tuple[str, ...]:
    """The lines of a node: the tool, then its parameters and remarks, wrapped."""
    return (
        node.tool,
        *wrap(node.parameters, _WIDEST),
        *(line for text in node.remarks for line in wrap(text, _WIDEST)),
    )


def _entities(text: str) -> str:
    """The text in Mermaid's entities: quotes, brackets and markup would end or change the label."""
    named = {"#": "#35;", "&": "#amp;", "<": "#lt;", ">": "#gt;", '"': "#quot;", "\n": " ", "`": "#96;"}
    return "".join(named.get(character, character) for character in text)


def _yaml(text: str) -> str:
    return '"' + " ".join(text.replace("\\", "\\\\").replace('"', '\\"').split()) + '"'


def _left(lines: tuple[str, ...]) -> str:
    """The lines for Graphviz, flush left when there are several."""
    return "".join(f"{_quoted(line)}\\l" for line in lines) if len(lines) > 1 else _quoted(lines[0])


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


def _width(lines: tuple[str, ...] | list[str]) -> float:
    return max(map(len, lines), default=0) * _CHARACTER + 2 * _PADDING


def _frame(width: float, height: float, title: str) -> list[str]:
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}"',
        f'  viewBox="0 0 {width:.0f} {height:.0f}" role="img" font-family="monospace" font-size="12">',
        f"<title>{_xml(title)}</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">',
        '  <path d="M0 0L8 4L0 8z" fill="#555"/></marker></defs>',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#fff"/>',
    ]


def _box(left: float, top: float, size: tuple[float, float], lines: tuple[str, ...], colour: str) -> list[str]:
    rectangle = (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{size[0]:.1f}" height="{size[1]:.1f}" rx="5" '
        f'fill="{colour}" stroke="#555"/>'
    )
    texts = "".join(
        _line(left + _PADDING, top + _PADDING + 12 + at * _LINE, text, bold=at == 0) for at, text in enumerate(lines)
    )
    return [rectangle, texts]


def _group(left: float, top: float, width: float, height: float) -> list[str]:
    return [
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" rx="8" fill="none"',
        '  stroke="#888" stroke-dasharray="5 4"/>',
        f'<text x="{left + 8:.1f}" y="{top + 14:.1f}" fill="#666" font-size="11">any order</text>',
    ]


def _arrow(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2 - 1:.1f}" stroke="#555" fill="none" marker-end="url(#tip)"/>'


def _line(x: float, y: float, text: str, *, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="#111"{weight} xml:space="preserve">{_xml(text)}</text>'


def _xml(text: str) -> str:
    return escape(_NOT_XML.sub("�", text))
