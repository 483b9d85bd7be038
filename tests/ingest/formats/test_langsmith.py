"""LangSmith runs: the bridge's attributes, halves put together, ancestry from dotted_order."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpa.ingest.formats.langsmith import FORMAT
from gpa.ingest.spans import Event, Span

ROOT = "a8b34ded-ccd2-4fb7-bccb-9cd625066a14"
CHILD = "b8b34ded-ccd2-4fb7-bccb-9cd625066a14"
ROOT_ORDER = f"20250319T164122123456Z{ROOT}"
CHILD_ORDER = f"{ROOT_ORDER}.20250319T164123123456Z{CHILD}"
SECOND_NS = 1_742_402_482_000_000_000


def read(value: Any) -> tuple[list[Span], list[str]]:
    noted: list[str] = []
    assert FORMAT.matches(value)
    return [span for span in FORMAT.read(value, noted.append) if isinstance(span, Span)], noted


def bare(identifier: str) -> str:
    return identifier.replace("-", "")


def run(**fields: Any) -> dict[str, Any]:
    return {
        "id": CHILD,
        "trace_id": ROOT,
        "parent_run_id": ROOT,
        "name": "op",
        "run_type": "chain",
        "start_time": "2025-03-19T16:41:22",
        "end_time": "2025-03-19T16:41:23+00:00",
        "inputs": {"question": "hi"},
        "outputs": {"answer": "there"},
    } | fields


def one(**fields: Any) -> Span:
    (span,), noted = read(run(**fields))
    assert noted == []
    return span


def test_a_run_has_the_attributes_of_the_bridge() -> None:
    span = one(
        session_name="project",
        tags=["a", "b"],
        serialized={"name": "RunnableSequence"},
        extra={"metadata": {"langgraph_node": "model", "thread_id": "t"}},
        events=[{"name": "new_token", "time": "2025-03-19T16:41:22Z", "kwargs": {"token": "x"}}],
    )
    assert (span.trace_id, span.span_id, span.parent_id) == (bare(ROOT), bare(CHILD), bare(ROOT))
    assert (span.start_ns, span.duration_ns, span.status) == (SECOND_NS, 10**9, "ok")
    assert span.events == (Event("new_token", SECOND_NS, {"kwargs": {"token": "x"}}),)
    assert span.attributes == {
        "langsmith.span.kind": "chain",
        "gen_ai.operation.name": "chain",
        "langsmith.trace.name": "op",
        "langsmith.trace.session_name": "project",
        "langsmith.span.tags": "a, b",
        "langsmith.metadata.langgraph_node": "model",
        "langsmith.metadata.thread_id": "t",
        "gen_ai.serialized.name": "RunnableSequence",
        "gen_ai.prompt": {"question": "hi"},
        "gen_ai.completion": {"answer": "there"},
    }


@pytest.mark.parametrize(
    ("outputs", "metadata"),
    [
        pytest.param(
            {"usage_metadata": {"input_tokens": 3, "output_tokens": 4, "input_token_details": {"cache_read": 1}}},
            {},
            id="usage_metadata",
        ),
        pytest.param(
            {"usage": {"prompt_tokens": 3, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 1}}},
            {},
            id="OpenAI usage",
        ),
        pytest.param(
            {
                "llm_output": {
                    "token_usage": {
                        "prompt_tokens": 3,
                        "completion_tokens": 4,
                        "prompt_tokens_details": {"cached_tokens": 1},
                    }
                }
            },
            {},
            id="LangChain llm_output",
        ),
        pytest.param(
            {"generations": []},
            {"usage_metadata": {"input_tokens": 3, "output_tokens": 4, "input_token_details": {"cache_read": 1}}},
            id="metadata",
        ),
    ],
)
def test_token_counts_of_a_model_call(outputs: dict[str, Any], metadata: dict[str, Any]) -> None:
    found = one(run_type="llm", outputs=outputs, extra={"metadata": metadata}).attributes
    assert found["gen_ai.usage.input_tokens"] == 3
    assert found["gen_ai.usage.output_tokens"] == 4
    assert found["gen_ai.usage.cache_read.input_tokens"] == 1


def test_a_chain_does_not_repeat_the_token_counts_of_its_calls() -> None:
    assert "gen_ai.usage.input_tokens" not in one(prompt_tokens=3, completion_tokens=4).attributes


def test_model_and_tools_of_a_model_call() -> None:
    tools = [{"type": "function", "function": {"name": "f"}}]
    extra = {"metadata": {"ls_model_name": "m", "ls_provider": "p"}, "invocation_params": {"tools": tools}}
    found = one(run_type="llm", extra=extra, outputs={"model": "m-2025"}).attributes
    assert found["gen_ai.operation.name"] == "chat"
    assert (found["gen_ai.provider.name"], found["gen_ai.request.model"]) == ("p", "m")
    assert (found["gen_ai.response.model"], found["gen_ai.tool.definitions"]) == ("m-2025", tools)


def test_a_tool_run() -> None:
    found = one(
        run_type="tool",
        name="get_weather",
        serialized={"name": "get_weather", "description": "Weather."},
        outputs={"output": {"type": "tool", "content": "rain", "tool_call_id": "c-1"}},
    ).attributes
    assert (found["gen_ai.operation.name"], found["gen_ai.tool.name"]) == ("execute_tool", "get_weather")
    assert (found["gen_ai.tool.description"], found["gen_ai.tool.call.id"]) == ("Weather.", "c-1")


def test_a_failed_run() -> None:
    span = one(error="ValueError('bad')", outputs=None)
    assert (span.status, span.status_message) == ("error", "ValueError('bad')")
    assert one(status="error").status == "error"


def test_a_run_that_has_not_ended_has_no_status() -> None:
    assert one(end_time=None).status == "unset"


def test_create_then_patch_is_one_run() -> None:
    created = run(outputs=None, end_time=None, extra={"metadata": {"a": 1}, "runtime": {"x": 1}})
    patched = {"id": CHILD, "end_time": "2025-03-19T16:41:23Z", "outputs": {"answer": "there"}, "inputs": {}}
    (span,), _ = read({"post": [created], "patch": [patched | {"extra": {"metadata": {"b": 2}}}]})
    assert span.attributes["gen_ai.prompt"] == {"question": "hi"}
    assert span.attributes["gen_ai.completion"] == {"answer": "there"}
    assert (span.attributes["langsmith.metadata.a"], span.attributes["langsmith.metadata.b"]) == (1, 2)
    assert span.duration_ns == 10**9


def test_a_patch_without_id_is_found_by_its_order() -> None:
    patch = {"dotted_order": CHILD_ORDER, "outputs": {"answer": "x"}, "end_time": 1_742_402_483_000}
    (span,), _ = read({"post": [run(outputs=None)], "patch": [patch]})
    assert span.attributes["gen_ai.completion"] == {"answer": "x"}
    (alone,), _ = read({"post": [], "patch": [patch]})
    assert (alone.trace_id, alone.span_id, alone.parent_id) == (bare(ROOT), bare(CHILD), bare(ROOT))
    assert (alone.start_ns, alone.end_ns) == (SECOND_NS + 1_123_456_000, SECOND_NS + 10**9)


def test_child_runs_are_walked() -> None:
    spans, _ = read(run(id=ROOT, parent_run_id=None, child_runs=[run(child_runs=[run(id=ROOT[:-1] + "5")])]))
    assert [span.span_id for span in spans] == [bare(ROOT), bare(CHILD), bare(ROOT)[:-1] + "5"]


def multipart(**fields: Any) -> str:
    parts = "".join(
        f'--edge\r\nContent-Disposition: form-data; name="{name}"\r\nContent-Type: application/json\r\n\r\n'
        f"{json.dumps(value)}\r\n"
        for name, value in fields.items()
    )
    return parts + "--edge--\r\n"


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(run(), id="object"),
        pytest.param([run()], id="list"),
        pytest.param({"runs": [run()], "cursors": {}}, id="answer of runs/query"),
        pytest.param({"path": "/runs/batch", "body": json.dumps({"post": [run()], "patch": []})}, id="recorded batch"),
        pytest.param({"path": f"/runs/{CHILD}", "body": json.dumps(run())}, id="recorded patch"),
        pytest.param(
            {
                "path": "/runs/multipart",
                "content_type": "multipart/form-data; boundary=edge",
                "body": multipart(
                    **{
                        f"post.{CHILD}": {k: v for k, v in run().items() if k not in {"inputs", "outputs"}},
                        f"post.{CHILD}.inputs": run()["inputs"],
                        f"patch.{CHILD}": {"id": CHILD},
                        f"patch.{CHILD}.outputs": run()["outputs"],
                    }
                ),
            },
            id="recorded multipart post",
        ),
    ],
)
def test_shapes(value: Any) -> None:
    assert read(value) == ([one()], [])


def test_what_has_no_id_is_noted() -> None:
    assert read([run(), {"run_type": "llm", "name": "lost"}, None]) == (
        [one()],
        [
            "skipped an entry of type NoneType among the runs (expected an object)",
            "skipped run 'lost': it has neither id nor dotted_order",
        ],
    )
