"""Gemini CLI records its calls in attributes of its own (docs/conventions.md C14)."""

from __future__ import annotations

import json

import pytest

from gpa.ingest import dialects
from gpa.ingest.dialects.call import Message
from tests.ingest.dialects.producers import CALL, REQUEST, RESPONSE, RESULT, span


@pytest.mark.parametrize(
    ("given_key", "said_key"), [("gen_ai.input.messages", "gen_ai.output.messages"), ("input-json", "output-json")]
)
def test_a_gemini_cli_tool(given_key: str, said_key: str) -> None:
    request = {"callId": "c1", "name": "weather", "args": {"city": "Oslo"}, "prompt_id": "p"}
    done = {
        "status": "success",
        "response": {"responseParts": [{"functionResponse": {"name": "weather", "response": {"output": "rain"}}}]},
    }
    attributes = {
        "gen_ai.operation.name": "tool_call",
        "gen_ai.tool.name": "weather",
        "gen_ai.tool.call_id": "c1",
        given_key: json.dumps(request),
        said_key: json.dumps(done),
    }
    found = dialects.read(span("tool_call", attributes, scope="gemini-cli"))
    assert (found.kind, found.input, found.output, found.error) == ("tool", (CALL,), (RESULT,), "")


def test_a_gemini_cli_model_call() -> None:
    attributes = {
        "gen_ai.operation.name": "llm_call",
        "gen_ai.input.messages": json.dumps({"request": REQUEST, "userPromptId": "p", "model": "m"}),
        "gen_ai.output.messages": json.dumps(
            {"response": {"candidates": [{"content": RESPONSE["content"]}]}, "durationMs": 3}
        ),
    }
    found = dialects.read(span("llm_call", attributes, scope="gemini-cli"))
    assert found.kind == "llm"
    assert (found.input, found.output) == ((Message("system", "Be brief."), Message("user", "Weather?")), (CALL,))
