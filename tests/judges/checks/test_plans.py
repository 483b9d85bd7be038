"""Plans that need a source, and answers that come without one."""

from __future__ import annotations

import pytest

from gpa.ingest.dialects.call import Tool
from gpa.ingest.transcript import Plan, Step, Transcript
from gpa.judges.checks.plan_tools import unknown_tool, unused_tool, without_tools
from gpa.judges.checks.sources import needs_source, searches
from gpa.judges.checks.unsupported_answer import skipped_plan, tool_not_used
from tests.judges.checks.transcripts import DESK, FINAL, call, coded, llm, result, said, tool, transcript

TOOLS = (DESK, FINAL)
LOOKS_UP = "1. Locate the report on the website of the office.\n2. Compute the share.\n3. Answer."
NAMES_IT = "1. Use the search_desk to find the report.\n2. Compute the share."
THINKS = "1. Restate the rules of the game.\n2. Deduce who lies.\n3. Answer."
ANSWER = coded("The share is known to be 12 %.", "final_answer('12 %')")
TOOL_RAN = tool("final_answer", {"answer": "12 %"}, "12 %")


def planned(plan: str, *steps: Step, tools: tuple[Tool, ...] = TOOLS) -> Transcript:
    return transcript(llm(said(plan)), *steps, tools=tools, plans=(Plan("s1", "main", plan, replan=False),))


@pytest.mark.parametrize(
    ("step", "needs"),
    [
        ("Use the search_desk to find it", True),
        ("Ask the search desk", True),
        ("Locate the article on the web page", True),
        ("Review the relevant definitions", True),
        ("Compute the difference", False),
        ("Verify the calculation", False),
        ("Extract the key premises of the riddle", False),
    ],
    ids=str,
)
def test_needs_source(step: str, *, needs: bool) -> None:
    assert needs_source(step, ("search_desk",)) is needs


@pytest.mark.parametrize("find", [skipped_plan, tool_not_used])
@pytest.mark.parametrize(
    ("found", "cited"),
    [
        pytest.param(planned(LOOKS_UP, llm(ANSWER), TOOL_RAN), ["s2"], id="answered at once"),
        pytest.param(planned(THINKS, llm(ANSWER), TOOL_RAN), [], id="nothing to look up"),
        pytest.param(planned(LOOKS_UP, llm(ANSWER), TOOL_RAN, tools=(FINAL,)), [], id="nothing to look it up with"),
        pytest.param(
            planned(
                LOOKS_UP,
                llm(coded("I ask.", "print(search_desk(task='x'))")),
                tool("search_desk", {"task": "x"}, "12 %"),
                llm(ANSWER, new=(result("12 %"),)),
                TOOL_RAN,
            ),
            [],
            id="looked up",
        ),
        pytest.param(transcript(llm(ANSWER), TOOL_RAN, tools=TOOLS), [], id="no plan"),
    ],
)
def test_answers_without_the_planned_work(find: object, found: Transcript, cited: list[str]) -> None:
    assert [hit.labels[0] for hit in find(found)] == cited  # type: ignore[operator]


def test_a_tool_that_failed_is_no_source_but_was_tried() -> None:
    found = planned(
        NAMES_IT,
        llm(call("search_desk", {"task": "x"}, "c1")),
        tool("search_desk", {"task": "x"}, error="nobody there", call_id="c1"),
        llm(call("final_answer", {"answer": "12 %"}), new=(result("nobody there", "c1"),)),
    )
    assert [hit.labels for hit in skipped_plan(found)] == [("s4",)]
    assert list(tool_not_used(found)) == []


def test_an_answer_that_could_not_be_read_at_first_is_cited_where_it_was_first_given() -> None:
    unread = Step("", "", (), "", "main", "other", "step", error="no code block was found", status="error")
    found = transcript(
        llm(said(LOOKS_UP)),
        unread,
        llm(said("It is 12 %, as everybody knows."), parent="s2"),
        llm(ANSWER),
        TOOL_RAN,
        tools=TOOLS,
        plans=(Plan("s1", "main", LOOKS_UP, replan=False),),
    )
    assert [search.answer.label for search in searches(found)] == ["s3"]


@pytest.mark.parametrize(("plan", "found"), [(LOOKS_UP, 1), (NAMES_IT, 0), (THINKS, 0)])
def test_plan_without_tools(plan: str, found: int) -> None:
    assert len(list(without_tools(planned(plan, llm(ANSWER), TOOL_RAN)))) == found


@pytest.mark.parametrize(
    ("plan", "found"),
    [
        ("1. Use the web_lookup tool to find it.", 1),
        ("1. Use the search_desk tool to find it.", 0),
        ("1. Use the exchange_rate of the day.", 0),
    ],
    ids=["not offered", "offered", "no tool"],
)
def test_plan_unknown_tool(plan: str, found: int) -> None:
    assert len(list(unknown_tool(planned(plan, llm(ANSWER))))) == found


SOIL, FROST = Tool("soil_test", "The last soil test.", {}), Tool("frost_dates", "The last frost of a place.", {})


@pytest.mark.parametrize(
    ("plan", "cited"),
    [
        pytest.param("1. Look up the soil test.\n2. Look up the last frost.\n3. Answer.", ["s4"], id="left out"),
        pytest.param("1. Look up the soil test.\n2. Answer from it.", [], id="done"),
        pytest.param("1. Look up the soil test.\n2. If needed, look up the last frost.", [], id="a condition"),
    ],
)
def test_planned_tool_unused(plan: str, cited: list[str]) -> None:
    found = planned(
        plan,
        llm(call("soil_test", {"bed": 3}, "c1")),
        tool("soil_test", {"bed": 3}, "pH 6", call_id="c1"),
        llm(said("Plant from April."), new=(result("pH 6", "c1"),)),
        tools=(SOIL, FROST),
    )
    assert [hit.labels[0] for hit in unused_tool(found)] == cited
