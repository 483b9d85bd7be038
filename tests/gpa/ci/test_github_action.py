"""The composite action, run step by step as GitHub's runner does, on a repository with traces."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import pytest

yaml: Any = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[3]
ACTION = ROOT / "deploy" / "github-action"
TRACES = ROOT / "fixtures" / "traces" / "openinference-smolagents"

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


class Done(NamedTuple):
    code: int
    stdout: str
    stderr: str
    outputs: dict[str, str]
    summary: str


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A checkout: traces of the branch, one of them worse than on main."""
    for folder, names in {"main": ["travel_desk"], "branch": ["travel_desk", "invoice_payment"]}.items():
        (tmp_path / folder).mkdir()
        for name in names:
            shutil.copy(TRACES / f"{name}.traces.jsonl", tmp_path / folder)
    return tmp_path


def action() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ACTION / "action.yml").read_text(encoding="utf-8"))
    return found


def run(repository: Path, **inputs: str) -> Done:
    """The action's steps with these inputs; `package` is empty, since gpa is installed."""
    given = {name: one.get("default", "") for name, one in action()["inputs"].items()}
    given |= {"package": "", **{name.replace("_", "-"): value for name, value in inputs.items()}}
    files = {name: repository / name.lower() for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}

    def resolved(text: str) -> str:
        def value(match: re.Match[str]) -> str:
            scope, _, name = match[1].partition(".")
            known: dict[str, dict[str, str]] = {"inputs": given, "github": {"action_path": str(ACTION)}}
            return known[scope][name]

        return re.sub(r"\$\{\{ ([\w.-]+) \}\}", value, text)

    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for path_of in files.values():
        path_of.touch()
    [step] = [one for one in action()["runs"]["steps"] if one.get("if") is None]
    environment = {name: resolved(text) for name, text in step["env"].items()}
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=repository,
        env={**os.environ, "PATH": path, **environment, **{name: str(one) for name, one in files.items()}},
        capture_output=True,
        text=True,
        check=False,
    )
    outputs = dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text().splitlines())
    return Done(done.returncode, done.stdout, done.stderr, outputs, files["GITHUB_STEP_SUMMARY"].read_text())


def test_a_branch_with_a_grave_new_finding_is_stopped(repository: Path) -> None:
    done = run(repository, traces="branch", baseline_traces="main")
    assert done.code == 1, done.stderr
    assert done.outputs["exit-code"] == "1"
    assert done.summary.startswith("## Agent GPA: ❌ stopped\n\n- 2 new findings of severity HIGH\n")
    assert (repository / done.outputs["summary"]).read_text() == done.summary
    assert ET.parse(repository / done.outputs["junit"]).getroot().get("tests") == "14"
    assert (repository / done.outputs["sarif"]).stat().st_size > 1_000
    assert "::error title=Agent GPA::2 new findings of severity HIGH" in done.stdout.splitlines()


def test_the_results_of_one_run_are_the_baseline_of_the_next(repository: Path) -> None:
    first = run(repository, traces="branch", baseline="baseline.db")
    assert first.code == 0
    assert "::notice title=Agent GPA::no baseline there yet" in first.stdout
    shutil.move(repository / first.outputs["store"], repository / "baseline.db")
    second = run(repository, traces="branch", baseline="baseline.db", fail_on="regression,new")
    assert second.code == 0, second.stderr
    assert "### New findings: 0" in second.summary


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        ({"traces": "main\n\nbranch/invoice_payment.traces.jsonl\n", "fail_on": ""}, 0),
        ({"traces": "branch", "fail_on": "regression, high", "args": "--skip-checks\nfailed-action"}, 1),
        ({"traces": "branch", "fail_on": "", "fail_under": "2.9", "dimensions": "EE"}, 1),
        ({"traces": "main", "baseline_traces": "nowhere"}, 2),
    ],
    ids=["several paths", "any grave one", "a mean", "no baseline traces"],
)
def test_exit_codes(repository: Path, inputs: dict[str, str], code: int) -> None:
    done = run(repository, **inputs)
    assert done.code == code, done.stderr


def test_inputs_are_never_read_as_shell_code(repository: Path) -> None:
    hostile = "$(touch owned)`touch owned`; touch owned\n--help"
    done = run(repository, traces=hostile, fail_on="high; touch owned", baseline="$(touch owned)")
    assert done.code == 2
    assert not (repository / "owned").exists()
    for step in action()["runs"]["steps"]:
        assert "${{" not in step["run"]


def test_every_input_is_used_and_every_output_made() -> None:
    text = (ACTION / "action.yml").read_text(encoding="utf-8")
    for name in action()["inputs"]:
        assert f"inputs.{name} " in text
    script = (ACTION / "gate.sh").read_text(encoding="utf-8")
    for name in action()["outputs"]:
        assert f'echo "{name}=' in script
    for name in action()["runs"]["steps"][-1]["env"]:
        assert name == "ACTION_PATH" or f"${{{name}" in script or f"${name}" in script
