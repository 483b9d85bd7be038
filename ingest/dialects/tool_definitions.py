"""Tool definitions in every form a producer writes, as `Tool`s."""

from __future__ import annotations

from typing import Any

from gpa.ingest.dialects.call import Tool
from gpa.ingest.dialects.json_text import compact, is_deep, structure

_SCHEMAS = (
    "parameters",  # OpenAI, semconv, Gemini
    "input_schema",  # Anthropic
    "inputSchema",  # AI SDK, MCP, Bedrock
    "parametersJsonSchema",
    "parameters_json_schema",
    "args_schema",
    "json_schema",
    "schema",
)
_DECLARATIONS = ("functionDeclarations", "function_declarations")
_LISTS = ("tools", "functions", "tool_definitions", "toolConfig", *_DECLARATIONS)
_DEEPEST = 12


def tools(value: Any) -> tuple[Tool, ...]:
    """The tool definitions in `value`, in recorded order, each once.

    Reads OpenAI definitions (nested and flat), Anthropic `input_schema`, AI SDK and MCP `inputSchema`, Gemini
    `functionDeclarations`, Bedrock `toolSpec`, names alone, JSON text of any of these, lists of JSON texts,
    requests that hold them, and definitions that stand among chat messages (docs/conventions.md F8).
    """
    found: list[Tool] = []
    _collect(structure(value), found, 0)
    unique: dict[str, list[Tool]] = {}
    for tool in found:
        same_name = unique.setdefault(tool.name, [])
        if tool not in same_name:
            same_name.append(tool)
    return tuple(tool for same_name in unique.values() for tool in same_name)


def is_definition(value: Any) -> bool:
    """Whether an entry of a message list is a tool definition rather than a message or a call."""
    if not isinstance(value, dict):
        return False
    if value.get("role") == "tool":
        content = value.get("content")
        if isinstance(content, str) and content[:1] == "{" and '"function"' in content[:64]:
            content = structure(content)
        return isinstance(content, dict) and "role" not in content and is_definition(content)
    function = value.get("function")
    if isinstance(function, dict):
        return (
            "arguments" not in function
            and "name" in function
            and ("parameters" in function or "description" in function)
        )
    if "toolSpec" in value or not value.keys().isdisjoint(_DECLARATIONS):
        return True
    return (
        value.get("type") in ("function", "custom")
        and "name" in value
        and "parameters" in value
        and "arguments" not in value
    )


def _collect(value: Any, found: list[Tool], depth: int) -> None:
    if depth > _DEEPEST:
        return
    if isinstance(value, list | tuple):
        for recorded in value:
            entry = structure(recorded)
            if isinstance(entry, dict) and ("role" in entry or "lc" in entry):
                if is_definition(entry):
                    _collect(structure(entry.get("content")), found, depth + 1)
            elif isinstance(entry, str) and entry:
                found.append(Tool(name=entry))
            else:
                _collect(entry, found, depth + 1)
    elif isinstance(value, dict):
        _from_object(value, found, depth)


def _from_object(value: dict[str, Any], found: list[Tool], depth: int) -> None:
    spec = value.get("toolSpec")
    function = value.get("function")
    if isinstance(spec, dict):
        _collect(spec, found, depth + 1)
    elif isinstance(function, dict):
        if "arguments" not in function:
            _collect(function, found, depth + 1)
    elif isinstance(name := value.get("name"), str) and name:
        if "arguments" not in value and "content" not in value:
            found.append(Tool(name=name, description=_text(value.get("description")), parameters=_schema(value)))
    else:
        holders = [value[key] for key in _LISTS if key in value]
        config = value.get("config")
        if isinstance(config, dict):
            holders += [config[key] for key in _LISTS if key in config]
        if holders:
            for holder in holders:
                _collect(structure(holder), found, depth + 1)
        elif isinstance(messages := structure(value.get("messages")), list):
            _collect(messages, found, depth + 1)
        elif isinstance(kind := value.get("type"), str) and kind not in {"function", "text", "message"}:
            found.append(Tool(name=kind))  # a tool the provider runs: {"type": "web_search"}
        else:
            _from_mapping(value, found)


def _from_mapping(value: dict[str, Any], found: list[Tool]) -> None:
    """`{"weather": {"description": ..., "inputSchema": ...}}`: definitions by name (AI SDK, ADK)."""
    for name, definition in value.items():
        if isinstance(definition, dict) and ("description" in definition or not definition.keys().isdisjoint(_SCHEMAS)):
            given = definition.get("name")
            found.append(
                Tool(
                    name=given if isinstance(given, str) and given else str(name),
                    description=_text(definition.get("description")),
                    parameters=_schema(definition),
                )
            )
        elif value.keys() == {"google_search"} or definition == {}:
            found.append(Tool(name=str(name)))  # Gemini: {"google_search": {}}


def _schema(definition: dict[str, Any]) -> dict[str, Any]:
    for key in _SCHEMAS:
        schema = structure(definition.get(key))
        if isinstance(schema, dict) and schema and not is_deep(schema):
            inner = schema.get("json", schema.get("jsonSchema"))  # Bedrock, AI SDK wrap the schema once more
            if isinstance(inner := structure(inner), dict):
                return inner
            return schema
    return {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else compact(value)
