"""Repeats in vain, and repeats with a reason."""

from __future__ import annotations

import pytest

from gpa.ingest.transcript import Step
from gpa.judges.checks.repeated_call import find
from tests.judges.checks.transcripts import call, llm, said, tool, transcript, user

_ids = iter(range(10_000))


def did(name: str, arguments: object, output: str = "", error: str = "", agent: str = "main") -> tuple[Step, Step]:
    call_id = f"c{next(_ids)}"
    return (
        llm(call(name, arguments, call_id), agent=agent),
        tool(name, arguments, output, error=error, call_id=call_id, agent=agent),
    )


A, B = {"query": "a", "limit": 1}, {"limit": 1, "query": "a"}


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        pytest.param(
            (*did("search", A, "x"), *did("search", B, "x")),
            [(("s3",), "MEDIUM")],
            id="same result, keys in another order",
        ),
        pytest.param((*did("search", A, "x"), *did("search", A, "y")), [], id="another result"),
        pytest.param((*did("search", A, "x"), *did("search", {"query": "b"}, "x")), [], id="other arguments"),
        pytest.param(
            (*did("run", A, error="boom"), *did("run", A, error="boom")), [(("s3",), "MEDIUM")], id="same error"
        ),
        pytest.param((*did("run", A, error="boom"), *did("run", A, "x")), [], id="error, then it worked"),
        pytest.param(
            (*did("run", A, error="429 rate limit"), *did("run", A, error="429 rate limit")),
            [],
            id="first retry after a transient error",
        ),
        pytest.param(
            did("run", A, error="timed out") * 1 + did("run", A, error="timed out") + did("run", A, error="timed out"),
            [(("s5",), "MEDIUM")],
            id="second retry after a transient error",
        ),
        pytest.param((*did("job", A, "still running"), *did("job", A, "still running")), [], id="polling"),
        pytest.param(
            (*did("run_tests", A, "1 failed"), *did("edit", {"x": 1}, "ok"), *did("run_tests", A, "1 failed")),
            [],
            id="after a change",
        ),
        pytest.param(
            (*did("search", A, "x"), *did("edit", {"x": 1}, "ok"), *did("search", A, "x")),
            [(("s5",), "MEDIUM")],
            id="a tool that reads",
        ),
        pytest.param(
            (*did("search", A, "x"), *did("search", A, "x"), *did("search", A, "x"), *did("search", A, "x")),
            [(("s3", "s7"), "HIGH")],
            id="three repeats, one hit",
        ),
        pytest.param((*did("search", A, "x"), *did("search", A, "x", agent="helper")), [], id="another agent"),
        pytest.param(
            (
                *did("search", A, "x"),
                llm(said("x")),
                llm(call("search", A, "z"), new=(user("and again?"),)),
                tool("search", A, "x", call_id="z"),
            ),
            [],
            id="a new turn of the user",
        ),
        pytest.param(
            (llm(said("code")), tool("search", A, "x"), tool("search", A, "x")), [], id="inside one piece of code"
        ),
        pytest.param((llm(call("search", A)), llm(call("search", A))), [], id="no result recorded"),
        pytest.param((*did("search", "", "x"), *did("search", "", "x")), [], id="no arguments recorded"),
        pytest.param(
            (*did("scan", {}, "x"), *did("scan", {}, "x")), [(("s3",), "MEDIUM")], id="a tool without arguments"
        ),
    ],
)
def test_find(steps: tuple[Step, ...], found: list[tuple[tuple[str, ...], str]]) -> None:
    assert [(hit.labels, hit.severity) for hit in find(transcript(*steps))] == found
