"""What the MS Agent Framework and AutoGen add to the GenAI conventions (docs/conventions.md C10)."""

from __future__ import annotations

from typing import Any

import pytest

from gpa.ingest import dialects
from gpa.ingest.dialects import agent_framework
from gpa.ingest.dialects.call import Message
from gpa.ingest.spans import Event
from tests.ingest.dialects.producers import span


def test_messages_of_the_agent_framework_count_once() -> None:
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text", "content": "Weather?"}, null]}]',
        "gen_ai.response.finish_reasons": '["tool_calls"]',
    }
    event = Event("gen_ai.user.message", body={"content": "Weather?"})
    found = dialects.read(span("chat m", attributes, event, scope="agent_framework"))
    assert (found.input, found.finish_reason) == ((Message("user", "Weather?"),), "tool_calls")


@pytest.mark.parametrize(
    ("name", "attributes", "shown"),
    [
        ("executor.process writer", {"executor.id": "writer"}, "writer"),
        ("workflow.run", {"workflow.name": "report"}, "report"),
        ("edge_group.process", {"edge_group.type": "FanOut"}, "FanOut"),
        ("message.send", {"message.type": "Draft"}, "Draft"),
        ("autogen publish group_topic", {}, "autogen publish group_topic"),
    ],
)
def test_workflow_steps_are_named(name: str, attributes: dict[str, Any], shown: str) -> None:
    found = agent_framework.read(span(name, attributes))
    assert found is not None
    assert (found.kind, found.name) == ("other", shown)
