"""What an agent is told of its own failures, and what is not its own."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gpa.ingest.transcript import Step
from gpa.judges.checks.failed_action import exhausted, failed
from tests.judges.checks.transcripts import FINAL, SEARCH, call, coded, llm, result, said, tool, transcript, user


def told(error: str) -> tuple[Step, ...]:
    """A call that failed, then a call of the model that is told and acts again."""
    return (
        llm(call("search", {"query": "a"}, "c1")),
        tool("search", {"query": "a"}, error=error, call_id="c1"),
        llm(call("search", {"query": "b"}, "c2"), new=(result(error, "c1"),)),
        tool("search", {"query": "b"}, "x", call_id="c2"),
    )


@pytest.mark.parametrize(
    ("error", "found"),
    [
        ("FileNotFoundError: no such file: 'x'", [("s3", "MEDIUM")]),
        ("Exception: No results found for query: 'a'. Use a less specific query.", [("s3", "LOW")]),
        ("TypeError: search() got an unexpected keyword argument 'q'", []),
        ("429 Too Many Requests", []),
        ("ConnectionError: Remote end closed connection without response", []),
        ("HTTP 403 Forbidden", []),
        ("the search backend is down", []),
    ],
    ids=["own", "found nothing", "arguments: another check's", "rate limit", "connection", "refused", "down"],
)
def test_an_error_of_a_call(error: str, found: list[tuple[str, str]]) -> None:
    hits = list(failed(transcript(*told(error), tools=(SEARCH,))))
    assert [(*hit.labels, hit.severity) for hit in hits] == found


def test_nobody_is_cited_when_the_agent_does_not_act_again() -> None:
    steps = told("FileNotFoundError: x")[:2]
    assert list(failed(transcript(*steps, llm(said("I cannot open it."))))) == []


@pytest.mark.parametrize(
    ("printed", "found"),
    [
        ("Error reading the archive: bad header", ["s2"]),
        ("Traceback (most recent call last):\n  ...\nValueError: x", ["s2"]),
        ("7 rows\nErrors: none in this table, see above", []),
        ("x\n" * 1_000 + "Error: in the middle of a log", []),
    ],
    ids=["caught and printed", "traceback", "a word in a result", "a line of a long result"],
)
def test_an_error_that_code_printed(printed: str, found: list[str]) -> None:
    steps = (
        llm(coded("I read it.", "print(read(archive))")),
        llm(coded("I try again.", "print(read(archive, mode=2))"), new=(result(printed),)),
        llm(coded("Done.", "final_answer(7)"), new=(result("7"),)),
    )
    assert [hit.labels[0] for hit in failed(transcript(*steps, tools=(FINAL,)))] == found


def test_running_out_of_something_is_told_apart() -> None:
    steps = told("InterpreterError: Reached the max number of operations of 10000000. Maybe there is an infinite loop")
    found = transcript(*steps, tools=(SEARCH,))
    assert [hit.labels for hit in exhausted(found)] == [("s3",)]
    assert list(failed(found)) == []


def test_a_status_of_one_word_is_read_together_with_the_result() -> None:
    asked, ran, *rest = told("error")
    ran = replace(ran, output=(result("MemoryError: out of memory", "c1"),))
    given = transcript(asked, ran, *rest, tools=(SEARCH,))
    assert [hit.quote for hit in exhausted(given)] == ["error\nMemoryError: out of memory"]
    assert list(failed(given)) == []


@pytest.mark.parametrize(
    ("request_", "error", "found"),
    [
        ("Create a.txt unless it is there.", "FileNotFoundError: no such file: a.txt", 0),
        ("Create a.txt unless it is there.", "ValueError: bad header", 1),
        ("Reproduce bug 7, then fix it.", "ValueError: bad header", 0),
        ("Summarise a.txt.", "FileNotFoundError: no such file: a.txt", 1),
        ("Summarise a.txt.", "PermissionError: a.txt", 0),
        ("Summarise a page.", "site blocked", 0),
    ],
)
def test_a_probe_and_a_closed_door_are_no_failures(request_: str, error: str, found: int) -> None:
    asked, *rest = told(error)
    given = transcript(replace(asked, messages=(user(request_),)), *rest, tools=(SEARCH,))
    assert len(list(failed(given))) == found
