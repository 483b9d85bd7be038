"""Identifiers, searches, sizes, garbled results, endings, and success that was none."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gpa.ingest.dialects.call import Message
from gpa.ingest.transcript import Step
from gpa.judges.checks.endings import no_answer, refusal, step_limit
from gpa.judges.checks.garbled_result import find as garbled
from gpa.judges.checks.identifiers import invented, misread
from gpa.judges.checks.limits import answer_length, chunk_limit
from gpa.judges.checks.similar_search import find as similar
from gpa.judges.checks.unacknowledged_error import claimed_success
from tests.judges.checks.transcripts import FINAL, SEARCH, call, coded, llm, result, said, tool, transcript, user


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


@pytest.mark.parametrize(
    ("query", "found"),
    [("path/to/file.csv", 1), ("https://example.com/a", 1), ("your_api_key", 1), ("bar", 0), ("docs/a.csv", 0)],
    ids=str,
)
def test_invented_value(query: str, found: int) -> None:
    steps = (llm(call("search", {"query": query}), new=(user("Look."),)),)
    assert len(list(invented(transcript(*steps)))) == found


def test_a_value_that_was_given_is_not_invented() -> None:
    steps = (llm(call("search", {"query": "path/to/x"}), new=(user("Read path/to/x, please."),)),)
    assert list(invented(transcript(*steps))) == []


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
    [("word " * 300, 1), ("word " * 100, 0), ("├── a\n" * 300, 0), ("x = 'part of the code'\n" * 60, 0)],
    ids=["too much", "enough", "a directory tree", "its own text"],
)
def test_chunk_limit(told: str, found: int) -> None:
    steps = (
        llm(coded("I read.", "x = 'part of the code'\nprint(text)"), new=(user("Read it 500 characters at a time."),)),
        llm(coded("Done.", "final_answer(1)"), new=(result(told),)),
    )
    assert len(list(chunk_limit(transcript(*steps, tools=(FINAL,))))) == found


@pytest.mark.parametrize(
    ("system", "answer", "found"),
    [
        ("Answer in at most 5 words.", "It is seven, as far as we know.", 1),
        ("Answer in at most 5 words.", "It is seven.", 0),
        ("If asked for a summary, answer in at most 5 words.", "It is seven, as far as we know.", 0),
        ("Queries have at most 5 words.", "It is seven, as far as we know.", 0),
    ],
    ids=["too long", "short enough", "a condition", "not about the answer"],
)
def test_answer_length(system: str, answer: str, found: int) -> None:
    assert len(list(answer_length(transcript(llm(said(answer)), system=system)))) == found


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


def test_a_run_that_ends_on_a_failed_model_call_has_no_answer() -> None:
    broken = replace(llm(), error="InternalServerError: overloaded", status="error")
    assert [hit.labels for hit in no_answer(transcript(llm(said("x")), broken))] == [("s2",)]
    assert list(no_answer(transcript(broken, llm(said("x"))))) == []


def test_an_agent_that_was_stopped_at_its_limit() -> None:
    stop = Message("system", "The agent got stuck and failed to do so. Reached max steps.")
    assert [hit.labels for hit in step_limit(transcript(llm(said("x")), llm(said("7"), new=(stop,))))] == [("s2",)]
    failed = replace(llm(), kind="agent", error="MaxTurnsExceeded: Max turns (10) exceeded", status="error")
    assert [hit.labels for hit in step_limit(transcript(llm(said("x")), failed))] == [("s1",)]


@pytest.mark.parametrize(
    ("goal", "answer", "found"),
    [
        ("What is it? Failure or 'I cannot answer' will not be tolerated.", "Unable to determine", 1),
        ("What is it? Failure or 'I cannot answer' will not be tolerated.", "Seven", 0),
        ("What is it?", "Unable to determine", 0),
    ],
    ids=["refused", "answered", "allowed"],
)
def test_answer_refused(goal: str, answer: str, found: int) -> None:
    assert len(list(refusal(transcript(llm(said(answer)), goal=goal)))) == found


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
