"""The parts of a message in every convention: text, thinking, tool calls, tool results, media.

A part is recognised by its `type` or by its telling key (`{"toolUse": ...}`). What is recognised by neither is
kept as JSON text. Readers append to `out`, in recorded order; `depth` bounds the recursion into nested content.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpa.ingest.dialects.call import Message
from gpa.ingest.dialects.json_text import compact, is_deep, structure
from gpa.ingest.dialects.media import describe, is_media
from gpa.ingest.dialects.tool_definitions import is_definition

Object = dict[str, Any]
Reader = Callable[[Object, str, list[Message], int], None]

DEEPEST = 40
NAMES = ("name", "tool_name", "toolName")
CALL_IDS = ("call_id", "tool_call_id", "toolCallId", "toolUseId", "tool_use_id", "callId", "id")
_ARGUMENTS = ("arguments", "args", "input", "action", "parameters", "queries", "code", "operation")
_RESULTS = ("response", "result", "output", "content", "text", "error", "outputs", "results", "tools")
_THOUGHTS = ("content", "thinking", "reasoning", "text", "summary", "reasoningText", "reasoning_text", "details")
_SEALED = ("encrypted_content", "data", "redactedContent", "redacted_content", "redactedReasoning", "protectedData")
_TEXTS = ("content", "text", "refusal", "value", "output")
_TEXT_KEYS = frozenset(("text", "thought", "thoughtSignature", "thought_signature", "cachePoint", "citations", "kind"))
_BARE_CALL_KEYS = frozenset(("id", "name", "arguments", "call_id"))
_BARE_RESULT_KEYS = frozenset(("call_id", "content", "name", "is_error"))
_WRAPPERS = frozenset(("result", "output", "json"))
_MCP_KEYS = frozenset(("content", "isError", "is_error", "_meta", "meta", "structuredContent", "status"))
_DOTNET = "Microsoft.Extensions.AI."  # older releases name a part they do not know by its class
_HOSTED = {  # OpenAI Responses items for tools that the provider runs
    "web_search_call": "web_search",
    "file_search_call": "file_search",
    "code_interpreter_call": "code_interpreter",
    "computer_call": "computer",
    "image_generation_call": "image_generation",
    "local_shell_call": "local_shell",
    "shell_call": "shell",
    "apply_patch_call": "apply_patch",
    "mcp_call": "mcp",
}


# Values --------------------------------------------------------------------------------------------------------------


def text_of(value: Any) -> str:
    """A text as it is, anything else as compact JSON; empty for None."""
    if isinstance(value, str):
        return value
    return "" if value is None else compact(value)


def first_text(value: Object, keys: tuple[str, ...]) -> str:
    """The first of the fields that is not empty, as text."""
    for key in keys:
        found = value.get(key)
        if found is not None and found != "":
            return text_of(found)
    return ""


def arguments(value: Any) -> Any:
    """A tool call's arguments: the object, when given or as JSON text; else the recorded text; None when absent.

    Objects nested absurdly deep are text, so that any two calls can be compared.
    """
    if value is None:
        return None
    if isinstance(value, str):
        if not value:
            return {}  # streaming clients write "" for a call without arguments
        found = structure(value)
        return found if isinstance(found, dict) and not is_deep(found) else value
    return value if isinstance(value, dict) and not is_deep(value) else compact(value)


def result_text(value: Any, depth: int = 0) -> str:
    """What a tool gave back, as one text: blocks are joined by line breaks, other structures are compact JSON."""
    if isinstance(value, str):
        return value
    if depth < DEEPEST:
        if isinstance(value, list | tuple):
            if value and all(_is_block(entry) for entry in value):
                found: list[Message] = []
                for entry in value:
                    if entry.keys() == {"json"}:
                        found.append(Message("tool", text_of(entry["json"])))  # Bedrock
                    else:
                        read(entry, "tool", found, depth + 1)
                return "\n".join(message.text for message in found)
        elif isinstance(value, dict):
            if len(value) == 1:
                ((key, inner),) = value.items()
                if key in _WRAPPERS:  # ADK and Gemini wrap what a function returns
                    return result_text(inner, depth + 1)
            if value.keys() == {"type", "value"}:  # AI SDK: {"type": "text" | "json" | "error-text" | "content", ...}
                return result_text(value["value"], depth + 1)
            if "content" in value and value.keys() <= _MCP_KEYS:
                return result_text(value["content"], depth + 1)
            if _is_block(value):
                return result_text([value], depth + 1)
    return text_of(value)


def _is_block(value: Any) -> bool:
    """Whether an entry of a result is a content block (text, picture, JSON) rather than data."""
    if not isinstance(value, dict):
        return False
    if len(value) == 1 and ("text" in value or "json" in value):
        return True
    reader = part_reader(value)
    return reader is _text or reader is _media or (reader is _keyed and len(value) == 1)


# Content -------------------------------------------------------------------------------------------------------------


def read(value: Any, role: str, out: list[Message], depth: int) -> None:
    """Append what a message's content holds: a text, a part, or lists of them."""
    if isinstance(value, str):
        if value:
            out.append(Message(role, value))
    elif isinstance(value, list | tuple):
        if depth < DEEPEST:
            for entry in value:
                read(entry, role, out, depth + 1)
        else:
            out.append(Message(role, compact(value)))
    elif isinstance(value, dict):
        reader = part_reader(value) if depth < DEEPEST else None
        if reader is not None:
            reader(value, role, out, depth + 1)
        elif value:
            out.append(Message(role, compact(value)))
    elif value is not None:
        out.append(Message(role, text_of(value)))


