"""`gpa evaluate --model`: what it prints where, by wire, by batch and by file, and how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gpa.cli import main
from gpa.judges.verdict import DIMENSIONS
from gpa.store import open_store
from tests.gpa.answers import passages, shown
from tests.judges.replies import finding, reply
from tests.servers.chat import chat_service
from tests.servers.messages import Answer, MessagesService, error, messages_service

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "fixtures" / "traces"
TRACES = FIXTURES / "openinference-smolagents"
SONNET = "anthropic/claude-sonnet-5-5"
GAIA = ROOT.parent / "shared" / "data" / "trail" / "gaia" / "traces"


@pytest.fixture(autouse=True)
def own_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[MessagesService]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    with messages_service(model=lambda _params: Answer(reply(score=3))) as serving:
        yield serving


def evaluate(*args: str | Path, traces: Path = TRACES, model: str = SONNET) -> Result:
    command = ["evaluate", str(traces), "--model", model, *map(str, args)]
    return CliRunner().invoke(main, command, catch_exceptions=False)


def read(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def with_one_long_step(folder: Path) -> Path:
    """A file of one trace with a step that exceeds small windows."""
    said = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "lorem ipsum " * 30_000}]}])
    attributes = {
        "gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.output.messages": said
    }  # fmt: skip
    span = {
        "traceId": "ab" * 16, "spanId": "cd" * 8, "name": "chat m",
        "startTimeUnixNano": "1", "endTimeUnixNano": "2",
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
    }  # fmt: skip
    path = folder / "long.json"
    path.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}))
    return path


# by wire


def test_a_live_run_prints_scores_findings_and_what_it_took(service: MessagesService, tmp_path: Path) -> None:
    def model(params: dict[str, Any]) -> Answer:
        label, line = passages(params)[0]
        return Answer(reply(finding(steps=[label], quote=line, problem="It guessed."), score=1))

    service.model = model
    service.faults.append(error(529, "overloaded_error", "Overloaded"))
    done = evaluate("--base-url", service.url, "--store", tmp_path / "gpa.db", "--jsonl", tmp_path / "r.jsonl")
    assert done.exit_code == 0
    assert done.stdout.startswith(f"4 traces judged by {SONNET}\n")
    assert "LC Logical Consistency   1.00" in done.stdout
    assert "It guessed." in done.stdout
    assert re.search(r"\n28 answers paid for: \$\d\.\d+\n  [\d,]+ tokens of input \([\d,]+ read from", done.stdout)
    assert len(read(tmp_path / "r.jsonl")) == 28
    assert sum(line["cost_usd"] for line in read(tmp_path / "r.jsonl")) > 0
    again = evaluate("--base-url", service.url, "--store", tmp_path / "gpa.db")
    assert f"4 traces judged by {SONNET}, 28 results taken from the store" in again.stdout
    assert "0 answers paid for: $0.00" in again.stdout
    assert service.paid.total() == 28


def test_a_run_that_was_stopped_goes_on_and_pays_only_the_rest(service: MessagesService, tmp_path: Path) -> None:
    service.delay_s = 0.1
    command = ["evaluate", str(TRACES), "--model", SONNET, "--base-url", service.url, "--concurrency", "2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "gpa", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    )
    while service.paid.total() < 8 and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert re.search(r"gpa: interrupted after \d traces?; the answers paid for are kept, and the same command", told)
    service.delay_s = 0.0
    assert evaluate("--base-url", service.url).exit_code == 0
    assert len(service.paid) == 28
    assert service.paid.total() <= 28 + 2


def test_a_batch_is_named_stopped_and_picked_up(service: MessagesService) -> None:
    service.polls_until_ended = 1_000_000
    command = ["evaluate", str(TRACES), "--model", SONNET, "--base-url", service.url, "--batch"]
    process = subprocess.Popen(
        [sys.executable, "-m", "gpa", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert process.stderr is not None
    assert process.stderr.readline() == (
        "gpa: batch msgbatch_0000: in_progress, 0 of 28 requests done"
        " (it may be stopped; the same command picks it up)\n"
    )
    process.kill()
    process.communicate(timeout=60)
    service.batches["msgbatch_0000"].polls_left = 1
    done = evaluate("--base-url", service.url, "--batch")
    assert done.exit_code == 0
    assert "gpa: batch msgbatch_0000: ended, 28 of 28 requests done\n" in done.stderr
    assert list(service.batches) == ["msgbatch_0000"]
    assert service.paid.total() == 28
    assert "28 answers paid for: $" in done.stdout


def test_a_wrong_key_is_a_failure_of_every_judgement(service: MessagesService, monkeypatch: Any) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "invalid")
    done = evaluate("--base-url", service.url)
    assert done.exit_code == 3
    assert "Could not be judged: 28 (28 authentication); the next run tries again" in done.stdout


# nothing is sent


def test_a_dry_run_needs_no_key_and_prints_the_cost_of_each_way() -> None:
    done = evaluate("--dry-run")
    assert done.exit_code == 0
    assert done.stdout.startswith(f"Would ask {SONNET} about 4 traces; nothing was sent.\n")
    rows = {line.split()[0]: line.split() for line in done.stdout.splitlines()[2:11]}
    assert list(rows) == ["judge", *DIMENSIONS, "in"]
    assert rows["judge"][1:] == ["requests", "input", "shared", "output", "plain", "cached", "batch", "both"]
    plain, cached, batch, both = (float(cell.removeprefix("$")) for cell in rows["LC"][5:])
    assert plain > cached > both
    assert batch == pytest.approx(plain / 2, rel=0.01)
    assert "prices of 2026-" in done.stdout
    assert not list(Path(os.environ["XDG_CACHE_HOME"]).parent.iterdir())


def test_a_dry_run_names_a_model_without_a_price() -> None:
    done = evaluate("--dry-run", "--mode", "single", model="ollama/small")
    assert done.exit_code == 0
    assert re.search(r"No price is known for ollama/small in the table of 2026-\d\d-\d\d: give one", done.stdout)


def test_what_no_judge_is_shown_is_said_before_and_after(tmp_path: Path) -> None:
    long = with_one_long_step(tmp_path)
    options = ("--dimensions", "LC", "--context-window", "30000")
    rehearsed = evaluate("--dry-run", *options, traces=long)
    written = evaluate("--requests-to", tmp_path / "r.jsonl", *options, traces=long)
    (tmp_path / "none.jsonl").write_text("")
    done = evaluate("--responses-from", tmp_path / "none.jsonl", *options, traces=long)
    for result in (rehearsed, written, done):
        assert re.search(r"\d{3},\d{3} characters of steps beyond the model's window left out", result.stdout)
    small = ("--dimensions", "LC", "--context-window", "3000")
    assert (
        "1 judgement would fail: the question exceeds the model's window."
        in evaluate("--dry-run", *small, traces=long).stdout
    )
    failed = evaluate("--responses-from", tmp_path / "none.jsonl", *small, traces=long)
    assert failed.exit_code == 3
    assert "1 context_window_exceeded" in failed.stdout


def test_requests_are_written_without_a_key_for_every_recording(tmp_path: Path) -> None:
    done = evaluate("--requests-to", tmp_path / "r.jsonl", traces=FIXTURES)
    assert done.exit_code == 0
    requests = read(tmp_path / "r.jsonl")
    traces = len(requests) // 7
    said = f"{len(requests)} requests about {traces} traces in {tmp_path / 'r.jsonl'}; nothing was sent\n"
    assert done.stdout == said
    check(requests, traces)


def check(requests: list[dict[str, Any]], traces: int) -> None:
    """Valid request lines, seven a trace, that share what the prompt cache holds: system text, transcript, form."""
    assert len({request["custom_id"] for request in requests}) == len(requests) == 7 * traces
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", request["custom_id"]) for request in requests)
    shared: dict[str, list[dict[str, Any]]] = {}
    for request in requests:
        params = request["params"]
        assert params.keys() == {"model", "max_tokens", "system", "messages", "output_config"}
        [message] = params["messages"]
        transcript, rubric = message["content"]
        assert transcript["cache_control"] == {"type": "ephemeral"}
        assert "cache_control" not in rubric
        prefix = json.dumps([params["model"], params["system"], transcript, params["output_config"]])
        shared.setdefault(prefix, []).append(rubric)
    assert len(shared) == traces
    assert {len(rubrics) for rubrics in shared.values()} == {7}


@pytest.mark.skipif(not GAIA.exists(), reason="the TRAIL recordings are not here")
def test_the_seven_requests_of_a_long_trace_share_nine_tenths_of_their_input(tmp_path: Path) -> None:
    done = evaluate("--requests-to", tmp_path / "r.jsonl", traces=GAIA)
    assert done.stdout.startswith("434 requests about 62 traces in ")
    requests = read(tmp_path / "r.jsonl")
    check(requests, 62)
    for request in requests:
        params = request["params"]
        held = len(json.dumps([params["system"], params["output_config"]])) + len(shown(params))
        assert held >= 0.9 * (held + len(params["messages"][0]["content"][1]["text"]))


# by file


def succeeded(text: str, stop_reason: str = "end_turn") -> dict[str, Any]:
    content = [{"type": "text", "text": text}] if text else []
    usage = {"input_tokens": 1_000, "output_tokens": 100, "service_tier": "batch"}
    message = {"type": "message", "content": content, "stop_reason": stop_reason, "usage": usage}
    return {"type": "succeeded", "message": message}


def good(params: dict[str, Any]) -> dict[str, Any]:
    label, line = passages(params)[0]
    return succeeded(reply(finding(steps=[label], quote=line), score=2))


def invented(params: dict[str, Any]) -> dict[str, Any]:
    """One label that is mended by its quote, one that cannot be, with a quote that stands nowhere."""
    _, line = passages(params)[-1]
    made_up = "a sentence that nobody ever said in any of these recordings"
    return succeeded(
        reply(finding(steps=["s999"], quote=line), finding(steps=["s777", "s778"], quote=made_up), score=1)
    )


def inapplicable(_params: dict[str, Any]) -> dict[str, Any]:
    return succeeded(reply(score=None, not_applicable="there is no plan"))


KINDS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "LC": good,
    "EE": invented,
    "PQ": inapplicable,
    "PA": lambda _params: succeeded("", "refusal"),
    "TS": lambda _params: succeeded('{"findings": [{"quote": "and th', "max_tokens"),
    "TC": lambda _params: succeeded("I would give it a two."),
    "GF": lambda _params: {"type": "expired"},
}


def test_a_file_of_responses_gives_exactly_the_results_it_should(tmp_path: Path) -> None:
    requests, responses, results = (tmp_path / name for name in ("q.jsonl", "a.jsonl", "r.jsonl"))
    evaluate("--requests-to", requests)
    lines = [
        json.dumps({"custom_id": one["custom_id"], "result": KINDS[one["custom_id"].split("-")[1]](one["params"])})
        for one in read(requests)
    ]
    stranger = json.dumps({"custom_id": "somebody-else", "result": {"type": "canceled"}})
    responses.write_text("\n".join([*reversed(lines), lines[0], stranger, "no line at all"]) + "\n")
    done = evaluate("--responses-from", responses, "--jsonl", results, "--store", tmp_path / "gpa.db")
    assert done.exit_code == 3
    found = {(line["trace_id"], line["judge"]): line for line in read(results)}
    assert len(found) == 28
    for (trace_id, judge), line in found.items():
        if judge == "LC":
            assert (line["score"], len(line["findings"]), line["unresolved"], "repaired" in line) == (2, 1, 0, False)
            assert line["findings"][0]["grounded"]
        elif judge == "EE":
            assert (line["score"], line["repaired"], line["unresolved"]) == (1, 1, 2)
            assert [(len(one["span_ids"]), one["grounded"]) for one in line["findings"]] == [(1, True), (0, False)]
        elif judge == "PQ":
            assert (line["type"], line["reason"]) == ("not_applicable", "there is no plan")
        else:
            expected = {"PA": "refusal", "TS": "max_tokens", "TC": "bad_response", "GF": "expired"}[judge]
            assert (line["type"], line["error_type"], trace_id in line["message"]) == ("failure", expected, False)
    assert "Could not be judged: 16 (4 refusal, 4 max_tokens, 4 bad_response, 4 expired)" in done.stdout
    assert (
        "Findings: 4 placed by the quote instead of the label; 4 with a quote that is not in the trace;" in done.stdout
    )
    assert "8 cited labels dropped, of no step in the trace" in done.stdout
    assert "1 response line belongs to no request of this run\n" in done.stdout
    assert "1 response line repeats an earlier one\n" in done.stdout
    assert "1 response line cannot be read\n" in done.stdout
    assert f"{responses}:31: expected a JSON object" in done.stdout
    # 24 answers of 1,000 tokens in, 100 out, at half the price of a batch
    assert "24 answers paid for: $0.0360" in done.stdout
    with open_store(tmp_path / "gpa.db") as store:
        assert len(list(store.results())) == 28


def test_a_second_round_asks_for_what_the_first_lacks(tmp_path: Path) -> None:
    first, second, answers, more = (tmp_path / f"{name}.jsonl" for name in "abcd")
    evaluate("--requests-to", first, "--dimensions", "LC,GF")
    lines = [
        {"custom_id": one["custom_id"], "result": KINDS[one["custom_id"].split("-")[1]](one["params"])}
        for one in read(first)
    ]
    answers.write_text("".join(json.dumps(line) + "\n" for line in lines))
    both = ("--responses-from", answers, "--requests-to", second, "--dimensions", "LC,GF")
    done = evaluate(*both)
    assert done.exit_code == 3
    assert done.stdout.endswith(f"4 requests without an answer are in {second}\n")
    assert {one["custom_id"].split("-")[1] for one in read(second)} == {"GF"}
    lines = [{"custom_id": one["custom_id"], "result": good(one["params"])} for one in read(second)]
    more.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = evaluate("--responses-from", answers, "--responses-from", more, "--dimensions", "LC,GF")
    assert done.exit_code == 0


# options


def test_help_groups_the_options_and_lists_each_once() -> None:
    shown_help = CliRunner().invoke(main, ["evaluate", "--help"]).stdout
    headings = re.findall(r"^(\S.*):$", shown_help, re.MULTILINE)
    assert headings == [
        "Options",
        "In CI",
        "A file that is still written",
        "Checks (where no model judges)",
        "LLM judges",
        "Cost and speed of LLM judges",
        "Batches and files in place of live requests",
    ]
    named = re.findall(r"^  (--[a-z-]+)", shown_help, re.MULTILINE)
    assert len(named) == len(set(named))
    assert {"--model", "--dry-run", "--max-cost", "--requests-to", "--responses-from", "--batch"} <= set(named)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--model", SONNET], f"{SONNET}: expected an API key in ANTHROPIC_API_KEY, found none"),
        (
            ["--model", "claude-sonnet-5-5"],
            f"--model: expected provider/name, such as {SONNET}, found 'claude-sonnet-5-5' (did you mean {SONNET}?)",
        ),
        (["--mode", "single"], "--mode: is about LLM judges; add --model (anthropic/claude-sonnet-5-5)"),
        (["--no-redact"], "--no-redact: is about LLM judges; add --model (anthropic/claude-sonnet-5-5)"),
        (["--max-cost", "0"], "--max-cost: is about LLM judges; add --model (anthropic/claude-sonnet-5-5)"),
        (["--dry-run"], "--dry-run: is about LLM judges; add --model (anthropic/claude-sonnet-5-5)"),
        (
            ["--model", SONNET, "--skip-checks", "from-memory"],
            "--skip-checks: is about the checks, which --model replaces",
        ),
        (
            ["--model", SONNET, "--batch", "--requests-to", "r.jsonl"],
            "--batch: contradicts --requests-to, with which nothing is sent",
        ),
        (["--model", SONNET, "--cache", "c.db", "--no-cache"], "--no-cache: contradicts --cache"),
        (["--model", SONNET, "--dry-run", "--requests-to", "r.jsonl"], "--dry-run: contradicts --requests-to"),
        (
            ["--model", SONNET, "--requests-to", "r.jsonl", "--jsonl", "-"],
            "--jsonl: contradicts --requests-to without --responses-from, which has no results",
        ),
        (
            ["--model", SONNET, "--dry-run", "--fail-under", "2"],
            "--fail-under: contradicts --dry-run, which has no results",
        ),
        (
            ["--model", SONNET, "--responses-from", "none.jsonl"],
            "none.jsonl: expected a file of response lines, found: No such file or directory",
        ),
        (["--model", SONNET, "--rubrics", "none"], "none: expected a folder with rubrics (TC.md, ...), found none"),
    ],
    ids=lambda value: " ".join(value[-3:]) if isinstance(value, list) else "",
)
def test_what_cannot_be_done_is_one_line_and_exit_2(
    options: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["evaluate", str(TRACES), *options], catch_exceptions=False)
    assert done.exit_code == 2
    assert done.stderr == f"gpa: {message}\n"
    assert not done.stdout


def test_no_trace_is_an_input_error_here_too(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = evaluate("--requests-to", tmp_path / "r.jsonl", traces=tmp_path / "empty")
    assert done.exit_code == 2
    assert done.stderr.startswith("gpa: ")


# other providers


def test_an_openai_compatible_server_judges_through_litellm(tmp_path: Path) -> None:
    pytest.importorskip("litellm", reason="needs the extra litellm")
    with chat_service(text=reply(score=2)) as service:
        environment = {**os.environ, "OPENAI_API_KEY": "key"}
        command = ["evaluate", str(TRACES), "--model", "openai/small-judge", "--base-url", f"{service.url}/v1"]
        done = subprocess.run(
            [sys.executable, "-m", "gpa", *command, "--jsonl", str(tmp_path / "r.jsonl")],
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert {(line["model"], line["score"]) for line in read(tmp_path / "r.jsonl")} == {("openai/small-judge", 2)}
    assert "28 answers paid for: cost unknown" in done.stdout


def test_a_provider_that_nobody_knows_is_one_line() -> None:
    pytest.importorskip("litellm", reason="needs the extra litellm")
    done = evaluate(model="anthropik/claude-sonnet-5-5")
    assert done.exit_code == 2
    assert done.stderr.startswith("gpa: --model: expected a provider that LiteLLM knows, found 'anthropik' in")
    assert done.stderr.count("\n") == 1


def test_a_provider_that_needs_litellm_says_how_to_get_it() -> None:
    if find_spec("litellm") is not None:
        pytest.skip("litellm is there")
    done = evaluate(model="openai/gpt-x")
    assert done.exit_code == 2
    assert done.stderr == (
        "gpa: openai/gpt-x: expected the package litellm, found none (pip install 'agent-gpa[litellm]')\n"
    )
