"""Events, links, scopes and resources in the spellings producers use."""

from __future__ import annotations

from typing import Any

import pytest

from gpa.ingest.formats.parts import dropped_by, events_of, links_of, resource_of, scope_of, scope_of_tags
from gpa.ingest.spans import Event, Link, Scope

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN = "00f067aa0ba902b7"
NS = 1_742_402_482_000_000_000


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(None, (), id="null"),
        pytest.param("[]", (), id="empty text"),
        pytest.param([{"name": "e", "timeUnixNano": str(NS)}], (Event("e", NS),), id="OTLP"),
        pytest.param([{"Name": "e", "Timestamp": "2025-03-19T16:41:22"}], (Event("e", NS),), id="Patronus"),
        pytest.param([{"event_name": "e", "time": [NS // 10**9, 0]}], (Event("e", NS),), id="JavaScript"),
        pytest.param('[{"name": "e", "attributes": {"a": 1}}]', (Event("e", 0, {"a": 1}),), id="JSON text"),
        pytest.param(["note"], (Event("", 0, {}, "note"),), id="text instead of an object"),
        pytest.param(5, (), id="no list"),
    ],
)
def test_events_of(value: Any, expected: tuple[Event, ...]) -> None:
    assert events_of(value) == expected


@pytest.mark.parametrize(
    "item",
    [
        {"traceId": TRACE, "spanId": SPAN, "attributes": {"a": 1}},
        {"context": {"trace_id": "0x" + TRACE, "span_id": "0x" + SPAN}, "attributes": {"a": 1}},
    ],
    ids=["ids in the link", "ids in a context"],
)
def test_links_of(item: dict[str, Any]) -> None:
    assert links_of([item, {"traceId": TRACE}, "text", None]) == (Link(TRACE, SPAN, {"a": 1}),)


@pytest.mark.parametrize(
    ("value", "version", "expected"),
    [
        ({"name": "n", "version": "1"}, None, Scope("n", "1")),
        ("n", "1", Scope("n", "1")),
        ({}, None, Scope()),
        (None, None, Scope()),
    ],
    ids=repr,
)
def test_scope_of(value: Any, version: Any, expected: Scope) -> None:
    assert scope_of(value, version) == expected


def test_the_new_name_of_a_scope_wins_and_both_are_taken_out() -> None:
    tags = {"otel.library.name": "old", "otel.scope.name": "new", "otel.library.version": "1", "k": "v"}
    assert scope_of_tags(tags) == Scope("new", "1")
    assert tags == {"k": "v"}


@pytest.mark.parametrize(
    ("record", "total"),
    [
        ({"dropped_attributes_count": 1, "dropped_events_count": "2", "dropped_links_count": None}, 3),
        ({"droppedAttributesCount": 4, "droppedEventsCount": -1}, 4),
        ({}, 0),
    ],
    ids=repr,
)
def test_dropped_by(record: dict[str, Any], total: int) -> None:
    assert dropped_by(record, "dropped_{}_count", "dropped{}Count") == total


def test_resource_of() -> None:
    assert resource_of({"attributes": {"a": 1}, "schema_url": ""}) == {"a": 1}
    assert resource_of({"attributes": [{"key": "a", "value": {"intValue": 1}}]}) == {"a": 1}
    assert resource_of({"a": 1}) == {"a": 1}
    assert resource_of(None) == {}