def part_reader(value: Object) -> Reader | None:
    """The reader of this kind of part, or None when it is none we know."""
    kind = value.get("type")
    if isinstance(kind, str):
        reader = _TYPES.get(kind)
        if reader is not None:
            return reader if _holds(value, kind, reader) else None
        if kind.startswith("tool-") and "toolCallId" in value:  # AI SDK 5 UI messages: {"type": "tool-weather", ...}
            return _call
        if kind.startswith(_DOTNET) and isinstance(value.get("content"), dict):
            return reasoning if kind.endswith("ReasoningContent") else None
    for key in value:
        if key in _KEYS and value[key] is not None and (key != "text" or _is_text_alone(value)):
            return _keyed
    if "name" in value and "arguments" in value and _BARE_CALL_KEYS.issuperset(value):
        return _call  # AutoGen: {"id", "name", "arguments"}
    if "call_id" in value and "content" in value and _BARE_RESULT_KEYS.issuperset(value):
        return _tool_result  # AutoGen: {"content", "name", "call_id", "is_error"}
    return None


def is_result(value: Any) -> bool:
    """Whether a part is what a tool gave back, in any convention."""
    if not isinstance(value, dict):
        return False
    reader = part_reader(value)
    if reader is _keyed:
        return any(_KEYS.get(key) is _tool_result and inner is not None for key, inner in value.items())
    return reader is _tool_result


def _is_text_alone(value: Object) -> bool:
    """Whether `{"text": ...}` is a part (Gemini dumps it with all other keys null) and not a record that has a text."""
    return _TEXT_KEYS.issuperset(value) or all(key in _TEXT_KEYS or value[key] is None for key in value)


def _holds(value: Object, kind: str, reader: Reader) -> bool:
    """Whether a typed object has the payload of its type: `{"type": "file", "size": 3}` is somebody's data."""
    if reader is _text:
        return len(value) == 1 or any(key in value for key in _TEXTS)  # alone: pydantic-ai with content switched off
    if reader is _media:
        return is_media(value)
    if kind == "function":
        return isinstance(value.get("function"), dict | str) or "arguments" in value or is_definition(value)
    if reader is _call:
        return kind in _HOSTED or any(key in value for key in (*NAMES, "function", "toolInvocation"))
    if reader is _tool_result:
        return kind in value or any(key in value for key in (*_RESULTS, *CALL_IDS))
    return True


def _text(value: Object, role: str, out: list[Message], depth: int) -> None:
    content = next((value[key] for key in _TEXTS if value.get(key)), None)
    if isinstance(content, dict) and isinstance(inner := content.get("value"), str):  # OpenAI threads
        content = inner
    read(content, role, out, depth)


def _plain_text(value: Object, role: str, out: list[Message], depth: int) -> None:
    """`{"text": ...}` of Bedrock and Gemini, whose thinking is `{"text": ..., "thought": true}`."""
    read(value["text"], "reasoning" if value.get("thought") is True else role, out, depth)


