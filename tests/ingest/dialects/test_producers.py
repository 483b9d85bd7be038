"""Whatever the attributes and events of a known producer hold, its spans are read without an error."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.ingest import dialects
from gpa.ingest.dialects.call import Message
from gpa.ingest.spans import Event
from tests.ingest.dialects.producers import span

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.just('[{"a"'),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["role", "parts", "content", "response", "args"]), inner, max_size=3)
    ),
    max_leaves=8,
)
_NAMES = st.sampled_from(
    [
        *(
            "pydantic_ai.all_messages",
            "all_messages_events",
            "final_result",
            "tool_arguments",
            "tool_response",
            "events",
        ),
        *(
            "pydantic_ai.new_message_index",
            "model_request_parameters",
            "event_loop.cycle_id",
            "gen_ai.agent.tools",
            "body",
        ),
        *(
            "gcp.vertex.agent.llm_request",
            "gcp.vertex.agent.llm_response",
            "gcp.vertex.agent.tool_call_args",
            "content",
        ),
        *(
            "gcp.vertex.agent.tool_response",
            "input-json",
            "output-json",
            "gen_ai.operation.name",
            "user_prompt",
            "message",
        ),
        *(
            "tool_name",
            "input_tokens",
            "success",
            "executor.id",
            "gen_ai.input.messages",
            "gen_ai.output.messages",
            "span.type",
        ),
    ]
)
_SPANS = st.sampled_from(
    [
        "agent run",
        "running tools",
        "call_llm",
        "execute_tool (merged)",
        "claude_code.tool",
        "claude_code.llm_request",
        "workflow.run",
        "chat",
    ]
)
_EVENT_NAMES = st.sampled_from(["gen_ai.tool.message", "gen_ai.choice", "api_request_body", "tool.output"])


@given(st.dictionaries(_NAMES, _VALUES), _SPANS, st.sampled_from(["", "gemini-cli", "gcp.vertex.agent"]), _EVENT_NAMES)
def test_no_value_raises(attributes: dict[str, Any], name: str, scope: str, event: str) -> None:
    found = dialects.read(span(name, attributes, Event(event, attributes=attributes, body=attributes), scope=scope))
    assert all(isinstance(message, Message) for message in found.input + found.output)


@pytest.mark.parametrize(
    ("name", "key"),
    [("claude_code.tool", "success"), ("chat m", "exception.escaped"), ("ToolMessage", "output.value")],
)
def test_a_list_where_a_word_belongs_costs_nothing(name: str, key: str) -> None:
    attributes = {key: [], "input.value": {"id": [[]], "lc": 1, "type": [], "name": "a", "parameters": {}}}
    found = dialects.read(span(name, attributes, Event("exception", attributes=attributes)))
    assert found.kind in {"tool", "llm", "agent", "retrieval", "other"}
