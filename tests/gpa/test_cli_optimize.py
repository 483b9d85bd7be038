"""`gpa optimize`: what it does to rubrics by wire and by file, what it prints, refuses, keeps and goes on from."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gpa.cli import main
from gpa.judges.rubrics import load_rubrics
from gpa.judging import Judging
from tests.gpa import simulation
from tests.gpa.simulation import KEYWORD, KINDS, write_runs
from tests.servers.messages import Answer, MessagesService, messages_service

ROOT = Path(__file__).parents[2]
TRAIL = ROOT.parent / "shared" / "data" / "trail" / "gaia"
JUDGE, COACH = "anthropic/claude-haiku-5-5", "anthropic/claude-opus-5-5"
START = load_rubrics()["TC"].text
SEEN = 5 / 24
"""Of the errors in the held-out traces, those that the judge sees from the start."""


@pytest.fixture(autouse=True)
def own_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[MessagesService]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    with messages_service(model=simulation.model) as serving:
        yield serving


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    write_runs(folder, 20)
    return folder


def gpa(*args: object) -> Result:
    return CliRunner().invoke(main, list(map(str, args)), catch_exceptions=False)


def command(runs: Path, out: Path, *args: str | Path) -> list[str | Path]:
    traces, gold = runs / "traces", runs / "gold.jsonl"
    models = ("--model", JUDGE, "--reflection-model", COACH)
    return ["optimize", traces, "--gold", gold, "--out", out, *models, *args]


def optimize(runs: Path, out: Path, *args: str | Path) -> Result:
    return gpa(*command(runs, out, *args))


def manifest(out: Path) -> Any:
    return json.loads((out / "manifest.json").read_text())


def held_out(out: Path) -> tuple[float, float]:
    (row,) = [row for row in manifest(out)["held_out"]["held_out_caught"]["rows"] if row["judge"] == "TC"]
    return row["start"]["value"], row["tuned"]["value"]


# by wire


def test_held_out_recall_rises_and_the_folder_serves_evaluate(
    service: MessagesService, runs: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    result = optimize(runs, out, "--base-url", service.url)
    assert result.exit_code == 0, result.output
    before, after = held_out(out)
    assert before < 0.5
    assert after > 0.9
    assert "TC: recall 0.208 before, 1.000 after; it helped." in result.output
    assert "better" in result.output
    (search,) = manifest(out)["searches"]
    assert search["calls"] <= 150

    # `gpa evaluate` asks the very same bytes: what was judged with the winner comes from the cache.
    paid = sum(service.paid.values())
    traces = [runs / "traces" / f"{trace_id}.json" for trace_id in manifest(out)["portions"]["held-out"]]
    common = ("--model", JUDGE, "--base-url", service.url, "--dimensions", "TC", "--rubrics", out)
    again = gpa("evaluate", *traces, *common, "--jsonl", tmp_path / "tuned.jsonl")
    assert again.exit_code == 0, again.output
    assert sum(service.paid.values()) == paid
    scored = gpa("score", tmp_path / "tuned.jsonl", "--gold", runs / "gold.jsonl")
    assert "1.000 24/24" in scored.output


def test_the_same_seed_gives_the_same_rubrics(service: MessagesService, runs: Path, tmp_path: Path) -> None:
    texts = set()
    for name in ("one", "two"):
        result = optimize(runs, tmp_path / name, "--base-url", service.url, "--no-cache", "--max-calls", "30")
        assert result.exit_code == 0, result.output
        texts.add((tmp_path / name / "TC.md").read_text())
    assert len(texts) == 1
    assert texts != {START}


def test_a_rubric_with_a_keyword_of_the_runs_is_refused_and_a_general_one_found(
    service: MessagesService, runs: Path, tmp_path: Path
) -> None:
    service.model = partial(simulation.model, coach=simulation.tempted)
    result = optimize(runs, tmp_path / "out", "--base-url", service.url)
    assert result.exit_code == 0, result.output
    refused = manifest(tmp_path / "out")["searches"][0]["refused"]
    assert refused
    assert all(f"`{KEYWORD.lower()}`" in one["reason"] for one in refused)
    tuned = (tmp_path / "out" / "TC.md").read_text()
    assert KEYWORD.lower() not in tuned.lower()
    assert all(kind.sign in tuned for kind in KINDS)
    assert held_out(tmp_path / "out") == (SEEN, 1.0)


def test_where_every_proposal_leaks_the_start_stays_and_that_is_said(
    service: MessagesService, runs: Path, tmp_path: Path
) -> None:
    def stubborn(question: str, _messages: list[dict[str, Any]]) -> str:
        return f"{simulation.rubric_in(question)}\n\nReport every step that mentions {KEYWORD}.\n"

    service.model = partial(simulation.model, coach=stubborn)
    result = optimize(runs, tmp_path / "out", "--base-url", service.url, "--max-calls", "40")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "out" / "TC.md").read_text() == START
    assert "TC: no candidate was better than the start on the dev traces; the rubric is unchanged." in result.output
    assert held_out(tmp_path / "out") == (SEEN, SEEN)


@pytest.mark.parametrize("cache", [(), ("--no-cache",)], ids=["cache", "no cache"])
def test_a_larger_budget_goes_on_and_pays_for_nothing_twice(
    cache: tuple[str, ...], service: MessagesService, runs: Path, tmp_path: Path
) -> None:
    out, whole = tmp_path / "out", tmp_path / "whole"
    first = optimize(runs, out, "--base-url", service.url, "--max-calls", "25", "--json", *cache)
    assert first.exit_code == 0, first.output
    tables = json.loads(first.stdout)["tables"]
    assert tables["held_out_caught"] == manifest(out)["held_out"]["held_out_caught"]
    assert {"held_out_precision", "search", "portions", "candidates_TC"} <= tables.keys()
    refused = optimize(runs, out, "--base-url", service.url)
    assert refused.exit_code == 2
    assert "--resume goes on with it" in refused.output
    assert optimize(runs, out, "--base-url", service.url, "--resume", *cache).exit_code == 0
    assert max(service.paid.values()) == 1
    assert optimize(runs, whole, "--base-url", service.url).exit_code == 0
    assert (whole / "TC.md").read_text() == (out / "TC.md").read_text()
    assert manifest(whole)["searches"][0]["candidates"] == manifest(out)["searches"][0]["candidates"]


def test_interrupted_it_keeps_the_best_and_goes_on(service: MessagesService, runs: Path, tmp_path: Path) -> None:
    out, numbers = tmp_path / "out", count()

    def interrupting(params: dict[str, Any]) -> Answer:
        if next(numbers) == 28:  # another candidate than the start is known
            os.kill(os.getpid(), signal.SIGINT)
        return simulation.model(params)

    service.model = interrupting
    first = optimize(runs, out, "--base-url", service.url, "--no-cache")
    assert first.exit_code == 130, first.output
    assert "interrupted; the best so far is in" in first.output
    stopped = manifest(out)
    assert stopped["searches"][0]["stopped"] == "interrupted"
    assert (out / "TC.md").read_text() != START
    assert "Held-out traces not judged" in " ".join(stopped["notes"])
    assert optimize(runs, out, "--base-url", service.url, "--no-cache", "--resume").exit_code == 0
    # Nobody waits for what is under way at that moment; all else is paid for once.
    assert sum(service.paid.values()) - len(service.paid) <= Judging().concurrency
    assert held_out(out) == (SEEN, 1.0)


def test_money_is_put_aside_for_the_proof_and_never_overspent(
    service: MessagesService, runs: Path, tmp_path: Path
) -> None:
    result = optimize(runs, tmp_path / "out", "--base-url", service.url, "--max-cost", "0.7", "--max-tokens", "1000")
    assert result.exit_code == 0, result.output
    assert manifest(tmp_path / "out")["searches"][0]["cost_usd"] <= 0.7
    assert manifest(tmp_path / "out")["held_out"] is not None
    little = optimize(runs, tmp_path / "other", "--base-url", service.url, "--max-cost", "0.001")
    assert little.exit_code == 2
    assert "--max-cost: expected more than the $" in little.output


def test_portions_come_from_files(service: MessagesService, runs: Path, tmp_path: Path) -> None:
    halves = (tmp_path / "dev.jsonl", tmp_path / "test.jsonl")
    gpa("split", runs / "gold.jsonl", "--dev", halves[0], "--test", halves[1])
    args = ("--held-out", halves[1], "--shares", "1,1,0", "--max-calls", "25", "--base-url", service.url)
    result = optimize(runs, tmp_path / "out", *args)
    assert result.exit_code == 0, result.output
    assert set(manifest(tmp_path / "out")["portions"]["held-out"]) == {
        json.loads(line)["trace_id"] for line in halves[1].read_text().splitlines()
    }
    overlap = optimize(runs, tmp_path / "other", "--dev", halves[1], "--held-out", halves[1])
    assert overlap.exit_code == 2
    assert "dev and held-out: expected different traces, found" in overlap.output


# by file


def answered(requests: Path, answers: Path, model: Callable[[dict[str, Any]], Any] = simulation.model) -> int:
    lines = [json.loads(line) for line in requests.read_text().splitlines()]
    with answers.open("a") as file:
        for line in lines:
            message = {
                "id": "m",
                "type": "message",
                "role": "assistant",
                "model": line["params"]["model"],
                "content": [{"type": "text", "text": model(line["params"]).text}],
                "stop_reason": "end_turn",
                "usage": {"input_tokens": 10, "output_tokens": 10},
            }
            result = {"type": "succeeded", "message": message}
            file.write(json.dumps({"custom_id": line["custom_id"], "result": result}) + "\n")
    return len(lines)


def test_a_run_can_be_driven_by_hand_step_by_step(tmp_path: Path) -> None:
    write_runs(tmp_path, 9)
    out, requests, answers = tmp_path / "out", tmp_path / "next.jsonl", tmp_path / "answers.jsonl"
    answers.touch()
    args = ("--resume", "--requests-to", requests, "--responses-from", answers, "--max-calls", "60")
    for _ in range(60):
        result = optimize(tmp_path, out, *args)
        assert result.exit_code == 0, result.output
        if not answered(requests, answers):
            break
        assert "requests of the next step are in" in result.output
        assert not (out / "TC.md").exists()
    before, after = held_out(out)
    assert before < after == 1.0
    ids = [json.loads(line)["custom_id"] for line in answers.read_text().splitlines()]
    assert len(ids) == len(set(ids))  # nothing was asked twice


@pytest.mark.skipif(not TRAIL.is_dir(), reason="needs the recordings of TRAIL")
def test_the_first_step_on_trail_is_written_down(tmp_path: Path) -> None:
    from gpa.judges.gold import load_gold

    gold = load_gold(TRAIL / "gold")
    some = [trace_id for trace_id in gold.trace_ids if (TRAIL / "traces" / f"{trace_id}.json").is_file()][:8]
    parts = {"--train": some[:3], "--dev": some[3:6], "--held-out": some[6:]}
    for name, ids in parts.items():
        (tmp_path / name).write_text("\n".join(ids))
    files = [argument for name in parts for argument in (name, str(tmp_path / name))]
    paths = [TRAIL / "traces" / f"{trace_id}.json" for trace_id in some]
    requests = tmp_path / "next.jsonl"
    models = ("--model", JUDGE, "--reflection-model", COACH)
    result = gpa(
        *("optimize", *paths, "--gold", TRAIL / "gold", "--out", tmp_path / "out", *models, *files),
        *("--dimensions", "LC", "--requests-to", requests),
    )
    assert result.exit_code == 0, result.output
    lines = [json.loads(line) for line in requests.read_text().splitlines()]
    assert len(lines) == 3
    assert all("Logical Consistency" in line["params"]["messages"][0]["content"][1]["text"] for line in lines)


# before anything is sent


def test_a_dry_run_needs_no_key_and_leaves_nothing(runs: Path, tmp_path: Path) -> None:
    result = optimize(runs, tmp_path / "out", "--dry-run")
    assert result.exit_code == 0, result.output
    assert "Would tune TC for anthropic/claude-haiku-5-5; nothing was sent." in result.output
    assert "held-out: start and tuned" in result.output
    assert "in all" in result.output
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "caches").exists()


def test_without_dspy_one_line_says_what_to_install(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "dspy", None)
    result = optimize(runs, tmp_path / "out")
    assert result.exit_code == 2
    assert result.output == "gpa: gpa optimize needs DSPy: pip install 'agent-gpa[optimize]'\n"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--dimensions", "XX"], "--dimensions: expected some of LC EE PQ PA TS TC GF, found 'XX'"),
        (["--dimensions", "LC"], "--dimensions: expected gold errors of LC in every portion, found none in train"),
        (["--shares", "1,x"], "--shares: expected three numbers (0.3,0.3,0.4), found '1,x'"),
        (["--shares", "1,1"], "--shares: expected three numbers for train, dev, held-out, found 1.0, 1.0"),
        (
            ["--objective", "consistency", "--samples", "1"],
            "--samples: expected at least 2 for --objective consistency",
        ),
        (["--meta-model", "a/b"], "--meta-model: belongs to --matcher meta"),
        (
            ["--max-cost", "1", "--requests-to", "x"],
            "--max-cost: contradicts --requests-to, with which nothing is sent",
        ),
        (["--cache", "x", "--no-cache"], "--no-cache: contradicts --cache"),
        (["--train", "nowhere.txt"], "nowhere.txt: expected a file of trace ids, found: No such file or directory"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_options_that_cannot_be_met_are_one_line(
    args: list[str], message: str, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    monkeypatch.chdir(tmp_path)
    result = optimize(runs, tmp_path / "out", *args)
    assert result.exit_code == 2
    assert result.output.startswith(f"gpa: {message}")
    assert result.output.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_traces_that_nobody_annotated_are_an_input_error(tmp_path: Path, runs: Path) -> None:
    (tmp_path / "gold.jsonl").write_text('{"type": "trace", "trace_id": "ff"}\n')
    result = gpa(
        "optimize", runs / "traces", "--gold", tmp_path / "gold.jsonl", "--out", tmp_path / "o", "--model", JUDGE
    )
    assert result.exit_code == 2
    assert "that --gold annotates" in result.output


def test_help_is_given_without_loading_dspy() -> None:
    code = (
        "import sys; from gpa.cli import main; main(['optimize', '--help'], standalone_mode=False);"
        " assert 'dspy' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "--reflection-model" in done.stdout
