"""Attribute conventions: what a span says in terms of agents, whichever libraries recorded it.

Each module reads one convention: `read(span) -> Call | None`, None when the span does not speak it. A span often speaks
two (an instrumentation writes its own attributes beside the OpenTelemetry ones), so the calls are put together: the
content comes from one of them, whole; what it does not tell is filled in from the others.

To add a dialect: write its module and put its `read` into `DIALECTS` at its place.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

from msgspec import structs

from gpa.ingest.dialects import (
    agent_framework,
    claude_code,
    fallback,
    gemini_cli,
    google_adk,
    langfuse,
    langsmith,
    legacy_events,
    mlflow,
    openinference,
    openllmetry,
    pydantic_ai,
    semconv,
    strands,
    vercel,
)
from gpa.ingest.dialects.call import Call, Kind, Message
from gpa.ingest.dialects.payload import Exchange, tool_exchange
from gpa.ingest.spans import Span

__all__ = ["DIALECTS", "Call", "Kind", "Message", "read"]

Dialect = Callable[[Span], Call | None]

# The reading order for content (docs/conventions.md R1). A producer that departs from the GenAI attributes on some of
# its spans stands before them: where it has nothing of its own to say it returns no content.
DIALECTS: tuple[Dialect, ...] = (
    pydantic_ai.read,
    strands.read,
    gemini_cli.read,
    semconv.read,
    openinference.read,
    vercel.read,
    google_adk.read,
    legacy_events.read,
    openllmetry.read,
    langsmith.read,
    langfuse.read,
    mlflow.read,
    claude_code.read,
    agent_framework.read,
)

# The order in which the dialects are asked what a span *is* and what its fields are (docs/conventions.md R2). Dialects
# that are not here come last, in the order above.
_ROLE_ORDER = (
    semconv.read,
    openinference.read,
    langfuse.read,
    openllmetry.read,
    langsmith.read,
    mlflow.read,
    claude_code.read,
    vercel.read,
)
_RANK = {dialect: _ROLE_ORDER.index(dialect) if dialect in _ROLE_ORDER else len(_ROLE_ORDER) for dialect in DIALECTS}
_NUMBERED = tuple((_RANK[dialect], dialect) for dialect in DIALECTS)
_FILLED = ("operation", "name", "agent", "agent_id", "description", "tools", "model", "response_id", "finish_reason")
_WORDS = attrgetter(*_FILLED, "conversation_id", "usage", "error")
_BLANK = _WORDS(Call())


def read(span: Span) -> Call:
    """What the span says; a span of no known convention is read for its input, output and status all the same."""
    found = [(rank, call) for rank, dialect in _NUMBERED if (call := dialect(span)) is not None]
    if not found:
        return fallback.read(span)
    call = found[0][1] if len(found) == 1 else _composed(found)
    if call.kind == "other" and not call.input and not call.output and not call.placeholder:
        if not call.operation:
            return _composed([*found, (len(_ROLE_ORDER) + 1, fallback.read(span))])
        if len(found) == 1 and found[0][0] == _RANK[semconv.read]:  # an operation the conventions have no content for
            guessed = fallback.read(span)
            return structs.replace(call, input=guessed.input, output=guessed.output, error=call.error or guessed.error)
    return call


def _composed(found: list[tuple[int, Call]]) -> Call:
    content = _content([call for _, call in found])
    calls = [call for _, call in sorted(found, key=_rank)]
    kind = _kind(calls)
    values = list(_BLANK)
    for call in calls:
        values = [value or other for value, other in zip(values, _WORDS(call), strict=True)]
    (
        operation,
        name,
        agent,
        agent_id,
        description,
        tools,
        model,
        response_id,
        finish_reason,
        conversation_id,
        usage,
        error,
    ) = values
    sent, said = content.input, content.output
    if kind == "tool" and content.kind == "other" and not any(map(_is_tool_part, (*sent, *said))):
        # One convention says that it is a tool, another one what went in and out.
        sent, said, told = _exchange(name, content, calls)
        error = error or told
    return Call(
        kind=kind,
        operation=operation,
        name=name,
        agent=agent,
        agent_id=agent_id,
        description=description,
        input=sent,
        output=said,
        tools=tools,
        model=model,
        response_id=response_id,
        finish_reason=finish_reason,
        conversation_id=conversation_id,
        usage=usage,
        error=error,
        delta=any(call.delta for call in calls),
        hidden=content.hidden,
        notes=tuple(dict.fromkeys(note for call in calls for note in call.notes)),
        placeholder=any(call.placeholder for call in calls),
    )


def _exchange(name: str, content: Call, calls: list[Call]) -> Exchange:
    """The content of a plain span as what a tool was called with and gave back."""
    ids = (message.tool_call_id for call in calls if call.kind == "tool" for message in call.input)
    given, returned = ("\n".join(message.text for message in said) or None for said in (content.input, content.output))
    return tool_exchange(name, given, returned, call_id=next(filter(None, ids), ""))


def _is_tool_part(message: Message) -> bool:
    return bool(message.tool_name) or message.role == "tool"


def _rank(entry: tuple[int, Call]) -> int:
    return entry[0]


def _content(calls: list[Call]) -> Call:
    """The call whose content is shown: the first that has more than instructions, never two merged.

    A hidden call may still hold the bare call of a tool, with its id: better than nothing, and marked as hidden.
    """
    shown = [call for call in calls if not call.hidden and (call.input or call.output)]
    for call in shown:
        if call.output or any(message.role != "system" for message in call.input):
            return call
    hidden = [call for call in calls if call.hidden]
    return (shown or [call for call in hidden if call.input or call.output] or hidden or calls)[0]


def _kind(calls: list[Call]) -> Kind:
    """What the span is: by the first convention that names an operation it knows, else by the first that can guess."""
    for call in calls:
        if call.operation and call.kind != "other":
            return call.kind
    return next((call.kind for call in calls if call.kind != "other"), "other")
