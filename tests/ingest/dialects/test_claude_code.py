"""Claude Code records its calls in attributes and events of its own (docs/conventions.md C13)."""

from __future__ import annotations

import json

from gpa.ingest import dialects
from gpa.ingest.dialects import claude_code
from gpa.ingest.dialects.call import Message, Usage
from gpa.ingest.spans import Event
from tests.ingest.dialects.producers import CALL, RESULT, span


def test_a_claude_code_interaction() -> None:
    found = dialects.read(
        span("claude_code.interaction", {"span.type": "interaction", "user_prompt": "Fix it.", "session.id": "k"})
    )
    assert (found.kind, found.agent, found.conversation_id, found.input) == (
        "agent",
        "Claude Code",
        "k",
        (Message("user", "Fix it."),),
    )


def test_withheld_prompts_of_claude_code_are_hidden() -> None:
    found = claude_code.read(span("claude_code.interaction", {"span.type": "interaction", "user_prompt": "<REDACTED>"}))
    assert found is not None
    assert (found.input, found.hidden) == ((), True)


def test_a_claude_code_tool() -> None:
    attributes = {"span.type": "tool", "tool_name": "weather", "tool_use_id": "c1"}
    event = Event("tool.output", attributes={"tool_input": '{"city":"Oslo"}', "output": "rain"})
    found = dialects.read(span("claude_code.tool", attributes, event))
    assert (found.kind, found.name, found.input, found.output) == ("tool", "weather", (CALL,), (RESULT,))


def test_a_claude_code_model_call_with_its_bodies() -> None:
    request = {
        "model": "m",
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "Weather?"}],
        "tools": [{"name": "weather", "input_schema": {}}],
    }
    response = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Oslo"}}],
    }
    attributes = {
        "span.type": "llm_request",
        "model": "m",
        "gen_ai.request.model": "m",
        "input_tokens": 2,
        "output_tokens": 12,
        "cache_read_tokens": 84,
        "cache_creation_tokens": 7,
        "stop_reason": "tool_use",
        "success": True,
    }
    events = [
        Event("", attributes={"event.name": "api_request_body", "body": json.dumps(request)}),
        Event("claude_code.api_response_body", attributes={"body": json.dumps(response)}),
    ]
    found = dialects.read(span("claude_code.llm_request", attributes, *events))
    assert (found.kind, found.model, found.finish_reason, found.usage) == ("llm", "m", "tool_use", Usage(2, 12, 84, 7))
    assert (found.input, found.output) == ((Message("system", "Be brief."), Message("user", "Weather?")), (CALL,))
    assert [tool.name for tool in found.tools] == ["weather"]


def test_a_failed_claude_code_request_says_so() -> None:
    found = claude_code.read(
        span("claude_code.llm_request", {"span.type": "llm_request", "success": False, "error": "overloaded"})
    )
    assert found is not None
    assert found.error == "overloaded"
