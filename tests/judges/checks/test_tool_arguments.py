"""What the schema check flags and, more important, what it leaves alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.ingest.dialects.call import Tool
from gpa.judges.checks.schema import violations
from gpa.judges.checks.tool_arguments import find
from tests.judges.checks.transcripts import SEARCH, call, llm, result, tool, transcript

FLAT = {"query": {"type": "string", "description": "what"}, "year": {"type": "integer", "nullable": True}}
NESTED = {
    "type": "object",
    "properties": {"spot": {"$ref": "#/$defs/spot"}, "tags": {"type": "array", "items": {"type": "string"}}},
    "$defs": {"spot": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}},
}
EITHER = {"properties": {"to": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}}}


@pytest.mark.parametrize(
    ("schema", "arguments", "kinds"),
    [
        pytest.param(SEARCH.parameters, {"query": "a"}, [], id="right"),
        pytest.param(SEARCH.parameters, {}, ["missing"], id="required left out"),
        pytest.param(SEARCH.parameters, {"query": "a", "page": 2}, ["unknown"], id="no such argument"),
        pytest.param(SEARCH.parameters, {"query": 7}, ["type"], id="number for a string"),
        pytest.param(SEARCH.parameters, {"query": "a", "limit": True}, ["type"], id="boolean is no integer"),
        pytest.param(SEARCH.parameters, {"query": "a", "limit": 3.0}, [], id="whole float is an integer"),
        pytest.param(SEARCH.parameters, {"query": "a", "mode": "all"}, ["enum"], id="outside the enum"),
        pytest.param(SEARCH.parameters, {"query": "a", "limit": None}, [], id="null leaves an optional one out"),
        pytest.param(SEARCH.parameters, {"query": None}, ["type"], id="null for a required one"),
        pytest.param(NESTED, {"spot": {}, "tags": ["a"]}, ["missing"], id="inside a reference"),
        pytest.param(NESTED, {"tags": ["a", 1]}, ["type"], id="inside a list"),
        pytest.param(EITHER, {"to": ["a"]}, [], id="one of two forms"),
        pytest.param(EITHER, {"to": 5}, ["type"], id="none of two forms"),
        pytest.param(FLAT, {"query": "a"}, [], id="bare table, nullable left out"),
        pytest.param(FLAT, {"year": 2}, ["missing"], id="bare table, required left out"),
        pytest.param({"answer": {"type": "any"}}, {"answer": [1]}, [], id="a type that is not JSON's"),
        pytest.param({"type": {"type": "string"}}, {"type": "x"}, [], id="a parameter named type"),
        pytest.param({"json": SEARCH.parameters}, {}, ["missing"], id="Bedrock wrapper"),
        pytest.param(
            {"type": "OBJECT", "properties": {"q": {"type": "STRING"}}}, {"q": 1}, ["type"], id="Gemini capitals"
        ),
        pytest.param(
            {"type": "object", "properties": {"q": {"type": "string", "required": True}}}, {}, ["missing"], id="draft 3"
        ),
        pytest.param({"properties": {"n": {"enum": ["1", "2"]}}}, {"n": 1}, [], id="OpenAPI lists numbers as text"),
        pytest.param({"type": "object"}, {"anything": 1}, [], id="no properties listed"),
        pytest.param(FLAT, {"query": "a", "": 1}, ["unnamed"], id="an argument without a name"),
        pytest.param({"properties": {"n": {"const": 3}}}, {"n": 4}, ["enum"], id="not the constant"),
        pytest.param({"properties": {"n": {"const": 3}}}, {"n": 3.0}, [], id="the constant"),
        pytest.param({"properties": {"n": {"maximum": 3, "pattern": "a"}}}, {"n": 4}, [], id="bounds are not judged"),
        pytest.param(
            {"properties": {"a": {}}, "additionalProperties": {"type": "string"}}, {"b": 1}, ["type"], id="typed rest"
        ),
        pytest.param({"properties": {"a": {"$ref": "http://example.org/x"}}}, {"a": 1}, [], id="remote reference"),
        pytest.param({"properties": {"a": {"$ref": "#/properties/a"}}}, {"a": 1}, [], id="reference to itself"),
        pytest.param({"properties": 5, "required": "all", "anyOf": {}}, {"a": 1}, [], id="broken"),
    ],
)
def test_violations(schema: dict[str, Any], arguments: dict[str, Any], kinds: list[str]) -> None:
    assert [violation.kind for violation in violations(schema, arguments)] == kinds


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "properties", "anyOf", "items", "required", "enum", "$ref", "nullable", "a", "b"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(
    schema=st.dictionaries(st.sampled_from(["type", "properties", "anyOf", "required", "$ref", "a"]), JSON),
    arguments=st.dictionaries(st.text(max_size=2), JSON),
)
def test_no_schema_however_broken_raises(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    list(violations(schema, arguments))


OPEN = Tool("search", parameters={"type": "object", "properties": {"query": {"type": "string"}}})


@pytest.mark.parametrize(
    ("tools", "steps", "found"),
    [
        pytest.param(
            (SEARCH,),
            (
                llm(call("search", {"query": "a", "page": 1}, "c1")),
                tool("search", {"query": "a", "page": 1}, error="TypeError", call_id="c1"),
            ),
            [(("s1",), "MEDIUM")],
            id="asked for and run: one hit",
        ),
        pytest.param(
            (SEARCH,),
            (llm(call("search", {"query": "a", "limit": "5"})), tool("search", {"query": "a", "limit": 5}, "fine")),
            [(("s1",), "LOW")],
            id="worked all the same",
        ),
        pytest.param(
            (OPEN,),
            (
                llm(call("search", {"query": "a", "k": 1}, "c1")),
                tool("search", {"query": "a", "k": 1}, "fine", call_id="c1"),
            ),
            [],
            id="unlisted but accepted",
        ),
        pytest.param(
            (SEARCH,),
            (
                llm(call("search", {"query": "a"}, "c1")),
                tool("search", {"query": "a", "runtime": {}}, "fine", call_id="c1"),
            ),
            [],
            id="added by the framework",
        ),
        pytest.param((SEARCH,), (tool("search", {"runtime": 1}, "fine"),), [], id="tool step alone that worked"),
        pytest.param(
            (SEARCH,),
            (tool("search", {"q": "a"}, error="bad"),),
            [(("s1",), "MEDIUM")],
            id="tool step alone that failed",
        ),
        pytest.param(
            (SEARCH,), (tool("search", {"args": ["a", 3, 4, 5]}, error="bad"),), [], id="arguments without names"
        ),
        pytest.param((SEARCH,), (llm(call("search", '{"query": "a')),), [(("s1",), "MEDIUM")], id="not JSON"),
        pytest.param(
            (SEARCH,),
            (llm(call("search", '{"query": "a', "c1")), tool("search", {"query": "a"}, "fine", call_id="c1")),
            [],
            id="only its record is cut",
        ),
        pytest.param(
            (SEARCH,),
            (llm(call("search", '{"query": "a', "c1")), tool("search", error="JSONDecodeError: line 1", call_id="c1")),
            [(("s1",), "MEDIUM")],
            id="ran, and was no JSON",
        ),
        pytest.param(
            (SEARCH,),
            (llm(call("search", '{"query": "a', "c1")), tool("search", error="503", call_id="c1")),
            [],
            id="ran and failed otherwise",
        ),
        pytest.param(
            (SEARCH,),
            (llm(call("search", {}, "c1")), tool("search", {}, "fine", call_id="c1")),
            [(("s1",), "LOW")],
            id="required left out, worked all the same",
        ),
        pytest.param(
            (OPEN,),
            (llm(call("search", {"query": "a", "": 1}, "c1")), tool("search", {}, "fine", call_id="c1")),
            [(("s1",), "LOW")],
            id="without a name, worked all the same",
        ),
        pytest.param((), (llm(call("search", {"x": 1})),), [], id="no schema in the trace"),
        pytest.param((SEARCH,), (llm(call("other", {"x": 1})),), [], id="a tool without a schema"),
        pytest.param(
            (SEARCH,),
            (llm(call("search", {"query": 1}, "c1")), llm(new=(result("no results", "c1"),))),
            [(("s1",), "LOW")],
            id="answered in a message only",
        ),
    ],
)
def test_find(tools: tuple[Tool, ...], steps: tuple[Any, ...], found: list[tuple[tuple[str, ...], str]]) -> None:
    assert [(hit.labels, hit.severity) for hit in find(transcript(*steps, tools=tools))] == found
