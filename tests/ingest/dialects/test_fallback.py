"""A span of no known convention still shows what it is, what went in, what came out and what failed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from gpa.ingest.dialects.call import Message, Usage
from gpa.ingest.dialects.fallback import read
from gpa.ingest.spans import Event, Span
from tests.ingest.dialects import arbitrary


def user(text: str) -> tuple[Message, ...]:
    return (Message("user", text),)


def request(text: str) -> tuple[Message, ...]:
    return (Message("request", text),)


def assistant(text: str) -> tuple[Message, ...]:
    return (Message("assistant", text),)


CONTENT: dict[str, tuple[dict[str, Any], tuple[Message, ...], tuple[Message, ...]]] = {
    "input and output": ({"input": "a", "output": "b"}, user("a"), assistant("b")),
    "request and response": ({"request": "a", "response": "b"}, user("a"), assistant("b")),
    "objects": ({"inputs": {"x": 1}, "outputs": [1, 2]}, user('{"x":1}'), assistant("[1,2]")),
    "unknown prefix": ({"acme.step.input": "a", "acme.step.result": "b"}, user("a"), assistant("b")),
    "empty values are passed over": (
        {"input": "", "prompt": "a", "output": None, "answer": "b"},
        user("a"),
        assistant("b"),
    ),
    "chat": ({"messages": '[{"role": "system", "content": "s"}]'}, (Message("system", "s"),), ()),
    "HTTP": (
        {"http.method": "GET", "http.url": "http://x/y", "http.status_code": 404},
        request("GET http://x/y 404"),
        (),
    ),
    "HTTP, new names": ({"http.request.method": "GET", "url.full": "http://x"}, request("GET http://x"), ()),
    "HTTP with a query": (
        {"http.request.method": "GET", "url.path": "/x", "url.query": "a=1"},
        request("GET /x"),
        (),
    ),
    "database": ({"db.system": "sqlite", "db.statement": "SELECT 1"}, request("SELECT 1"), ()),
    "remote call": ({"rpc.service": "Trace", "rpc.method": "Export"}, request("Trace/Export"), ()),
    "nothing": ({}, (), ()),
}


@pytest.mark.parametrize(("attributes", "sent", "said"), CONTENT.values(), ids=CONTENT)
def test_content(attributes: dict[str, Any], sent: tuple[Message, ...], said: tuple[Message, ...]) -> None:
    found = read(Span("t", "s", name="step", attributes=attributes))
    assert (found.kind, found.name, found.input, found.output) == ("other", "step", sent, said)


KINDS: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "tool by name attribute": ("run", {"tool.name": "w"}, "tool", "w"),
    "tool by span name": ("execute_tool w", {}, "tool", "w"),
    "agent by span name": ("invoke_agent helper", {}, "agent", "helper"),
    "agent by type": ("x", {"span.type": "agent", "agent_name": "helper"}, "agent", "helper"),
    "model with counts": ("x", {"model": "gpt", "input_tokens": 3}, "llm", "gpt"),
    "model without counts": ("x", {"model": "gpt"}, "other", "x"),
    "model by type": ("claude.request", {"span.type": "llm_request", "model": "m"}, "llm", "m"),
    "retrieval by type": ("x", {"type": "retriever"}, "retrieval", "x"),
    "phase of a tool": ("x", {"span.type": "tool.execution", "tool_name": "Bash"}, "other", "x"),
    "wrong types": ("x", {"span.type": ["llm"], "tool.name": 3}, "other", "x"),
}


@pytest.mark.parametrize(("name", "attributes", "kind", "shown"), KINDS.values(), ids=KINDS)
def test_kind(name: str, attributes: dict[str, Any], kind: str, shown: str) -> None:
    found = read(Span("t", "s", name=name, attributes=attributes))
    assert (found.kind, found.name) == (kind, shown)


def test_a_tool_has_its_arguments_and_its_result() -> None:
    attributes = {"tool_name": "w", "tool_use_id": "c1", "tool_arguments": '{"city": "Oslo"}', "tool_response": "rain"}
    found = read(Span("t", "s", name="running tool", attributes=attributes))
    assert found.input == (Message("assistant", "", "w", "c1", {"city": "Oslo"}),)
    assert found.output == (Message("tool", "rain", "w", "c1"),)


def test_a_model_call_has_its_conversation_and_counts() -> None:
    attributes = {"model": "m", "input_tokens": "3", "output_tokens": 2, "prompt": "Weather?", "completion": "Rain."}
    found = read(Span("t", "s", attributes=attributes))
    assert (found.input, found.output, found.usage) == (user("Weather?"), assistant("Rain."), Usage(3, 2))


def test_a_joined_log_tells_a_function_call() -> None:
    body = {"function.name": "load", "function.arguments": {"path": "a"}, "function.output": "<null>"}
    found = read(Span("t", "s", name="load", events=(Event("log", body=body),)))
    assert (found.input, found.output) == (user('{"path":"a"}'), ())


def test_a_joined_log_tells_a_failed_function_call() -> None:
    body = {"function.name": "load", "function.arguments": {}, "exception.type": "KeyError", "exception.message": "'a'"}
    found = read(Span("t", "s", name="load", events=(Event("log", body=body),)))
    assert (found.input, found.error) == ((), "KeyError: 'a'")


@pytest.mark.parametrize(
    ("attributes", "error"),
    [
        ({"error": True, "http.status_code": 404}, "HTTP 404"),
        ({"error": "true"}, "error"),
        ({"error": "disk full"}, "disk full"),
        ({"error": "False"}, ""),
        ({"error.message": "no"}, "no"),
        ({"error.type": "timeout"}, "timeout"),
        ({}, ""),
    ],
    ids=["HTTP", "flag", "text", "false", "message", "type", "none"],
)
def test_error(attributes: dict[str, Any], error: str) -> None:
    assert read(Span("t", "s", attributes=attributes)).error == error


@given(
    arbitrary.attributes(
        *(
            "input",
            "output",
            "prompt",
            "response",
            "span.type",
            "type",
            "tool.name",
            "tool_name",
            "model",
            "input_tokens",
        ),
        *("error", "http.method", "db.statement", "a.b.input", "a.result", "session.id", "tool_arguments", "messages"),
    ),
    arbitrary.attributes("function.name", "function.arguments", "function.output", "exception.type"),
)
def test_no_attribute_value_raises(attributes: dict[str, Any], body: dict[str, Any]) -> None:
    read(
        Span(
            "t", "s", name="execute_tool ", attributes=attributes, events=(Event("log", body=body), Event("x", body=3))
        )
    )
