"""Repeats in vain, and repeats with a reason."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gpa.ingest.transcript import Step
from gpa.judges.checks.repeated_call import find
from tests.judges.checks.transcripts import call, llm, result, said, tool, transcript, user

_ids = iter(range(10_000))


def did(name: str, arguments: object, output: str = "", error: str = "", agent: str = "main") -> tuple[Step, Step]:
    call_id = f"c{next(_ids)}"
    return (
        llm(call(name, arguments, call_id), agent=agent),
        tool(name, arguments, output, error=error, call_id=call_id, agent=agent),
    )


def silently(name: str, arguments: object) -> tuple[Step, Step]:
    """A call that worked and printed nothing."""
    asked, ran = did(name, arguments)
    return asked, replace(ran, output=(result("", ran.messages[0].tool_call_id),))


PAGE = "rows 1 to 40 of the table, as they stood when it was made; the others are on the pages that follow this one"
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
            tuple(step for _ in range(5) for step in (*did("run", A, PAGE), *silently("run", {"x": 1}))),
            [],
            id="after a change that prints nothing",
        ),
        pytest.param(
            (*did("search", A, "x"), *did("fetch", {"x": 1}, "y"), *did("search", A, "x")),
            [(("s5",), "MEDIUM")],
            id="a tool that reads, after another that reads",
        ),
        pytest.param(
            (*did("list_files", {}, "b"), *did("delete", {"x": 1}, "ok"), *did("list_files", {}, "b")),
            [],
            id="a tool that reads, after one that acts",
        ),
        pytest.param(
            (
                *did("page_down", {}, "ok"),
                *did("page_down", {}, "ok"),
                *did("page_down", {}, "ok"),
                *did("page_down", {}, "ok"),
            ),
            [],
            id="acts that leave receipts",
        ),
        pytest.param(
            (*did("run", A, PAGE), *did("run", A, PAGE), *did("run", A, PAGE)), [], id="a tool that acts, two repeats"
        ),
        pytest.param(
            (*did("run", A, PAGE), *did("run", A, PAGE), *did("run", A, PAGE), *did("run", A, PAGE)),
            [(("s3", "s7"), "MEDIUM")],
            id="a tool that acts, three repeats",
        ),
        pytest.param(
            (
                llm(call("search", A, "p1"), call("search", A, "p2")),
                tool("search", A, "x", call_id="p1"),
                tool("search", A, "x", call_id="p2"),
            ),
            [],
            id="inside one turn of the model",
        ),
        pytest.param(
            (*did("wait", A, error="boom"), *did("wait", A, error="boom"), *did("wait", A, error="boom")),
            [],
            id="waiting",
        ),
        pytest.param(
            (*did("read", A, error="no file"), *did("read", A, error="no file"), *did("read", A, "x")),
            [],
            id="what it waited for came",
        ),
        pytest.param(
            (*did("search", A, "x"), *did("search", A, "x"), *did("edit", {"x": 1}, "ok"), *did("search", A, "y")),
            [(("s3",), "MEDIUM")],
            id="what came had another cause",
        ),
        pytest.param(
            (*did("helper", A, error="no"), *did("helper", A, error="no"), llm(said("x"), agent="helper")),
            [],
            id="the same task for sub-agents",
        ),
        pytest.param(
            (*did("search", A, '{"took_ms": 12, "hits": []}'), *did("search", A, '{"took_ms": 9, "hits": []}')),
            [(("s3",), "MEDIUM")],
            id="only the time it took differs",
        ),
        pytest.param(
            (*did("get_time", {}, '{"elapsed": 12}'), *did("get_time", {}, '{"elapsed": 13}')),
            [],
            id="the time is what was asked for",
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
            (*did("list", {}, "x"), *did("list", {}, "x")), [(("s3",), "MEDIUM")], id="a tool without arguments"
        ),
    ],
)
def test_find(steps: tuple[Step, ...], found: list[tuple[tuple[str, ...], str]]) -> None:
    assert [(hit.labels, hit.severity) for hit in find(transcript(*steps))] == found
