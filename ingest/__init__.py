"""Bytes -> spans -> transcript: reads trace files of any format and convention, and knows no LLM.

Names are imported when they are first used: every module of this package imports this one first, and a command
that needs a single type should not pay for all readers.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpa.ingest.agents import Agent
    from gpa.ingest.assembly import read_traces
    from gpa.ingest.dialects.call import Message, Tool, Usage
    from gpa.ingest.files import read_spans
    from gpa.ingest.problems import Problem
    from gpa.ingest.spans import Event, Link, LogRecord, Scope, Span, Trace
    from gpa.ingest.transcript import Plan, Step, Transcript, transcribe

__all__ = (
    "Agent",
    "Event",
    "Link",
    "LogRecord",
    "Message",
    "Plan",
    "Problem",
    "Scope",
    "Span",
    "Step",
    "Tool",
    "Trace",
    "Transcript",
    "Usage",
    "read_spans",
    "read_traces",
    "transcribe",
)

_HOMES = {
    "agents": ("Agent",),
    "assembly": ("read_traces",),
    "dialects.call": ("Message", "Tool", "Usage"),
    "files": ("read_spans",),
    "problems": ("Problem",),
    "spans": ("Event", "Link", "LogRecord", "Scope", "Span", "Trace"),
    "transcript": ("Plan", "Step", "Transcript", "transcribe"),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"gpa.ingest.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
