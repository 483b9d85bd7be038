"""Of a recorded OpenInference span every message is read once, by ascending number, and every argument."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from gpa.ingest.dialects.openinference import read
from gpa.ingest.spans import Span
from tests.ingest.dialects.openinference import IN, KIND, OUT
from tests.ingest.dialects.recorded import flat, needs_recordings, otlp, trail

# Recordings: every text under `llm.input_messages.{i}` and `llm.output_messages.{i}` is read once, by ascending i.

_TEXT = re.compile(r"(\d+)\.message\.(?:content|contents\.(\d+)\.message_content\.text|content\.(\d+))").fullmatch
_CALL = re.compile(r"(\d+)\.message\.tool_calls\.(\d+)\.tool_call\.function\.name").fullmatch


def in_index_order(attributes: dict[str, Any], prefix: str, pattern: Any) -> list[str]:
    found = []
    for key, value in attributes.items():
        if key.startswith(f"{prefix}.") and (match := pattern(key.removeprefix(f"{prefix}."))) and value:
            found.append(([int(number) for number in match.groups() if number], value))
    return [value for _, value in sorted(found, key=lambda pair: pair[0])]


def assert_messages_equal_raw_attributes(span: Span) -> None:
    found = read(span)
    assert found is not None
    for prefix, sequence in ((IN, found.input), (OUT, found.output)):
        texts, calls = (in_index_order(span.attributes, prefix, pattern) for pattern in (_TEXT, _CALL))
        if texts or calls:
            assert [message.text for message in sequence if message.text] == texts
            assert [
                message.tool_name for message in sequence if message.role == "assistant" and message.tool_name
            ] == calls


GENERATED = "otel/generated"
OTLP = [
    f"{GENERATED}/langgraph_openinference/react_agent_weather.traces.jsonl",
    f"{GENERATED}/langgraph_openinference/tool_error.traces.jsonl",
    f"{GENERATED}/openai_agents_openinference/handoff_chat_completions.traces.jsonl",
    f"{GENERATED}/smolagents_openinference/smolagents_codeagent_3steps.traces.jsonl",
    f"{GENERATED}/smolagents_openinference/smolagents_streaming_error.traces.jsonl",
    f"{GENERATED}/sdk_limits/langgraph_oi_count128.traces.jsonl",
    f"{GENERATED}/sdk_limits/langgraph_oi_value_length.traces.jsonl",
]
FLAT = [
    f"otel/public/strands_evals_live_spans/{name}_live_spans.json"
    for name in ("openinference", "openai_agents_openinference", "claude")
]


@needs_recordings
@pytest.mark.parametrize("path", [*OTLP, *FLAT])
def test_recorded_messages_equal_the_raw_attributes(path: str) -> None:
    spans = list(otlp(path) if path.endswith("jsonl") else flat(path))
    checked = [span for span in spans if any(key.startswith((f"{IN}.", f"{OUT}.")) for key in span.attributes)]
    for span in checked:
        if span.attributes.get(KIND) == "LLM" or "claude" in path:
            assert_messages_equal_raw_attributes(span)
    assert checked


@needs_recordings
def test_trail_messages_equal_the_raw_attributes() -> None:
    spans = [span for span in trail() if span.attributes.get(KIND) == "LLM"]
    for span in spans:
        assert_messages_equal_raw_attributes(span)
    assert len(spans) > 800


@needs_recordings
def test_every_recorded_tool_span_has_its_arguments_by_name() -> None:
    tools = [span for span in trail() if span.attributes.get(KIND) == "TOOL"]
    for span in tools:
        found = read(span)
        assert found is not None
        assert found.name == span.attributes["tool.name"]
        recorded = json.loads(span.attributes["input.value"])
        arguments = found.input[0].arguments
        assert "args" not in arguments
        assert len(arguments) == len(recorded["args"]) + len(recorded["kwargs"])
