"""Facts of an answer, and where they may come from."""

from __future__ import annotations

import pytest

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


@pytest.mark.parametrize(("looked", "severity"), [(True, "MEDIUM"), (False, "HIGH")])
def test_it_is_graver_when_nothing_was_looked_at(*, looked: bool, severity: str) -> None:
    work = (llm(call("search", {"query": "x"}, "c1")), tool("search", {"query": "x"}, "?", call_id="c1"))
    found = transcript(*(work if looked else ()), llm(said("There were 1,234 visitors.")), tools=(SEARCH,))
    assert [hit.severity for hit in find(found)] == [severity]


def test_an_agent_without_tools_may_say_what_it_knows() -> None:
    assert list(find(transcript(llm(said("There were 1,234 visitors."))))) == []
