"""A report in files: one page, or a first page and a folder of parts beside it when the transcripts are many."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from msgspec.structs import replace as changed

from gpa.errors import InputError, UsageError
from gpa.ingest.problems import Problem
from gpa.ingest.transcript import Transcript
from gpa.judges.verdict import AnyResult, Severity
from gpa.locations import Recorded, Traced, recorded, traced
from gpa.report.findings import ShownFinding, shown_findings, with_new
from gpa.report.links import trace_links
from gpa.report.overview import ShownTrace, cells, dimensions_of, mean_score, overview, severities, worst_first
from gpa.report.page import Content, first_page, packed, part_page
from gpa.report.reading import Judged, judged, name_of
from gpa.report.steps import ShownTranscript, shown_transcript
from gpa.report.visible import excerpt, visible

if TYPE_CHECKING:
    from gpa.regression import Regression

MAX_FILE_BYTES = 24 * 2**20
"""Packed transcripts that one file holds; a browser opens that within a second."""
PART_BYTES = 8 * 2**20
"""Packed transcripts in each part of a folder."""
READABLE = 5
"""Traces, the worst, that are written out for a browser without JavaScript."""
MAX_GOAL = 300


class Written(NamedTuple):
    """What was written."""

    path: Path
    """The page to open."""
    files: int
    size: int
    """Bytes of all files."""
    traces: int
    findings: int
    without_transcript: int
    problems: tuple[Problem, ...]
    """Of the files of traces that were read."""
    folder_because_large: bool


class _Shown(NamedTuple):
    """A trace on its way into the report."""

    row: ShownTrace
    findings: list[ShownFinding]
    block: str


def write_report(
    source: str | Path,
    output: str | Path,
    *,
    traces: Iterable[str | Path] = (),
    model: str | None = None,
    baseline: str | Path | None = None,
    trace_url: str | None = None,
    title: str | None = None,
    max_file_bytes: int = MAX_FILE_BYTES,
    progress: Callable[[int, int], None] | None = None,
) -> Written:
    """Write the report of a store (or a file of result lines) and say what was written.

    Args:
        source: A store (SQLite file or database URL), or result lines.
        output: An HTML file, or a folder (it exists, or the name ends in a slash): `index.html` and parts in it.
        traces: Files or folders of traces, where the source holds no transcripts.
        model: Only results of this model (`checks`, or provider/name).
        baseline: Another store or file of result lines to compare with.
        trace_url: Template or preset by which findings link to a tracing tool, see `gpa.report.links`.
        title: Heading of the report; the name of the source when None.
        max_file_bytes: Packed transcripts that one file may hold; beyond, there are parts beside it.
        progress: Called with traces done and traces in all.

    Raises `InputError`, `StoreError` or `UsageError` when something cannot be read, written or is contradictory.
    """
    links = None if trace_url is None else trace_links(trace_url)
    run = judged(source, model=model, traces=traces)
    if not run.evaluation.results:
        of = f" of model {model}" if model else ""
        raise InputError(f"{run.name}: expected results to report, found none{of}")
    by_trace = worst_first(run.evaluation)
    dimensions = dimensions_of(run.evaluation)
    shown, worst, places = _shown(run, by_trace, tuple(dimensions), baseline is not None, progress)
    findings = [finding for one in shown for finding in one.findings]
    comparison = None if baseline is None else _compared(baseline, run, places, model)
    if comparison is not None:
        findings = with_new(findings, [one.row.id for one in shown], comparison.new)
    content = Content(
        title=visible(title or run.name),
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        dimensions=dimensions,
        overview=overview(run.evaluation, findings),
        traces=[one.row for one in shown],
        findings=findings,
        worst=worst,
        links=links,
        comparison=comparison,
        baseline="" if baseline is None else visible(name_of(baseline)),
    )
    page, is_folder = _page_path(output)
    blocks = {number: one.block for number, one in enumerate(shown) if one.block}
    large = sum(map(len, blocks.values())) > max_file_bytes
    files = _in_parts(content, blocks, page, max_file_bytes) if is_folder or large else ((page, content, blocks),)
    sizes = [
        _write(path, first_page(of, held, pages=of is not content) if path == page else part_page(of, held, _up(page)))
        for path, of, held in files
    ]
    return Written(
        path=page,
        files=len(sizes),
        size=sum(sizes),
        traces=len(shown),
        findings=sum(not finding.suppressed for finding in findings),
        without_transcript=len(shown) - len(places),
        problems=tuple(run.problems),
        folder_because_large=large and not is_folder,
    )


def _shown(
    run: Judged,
    by_trace: dict[str, list[AnyResult]],
    dimensions: tuple[str, ...],
    compared: bool,
    progress: Callable[[int, int], None] | None,
) -> tuple[list[_Shown], dict[int, ShownTranscript], dict[str, Traced | None]]:
    """Every trace, worst first; the worst ones written out; and where the spans of each are, for the comparison."""
    numbers = {trace_id: number for number, trace_id in enumerate(by_trace)}
    shown: dict[str, _Shown] = {}
    worst: dict[int, ShownTranscript] = {}
    places: dict[str, Traced | None] = {}

    def show(trace_id: str, transcript: Transcript | None) -> None:
        number, results = numbers[trace_id], by_trace[trace_id]
        findings = shown_findings(number, results, transcript)
        page = shown_transcript(trace_id, results, transcript, findings)
        row = _row(trace_id, results, transcript, findings, dimensions)
        shown[trace_id] = _Shown(row, findings, packed(page))
        if number < READABLE and transcript is not None:
            worst[number] = page
        if progress is not None:
            progress(len(shown), len(by_trace))

    for transcript in run.transcripts():
        show(transcript.trace_id, transcript)
        places[transcript.trace_id] = traced(transcript) if compared else None
    for trace_id in by_trace:
        if trace_id not in shown:
            show(trace_id, None)
    return [shown[trace_id] for trace_id in by_trace], dict(sorted(worst.items())), places


def _row(
    trace_id: str,
    results: Sequence[AnyResult],
    transcript: Transcript | None,
    findings: Sequence[ShownFinding],
    dimensions: tuple[str, ...],
) -> ShownTrace:
    steps = transcript.steps if transcript else ()
    timed = [step for step in steps if step.start_ns]
    begin = min((step.start_ns for step in timed), default=0)
    return ShownTrace(
        id=visible(trace_id),
        goal=excerpt(transcript.goal, MAX_GOAL) if transcript else "",
        agents=tuple(dict.fromkeys(visible(agent.name) for agent in transcript.agents)) if transcript else (),
        steps=len(steps),
        failed_steps=sum(bool(step.error) or step.status == "error" for step in steps),
        duration=(max((step.start_ns + step.duration_ns for step in timed), default=0) - begin) / 1e6,
        cells=cells(results, dimensions),
        mean=mean_score(results),
        severities=severities(findings),
        gravest=_gravest(findings),
    )


def _gravest(findings: Sequence[ShownFinding]) -> tuple[Severity, str, str, int] | None:
    for number, finding in enumerate(findings):
        if not finding.suppressed:
            return finding.severity, excerpt(finding.problem, MAX_GOAL), next(iter(finding.spans), ""), number
    return None


def _compared(baseline: str | Path, run: Judged, places: dict[str, Traced | None], model: str | None) -> Regression:
    from gpa.regression import compare

    known = {trace_id: place for trace_id, place in places.items() if place is not None}
    return compare(recorded(baseline, model=model), Recorded(run.evaluation, known))


def _page_path(output: str | Path) -> tuple[Path, bool]:
    """The page to open, and whether a folder was asked for."""
    path = Path(output).expanduser()
    is_folder = str(output).endswith(("/", os.sep)) or (str(output) != "" and path.is_dir())
    if not is_folder and path.suffix.lower() not in {".html", ".htm"}:
        raise UsageError(f"{output or '--output'}: expected a name that ends in .html, or a folder that ends in /")
    return (path / "index.html" if is_folder else path), is_folder


def _in_parts(
    content: Content, blocks: dict[int, str], page: Path, max_file_bytes: int
) -> Iterator[tuple[Path, Content, dict[int, str]]]:
    """The first page without transcripts, then parts of as many as fit, worst first."""
    parts: list[dict[int, str]] = [{}]
    held = 0
    for number, block in blocks.items():
        if parts[-1] and held + len(block) > min(PART_BYTES, max_file_bytes):
            parts.append({})
            held = 0
        parts[-1][number] = block
        held += len(block)
    folder = page.parent / f"{page.stem}_parts"
    files = {number: f"{folder.name}/{at:04d}.html" for at, part in enumerate(parts, 1) for number in part}
    rows = [changed(row, page=files.get(number, "")) for number, row in enumerate(content.traces)]
    content = replace(content, traces=rows)
    yield page, content, {}
    for at, part in enumerate(parts, 1):
        yield folder / f"{at:04d}.html", content, part


def _up(page: Path) -> str:
    return f"../{quote(page.name)}"


def _write(path: Path, text: str) -> int:
    data = text.encode("utf-8", "replace")
    try:
        if path.parent.name:
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror or error})") from error
    return len(data)
