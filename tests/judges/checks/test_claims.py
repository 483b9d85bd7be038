"""What agents say they do, did, know or made up."""

from __future__ import annotations

import pytest

from gpa.judges.checks.claims import claimed_call, claimed_work, from_memory, simulated_result
from tests.judges.checks.transcripts import DESK, FINAL, SEARCH, call, coded, llm, result, said, tool, transcript

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
