"""OpenTelemetry GenAI spans of every version (docs/conventions.md C1)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.ingest.dialects import semconv
from gpa.ingest.dialects.call import Call, Message, Tool, Usage
from gpa.ingest.spans import Event, Span

IN = [
    {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]},
    {"role": "user", "parts": [{"type": "text", "content": "Weather?"}]},
    {
        "role": "assistant",
        "parts": [{"type": "tool_call", "id": "c1", "name": "weather", "arguments": {"city": "Oslo"}}],
    },
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "rain"}]},
]
OUT = [
    {
        "role": "assistant",
        "parts": [{"type": "reasoning", "content": "Hm."}, {"type": "text", "content": "Rain."}],
        "finish_reason": "stop",
    }
]
INPUT = (
    Message("system", "Be brief."),
    Message("user", "Weather?"),
    Message("assistant", "", "weather", "c1", {"city": "Oslo"}),
    Message("tool", "rain", "", "c1"),
)
OUTPUT = (Message("reasoning", "Hm."), Message("assistant", "Rain."))
CONTENT = {semconv.INPUT: IN, semconv.OUTPUT: OUT}
CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}


def span(attributes: dict[str, Any], *events: Event, name: str = "chat m", **fields: Any) -> Span:
    return Span("t", "s", name=name, attributes=attributes, events=events, **fields)


def call(attributes: dict[str, Any], *events: Event, name: str = "chat m", **fields: Any) -> Call:
    found = semconv.read(span(attributes, *events, name=name, **fields))
    assert found is not None
    return found


def texts(values: dict[str, Any]) -> dict[str, str]:
    return {key: json.dumps(value) for key, value in values.items()}


@pytest.mark.parametrize(
    ("attributes", "events"),
    [
        pytest.param({**CHAT, **CONTENT}, [], id="structured attributes"),
        pytest.param({**CHAT, **texts(CONTENT)}, [], id="JSON text"),
        pytest.param(CHAT, [Event(semconv.DETAILS, attributes={**CHAT, **CONTENT})], id="one log record"),
        pytest.param(
            CHAT, [Event("", attributes={"event.name": semconv.DETAILS, **CONTENT})], id="log record of an old SDK"
        ),
        pytest.param(CHAT, [Event(semconv.DETAILS, body=CONTENT)], id="content in a body"),
        pytest.param(
            CHAT,
            [Event(semconv.DETAILS, attributes={key: json.dumps(value)}) for key, value in CONTENT.items()],
            id="one span event each",
        ),
        pytest.param({}, [Event(semconv.DETAILS, attributes={**CHAT, **CONTENT})], id="only an event"),
    ],
)
def test_content_is_found_wherever_it_is_recorded(attributes: dict[str, Any], events: list[Event]) -> None:
    found = call(attributes, *events)
    assert (found.kind, found.input, found.output) == ("llm", INPUT, OUTPUT)
    assert not found.hidden
    assert found.finish_reason == "stop"


def test_attributes_win_over_events() -> None:
    other = [{"role": "user", "parts": [{"type": "text", "content": "other"}]}]
    assert call({**CHAT, **CONTENT}, Event(semconv.DETAILS, attributes={semconv.INPUT: other})).input == INPUT


@pytest.mark.parametrize(
    "instructions",
    [[{"type": "text", "content": "Be kind."}], '[{"type": "text", "content": "Be kind."}]', "Be kind."],
    ids=["structured", "JSON text", "bare text (OpenLLMetry create_agent)"],
)
def test_instructions_come_first(instructions: Any) -> None:
    assert call({**CHAT, **CONTENT, semconv.SYSTEM: instructions}).input == (Message("system", "Be kind."), *INPUT)


def test_instructions_that_are_also_the_first_message_count_once() -> None:
    assert call({**CHAT, **CONTENT, semconv.SYSTEM: [{"type": "text", "content": "Be brief."}]}).input == INPUT


@pytest.mark.parametrize("instructions", ['{"role": "x" oops', '{ "unfinished', "[n", "{braces} are fine"])
def test_instructions_that_only_begin_like_json_are_kept_as_text(instructions: str) -> None:
    found = call({"gen_ai.operation.name": "chat", "gen_ai.system_instructions": instructions})
    assert (found.input, found.notes) == ((Message("system", instructions),), ())


def test_a_cut_text_gives_what_it_still_holds_and_says_so() -> None:
    cut = json.dumps(IN)[:-40]
    found = call({**CHAT, semconv.INPUT: cut})
    assert found.input[:3] == INPUT[:3]
    assert found.notes == ("truncated: a message attribute was cut, what stood before the cut is shown",)


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        ("chat", "llm"),
        ("generate_content", "llm"),
        ("text_completion", "llm"),
        ("invoke_agent", "agent"),
        ("execute_tool", "tool"),
        ("retrieval", "retrieval"),
        ("embeddings", "retrieval"),
        ("search_memory", "retrieval"),
        ("upsert_memory", "retrieval"),
        ("create_agent", "other"),
        ("invoke_workflow", "other"),
        ("plan", "other"),
        ("agent_step", "other"),
    ],
)
def test_operations_say_what_a_span_is(operation: str, kind: str) -> None:
    found = call({"gen_ai.operation.name": operation})
    assert (found.kind, found.operation) == (kind, operation)


@pytest.mark.parametrize(
    ("attributes", "kind"),
    [
        ({"gen_ai.tool.name": "f"}, "tool"),
        ({"gen_ai.system": "openai", "gen_ai.request.model": "m"}, "llm"),
        ({"gen_ai.system": "openai"}, "other"),
        ({"gen_ai.output.messages": OUT}, "llm"),
    ],
)
def test_spans_without_an_operation_are_told_by_what_they_have(attributes: dict[str, Any], kind: str) -> None:
    assert call(attributes).kind == kind


@pytest.mark.parametrize("attributes", [{}, {"http.method": "GET"}, {"input.value": "x"}])
def test_other_spans_are_left_to_other_dialects(attributes: dict[str, Any]) -> None:
    assert semconv.read(span(attributes, Event("exception"))) is None


TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "f", "gen_ai.tool.call.id": "c"}


@pytest.mark.parametrize(
    ("attributes", "given", "result"),
    [
        pytest.param(
            {"gen_ai.tool.call.arguments": {"a": 1}, "gen_ai.tool.call.result": "ok"}, {"a": 1}, "ok", id="structured"
        ),
        pytest.param(
            {"gen_ai.tool.call.arguments": '{"a":1}', "gen_ai.tool.call.result": '{"r": 1}'},
            {"a": 1},
            '{"r": 1}',
            id="JSON text",
        ),
        pytest.param(
            {"gen_ai.tool.call.arguments": "{}", "gen_ai.tool.call.result": '[{"type": "text", "text": "ok"}]'},
            {},
            "ok",
            id="content blocks",
        ),
        pytest.param(
            {
                semconv.INPUT: [
                    {"role": "tool", "parts": [{"type": "tool_call", "name": "f", "id": "c", "arguments": {"a": 1}}]}
                ],
                semconv.OUTPUT: [
                    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": [{"text": "ok"}]}]}
                ],
            },
            {"a": 1},
            "ok",
            id="as messages (Strands)",
        ),
        pytest.param(
            {
                "gen_ai.tool.call.arguments": json.dumps(
                    {"input_str": "{'a': 1}", "inputs": {"a": 1}, "tags": [], "metadata": {}, "kwargs": {}}
                ),
                "gen_ai.tool.call.result": json.dumps(
                    {
                        "output": {"lc": 1, "id": ["ToolMessage"], "kwargs": {"content": "ok", "tool_call_id": "c"}},
                        "kwargs": {},
                    }
                ),
            },
            {"a": 1},
            "ok",
            id="LangChain callback (OpenLLMetry)",
        ),
    ],
)
def test_a_tool_call_and_its_result(attributes: dict[str, Any], given: Any, result: str) -> None:
    found = call({**TOOL, **attributes}, name="execute_tool f")
    assert found.input == (Message("assistant", "", "f", "c", given),)
    assert found.output == (Message("tool", result, "f", "c"),)
    assert (found.name, found.hidden) == ("f", False)


def test_the_underscored_call_id_of_gemini_cli_is_known() -> None:
    assert call({"gen_ai.tool.name": "f", "gen_ai.tool.call_id": "c"}).input[0].tool_call_id == "c"


def test_retrieval_has_a_query_and_documents() -> None:
    found = call(
        {
            "gen_ai.operation.name": "retrieval",
            "gen_ai.retrieval.query.text": "rain",
            "gen_ai.retrieval.documents": '[{"id":"d1","score":0.5},{"id":"d2","score":0.25}]',
            "gen_ai.data_source.id": "kb",
        }
    )
    assert found.input == (Message("user", "rain"),)
    assert found.output == (Message("tool", '{"id":"d1","score":0.5}'), Message("tool", '{"id":"d2","score":0.25}'))
    assert found.name == "kb"


def test_memory_has_a_query_and_records() -> None:
    found = call(
        {
            "gen_ai.operation.name": "search_memory",
            "gen_ai.memory.query.text": "me",
            "gen_ai.memory.records": [{"content": "Ada"}],
        }
    )
    assert [message.text for message in found.input + found.output] == ["me", "Ada"]


@pytest.mark.parametrize(
    "attributes", [CHAT, TOOL, {"gen_ai.operation.name": "invoke_agent"}], ids=["llm", "tool", "agent"]
)
def test_calls_without_any_content_are_hidden(attributes: dict[str, Any]) -> None:
    assert call(attributes).hidden


def test_bare_parts_of_switched_off_content_are_hidden() -> None:
    bare = [
        {"role": "user", "parts": [{"type": "text"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c", "name": "f"}]},
    ]
    assert call({**CHAT, semconv.INPUT: bare}).hidden


@pytest.mark.parametrize("operation", ["plan", "create_agent", "invoke_workflow"])
def test_wrappers_without_content_are_not_hidden(operation: str) -> None:
    assert not call({"gen_ai.operation.name": operation}).hidden


@pytest.mark.parametrize(
    ("attributes", "usage"),
    [
        ({"gen_ai.usage.input_tokens": 7, "gen_ai.usage.output_tokens": "8"}, Usage(7, 8)),
        ({"gen_ai.usage.prompt_tokens": 7, "gen_ai.usage.completion_tokens": 8}, Usage(7, 8)),
        ({"gen_ai.usage.prompt_tokens": 1, "gen_ai.usage.input_tokens": 7}, Usage(7)),
        ({"gen_ai.usage.input_tokens": 7, "gen_ai.usage.prompt_tokens": 1}, Usage(7)),
        ({"gen_ai.usage.cache_read.input_tokens": 3, "gen_ai.usage.cache_creation.input_tokens": 4}, Usage(0, 0, 3, 4)),
        ({"gen_ai.usage.cache_write.input_tokens": 4, "gen_ai.usage.reasoning.output_tokens": 5}, Usage(0, 0, 0, 4, 5)),
        ({"gen_ai.usage.input_tokens": [1], "gen_ai.usage.output_tokens": None}, Usage()),
        ({}, None),
    ],
)
def test_usage_has_old_and_new_names(attributes: dict[str, Any], usage: Usage | None) -> None:
    assert call({**CHAT, **attributes}).usage == usage


@pytest.mark.parametrize(
    ("recorded", "reason"),
    [
        (["stop"], "stop"),
        ('["tool_calls"]', "tool_calls"),
        ("end_turn", "end_turn"),
        (["stop", "stop", "length"], "stop,length"),
        ([None], ""),
        (7, ""),
    ],
)
def test_finish_reasons_in_any_form(recorded: Any, reason: str) -> None:
    assert call({**CHAT, "gen_ai.response.finish_reasons": recorded}).finish_reason == reason


def test_words_and_ids() -> None:
    found = call(
        {
            **CHAT,
            "gen_ai.response.model": "m-2026",
            "gen_ai.response.id": "r",
            "gen_ai.conversation.id": "k",
            "gen_ai.agent.name": "ada",
            "gen_ai.agent.id": "a1",
            "gen_ai.request.previous_response.id": "r0",
            "gen_ai.tool.definitions": '[{"type":"function","name":"f","description":"d","parameters":{"type":"x"}}]',
        }
    )
    assert (found.model, found.response_id, found.conversation_id) == ("m", "r", "k")
    assert (found.agent, found.agent_id, found.name, found.delta) == ("ada", "a1", "m", True)
    assert found.tools == (Tool("f", "d", {"type": "x"}),)


@pytest.mark.parametrize(
    ("name", "attributes", "agent"),
    [
        ("invoke_agent ada", {}, "ada"),
        ("Agent workflow", {}, "Agent workflow"),
        ("invoke_agent x", {"gen_ai.agent.name": "ada"}, "ada"),
    ],
)
def test_an_agent_has_a_name(name: str, attributes: dict[str, Any], agent: str) -> None:
    found = call({"gen_ai.operation.name": "invoke_agent", **attributes}, name=name)
    assert (found.agent, found.name) == (agent, agent)


def test_the_placeholder_name_of_the_openai_agents_instrumentation_is_no_name() -> None:
    found = call({**CHAT, "gen_ai.agent.name": "OpenAI Agent", "gen_ai.agent.id": "agent"})
    assert (found.agent, found.agent_id) == ("", "")


@pytest.mark.parametrize(
    ("attributes", "events", "fields", "error"),
    [
        pytest.param({"error.type": "timeout"}, [], {}, "timeout", id="error type alone"),
        pytest.param({"error.type": "E", "error.message": "late"}, [], {}, "late", id="error message"),
        pytest.param({"error.type": "E"}, [], {"status": "error", "status_message": "boom"}, "boom", id="status"),
        pytest.param(
            {},
            [
                Event(
                    "gen_ai.client.operation.exception", attributes={"exception.type": "E", "exception.message": "late"}
                )
            ],
            {},
            "E: late",
            id="exception event",
        ),
        pytest.param({}, [], {}, "", id="none"),
    ],
)
def test_errors(attributes: dict[str, Any], events: list[Event], fields: dict[str, Any], error: str) -> None:
    assert call({**CHAT, **attributes}, *events, **fields).error == error


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.binary(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["role", "parts", "type", "content", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)
_NAMES = st.sampled_from(
    [
        *(
            "gen_ai.operation.name",
            "gen_ai.request.model",
            "gen_ai.tool.name",
            "gen_ai.tool.call.id",
            "gen_ai.agent.name",
        ),
        *(
            "gen_ai.tool.call.arguments",
            "gen_ai.tool.call.result",
            "gen_ai.tool.definitions",
            "gen_ai.response.finish_reasons",
        ),
        *(
            "gen_ai.usage.input_tokens",
            "gen_ai.retrieval.documents",
            "error.type",
            semconv.INPUT,
            semconv.OUTPUT,
            semconv.SYSTEM,
        ),
    ]
)


@given(st.dictionaries(_NAMES, _VALUES), st.sampled_from(["chat", "execute_tool", "invoke_agent", "retrieval", "plan"]))
def test_no_attribute_value_raises(attributes: dict[str, Any], operation: str) -> None:
    found = call(
        {"gen_ai.operation.name": operation, **attributes},
        Event(semconv.DETAILS, attributes=attributes, body=attributes),
    )
    assert all(
        isinstance(getattr(found, field), str)
        for field in ("name", "agent", "model", "error", "finish_reason", "response_id")
    )
