"""A small document of every format of JSON objects, as its producer writes it."""

from __future__ import annotations

from typing import Any

from gpa.ingest.formats import (
    console,
    datadog,
    dataframe,
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