def reasoning(value: Object, _role: str, out: list[Message], depth: int) -> None:
    """Append thinking, in any convention; encrypted thinking is counted, not shown."""
    before = len(out)
    for key in _THOUGHTS:
        inner = value.get(key)
        if isinstance(inner, dict) and depth < DEEPEST and not inner.keys().isdisjoint((*_THOUGHTS, *_SEALED)):
            reasoning(inner, "reasoning", out, depth + 1)  # Bedrock: {"reasoningText": {"text": ..., "signature": ...}}
        elif inner:
            read(inner, "reasoning", out, depth)
    if len(out) == before:
        for key in _SEALED:
            if isinstance(sealed := value.get(key), str | bytes) and sealed:
                out.append(Message("reasoning", f"[encrypted reasoning, {len(sealed):,} characters]"))
                return


def _media(value: Object, role: str, out: list[Message], _depth: int) -> None:
    kind = value.get("modality") or value.get("type")
    out.append(Message(role, describe(value, _LABELS.get(kind, kind) if isinstance(kind, str) else "file")))


def _compaction(value: Object, role: str, out: list[Message], depth: int) -> None:
    """A part that stands for earlier conversation: a mark, and its summary when there is one."""
    out.append(Message(role, "\n".join(filter(None, ("[compaction]", result_text(value.get("content"), depth))))))


def _skip(_value: Object, _role: str, _out: list[Message], _depth: int) -> None:
    """Tool definitions among messages and cache marks are said by nobody."""


# Tool calls and results ----------------------------------------------------------------------------------------------


def read_calls(value: Any, out: list[Message], start: int, depth: int) -> None:
    """Append a message's calls, but those that its content, `out[start:]`, already held.

    Anthropic through LangChain has both `tool_use` blocks and `tool_calls`; LangChain also keeps the provider's own.
    """
    found: list[Message] = []
    value = structure(value)
    for recorded in value if isinstance(value, list) else [value]:
        entry = structure(recorded)
        if isinstance(entry, dict):
            inner = entry.get("tool_call")
            _call(inner if isinstance(inner, dict) else entry, "assistant", found, depth)
        elif entry is not None:
            found.append(Message("assistant", text_of(entry)))
    before = [message for message in out[start:] if message.tool_name]
    out.extend(call for call in found if not any(_same_call(call, other) for other in before))


def _same_call(call: Message, other: Message) -> bool:
    if call.tool_call_id and other.tool_call_id:
        return call.tool_call_id == other.tool_call_id
    return call.tool_name == other.tool_name and call.arguments == other.arguments


def _call(value: Object, _role: str, out: list[Message], depth: int) -> None:
    """A tool call in any convention; one that holds its own result (a hosted tool) is followed by it."""
    recorded = value.get("type")
    kind = recorded if isinstance(recorded, str) else ""
    invocation = value.get("toolInvocation")
    if isinstance(invocation, dict):  # AI SDK 4 UI messages
        value = invocation
    function = value.get("function")
    given: Any
    if isinstance(function, dict):
        if is_definition(value):
            return
        name, given = text_of(function.get("name")), function.get("arguments", function.get("parameters"))
    else:
        if kind == "function" and is_definition(value):
            return
        name = function if isinstance(function, str) else first_text(value, NAMES)
        given = next((value[key] for key in _ARGUMENTS if value.get(key) is not None), None)
        if given is None:  # semconv: {"type": "server_tool_call", "server_tool_call": {...}}
            given = value.get(kind)
    call_id = first_text(value, CALL_IDS)
    name = name or _HOSTED.get(kind) or kind.removeprefix("tool-")
    out.append(Message("assistant", "", name, call_id, arguments(given)))
    if kind in _HOSTED or "toolCallId" in value:
        result = next(
            (value[key] for key in ("output", "error", "result", "results", "outputs") if value.get(key) is not None),
            None,
        )
        if result is not None:
            picture = kind == "image_generation_call"
            out.append(
                Message(
                    "tool",
                    describe({"data": result}, "image") if picture else result_text(result, depth),
                    name,
                    call_id,
                )
            )


def _tool_result(value: Object, _role: str, out: list[Message], depth: int) -> None:
    """A tool result in any convention; its role is tool whatever the message's is (docs/conventions.md C1)."""
    kind = value.get("type")
    given = next((value[key] for key in _RESULTS if value.get(key) is not None), None)
    if given is None and isinstance(kind, str):
        given = value.get(kind)  # semconv: {"type": "server_tool_call_response", "server_tool_call_response": {...}}
    out.append(Message("tool", result_text(given, depth), first_text(value, NAMES), first_text(value, CALL_IDS)))


