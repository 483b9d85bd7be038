"""What the live page shows, as plain data: scores, worst findings and traces of the store, numbers of the moment."""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from gpa.errors import StoreError
from gpa.evaluation import Evaluation, Summary
from gpa.judges.scoring import MODEL
from gpa.judges.verdict import AnyResult, NotApplicable, Verdict
from gpa.store import Kept, Store

SHOWN = 100
"""Traces on a page; the scores and worst findings of the first page are of these."""
WORST = 5
MAX_TOKENS = 60_000
"""Of a transcript on its page."""

_FRESH_S = 10.0
"""After which others that share the store may have written to it."""
_STEP = re.compile(r"^\[(s\d+)\] ", re.MULTILINE)


class Fact(NamedTuple):
    """A number at the top of the page."""

    name: str
    value: str
    more: str = ""
    warn: bool = False


class Moment(NamedTuple):
    """What is true now and stands in no table."""

    facts: tuple[Fact, ...]
    notices: tuple[str, ...] = ()
    """What a person should know or do something about."""


class Cell(NamedTuple):
    """A score, or why there is none."""

    text: str
    kind: str
    """CSS class."""
    title: str


class Row(NamedTuple):
    """A trace."""

    transcript_hash: str
    trace_id: str
    when: str
    goal: str
    session: str
    revision: int
    steps: int
    cells: tuple[Cell, ...]
    findings: int
    cost: str


class Listed(NamedTuple):
    """Traces in a table, a column for each dimension that was judged."""

    codes: tuple[str, ...]
    names: Mapping[str, str]
    rows: tuple[Row, ...]
    costs: bool
    """Whether a model judged any of them."""


class Part(NamedTuple):
    """A stretch of a bar, in percent."""

    score: int
    x: float
    width: float


class Score(NamedTuple):
    """A dimension over the traces shown."""

    code: str
    name: str
    mean: str
    parts: tuple[Part, ...]
    spoken: str
    not_applicable: int
    failed: int
    findings: int


class Found(NamedTuple):
    """A finding in the list of the worst."""

    severity: str
    codes: str
    category: str
    check: str
    trace_id: str
    span_id: str
    problem: str
    quote: str


class Now(NamedTuple):
    """The page."""

    facts: tuple[Fact, ...]
    notices: tuple[str, ...]
    scores: tuple[Score, ...]
    worst: tuple[Found, ...]
    traces: Listed
    endpoint: str


def now_of(kept: Sequence[Kept], moment: Moment, *, names: Mapping[str, str], endpoint: str) -> Now:
    """The page of these traces, the latest first."""
    results = tuple(result for one in kept for result in one.results)
    evaluation = Evaluation(results, names=names)
    scored = tuple(result for one in kept for result in _deciding(one.results))
    counts = Counter((result.judge, result.score) for result in scored if isinstance(result, Verdict))
    return Now(
        facts=moment.facts,
        notices=moment.notices,
        scores=tuple(_score(row, counts) for row in Evaluation(scored, names=names).summary()),
        worst=tuple(
            Found(
                located.finding.severity,
                " ".join(located.dimensions),
                located.finding.category,
                located.finding.check or "",
                located.trace_id,
                located.finding.span_ids[0] if located.finding.span_ids else "",
                located.finding.problem,
                located.finding.quote,
            )
            for located in evaluation.worst(WORST)
        ),
        traces=listed(kept, names),
        endpoint=endpoint,
    )


def listed(kept: Sequence[Kept], names: Mapping[str, str]) -> Listed:
    """These traces in their order."""
    results = [result for one in kept for result in one.results]
    judged = {result.judge for result in results}
    codes = tuple(code for code in dict.fromkeys((*names, *sorted(judged))) if code in judged)
    rows = tuple(_row(one, codes) for one in kept)
    return Listed(codes, names, rows, costs=any(result.model != MODEL for result in results))


class SessionPage(NamedTuple):
    """The traces of a session, the oldest first."""

    session: str
    traces: Listed
    is_cut: bool
    """Whether only the newest are shown."""


def session_of(store: Store, session: str, *, names: Mapping[str, str]) -> SessionPage | None:
    """The page of a session, None when the store has no trace of it."""
    found = store.session(session, SHOWN + 1) if session else []
    shown = found[-SHOWN:]
    return SessionPage(shown[0].session, listed(shown, names), len(found) > SHOWN) if shown else None


class Place(NamedTuple):
    """A span of a finding and the step that shows it."""

    span_id: str
    label: str


class FoundThere(NamedTuple):
    """A finding on the page of its trace."""

    severity: str
    codes: str
    category: str
    check: str
    places: tuple[Place, ...]
    problem: str
    quote: str


class Said(NamedTuple):
    """A verdict on the page of its trace."""

    text: str
    kind: str
    code: str
    name: str
    model: str
    sample: int
    said: str


class Passage(NamedTuple):
    """A step of the transcript."""

    label: str
    text: str
    cited: bool


class TracePage(NamedTuple):
    """One trace."""

    trace_id: str
    goal: str
    when: str
    session: str
    revision: int
    steps: int
    verdicts: tuple[Said, ...]
    found: tuple[FoundThere, ...]
    parts: tuple[Passage, ...]


