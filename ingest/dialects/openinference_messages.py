"""One flattened OpenInference message as the parts it holds (docs/conventions.md C4, messages)."""

from __future__ import annotations

from typing import Any

from gpa.ingest.dialects.attributes import text, word
from gpa.ingest.dialects.call import Message
from gpa.ingest.dialects.chat import arguments
from gpa.ingest.dialects.flat import Columns, Fields, Items, columns, in_order, items
from gpa.ingest.dialects.media import describe

REDACTED = "__REDACTED__"

ROLES = {
    "human": "user",
    "ai": "assistant",
    "model": "assistant",
    "function": "tool",
    "developer": "system",
}
"""Roles of other conventions. smolagents' `tool-call` and `tool-response` stay: they are synthetic texts, not calls."""

_MEDIA = ("image", "audio", "video", "file")


def messages(found: Columns, prefix: str, role: str = "") -> list[Message]:
    """The parts of all messages of a list by ascending number; `role` is whose they are when a message does not say."""
    role_column, content_column = f"{prefix}.*.message.role", f"{prefix}.*.message.content"
    roles, contents = found.get(role_column, {}), found.get(content_column, {})
    more = items(found, prefix, without=(role_column, content_column))
    if not more and roles.keys() == contents.keys():
        plain = _plain(roles, contents)
        if plain is not None:
            return plain
    numbers = contents.keys() | roles.keys() | more.keys() if more or len(roles) != len(contents) else contents
    parsed: list[Message] = []
    for number in sorted(numbers):
        recorded, content = roles.get(number), contents.get(number)
        fields = more.get(number, {})
        for key, value in (("message.role", recorded), ("message.content", content)):
            if value is not None:
                fields[key] = value
        parsed += parts(fields, role)
    return parsed


def _plain(roles: dict[int, Any], contents: dict[int, Any]) -> list[Message] | None:
    """Messages that are a role and a text each, as nearly all of a long trace are; None when one is not."""
    parsed: list[Message] = []
    for number in sorted(contents):
        role, content = roles[number], contents[number]
        if type(role) is not str or type(content) is not str or not role or role == "tool":
            return None
        if content:
            parsed.append(Message(ROLES.get(role, role), content))
    return parsed


def parts(fields: Fields, role: str = "") -> list[Message]:
    """The parts of one message in the order thinking, content, calls.

    The attribute limit may have taken the role away: then it is told from the fields, or left empty, never guessed.
    """
    recorded = fields.get("message.role")
    if isinstance(recorded, str) and recorded:
        role = ROLES.get(recorded, recorded)
    content = fields.get("message.content")
    nested = columns(fields)
    calls = items(nested, "message.tool_calls")
    call_id = word(fields, "message.tool_call_id")
    if not role:
        role = "assistant" if calls else "tool" if call_id else ""
    if role == "tool":
        return [
            Message("tool", _tool_text(content, nested), tool_name=word(fields, "message.name"), tool_call_id=call_id)
        ]
    found = _contents(items(nested, "message.contents"), role)
    said = _content(content, nested)
    if said and all(part.text != said for part in found):  # some write the same text in both
        found.insert(0, Message(role, said))
    known = [part for part in found if part.tool_name]
    for fields_of_call in in_order(calls):
        call = _call(fields_of_call)
        if call is not None and not any(_same(call, other) for other in known):
            found.append(call)
    if name := word(fields, "message.function_call_name"):
        given = arguments(fields.get("message.function_call_arguments_json"))
        found.append(Message("assistant", tool_name=name, arguments={} if given is None else given))
    return found


def _content(content: object, nested: Columns) -> str:
    """The content as text. The Claude Agent SDK's 0.1.7 spans write it as `message.content.0`."""
    if content is None and (malformed := nested.get("message.content.*")):
        return "\n".join(text(malformed[number]) for number in sorted(malformed))
    if isinstance(content, list) and all(isinstance(line, str) for line in content):
        return "\n".join(content)
    return text(content)


def _tool_text(content: object, nested: Columns) -> str:
    said = _content(content, nested)
    blocks = [part.text for part in _contents(items(nested, "message.contents"), "tool") if part.text]
    joined = "\n".join(blocks)
    return joined if not said or said in (joined, *blocks) else "\n".join((said, *blocks))


def _contents(gathered: Items, role: str) -> list[Message]:
    found: list[Message] = []
    for fields in in_order(gathered):
        kind = fields.get("message_content.type")
        said = fields.get("message_content.text")
        if kind == "tool_use" or any(key.startswith("tool_call.") for key in fields):
            call = _call(fields)
            if call is not None:
                found.append(call)
        elif kind == "reasoning":
            sealed = fields.get("message_content.encrypted_content") or fields.get("message_content.data")
            told = text(said) or (f"[encrypted reasoning, {len(text(sealed)):,} characters]" if sealed else "")
            if told:
                found.append(Message("reasoning", told))
        elif kind in _MEDIA or said is None:
            if len(fields) > (kind is not None):
                found.append(Message(role, describe(_facts(fields), text(kind) or "content")))
        elif said != "":
            found.append(Message(role, text(said)))
    return found


def _facts(fields: Fields) -> dict[str, Any]:
    """`message_content.image.image.url` as `{"url": ...}`, which is how `media` knows it."""
    return {key.rpartition(".")[2]: value for key, value in fields.items() if not key.endswith(".type")}


def _call(fields: Fields) -> Message | None:
    name = text(fields.get("tool_call.function.name") or fields.get("function.name") or fields.get("name"))
    given = next(
        (
            fields[key]
            for key in (
                "tool_call.function.arguments",
                "tool_call.function.arguments_json",
                "function.arguments",
                "arguments",
            )
            if key in fields
        ),
        None,
    )
    call_id = text(fields.get("tool_call.id") or fields.get("id"))
    if not name and not call_id and given is None:
        return None
    # OpenAI Agents leave empty arguments out: a call without them is a call with none.
    return Message("assistant", "", name, call_id, {} if given is None else arguments(given))


def _same(call: Message, other: Message) -> bool:
    if call.tool_call_id and other.tool_call_id:
        return call.tool_call_id == other.tool_call_id
    return call.tool_name == other.tool_name and call.arguments == other.arguments
