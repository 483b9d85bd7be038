"""Plain data -> one HTML page that needs nothing beside it: styles, script and data are inside.

Nothing from a trace is ever markup. The template escapes; data for the script is deflated and written as base64; the
script makes text nodes only; and a content security policy lets nothing run or load but the one script and the one
style sheet of this package, by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec
from markupsafe import Markup

from gpa.judges.verdict import GRAVITY
from gpa.report.findings import ShownFinding
from gpa.report.links import TraceLinks
from gpa.report.overview import Cell, Overview, ShownTrace
from gpa.report.pieces import pieces
from gpa.report.steps import ShownTranscript
from gpa.report.visible import visible

if TYPE_CHECKING:
    from jinja2 import Environment

    from gpa.regression import Regression

TEMPLATES = Path(__file__).parent.parent / "templates" / "report"
SCRIPTS = ("dom", "data", "texts", "filters", "lists", "timeline", "transcript", "keys", "main")
"""Parts of the one script, in order."""
MAX_STATIC = 500
"""Findings and traces that are listed for a browser without JavaScript."""


@dataclass(frozen=True)
class Content:
    """What every page of a report shows or knows."""

    title: str
    made: str
    dimensions: Mapping[str, str]
    overview: Overview
    traces: Sequence[ShownTrace]
    """Worst first."""
    findings: Sequence[ShownFinding]
    """By trace."""
    worst: Mapping[int, ShownTranscript] = field(default_factory=dict)
    """By position of the trace: transcripts that are readable without JavaScript."""
    links: TraceLinks | None = None
    comparison: Regression | None = None
    baseline: str = ""


def packed(value: Any) -> str:
    """The value as JSON, deflated, in base64: what the page's script unpacks."""
    return base64.b64encode(zlib.compress(msgspec.json.encode(value), 6)).decode()


def first_page(content: Content, blocks: Mapping[int, str], *, pages: bool = False) -> str:
    """The page with the overview and the lists; transcripts (packed, by position of the trace) as far as they fit."""
    index = packed({"traces": content.traces, "findings": content.findings})
    counted = [finding for finding in content.findings if not finding.suppressed]
    gravest = sorted(counted, key=lambda finding: -GRAVITY[finding.severity])[:MAX_STATIC]
    config = _config(content, home="")
    return _rendered("page.html", content, blocks, config, index=index, pages=pages, gravest=gravest)


def part_page(content: Content, blocks: Mapping[int, str], home: str) -> str:
    """A page that holds only these transcripts; `home` leads to the first page."""
    chosen = {number: content.traces[number] for number in blocks}
    findings = [finding for finding in content.findings if finding.trace in chosen]
    index = packed({"traces": list(chosen.values()), "numbers": list(chosen), "findings": findings})
    return _rendered("part.html", content, blocks, _config(content, home=home), index=index, home=home)


def _config(content: Content, home: str) -> dict[str, Any]:
    return {
        "title": content.title,
        "dimensions": content.dimensions,
        "home": home,
        "links": content.links._asdict() if content.links else None,
    }


def _rendered(template: str, content: Content, blocks: Mapping[int, str], config: dict[str, Any], **more: Any) -> str:
    style, script = _style(), _script()
    return (
        _environment()
        .get_template(template)
        .render(
            content=content,
            blocks=[(number, Markup(block)) for number, block in blocks.items()],  # noqa: S704 - base64
            config=_embedded(config),
            style=style,
            script=script,
            policy=_policy(style, script),
            max_static=MAX_STATIC,
            **more,
        )
    )


def _embedded(value: Any) -> Markup:
    """The value as JSON that cannot end the element it stands in."""
    text = msgspec.json.encode(value).decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 - no character of markup is left


def _policy(style: str, script: str) -> str:
    def digest(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    return (
        f"default-src 'none'; script-src 'sha256-{digest(script)}'; style-src 'sha256-{digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )


@cache
def _style() -> Markup:
    return Markup((TEMPLATES / "style.css").read_text(encoding="utf-8"))  # noqa: S704 - ours


@cache
def _script() -> Markup:
    parts = "\n".join((TEMPLATES / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS)
    return Markup(f'(() => {{\n"use strict";\n{parts}\n}})();\n')  # noqa: S704 - ours


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "cell_class": _cell_class,
        "cell_text": _cell_text,
        "duration": _duration,
        "usd": _usd,
        "visible": visible,
        "path": _path,
    }
    environment.globals |= {"pieces": pieces, "bar": _bar}
    return environment


def _cell_class(cell: Cell) -> str:
    if cell is None:
        return "none"
    return {"n/a": "na", "failed": "failed"}.get(cell, "") if isinstance(cell, str) else f"s{round(cell)}"


def _cell_text(cell: Cell) -> str:
    """`2`, `1.5`, `n/a`, `failed`, or a dash."""
    return "–" if cell is None else cell if isinstance(cell, str) else f"{cell:.2f}".rstrip("0").rstrip(".")


def _duration(milliseconds: float) -> str:
    """`420 ms`, `5.9 s`, `3m 20s`, `2h 5m`."""
    seconds = milliseconds / 1000
    if seconds < 1:
        return f"{milliseconds:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{int(seconds // 60)}m {int(seconds % 60)}s"
    return f"{int(seconds // 3600)}h {int(seconds % 3600 // 60)}m"


def _usd(amount: float) -> str:
    """An amount with as many digits as it has to say."""
    return f"${amount:,.2f}" if amount >= 1 or not amount else f"${amount:.4f}"


def _path(text: str) -> str:
    """A piece of an address (`#trace/span`), as the script's encodeURIComponent writes it."""
    return quote(text, safe="!~*'()-._")


def _bar(amounts: Iterable[int]) -> list[tuple[int, float, float]]:
    """(position, start, width) of each amount that is not 0, in percent of their sum."""
    sizes = list(amounts)
    whole = sum(sizes) or 1
    return [
        (number, 100 * sum(sizes[:number]) / whole, 100 * size / whole) for number, size in enumerate(sizes) if size
    ]
