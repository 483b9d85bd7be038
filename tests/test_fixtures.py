"""The recorded runs are valid, reproducible and anonymous, and their gold errors point into them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fixtures.make.normalise import normalise, normalise_native, objects, spans_of
from gpa.judges.verdict import CATEGORIES, DIMENSIONS

ROOT = Path(__file__).resolve().parent.parent / "fixtures"
README = (ROOT / "README.md").read_text(encoding="utf-8")
FILES = sorted((ROOT / "traces").rglob("*.jsonl"))
TRACES = [path for path in FILES if path.name.endswith(".traces.jsonl")]
LOGS = [path for path in FILES if path.name.endswith(".logs.jsonl")]
NATIVE = [path for path in FILES if path.name.endswith(".native.jsonl")]
GOLD = sorted((ROOT / "gold").glob("*.jsonl"))

MACHINE = re.compile(
    r"""(?<![\w.:/])/(?:root|home|Users|tmp|usr|opt|var|private|etc|work|mnt|srv)/  # an absolute path
    |[A-Z]:\\\\|127\.0\.0\.1|localhost|\.venvs|site-packages""",
    re.VERBOSE,
)
RESOURCE = {"service.name", "telemetry.sdk.language", "telemetry.sdk.name", "telemetry.sdk.version"}


def name(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def recording(path: Path) -> str:
    return f"{path.parent.name}/{path.name.partition('.')[0]}"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def spans(path: Path) -> list[dict[str, Any]]:
    return spans_of(lines(path))


def texts(node: Any) -> Iterator[str]:
    """Every text inside `node`; JSON inside a text is opened, for a quote stands there escaped."""
    for item in objects(node):
        for value in item.values():
            if isinstance(value, str):
                yield value
                if value.startswith(("{", "[")):
                    yield from texts({"json": json.loads(value)})


def gold() -> list[dict[str, Any]]:
    return [error for path in GOLD for error in lines(path)]


def test_there_are_recordings_of_each_kind() -> None:
    assert TRACES
    assert LOGS
    assert NATIVE
    assert GOLD
    assert {*TRACES, *LOGS, *NATIVE} == set(FILES)


@pytest.mark.parametrize("path", TRACES, ids=name)
def test_a_line_is_one_batch_of_spans_in_otlp_json(path: Path) -> None:
    for batch in lines(path):
        assert set(batch) == {"resourceSpans"}
        for resource_spans in batch["resourceSpans"]:
            assert {item["key"] for item in resource_spans["resource"]["attributes"]} == RESOURCE
            assert all(scope_spans["spans"] for scope_spans in resource_spans["scopeSpans"])
    assert spans(path)
    for span in spans(path):
        assert re.fullmatch(r"[0-9a-f]{32}", span["traceId"])
        assert re.fullmatch(r"[0-9a-f]{16}", span["spanId"])
        assert span["name"]
        assert isinstance(span["kind"], int)
        assert isinstance(span["startTimeUnixNano"], str)
        assert int(span["startTimeUnixNano"]) < int(span["endTimeUnixNano"])


@pytest.mark.parametrize("path", TRACES, ids=name)
def test_a_file_holds_one_whole_tree(path: Path) -> None:
    starts = {span["spanId"]: int(span["startTimeUnixNano"]) for span in spans(path)}
    parents = [(span["parentSpanId"], span["spanId"]) for span in spans(path) if span.get("parentSpanId")]
    assert len({span["traceId"] for span in spans(path)}) == 1
    assert len(parents) == len(starts) - 1, "one root"
    assert all(starts[parent] < starts[child] for parent, child in parents)


def test_no_two_spans_and_no_two_traces_share_an_id() -> None:
    span_ids = Counter(span["spanId"] for path in TRACES for span in spans(path))
    trace_ids = Counter(trace_id for path in TRACES for trace_id in {span["traceId"] for span in spans(path)})
    assert [item for item, count in (span_ids + trace_ids).items() if count > 1] == []


@pytest.mark.parametrize("path", LOGS, ids=name)
def test_each_log_record_names_a_span_of_the_traces_beside_it(path: Path) -> None:
    known = {(span["traceId"], span["spanId"]) for span in spans(path.with_name(path.name.replace(".logs", ".traces")))}
    records = [node for batch in lines(path) for node in objects(batch) if "observedTimeUnixNano" in node]
    assert records
    assert {(record["traceId"], record["spanId"]) for record in records} <= known


@pytest.mark.parametrize("path", NATIVE, ids=name)
def test_a_native_export_is_a_trace_with_its_spans(path: Path) -> None:
    for batch in lines(path):
        trace, *native_spans = batch["data"]
        assert trace["object"] == "trace"
        assert native_spans
        assert {span["trace_id"] for span in native_spans} == {trace["id"]}


@pytest.mark.parametrize("path", TRACES, ids=name)
def test_normalising_a_recording_again_changes_nothing(path: Path) -> None:
    logs_path = path.with_name(path.name.replace(".traces", ".logs"))
    traces, logs = lines(path), lines(logs_path) if logs_path.exists() else []
    before = json.dumps([traces, logs])
    normalise(recording(path), traces, logs)
    assert json.dumps([traces, logs]) == before


@pytest.mark.parametrize("path", NATIVE, ids=name)
def test_normalising_a_native_export_again_changes_nothing(path: Path) -> None:
    batches = lines(path)
    for batch in batches:
        normalise_native(recording(path), batch["data"])
    assert batches == lines(path)


@pytest.mark.parametrize("path", [*FILES, *GOLD], ids=name)
def test_no_file_tells_where_it_was_made(path: Path) -> None:
    assert MACHINE.findall(path.read_text(encoding="utf-8")) == []


def test_files_are_small() -> None:
    assert [name(path) for path in FILES if path.stat().st_size > 150_000] == []
    assert sum(path.stat().st_size for path in FILES) < 2_000_000


def test_the_readme_lists_each_file_once() -> None:
    listed = re.findall(r"^\| `([\w./-]+\.jsonl)` \|", README, re.MULTILINE)
    assert sorted(listed) == sorted(name(path) for path in FILES)


def test_the_readme_names_the_versions_that_are_pinned() -> None:
    rows = re.findall(r"^\| `([\w.-]+)` \| `([\w.@]+\.txt)` \|(.*)\|$", README, re.MULTILINE)
    assert {folder for folder, _, _ in rows} == {path.parent.name for path in FILES}
    for folder, requirements, cells in rows:
        pinned = (ROOT / "make" / "requirements" / requirements).read_text(encoding="utf-8").splitlines()
        versions = re.findall(r"`([\w.-]+==[\w.]+)`", cells)
        assert versions, folder
        assert set(versions) <= set(pinned), folder


@pytest.mark.parametrize("error", gold(), ids=lambda error: error["id"])
def test_a_gold_error_points_at_a_span_that_shows_it(error: dict[str, Any]) -> None:
    assert set(error) == {
        "id",
        "trace_id",
        "span_id",
        "category",
        "dimensions",
        "evidence",
        "description",
        "impact",
    }
    assert error["category"] in CATEGORIES
    assert error["dimensions"]
    assert set(error["dimensions"]) <= set(DIMENSIONS)
    assert error["impact"] in {"LOW", "MEDIUM", "HIGH"}
    keys = {"traceId": error["trace_id"], "spanId": error["span_id"]}
    at_span = [
        node
        for path in [*TRACES, *LOGS]
        for batch in lines(path)
        for node in objects(batch)
        if {key: node.get(key) for key in keys} == keys
    ]
    assert any(error["evidence"] in text for node in at_span for text in texts(node))


def test_the_readme_names_the_dimensions_of_the_planted_errors() -> None:
    scenes = {span["spanId"]: name(path) for path in TRACES for span in spans(path)}
    planted: dict[str, set[str]] = {}
    for error in gold():
        planted.setdefault(scenes[error["span_id"]], set()).update(error["dimensions"])
    rows = re.findall(r"^\| `([\w./-]+\.traces\.jsonl)` \|.*\|([A-Z ]*)\|$", README, re.MULTILINE)
    assert {file: set(cell.split()) for file, cell in rows if cell.split()} == planted
    assert len({error["id"] for error in gold()}) == len(gold())
