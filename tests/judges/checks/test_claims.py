"""What agents say they do, did, know or made up."""

from __future__ import annotations

import pytest

from gpa.ingest.dialects.call import Tool
from gpa.ingest.transcript import Plan, Step
from gpa.judges.checks.claims import claimed_call, claimed_work, from_memory, simulated_result
from tests.judges.checks.transcripts import DESK, FINAL, SEARCH, call, coded, llm, result, said, tool, transcript, user

TOOLS = (DESK, FINAL)
PRINTS = 'task = "Please find the figure."\nprint(task)'


@pytest.mark.parametrize(
    ("text", "code", "found"),
    [
        pytest.param("I will now ask the search_desk for it.", PRINTS, True, id="printed in place of sent"),
        pytest.param("I'll use our search desk, who can look.", PRINTS, True, id="name written apart"),
        pytest.param("I will ask the search_desk for it.", "print(search_desk(task='x'))", False, id="called"),
        pytest.param("I will ask the search_desk.", "print('search_desk(x)')  # search_desk(x)", True, id="in a text"),
        pytest.param("I compute it first. Later I will ask the search_desk, if needed.", "x = 1", False, id="later"),
        pytest.param("The search_desk said that it is 7.", "print(7)", False, id="no intention"),
        pytest.param("I will use the tree for it.", "print(1)", False, id="no tool"),
    ],
)
def test_claimed_call(text: str, code: str, *, found: bool) -> None:
    steps = (llm(coded(text, code)), llm(coded("Done.", "final_answer(7)"), new=(result("x"),)))
    hits = list(claimed_call(transcript(*steps, tools=TOOLS)))
    assert [hit.labels for hit in hits] == ([("s1",)] if found else [])


ANNOUNCES = said("I will now call the search tool.")
CALLS = call("search", {"query": "a"})


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        pytest.param((llm(ANNOUNCES),), ["s1"], id="the answer is only an announcement"),
        pytest.param((llm(ANNOUNCES), llm(ANNOUNCES), llm(said("7"))), ["s1"], id="announced twice, once found"),
        pytest.param((llm(ANNOUNCES, call("desk")), llm(said("7"))), ["s1"], id="another call"),
        pytest.param((llm(ANNOUNCES, CALLS), llm(said("7"))), [], id="made at once"),
        pytest.param((llm(ANNOUNCES), llm(CALLS), llm(said("7"))), [], id="made later"),
        pytest.param((llm(CALLS), llm(ANNOUNCES)), ["s2"], id="made before, announced again"),
        pytest.param((llm(ANNOUNCES, finish="tool_calls"),), [], id="the call is not recorded"),
        pytest.param((llm(said("I will call the search tool: for what?")),), [], id="asks the user"),
        pytest.param((llm(said("Let me know what the search tool can run for you.")),), [], id="an offer"),
        pytest.param((llm(said("After you confirm, I will call the search tool.")),), [], id="on a condition"),
        pytest.param((llm(said("I will search my memory.")),), [], id="a verb like a tool"),
        pytest.param((llm(said('<tool_call>{"name": "search", "arguments": {}}</tool_call>')),), ["s1"], id="as text"),
        pytest.param((llm(said("Action: search\nAction Input: a")), llm(said("7"))), ["s1"], id="as an action"),
        pytest.param(
            (llm(said("Action: search\nAction Input: a")), llm(said("7"), new=(user("Observation: 7"),))),
            [],
            id="as an action that was run",
        ),
        pytest.param((llm(said('Send {"name": "Ann", "input": "a"}.')),), [], id="text that is no call"),
    ],
)
def test_a_call_that_is_announced_and_never_made(steps: tuple[Step, ...], found: list[str]) -> None:
    hits = list(claimed_call(transcript(*steps, tools=(SEARCH, Tool("desk")))))
    assert [hit.labels[0] for hit in hits] == found


def test_a_plan_announces_nothing() -> None:
    steps = (llm(ANNOUNCES), llm(said("7")))
    assert (
        list(claimed_call(transcript(*steps, tools=(SEARCH,), plans=(Plan("s1", "main", "Search.", replan=False),))))
        == []
    )


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        pytest.param(
            (llm(said("Action: search[a]\nObservation: It is 7.")),),
            ["Observation: It is 7."],
            id="made up with the call",
        ),
        pytest.param(
            (llm(said("Action: search[a]\nObservation: 7")), llm(said("8"), new=(user("Observation: 8"),))),
            [],
            id="replaced by the real one",
        ),
        pytest.param((llm(said("Observation: it rains.")),), [], id="no call written"),
        pytest.param(
            (llm(said("I use simulated search results."), call("write", {"text": "7"})), llm(said("Done."))),
            ["simulated search"],
            id="beside a call",
        ),
    ],
)
def test_a_result_that_is_made_up(steps: tuple[Step, ...], found: list[str]) -> None:
    given = transcript(*steps, tools=(SEARCH, Tool("write")))
    assert [hit.quote for hit in simulated_result(given)] == found
    assert not found or not list(claimed_call(given))


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("I have verified in two sources that it is 7.", True),
        ("Based on a detailed investigation of the archive, it is 7.", True),
        ("It is 7.", False),
    ],
    ids=["verified", "investigation", "no claim"],
)
def test_claimed_work(answer: str, *, found: bool) -> None:
    assert len(list(claimed_work(transcript(llm(said(answer)), tools=(SEARCH,))))) == found


def test_work_that_was_done_may_be_spoken_of() -> None:
    steps = (
        llm(call("search", {"query": "a"}, "c1")),
        tool("search", {"query": "a"}, "7", call_id="c1"),
        llm(said("I have verified that it is 7."), new=(result("7", "c1"),)),
    )
    assert list(claimed_work(transcript(*steps, tools=(SEARCH,)))) == []


@pytest.mark.parametrize(
    ("text", "goal", "found"),
    [
        pytest.param("Let's assume the file contains three rows.", "Count the rows.", True, id="assumed data"),
        pytest.param("After a simulated search, the result is 7.", "Find it.", True, id="simulated search"),
        pytest.param("Assuming the file is available here, I read it.", "Read it.", True, id="assumed file"),
        pytest.param("Assume x > 0; then the root is real.", "Solve it.", False, id="mathematics"),
        pytest.param("The simulated result is 7.", "Simulate the game and report the result.", False, id="the task"),
    ],
)
def test_simulated_result(text: str, goal: str, *, found: bool) -> None:
    steps = (llm(coded(text, "final_answer(3)")),)
    assert len(list(simulated_result(transcript(*steps, tools=TOOLS, goal=goal)))) == found


@pytest.mark.parametrize(
    ("text", "tools", "found"),
    [
        pytest.param("I recall that it was founded in 1901.", TOOLS, True, id="recalls"),
        pytest.param("Based on general knowledge, it is 7.", TOOLS, True, id="general knowledge"),
        pytest.param("I recall that it was founded in 1901.", (FINAL,), False, id="nothing to look it up with"),
        pytest.param("The desk says that it is 7.", TOOLS, False, id="a source"),
    ],
)
def test_from_memory(text: str, tools: tuple[object, ...], *, found: bool) -> None:
    steps = (llm(coded(text, "final_answer(7)")),)
    assert len(list(from_memory(transcript(*steps, tools=tools)))) == found  # type: ignore[arg-type]
