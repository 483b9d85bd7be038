"""Chat payloads in whatever form a producer writes them, as a sequence of message parts.

Model APIs and frameworks each have a shape for a conversation, and instrumentations dump any of them into any
attribute. A payload tells its own shape, so one reader serves every dialect: messages, requests, responses and graph
states are recognised here, the parts inside them in `parts`. What is recognised nowhere is kept as JSON text. No text
is dropped, parts stay in recorded order, and no input raises.
"""

from __future__ import annotations

from typing import Any

from gpa.ingest.dialects import parts
from gpa.ingest.dialects.call import Message
from gpa.ingest.dialects.json_text import compact, structure
from gpa.ingest.dialects.media import describe
from gpa.ingest.dialects.parts import (
    CALL_IDS,
    DEEPEST,
    NAMES,
    Object,
    Reader,
    arguments,
    first_text,
    result_text,
    text_of,
)
from gpa.ingest.dialects.tool_definitions import is_definition, tools

__all__ = ["ROLES", "append", "arguments", "is_chat", "messages", "result_text", "role_of", "text_of", "tools"]

ROLES = {
    **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(("assistant", "ai", "model", "bot", "tool-call", "tool_call"), "assistant"),
    **dict.fromkeys(("system", "developer"), "system"),
    **dict.fromkeys(("tool", "function", "tool-response", "tool_response", "tool_result"), "tool"),
    "reasoning": "reasoning",
}
_KNOWN_ROLES = frozenset(ROLES.values())
_CLASSES = {  # names of message classes, as `type` or as the last part of a constructor's `id`; "" says the role itself
    **dict.fromkeys(("human", "HumanMessage", "HumanMessageChunk", "UserMessage"), "user"),
    **dict.fromkeys(("ai", "AIMessage", "AIMessageChunk", "AssistantMessage"), "assistant"),
    **dict.fromkeys(("ToolCallRequestEvent", "ToolCallSummaryMessage"), "assistant"),
    **dict.fromkeys(("system", "SystemMessage", "SystemMessageChunk"), "system"),
    **dict.fromkeys(("tool", "function", "ToolMessage", "ToolMessageChunk", "FunctionMessage"), "tool"),
    **dict.fromkeys(("FunctionExecutionResultMessage", "ToolCallExecutionEvent"), "tool"),
    **dict.fromkeys(("chat", "ChatMessage", "ChatMessageChunk", "TextMessage", "message"), ""),
}
_PLAIN = frozenset(("role", "content"))
_BODY = frozenset(
    ("content", "parts", "tool_calls", "contents", "function_call", "toolCalls", "toolInvocations", "refusal", "audio")
)


def messages(value: Any, role: str = "user") -> tuple[Message, ...]:
    """The parts of a conversation held by `value`; `role` is whose they are when the payload does not say.

    `value` may be text, JSON text, a message, a list of them, a request or a response. Text that is not a chat
    payload is one message; a structure that is none is one message of compact JSON.
    """
    out: list[Message] = []
    role = role_of(role)
    found = structure(value)
    if _speaks(found, 0):
        _read(found, role, out, 0)
    elif value and found not in ({}, []):
        out.append(Message(role, text_of(value)))
    return tuple(out)


def role_of(recorded: Any, default: str = "user") -> str:
    """The normalised role: `human` is `user`, `model` is `assistant`, `developer` is `system`; unknown ones stay."""
    if not isinstance(recorded, str) or not recorded:
        return default
    return ROLES.get(recorded) or ROLES.get(recorded.lower()) or recorded


def append(value: Any, role: str, out: list[Message]) -> None:
    """Append the parts of one entry of a conversation to `out`."""
    _read(value, role, out, 0)


def is_chat(value: Any) -> bool:
    """Whether a decoded structure is a chat payload."""
    return _speaks(value, 0)


def _speaks(value: Any, depth: int) -> bool:
    """Whether a structure is chat: an object some reader knows, or a list with such an entry."""
    if isinstance(value, dict):
        return _reader(value) is not None
    if isinstance(value, list | tuple) and depth < DEEPEST:
        return _is_pair(value) or any(_speaks(entry, depth + 1) for entry in value)
    return False


def _is_pair(value: list[Any] | tuple[Any, ...]) -> bool:
    """LangGraph takes a message as the pair `["user", "text"]`."""
    return len(value) == 2 and isinstance(value[0], str) and value[0] in ROLES and isinstance(value[1], str | list)


def _read(value: Any, role: str, out: list[Message], depth: int) -> None:
    """Append what a conversation holds: messages, parts and texts, in any nesting of lists."""
    if isinstance(value, dict):
        reader = _reader(value) if depth < DEEPEST else None
        if reader is not None:
            reader(value, role, out, depth + 1)
            return
    elif isinstance(value, list | tuple) and depth < DEEPEST:
        if _is_pair(value):
            parts.read(value[1], role_of(value[0]), out, depth + 1)
        else:
            for entry in value:
                _read(entry, role, out, depth + 1)
        return
    parts.read(value, role, out, depth)


