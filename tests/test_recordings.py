"""Laws over whole recordings: the project's own fixtures, and the recordings beside the project where there are any."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from gpa.ingest import dialects, render
from gpa.ingest.assembly import read_traces
from gpa.ingest.problems import Problem
from gpa.ingest.spans import Trace
from gpa.ingest.transcript import Transcript, transcribe

ROOT = Path(__file__).parent.parent
OWN = ROOT / "fixtures" / "traces"
BESIDE = ROOT.parent / "shared" / "data"
NO_DATA = not (BESIDE / "otel").is_dir()


def _files(folder: Path) -> list[Path]:
    """The recordings of a folder; `.logs.` files are read beside their `.traces.` files."""
    skipped = {"SOURCE.txt", "README.md", "LICENSE", "events.json", "logs.json"}  # the last two: log records alone
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and path.name not in skipped and ".logs." not in path.name and "/." not in str(path)
    )


def _cases() -> Iterator[object]:
    for path in _files(OWN):
        yield pytest.param(path, id=str(path.relative_to(OWN)))
    for folder in ("otel", "trail/gaia/traces", "trail/swe_bench/traces"):
        if (BESIDE / folder).is_dir():
            for path in _files(BESIDE / folder):
                yield pytest.param(path, id=str(path.relative_to(BESIDE)))


CASES = list(_cases())


@cache
def _read(path: Path) -> tuple[tuple[tuple[Trace, Transcript], ...], tuple[Problem, ...]]:
    """The traces of a file, with the log records that were exported beside it."""
    problems: list[Problem] = []
    logs = path.with_name(path.name.replace(".traces.", ".logs."))
    paths = [path, logs] if logs != path and logs.is_file() else [path]
    traces = tuple((trace, transcribe(trace)) for trace in read_traces(paths, on_problem=problems.append))
    return traces, tuple(problems)


@pytest.mark.parametrize("path", CASES)
def test_a_recording_is_read_without_loss(path: Path) -> None:
    """Each span is one step or stands beside one; what is written for machines and for people can be written."""
    traces, problems = _read(path)
    assert traces
    assert not [problem for problem in problems if problem.fatal]
    for trace, transcript in traces:
        shown = [span_id for step in transcript.steps for span_id in step.span_ids]
        kept = [span.span_id for span, _ in trace.walk() if not dialects.read(span).placeholder]
        assert sorted(shown) == sorted(kept)
        json.dumps(transcript.to_dict())
        assert all(f"[{step.label}]" in transcript.render() for step in transcript.steps)


@pytest.mark.parametrize("path", CASES)
def test_every_input_can_be_rebuilt(path: Path) -> None:
    """For every model call: the input put together from the transcript is the input its span records."""
    for trace, transcript in _read(path)[0]:
        spans = {span.span_id: span for span in trace.spans}
        for step in transcript.steps:
            if step.kind == "llm":
                recorded = [dialects.read(spans[span_id]).input for span_id in step.span_ids]
                assert transcript.full_input(step.label) in recorded


@pytest.mark.parametrize("path", CASES)
def test_the_text_form_holds_every_message(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With references switched off, each new message, output and error stands in the rendering as often as in life."""
    monkeypatch.setattr(render, "MIN_REFERRED", 1 << 60)
    for _, transcript in _read(path)[0]:
        rendered = transcript.render()
        texts = [
            message.text
            for step in transcript.steps
            if step.kind in ("llm", "tool")
            for message in (*step.messages, *step.output)
        ]
        for text in set(texts):
            assert rendered.count(render.neutral(text)) >= texts.count(text)


@pytest.mark.skipif(NO_DATA, reason="needs ../shared/data, recordings that are not part of the project")
@pytest.mark.parametrize(("part", "bound"), [("gaia", 0.15), ("swe_bench", 0.08)])
def test_a_rendering_is_a_fraction_of_the_recording(part: str, bound: float) -> None:
    files = _files(BESIDE / "trail" / part / "traces")
    rendered = sum(len(transcript.render().encode()) for path in files for _, transcript in _read(path)[0])
    assert rendered <= bound * sum(path.stat().st_size for path in files)
