"""A span that speaks several conventions is one call: content from one of them, whole; the rest filled in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpa.ingest import dialects
from gpa.ingest.dialects.call import Message, Usage
from gpa.ingest.spans import Event, Span

SEMCONV = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "m",
    "gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text", "content": "semconv"}]}]',
}
OPENINFERENCE = {
    "openinference.span.kind": "LLM",
    "llm.input_messages.0.message.role": "user",
    "llm.input_messages.0.message.content": "openinference",
    "llm.output_messages.0.message.role": "assistant",
    "llm.output_messages.0.message.content": "answer",
    "llm.token_count.prompt": 7,
}
LEGACY = Event("gen_ai.user.message", body={"content": "legacy"})
INDEXED = {"gen_ai.system": "openai", "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "indexed"}


def read(attributes: dict[str, Any], *events: Event, name: str = "chat m") -> Any:
    return dialects.read(Span("t", "s", name=name, attributes=attributes, events=events))


@pytest.mark.parametrize(
    ("attributes", "events", "first"),
    [
        pytest.param({**SEMCONV, **OPENINFERENCE, **INDEXED}, [LEGACY], "semconv", id="semconv before all"),
        pytest.param({**OPENINFERENCE, **INDEXED}, [LEGACY], "openinference", id="OpenInference before events"),
        pytest.param({"gen_ai.operation.name": "chat", **INDEXED}, [LEGACY], "legacy", id="events before indexed"),
        pytest.param({"gen_ai.operation.name": "chat", **INDEXED}, [], "indexed", id="indexed"),
    ],
)
def test_the_reading_order(attributes: dict[str, Any], events: list[Event], first: str) -> None:
    assert [message.text for message in read(attributes, *events).input] == [first]


def test_content_is_never_merged_from_two_conventions() -> None:
    found = read({**SEMCONV, **OPENINFERENCE})
    assert found.output == ()
    assert found.usage == Usage(input_tokens=7)


def test_instructions_alone_do_not_hide_the_conversation() -> None:
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.system_instructions": "Be brief.", **OPENINFERENCE}
    assert [message.text for message in read(attributes).input] == ["openinference"]


def test_content_elsewhere_is_not_hidden() -> None:
    assert not read({"gen_ai.operation.name": "chat"}, LEGACY).hidden
    assert read({"gen_ai.operation.name": "chat"}).hidden


def test_a_hidden_tool_call_keeps_its_name_and_id() -> None:
    found = read({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "f", "gen_ai.tool.call.id": "c"})
    assert found.hidden
    assert found.input == (Message("assistant", "", "f", "c"),)


@pytest.mark.parametrize(
    ("attributes", "kind"),
    [
        ({"gen_ai.operation.name": "invoke_agent", "openinference.span.kind": "CHAIN"}, "agent"),
        ({"gen_ai.operation.name": "chain", "openinference.span.kind": "LLM"}, "llm"),
        ({"gen_ai.operation.name": "execute_task", "traceloop.span.kind": "task"}, "other"),
        (
            {"gen_ai.system": "x", "gen_ai.request.model": "m", "openinference.span.kind": "TOOL", "tool.name": "f"},
            "tool",
        ),
    ],
    ids=[
        "operation before kind",
        "an unknown operation gives way",
        "both are wrappers",
        "a stated kind before a guess",
    ],
)
def test_the_role_of_a_span(attributes: dict[str, Any], kind: str) -> None:
    assert read(attributes).kind == kind


def test_a_span_nobody_knows_still_shows_what_it_can() -> None:
    found = read({"my.input": "question", "my.output": "answer"}, name="do it")
    assert found.name == "do it"
    assert "question" in json.dumps([message.text for message in found.input])
    assert "answer" in json.dumps([message.text for message in found.output])


@pytest.mark.parametrize(
    "content",
    [
        pytest.param({"input.value": '{"a": 1}', "output.value": "R"}, id="openinference"),
        pytest.param({"traceloop.entity.input": '{"a": 1}', "traceloop.entity.output": '"R"'}, id="openllmetry"),
    ],
)
def test_what_one_convention_calls_a_tool_has_the_content_of_the_other_as_its_call(content: dict[str, Any]) -> None:
    found = read(
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "w", "gen_ai.tool.call.id": "c", **content}
    )
    assert (found.kind, found.hidden) == ("tool", False)
    assert found.input == (Message("assistant", "", "w", "c", {"a": 1}),)
    assert found.output == (Message("tool", "R", "w", "c"),)


def test_an_operation_the_conventions_have_no_content_for_still_shows_what_it_can() -> None:
    named = {"gen_ai.operation.name": "guardrail", "gen_ai.agent.name": "bot"}
    found = read({**named, "my.input": "question", "my.output": "answer"}, name="check")
    assert (found.kind, found.name, found.agent) == ("other", "", "bot")
    assert [message.text for message in (*found.input, *found.output)] == ["question", "answer"]


@pytest.mark.parametrize("dialect", dialects.DIALECTS, ids=lambda dialect: dialect.__module__.rpartition(".")[2])
def test_every_dialect_leaves_plain_spans_alone(dialect: dialects.Dialect) -> None:
    assert (
        dialect(Span("t", "s", name="GET /", attributes={"http.request.method": "GET"}, events=(Event("note"),)))
        is None
    )
