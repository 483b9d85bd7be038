"""Langfuse: trace exports, observations, and the attributes of its SDK."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpa.ingest.formats.langfuse import FORMAT
from gpa.ingest.formats.parts import RECORDED_SPAN_ID, RECORDED_TRACE_ID
from gpa.ingest.spans import Scope, Span

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
ROOT = "00000000000000aa"
CHILD = "00000000000000bb"
SECOND_NS = 1_742_402_482_000_000_000


def read(value: Any) -> tuple[list[Span], list[str]]:
    noted: list[str] = []
    assert FORMAT.matches(value)
    return [span for span in FORMAT.read(value, noted.append) if isinstance(span, Span)], noted


def observation(**fields: Any) -> dict[str, Any]:
    return {
        "id": ROOT,
        "traceId": TRACE,
        "parentObservationId": None,
        "type": "SPAN",
        "name": "op",
        "startTime": "2025-03-19T16:41:22.000Z",
        "endTime": "2025-03-19T16:41:23.000Z",
        "level": "DEFAULT",
    } | fields


def trace(**fields: Any) -> dict[str, Any]:
    return {"id": TRACE, "name": "run", "timestamp": "2025-03-19T16:41:22.000Z"} | fields


def test_an_observation_has_the_attributes_of_the_sdk() -> None:
    messages = [{"role": "user", "content": "hi"}]
    (span,), noted = read(
        observation(
            type="GENERATION",
            parentObservationId=CHILD,
            level="ERROR",
            statusMessage="bad",
            input=messages,
            output="text",
            model="m",
            modelParameters={"temperature": 0},
            usageDetails={"input": 3, "output": 4},
            promptName="p",
            environment="default",
            sessionId="s-1",
            metadata={
                "attributes": {"gen_ai.operation.name": "chat"},
                "resourceAttributes": {"service.name": "s"},
                "scope": {"name": "n", "version": "1"},
                "langgraph_node": "model",
            },
        )
    )
    assert noted == []
    assert (span.trace_id, span.span_id, span.parent_id, span.name) == (TRACE, ROOT, CHILD, "op")
    assert (span.start_ns, span.duration_ns) == (SECOND_NS, 10**9)
    assert (span.status, span.status_message) == ("error", "bad")
    assert (span.resource, span.scope) == ({"service.name": "s"}, Scope("n", "1"))
    assert span.attributes == {
        "gen_ai.operation.name": "chat",
        "langfuse.observation.type": "generation",
        "langfuse.observation.input": messages,
        "langfuse.observation.output": "text",
        "langfuse.observation.model.name": "m",
        "langfuse.observation.model.parameters": {"temperature": 0},
        "langfuse.observation.usage_details": {"input": 3, "output": 4},
        "langfuse.observation.level": "ERROR",
        "langfuse.observation.status_message": "bad",
        "langfuse.observation.prompt.name": "p",
        "langfuse.observation.metadata.langgraph_node": "model",
        "langfuse.environment": "default",
        "session.id": "s-1",
    }


def test_a_blob_storage_row_reads_as_the_api_object_does() -> None:
    row = {
        "id": ROOT,
        "trace_id": TRACE,
        "parent_observation_id": CHILD,
        "type": "GENERATION",
        "name": "op",
        "start_time": "2025-03-19 16:41:22.000000",
        "end_time": "2025-03-19 16:41:23.000000",
        "provided_model_name": "m",
        "usage_details": {"input": 3},
    }
    api = observation(type="GENERATION", parentObservationId=CHILD, model="m", usageDetails={"input": 3}, level=None)
    assert read(row) == read(api)


def test_the_trace_stands_on_the_earliest_root() -> None:
    value = {
        "trace": trace(
            input='"hi"',
            output='"{\\"a\\":1}"',
            tags=["t"],
            userId="u",
            sessionId="s",
            metadata='{"plan":"pro","resourceAttributes":{"a":1}}',
        ),
        "observations": [
            observation(id=CHILD, startTime="2025-03-19T16:41:30Z"),
            observation(),
            observation(id="00000000000000cc", parentObservationId=ROOT, startTime="2025-03-19T16:41:00Z"),
        ],
    }
    spans, _ = read(value)
    attributes = {span.span_id: span.attributes for span in spans}
    assert {key: value for key, value in attributes[ROOT].items() if key.startswith("langfuse.trace")} == {
        "langfuse.trace.name": "run",
        "langfuse.trace.input": "hi",
        "langfuse.trace.output": '{"a":1}',
        "langfuse.trace.tags": ["t"],
        "langfuse.trace.metadata.plan": "pro",
    }
    assert all((found["user.id"], found["session.id"]) == ("u", "s") for found in attributes.values())
    assert [key for key, found in attributes.items() if "langfuse.trace.input" in found] == [ROOT]


def test_observations_listed_twice_are_one_span_with_the_content_of_both() -> None:
    bare = observation(input=None, output=None, metadata="{}", usageDetails={"input": 1})
    full = observation(input="question", output="answer", metadata='{"a":1}', usageDetails={})
    (span,), _ = read({"trace": trace(observations=[bare]), "observations": [full]})
    assert span.attributes["langfuse.observation.input"] == "question"
    assert span.attributes["langfuse.observation.usage_details"] == {"input": 1}
    assert span.attributes["langfuse.observation.metadata.a"] == 1


@pytest.mark.parametrize(
    "wrap",
    [
        pytest.param(lambda one: {"trace": trace(), "observations": [one]}, id="export"),
        pytest.param(lambda one: trace(observations=[one]), id="trace of the API"),
        pytest.param(lambda one: [trace(observations=[one])], id="list of traces"),
        pytest.param(lambda one: {"data": [trace(observations=[one])], "meta": {}}, id="page of traces"),
        pytest.param(lambda one: {"data": [one], "meta": {}}, id="page of observations"),
        pytest.param(lambda one: [one], id="list of observations"),
        pytest.param(lambda one: one, id="observation a line"),
    ],
)
def test_shapes(wrap: Any) -> None:
    spans, noted = read(wrap(observation()))
    assert [span.span_id for span in spans] == [ROOT]
    assert noted == []


def test_a_trace_without_observations_is_a_span_of_its_own() -> None:
    (span,), noted = read(trace(observations=["obs-1"], input="hi", output="there"))
    assert noted == []
    assert (span.name, span.start_ns) == ("run", SECOND_NS)
    assert (span.attributes["langfuse.trace.input"], span.attributes["langfuse.trace.output"]) == ("hi", "there")


def test_ids_that_are_not_hex_are_kept_beside_derived_ones() -> None:
    parent, child = observation(id="gen-1"), observation(id="gen-2", parentObservationId="gen-1")
    (first, second), _ = read({"trace": trace(id="my trace"), "observations": [parent | {"traceId": None}, child]})
    assert second.parent_id == first.span_id
    assert first.attributes[RECORDED_SPAN_ID] == "gen-1"
    assert first.attributes[RECORDED_TRACE_ID] == "my trace"


def test_the_metadata_of_the_observation_may_be_text() -> None:
    (span,), _ = read(observation(metadata=json.dumps({"attributes": {"a": 1}, "b": 2})))
    assert span.attributes["a"] == 1
    assert span.attributes["langfuse.observation.metadata.b"] == 2
    (span,), _ = read(observation(metadata="just text"))
    assert span.attributes["langfuse.observation.metadata"] == "just text"


def test_what_is_no_observation_is_noted() -> None:
    spans, noted = read([observation(), 5])
    assert len(spans) == 1
    assert noted == ["skipped an entry of type int that is no Langfuse trace or observation"]


def test_an_observation_of_no_trace_is_noted() -> None:
    spans, noted = read([observation(), observation(id=CHILD, traceId="")])
    assert [span.span_id for span in spans] == [ROOT]
    assert noted == ["skipped observation 'op': it has no id or no traceId"]


def test_a_page_that_is_not_the_last_says_so() -> None:
    assert FORMAT.more
    assert FORMAT.more({"data": [], "meta": {"page": 1, "totalPages": 2}}) == "1 of 2"
    assert FORMAT.more({"data": [], "meta": {"page": 2, "totalPages": 2}}) == ""
    assert FORMAT.more({"data": [], "meta": {"cursor": "ey"}}) == "meta.cursor is set"
    others: list[Any] = [[], {"data": []}, {"meta": 5}, {"meta": {"page": "x"}}]
    assert [FORMAT.more(value) for value in others] == [""] * 4
