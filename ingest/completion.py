"""When a trace that arrives in pieces counts as complete. OTLP has no end marker, so this is a rule on what is there.

A trace is complete when its root is in, no parent that a span names is missing, and nothing came for a while; or when
nothing came for long; or when it is over a limit. A span is sent when it ends: a long tool call is silent meanwhile.
Nothing here does I/O: the spool keeps what the rule asks about.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from gpa.ingest.spans import LogRecord, Span

Reason = Literal["whole", "quiet", "old", "full"]
"""Why a trace counts as complete: nothing is missing, nothing came for long, it is open for too long, it is over a
limit on its size."""

OWN_SCOPE = "gpa.telemetry"
"""Instrumentation scope of what this program sends: its verdicts are no input, or it would judge its own judgements."""

_OWN_ATTRIBUTE = "gpa.evaluator.name"
"""On each log record of ours: those are read without their scope."""
_SECOND = 1_000_000_000


class Patience(Struct, frozen=True):
    """How long to wait for spans."""

    quiet_s: float = 10.0
    """Without a span, when nothing is missing: longer than an SDK and a collector hold spans back (5 s and 1 s)."""
    patience_s: float = 900.0
    """Without a span, when the root or a parent is missing: longer than the longest silent tool call."""
    max_age_s: float = 6 * 3600.0
    """Since the first span that was not evaluated yet."""

    @property
    def quiet_ns(self) -> int:
        """`quiet_s` in nanoseconds."""
        return int(self.quiet_s * _SECOND)

    @property
    def patience_ns(self) -> int:
        """`patience_s` in nanoseconds."""
        return int(self.patience_s * _SECOND)

    @property
    def max_age_ns(self) -> int:
        """`max_age_s` in nanoseconds."""
        return int(self.max_age_s * _SECOND)


def is_own(item: Span | LogRecord) -> bool:
    """Whether this program has sent it, perhaps to the same collector."""
    if isinstance(item, Span):
        return item.scope.name == OWN_SCOPE
    return _OWN_ATTRIBUTE in item.event.attributes


def completed(patience: Patience, *, whole: bool, full: bool, silent_ns: int, age_ns: int) -> Reason | None:
    """Why the trace is complete, or None while it is not.

    Args:
        patience: how long to wait.
        whole: the root is in and no parent that a span names is missing.
        full: the trace is over a limit on its size.
        silent_ns: since its last span or log record arrived.
        age_ns: since the first one arrived that was not evaluated yet.
    """
    if full:
        return "full"
    if whole and silent_ns >= patience.quiet_ns:
        return "whole"
    if silent_ns >= patience.patience_ns:
        return "quiet"
    return "old" if age_ns >= patience.max_age_ns else None
