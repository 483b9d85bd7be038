"""The documents are true: their commands run, their excerpts are what is printed, their links lead somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from gpa.cli import COMMANDS, main

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted((*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")))
README = (ROOT / "README.md").read_text(encoding="utf-8")
JUDGING = (ROOT / "docs" / "judging.md").read_text(encoding="utf-8")
# The command under test is the one beside this interpreter.
ENVIRONMENT = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "120"}


class Example(NamedTuple):
    command: str
    printed: str


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", f"{README}\n{JUDGING}", re.MULTILINE | re.DOTALL)


def examples() -> list[Example]:
    """Each `$ command` of the console blocks with the output shown below it."""
    parts = [part for block in blocks("console") for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    return [Example(*part.partition("\n")[::2]) for part in parts]


def test_the_excerpts_are_what_its_commands_print() -> None:
    assert examples()
    for command, printed in examples():
        assert printed, f"nothing is shown of what {command} prints"
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=ROOT,
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}: exit {done.returncode}\n{done.stderr}"
        rest = strip_line_ends(done.stdout)
        for piece in filter(None, re.split(r"^\.\.\.\n", strip_line_ends(printed), flags=re.MULTILINE)):
            before, found, rest = rest.partition(piece)
            assert found == piece, f"{command} does not print\n{piece}\nafter the pieces before; it prints\n{before}"


def strip_line_ends(text: str) -> str:
    return re.sub(r" +$", "", text, flags=re.MULTILINE)


def test_the_python_runs() -> None:
    assert blocks("python")
    for code in blocks("python"):
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{code}\n{done.stderr}"
        assert done.stdout, f"prints nothing:\n{code}"


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_is_in_the_readme_and_its_help_has_an_example(name: str) -> None:
    assert f"gpa {name}" in README
    command = main.get_command(click.Context(main), name)
    assert command is not None
    help_text = command.get_help(click.Context(command, info_name=name))
    assert "Examples:" in help_text
    assert f"gpa {name} " in help_text.split("Examples:")[1]
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    assert [option.name for option in options if not option.help] == []


def slugs(document: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_to_files_and_headings_that_exist(document: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", document.read_text(encoding="utf-8")):
        if target.startswith("https://"):
            continue
        path, _, anchor = target.partition("#")
        linked = (document.parent / path) if path else document
        assert linked.exists(), f"{document.name} links to {target}"
        assert not anchor or anchor in slugs(linked), f"{document.name} links to {target}"


def test_what_the_code_cites_of_the_conventions_exists() -> None:
    document = (ROOT / "docs" / "conventions.md").read_text(encoding="utf-8")
    headings = set(re.findall(r"^(?:### |- \*\*)([FCRH]\d+) ", document, re.MULTILINE))
    cited = {
        number
        for folder in ("ingest", "judges", "gpa", "tests")
        for path in (ROOT / folder).rglob("*.py")
        for numbers in re.findall(
            r"docs/conventions\.md\s+((?:[FCRH]\d+(?:, | to | and )?)+)", path.read_text(encoding="utf-8")
        )
        for number in re.findall(r"[FCRH]\d+", numbers)
    }
    assert cited
    assert cited <= headings
