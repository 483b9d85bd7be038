"""What a model call did, however the trace records it."""

from __future__ import annotations

import pytest

from gpa.ingest.agents import Agent
from gpa.ingest.transcript import Transcript
from gpa.judges.checks.acts import conduct, finishes, split_code
from tests.judges.checks.transcripts import FINAL, SEARCH, call, coded, llm, result, said, tool, transcript


@pytest.mark.parametrize(
    ("text", "code", "prose"),
    [
        ("I add.\n```py\nx = 1\n```\nDone.", "x = 1\n", "I add.\n\n\nDone."),
        ("```json\n{}\n```", "", "```json\n{}\n```"),
        ("<code>x = 1</code>", "x = 1", "\n"),
        ("a < b", "", "a < b"),
        ("cut ```py\nx = ", "x = ", "cut \n"),
    ],
    ids=["a block", "data", "a tag", "no tag", "cut off"],
)
def test_split_code(text: str, code: str, prose: str) -> None:
    assert split_code(text) == (code, prose)


@pytest.mark.parametrize(
    ("name", "expected"), [("final_answer", True), ("finish", True), ("submit_report", True), ("find_answer", False)]
)
def test_finishes(name: str, *, expected: bool) -> None:
    assert finishes(name) is expected


def test_code_that_nobody_ran_is_only_shown() -> None:
    shown, ran = coded("Try this:", "print(search('x'))"), coded("I look.", "print(search('x'))")
    assert not conduct(transcript(llm(shown))).acts["s1"].acts
    act = conduct(transcript(llm(ran), llm(said("7"), new=(result("7"),)))).acts["s1"]
    assert (act.acts, act.names, act.prose) == (True, frozenset({"print", "search"}), "I look.\n\n\n")


@pytest.mark.parametrize(
    ("arguments", "code", "command"),
    [
        ({"code": "import os\nprint(1)"}, "import os\nprint(1)", ""),
        ({"script": "x = 1"}, "x = 1", ""),
        ({"cmd": "cat in/a.txt"}, "", "cat in/a.txt"),
        ({"command": "python - <<E\nimport os\nE"}, "python - <<E\nimport os\nE", ""),
        ({"code": "EUR"}, "", ""),
        ({"source": "https://a.org"}, "", ""),
        ({"code": 7}, "", ""),
        ({"content": "import os"}, "", ""),
        ("import os", "", ""),
    ],
    ids=[
        "python",
        "script",
        "shell",
        "python in a shell",
        "a currency",
        "an address",
        "a number",
        "a text",
        "no names",
    ],
)
def test_code_is_also_what_is_sent_to_a_tool_that_runs_it(arguments: object, code: str, command: str) -> None:
    act = conduct(transcript(llm(said("I run it."), call("run", arguments)))).acts["s1"]
    assert (act.code, act.command, act.prose) == (code, command, "I run it.")


def test_code_that_a_tool_runs_does_not_hand_over_the_answer() -> None:
    act = conduct(transcript(llm(call("run", {"code": "def done():\n    pass\ndone()"})))).acts["s1"]
    assert ("done" in act.names, act.finishes) == (True, False)


def test_names_in_texts_and_comments_are_no_calls() -> None:
    found = transcript(llm(coded("I look.", "print('search(x)')  # search(x)")), llm(new=(result("x"),)))
    assert conduct(found).acts["s1"].names == {"print"}


def test_a_step_that_only_talks_before_others_is_planning() -> None:
    acts = conduct(transcript(llm(said("First I think.")), llm(call("search", {})), llm(said("7")))).acts
    assert [act.planning for act in acts.values()] == [True, False, False]
    assert [act.acts for act in acts.values()] == [False, True, False]


def test_the_answer_is_handed_over_by_call_or_by_code() -> None:
    found = transcript(
        llm(call("final_answer", {"answer": 7})),
        llm(coded("So:", "final_answer(7)")),
        llm(call("search", {})),
        tools=(SEARCH, FINAL),
    )
    assert [act.finishes for act in conduct(found).acts.values()] == [True, True, False]


def test_a_failure_is_told_in_the_next_input_of_the_agent_that_asked() -> None:
    found = transcript(
        llm(call("search", {"query": "a"}, "c1")),
        tool("search", {"query": "a"}, error="boom", call_id="c1"),
        llm(said("meanwhile"), agent="other"),
        llm(said("it failed"), new=(result("boom", "c1"),)),
    )
    assert {label: act.label for label, act in conduct(found).told_of.items()} == {"s2": "s4"}


def test_a_sub_agent_that_ran_belongs_to_the_act_before_it() -> None:
    steps = (llm(coded("I ask.", "helper(task='x')")), llm(said("7"), agent="helper"))
    base = transcript(*steps)
    ran = tool("helper", {}, "7", agent="helper")
    from msgspec.structs import replace

    agents = (Agent(name="main"), Agent(name="helper", parent="main"))
    delegated = replace(ran, label="s3", kind="agent")
    found = Transcript("t", "", agents, (base.steps[0], delegated, base.steps[1]))
    assert conduct(found).acts["s1"].delegated == ("s3",)