def _reader(value: Object, nested: int = 0) -> Reader | None:
    """The reader of this kind of message, part or container, or None when it is none we know."""
    kind = value.get("type")
    role = value.get("role")
    if isinstance(role, str) and (len(value) == 1 or not _BODY.isdisjoint(value)):
        return _skip if role == "tool" and is_definition(value) else _message
    if isinstance(kind, str) and kind in _CLASSES and ("content" in value or isinstance(value.get("data"), dict)):
        return _classed
    if "lc" in value and isinstance(value.get("kwargs"), dict):
        return _constructor
    if isinstance(value.get("parts"), list):
        return _unsigned
    if not _CONTAINERS_SET.isdisjoint(value) and any(key in value and _fits(key, value, nested) for key in _CONTAINERS):
        return _container
    return parts.part_reader(value)


# Messages ------------------------------------------------------------------------------------------------------------


def _skip(_value: Object, _role: str, _out: list[Message], _depth: int) -> None:
    """A tool definition among messages is said by nobody (docs/conventions.md F8)."""


def _message(value: Object, _role: str, out: list[Message], depth: int) -> None:
    recorded = value["role"]
    role = ROLES.get(recorded) or role_of(recorded, _role)
    if role not in _KNOWN_ROLES and any(message.tool_name == recorded for message in out):
        role = "tool"  # Langfuse's LangChain mapper writes a tool message's *name* as its role
        value = {**value, "name": recorded}
    _body(value, role, out, depth)


def _body(value: Object, role: str, out: list[Message], depth: int) -> None:
    """Append the fields of a message: thinking, content, refusal, sound, calls."""
    if role == "tool":
        _tool_message(value, out, depth)
        return
    start = len(out)
    extra = value.get("additional_kwargs")  # LangChain keeps the provider's raw fields here
    for holder in (value, extra):
        if isinstance(holder, dict):
            thoughts = next(
                (holder[key] for key in ("reasoning_content", "reasoning", "thinking") if holder.get(key)), None
            )
            if thoughts:
                parts.reasoning({"content": thoughts}, role, out, depth)
                break
    content = value.get("parts") or value.get("content") or value.get("contents")
    parts.read(content, role, out, depth)
    if content and value.keys() <= _PLAIN:
        return  # a role and its content, as most messages are
    if refusal := value.get("refusal"):
        parts.read(refusal, role, out, depth)
    if isinstance(audio := value.get("audio"), dict):
        out.append(Message(role, describe(audio, "audio")))
    for key in ("tool_calls", "toolCalls", "function_call", "toolInvocations", "invalid_tool_calls"):
        if calls := value.get(key):
            parts.read_calls(calls, out, start, depth)
    if isinstance(extra, dict):
        for key in ("tool_calls", "function_call"):
            if calls := extra.get(key):
                parts.read_calls(calls, out, start, depth)


def _tool_message(value: Object, out: list[Message], depth: int) -> None:
    """A message of role tool: one result, or (AI SDK, AutoGen, pydantic-ai 6) a list of result parts."""
    name, call_id = first_text(value, NAMES), first_text(value, CALL_IDS)
    content = next((value[key] for key in ("parts", "content", "contents", "output", "result") if value.get(key)), None)
    if isinstance(content, list) and any(map(parts.is_result, content)):
        told: list[tuple[bool, Message]] = []
        for entry in content:
            found: list[Message] = []
            parts.read(entry, "tool", found, depth)
            told += [(parts.is_result(entry), message) for message in found]
        results = [message for is_result, message in told if is_result]
        texts = {message.text for message in results}
        if len(results) > 1:
            name = call_id = ""  # what the message says of itself holds for its only result
        for is_result, said in told:
            if is_result:
                out.append(Message("tool", said.text, said.tool_name or name, said.tool_call_id or call_id))
            elif said.text not in texts:  # the OpenAI Agents instrumentation writes each result twice, as text too
                out.append(said)
        return
    out.append(Message("tool", result_text(content, depth), name, call_id))


def _unsigned(value: Object, role: str, out: list[Message], depth: int) -> None:
    """`{"parts": [...]}` without a role, as Gemini's API may answer."""
    _body(value, role, out, depth)


def _classed(value: Object, role: str, out: list[Message], depth: int) -> None:
    """`{"type": "human", "data": {...}}` (LangChain's dump), `{"type": "ai", "content": ...}`, AutoGen's messages."""
    data = value.get("data")
    body = data if isinstance(data, dict) and "content" in data else value
    _body(body, _CLASSES[value["type"]] or role_of(body.get("role") or body.get("source"), role), out, depth)


