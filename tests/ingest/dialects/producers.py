"""One question about the weather, as single producers record it: what their tests build spans with, and expect."""

from __future__ import annotations

from typing import Any

from gpa.ingest.dialects.call import Message
from gpa.ingest.spans import Event, Scope, Span

CALL = Message("assistant", "", "weather", "c1", {"city": "Oslo"})
RESULT = Message("tool", "rain", "weather", "c1")
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather", "gen_ai.tool.call.id": "c1"}

REQUEST = {
    "model": "m",
    "config": {"system_instruction": "Be brief.", "tools": [{"function_declarations": [{"name": "weather"}]}]},
    "contents": [{"role": "user", "parts": [{"text": "Weather?"}]}],
}
RESPONSE = {
    "content": {
        "role": "model",
        "parts": [{"function_call": {"id": "c1", "name": "weather", "args": {"city": "Oslo"}}}],
    },
    "finish_reason": "STOP",
    "usage_metadata": {"prompt_token_count": 7, "candidates_token_count": 8},
}
"""A request and a response of Gemini's API, which ADK and the Gemini CLI record."""


def span(name: str, attributes: dict[str, Any], *events: Event, scope: str = "") -> Span:
    """A span of these attributes and events, by the library of this scope."""
    return Span("t", "s", name=name, attributes=attributes, events=events, scope=Scope(scope))
