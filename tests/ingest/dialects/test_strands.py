"""What Strands adds to the GenAI conventions (docs/conventions.md C8)."""

from __future__ import annotations

import json

import pytest

from gpa.ingest import dialects
from gpa.ingest.dialects import strands
from gpa.ingest.dialects.call import Call
from gpa.ingest.spans import Event
from tests.ingest.dialects.producers import CALL, RESULT, TOOL, span


@pytest.mark.parametrize(
    "events",
    [
        [
            Event("gen_ai.tool.message", attributes={"role": "tool", "content": '{"city": "Oslo"}', "id": "c1"}),
            Event("gen_ai.choice", attributes={"message": '[{"text": "rain"}]', "id": "c1"}),
        ],
        [
            Event(
                "gen_ai.client.inference.operation.details",
                attributes={
                    "gen_ai.input.messages": json.dumps(
                        [
                            {
                                "role": "tool",
                                "parts": [
                                    {"type": "tool_call", "name": "weather", "id": "c1", "arguments": {"city": "Oslo"}}
                                ],
                            }
                        ]
                    )
                },
            ),
            Event(
                "gen_ai.client.inference.operation.details",
                attributes={
                    "gen_ai.output.messages": json.dumps(
                        [
                            {
                                "role": "tool",
                                "parts": [{"type": "tool_call_response", "id": "c1", "response": [{"text": "rain"}]}],
                            }
                        ]
                    )
                },
            ),
        ],
    ],
    ids=["per-message events", "details events"],
)
def test_a_strands_tool(events: list[Event]) -> None:
    found = dialects.read(span("execute_tool weather", TOOL, *events))
    assert (found.kind, found.input, found.output) == ("tool", (CALL,), (RESULT,))


def test_a_failed_strands_tool_has_its_result_as_error() -> None:
    event = Event("gen_ai.choice", attributes={"message": '[{"text": "no such city"}]'})
    found = dialects.read(span("execute_tool weather", {**TOOL, "gen_ai.tool.status": "error"}, event))
    assert found.error == "no such city"


def test_a_strands_cycle_repeats_nothing() -> None:
    event = Event("gen_ai.user.message", attributes={"content": '[{"text": "Weather?"}]'})
    found = strands.read(span("execute_event_loop_cycle", {"event_loop.cycle_id": "1"}, event))
    assert found == Call(operation="execute_event_loop_cycle", name="execute_event_loop_cycle")


def test_the_tool_names_of_a_strands_agent() -> None:
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "ada",
        "gen_ai.agent.tools": '["weather"]',
    }
    assert [tool.name for tool in dialects.read(span("invoke_agent ada", attributes)).tools] == ["weather"]
