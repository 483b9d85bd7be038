"""`gpa export`: stored results at a real OTLP endpoint, by both protocols, with the ids of their spans."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gpa.cli import main
from gpa.evaluation import Evaluation, evaluate
from gpa.judges.verdict import Verdict
from tests.servers.otlp import Backend, backend, free_port, values

FIXTURES = Path(__file__).parents[2] / "fixtures" / "traces" / "openinference-smolagents"


@pytest.fixture
def there() -> Iterator[Backend]:
    with backend() as service:
        yield service


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export")
    evaluate(FIXTURES, store=folder / "gpa.db").to_jsonl(folder / "results.jsonl")
    return folder


def export(*options: object) -> Result:
    return CliRunner().invoke(main, ["export", *map(str, options)])


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_a_store_is_sent_with_every_verdict_and_finding_on_its_span(
    protocol: str, folder: Path, there: Backend
) -> None:
    url = there.url if protocol != "grpc" else there.grpc
    done = export(folder / "gpa.db", "--otlp", url, "--protocol", protocol, "--headers", "api-key=k")
    assert done.exit_code == 0, done.output
    results = Evaluation.load(folder / "gpa.db").results
    found = {(one.trace_id, finding) for one in results if isinstance(one, Verdict) for finding in one.findings}
    records = there.records
    assert len(records) == len(results) + len(found)
    assert done.output.startswith(f"{len(records)} events of 4 traces sent to ")
    kinds = [(values(record)["gpa.evaluation.kind"], record) for record in records]
    assert all(record.span_id for kind, record in kinds)
    spans = {(record.trace_id.hex(), record.span_id.hex()) for kind, record in kinds if kind == "finding"}
    assert spans == {(trace_id, finding.span_ids[0]) for trace_id, finding in found}
    assert {headers["api-key"] for _, headers, _ in there.requests} == {"k"}


def test_result_lines_are_sent_on_their_traces(folder: Path, there: Backend) -> None:
    assert export(folder / "results.jsonl", "--otlp", there.url).exit_code == 0
    records = there.records
    verdicts = [record for record in records if values(record)["gpa.evaluation.kind"] == "verdict"]
    assert {record.span_id for record in verdicts} == {b""}  # lines do not say which span began the run
    assert len({record.trace_id for record in records}) == 4


def test_sent_twice_every_event_has_its_uid_again(folder: Path, there: Backend) -> None:
    for _ in range(2):
        export(folder / "gpa.db", "--otlp", there.url)
    uids = [values(record)["log.record.uid"] for record in there.records]
    assert len(uids) == 2 * len(set(uids))


@pytest.mark.parametrize(
    ("options", "events"),
    [(["--model", "checks"], None), (["--model", "other/model"], 0), (["--trace", "0" * 32], 0)],
    ids=["checks", "a model that judged nothing", "another trace"],
)
def test_a_part_can_be_chosen(options: list[str], events: int | None, folder: Path, there: Backend) -> None:
    done = export(folder / "gpa.db", "--otlp", there.url, *options)
    if events == 0:
        assert (done.exit_code, there.records) == (2, [])
        assert done.stderr == f"gpa: {folder / 'gpa.db'}: no results to send\n"
    else:
        assert done.exit_code == 0


def test_a_backend_that_is_away_is_one_line_after_a_while(folder: Path) -> None:
    done = export(folder / "gpa.db", "--otlp", f"http://127.0.0.1:{free_port()}", "--give-up", "0")
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert "not taken, after 0 events that were: " in done.stderr


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["none.db", "--otlp", "h:1"], "gpa: none.db: expected a store or a file of result lines, found none"),
        (["x", "--otlp", "ftp://h"], "gpa: --otlp: expected a URL such as http://localhost:4318, found 'ftp://h'"),
        (
            ["x", "--otlp", "h:1", "--headers", "secret"],
            "gpa: --headers: expected key=value,key2=value2, found a part without a key or =",
        ),
    ],
    ids=["no file", "no url", "no header"],
)
def test_wrong_arguments_are_one_line(arguments: list[str], line: str) -> None:
    done = export(*arguments)
    assert (done.exit_code, done.stderr) == (2, f"{line}\n")