# Parts told by their key: Gemini and Bedrock -------------------------------------------------------------------------


def _keyed(value: Object, role: str, out: list[Message], depth: int) -> None:
    """Gemini dumps a part with all its keys, null but for one; Bedrock's parts have one key."""
    for key, inner in value.items():
        reader = _KEYS.get(key)
        if reader is None or inner is None:
            continue
        if reader is _plain_text:
            _plain_text(value, role, out, depth)
        elif isinstance(inner, dict):
            reader(inner, role, out, depth)
        else:
            read(inner, role, out, depth)


def _code(value: Object, _role: str, out: list[Message], _depth: int) -> None:
    out.append(Message("assistant", "", "code_execution", "", value))


def _code_result(value: Object, _role: str, out: list[Message], depth: int) -> None:
    out.append(Message("tool", result_text(value.get("output") or value, depth), "code_execution"))


def _describer(label: str) -> Reader:
    def read_media(value: Object, role: str, out: list[Message], _depth: int) -> None:
        out.append(Message(role, describe(value, label)))

    return read_media


def _guarded(value: Object, role: str, out: list[Message], depth: int) -> None:
    read(value.get("text", value), role, out, depth)


_LABELS = {
    **dict.fromkeys(("image_url", "input_image", "image-url"), "image"),
    **dict.fromkeys(("input_audio", "audio_url", "audio-url"), "audio"),
    **dict.fromkeys(("document_url", "document-url"), "document"),
    **dict.fromkeys(("video_url", "video-url"), "video"),
    **dict.fromkeys(("input_file", "data", "container_upload"), "file"),
    "resource_link": "resource",
}
_CALLS = (
    *("tool_call", "tool_use", "tool-call", "function_call", "function", "server_tool_use", "server_tool_call"),
    *("mcp_tool_use", "custom_tool_call", "tool-invocation", "dynamic-tool", "invalid_tool_call", "tool_call_chunk"),
    *("mcp_approval_request", *_HOSTED),
)
_TOOL_RESULTS = (
    *("tool_call_response", "tool_result", "tool-result", "tool-error", "tool_response", "mcp_tool_result"),
    *("server_tool_call_response", "function_result", "function_response", "function_call_output"),
    *("custom_tool_call_output", "computer_call_output", "local_shell_call_output", "shell_call_output"),
    *("apply_patch_call_output", "web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result"),
    *("bash_code_execution_tool_result", "text_editor_code_execution_tool_result"),
)
_TYPES: dict[str, Reader] = {
    **dict.fromkeys(("text", "input_text", "output_text", "summary_text", "refusal", "text-plain"), _text),
    **dict.fromkeys(
        ("reasoning", "thinking", "redacted_thinking", "reasoning_text", "text_reasoning", "reasoningContent"),
        reasoning,
    ),
    **dict.fromkeys(_CALLS, _call),
    **dict.fromkeys(_TOOL_RESULTS, _tool_result),
    **dict.fromkeys(("image", "audio", "video", "document", "file", "blob", "uri", "binary", "media"), _media),
    **dict.fromkeys(("resource", "source-url", *_LABELS), _media),
    "compaction": _compaction,
    "mcp_list_tools": _skip,
}
_KEYS: dict[str, Reader] = {
    "text": _plain_text,
    **dict.fromkeys(("functionCall", "function_call", "toolUse"), _call),
    **dict.fromkeys(("functionResponse", "function_response", "toolResult"), _tool_result),
    "reasoningContent": reasoning,
    **dict.fromkeys(("executableCode", "executable_code"), _code),
    **dict.fromkeys(("codeExecutionResult", "code_execution_result"), _code_result),
    **dict.fromkeys(("inlineData", "inline_data"), _describer("media")),
    **dict.fromkeys(("fileData", "file_data"), _describer("file")),
    **{key: _describer(key) for key in ("image", "document", "video")},
    "guardContent": _guarded,
    "citationsContent": _text,
    **dict.fromkeys(("cachePoint", "toolSpec", "functionDeclarations", "function_declarations"), _skip),
}
