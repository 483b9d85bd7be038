"""What Google's ADK adds to the GenAI conventions (docs/conventions.md C9)."""

from __future__ import annotations

import json

import pytest

from gpa.ingest import dialects
from gpa.ingest.dialects import google_adk
from gpa.ingest.dialects.call import Message, Usage
from tests.ingest.dialects.producers import CALL, REQUEST, RESPONSE, RESULT, TOOL, span


def test_a_model_call_of_adk_1() -> None:
    attributes = {
        "gen_ai.system": "gcp.vertex.agent",
        "gen_ai.request.model": "m",
        "gcp.vertex.agent.llm_request": json.dumps(REQUEST),
        "gcp.vertex.agent.llm_response": json.dumps(RESPONSE),
        "gcp.vertex.agent.session_id": "k",
    }
    found = dialects.read(span("call_llm", attributes, scope="gcp.vertex.agent"))
    assert (found.kind, found.operation, found.model, found.conversation_id) == ("llm", "call_llm", "m", "k")
    assert found.input == (Message("system", "Be brief."), Message("user", "Weather?"))
    assert found.output == (CALL,)
    assert (found.finish_reason, found.usage, [tool.name for tool in found.tools]) == ("STOP", Usage(7, 8), ["weather"])


def test_a_tool_of_adk_1() -> None:
    attributes = {
        **TOOL,
        "gcp.vertex.agent.tool_call_args": '{"city":"Oslo"}',
        "gcp.vertex.agent.tool_response": '{"result": "rain"}',
    }
    found = dialects.read(span("execute_tool weather", attributes, scope="gcp.vertex.agent"))
    assert (found.input, found.output, found.hidden) == ((CALL,), (RESULT,), False)


@pytest.mark.parametrize(("arguments", "result"), [("{}", "{}"), ("N/A", "<not serializable>")])
def test_switched_off_content_of_adk_is_hidden(arguments: str, result: str) -> None:
    attributes = {**TOOL, "gcp.vertex.agent.tool_call_args": arguments, "gcp.vertex.agent.tool_response": result}
    found = dialects.read(span("execute_tool weather", attributes))
    assert found.hidden
    assert found.input == (Message("assistant", "", "weather", "c1"),)


def test_merged_tool_calls_of_adk_make_no_step() -> None:
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "(merged tools)"}
    assert dialects.read(span("execute_tool (merged)", attributes, scope="gcp.vertex.agent")).placeholder


def test_the_agent_span_of_the_first_adk() -> None:
    found = google_adk.read(span("agent_run [ada]", {}, scope="gcp.vertex.agent"))
    assert found is not None
    assert (found.kind, found.agent) == ("agent", "ada")
