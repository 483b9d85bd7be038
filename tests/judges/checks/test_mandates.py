"""Rules of the instructions about tools and code."""

from __future__ import annotations

import pytest

from gpa.ingest.dialects.call import Tool
from gpa.judges.checks.mandates import forbidden_import, mandated_tool, tool_bypassed
from tests.judges.checks.transcripts import FINAL, call, coded, llm, result, said, tool, transcript, user

LEDGER, CALCULATE = Tool("ledger_lookup", "Figures.", {}), Tool("calculate", "Arithmetic.", {})


@pytest.mark.parametrize(
    ("system", "found"),
    [
        pytest.param("Every figure must come from ledger_lookup.", "ledger_lookup", id="must"),
        pytest.param("Use the calculate tool for every sum, however small.", "calculate", id="an order"),
        pytest.param("Never add up without `calculate`.", "calculate", id="never without"),
        pytest.param("If a figure is missing, you must call ledger_lookup.", "", id="a condition"),
        pytest.param("You may always use ledger_lookup.", "", id="a permission"),
        pytest.param("You must calculate with care.", "", id="a verb like a tool"),
    ],
)
def test_mandated_tool(system: str, found: str) -> None:
    hits = list(mandated_tool(transcript(llm(said("It is 7.")), tools=(LEDGER, CALCULATE), system=system)))
    assert [hit.problem.split()[2].rstrip(",") for hit in hits] == ([found] if found else [])


@pytest.mark.parametrize(
    ("system", "goal", "answer", "found"),
    [
        ("You must use ledger_lookup for all product questions.", "Hi there!", "Hello.", 0),
        ("You must use ledger_lookup for all product questions.", "What does product 7 cost?", "It is 7.", 1),
        ("You must use ledger_lookup for every request.", "Hi there!", "Hello.", 1),
        ("You must use ledger_lookup for every request.", "Hi there!", "Hello! Which year do you mean?", 0),
    ],
    ids=["another kind of request", "that kind of request", "every kind", "asks back"],
)
def test_a_must_for_a_kind_of_request(system: str, goal: str, answer: str, found: int) -> None:
    asked = transcript(llm(said(answer), new=(user(goal),)), tools=(LEDGER,), system=system, goal=goal)
    assert len(list(mandated_tool(asked))) == found


def test_a_mandated_tool_that_was_called_is_fine() -> None:
    steps = (
        llm(call("ledger_lookup", {"year": 1}, "c1")),
        tool("ledger_lookup", {"year": 1}, "7", call_id="c1"),
        llm(said("It is 7."), new=(result("7", "c1"),)),
    )
    system = "Every figure must come from ledger_lookup."
    assert list(mandated_tool(transcript(*steps, tools=(LEDGER,), system=system))) == []


ALLOWED = "You can use imports, but only from the following list of modules: ['json', 'math', 'os.path']"


@pytest.mark.parametrize(
    ("system", "code", "found"),
    [
        (ALLOWED, "import math\nimport numpy as np", ["import numpy"]),
        (ALLOWED, "from requests.auth import HTTPBasicAuth", ["from requests.auth import"]),
        (ALLOWED, "import json, csv", ["import json, csv"]),
        (ALLOWED, "import os.path\nfrom math import pi", []),
        ("Authorized imports are: ['*']", "import numpy", []),
        ("Write code.", "import numpy", []),
    ],
    ids=["another", "from", "second of a list", "allowed", "all allowed", "no list"],
)
def test_forbidden_import(system: str, code: str, found: list[str]) -> None:
    steps = (llm(coded("I compute.", code)), llm(coded("Done.", "final_answer(1)"), new=(result("1"),)))
    assert [hit.quote for hit in forbidden_import(transcript(*steps, tools=(FINAL,), system=system))] == found


def test_code_sent_to_a_tool_imports_too() -> None:
    steps = (llm(call("run", {"code": "import os\nprint(os.listdir())"})),)
    assert [hit.quote for hit in forbidden_import(transcript(*steps, system="Only import from [math]."))] == [
        "import os"
    ]


@pytest.mark.parametrize(
    ("system", "found"),
    [
        ("Only these modules may be imported: math, re.", 1),
        ("Allowed imports: `math`, `re` and `json`\nBe brief.", 1),
        ("Permitted libraries:\n- math\n- re\n", 1),
        ("Allowed modules: math, numpy and re.", 0),
        ("Allowed modules: math, re, etc.", 0),
        ("Allowed libraries: the standard library and re.", 0),
        ("Only import what you need: be brief, and quick.", 0),
    ],
    ids=["words", "quoted", "one a line", "allowed", "an open list", "no list", "no modules"],
)
def test_modules_may_be_listed_without_brackets(system: str, found: int) -> None:
    steps = (llm(call("run", {"code": "import numpy"})),)
    assert len(list(forbidden_import(transcript(*steps, system=system)))) == found


READER = Tool("read_file", "Read a file.", {})
BARRED = "You cannot load files yourself: instead call this tool to read a file."


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("parser.load('in/report.pdb')", 1),
        ("read_file(path='in/report.pdb')", 0),
        ("parser.load('other.pdb')", 0),
    ],
    ids=["by itself", "by the tool", "no file of the request"],
)
def test_tool_bypassed(code: str, found: int) -> None:
    steps = (llm(coded("I open it.", code)), llm(coded("Done.", "final_answer(1)"), new=(result("1"),)))
    given = transcript(*steps, tools=(READER, FINAL), system=BARRED, goal="Read the attached file in/report.pdb")
    assert len(list(tool_bypassed(given))) == found


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"code": "parser.load('in/report.pdf')"}, ["in/report.pdf"]),
        ({"command": "cat in/report.pdf | head"}, ["in/report.pdf"]),
        ({"code": "read_file(path='in/report.pdf')"}, []),
        ({"command": "cat in/other.pdf"}, []),
        ({"path": "in/report.pdf"}, []),
    ],
    ids=["code", "a shell", "by the tool in code", "another file", "no code"],
)
def test_a_tool_that_runs_code_bypasses_the_other(arguments: dict[str, str], found: list[str]) -> None:
    tools, goal = (READER, Tool("run")), "Read the file in/report.pdf"
    given = transcript(llm(call("run", arguments)), tools=tools, system=BARRED, goal=goal)
    assert [hit.quote for hit in tool_bypassed(given)] == found
