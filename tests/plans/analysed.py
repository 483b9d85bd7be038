"""Runs of an agent that analyses tables: what it planned, what it called, as transcripts and as OTLP/JSON."""

from __future__ import annotations

import json
from typing import Any

from gpa.ingest.transcript import Plan, Transcript
from tests.judges.checks.transcripts import call, llm, said, tool, transcript
from tests.plans.revenue import QUESTION

Call = tuple[str, dict[str, Any]]

PLANNED: list[Call] = [
    ("parse_datetime", {"column": "date"}),
    ("aggregate", {"group_by": ["date", "region", "product_category"], "agg_func": "sum", "metrics": ["revenue"]}),
    ("plot_line", {"x": "date", "y": "revenue", "color": "product_category"}),
    ("compute_summary_stats", {"columns": ["revenue"]}),
]


def written(plan: list[Call]) -> str:
    steps = [{"id": n, "tool": name, "arguments": arguments} for n, (name, arguments) in enumerate(plan, 1)]
    return f"Plan:\n{json.dumps(steps)}"


def analysed(
    plan: list[Call] | str | None = None,
    calls: list[Call] | None = None,
    *,
    errors: dict[int, str] | None = None,
    goal: str = QUESTION,
    trace_id: str = "a" * 32,
) -> Transcript:
    """A run that states the plan in `s1` (span1), then asks for each call in a step of its own, and answers.

    Call n (from 0) is asked for in span 2n+2 and run in span 2n+3.
    """
    made = calls if calls is not None else plan if isinstance(plan, list) else []
    text = written(plan) if isinstance(plan, list) else plan or "I begin."
    steps = [llm(said(text))]
    for n, (name, arguments) in enumerate(made):
        steps.append(llm(call(name, arguments, f"c{n}")))
        failed = (errors or {}).get(n, "")
        steps.append(tool(name, arguments, "" if failed else f"result {n}", error=failed, call_id=f"c{n}"))
    steps.append(llm(said("Here it is.")))
    plans = (Plan("s1", "main", text, replan=False),) if plan is not None else ()
    return transcript(*steps, plans=plans, goal=goal, trace_id=trace_id)


def otlp(plan: list[Call] | None, calls: list[Call], *, goal: str = QUESTION, trace_id: str = "a" * 32) -> bytes:
    """The same as a trace in OTLP/JSON by the GenAI conventions: one line."""
    spans = [_span(trace_id, 1, 0, "invoke_agent analyst", {"gen_ai.operation.name": "invoke_agent"})]
    said_first = [_text("assistant", written(plan) if plan is not None else "I begin.")]
    history = [_text("user", goal)]
    spans.append(_model(trace_id, 2, history, said_first))
    history += said_first
    for n, (name, arguments) in enumerate(calls):
        part = {"type": "tool_call", "id": f"c{n}", "name": name, "arguments": arguments}
        asked = [{"role": "assistant", "parts": [part]}]
        spans.append(_model(trace_id, 2 * n + 3, history, asked))
        about = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": f"c{n}",
            "gen_ai.tool.call.arguments": json.dumps(arguments),
            "gen_ai.tool.call.result": f"result {n}",
        }
        spans.append(_span(trace_id, 2 * n + 4, 1, f"execute_tool {name}", about))
        result = {"type": "tool_call_response", "id": f"c{n}", "response": f"result {n}"}
        history = [*history, *asked, {"role": "tool", "parts": [result]}]
    spans.append(_model(trace_id, 2 * len(calls) + 3, history, [_text("assistant", "Here it is.")]))
    return json.dumps({"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": spans}]}]}).encode() + b"\n"


def _text(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": content}]}


def _model(trace_id: str, number: int, history: list[Any], output: list[Any]) -> dict[str, Any]:
    about = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "scripted",
        "gen_ai.input.messages": json.dumps(history),
        "gen_ai.output.messages": json.dumps(output),
    }
    return _span(trace_id, number, 1, "chat scripted", about)


def _span(trace_id: str, number: int, parent: int, name: str, attributes: dict[str, str]) -> dict[str, Any]:
    start = 1_700_000_000_000_000_000 + number * 1_000_000_000
    return {
        "traceId": trace_id,
        "spanId": f"{number:016x}",
        "parentSpanId": f"{parent:016x}" if parent else "",
        "name": name,
        "kind": 1,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + 500_000_000),
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
        "status": {},
    }
