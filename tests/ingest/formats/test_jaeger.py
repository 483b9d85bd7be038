"""Jaeger: units, references, tags, processes, and its three shapes."""

from __future__ import annotations

from typing import Any

import pytest

from gpa.errors import FormatError
from gpa.ingest.formats.jaeger import FORMAT
from gpa.ingest.spans import Event, Link, Scope, Span

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
OTHER = "0" * 31 + "1"
US = 1_742_402_482_123_456


def read(value: Any) -> tuple[list[Span], list[str]]:
    noted: list[str] = []
    assert FORMAT.matches(value)
    return [span for span in FORMAT.read(value, noted.append) if isinstance(span, Span)], noted


def record(**fields: Any) -> dict[str, Any]:
    return {"traceID": TRACE, "spanID": "00f067aa0ba902b7", "operationName": "op", "startTime": US} | fields


def page(*spans: Any, **processes: Any) -> dict[str, Any]:
    return {"data": [{"traceID": TRACE, "spans": list(spans), "processes": processes}], "total": 0}


def one(**fields: Any) -> Span:
    (span,), noted = read(page(record(**fields)))
    assert noted == []
    return span


def tag(key: str, value: Any, kind: str = "string") -> dict[str, Any]:
    return {"key": key, "type": kind, "value": value}


def test_times_are_microseconds() -> None:
    span = one(duration=5)
    assert (span.start_ns, span.end_ns) == (US * 1_000, US * 1_000 + 5_000)


def test_short_ids_are_padded() -> None:
    span = one(traceID="1", spanID="AB", references=[{"refType": "CHILD_OF", "traceID": "01", "spanID": "c"}])
    assert (span.trace_id, span.span_id, span.parent_id) == (OTHER, "00000000000000ab", "000000000000000c")


@pytest.mark.parametrize(
    ("fields", "parent", "links"),
    [
        pytest.param({"references": []}, None, (), id="root"),
        pytest.param({"parentSpanID": "b"}, "000000000000000b", (), id="deprecated field"),
        pytest.param(
            {
                "references": [
                    {"refType": "CHILD_OF", "traceID": OTHER, "spanID": "a"},
                    {"refType": "CHILD_OF", "traceID": TRACE, "spanID": "b"},
                    {"refType": "CHILD_OF", "traceID": TRACE, "spanID": "c"},
                ]
            },
            "000000000000000b",
            (Link(OTHER, "000000000000000a"), Link(TRACE, "000000000000000c")),
            id="first CHILD_OF of the same trace, the rest are links",
        ),
        pytest.param(
            {"references": [{"refType": "FOLLOWS_FROM", "traceID": TRACE, "spanID": "a"}]},
            None,
            (Link(TRACE, "000000000000000a"),),
            id="FOLLOWS_FROM is a link",
        ),
    ],
)
def test_references(fields: dict[str, Any], parent: str | None, links: tuple[Link, ...]) -> None:
    span = one(**fields)
    assert (span.parent_id, span.links) == (parent, links)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(tag("k", "v"), "v", id="string"),
        pytest.param(tag("k", '["stop"]'), '["stop"]', id="a list stays the JSON text it came as"),
        pytest.param(tag("k", 7, "int64"), 7, id="int64"),
        pytest.param(tag("k", "9007199254740993", "int64"), 9007199254740993, id="int64 beyond 2^53 is text"),
        pytest.param(tag("k", "1.5", "float64"), 1.5, id="float64 from Elasticsearch"),
        pytest.param(tag("k", "true", "bool"), True, id="bool from Elasticsearch"),
        pytest.param(tag("k", "many", "int64"), "many", id="not the number it claims to be"),
        pytest.param({"key": "k", "vType": "INT64", "vInt64": "7"}, 7, id="domain model"),
        pytest.param({"key": "k", "vType": "BOOL"}, False, id="domain model leaves out false"),
        pytest.param({"key": "k", "vStr": "v"}, "v", id="domain model leaves out STRING"),
    ],
)
def test_tag_values(given: dict[str, Any], expected: object) -> None:
    found = one(tags=[given]).attributes["k"]
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("tags", "status", "message"),
    [
        ([], "unset", ""),
        ([tag("otel.status_code", "OK")], "ok", ""),
        (
            [tag("otel.status_code", "ERROR"), tag("otel.status_description", "bad"), tag("error", True, "bool")],
            "error",
            "bad",
        ),
        ([tag("error", True, "bool")], "error", ""),
        ([tag("error", "true")], "error", ""),
        ([tag("error", False, "bool")], "unset", ""),
    ],
    ids=["no tag", "OK", "ERROR with text", "flag", "flag as text", "flag off"],
)
def test_status_travels_as_tags(tags: list[dict[str, Any]], status: str, message: str) -> None:
    span = one(tags=tags)
    assert (span.status, span.status_message) == (status, message)


