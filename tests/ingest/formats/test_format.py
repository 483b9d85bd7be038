"""What every format of JSON objects holds: it knows its own documents and no others, and no content makes it raise."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpa.ingest.formats import (
    console,
    datadog,
    dataframe,
    detect,
    flat_spans,
    jaeger,
    javascript,
    langfuse,
    langsmith,
    mlflow,
    openai_agents,
    phoenix,
    trail,
    zipkin,
)
from gpa.ingest.formats.format import Format
from gpa.ingest.formats.values import hex_id
from gpa.ingest.spans import Span

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN = "00f067aa0ba902b7"
PARENT = "53995c3f42cd8ad8"
UUID = "a8b34ded-ccd2-4fb7-bccb-9cd625066a14"
ISO = "2025-03-19T16:41:22.123456Z"
NS = 1_742_402_482_123_456_000
US = NS // 1_000

EXAMPLES: dict[str, tuple[Format, Any]] = {
    "jaeger page": (
        jaeger.FORMAT,
        {
            "data": [
                {
                    "traceID": TRACE,
                    "spans": [
                        {
                            "traceID": TRACE,
                            "spanID": SPAN,
                            "operationName": "op",
                            "references": [{"refType": "CHILD_OF", "traceID": TRACE, "spanID": PARENT}],
                            "startTime": US,
                            "duration": 5,
                            "tags": [{"key": "k", "type": "int64", "value": 1}],
                            "logs": [{"timestamp": US, "fields": [{"key": "event", "type": "string", "value": "e"}]}],
                            "processID": "p1",
                            "warnings": None,
                        }
                    ],
                    "processes": {"p1": {"serviceName": "s", "tags": []}},
                }
            ],
            "total": 0,
            "limit": 0,
            "offset": 0,
            "errors": None,
        },
    ),
    "jaeger span": (
        jaeger.FORMAT,
        {
            "traceID": TRACE,
            "spanID": SPAN,
            "operationName": "op",
            "process": {"serviceName": "s", "tags": []},
            "tags": [],
        },
    ),
    "zipkin list": (
        zipkin.FORMAT,
        [
            {
                "traceId": TRACE,
                "id": SPAN,
                "parentId": PARENT,
                "name": "op",
                "kind": "CLIENT",
                "timestamp": US,
                "duration": 5,
                "localEndpoint": {"serviceName": "s"},
                "annotations": [{"timestamp": US, "value": '"e": {"k": "v"}'}],
                "tags": {"k": "v"},
            }
        ],
    ),
    "zipkin post": (
        zipkin.FORMAT,
        {"method": "POST", "path": "/api/v2/spans", "body": f'[{{"traceId":"{TRACE}","id":"{SPAN}"}}]'},
    ),
    "console span": (
        console.FORMAT,
        {
            "name": "op",
            "context": {"trace_id": "0x" + TRACE, "span_id": "0x" + SPAN, "trace_state": "[]"},
            "kind": "SpanKind.INTERNAL",
            "parent_id": "0x" + PARENT,
            "start_time": ISO,
            "end_time": ISO,
            "status": {"status_code": "OK"},
            "attributes": {"k": "v"},
            "events": [{"name": "e", "timestamp": ISO, "attributes": {}}],
            "links": [{"context": {"trace_id": "0x" + TRACE, "span_id": "0x" + SPAN}, "attributes": {}}],
            "resource": {"attributes": {"service.name": "s"}, "schema_url": ""},
        },
    ),
    "console log record": (
        console.FORMAT,
        {"body": "hello", "severity_number": 9, "attributes": {}, "trace_id": "0x" + TRACE, "span_id": "0x" + SPAN},
    ),
    "javascript span": (
        javascript.FORMAT,
        {
            "_spanContext": {"traceId": TRACE, "spanId": SPAN, "traceFlags": 1},
            "kind": 2,
            "parentSpanContext": {"traceId": TRACE, "spanId": PARENT},
            "attributes": {"k": "v"},
            "links": [{"context": "[Circular]"}],
            "events": [{"name": "e", "attributes": {}, "time": [US // 10**6, 5]}],
            "startTime": [US // 10**6, 1],
            "endTime": [US // 10**6, 2],
            "resource": {"_rawAttributes": [["service.name", "s"]]},
            "instrumentationScope": {"name": "n", "version": "1"},
            "name": "op",
            "status": {"code": 2, "message": "bad"},
        },
    ),
    "phoenix page": (
        phoenix.FORMAT,
        {
            "data": [
                {
                    "id": "U3Bhbjo1Ng==",
                    "name": "op",
                    "context": {"trace_id": TRACE, "span_id": SPAN},
                    "span_kind": "LLM",
                    "parent_id": PARENT,
                    "start_time": ISO,
                    "end_time": ISO,
                    "status_code": "OK",
                    "status_message": "",
                    "attributes": [],
                    "events": [],
                }
            ],
            "next_cursor": None,
        },
    ),
    "phoenix otlpv1": (
        phoenix.FORMAT,
        {
            "data": [
                {
                    "trace_id": TRACE,
                    "span_id": SPAN,
                    "parent_span_id": None,
                    "name": "op",
                    "kind": "SPAN_KIND_INTERNAL",
                    "start_time_unix_nano": NS,
                    "end_time_unix_nano": float(NS),
                    "attributes": [{"key": "k", "value": {"string_value": None, "int_value": 7}}],
                    "events": [],
                    "status": {"code": 1, "message": None},
                }
            ],
            "next_cursor": None,
        },
    ),
    "dataframe row": (
        dataframe.FORMAT,
        {
            "name": "op",
            "span_kind": "LLM",
            "parent_id": PARENT,
            "start_time": NS // 10**6,
            "context.span_id": SPAN,
            "context.trace_id": TRACE,
            "attributes.llm.input_messages": [{"message.role": "user", "message.content": "hi"}],
            "attributes.llm.token_count.prompt": 5.0,
        },
    ),
    "langfuse export": (
        langfuse.FORMAT,
        {
            "trace": {"id": TRACE, "name": "t", "input": '"hi"', "metadata": '{"resourceAttributes":{"a":1}}'},
            "observations": [
                {
                    "id": SPAN,
                    "traceId": TRACE,
                    "parentObservationId": PARENT,
                    "type": "GENERATION",
                    "name": "op",
                    "startTime": ISO,
                    "endTime": ISO,
                    "level": "ERROR",
                    "statusMessage": "bad",
                    "input": [{"role": "user", "content": "hi"}],
                    "output": "text",
                    "model": "m",
                    "usageDetails": {"input": 1},
                    "metadata": {"attributes": {"k": "v"}, "scope": {"name": "n"}},
                }
            ],
        },
    ),
    "langfuse observation": (
        langfuse.FORMAT,
        {
            "id": SPAN,
            "trace_id": TRACE,
            "parent_observation_id": None,
            "type": "SPAN",
            "start_time": "2025-03-19 16:41:22",
        },
    ),
    "langsmith run": (
        langsmith.FORMAT,
        {
            "id": UUID,
            "trace_id": UUID,
            "parent_run_id": None,
            "dotted_order": f"20250319T164122123456Z{UUID}",
            "name": "op",
            "run_type": "llm",
            "start_time": ISO,
            "end_time": ISO,
            "inputs": {"messages": [[{"role": "user", "content": "hi"}]]},
            "outputs": {"usage_metadata": {"input_tokens": 1}},
            "extra": {"metadata": {"ls_model_name": "m"}, "invocation_params": {"tools": []}},
            "serialized": {"name": "n"},
            "events": [{"name": "start", "time": ISO}],
            "tags": ["a"],
            "child_runs": [],
            "error": None,
        },
    ),
    "langsmith batch": (langsmith.FORMAT, {"post": [{"id": UUID, "run_type": "llm"}], "patch": []}),
    "mlflow": (
        mlflow.FORMAT,
        {
            "info": {"trace_id": "tr-" + TRACE, "tags": {}, "trace_metadata": {"a": "b"}},
            "data": {
                "spans": [
                    {
                        "trace_id": "S/kvNXezTaajzpKdDg5HNg==",
                        "span_id": "APBnqgupArc=",
                        "parent_span_id": None,
                        "name": "op",
                        "start_time_unix_nano": str(NS),
                        "status": {"code": "STATUS_CODE_OK"},
                        "attributes": {"mlflow.spanType": '"TOOL"'},
                        "events": [],
                    }
                ]
            },
        },
    ),
    "openai-agents": (
        openai_agents.FORMAT,
        {
            "data": [
                {
                    "object": "trace",
                    "id": "trace_" + TRACE,
                    "workflow_name": "w",
                    "group_id": "g",
                    "metadata": {"a": 1},
                },
                {
                    "object": "trace.span",
                    "id": "span_abc",
                    "trace_id": "trace_" + TRACE,
                    "parent_id": None,
                    "started_at": ISO,
                    "ended_at": ISO,
                    "span_data": {
                        "type": "generation",
                        "input": [{"role": "tool", "content": "x"}, {"role": "user", "content": [{"text": "a"}]}],
                        "output": [{"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f"}}]}],
                        "model_config": {"temperature": 1},
                        "usage": {"input_tokens": 1},
                    },
                    "error": {"message": "m", "data": {}},
                },
            ]
        },
    ),
    "trail": (
        trail.FORMAT,
        {
            "trace_id": TRACE,
            "spans": [
                {
                    "timestamp": ISO,
                    "trace_id": TRACE,
                    "span_id": SPAN,
                    "parent_span_id": None,
                    "span_name": "op",
                    "span_kind": "Internal",
                    "service_name": "s",
                    "resource_attributes": {"a": "b"},
                    "scope_name": "n",
                    "scope_version": "1",
                    "span_attributes": {"k": "v"},
                    "duration": "PT1M1.5S",
                    "status_code": "Ok",
                    "events": [{"Timestamp": ISO, "Name": "e", "Attributes": {}}],
                    "links": [],
                    "logs": [{"timestamp": ISO, "body": {"function.name": "f"}, "log_attributes": {}}],
                    "child_spans": [{"span_id": PARENT, "child_spans": []}],
                }
            ],
        },
    ),
    "flat spans": (
        flat_spans.FORMAT,
        {
            "session_id": "s-1",
            "span_count": 1,
            "spans": [
                {
                    "trace_id": TRACE,
                    "span_id": SPAN,
                    "parent_span_id": None,
                    "name": "op",
                    "start_time": NS,
                    "end_time": NS,
                    "attributes": {"k": "v"},
                    "scope": {"name": "n", "version": "1"},
                    "status": {"code": "OK"},
                    "span_events": [{"event_name": "e", "body": {"a": 1}}],
                }
            ],
        },
    ),
    "datadog": (
        datadog.FORMAT,
        [
            [
                {
                    "service": "s",
                    "name": "op",
                    "trace_id": 255,
                    "span_id": 1,
                    "parent_id": 2,
                    "start": NS,
                    "duration": 5,
                    "error": 1,
                    "meta": {"_dd.p.tid": "67dd000000000000", "_dd.span_links": "[]"},
                    "metrics": {"k": 1.0},
                }
            ]
        ],
    ),
    "cloudwatch record": (
        flat_spans.FORMAT,
        {"traceId": TRACE, "spanId": SPAN, "name": "op", "startTimeUnixNano": NS, "durationNano": 5, "attributes": {}},
    ),
}
SPECIFIC = {format_ for format_, _ in EXAMPLES.values() if format_ is not flat_spans.FORMAT}
EVERY = pytest.mark.parametrize(("own", "value"), EXAMPLES.values(), ids=EXAMPLES)


def notes() -> list[str]:
    return []


@EVERY
def test_a_document_is_known_to_its_own_format_alone(own: Format, value: Any) -> None:
    """Flat spans are the last resort and may know others' documents, never the reverse."""
    assert own.matches(value)
    assert [other.name for other in SPECIFIC - {own} if other.matches(value)] == []