def trace_of(store: Store, trace_id: str, *, names: Mapping[str, str]) -> TracePage | None:
    """The page of the newest revision of a trace, None when the store does not have it."""
    found = store.kept(store.hashes_of(trace_id), whole=True)
    if not found:
        return None
    kept = max(found, key=lambda one: (one.revision, one.created))
    labels = (
        {}
        if kept.transcript is None
        else {span_id: step.label for step in kept.transcript.steps for span_id in step.span_ids}
    )
    worst = Evaluation(kept.results).worst(sys.maxsize)
    cited = {labels[span_id] for one in worst for span_id in one.finding.span_ids if span_id in labels}
    text = "" if kept.transcript is None else kept.transcript.render(MAX_TOKENS)
    return TracePage(
        trace_id=kept.trace_id,
        goal=kept.goal,
        when=_when(kept.created),
        session=kept.session,
        revision=kept.revision,
        steps=kept.steps,
        verdicts=tuple(
            Said(
                *_cell(result)[:2],
                result.judge,
                names.get(result.judge, result.judge),
                result.model,
                result.sample,
                _said(result),
            )
            for result in kept.results
        ),
        found=tuple(
            FoundThere(
                one.finding.severity,
                " ".join(one.dimensions),
                one.finding.category,
                one.finding.check or "",
                tuple(Place(span_id, labels.get(span_id, "")) for span_id in one.finding.span_ids),
                one.finding.problem,
                one.finding.quote,
            )
            for one in worst
        ),
        parts=tuple(_passages(text, cited)),
    )


class Cached:
    """The traces on the page, read from the store again when something is new, or may be: many may be watching."""

    def __init__(self, store: Store, version: Callable[[], int]) -> None:
        self._store, self._version = store, version
        self._at: int | None = None
        self._read_s = 0.0
        self._kept: list[Kept] = []

    def __call__(self) -> list[Kept]:
        """The latest first."""
        version, now = self._version(), time.monotonic()
        if version != self._at or now - self._read_s > _FRESH_S:
            with suppress(StoreError):  # it is away: what was there is shown until it is back
                self._kept = self._store.newest(SHOWN)
                self._at, self._read_s = version, now
        return self._kept


def _passages(text: str, cited: set[str]) -> list[Passage]:
    """The rendered transcript, cut where a step begins: recorded text cannot look like a label (`ingest/labels.py`).

    A step that is shown in two places (`[s1] gave back`) has its name at the first only.
    """
    starts = [match.start() for match in _STEP.finditer(text)]
    seen: set[str] = set()
    passages = [Passage("", text[: starts[0]], cited=False)] if starts and starts[0] else []
    for start, stop in zip(starts, [*starts[1:], len(text)], strict=True):
        match = _STEP.match(text, start)
        assert match is not None
        label = match[1]
        passages.append(Passage("" if label in seen else label, text[start:stop].rstrip("\n"), label in cited))
        seen.add(label)
    return passages or ([Passage("", text, cited=False)] if text else [])


def _score(row: Summary, counts: Counter[tuple[str, int]]) -> Score:
    parts, x = [], 0.0
    for score in range(4):
        width = 100 * counts[row.dimension, score] / row.scored if row.scored else 0.0
        if width:
            parts.append(Part(score, round(x, 2), round(width, 2)))
        x += width
    spoken = ", ".join(f"{counts[row.dimension, score]} with {score}" for score in range(4))
    mean = "–" if row.mean is None else f"{row.mean:.2f}"
    return Score(row.dimension, row.name, mean, tuple(parts), spoken, row.not_applicable, row.failed, row.findings)


def _row(kept: Kept, codes: Sequence[str]) -> Row:
    deciding = {result.judge: result for result in _deciding(kept.results)}
    cells = [_cell(deciding[code]) if code in deciding else Cell("", "score-na", "") for code in codes]
    findings = Evaluation(kept.results).worst(sys.maxsize)
    cost = sum(result.cost_usd or 0.0 for result in kept.results)
    return Row(
        kept.transcript_hash,
        kept.trace_id,
        _when(kept.created),
        kept.goal,
        kept.session,
        kept.revision,
        kept.steps,
        tuple(cells),
        len(findings),
        f"${cost:.4f}" if cost else "",
    )


def _deciding(results: Sequence[AnyResult]) -> list[AnyResult]:
    """One result a dimension: a model's over that of the checks, the first sample over its repetitions."""
    found: dict[str, AnyResult] = {}
    for result in sorted(results, key=lambda result: (result.model == MODEL, result.sample)):
        found.setdefault(result.judge, result)
    return list(found.values())


def _cell(result: AnyResult) -> Cell:
    if isinstance(result, Verdict):
        return Cell(str(result.score), f"score-{result.score}", f"{result.model}: {result.rationale}")
    if isinstance(result, NotApplicable):
        return Cell("n/a", "score-na", f"{result.model}: {result.reason}")
    return Cell("!", "score-failed", f"{result.model}: could not be judged: {result.message}")


def _said(result: AnyResult) -> str:
    if isinstance(result, Verdict):
        return result.rationale
    return result.reason if isinstance(result, NotApplicable) else f"{result.error_type}: {result.message}"


def _when(created: str) -> str:
    return datetime.fromisoformat(created).strftime("%Y-%m-%d %H:%M:%S")
