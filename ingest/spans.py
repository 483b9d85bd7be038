"""What OpenTelemetry says about one run, typed, as a tree; no I/O and no knowledge of LLMs.

A `Span` is what any format is read into; a `Trace` is the tree of the spans that share a trace id.
Attribute values are plain Python: str, bool, int, float, None, bytes, list, dict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from msgspec import Struct, structs

Status = Literal["unset", "ok", "error"]
Attributes = dict[str, Any]

_NEVER = 1 << 64
"""Later than any time: unknown ones are not the earliest."""


class Event(Struct, frozen=True, gc=False):
    """A span event, or a log record that was joined to its span (then `body` may hold the content)."""

    name: str
    time_ns: int = 0
    attributes: Attributes = {}
    body: Any = None


class Link(Struct, frozen=True):
    """A pointer to a span elsewhere; never a parent."""

    trace_id: str
    span_id: str
    attributes: Attributes = {}


class Scope(Struct, frozen=True):
    """The instrumentation library that recorded a span."""

    name: str = ""
    version: str = ""


class Span(Struct, frozen=True, gc=False):
    """One recorded operation. Ids are lower-case hex; times are nanoseconds since 1970, 0 when unknown."""

    trace_id: str
    span_id: str
    parent_id: str | None = None
    name: str = ""
    kind: str = ""
    start_ns: int = 0
    end_ns: int = 0
    status: Status = "unset"
    status_message: str = ""
    attributes: Attributes = {}
    events: tuple[Event, ...] = ()
    links: tuple[Link, ...] = ()
    resource: Attributes = {}
    scope: Scope = Scope()
    dropped: int = 0
    """Attributes, events and links that the producer says it dropped (`dropped*Count` of OTLP)."""

    @property
    def duration_ns(self) -> int:
        """End minus start, or 0 when either is unknown or the clock ran backwards."""
        return max(0, self.end_ns - self.start_ns) if self.start_ns and self.end_ns else 0


class LogRecord(Struct, frozen=True):
    """An OTLP log record that names the span it belongs to."""

    trace_id: str
    span_id: str
    event: Event
    repeat: int = 0
    """How many equal ones stand before it in the same request: a request that is sent again has them again."""


class Trace:
    """The spans of one trace, in start order, as a tree.

    Orphans (their parent is not here) are roots of their own subtree and keep the recorded parent id. Spans with the
    same id are merged: the one that ended later wins, attributes and events of the other are kept where it has none.
    A cycle of parents is cut at its earliest span. Each repair is counted in `warnings`.

    A span without a start time comes after its parent, in order of arrival, as does one that starts with its parent.
    """

    __slots__ = ("_children", "_roots", "spans", "trace_id", "warnings")

    def __init__(self, trace_id: str, spans: Iterable[Span], *, warnings: Iterable[str] = ()) -> None:
        self.trace_id = trace_id
        repairs: Counter[str] = Counter()
        by_id = _merged(spans, repairs)
        tops = _cut_cycles(by_id, repairs)
        self.spans = _in_start_order(by_id, tops)
        children: dict[str, list[Span]] = {}
        roots = []
        for span in self.spans:
            if span.span_id in tops:
                roots.append(span)
            else:
                children.setdefault(span.parent_id or "", []).append(span)
        self._roots = tuple(roots)
        self._children = {parent: tuple(found) for parent, found in children.items()}
        for span in self.spans:
            if not span.start_ns:
                repairs["without a start time"] += 1
            if not span.end_ns:
                repairs["without an end time"] += 1
            elif span.end_ns < span.start_ns:
                repairs["with an end before the start"] += 1
            if span.dropped:
                repairs["attributes, events or links dropped by the producer"] += span.dropped
            if span.parent_id and span.span_id in tops:
                repairs["with a parent that is not in the trace"] += 1
        self.warnings = (*warnings, *(_sentence(count, repair) for repair, count in repairs.items()))

    def __repr__(self) -> str:
        return f"Trace({self.trace_id!r}, {len(self.spans)} spans)"

    def roots(self) -> tuple[Span, ...]:
        """The spans without a parent here, in start order."""
        return self._roots

    def children(self, span: Span) -> tuple[Span, ...]:
        """The spans directly under a span, in start order."""
        return self._children.get(span.span_id, ())

    def walk(self) -> Iterator[tuple[Span, int]]:
        """Every span once with its depth (roots have 0), each before its children."""
        stack = [(span, 0) for span in reversed(self._roots)]
        while stack:
            span, depth = stack.pop()
            yield span, depth
            stack.extend((child, depth + 1) for child in reversed(self.children(span)))


def _sentence(count: int, repair: str) -> str:
    if not repair.startswith("with"):
        return f"{count} {repair}"
    return f"{count} span {repair}" if count == 1 else f"{count} spans {repair}"


def _merged(spans: Iterable[Span], repairs: Counter[str]) -> dict[str, Span]:
    """The spans by id, in order of arrival, those recorded more than once as one."""
    by_id: dict[str, Span] = {}
    for span in spans:
        other = by_id.get(span.span_id)
        if other is None:
            by_id[span.span_id] = span
        elif _same(other, span):
            repairs["duplicate spans merged"] += 1
        else:
            repairs["duplicate spans with different content merged"] += 1
            by_id[span.span_id] = _merge(other, span)
    return by_id


def _same(one: Span, other: Span) -> bool:
    try:
        return one == other
    except RecursionError:  # values nested as deep as Python can call
        return False


def _merge(earlier: Span, later: Span) -> Span:
    """One span of two records of it: the one that ended later wins, the later record when that says nothing."""
    winner, loser = (earlier, later) if earlier.end_ns > later.end_ns else (later, earlier)
    events = (*(event for event in loser.events if event not in winner.events), *winner.events)
    return structs.replace(
        winner,
        parent_id=winner.parent_id or loser.parent_id,
        name=winner.name or loser.name,
        kind=winner.kind or loser.kind,
        start_ns=winner.start_ns or loser.start_ns,
        end_ns=winner.end_ns or loser.end_ns,
        status=loser.status if winner.status == "unset" else winner.status,
        status_message=winner.status_message or loser.status_message,
        attributes=loser.attributes | winner.attributes,
        events=tuple(sorted(events, key=lambda event: event.time_ns)) if winner.events and loser.events else events,
        links=(*winner.links, *(link for link in loser.links if link not in winner.links)),
        resource=loser.resource | winner.resource,
        scope=winner.scope if winner.scope.name else loser.scope,
        dropped=max(winner.dropped, loser.dropped),
    )


def _cut_cycles(by_id: dict[str, Span], repairs: Counter[str]) -> set[str]:
    """The ids of the roots; spans that are their own ancestors lose their parent in `by_id` and are among them."""
    tops = {span.span_id for span in by_id.values() if span.parent_id not in by_id}
    settled = set(tops)
    for start in by_id:
        path: dict[str, None] = {}
        at = start
        while at not in settled and at not in path:
            path[at] = None
            at = by_id[at].parent_id or ""
        if at in path:
            ids = list(path)
            cycle = ids[ids.index(at) :]
            first = min(cycle, key=lambda span_id: by_id[span_id].start_ns or _NEVER)
            what = "a parent among its own descendants" if len(cycle) > 1 else "itself as parent"
            repairs[f"with {what}, made a root"] += 1
            by_id[first] = structs.replace(by_id[first], parent_id=None)
            tops.add(first)
        settled.update(path)
    return tops


def _in_start_order(by_id: dict[str, Span], tops: set[str]) -> tuple[Span, ...]:
    """The spans sorted by start, then depth, then arrival; an unknown start counts as that of the parent."""
    keys: dict[str, tuple[int, int]] = {}
    for span in by_id.values():
        path = []
        at = span
        while at.span_id not in keys and at.span_id not in tops:
            path.append(at)
            at = by_id[at.parent_id or ""]
        start, depth = keys.get(at.span_id) or keys.setdefault(at.span_id, (at.start_ns, 0))
        for below in reversed(path):
            start, depth = below.start_ns or start, depth + 1
            keys[below.span_id] = (start, depth)
    return tuple(sorted(by_id.values(), key=lambda span: keys[span.span_id]))
