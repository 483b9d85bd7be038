"""Recordings of real producers as spans, decoded here by hand so that checks do not stand on the project's own readers.

The recordings are not part of the project: tests on them are skipped where the folder beside it is missing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpa.ingest.spans import Event, Scope, Span, Status

DATA = Path(__file__).parents[4] / "shared" / "data"
needs_recordings = pytest.mark.skipif(not DATA.is_dir(), reason="the recordings are not here")

_STATUS: tuple[Status, ...] = ("unset", "ok", "error")


def otlp(path: str) -> Iterator[Span]:
    for line in (DATA / path).read_text().splitlines():
        for resource in json.loads(line).get("resourceSpans", []):
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    yield Span(
                        span["traceId"],
                        span["spanId"],
                        name=span["name"],
                        status=_STATUS[span.get("status", {}).get("code", 0)],
                        status_message=span.get("status", {}).get("message", ""),
                        attributes=_attributes(span.get("attributes", [])),
                        events=tuple(
                            Event(event["name"], attributes=_attributes(event.get("attributes", [])))
                            for event in span.get("events", [])
                        ),
                        scope=Scope(scope["scope"].get("name", "")),
                        dropped=span.get("droppedAttributesCount", 0),
                    )


def flat(path: str) -> Iterator[Span]:
    spans = json.loads((DATA / path).read_text())
    for span in spans["spans"] if isinstance(spans, dict) else spans:
        scope = (span.get("scope") or {}).get("name") or ""
        yield Span(
            span["trace_id"], span["span_id"], name=span["name"], attributes=span["attributes"], scope=Scope(scope)
        )


def jaeger(path: str) -> Iterator[Span]:
    for trace in json.loads((DATA / path).read_text())["data"]:
        for span in trace["spans"]:
            tags = {tag["key"]: tag["value"] for tag in span["tags"]}
            yield Span(span["traceID"], span["spanID"], name=span["operationName"], attributes=tags)


def trail() -> Iterator[Span]:
    for path in sorted(DATA.glob("trail/*/traces/*.json")):
        todo = list(json.loads(path.read_text())["spans"])
        while todo:
            span = todo.pop()
            todo += span["child_spans"]
            yield Span(
                span["trace_id"],
                span["span_id"],
                name=span["span_name"],
                attributes=span["span_attributes"],
                events=tuple(Event("log", body=log["body"]) for log in span["logs"]),
                scope=Scope(span["scope_name"]),
            )


def _attributes(listed: list[Any]) -> dict[str, Any]:
    return {entry["key"]: _value(entry["value"]) for entry in listed}


def _value(value: dict[str, Any]) -> Any:
    for kind, inner in value.items():
        if kind == "intValue":
            return int(inner)
        if kind == "arrayValue":
            return [_value(item) for item in inner.get("values", [])]
        return inner
    return None
