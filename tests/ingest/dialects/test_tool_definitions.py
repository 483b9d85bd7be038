"""Tool definitions of every form become the same tools."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpa.ingest.dialects.call import Tool
from gpa.ingest.dialects.chat import tools

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = Tool("weather", "Look outside.", SCHEMA)

FORMS: dict[str, Any] = {
    "OpenAI nested": [
        {"type": "function", "function": {"name": "weather", "description": "Look outside.", "parameters": SCHEMA}}
    ],
    "OpenAI flat": [
        {"type": "function", "name": "weather", "description": "Look outside.", "parameters": SCHEMA, "strict": True}
    ],
    "Anthropic": [{"name": "weather", "description": "Look outside.", "input_schema": SCHEMA}],
    "AI SDK": [
        {"type": "function", "name": "weather", "description": "Look outside.", "inputSchema": {"jsonSchema": SCHEMA}}
    ],
    "AI SDK by name": {"weather": {"description": "Look outside.", "inputSchema": SCHEMA}},
    "Gemini": [
        {"functionDeclarations": [{"name": "weather", "description": "Look outside.", "parametersJsonSchema": SCHEMA}]}
    ],
    "Gemini request": {
        "config": {
            "tools": [
                {"function_declarations": [{"name": "weather", "description": "Look outside.", "parameters": SCHEMA}]}
            ]
        }
    },
    "Bedrock": {
        "tools": [{"toolSpec": {"name": "weather", "description": "Look outside.", "inputSchema": {"json": SCHEMA}}}]
    },
    "MCP": {"tools": [{"name": "weather", "description": "Look outside.", "inputSchema": SCHEMA}], "nextCursor": None},
    "schema as text": [{"name": "weather", "description": "Look outside.", "parameters": json.dumps(SCHEMA)}],
    "among messages": [
        {"role": "user", "content": "Go.", "name": "bob"},
        {
            "role": "tool",
            "content": {
                "type": "function",
                "function": {"name": "weather", "description": "Look outside.", "parameters": SCHEMA},
            },
        },
    ],
    "list of JSON texts": [
        json.dumps({"type": "function", "name": "weather", "description": "Look outside.", "inputSchema": SCHEMA})
    ],
    "twice": [{"name": "weather", "description": "Look outside.", "parameters": SCHEMA}] * 2,
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("written", [lambda value: value, json.dumps], ids=["structured", "JSON text"])
def test_every_form_is_the_same_tool(form: Any, written: Any) -> None:
    assert tools(written(form)) == (WEATHER,)


@pytest.mark.parametrize(
    ("value", "names"),
    [
        (["search", "read"], ["search", "read"]),
        ('["search"]', ["search"]),
        ([{"type": "web_search"}], ["web_search"]),
        ([{"name": "f", "parameters": None}], ["f"]),
        ([{"role": "user", "content": "hi"}], []),
        ([{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}], []),
        (None, []),
        (7, []),
        ("not json", []),
    ],
)
def test_names_alone_and_things_that_are_no_definitions(value: Any, names: list[str]) -> None:
    assert [tool.name for tool in tools(value)] == names
