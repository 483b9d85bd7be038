"""The command line: what it prints where, and its exit codes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gpa.cli import COMMANDS, main

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
OTHER_TRACE = "0af7651916cd43dd8448eb211c80319c"
TOOLS = [
    {
        "type": "function",
        "name": "lookup",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    }
]


def text_message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def span(number: int, parent: int, name: str, **attributes: str) -> dict[str, Any]:
    return {
        "spanId": f"{number:016x}",
        "parentSpanId": f"{parent:016x}" if parent else "",
        "name": name,
        "startTimeUnixNano": str(1_700_000_000_000_000_000 + number * 1_000_000_000),
        "endTimeUnixNano": str(1_700_000_000_500_000_000 + number * 1_000_000_000),
        "attributes": [
            {"key": f"gen_ai.{key.replace('__', '.')}", "value": {"stringValue": value}}
            for key, value in attributes.items()
        ],
    }


def trace(trace_id: str = TRACE, *, arguments: str = '{"city":"Oslo"}', answer: str = "It rains in Oslo.") -> str:
    """A run in OTLP JSON: a model calls a tool, reads its result and answers."""
    asked = [text_message("user", "How is the weather in Oslo?")]
    part = {"type": "tool_call", "id": "c1", "name": "lookup", "arguments": json.loads(arguments)}
    called = [{"role": "assistant", "parts": [part]}]
    told = [{"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "rain"}]}]
    tools = json.dumps(TOOLS)
    chat = {"operation__name": "chat", "request__model": "m1", "tool__definitions": tools}
    first = {"input__messages": json.dumps(asked), "output__messages": json.dumps(called)}
    second = {
        "input__messages": json.dumps(asked + called + told),
        "output__messages": json.dumps([text_message("assistant", answer)]),
    }
    call = {"tool__name": "lookup", "tool__call__id": "c1", "tool__call__arguments": arguments}
    spans = [
        span(1, 0, "invoke_agent weather", operation__name="invoke_agent", agent__name="weather"),
        span(2, 1, "chat m1", **chat, **first),
        span(3, 1, "execute_tool lookup", operation__name="execute_tool", tool__call__result="rain", **call),
        span(4, 1, "chat m1", **chat, **second),
    ]
    for one in spans:
        one["traceId"] = trace_id
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"scope": {"name": "test"}, "spans": spans}]}]})


def run(*args: str | Path, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, [str(arg) for arg in args], input=stdin, catch_exceptions=False)


def start(*args: str | Path, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "gpa", *map(str, args)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.json"
    path.write_text(trace())
    return path


@pytest.fixture
def faulty(tmp_path: Path) -> Path:
    """A trace whose tool call breaks the tool's own schema."""
    path = tmp_path / "faulty.json"
    path.write_text(trace(OTHER_TRACE, arguments='{"city":7}'))
    return path


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    path = tmp_path / "broken.json"
    path.write_text("no trace at all")
    return path


# gpa


