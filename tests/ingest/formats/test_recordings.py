"""Recordings of real producers: every file gives spans whose parents are found as often as the file allows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpa.ingest.formats import console, dataframe, flat_spans, jaeger, javascript, langfuse, langsmith, phoenix, zipkin
from gpa.ingest.formats.format import Format
from gpa.ingest.spans import Span

ROOT = Path(__file__).parents[4] / "shared" / "data" / "otel"
FORMATS = (jaeger, zipkin, console, javascript, phoenix, dataframe, langfuse, langsmith, flat_spans)
FOLDERS: dict[str, Format] = {
    "public/jaeger_kagent": jaeger.FORMAT,
    "public/zipkin": zipkin.FORMAT,
    "public/langfuse_export": langfuse.FORMAT,
    "public/langsmith_runs": langsmith.FORMAT,
    "public/strands_evals_live_spans": flat_spans.FORMAT,
    "generated/phoenix/client_get_spans.jsonl": phoenix.FORMAT,
    "generated/phoenix/rest_v1_projects_spans.json": phoenix.FORMAT,
    "generated/phoenix/client_spans_dataframe.jsonl": dataframe.FORMAT,
    "generated/zipkin/agent_spans_zipkin_v2.other.jsonl": zipkin.FORMAT,
    "generated/zipkin/console_same_spans.txt": console.FORMAT,
    "generated/smolagents_openinference/console_span_exporter.txt": console.FORMAT,
    "generated/langsmith/langgraph_runs.other.jsonl": langsmith.FORMAT,
    "generated/langsmith/runs_langchain_tracer.jsonl": langsmith.FORMAT,
}
FILES = [
    (path, format_)
    for name, format_ in FOLDERS.items()
    for path in (sorted((ROOT / name).glob("*.json")) if (ROOT / name).is_dir() else [ROOT / name])
]
pytestmark = pytest.mark.skipif(not ROOT.is_dir(), reason="the recordings are not here")


def documents(path: Path) -> Iterator[Any]:
    text, decoder, position = path.read_text(encoding="utf-8").strip(), json.JSONDecoder(), 0
    while position < len(text):
        value, position = decoder.raw_decode(text, position)
        yield value
        position += len(text) - position - len(text[position:].lstrip())


def read(path: Path, format_: Format) -> list[Span]:
    noted: list[str] = []
    spans = []
    for value in documents(path):
        assert next(module.FORMAT.name for module in FORMATS if module.FORMAT.matches(value)) == format_.name
        spans += [span for span in format_.read(value, noted.append) if isinstance(span, Span)]
    assert not [message for message in noted if "share a span id" not in message]  # Zipkin's way with calls
    return spans


@pytest.mark.parametrize(("path", "format_"), FILES, ids=[path.name for path, _ in FILES])
def test_every_file_gives_spans(path: Path, format_: Format) -> None:
    spans = read(path, format_)
    assert spans
    if format_ is not zipkin.FORMAT:  # its spans may come in parts, to be merged by id
        assert len({(span.trace_id, span.span_id) for span in spans}) == len(spans)
        assert all(span.name and span.start_ns for span in spans)


def test_zipkin_and_console_exporters_tell_of_the_same_spans() -> None:
    folder = ROOT / "generated" / "zipkin"
    by_zipkin = read(folder / "agent_spans_zipkin_v2.other.jsonl", zipkin.FORMAT)
    by_console = read(folder / "console_same_spans.txt", console.FORMAT)

    def facts(span: Span) -> tuple[object, ...]:
        events = [(event.name, event.attributes) for event in span.events]
        return span.trace_id, span.span_id, span.parent_id, span.name, span.start_ns, span.status, events

    assert sorted(map(facts, by_zipkin), key=str) == sorted(map(facts, by_console), key=str)
    tags = {
        span.span_id: span.attributes for span in by_zipkin
    }  # with those of the resource: Zipkin has no other place
    assert all(span.attributes.keys() | span.resource.keys() >= tags[span.span_id].keys() for span in by_console)
    assert all(span.attributes.keys() <= tags[span.span_id].keys() for span in by_console)


def test_the_dataframe_tells_of_the_same_spans_as_the_rest_api() -> None:
    folder = ROOT / "generated" / "phoenix"
    frame = {span.span_id: span for span in read(folder / "client_spans_dataframe.jsonl", dataframe.FORMAT)}
    rest = {span.span_id: span for span in read(folder / "rest_v1_projects_spans.json", phoenix.FORMAT)}
    assert frame.keys() == rest.keys()
    for span_id, span in rest.items():
        other = frame[span_id]
        assert (other.parent_id, other.name, other.status) == (span.parent_id, span.name, span.status)
        messages = {key: value for key, value in span.attributes.items() if "_messages." in key}
        assert {key: value for key, value in other.attributes.items() if "_messages." in key} == messages


def test_a_multipart_post_holds_the_runs_that_the_tracer_kept() -> None:
    folder = ROOT / "generated" / "langsmith"
    posted = read(folder / "langgraph_runs.other.jsonl", langsmith.FORMAT)
    kept = read(folder / "runs_langchain_tracer.jsonl", langsmith.FORMAT)
    assert sorted((span.span_id, span.parent_id or "", span.name) for span in posted) == sorted(
        (span.span_id, span.parent_id or "", span.name) for span in kept
    )
    assert all("gen_ai.prompt" in span.attributes and "gen_ai.completion" in span.attributes for span in posted)
