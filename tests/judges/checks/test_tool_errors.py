"""Errors that blame the arguments, and errors that only look like it."""

from __future__ import annotations

import pytest

from gpa.judges.checks.tool_errors import find
from tests.judges.checks.transcripts import SEARCH, call, llm, result, tool, transcript


@pytest.mark.parametrize(
    ("error", "blamed"),
    [
        ("TypeError: search() got an unexpected keyword argument 'q'", True),
        ("TypeError: search() missing 1 required positional argument: 'query'", True),
        ("Error: missing required parameter: query", True),
        ("1 validation error for SearchInput\nquery\n  Field required [type=missing]", True),
        ("MCP error -32602: Invalid arguments for tool search", True),
        ("The parameter 'query' is required", True),
        ("Error: the server must be a replica", False),
        ("Error: query must be a string", True),
        ("ValueError: mode must be one of web, news", False),
        ("KeyError: 'query'", True),
        ("KeyError: 'items'", False),
        ("Exception: No results found for query: 'x'", False),
        ("429 Too Many Requests: invalid input rate", False),
        ("requests.exceptions.ReadTimeout: timed out", False),
        ("FileNotFoundError: no such file: 'x'", False),
    ],
)
def test_blame(error: str, blamed: bool) -> None:
    steps = (llm(call("search", {"query": 1}, "c1")), tool("search", {"query": 1}, error=error, call_id="c1"))
    assert [hit.labels for hit in find(transcript(*steps))] == ([("s1",)] if blamed else [])


def test_an_error_told_only_in_the_next_input_counts() -> None:
    steps = (
        llm(call("search", {"q": 1}, "c1")),
        llm(new=(result("TypeError: got an unexpected keyword argument 'q'", "c1"),)),
    )
    assert [hit.labels for hit in find(transcript(*steps))] == [("s1",)]


@pytest.mark.parametrize(("name", "found"), [("search", 1), ("numpy_sum", 0)])
def test_code_that_calls_wrongly_counts_only_for_the_agents_tools(name: str, found: int) -> None:
    from msgspec.structs import replace

    failed = replace(
        tool("Step 1", error=f"line 3: TypeError: {name}() got an unexpected keyword argument 'x'"),
        kind="other",
        messages=(),
    )
    inside = replace(llm(), parent="s1", output=())
    assert len(list(find(transcript(failed, inside, tools=(SEARCH,))))) == found
