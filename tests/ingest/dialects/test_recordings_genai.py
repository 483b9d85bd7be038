"""Recordings of the OTel GenAI family: every call that holds content is read, and every text of it is there."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import structs

from gpa.ingest import dialects
from gpa.ingest.dialects.json_text import compact, structure
from gpa.ingest.spans import Event, Span
from tests.ingest.dialects.recorded import DATA, needs_recordings, otlp

pytestmark = needs_recordings
GENERATED = "otel/generated/"


def _value(value: dict[str, Any]) -> Any:
    for kind, inner in value.items():
        if kind == "arrayValue":
            return [_value(item) for item in inner.get("values", [])]
        if kind == "kvlistValue":
            return {item["key"]: _value(item["value"]) for item in inner.get("values", [])}
        return inner
    return None


def _logs(path: str) -> dict[str, list[Event]]:
    found: dict[str, list[Event]] = {}
    file = DATA / f"{GENERATED}{path}.logs.jsonl"
    for line in file.read_text().splitlines() if file.exists() else []:
        for resource in json.loads(line)["resourceLogs"]:
            for scope in resource["scopeLogs"]:
                for record in scope["logRecords"]:
                    attributes = {item["key"]: _value(item["value"]) for item in record.get("attributes", [])}
                    event = Event(
                        record.get("eventName", ""), attributes=attributes, body=_value(record.get("body", {}))
                    )
                    found.setdefault(record.get("spanId", ""), []).append(event)
    return found


def _spans(path: str) -> Iterator[Span]:
    logs = _logs(path)
    for span in otlp(f"{GENERATED}{path}.traces.jsonl"):
        events = (*span.events, *logs.get(span.span_id, ()))
        yield Span(
            span.trace_id,
            span.span_id,
            name=span.name,
            status=span.status,
            status_message=span.status_message,
            attributes=span.attributes,
            events=events,
            scope=span.scope,
        )


RECORDINGS = {  # calls with content, calls
    "google_adk/weather_litellm_schema1": {"llm": (12, 12), "tool": (6, 6), "agent": (0, 2)},
    "google_adk/weather_litellm_default": {"llm": (0, 6), "tool": (0, 6), "agent": (0, 2)},
    "openllmetry/langgraph_v0.62": {"llm": (3, 3), "tool": (3, 3), "agent": (1, 2)},
    "openllmetry/openai_loop_v0.62_events": {"llm": (3, 3), "tool": (3, 3), "agent": (0, 1)},
    "otel_official/genai_langchain_latest_event": {"llm": (3, 3), "tool": (0, 3), "agent": (0, 1)},
    "otel_official/genai_langchain_legacy": {"llm": (0, 3), "tool": (0, 3), "agent": (0, 1)},
    "otel_official/openai_agents_v2_latest_span": {"llm": (3, 3), "tool": (3, 3), "agent": (1, 2)},
    "otel_official/openai_v2_legacy": {"llm": (0, 3), "tool": (0, 3), "agent": (0, 1)},
    "pydantic_ai/no_content_v5": {"llm": (0, 3), "tool": (0, 3), "agent": (0, 1)},
    "pydantic_ai/weather_v2": {"llm": (6, 6), "tool": (6, 6), "agent": (2, 2)},
    "pydantic_ai/weather_v5": {"llm": (6, 6), "tool": (6, 6), "agent": (2, 2)},
    "pydantic_ai_legacy/weather_v1_attributes": {"llm": (3, 3), "tool": (3, 3), "agent": (1, 1)},
    "pydantic_ai_legacy/weather_v1_logs": {"llm": (3, 3), "tool": (3, 3), "agent": (1, 1)},
}


@pytest.mark.parametrize("path", RECORDINGS)
def test_calls_with_content(path: str) -> None:
    every: Counter[str] = Counter()
    shown: Counter[str] = Counter()
    for span in _spans(path):
        call = dialects.read(span)
        if not call.placeholder and call.kind in {"llm", "tool", "agent"}:
            every[call.kind] += 1
            shown[call.kind] += not call.hidden and bool(call.input or call.output)
    assert {kind: (shown[kind], every[kind]) for kind in every} == RECORDINGS[path]


_CONTENT = (
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.system_instructions",
    "gen_ai.tool.call.result",
    "events",
)
_SAID = ("content", "text", "response", "result", "arguments", "parts", "message", "tool_calls", "function")


def _leaves(value: Any) -> Iterator[str]:
    value = structure(value)
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key in _SAID:
                yield from _leaves(inner)


@pytest.mark.parametrize("path", [path for path, counts in RECORDINGS.items() if counts["llm"][0]])
def test_every_recorded_text_of_a_model_call_is_read(path: str) -> None:
    for span in _spans(path):
        call = dialects.read(span)
        if call.kind != "llm":
            continue
        read = "\n".join(compact([*structs.astuple(message)]) + message.text for message in call.input + call.output)
        sources = (span.attributes, *(event.attributes for event in span.events))
        for source in sources:
            for key in _CONTENT:
                for leaf in _leaves(source.get(key)):
                    assert leaf in read or compact(leaf)[1:-1] in read


@pytest.mark.parametrize("path", RECORDINGS)
def test_a_conversation_grows_from_call_to_call(path: str) -> None:
    """The previous input is the beginning of the next one, as producers write it (docs/conventions.md H13)."""
    before: dict[tuple[str, str], tuple[Any, ...]] = {}
    for span in _spans(path):  # model calls are exported in the order they ended
        call = dialects.read(span)
        if call.kind == "llm" and not call.hidden:
            key = (span.trace_id, span.scope.name + call.operation)
            earlier = before.get(key, ())
            longer, shorter = sorted((call.input, earlier), key=len, reverse=True)
            assert longer[: len(shorter)] == shorter
            before[key] = call.input
