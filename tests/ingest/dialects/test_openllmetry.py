"""OpenLLMetry's flattened conversations and framework spans are read as what they are (docs/conventions.md C3)."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given

from gpa.ingest.dialects.call import Call, Message, Tool, Usage
from gpa.ingest.dialects.openllmetry import read
from gpa.ingest.spans import Scope, Span
from tests.ingest.dialects import arbitrary
from tests.ingest.dialects.recorded import jaeger, needs_recordings, otlp

PROPERTIES = "traceloop.association.properties"


def reading(attributes: dict[str, Any], name: str = "span", scope: str = "") -> Call:
    found = read(Span("t", "s", name=name, attributes=attributes, scope=Scope(scope)))
    assert found is not None
    return found


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.system": "openai", "gen_ai.request.model": "m", "gen_ai.input.messages": "[]"},
        {"http.method": "GET"},
        {"langsmith.span.kind": "llm", "gen_ai.prompt": "{}"},
    ],
    ids=["semantic conventions", "HTTP", "LangSmith"],
)
def test_a_span_of_another_convention_is_not_read(attributes: dict[str, Any]) -> None:
    assert read(Span("t", "s", attributes=attributes)) is None


def test_everything_a_model_call_says() -> None:
    found = reading(
        {
            "llm.request.type": "chat",
            "gen_ai.system": "openai",
            "gen_ai.request.model": "gpt",
            "gen_ai.response.model": "gpt-1",
            "gen_ai.response.id": "r1",
            "gen_ai.prompt.10.role": "user",
            "gen_ai.prompt.10.content": "And now?",
            "gen_ai.prompt.0.role": "system",
            "gen_ai.prompt.0.content": "Be brief.",
            "gen_ai.prompt.2.role": "tool",
            "gen_ai.prompt.2.content": "rain",
            "gen_ai.prompt.2.tool_call_id": "c1",
            "gen_ai.prompt.1.role": "assistant",
            "gen_ai.prompt.1.tool_calls.0.id": "c1",
            "gen_ai.prompt.1.tool_calls.0.name": "weather",
            "gen_ai.prompt.1.tool_calls.0.arguments": '{"city": "Oslo"}',
            "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.reasoning": "It is wet.",
            "gen_ai.completion.0.content": "It rains.",
            "gen_ai.completion.0.finish_reason": "stop",
            "llm.request.functions.0.name": "weather",
            "llm.request.functions.0.description": "d",
            "llm.request.functions.0.parameters": '{"type": "object"}',
            "gen_ai.usage.prompt_tokens": "71",
            "gen_ai.usage.completion_tokens": 35,
            "gen_ai.usage.cache_read_input_tokens": 7,
            "llm.usage.reasoning_tokens": 3,
            f"{PROPERTIES}.lc_agent_name": "w",
            f"{PROPERTIES}.thread_id": "t-9",
        }
    )
    assert found == Call(
        kind="llm",
        operation="chat",
        name="gpt-1",
        agent="w",
        input=(
            Message("system", "Be brief."),
            Message("assistant", "", "weather", "c1", {"city": "Oslo"}),
            Message("tool", "rain", "", "c1"),
            Message("user", "And now?"),
        ),
        output=(Message("reasoning", "It is wet."), Message("assistant", "It rains.")),
        tools=(Tool("weather", "d", {"type": "object"}),),
        model="gpt-1",
        response_id="r1",
        finish_reason="stop",
        conversation_id="t-9",
        usage=Usage(71, 35, 7, 0, 3),
        notes=("7 input messages were dropped by the producer's attribute limit",),
    )


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("plain", "plain"),
        ('[{"type": "text", "text": "a part"}]', "a part"),
        ('[{"city": "Oslo"}]', '[{"city": "Oslo"}]'),
        ('{"city": "Oslo"}', '{"city": "Oslo"}'),
        ([{"type": "text", "text": "structured"}], "structured"),
        (7, "7"),
    ],
    ids=["text", "dumped parts", "JSON list somebody said", "JSON somebody said", "parts", "number"],
)
def test_content(content: object, expected: str) -> None:
    attributes = {"llm.request.type": "chat", "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": content}
    assert reading(attributes).input == (Message("user", expected),)


def test_function_calls_of_old_are_calls() -> None:
    prefix = "gen_ai.completion.0.function_call"
    found = reading({"llm.request.type": "chat", f"{prefix}.name": "w", f"{prefix}.arguments": '{"city": "Oslo"}'})
    assert found.output == (Message("assistant", "", "w", "", {"city": "Oslo"}),)


@pytest.mark.parametrize(
    ("attributes", "kind"),
    [
        ({"llm.request.type": "chat"}, "llm"),
        ({"llm.request.type": "completion"}, "llm"),
        ({"llm.request.type": "embedding"}, "retrieval"),
        ({"llm.request.type": "rerank"}, "retrieval"),
        ({"gen_ai.system": "x", "gen_ai.prompt.3.content": "the head was dropped"}, "llm"),
        ({"gen_ai.prompt": '[{"role": "user", "content": "un-indexed"}]'}, "llm"),
        ({"traceloop.span.kind": "task", "traceloop.entity.name": "x"}, "other"),
        ({"traceloop.span.kind": "workflow"}, "other"),
        ({"traceloop.span.kind": "agent"}, "agent"),
        ({"traceloop.span.kind": "tool"}, "tool"),
        ({"traceloop.span.kind": "?"}, "other"),
    ],
)
def test_kind(attributes: dict[str, Any], kind: str) -> None:
    assert reading(attributes).kind == kind


def test_a_model_call_without_content_is_hidden() -> None:
    assert reading({"llm.request.type": "chat", "gen_ai.request.model": "m"}).hidden


def test_a_langgraph_workflow_is_an_agent() -> None:
    state = {
        "outputs": {"messages": [{"type": "human", "content": "Weather?"}, {"type": "ai", "content": "It rains."}]}
    }
    found = reading(
        {
            "traceloop.span.kind": "workflow",
            "traceloop.entity.name": "w",
            "traceloop.entity.input": '{"inputs": {"messages": [{"role": "user", "content": "Weather?"}]}, "tags": []}',
            "traceloop.entity.output": json.dumps(state),
        },
        name="w.workflow",
        scope="opentelemetry.instrumentation.langchain",
    )
    assert (found.kind, found.agent) == ("agent", "w")
    assert (found.input, found.output) == ((Message("user", "Weather?"),), (Message("assistant", "It rains."),))


def test_bare_text_instructions_are_a_system_message() -> None:
    found = reading(
        {"traceloop.span.kind": "agent", "gen_ai.agent.name": "w", "gen_ai.system_instructions": "Be brief."}
    )
    assert (found.agent, found.input) == ("w", (Message("system", "Be brief."),))


TOOLS: dict[str, tuple[object, object, Any, str, str]] = {
    "LangChain callback": (
        {"input_str": "{'city': 'Oslo'}", "tags": [], "metadata": {}, "inputs": {"city": "Oslo"}, "kwargs": {}},
        {"output": {"lc": 1, "id": ["ToolMessage"], "kwargs": {"content": "rain", "tool_call_id": "c1"}}, "kwargs": {}},
        {"city": "Oslo"},
        "rain",
        "c1",
    ),
    "LangChain callback without inputs": (
        {"input_str": "{'city': 'Oslo'}", "tags": [], "metadata": {}},
        {"output": "rain", "kwargs": {"tags": []}},
        {"city": "Oslo"},
        "rain",
        "",
    ),
    "decorated function": (
        {"args": ["Oslo"], "kwargs": {"days": 2}},
        "rain",
        {"args": ["Oslo"], "days": 2},
        "rain",
        "",
    ),
    "decorated function by name": ({"args": [], "kwargs": {"city": "Oslo"}}, [1], {"city": "Oslo"}, "[1]", ""),
}


@pytest.mark.parametrize(("given_", "returned", "arguments", "result", "call_id"), TOOLS.values(), ids=TOOLS)
def test_tool(given_: object, returned: object, arguments: Any, result: str, call_id: str) -> None:
    found = reading(
        {
            "traceloop.span.kind": "tool",
            "traceloop.entity.name": "weather",
            "traceloop.entity.input": json.dumps(given_),
            "traceloop.entity.output": json.dumps(returned),
        }
    )
    assert found.input == (Message("assistant", "", "weather", call_id, arguments),)
    assert found.output == (Message("tool", result, "weather", call_id),)


@given(
    arbitrary.attributes(
        *(
            "llm.request.type",
            "traceloop.span.kind",
            "traceloop.entity.name",
            "traceloop.entity.input",
            "gen_ai.prompt",
        ),
        *(
            "traceloop.entity.output",
            "gen_ai.prompt.0.role",
            "gen_ai.prompt.2.content",
            "gen_ai.completion",
            "gen_ai.system",
        ),
        *("gen_ai.prompt.2.tool_calls.0.arguments", "llm.request.functions.0.parameters", "gen_ai.usage.prompt_tokens"),
        *(
            "gen_ai.completion.0.finish_reason",
            "gen_ai.system_instructions",
            "gen_ai.tool.call.id",
            f"{PROPERTIES}.thread_id",
        ),
    )
)
def test_no_attribute_value_raises(attributes: dict[str, Any]) -> None:
    read(Span("t", "s", attributes=attributes))


# Recordings: every text under `gen_ai.prompt.{i}` and `gen_ai.completion.{i}` is read once, by ascending i.

RECORDINGS = [
    "otel/generated/openllmetry/openai_loop_v0.47.traces.jsonl",
    "otel/generated/openllmetry/langgraph_v0.47.traces.jsonl",
    "otel/public/jaeger_kagent/k8s.json",
    "otel/public/jaeger_kagent/helm_2.json",
]


def in_index_order(attributes: dict[str, Any], prefix: str, field: str) -> list[str]:
    pattern = re.compile(rf"{re.escape(prefix)}\.(\d+)\.{field}").fullmatch
    found = [
        ([int(n) for n in match.groups()], value)
        for key, value in attributes.items()
        if (match := pattern(key)) and value
    ]
    return [value for _, value in sorted(found)]


@needs_recordings
@pytest.mark.parametrize("path", RECORDINGS)
def test_recorded_messages_equal_the_raw_attributes(path: str) -> None:
    checked = 0
    for span in otlp(path) if path.endswith("jsonl") else jaeger(path):
        found = read(span)
        if found is None or found.kind != "llm":
            continue
        for prefix, sequence in (("gen_ai.prompt", found.input), ("gen_ai.completion", found.output)):
            checked += 1
            assert [message.text for message in sequence if message.text] == in_index_order(
                span.attributes, prefix, "content"
            )
            assert [
                message.tool_name for message in sequence if message.role == "assistant" and message.tool_name
            ] == in_index_order(span.attributes, prefix, r"tool_calls\.(\d+)\.name")
    assert checked
