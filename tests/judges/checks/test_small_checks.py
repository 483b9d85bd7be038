"""Identifiers, searches, garbled results, and success that was none."""

from __future__ import annotations

import pytest

from gpa.ingest.transcript import Step
from gpa.judges.checks.garbled_result import find as garbled
from gpa.judges.checks.identifiers import find as misread
from gpa.judges.checks.similar_search import find as similar
from gpa.judges.checks.unacknowledged_error import claimed_success
from tests.judges.checks.transcripts import SEARCH, call, coded, llm, result, said, tool, transcript, user


@pytest.mark.parametrize(
    ("written", "found"),
    [("DE-77-1034", ["DE-77-1034"]), ("DE-77-1043", []), ("DE-77-1044", []), ("FR-12-9876", []), ("DE-77-4301", [])],
    ids=["two swapped", "right", "one changed", "another", "more than two moved"],
)
def test_misread_value(written: str, found: list[str]) -> None:
    steps = (llm(call("pay", {"account": written}), new=(user("Pay to DE-77-1043."),)),)
    assert [hit.quote for hit in misread(transcript(*steps))] == found


def test_what_comes_later_was_not_misread_before() -> None:
    steps = (
        llm(call("pay", {"account": "DE-77-1034"}, "c1")),
        tool("pay", {"account": "DE-77-1034"}, "DE-77-1043 is free", call_id="c1"),
    )
    assert list(misread(transcript(*steps))) == []


def asked(*queries: str, error: str = "") -> list[Step]:
    steps: list[Step] = []
    for number, query in enumerate(queries):
        arguments, call_id = {"query": query}, f"c{number}"
        steps.append(llm(call("search", arguments, call_id)))
        steps.append(tool("search", arguments, "" if error else f"{number} pages", error=error, call_id=call_id))
    return steps


@pytest.mark.parametrize(
    ("queries", "error", "cited"),
    [
        pytest.param(
            ("first edition of the town atlas", "town atlas of the first editions", "the first edition of town atlas"),
            "no results",
            ["s5"],
            id="the last of several",
        ),
        pytest.param(("population of the town in 2001", "population of the town in 2002"), "", [], id="another year"),
        pytest.param(("population of Graz in detail", "population of Linz in detail"), "", [], id="another name"),
        pytest.param(("first edition of the atlas", "who printed maps then and where"), "", [], id="other words"),
        pytest.param(("an atlas", "the atlas"), "", [], id="too short"),
        pytest.param(("first edition of the atlas",) * 2, "", [], id="identical: another check's"),
    ],
)
def test_similar_search(queries: tuple[str, ...], error: str, cited: list[str]) -> None:
    hits = similar(transcript(*asked(*queries, error=error), tools=(SEARCH,)))
    assert [hit.labels[0] for hit in hits] == cited


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ("\n".join("Directory") + "\n", 1),
        ("".join(f"{n}: {sign}\n" for n, sign in enumerate("Directory")), 1),
        ("\n".join("1234567890") + "\n", 0),
        ("a\nb\nc\n", 0),
    ],
    ids=["letter by letter", "numbered", "digits", "a short list"],
)
def test_garbled_result(told: str, found: int) -> None:
    steps = (llm(coded("I list.", "for x in tree: print(x)")), llm(said("Odd."), new=(result(told),)))
    assert len(list(garbled(transcript(*steps)))) == found


@pytest.mark.parametrize(
    ("tool_name", "answer", "found"),
    [
        ("reserve", "Your chairs are reserved.", ["reserved"]),
        ("pay_invoice", "The invoice is paid.", ["paid"]),
        ("reserve", "Sorry, the chairs could not be reserved.", []),
        ("reserve", "Anything else?", []),
    ],
    ids=["done", "irregular", "admitted", "nothing said"],
)
def test_claimed_success(tool_name: str, answer: str, found: list[str]) -> None:
    steps = (llm(call(tool_name, {}, "c1")), tool(tool_name, {}, error="refused", call_id="c1"), llm(said(answer)))
    assert [hit.quote for hit in claimed_success(transcript(*steps))] == found


def test_a_call_that_worked_at_last_may_be_reported() -> None:
    steps = (
        llm(call("reserve", {"n": "two"}, "c1")),
        tool("reserve", {"n": "two"}, error="refused", call_id="c1"),
        llm(call("reserve", {"n": 2}, "c2")),
        tool("reserve", {"n": 2}, "ok", call_id="c2"),
        llm(said("Your chairs are reserved.")),
    )
    assert list(claimed_success(transcript(*steps))) == []