def test_help_lists_the_commands_without_importing_them() -> None:
    heavy = [module for module, _ in COMMANDS.values()] + ["msgspec", "orjson", "pydantic", "rich", "sqlalchemy"]
    code = (
        "import sys; from gpa.cli import main; main(['--help'], standalone_mode=False);"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert [name for name in COMMANDS if f"\n  {name} " in shown] == list(COMMANDS)
    assert shown.endswith("[]\n")


def test_version_is_printed() -> None:
    assert run("--version").output.startswith("gpa 0.")


def test_an_unknown_command_is_a_usage_error() -> None:
    result = run("judge")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "No such command 'judge'" in result.stderr


@pytest.mark.parametrize("name", ["transcript", "evaluate"])
def test_a_path_is_asked_for(name: str) -> None:
    result = run(name)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "PATH" in result.stderr


@pytest.mark.parametrize("name", ["transcript", "evaluate"])
def test_a_folder_without_traces_is_an_error(name: str, tmp_path: Path) -> None:
    result = run(name, tmp_path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("gpa: ")
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("text", ["0", "-1", "many", "1 PB"])
def test_a_limit_that_is_no_size_is_a_usage_error(text: str, good: Path) -> None:
    result = run("transcript", good, "--max-bytes", text)
    assert result.exit_code == 2
    assert f"{text!r} is not a size, for example 500MB or 2GiB" in result.stderr


# gpa formats


def test_formats_names_what_is_read() -> None:
    result = run("formats")
    assert result.exit_code == 0
    for name in ("OTLP", "Jaeger", "Zipkin", "OpenInference", "GenAI"):
        assert name.lower() in result.stdout.lower()


# gpa transcript


def test_a_transcript_shows_each_step_with_its_label(good: Path) -> None:
    result = run("transcript", good)
    assert result.exit_code == 0
    for text in (TRACE, "[s1]", "How is the weather in Oslo?", "lookup", "It rains in Oslo."):
        assert text in result.stdout
    assert result.stdout.count("How is the weather in Oslo?") <= 2  # as the goal and where it was asked, never again
    assert result.stderr == ""


def test_json_is_one_object_a_line_with_the_promised_keys(good: Path, faulty: Path) -> None:
    result = run("transcript", good, faulty, "--json")
    objects = [json.loads(line) for line in result.stdout.splitlines()]
    assert [one["trace_id"] for one in objects] == [TRACE, OTHER_TRACE]
    assert objects[0].keys() >= {"trace_id", "goal", "agents", "steps", "warnings"}
    assert objects[0]["agents"][0].keys() >= {"name", "instance", "parent", "system", "tools"}
    keys = "label span_id span_ids parent agent kind name messages output error status start_ns duration_ns usage"
    assert objects[0]["steps"][0].keys() >= set(keys.split())
    assert objects[0]["goal"] == "How is the weather in Oslo?"


def test_standard_input_is_read_for_a_dash(good: Path) -> None:
    assert run("transcript", "-", stdin=trace()).stdout == run("transcript", good).stdout


def test_one_trace_is_picked_by_the_beginning_of_its_id(good: Path, faulty: Path) -> None:
    result = run("transcript", good, faulty, "--trace", OTHER_TRACE[:6].upper(), "--json")
    assert [json.loads(line)["trace_id"] for line in result.stdout.splitlines()] == [OTHER_TRACE]


def test_a_trace_that_is_not_there_is_an_error(good: Path) -> None:
    result = run("transcript", good, "--trace", "ffff")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"gpa: --trace ffff: no such trace among the 1 in {good}\n"


def test_a_budget_and_json_contradict_each_other(good: Path) -> None:
    result = run("transcript", good, "--json", "--max-tokens", "100")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "gpa: --max-tokens shortens text, and --json is always whole: use one of them\n"


def test_a_budget_shortens_long_texts(tmp_path: Path) -> None:
    path = tmp_path / "long.json"
    path.write_text(trace(answer="It rains. " * 10_000))
    whole, short = run("transcript", path), run("transcript", path, "--max-tokens", "1000")
    assert len(short.stdout) < len(whole.stdout) / 5
    assert short.stdout.count("[s") == whole.stdout.count("[s")


def test_output_goes_to_a_file(good: Path, tmp_path: Path) -> None:
    result = run("transcript", good, "-o", tmp_path / "out.txt")
    assert (result.exit_code, result.stdout) == (0, "")
    assert (tmp_path / "out.txt").read_text() == run("transcript", good).stdout


def test_a_file_that_cannot_be_written_is_one_line(good: Path, tmp_path: Path) -> None:
    result = run("transcript", good, "-o", tmp_path / "no" / "out.txt")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"gpa: {tmp_path}/no/out.txt: cannot be written (No such file or directory)\n"


def test_the_other_files_are_shown_when_one_is_broken(good: Path, broken: Path) -> None:
    result = run("transcript", broken, good)
    assert result.exit_code == 2
    assert TRACE in result.stdout
    assert len(result.stderr.splitlines()) == 1
    assert str(broken) in result.stderr


# gpa evaluate


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_scores_stand_in_a_table_and_findings_name_their_spans(faulty: Path) -> None:
    result = run("evaluate", faulty)
    assert result.exit_code == 0
    assert "TC Tool Calling" in result.stdout
    assert f"trace {OTHER_TRACE}  span " in result.stdout
    assert "add --model anthropic/claude-sonnet-5-5" in result.stdout
    assert result.stderr == ""


def test_result_lines_alone_are_on_stdout_when_they_are_asked_for_there(faulty: Path) -> None:
    result = run("evaluate", faulty, "--jsonl", "-")
    found = lines(result.stdout)
    assert {line["trace_id"] for line in found} == {OTHER_TRACE}
    assert {line["type"] for line in found} <= {"verdict", "not_applicable", "failure"}
    assert all(list(line)[:2] == ["type", "schema"] for line in found)
    assert "TC Tool Calling" in result.stderr


def test_only_the_named_dimensions_are_judged(faulty: Path) -> None:
    result = run("evaluate", faulty, "--jsonl", "-", "--dimensions", "tc, EE")
    assert {line["judge"] for line in lines(result.stdout)} == {"TC", "EE"}


def test_an_unknown_dimension_is_a_usage_error(good: Path) -> None:
    result = run("evaluate", good, "--dimensions", "TC,XX")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "XX" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_mean_below_the_threshold_is_exit_1(good: Path, faulty: Path) -> None:
    assert run("evaluate", good, "--dimensions", "TC", "--fail-under", "3").exit_code == 0
    assert run("evaluate", faulty, "--dimensions", "TC", "--fail-under", "3").exit_code == 1


def test_a_mean_below_the_threshold_is_said_on_stderr(faulty: Path) -> None:
    result = run("evaluate", faulty, "--dimensions", "TC", "--fail-under", "3")
    assert re.fullmatch(r"gpa: TC Tool Calling: mean [012]\.00 is below 3\n", result.stderr)


@pytest.mark.parametrize("option", ["--fail-under", "--tolerance"])
def test_a_threshold_that_is_no_number_is_refused(option: str, faulty: Path) -> None:
    result = run("evaluate", faulty, option, "nan")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"gpa: {option}: expected a number from 0 to 3, found nan\n"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--dimensions", "PQ"), "in PQ"),
        (("--dimensions", "PQ,TC"), "in PQ"),
        (("--checks", "repeated-call", "--dimensions", "LC,GF"), "in LC GF"),
        ((), ""),
    ],
    ids=["one", "one of two", "none selected", "unnamed ones"],
)
def test_a_threshold_without_a_score_to_hold_it_against_is_said(
    options: tuple[str, ...], said: str, good: Path
) -> None:
    result = run("evaluate", good, "--fail-under", "1", *options)
    note = f"gpa: note: --fail-under 1: nothing to hold it against {said}: no trace has a score there\n"
    assert (result.exit_code, result.stderr) == (0, note if said else "")


