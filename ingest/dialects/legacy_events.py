"""Messages told one by one: the events of GenAI conventions 1.28-1.36.

They arrive as log records joined to the span (content in the body), as span events (content in attributes, often as
JSON text: Strands), or as a JSON list in the attribute `events` (pydantic-ai before 1.0, Logfire). Even older are
`gen_ai.content.prompt` and `gen_ai.content.completion` with the whole conversation each. Facts: docs/conventions.md C2.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpa.ingest.dialects import chat
from gpa.ingest.dialects.call import Call, Message
from gpa.ingest.dialects.json_text import recover, structure
from gpa.ingest.spans import Event, Span

_ROLES = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
_CHOICE = "gen_ai.choice"
_WHOLE = {"gen_ai.content.prompt": "gen_ai.prompt", "gen_ai.content.completion": "gen_ai.completion"}
_MARKS = frozenset((*_ROLES, _CHOICE, *_WHOLE))
_CUT = "truncated: a message event was cut, what stood before the cut is shown"


def read(span: Span) -> Call | None:
    """The conversation told by a span's message events, or None when it has none."""
    if span.events:
        told = [(name, event) for event in span.events if (name := name_of(event)) in _MARKS]
        if told:
            return _call(((name, fields(name, event)) for name, event in told))
    recorded = span.attributes.get("events")
    if recorded is not None:
        return from_attribute(recorded)
    return None


def name_of(event: Event) -> str:
    """The name of an event; older log SDKs write it as the attribute `event.name`."""
    if event.name.startswith("gen_ai."):
        return event.name
    name = event.attributes.get("event.name")
    return name if isinstance(name, str) else event.name


def fields(name: str, event: Event) -> Any:
    """The fields of a message: the body of a log record, the attributes of a span event."""
    if name in _WHOLE:
        attribute = _WHOLE[name]
        return event.attributes.get(attribute, event.body)
    # Azure's clients and Semantic Kernel put the whole body into one attribute.
    body = structure(event.body if event.body is not None else event.attributes.get("gen_ai.event.content"))
    if body is None:
        return event.attributes
    return {**event.attributes, **body} if isinstance(body, dict) else {**event.attributes, "content": body}


def from_attribute(recorded: Any) -> Call | None:
    """The conversation in a list of message events, structured or as JSON text; None when it is no such list."""
    entries, cut = recover(recorded)
    if not isinstance(entries, list):
        return None
    told = [
        (name, entry)
        for entry in entries
        if isinstance(entry, dict) and isinstance(name := entry.get("event.name"), str) and name in _MARKS
    ]
    return _call(told, (_CUT,) if cut else ()) if told else None


def _call(told: Iterable[tuple[str, Any]], notes: tuple[str, ...] = ()) -> Call:
    given: list[Message] = []
    said: list[Message] = []
    lost = list(notes)
    finish_reason = ""
    for name, entry in told:
        if name == _CHOICE:
            said += _choice(entry, lost)
            reason = entry.get("finish_reason")
            finish_reason = reason if isinstance(reason, str) else finish_reason
        elif name in _ROLES:
            given += _message(entry, _ROLES[name], lost)
        else:
            value, cut = recover(entry)
            lost += [_CUT] * cut
            if name == "gen_ai.content.prompt":
                given += chat.messages(value, "user")
            else:
                said += chat.messages(value, "assistant")
    return Call(input=tuple(given), output=tuple(said), finish_reason=finish_reason, notes=tuple(dict.fromkeys(lost)))


def _message(entry: dict[str, Any], role: str, lost: list[str]) -> tuple[Message, ...]:
    """One message. Content may be text, JSON text of blocks (Strands) or a Gemini content (ADK 1)."""
    content, cut = recover(entry.get("content"))
    lost += [_CUT] * cut
    if isinstance(content, dict) and "parts" in content:
        return chat.messages({"role": role, **content})
    if isinstance(content, dict | list) and entry.get("content").__class__ is str and not chat.is_chat(content):
        content = entry["content"]  # an answer that happens to be JSON
    recorded = role if role == "tool" else entry.get("role")
    message = {key: entry[key] for key in ("id", "name", "tool_calls", "function_call", "tool_call_id") if key in entry}
    # The event's name says what the message is; `role` is given only where it differs, and pydantic-ai repeats it.
    return chat.messages(
        [{**message, "role": recorded if isinstance(recorded, str) and recorded else role, "content": content}]
    )


def _choice(entry: dict[str, Any], lost: list[str]) -> tuple[Message, ...]:
    value = entry.get("message")
    if value is None:
        value = entry.get("content")
        if value is None or "tool_calls" in entry:
            return _message(entry, "assistant", lost)
    found, cut = recover(value)
    lost += [_CUT] * cut
    if isinstance(found, dict) and "parts" not in found and ("content" in found or "tool_calls" in found):
        return _message(found, "assistant", lost)
    if isinstance(value, str) and not chat.is_chat(found):
        return (Message("assistant", value),) if value else ()
    return chat.messages(found, "assistant")
