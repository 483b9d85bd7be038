"""The OpenTelemetry SDK's spans of this process, given to captures. The door to the SDK: imported by `capture` alone.

Every SDK `TracerProvider` of the process gets one span processor, whoever made it and whenever: those that exist when
the first capture begins, and those made later. Where no provider is set, one is put in its place that a later
`set_tracer_provider` of the code under test still replaces.
"""

from __future__ import annotations

import functools
import gc
import threading
from collections import OrderedDict
from typing import Any

from opentelemetry import trace as api
from opentelemetry.sdk.trace import (
    ConcurrentMultiSpanProcessor,
    ReadableSpan,
    SpanProcessor,
    SynchronousMultiSpanProcessor,
    TracerProvider,
)

from gpa.errors import UsageError
from gpa.ingest.capture import Capture, Key
from gpa.ingest.formats.values import kind_of
from gpa.ingest.spans import Attributes, Event, Link, Scope, Span, Status

_REMEMBERED = 10_000
"""Spans whose capture is remembered, so that children that start late find it."""
_STATUSES: dict[str, Status] = {"UNSET": "unset", "OK": "ok", "ERROR": "error"}
_PROCESSORS = (SynchronousMultiSpanProcessor, ConcurrentMultiSpanProcessor)


class Router(SpanProcessor):
    """Gives each span to the captures that are active when it starts, and its children to the same."""

    def __init__(self) -> None:
        self._captures: tuple[Capture, ...] = ()
        self._owners: OrderedDict[Key, tuple[Capture, ...]] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, captured: Capture) -> None:
        """From now on spans are given to this capture too."""
        with self._lock:
            self._captures = (*self._captures, captured)

    def end(self, captured: Capture) -> None:
        """No new trace is given to it any more."""
        with self._lock:
            self._captures = tuple(one for one in self._captures if one is not captured)

    def on_start(self, span: ReadableSpan, parent_context: object = None) -> None:  # noqa: ARG002 - the SDK's signature
        """A span of a piece of work that an earlier capture began stays there: it is late, not of this one."""
        context = span.get_span_context()
        if context is None:
            return
        with self._lock:
            parent = span.parent
            begun = self._owners.get((parent.trace_id, parent.span_id)) if parent is not None else None
            late = begun is not None and bool(begun) and not any(one.active for one in begun)
            owners = begun if late and begun is not None else self._captures
            self._owners[context.trace_id, context.span_id] = owners
            while len(self._owners) > _REMEMBERED:
                self._owners.popitem(last=False)
        for one in owners:
            one.add((context.trace_id, context.span_id), span)

    def on_end(self, span: ReadableSpan) -> None:
        """What ended has its last attributes."""
        context = span.get_span_context()
        if context is not None:
            key = (context.trace_id, context.span_id)
            for one in self._owners.get(key, ()):
                one.add(key, span)

    def shutdown(self) -> None:
        """Nothing to close: a provider of the code under test may be shut down, captures go on."""

    def force_flush(self, timeout_millis: int = 30_000) -> bool:  # noqa: ARG002 - the SDK's signature
        """Nothing is held back."""
        return True


def span_of(span: ReadableSpan) -> Span:
    """An SDK span as ours: what its OTLP export would be read as."""
    context = span.get_span_context()
    assert context is not None  # only spans with one are kept
    scope = span.instrumentation_scope
    return Span(
        f"{context.trace_id:032x}",
        f"{context.span_id:016x}",
        f"{span.parent.span_id:016x}" if span.parent is not None else None,
        span.name,
        kind_of(span.kind.name.lower()),
        span.start_time or 0,
        span.end_time or 0,
        _STATUSES.get(span.status.status_code.name, "unset"),
        span.status.description or "",
        _attributes(span.attributes),
        tuple(Event(event.name, event.timestamp, _attributes(event.attributes)) for event in span.events),
        tuple(
            Link(f"{link.context.trace_id:032x}", f"{link.context.span_id:016x}", _attributes(link.attributes))
            for link in span.links
        ),
        _attributes(span.resource.attributes),
        Scope(scope.name or "", scope.version or "") if scope is not None else Scope(),
        span.dropped_attributes + span.dropped_events + span.dropped_links,
    )


def _attributes(found: Any) -> Attributes:
    return {str(key): _plain(value) for key, value in dict(found or {}).items()}


def _plain(value: Any) -> Any:
    """Lists and dicts as JSON has them; the SDK holds tuples and, from 1.40 on, mappings."""
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if hasattr(value, "items"):
        return _attributes(value)
    return value


@functools.cache
def installed() -> Router:
    """The router, which every provider of the process knows from now on."""
    router = Router()
    made = TracerProvider.__init__

    @functools.wraps(made)
    def init(self: TracerProvider, *args: Any, **options: Any) -> None:
        made(self, *args, **options)
        self.add_span_processor(router)

    # Not every provider becomes the global one (instrumentations take theirs as an argument), and a tracer may outlive
    # its provider; what both hold is the list of processors.
    existing = [one for one in gc.get_objects() if isinstance(one, _PROCESSORS)]
    TracerProvider.__init__ = init  # type: ignore[method-assign]
    for processors in existing:
        processors.add_span_processor(router)
    current: Any = api.get_tracer_provider()
    if isinstance(current, api.ProxyTracerProvider):
        # Not by `set_tracer_provider`, which works once: the code under test may want to call it.
        api._TRACER_PROVIDER = TracerProvider(shutdown_on_exit=False)  # noqa: SLF001
    elif not isinstance(current, TracerProvider):
        if not hasattr(current, "add_span_processor"):
            kind = f"{type(current).__module__}.{type(current).__qualname__}"
            raise UsageError(f"expected a tracer provider that takes span processors, found {kind}")
        current.add_span_processor(router)
    return router