def test_what_otlp_has_fields_for_leaves_the_attributes() -> None:
    span = one(
        tags=[
            tag("span.kind", "client"),
            tag("otel.scope.name", "scope"),
            tag("otel.scope.version", "1"),
            tag("otel.library.name", "scope"),
            tag("otel.library.version", "1"),
            tag("kept", "v"),
        ]
    )
    assert (span.kind, span.scope) == ("client", Scope("scope", "1"))
    assert span.attributes == {"kept": "v"}


def test_what_the_producer_dropped_is_counted() -> None:
    counts = [tag("otel.dropped_attributes_count", 3, "int64"), tag("otel.dropped_events_count", "2", "int64")]
    assert one(tags=counts).dropped == 5


def test_logs_become_events() -> None:
    fields = [tag("event", "exception"), tag("exception.type", "E")]
    assert one(logs=[{"timestamp": US, "fields": fields}]).events == (
        Event("exception", US * 1_000, {"exception.type": "E"}),
    )


def test_the_process_is_the_resource() -> None:
    process = {"serviceName": "s", "tags": [tag("host.name", "h")]}
    spans, _ = read(page(record(processID="p1"), record(processID="p1"), p1=process))
    assert [span.resource for span in spans] == [{"service.name": "s", "host.name": "h"}] * 2
    assert spans[0].resource is spans[1].resource


@pytest.mark.parametrize(
    "wrap",
    [
        pytest.param(lambda span: span, id="one object"),
        pytest.param(lambda span: [span], id="list"),
        pytest.param(lambda span: {"_index": "jaeger-span", "_source": span}, id="hit of an Elasticsearch dump"),
    ],
)
def test_a_span_with_its_process_inline(wrap: Any) -> None:
    record_ = record(process={"serviceName": "s", "tags": []}, tag={"http@method": "GET"})
    (span,), noted = read(wrap(record_))
    assert noted == []
    assert span.resource == {"service.name": "s"}
    assert span.attributes == {"http.method": "GET"}


def test_the_domain_model() -> None:
    value = {
        "spans": [
            {
                "traceId": "AAAAAAAAAAAAAAAAAAAAEQ==",
                "spanId": "AAAAAAAAAAM=",
                "operationName": "op",
                "references": [{"traceId": "AAAAAAAAAAAAAAAAAAAAEQ==", "spanId": "AAAAAAAAAAQ="}],
                "startTime": "2017-01-26T16:46:31.639875Z",
                "duration": "1m2.5s",
                "process": {"serviceName": "s"},
            }
        ]
    }
    (span,), noted = read(value)
    assert noted == []
    assert (span.trace_id[-2:], span.span_id, span.parent_id) == ("11", "0000000000000003", "0000000000000004")
    assert (span.start_ns, span.duration_ns) == (1_485_449_191_639_875_000, 62_500_000_000)


def test_a_bad_span_costs_only_itself() -> None:
    spans, noted = read(page(record(spanID="zz"), None, record()))
    assert len(spans) == 1
    assert noted == [
        "skipped span 'op': spanID or traceID is not hex",
        "skipped an entry of type NoneType among the spans (expected an object)",
    ]


def test_what_is_no_trace_is_noted() -> None:
    value = page(record())
    value["data"].append(5)
    spans, noted = read(value)
    assert len(spans) == 1
    assert noted == ["skipped an entry of type int among the traces (expected an object)"]


def test_the_clock_skew_adjusters_warning_is_kept() -> None:
    assert one(warnings=["clock skew"]).attributes == {"jaeger.warnings": ["clock skew"]}


def test_the_error_of_a_store_is_quoted() -> None:
    answer = {"data": [], "total": 0, "limit": 0, "offset": 0, "errors": [{"code": 404, "msg": "trace not found"}]}
    with pytest.raises(FormatError, match="expected traces, found the error of a store: 'trace not found'"):
        read(answer)
    spans, noted = read(answer | page(record()))
    assert (len(spans), noted) == (1, ["the store says: 'trace not found'"])


def test_an_empty_answer_holds_no_span() -> None:
    assert read({"data": [], "total": 0, "limit": 0, "offset": 0, "errors": None}) == ([], [])