def _constructor(value: Object, role: str, out: list[Message], depth: int) -> None:
    """LangChain's `{"lc": 1, "type": "constructor", "id": [..., "HumanMessage"], "kwargs": {...}}`."""
    path = value.get("id")
    name = path[-1] if isinstance(path, list) and path else ""
    kwargs = value["kwargs"]
    if isinstance(name, str) and name in _CLASSES:
        _body(kwargs, _CLASSES[name] or role_of(kwargs.get("role"), role), out, depth)
    else:
        _read(kwargs, role, out, depth)  # ChatPromptValue, ChatGeneration: their fields are a container


# Requests, responses, states -----------------------------------------------------------------------------------------


def _fits(key: str, value: Object, nested: int) -> bool:
    """Whether the field `key` of an object is a conversation, or merely has that name."""
    inner = value[key]
    if key in _CHOICES:
        return isinstance(inner, list)
    if key in {"messages", "contents"}:
        return isinstance(inner, list) or (isinstance(inner, str) and key == "contents") or _is_turns(inner, nested)
    if key == "prompt":
        return isinstance(inner, str | list) and value.keys() <= {"system", "prompt", "instructions"}
    if key == "input" and "model" in value and isinstance(inner, str):
        return True
    return _is_turns(inner, nested) and not (key == "input" and value.get("object") == "response")


def _is_turns(value: Any, nested: int) -> bool:
    """Whether a field holds messages or parts, not merely some object."""
    if isinstance(value, dict):
        return nested < _DEEPEST_CONTAINER and _reader(value, nested + 1) in {
            _message,
            _container,
            _constructor,
            _classed,
        }
    return isinstance(value, list) and any(
        isinstance(entry, dict) and _reader(entry, _DEEPEST_CONTAINER) for entry in value
    )


def _container(value: Object, role: str, out: list[Message], depth: int) -> None:
    """A request, a response or a graph state: instructions first, then what else it says, then the conversation."""
    if value.get("object") != "response":  # a response echoes its request's instructions
        config = value.get("config")
        for holder in (value, config if isinstance(config, dict) else {}):
            for key in ("system", "systemInstruction", "system_instruction", "instructions"):
                if instructions := holder.get(key):
                    _read(_unwrapped(instructions), "system", out, depth)
    if value.keys().isdisjoint(_API_MARKS):
        rest = {
            key: inner
            for key, inner in value.items()
            if key not in _PARAMETERS and isinstance(inner, str | dict | list) and inner
        }
        if rest:
            out.append(Message(role, compact(rest)))
    for key in _CONTAINERS:
        if key in value and _fits(key, value, 0):
            inner = value[key]
            if key in _CHOICES:
                _choices(inner, role if key == "generations" else "assistant", out, depth)
            else:
                _read(inner, "assistant" if key in _ANSWERS else role, out, depth)


def _unwrapped(value: Any) -> Any:
    """Gemini's system instruction comes as `{"role": "user", "parts": [...]}`: its parts."""
    return (value.get("parts") or value.get("content") or value) if isinstance(value, dict) else value


def _choices(entries: list[Any], role: str, out: list[Message], depth: int) -> None:
    """OpenAI `choices`, Gemini `candidates`, LangChain `generations` (a list a prompt, each `{text, message}`)."""
    for entry in entries:
        if isinstance(entry, list) and depth < DEEPEST:
            _choices(entry, role, out, depth + 1)
        elif isinstance(entry, dict):
            kwargs = entry.get("kwargs")
            fields = kwargs if "lc" in entry and isinstance(kwargs, dict) else entry
            inner = next(
                (fields[key] for key in ("message", "delta", "content", "text") if fields.get(key) is not None), None
            )
            _read(inner if inner is not None else entry, role, out, depth + 1)
        else:
            _read(entry, role, out, depth + 1)


_CONTAINERS = (
    *("prompt", "messages", "contents", "input", "inputs", "request", "message", "update", "delta"),
    *("choices", "candidates", "generations", "response", "output", "outputs"),
)
_CONTAINERS_SET = frozenset(_CONTAINERS)
_DEEPEST_CONTAINER = 6
_CHOICES = frozenset(("choices", "candidates", "generations"))
_ANSWERS = frozenset(("output", "outputs", "response", "message", "delta"))
_API_MARKS = frozenset(("model", "object", *_CHOICES))
_PARAMETERS = frozenset(  # fields beside a conversation that are not part of it
    (
        *_CONTAINERS,
        *("system", "systemInstruction", "system_instruction", "instructions", "config", "generation_config"),
        *("tools", "functions", "tool_choice", "toolChoice", "tool_config", "toolConfig", "tools_to_call_from"),
        *("response_format", "stop", "stop_sequences", "metadata", "tags", "kwargs", "usage", "logprobs", "id", "type"),
        *(
            "name",
            "index",
            "finish_reason",
            "finishReason",
            "stop_reason",
            "stopReason",
            "metrics",
            "llm_output",
            "run",
        ),
        *("event.name", "gen_ai.system", "generation_info", "parsed", "lg_name", "callbacks", "run_id", "run_name"),
        *("additional_kwargs", "response_metadata", "usage_metadata", "invocation_params", "options"),
    )
)