@EVERY
def test_a_document_is_detected_as_its_own_format(own: Format, value: Any) -> None:
    assert detect(value) is own


@EVERY
def test_a_well_formed_document_is_read_without_a_note(own: Format, value: Any) -> None:
    noted = notes()
    assert list(own.read(copy.deepcopy(value), noted.append))
    assert noted == []


@EVERY
def test_reading_leaves_the_document_as_it_was(own: Format, value: Any) -> None:
    before = copy.deepcopy(value)
    list(own.read(value, notes().append))
    assert value == before


@EVERY
@pytest.mark.parametrize("stranger", [None, True, 0, "text", [], {}, [[]], [None], {"data": []}, {"a": 1}], ids=repr)
def test_no_format_claims_what_says_nothing(own: Format, value: Any, stranger: Any) -> None:
    del value
    assert not own.matches(stranger)


DEEP: list[Any] = []
for _ in range(5_000):
    DEEP = [DEEP]
JUNK = [
    None,
    True,
    0,
    -1,
    1.5,
    float("nan"),
    10**40,
    "",
    "text",
    "\ud800",
    '{"a": ',
    [],
    {},
    [None],
    [[1]],
    {"a": None},
    DEEP,
]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) of a document."""
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from places(value[key])


# Places and junk are drawn as numbers: hypothesis prints what it draws, and cannot print what nests deeply.
CHANGES = st.lists(st.tuples(st.integers(0, 999), st.integers(0, len(JUNK) - 1)), min_size=1, max_size=3)


@EVERY
@settings(max_examples=80, deadline=None)
@given(changes=CHANGES)
def test_wrong_types_anywhere_never_raise(own: Format, value: Any, changes: list[tuple[int, int]]) -> None:
    broken = copy.deepcopy(value)
    for place, junk in changes:
        found = list(places(broken))
        container, key = found[place % len(found)]
        container[key] = JUNK[junk] if JUNK[junk] is DEEP else copy.deepcopy(JUNK[junk])
        if JUNK[junk] is DEEP:
            break
    if not own.matches(broken):
        return
    for read in own.read(broken, notes().append):
        assert hex_id(read.trace_id, 32) == read.trace_id
        assert hex_id(read.span_id, 16) == read.span_id
        if isinstance(read, Span):
            assert read.parent_id is None or hex_id(read.parent_id, 16) == read.parent_id
            assert 0 <= read.start_ns < 2**64
            assert all(isinstance(text, str) for text in (read.name, read.kind, read.status_message, read.scope.name))
            assert read.status in {"unset", "ok", "error"}
            mappings: list[object] = [read.attributes, read.resource, *(event.attributes for event in read.events)]
            assert all(isinstance(mapping, dict) for mapping in mappings)
