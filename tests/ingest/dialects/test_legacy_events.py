"""Messages told one by one as events (docs/conventions.md C2)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpa.ingest.dialects import legacy_events
from gpa.ingest.dialects.call import Call, Message
from gpa.ingest.spans import Event, Span

CALLS = [{"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}]
TOLD: list[tuple[str, dict[str, Any]]] = [
    ("gen_ai.system.message", {"content": "Be brief."}),
    ("gen_ai.user.message", {"content": "Weather?"}),
    ("gen_ai.assistant.message", {"tool_calls": CALLS}),
    ("gen_ai.tool.message", {"id": "c1", "content": "rain"}),
    ("gen_ai.choice", {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Rain."}}),
]
INPUT = (
    Message("system", "Be brief."),
    Message("user", "Weather?"),
    Message("assistant", "", "weather", "c1", {"city": "Oslo"}),
    Message("tool", "rain", "", "c1"),
)
OUTPUT = (Message("assistant", "Rain."),)


def blocks(*content: Any) -> str:
    return json.dumps(list(content))


STRANDS = [
    Event("gen_ai.system.message", attributes={"content": blocks({"text": "Be brief."})}),
    Event("gen_ai.user.message", attributes={"content": blocks({"text": "Weather?"})}),
    Event(
        "gen_ai.assistant.message",
        attributes={"content": blocks({"toolUse": {"toolUseId": "c1", "name": "weather", "input": {"city": "Oslo"}}})},
    ),
    Event(
        "gen_ai.tool.message",
        attributes={
            "content": blocks({"toolResult": {"toolUseId": "c1", "status": "success", "content": [{"text": "rain"}]}})
        },
    ),
    Event("gen_ai.choice", attributes={"finish_reason": "stop", "message": blocks({"text": "Rain."})}),
]
ADK = [
    Event("gen_ai.system.message", body={"content": "Be brief."}),
    Event(
        "gen_ai.user.message",
        body={"content": {"role": "user", "parts": [{"text": "Weather?", "function_call": None}]}},
    ),
    Event(
        "gen_ai.user.message",
        body={
            "content": {
                "role": "model",
                "parts": [{"function_call": {"id": "c1", "name": "weather", "args": {"city": "Oslo"}}}],
            }
        },
    ),
    Event(
        "gen_ai.user.message",
        body={
            "content": {"role": "user", "parts": [{"function_response": {"id": "c1", "response": {"result": "rain"}}}]}
        },
    ),
    Event("gen_ai.choice", body={"content": {"parts": [{"text": "Rain."}]}, "index": 0, "finish_reason": "stop"}),
]


@pytest.mark.parametrize(
    "span",
    [
        pytest.param(Span("t", "s", events=tuple(Event(name, body=body) for name, body in TOLD)), id="log records"),
        pytest.param(
            Span("t", "s", events=tuple(Event("", attributes={"event.name": name}, body=body) for name, body in TOLD)),
            id="log records of an old SDK",
        ),
        pytest.param(
            Span(
                "t",
                "s",
                events=tuple(
                    Event(name, attributes={**body, "message": json.dumps(body.get("message"))}) for name, body in TOLD
                ),
            ),
            id="span events",
        ),
        pytest.param(
            Span("t", "s", attributes={"events": json.dumps([{"event.name": name, **body} for name, body in TOLD])}),
            id="the attribute of pydantic-ai 0.x",
        ),
        pytest.param(
            Span("t", "s", attributes={"events": [{"event.name": name, **body} for name, body in TOLD]}),
            id="the same, structured",
        ),
        pytest.param(
            Span(
                "t",
                "s",
                events=tuple(Event(name, attributes={"gen_ai.event.content": json.dumps(body)}) for name, body in TOLD),
            ),
            id="bodies in one attribute (Azure)",
        ),
        pytest.param(Span("t", "s", events=tuple(STRANDS)), id="Strands"),
        pytest.param(Span("t", "s", events=tuple(ADK)), id="Google ADK 1"),
    ],
)
def test_every_carrier_tells_the_same_conversation(span: Span) -> None:
    found = legacy_events.read(span)
    assert found == Call(input=INPUT, output=OUTPUT, finish_reason="stop")


def test_several_choices_are_all_shown() -> None:
    events = tuple(
        Event("gen_ai.choice", body={"index": index, "message": {"content": text}}) for index, text in enumerate("ab")
    )
    found = legacy_events.read(Span("t", "s", events=events))
    assert found is not None
    assert [message.text for message in found.output] == ["a", "b"]


@pytest.mark.parametrize(
    ("prompt", "given"),
    [
        ('[{"role": "user", "content": "Weather?"}]', (Message("user", "Weather?"),)),
        ("Weather?", (Message("user", "Weather?"),)),
    ],
)
def test_whole_prompts_of_the_oldest_events(prompt: str, given: tuple[Message, ...]) -> None:
    events = (
        Event("gen_ai.content.prompt", attributes={"gen_ai.prompt": prompt}),
        Event("gen_ai.content.completion", attributes={"gen_ai.completion": "Rain."}),
    )
    assert legacy_events.read(Span("t", "s", events=events)) == Call(input=given, output=OUTPUT)


def test_an_answer_that_is_json_stays_text() -> None:
    event = Event("gen_ai.choice", attributes={"message": '{"answer": 4}'})
    assert legacy_events.read(Span("t", "s", events=(event,))) == Call(output=(Message("assistant", '{"answer": 4}'),))


def test_a_cut_event_is_noted() -> None:
    event = Event("gen_ai.user.message", attributes={"content": '[{"text": "Wea'})
    found = legacy_events.read(Span("t", "s", events=(event,)))
    assert found is not None
    assert found.input == (Message("user", "Wea"),)
    assert found.notes == ("truncated: a message event was cut, what stood before the cut is shown",)


@pytest.mark.parametrize(
    "span",
    [
        Span("t", "s"),
        Span("t", "s", events=(Event("exception"),)),
        Span("t", "s", attributes={"events": "not json"}),
        Span("t", "s", attributes={"events": [7, {"event.name": ["x"]}]}),
    ],
    ids=["nothing", "other events", "text", "other list"],
)
def test_spans_without_message_events_are_left_alone(span: Span) -> None:
    assert legacy_events.read(span) is None


@pytest.mark.parametrize(
    "value", [None, 7, ["x"], {"role": 3}, {"content": {"parts": 5}}, {"message": [None]}, {"tool_calls": "x"}]
)
@pytest.mark.parametrize(
    "name", ["gen_ai.user.message", "gen_ai.tool.message", "gen_ai.choice", "gen_ai.content.prompt"]
)
def test_no_event_raises(name: str, value: Any) -> None:
    attributes = value if isinstance(value, dict) else {}
    assert legacy_events.read(Span("t", "s", events=(Event(name, attributes=attributes, body=value),))) is not None
