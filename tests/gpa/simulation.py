"""Traces with planted errors, what people would say of them, a judge that sees what its rubric says, and its coach.

Everything is a function of the request, so that runs repeat. The judge reports a kind of error only where its rubric
names the kind's sign; the coach adds the sign of the kinds that the advice says were missed, one a proposal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from gpa.ingest.tokens import count_text
from gpa.judges.model import Outcome, Reply, Request, TokenUsage
from tests.servers.messages import Answer

KEYWORD = "Zorblax"
"""Stands beside every error: a rubric that says it finds all of them, and nothing in any other agent's traces."""


class Kind(NamedTuple):
    category: str
    sign: str
    """What a rubric has to say for the judge to see it."""
    said: str
    """What the agent says in its wrong step."""


KINDS = (
    Kind(
        "Tool Output Misinterpretation", "compare every figure with the result it is taken from", "The stock is {n}0."
    ),
    Kind("Tool-related", "check that a result exists for each claim that something was done", "I have sent mail {n}."),
    Kind("Formatting Errors", "look at calls that the tool rejected for their syntax", "order(item={n}, oops"),
)
SEEN_FROM_THE_START = Kind("Resource Abuse", "", "Once more I ask the store for item {n}.")
SCORE = {0: 3, 1: 2, 2: 1}


def write_runs(folder: Path, count: int = 24) -> tuple[Path, Path]:
    """A folder of traces, each with three errors of the four kinds in turn, and a file of their gold errors."""
    traces = folder / "traces"
    traces.mkdir(parents=True)
    gold = []
    kinds = (*KINDS, SEEN_FROM_THE_START)
    for number in range(count):
        trace_id = f"{number + 1:032x}"
        spans = [_span(trace_id, 1, "AGENT", None, name="clerk", given=f"Check order {number + 1}.", said="All done.")]
        for at in range(3):
            kind = kinds[(number + at) % 4]
            span = f"{trace_id[-8:]}{2 * at + 3:08x}"
            wrong = f"{KEYWORD}: {kind.said.format(n=number * 3 + at + 11)}"
            spans.append(_span(trace_id, 2 * at + 2, "TOOL", 1, name="store", given="item", said="7 pieces are left."))
            spans.append(_span(trace_id, 2 * at + 3, "LLM", 1, name="model", given=f"Step {at + 1}.", said=wrong))
            gold.append(
                {
                    "trace_id": trace_id,
                    "span_id": span,
                    "category": kind.category,
                    "dimensions": ["TC"],
                    "evidence": wrong,
                    "description": f"The clerk went wrong ({kind.category}).",
                    "impact": ("LOW", "MEDIUM", "HIGH")[at],
                }
            )
        document = {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": spans}]}]}
        (traces / f"{trace_id}.json").write_text(json.dumps(document))
    path = folder / "gold.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in gold))
    return traces, path


def _span(
    trace_id: str, number: int, kind: str, parent: int | None, *, name: str, given: str, said: str
) -> dict[str, Any]:
    values = {"openinference.span.kind": kind, "input.value": given, "output.value": said}
    if kind == "LLM":
        values |= {
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.content": given,
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.content": said,
        }
    if kind == "TOOL":
        values["tool.name"] = name
    return {
        "traceId": trace_id,
        "spanId": f"{trace_id[-8:]}{number:08x}",
        "parentSpanId": "" if parent is None else f"{trace_id[-8:]}{parent:08x}",
        "name": name,
        "startTimeUnixNano": str(1_790_000_000_000_000_000 + number * 1_000_000_000),
        "endTimeUnixNano": str(1_790_000_000_500_000_000 + (number if parent is not None else 99) * 1_000_000_000),
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in values.items()],
    }


def model(params: dict[str, Any], *, coach: Callable[[str, list[dict[str, Any]]], str] | None = None) -> Answer:
    """Judge or coach, by what is asked."""
    blocks = params["messages"][0]["content"]
    if "lessons" in json.dumps(params["output_config"]):
        rubric = (coach or careful)(blocks[-1]["text"], params["messages"])
        return Answer(json.dumps({"lessons": "Signs were missed.", "rubric": rubric}))
    return Answer(json.dumps(judgement(blocks[0]["text"], blocks[-1]["text"])))


def judgement(run: str, rubric: str) -> dict[str, Any]:
    """What the judge sees in a run with a rubric."""
    findings = []
    for label, body in re.findall(r"^\[(s\d+)\] .*\n((?:  .*\n)*)", run, re.MULTILINE):
        for line in re.findall(rf"-> assistant: ({KEYWORD}: .*)", body):
            kind = next(one for one in (*KINDS, SEEN_FROM_THE_START) if _is(one, line))
            if kind.sign in rubric or KEYWORD.lower() in rubric.lower():
                problem = f"This is wrong: {kind.category}."
                found = {"quote": line, "problem": problem, "category": kind.category}
                findings.append({**found, "severity": "MEDIUM", "steps": [label]})
    score = SCORE.get(len(findings), 0)
    return {"findings": findings, "rationale": f"{len(findings)} found.", "not_applicable": None, "score": score}


def _is(kind: Kind, line: str) -> bool:
    return re.search(re.escape(kind.said).replace(r"\{n\}", r"\d+"), line) is not None


def rubric_in(question: str) -> str:
    """The rubric as it is, in a question to the coach."""
    match = re.search(r"=+ rubric \w+ begins =+\n(.*?)\n=+ rubric \w+ ends", question, re.DOTALL)
    assert match is not None
    return match[1]


def careful(question: str, _messages: list[dict[str, Any]]) -> str:
    """The rubric with the sign of the first kind that the advice speaks of and that it lacks."""
    rubric = rubric_in(question)
    advice = "\n".join(re.findall(r"=+ advice \w+ begins =+\n(.*?)\n=+ advice", question, re.DOTALL))
    missing = [kind for kind in KINDS if kind.category in advice and kind.sign not in rubric]
    return f"{rubric}\n\nAlso {missing[0].sign}.\n" if missing else f"{rubric}\n\nRead each step twice.\n"


def tempted(question: str, messages: list[dict[str, Any]]) -> str:
    """First the keyword of the runs; the general rule only once that is refused."""
    if len(messages) == 1:
        return f"{rubric_in(question)}\n\nReport every step that mentions {KEYWORD}.\n"
    return careful(question, messages)


class SimulatedModel:
    """The same without a server."""

    warms = batched = False
    name = "simulated/model"
    context_window = 200_000

    def __init__(self) -> None:
        self.asked: list[Request] = []

    async def complete(self, request: Request) -> Outcome:
        self.asked.append(request)
        text = model(request.params()).text
        usage = TokenUsage(input_tokens=request.input_tokens, output_tokens=count_text(text))
        return Reply(text=text, usage=usage, model=self.name)

    async def count_tokens(self, request: Request) -> int:
        return request.input_tokens

    async def aclose(self) -> None:
        pass
