"""`gpa serve` as a process: a real SDK sends, verdicts arrive at a second real endpoint, signals end it well."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gpa.evaluation import Evaluation, evaluate
from gpa.judges.verdict import Verdict
from tests.gpa.killed_serving import measure
from tests.servers.otlp import Backend, backend, free_port, values

FIXTURES = Path(__file__).parents[2] / "fixtures" / "traces" / "openinference-smolagents"
COMMAND = [sys.executable, "-m", "gpa", "serve", "--quiet", "0.2", "--jobs", "0"]
_WAIT_S = 30.0


class Serving:
    """A running `gpa serve`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.http = self.grpc = ""

    def get(self, path: str) -> str:
        with urllib.request.urlopen(f"{self.http}{path}", timeout=10) as answer:
            text: str = answer.read().decode()
            return text

    def post(self, path: Path) -> None:
        """Send a recording, line by line."""
        for line in path.read_bytes().splitlines():
            request = urllib.request.Request(f"{self.http}/v1/traces", line, {"content-type": "application/json"})
            with urllib.request.urlopen(request, timeout=10) as answer:
                assert answer.status == 200

    def evaluated(self, traces: int) -> None:
        """Wait until so many traces have been evaluated."""
        wait_for(lambda: f"gpa_evaluation_traces_total {float(traces)}" in self.get("/metrics"))

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Exit code, and what it said at the end."""
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=_WAIT_S)
        return self.process.returncode, said


def wait_for(so: Callable[[], bool]) -> None:
    until = time.monotonic() + _WAIT_S
    while not so():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.05)


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[Serving]:
    """`gpa serve` on free ports, its files in a folder."""
    ports = ["--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--store", str(folder / "gpa.db")]
    process = subprocess.Popen(
        [*COMMAND, *ports, *options], stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONWARNINGS": "error"}
    )
    running = Serving(process)
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if found := re.search(r"OTLP/HTTP on (\S+),", line):
                running.http = found[1]
            if found := re.search(r"OTLP/gRPC on (\S+)", line):
                running.grpc = found[1]
            if "judged by" in line:
                break
        assert running.http
        assert running.grpc
        yield running
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


@pytest.fixture
def there() -> Iterator[Backend]:
    with backend() as service:
        yield service


def test_a_trace_of_the_real_sdk_is_evaluated_and_its_verdicts_arrive_on_its_spans(
    tmp_path: Path, there: Backend
) -> None:
    from opentelemetry import trace as api
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    with serving(tmp_path, "--otlp", there.grpc, "--protocol", "grpc") as gpa:
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"http://{gpa.grpc}")))
        tracer = provider.get_tracer("agent")
        given = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "clerk"}
        failed: list[str] = []
        with tracer.start_as_current_span("invoke_agent clerk", attributes=given) as root:
            for _ in range(2):
                call = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "pay", "error.type": "Refused"}
                arguments = {"gen_ai.tool.call.arguments": '{"number": 7}', "gen_ai.conversation.id": "desk-1"}
                with tracer.start_as_current_span("execute_tool pay", attributes=call | arguments) as span:
                    span.set_status(api.StatusCode.ERROR, "account closed")
                    failed.append(f"{span.get_span_context().span_id:016x}")
        provider.shutdown()
        context = root.get_span_context()
        trace_id, root_id = f"{context.trace_id:032x}", f"{context.span_id:016x}"
        wait_for(lambda: len(there.records) >= 7)
        code, said = gpa.stop()
        assert (code, "1 trace evaluated" in said) == (0, True), said
    results = Evaluation.load(tmp_path / "gpa.db").results
    found = {finding for result in results if isinstance(result, Verdict) for finding in result.findings}
    assert found
    assert {finding.span_ids[0] for finding in found} <= set(failed)
    records = there.records
    assert len(records) == len(results) + len(found)
    assert {record.trace_id.hex() for record in records} == {trace_id}
    for record in records:
        said_of = values(record)
        if said_of["gpa.evaluation.kind"] == "verdict":
            assert record.span_id.hex() == root_id
        else:
            assert record.span_id.hex() == said_of["gpa.finding.span_ids"][0]
        assert said_of["gen_ai.conversation.id"] == "desk-1"


def test_the_results_are_those_of_the_file(tmp_path: Path) -> None:
    with serving(tmp_path) as gpa:
        for path in sorted(FIXTURES.iterdir()):
            gpa.post(path)
        gpa.evaluated(4)
        assert gpa.stop(signal.SIGINT)[0] == 0
    live = Evaluation.load(tmp_path / "gpa.db").results
    assert sorted(map(repr, live)) == sorted(map(repr, evaluate(FIXTURES).results))


def test_killed_it_goes_on_where_it_was(tmp_path: Path) -> None:
    paths = sorted(FIXTURES.iterdir())
    with serving(tmp_path, "--quiet", "60") as gpa:
        for path in paths:
            gpa.post(path)
        gpa.process.kill()
    with serving(tmp_path) as gpa:
        gpa.evaluated(4)
        gpa.process.kill()
    with serving(tmp_path) as gpa:
        assert "gpa_evaluation_traces_total 0.0" in gpa.get("/metrics")
        assert "last 4 traces" in gpa.get("/now")
    live = Evaluation.load(tmp_path / "gpa.db").results
    assert sorted(map(repr, live)) == sorted(map(repr, evaluate(FIXTURES).results))


def test_a_receiver_that_is_its_own_backend_does_not_evaluate_its_verdicts(tmp_path: Path) -> None:
    port = free_port()
    own = ["--http", f"127.0.0.1:{port}", "--otlp", f"http://127.0.0.1:{port}", "--self-telemetry"]
    with serving(tmp_path, *own) as gpa:
        gpa.post(FIXTURES / "travel_desk.traces.jsonl")
        gpa.evaluated(1)
        wait_for(lambda: "gpa_export_events_total 0.0" not in gpa.get("/metrics"))
        time.sleep(1.5)  # five times --quiet: long enough for a loop to show
        metrics = gpa.get("/metrics")
        assert gpa.stop()[0] == 0
    assert "gpa_evaluation_traces_total 1.0" in metrics
    assert "gpa_spool_open_traces 0.0" in metrics


def test_a_port_in_use_is_one_clear_line(tmp_path: Path) -> None:
    with serving(tmp_path) as gpa:
        taken = gpa.http.removeprefix("http://")
        done = subprocess.run(
            [*COMMAND, "--http", taken, "--grpc", "off", "--store", str(tmp_path / "other.db")],
            capture_output=True,
            text=True,
            check=False,
            timeout=_WAIT_S,
        )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"gpa: {taken}: ")
    assert "in use" in line


def test_without_its_token_nobody_sees_the_page(tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text("# ours\ns3cret\n")
    with serving(tmp_path, "--token-file", str(tmp_path / "tokens")) as gpa:
        with pytest.raises(urllib.error.HTTPError, match="401"):
            gpa.get("/")
        request = urllib.request.Request(f"{gpa.http}/", headers={"authorization": "Bearer s3cret"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            assert b"Waiting for spans" in answer.read()


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            ["--http", "off", "--grpc", "off"],
            "gpa: --http off: contradicts --grpc off: there is nothing to receive with",
        ),
        (
            ["--sample-rate", "0.5"],
            "gpa: --sample-rate: is about LLM judges; add --model (anthropic/claude-sonnet-5-5)",
        ),
        (["--protocol", "grpc"], "gpa: --protocol: is about --otlp URL, which is not given"),
        (["--tls-cert", "c.pem"], "gpa: --tls-cert and --tls-key: expected both or none, found one"),
        (["--token-file", "none"], "gpa: none: expected tokens, one a line, found: No such file or directory"),
        (["--dimensions", "XX"], "gpa: dimensions: expected some of LC EE PQ PA TS TC GF, found 'XX'"),
        (["--otlp", "ftp://x"], "gpa: --otlp: expected a URL such as http://localhost:4318, found 'ftp://x'"),
    ],
    ids=["no port", "sampling", "protocol", "half tls", "no tokens", "dimension", "url"],
)
def test_options_that_make_no_sense_are_one_line(options: list[str], line: str, tmp_path: Path) -> None:
    from click.testing import CliRunner

    from gpa.cli import main

    done = CliRunner().invoke(main, ["serve", "--store", str(tmp_path / "gpa.db"), *options])
    assert (done.exit_code, done.stderr) == (2, f"{line}\n")


def test_killed_under_load_it_evaluates_every_trace_once_and_announces_it(tmp_path: Path) -> None:
    found = measure(tmp_path, kills=1, senders=2, seed=3)
    assert found.acknowledged > 100
    assert found.lost_spans == found.unevaluated == found.twice == found.gaps == found.events_missing == 0
