"""`gpa compare`, and the options of `gpa evaluate` for CI: files, the gate, exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from gpa.cli import main

FIXTURES = Path(__file__).parents[2] / "fixtures" / "traces"
SMOLAGENTS = FIXTURES / "openinference-smolagents"
GOOD = SMOLAGENTS / "travel_desk.traces.jsonl"
BAD = SMOLAGENTS / "invoice_payment.traces.jsonl"
FULL = Path("/dev/full")


def run(*args: object, **environment: str | None) -> Result:
    env = {"GITHUB_STEP_SUMMARY": None, **environment}
    return CliRunner().invoke(main, [str(arg) for arg in args], catch_exceptions=False, env=env)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Results of one good trace, and of that one and a bad one."""
    folder = tmp_path_factory.mktemp("stores")
    paths = {"good": folder / "good.db", "both": folder / "both.db"}
    assert run("evaluate", GOOD, "--store", paths["good"]).exit_code == 0
    assert run("evaluate", GOOD, BAD, "--store", paths["both"]).exit_code == 0
    return paths


def test_compare_says_what_moved_and_what_is_new(stores: dict[str, Path]) -> None:
    done = run("compare", stores["good"], stores["both"])
    assert done.exit_code == 0
    assert done.output.startswith("1 traces paired by id, 0 by goal; 0 only in the first run, 1 only in the second.\n")
    assert re.search(r"^TC Tool Calling +[\d.]+ +[\d.]+ +0.00 +- +same +1$", done.output, re.MULTILINE)
    assert re.search(r"^new +2 +\d +0$", done.output, re.MULTILINE)
    assert "HIGH    LC TC GF  Tool-related  (claimed-success)" in done.output


def test_compare_as_json_holds_everything(stores: dict[str, Path]) -> None:
    done = run("compare", stores["good"], stores["both"], "--json")
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert found["pairing"] == {"by_id": 1, "by_goal": 0, "only_before": 0, "only_after": 1}
    assert {change["verdict"] for change in found["changes"] if change["cases"]} == {"same"}
    assert {one["severity"] for one in found["new"]} == {"HIGH", "MEDIUM"}


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ((), 0, ""),
        (("--fail-on", "regression"), 0, ""),
        (("--fail-on", "new-high"), 1, "gpa: 2 new findings of severity HIGH\n"),
        (("--fail-on", "regression,new"), 1, "new findings\n"),
        (("--fail-under", "0.5"), 0, ""),
        (("--fail-under", "2.9"), 1, "is below 2.9\n"),
        (("--fail-on", "worse"), 2, "gpa: --fail-on: expected some of regression, new, new-medium, new-high, any,"),
    ],
    ids=["no gate", "regression", "new-high", "new", "above", "below", "unknown"],
)
def test_the_gate_of_compare(stores: dict[str, Path], options: tuple[str, ...], code: int, said: str) -> None:
    done = run("compare", stores["good"], stores["both"], *options)
    assert (done.exit_code, said in done.stderr) == (code, True)


def test_what_is_no_run_is_an_input_error(stores: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "no.jsonl").write_text("{}\n")
    for wrong in (tmp_path / "missing.db", tmp_path / "no.jsonl"):
        done = run("compare", stores["good"], wrong)
        assert done.exit_code == 2
        assert done.stderr.startswith(f"gpa: {wrong}")


def test_what_could_not_be_judged_is_exit_code_3(stores: dict[str, Path], tmp_path: Path) -> None:
    line = {"type": "failure", "schema": 1, "trace_id": "t", "judge": "TC", "model": "checks"}
    failed = tmp_path / "failed.jsonl"
    failed.write_text(json.dumps({**line, "error_type": "E", "message": "m"}) + "\n")
    assert run("compare", stores["good"], failed).exit_code == 3


EVALUATE = {
    "passes": ((GOOD,), ("--baseline", "both", "--fail-on", "regression,new"), 0),
    "a new finding": ((GOOD, BAD), ("--baseline", "good", "--fail-on", "new-high"), 1),
    "known ones alone": ((GOOD, BAD), ("--baseline", "both", "--fail-on", "new"), 0),
    "any grave one, without a baseline": ((BAD,), ("--fail-on", "high"), 1),
    "a grave one that is not there": ((GOOD,), ("--fail-on", "high"), 0),
    "a mean": ((BAD,), ("--fail-under", "2"), 1),
    "an input is lost and a finding new": ((BAD, "missing.json"), ("--baseline", "good", "--fail-on", "new"), 2),
}


@pytest.mark.parametrize(("paths", "options", "code"), EVALUATE.values(), ids=EVALUATE.keys())
def test_exit_codes_of_evaluate(
    stores: dict[str, Path], paths: tuple[object, ...], options: tuple[str, ...], code: int
) -> None:
    named = [stores.get(option, option) for option in options]
    assert run("evaluate", *paths, *named).exit_code == code


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--fail-on", "new-high"), "gpa: --fail-on new-high: needs --baseline FILE, or gpa compare\n"),
        (("--tolerance", "0.1"), "gpa: --tolerance: needs --baseline FILE, or gpa compare\n"),
        (("--baseline", "missing.db"), "gpa: missing.db: "),
        (("--junit", "no/such/folder.xml"), "gpa: no/such/folder.xml: cannot be written"),
        (
            ("--model", "anthropic/m", "--requests-to", "r.jsonl", "--junit", "j.xml"),
            "gpa: the options for CI: contradicts --requests-to without --responses-from, which has no results\n",
        ),
    ],
    ids=["new without a baseline", "tolerance without", "no such baseline", "no such folder", "no results"],
)
def test_options_that_make_no_sense_are_errors(options: tuple[str, ...], said: str) -> None:
    done = run("evaluate", GOOD, *options)
    assert done.exit_code == 2
    assert done.stderr.startswith(said)