OUTPUTS = ("--jsonl", "--junit", "--sarif", "--gitlab", "--summary")


@pytest.mark.parametrize("option", OUTPUTS)
@pytest.mark.parametrize(
    "path", ["traces/good.json", "traces", "traces/*.json", "link.json"], ids=["file", "folder", "pattern", "link"]
)
def test_an_output_that_is_an_input_is_refused(option: str, path: str, good: Path, tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    folder.mkdir()
    good = good.rename(folder / "good.json")
    (tmp_path / "link.json").symlink_to(good)
    before = good.read_bytes()
    result = run("evaluate", tmp_path / path, option, good)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"gpa: {option} {good}: is one of the inputs, which it would overwrite\n"
    assert good.read_bytes() == before


def test_requests_and_followed_files_are_not_written_over_the_input_either(good: Path) -> None:
    before = good.read_bytes()
    for options in (("--model", "openai/x", "--requests-to", good), ("--follow", "--jsonl", good)):
        result = run("evaluate", good, *options)
        assert (result.exit_code, "is one of the inputs" in result.stderr) == (2, True)
    assert good.read_bytes() == before


def test_reports_of_the_last_run_may_lie_beside_the_traces(good: Path, tmp_path: Path) -> None:
    options = [part for option in OUTPUTS for part in (option, tmp_path / f"of{option}")]
    assert [run("evaluate", tmp_path, *options).exit_code for _ in range(2)] == [0, 0]


def test_the_store_is_where_a_second_run_takes_results_from(good: Path, faulty: Path, tmp_path: Path) -> None:
    store = tmp_path / "gpa.db"
    first = run("evaluate", good, faulty, "--store", store, "--jsonl", tmp_path / "first.jsonl")
    second = run("evaluate", good, faulty, "--store", store, "--jsonl", tmp_path / "second.jsonl")
    assert "taken from the store" not in first.stdout
    results = (tmp_path / "first.jsonl").read_text()
    assert f"{len(results.splitlines())} results taken from the store" in second.stdout
    assert sorted((tmp_path / "second.jsonl").read_text().splitlines()) == sorted(results.splitlines())


def test_what_is_readable_is_judged_and_stored_when_a_file_is_broken(
    good: Path, broken: Path, faulty: Path, tmp_path: Path
) -> None:
    store = tmp_path / "gpa.db"
    result = run("evaluate", good, broken, faulty, "--jsonl", tmp_path / "r.jsonl", "--store", store)
    assert result.exit_code == 2
    assert {line["trace_id"] for line in lines((tmp_path / "r.jsonl").read_text())} == {TRACE, OTHER_TRACE}
    assert len(result.stderr.splitlines()) == 1
    assert str(broken) in result.stderr
    assert "taken from the store" in run("evaluate", good, faulty, "--store", store).stdout


def test_several_jobs_give_the_same_results_as_one(good: Path, faulty: Path) -> None:
    one, two = (run("evaluate", good, faulty, "--jsonl", "-", "--jobs", jobs) for jobs in ("1", "2"))
    assert sorted(one.stdout.splitlines()) == sorted(two.stdout.splitlines())


# Terminals


HOSTILE = "\x1b]0;owned\x07\x1b[2J [bold]x[/bold] \u202egpj.exe \x9b31m"


@pytest.mark.parametrize("mistake", [["--dimensions", "ZZ"], ["--checks", "no-such-check"]])
def test_a_mistake_in_the_options_leaves_the_lines_of_the_last_run(
    good: Path, tmp_path: Path, mistake: list[str]
) -> None:
    written = tmp_path / "results.jsonl"
    written.write_text("kept\n")
    assert run("evaluate", good, "--jsonl", written, *mistake).exit_code == 2
    assert written.read_text() == "kept\n"


@pytest.mark.parametrize("args", [["transcript"], ["transcript", "--json"], ["evaluate"], ["evaluate", "--jsonl", "-"]])
def test_text_of_a_trace_never_acts_on_the_terminal(args: list[str], tmp_path: Path) -> None:
    path = tmp_path / "hostile.json"
    path.write_text(trace(HOSTILE, arguments=json.dumps({HOSTILE: HOSTILE}), answer=HOSTILE).replace("lookup", "[red]"))
    result = run(*args, path)
    assert result.exit_code in {0, 2}
    assert result.stdout
    for character in "\x1b\x07\u202e\x9b":
        assert character not in result.stdout + result.stderr


def test_a_hostile_file_name_never_acts_on_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "\x1b[31mbad.json"
    path.write_text("nothing")
    result = run("evaluate", path)
    assert result.exit_code == 2
    assert "\x1b" not in result.stderr
    assert r"\x1b[31mbad.json" in result.stderr


def test_colours_obey_no_color(faulty: Path) -> None:
    coloured, _ = start("evaluate", faulty, FORCE_COLOR="1", NO_COLOR="").communicate()
    plain, _ = start("evaluate", faulty, FORCE_COLOR="1", NO_COLOR="1").communicate()
    colours = [f"[{style}3{colour}m" for style in ("", "1;") for colour in range(8)]
    assert any(colour in coloured for colour in colours)
    assert not any(colour in plain for colour in colours)


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "long.json"
    path.write_text(trace(answer="It rains. " * 100_000))
    process = start("transcript", path)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.wait() == 128 + signal.SIGPIPE
    assert process.stderr.read() == ""
    process.communicate()


def test_an_interrupt_says_what_was_done(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    path.write_text("\n".join(trace(f"{number:032x}") for number in range(1, 301)))
    # Nobody reads on after the first line, so the run is still writing into a full pipe when the interrupt comes.
    process = start("evaluate", path, "--store", tmp_path / "gpa.db", "--jsonl", "-")
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["type"]
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT
    match = re.fullmatch(
        r"gpa: interrupted after (\d+) traces?; their results are in (.*), and the same command goes on from there\n",
        said,
    )
    assert match, said
    assert 1 <= int(match[1]) < 300
    assert match[2] == f"{tmp_path}/gpa.db"


def test_an_interrupt_ends_a_read_that_waits(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    process = start("evaluate", fifo)
    with fifo.open("w"):  # opens when the run has opened the other end, and so is reading
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT
    assert said == "gpa: interrupted after 0 traces\n"
