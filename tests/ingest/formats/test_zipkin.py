"""Zipkin: units, endpoints, status tags, annotations, shared ids."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpa.ingest.formats.zipkin import FORMAT
from gpa.ingest.spans import Event, Scope, Span

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
US = 1_742_402_482_123_456


def read(value: Any) -> tuple[list[Span], list[str]]:
    noted: list[str] = []
    assert FORMAT.matches(value)
    return [span for span in FORMAT.read(value, noted.append) if isinstance(span, Span)], noted


def record(**fields: Any) -> dict[str, Any]:
    return {"traceId": TRACE, "id": "00f067aa0ba902b7", "name": "op", "timestamp": US, "duration": 5} | fields


def one(**fields: Any) -> Span:
    (span,), noted = read([record(**fields)])
    assert noted == []
    return span


def test_every_field_of_a_span_is_kept() -> None:
    span = one(
        parentId="00000000000000aa",
        kind="CLIENT",
        localEndpoint={"serviceName": "here", "ipv4": "10.0.0.1"},
        remoteEndpoint={"serviceName": "there", "port": 80},
        tags={"k": "v", "otel.scope.name": "scope", "otel.scope.version": "1", "otel.library.name": "scope"},
    )
    assert (span.start_ns, span.duration_ns) == (US * 1_000, 5_000)
    assert (span.parent_id, span.kind, span.scope) == ("00000000000000aa", "client", Scope("scope", "1"))
    assert span.resource == {"service.name": "here", "host.ip": "10.0.0.1"}
    assert span.attributes == {"k": "v", "peer.service": "there", "network.peer.port": 80}


@pytest.mark.parametrize(
    ("tags", "status", "message"),
    [
        ({}, "unset", ""),
        ({"otel.status_code": "OK"}, "ok", ""),
        ({"otel.status_code": "ERROR", "error": "bad"}, "error", "bad"),
        ({"error": ""}, "error", ""),
        ({"error": "true"}, "error", ""),
        ({"error": "false"}, "unset", ""),
    ],
    ids=repr,
)
def test_status_travels_as_tags(tags: dict[str, str], status: str, message: str) -> None:
    span = one(tags=tags)
    assert (span.status, span.status_message, span.attributes) == (status, message, {})


@pytest.mark.parametrize(
    ("text", "name", "attributes"),
    [
        pytest.param('"note": {"k": [1]}', "note", {"k": [1]}, id="specification"),
        pytest.param('{"note": {"k": "v"}}', "note", {"k": "v"}, id="Python exporter"),
        pytest.param("cs", "cs", {}, id="plain text"),
        pytest.param('"note": {"k": ', '"note": {"k": ', {}, id="cut"),
        pytest.param('{"a": 1, "b": 2}', '{"a": 1, "b": 2}', {}, id="other JSON"),
    ],
)
def test_annotations_become_events(text: str, name: str, attributes: dict[str, Any]) -> None:
    assert one(annotations=[{"timestamp": US, "value": text}]).events == (Event(name, US * 1_000, attributes),)


def test_both_ends_of_a_call_that_share_an_id_are_kept() -> None:
    here, there = {"serviceName": "here"}, {"serviceName": "there"}
    client = record(kind="CLIENT", parentId="00000000000000aa", localEndpoint=here, tags={"side": "client"})
    server = record(
        kind="SERVER", parentId="00000000000000aa", localEndpoint=there, tags={"side": "server"}, shared=True
    )
    below_server = record(id="00000000000000cc", parentId="00f067aa0ba902b7", localEndpoint=there)
    below_client = record(id="00000000000000dd", parentId="00f067aa0ba902b7", localEndpoint=here)
    spans, noted = read([server, below_server, client, below_client])
    by_side = {span.attributes.get("side", span.span_id[-2:]): span for span in spans}
    assert (by_side["client"].span_id, by_side["client"].parent_id) == ("00f067aa0ba902b7", "00000000000000aa")
    assert by_side["server"].span_id != by_side["client"].span_id == by_side["server"].parent_id
    assert by_side["server"].attributes["gpa.recorded.span_id"] == "00f067aa0ba902b7"
    assert by_side["cc"].parent_id == by_side["server"].span_id
    assert by_side["dd"].parent_id == by_side["client"].span_id
    assert noted == [
        "sides of a call share a span id: receivers get derived ones, the recorded is in gpa.recorded.span_id"
    ]


def test_a_child_belongs_to_the_receiver_where_both_sides_are_one_service() -> None:
    client, server = record(kind="CLIENT"), record(kind="SERVER", shared=True)
    child = record(id="00000000000000cc", parentId="00f067aa0ba902b7")
    (own, shared, below), _ = read([client, server, child])
    assert (shared.parent_id, below.parent_id) == (own.span_id, shared.span_id)


def test_every_receiver_of_one_message_is_kept() -> None:
    client = record(kind="CLIENT", parentId="00000000000000aa")
    servers = [record(kind="SERVER", localEndpoint={"ipv4": f"10.0.0.{number}"}) for number in range(3)]
    spans, _ = read([client, *servers])
    assert len({span.span_id for span in spans}) == 4
    assert [span.span_id for span in spans].count("00f067aa0ba902b7") == 1
    assert {span.parent_id for span in spans[1:]} == {spans[0].span_id}


def test_a_shared_span_whose_client_is_elsewhere_keeps_its_parent() -> None:
    assert one(kind="SERVER", shared=True, parentId="00000000000000aa").parent_id == "00000000000000aa"


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(record(), id="one a line"),
        pytest.param([record()], id="list"),
        pytest.param([[record()]], id="list of traces"),
        pytest.param({"method": "POST", "path": "/api/v2/spans", "body": json.dumps([record()])}, id="recorded post"),
    ],
)
def test_shapes(value: Any) -> None:
    spans, noted = read(value)
    assert [span.span_id for span in spans] == ["00f067aa0ba902b7"]
    assert noted == []


def test_a_bad_span_costs_only_itself() -> None:
    spans, noted = read([record(id="zz"), 5, record()])
    assert len(spans) == 1
    assert noted == [
        "skipped an entry of type int among the spans (expected an object)",
        "skipped span 'op': id or traceId is not hex",
    ]
