"""Facts of an answer, and where they may come from."""

from __future__ import annotations

import pytest

from gpa.ingest.dialects.call import Tool
from gpa.judges.checks.grounding import find
from tests.judges.checks.transcripts import SEARCH, call, llm, result, said, tool, transcript, user


@pytest.mark.parametrize(
    ("told", "answer", "found"),
    [
        pytest.param("the office counted 1234 visitors", "There were 1,234 visitors.", [], id="written otherwise"),
        pytest.param("no figures", "There were 1,234 visitors.", ["1,234"], id="a number from nowhere"),
        pytest.param("118.0 and 123.9", "It rose by 5.9, from 118 to 123.9.", [], id="a difference"),
        pytest.param("800 at 118.0; 840 now", "It rose by 5 percent.", [], id="a single digit"),
        pytest.param("hotel 180.00, train 135.50", "Together 315.50.", [], id="a sum"),
        pytest.param("2 nights", "They saw Northern Lakes Museum.", ["Northern Lakes Museum"], id="a name"),
        pytest.param("the northern lakes museum", "They saw Northern Lakes Museum.", [], id="a known name"),
        pytest.param("he spoke", 'He said "we shall not go there again" then.', ['"we shall'], id="a quotation"),
        pytest.param("he spoke", 'He said "no" then.', [], id="a word in quotes"),
    ],
)
def test_find(told: str, answer: str, found: list[str]) -> None:
    steps = (
        llm(call("search", {"query": "x"}, "c1"), new=(user("How many?"),)),
        tool("search", {"query": "x"}, told, call_id="c1"),
        llm(said(answer), new=(result(told, "c1"),)),
    )
    hits = list(find(transcript(*steps, tools=(SEARCH,))))
    assert [hit.labels for hit in hits] == [("s3",)] * len(found)
    assert all(hit.quote.startswith(start) for hit, start in zip(hits, found, strict=True))


@pytest.mark.parametrize(
    ("answer", "severity"),
    [
        ("There were 1,234 visitors.", "LOW"),
        ("It was opened by Ingrid Solheim.", "LOW"),
        ("There were 1,234 visitors and 5,678 children.", "MEDIUM"),
        ("There were 1,234 visitors, says Ingrid Solheim.", "MEDIUM"),
    ],
)
def test_one_fact_alone_is_light(answer: str, severity: str) -> None:
    found = transcript(llm(said(answer)), tools=(SEARCH,))
    assert [hit.severity for hit in find(found)] == [severity]


WEATHER = Tool("get_weather", "Weather of a city.", {"city": {"type": "string"}})
MAIL = Tool("send_mail", "Mail somebody.", {"to": {"type": "string"}})
FILES = Tool("read_file", "Read a file.", {"path": {"type": "string"}})
MOMO = "Momo was written in 1973, by Michael Ende."


@pytest.mark.parametrize(
    ("tool_at_hand", "goal", "found"),
    [
        pytest.param(SEARCH, "Who wrote Momo?", 1, id="a tool that finds anything"),
        pytest.param(Tool("ask_web", "Search the web.", {}), "Who wrote Momo?", 1, id="the web"),
        pytest.param(MAIL, "Who wrote Momo?", 0, id="a tool that reads nothing"),
        pytest.param(FILES, "Who wrote Momo?", 0, id="a tool for something else"),
        pytest.param(Tool("Read", "Reads a file.", {}), "Who wrote Momo?", 0, id="a name that says only that it reads"),
        pytest.param(FILES, "Who wrote Momo, by these files?", 1, id="a tool for what the request is about"),
        pytest.param(WEATHER, "What was the weather in 1973, and who wrote Momo?", 1, id="in part"),
    ],
)
def test_nothing_looked_at_counts_where_a_tool_at_hand_could_have_told(
    tool_at_hand: Tool, goal: str, found: int
) -> None:
    asked = transcript(llm(said(f"Well: {MOMO}"), new=(user(goal),)), goal=goal, tools=(tool_at_hand,))
    assert len(list(find(asked))) == found


@pytest.mark.parametrize(
    ("told", "answer"),
    [
        ("the battery lasts long", "In short, the Battery Life Is Good. See the Pros And Cons below."),
        ("Python 3.11 released October 24, 2022", "It was released on 24.10.2022 (2022-10-24)."),
        ("10, 20, 40", "The average is 23.33, the sum 70."),
        ("Ende, Michael", "It is by Michael Ende."),
    ],
    ids=["title case", "a date day first", "a mean", "a name turned round"],
)
def test_other_wordings_of_what_was_found_are_no_facts_of_their_own(told: str, answer: str) -> None:
    steps = (
        llm(call("search", {"query": "x"}, "c1")),
        tool("search", {"query": "x"}, told, call_id="c1"),
        llm(said(answer), new=(result(told, "c1"),)),
    )
    assert list(find(transcript(*steps, tools=(SEARCH,)))) == []


def test_an_agent_without_tools_may_say_what_it_knows() -> None:
    assert list(find(transcript(llm(said("There were 1,234 visitors."))))) == []