def test_evaluate_writes_every_report(stores: dict[str, Path], tmp_path: Path) -> None:
    files = {name: tmp_path / f"{name}.out" for name in ("junit", "sarif", "gitlab", "summary")}
    options = [part for name, path in files.items() for part in (f"--{name}", path)]
    assert run("evaluate", BAD, "--baseline", stores["good"], *options).exit_code == 0
    assert ET.parse(files["junit"]).getroot().get("tests") == "7"
    [sarif] = json.loads(files["sarif"].read_text())["runs"]
    located = sarif["results"][0]["locations"][0]
    assert located["physicalLocation"]["artifactLocation"]["uri"] == str(BAD)
    assert located["logicalLocations"][1]["kind"] == "agent"  # known without a store: seen on the way
    assert json.loads(files["gitlab"].read_text())[0]["location"]["path"] == str(BAD)
    assert files["summary"].read_text().startswith("## Agent GPA: ✅ passed\n")


UNWRITABLE = ("--junit", "--sarif", "--gitlab", "--summary", "GITHUB_STEP_SUMMARY")


@pytest.mark.parametrize("option", UNWRITABLE)
def test_a_report_that_cannot_be_written_is_said_before_anything_is_judged(
    stores: dict[str, Path], tmp_path: Path, option: str
) -> None:
    environment = {option: str(tmp_path)} if option.isupper() else {}
    asked = ("--github",) if environment else (option, tmp_path)
    for command in (("evaluate", GOOD, "--store", tmp_path / "new.db"), ("compare", stores["good"], stores["both"])):
        done = run(*command, *asked, **environment)
        assert (done.exit_code, done.stdout) == (2, "")
        assert done.stderr == f"gpa: {tmp_path}: cannot be written (Is a directory)\n"
    assert not (tmp_path / "new.db").exists()


def test_asking_whether_a_report_can_be_written_leaves_files_as_they_are(tmp_path: Path) -> None:
    kept, new = tmp_path / "kept.xml", tmp_path / "new.json"
    kept.write_text("of another run")
    done = run("evaluate", GOOD, "--baseline", "missing.db", "--junit", kept, "--sarif", new)
    assert done.exit_code == 2
    assert kept.read_text() == "of another run"
    assert not new.exists()


@pytest.mark.skipif(not FULL.exists(), reason="no device that is always full")
def test_a_report_that_does_not_fit_costs_no_other_and_no_reason(tmp_path: Path) -> None:
    sarif, gitlab = tmp_path / "s.json", tmp_path / "g.json"
    reports = ("--junit", FULL, "--sarif", sarif, "--gitlab", gitlab)
    done = run("evaluate", BAD, *reports, "--fail-on", "high")
    assert done.exit_code == 2
    reason, unwritten = done.stderr.splitlines()
    assert "severity HIGH" in reason
    assert unwritten == "gpa: /dev/full: cannot be written (No space left on device)"
    assert json.loads(sarif.read_text())["runs"]
    assert json.loads(gitlab.read_text())


@pytest.mark.skipif(not FULL.exists(), reason="no device that is always full")
def test_result_lines_that_do_not_fit_are_one_line_and_exit_2() -> None:
    done = run("evaluate", GOOD, "--jsonl", FULL)
    assert (done.exit_code, done.stderr) == (2, "gpa: /dev/full: cannot be written (No space left on device)\n")


def test_on_github_commands_are_off_while_traces_are_shown(stores: dict[str, Path], tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    done = run(
        "evaluate", BAD, "--baseline", stores["good"], "--fail-on", "new", "--github", GITHUB_STEP_SUMMARY=str(summary)
    )
    assert done.exit_code == 1
    first, *lines = done.stdout.splitlines()
    token = re.fullmatch(r"::stop-commands::([0-9a-f]{32})", first)
    assert token is not None
    until = lines.index(f"::{token[1]}::")
    assert not [line for line in lines[:until] if line.startswith("::")]
    after = lines[until + 1 :]
    assert after[0].startswith("::error title=Agent GPA::")
    assert {line.partition(" ")[0] for line in after} == {"::error", "::warning"}
    assert summary.read_text().startswith("before\n## Agent GPA: ❌ stopped\n")


def test_outside_github_the_summary_is_printed(stores: dict[str, Path]) -> None:
    done = run("compare", stores["good"], stores["both"], "--github")
    assert "\n## Agent GPA: ✅ passed\n" in done.stdout


def test_result_lines_on_stdout_stay_alone(stores: dict[str, Path]) -> None:
    done = run("evaluate", BAD, "--baseline", stores["good"], "--jsonl", "-", "--github")
    assert {json.loads(line)["type"] for line in done.stdout.splitlines()} == {"verdict", "not_applicable"}
    assert "## Agent GPA" in done.stderr
