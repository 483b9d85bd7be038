"""What went into and came out of a span that is no model call, taken out of the wrappers frameworks put around it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from gpa.ingest.dialects import chat
from gpa.ingest.dialects.attributes import text
from gpa.ingest.dialects.call import Message
from gpa.ingest.dialects.json_text import decode, recover, structure, unquoted
from gpa.ingest.dialects.langchain import bare_message, literal, tool_message, unwrapped_input, unwrapped_output
from gpa.ingest.dialects.smolagents import call_arguments, is_wrapped_call

CUT = "a value was cut by a length limit of the producer"
_DOCUMENT_LISTS = ("documents", "output", "outputs", "results", "nodes")
_CONTENTS = ("page_content", "pageContent", "content", "text")


class Exchange(NamedTuple):
    """A tool's call, its result, and the error the result reports."""

    sent: tuple[Message, ...]
    said: tuple[Message, ...] = ()
    error: str = ""


def tool_exchange(
    name: str, given: object, returned: object, *, call_id: str = "", parameters: Mapping[str, Any] | None = None
) -> Exchange:
    """What a tool was called with and what came of it, out of the wrappers frameworks put around both.

    `given` may be an object or its JSON text, smolagents' record of a Python call, LangChain's record of a callback or
    Python repr, or a bare value, which `parameters`, the tool's JSON schema, names if the tool has exactly one. The
    result may be a dumped tool message, whose call id then also marks the call. None is nothing recorded.
    """
    said: tuple[Message, ...] = ()
    error = ""
    if returned is not None:
        returned = unquoted(returned) if isinstance(returned, str) else returned
        result = structure(returned)
        if isinstance(result, dict) and len(result) > 1 and (inner := unwrapped_output(result)) is not result:
            returned = result = inner
        if found := tool_message(result):
            call_id = call_id or found.call_id
            said = (Message("tool", found.text, name or found.name, call_id),)
            error = found.text if found.failed else ""
        else:
            said = (Message("tool", chat.result_text(returned), name, call_id),)
    arguments = {} if given is None else _arguments(given, parameters or {})
    return Exchange((Message("assistant", "", name, call_id, arguments),), said, error)


def _arguments(value: object, parameters: Mapping[str, Any]) -> Any:
    properties = parameters.get("properties")
    names = tuple(properties) if isinstance(properties, dict) else ()
    found = structure(value)
    if isinstance(found, dict):
        if is_wrapped_call(found):
            return call_arguments(found, names)
        found = unwrapped_input(found)
    if isinstance(found, str):
        recorded = found
        found = literal(found) or structure(found)
        if isinstance(found, str) and len(names) == 1 and found[:1] != "{":
            schema = properties.get(names[0]) if isinstance(properties, dict) else None
            is_text = not isinstance(schema, dict) or schema.get("type", "string") == "string"
            return {names[0]: found if is_text else decode(found)}
        return found if isinstance(found, dict) else recorded
    return found if isinstance(found, dict) else text(value)


def is_cut(value: object) -> bool:
    """Whether a text is JSON that a length limit ended (docs/conventions.md H8)."""
    if not isinstance(value, str) or value[-1:] in ("}", "]"):
        return False
    found, cut = recover(value)
    return cut and bool(found)


def readable(value: object, notes: list[str]) -> Any:
    """The structure a text holds, as far as it was recorded, with a note when it was cut; else the value itself."""
    found, cut = recover(value)
    if not cut or not found:  # nothing saved: a text that only begins like JSON, a Python repr for instance
        return value if cut else found
    notes.append(CUT)
    return found


def passage(value: object, role: str) -> tuple[Message, ...]:
    """What a span was given or gave back, as one message of its text; () for nothing."""
    said = text(value)
    return (Message(role, said),) if said else ()


def conversation(value: object, role: str) -> tuple[Message, ...]:
    """What a wrapper span was given or gave back: the messages it holds, else its text.

    Wrappers repeat what their children say (docs/conventions.md H6). As messages the repetition can be seen.
    """
    found = structure(value)
    if isinstance(found, str):
        return passage(found, role)
    inner = unwrapped_output(unwrapped_input(found) if isinstance(found, dict) else found)
    if isinstance(inner, dict) and isinstance(listed := inner.get("messages"), list):
        inner = {**inner, "messages": [bare_message(entry) for entry in listed]}
    elif inner is found:
        inner = value
    return chat.messages(inner, role)


def answer(value: object) -> tuple[Message, ...]:
    """What an agent gave back: of a whole state only what it said last, since its model calls hold the rest."""
    if recover(value)[1]:  # cut: what came last is not there
        return passage(value, "assistant")
    messages = conversation(value, "assistant")
    start = len(messages)
    while start and messages[start - 1].role in {"assistant", "reasoning"} and not messages[start - 1].tool_name:
        start -= 1
    return messages[start:] or messages[-1:]


def documents(value: object) -> tuple[Message, ...]:
    """Retrieved documents, one `tool` message each, with what marks them: `[id, score 0.83] content`."""
    found = structure(value)
    if isinstance(found, dict):
        found = next((inner for key in _DOCUMENT_LISTS if isinstance(inner := found.get(key), list)), found)
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        return passage(value, "tool")
    return tuple(Message("tool", said) for entry in found if (said := document(entry)))


def document(fields: Mapping[str, Any]) -> str:
    """A document as one text; whatever has no known content is shown as JSON."""
    fields = fields["kwargs"] if isinstance(fields.get("kwargs"), dict) else fields
    content = next((fields[key] for key in _CONTENTS if fields.get(key)), None)
    if content is None:
        return text(dict(fields)) if fields else ""
    score = fields.get("score")
    marks = [text(fields.get("id")), "" if score is None else f"score {text(score)}"]
    head = ", ".join(mark for mark in marks if mark)
    return f"[{head}] {text(content)}" if head else text(content)
