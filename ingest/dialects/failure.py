"""What went wrong in a span, when its status or an event says that something did."""

from __future__ import annotations

from gpa.ingest.dialects.attributes import text, word
from gpa.ingest.spans import Event, Span

_RECOVERED = "agent.step_recovery"


def failure(span: Span) -> str:
    """One text about the error of a span, or "".

    The status description and the exception event say the same in most producers; the event is preferred, since some
    descriptions end in a stack trace. Expected tool errors of smolagents leave the status OK and are told by an
    `agent.step_recovery` event (docs/conventions.md H11). An exception event alone is no error: it may have been
    handled.
    """
    if span.status != "error" and not span.events:
        return ""
    failed = span.status == "error"
    told = ""
    for event in span.events:
        if event.name == "exception":
            escaped = event.attributes.get("exception.escaped")
            if failed or escaped is True or escaped in ("True", "true"):
                told = exception(event) or told
        elif event.name == _RECOVERED and not told:
            told = word(event.attributes, "message", "error.message", "error") or text(event.attributes)
    if told or not failed:
        return told
    return span.status_message or word(span.attributes, "error.message", "exception.message", "error.type") or "error"


def exception(event: Event) -> str:
    """`RuntimeError: upstream timeout` of an exception event."""
    kind = text(event.attributes.get("exception.type"))
    message = text(event.attributes.get("exception.message"))
    return f"{kind}: {message}" if kind and message else kind or message
