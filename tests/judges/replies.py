"""What models reply in the tests of judges, and judges that ask them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpa.ingest.dialects.call import Message
from gpa.ingest.transcript import Transcript
from gpa.judges.judge import Judge
from gpa.judges.model import ScriptedModel, TokenUsage
from gpa.judges.questions import Answering, Asking
from gpa.judges.rubrics import Rubric, load_frame, load_rubrics
from gpa.judges.verdict import AnyResult
from tests.judges.checks.transcripts import call, llm, said, tool, transcript, user

QUOTE = "It opens at ten o'clock, as everybody knows."
RUN = transcript(
    llm(said("I will look it up."), call("search", {"query": "museum hours"}), new=(user("When does it open?"),)),
    tool("search", {"query": "museum hours"}, "The museum opens at nine and closes at five."),
    llm(said(QUOTE), new=(Message("tool", "The museum opens at nine and closes at five."),)),
    system="Be kind.",
)


def finding(**fields: Any) -> dict[str, Any]:
    made = {"quote": QUOTE, "problem": "It misread the result.", "category": "Tool Output Misinterpretation"}
    return {**made, "severity": "HIGH", "steps": ["s3"], **fields}


def answer(*findings: dict[str, Any], score: int | None = 2, **fields: Any) -> dict[str, Any]:
    return {"findings": list(findings), "rationale": "r", "not_applicable": None, "score": score, **fields}


def reply(*findings: dict[str, Any], score: int | None = 2, **fields: Any) -> str:
    return json.dumps(answer(*findings, score=score, **fields))


def asking(**fields: Any) -> Asking:
    return Asking(frame=load_frame(), **fields)


def judge(
    model: Answering,
    *,
    rubrics: Mapping[str, Rubric] | None = None,
    sample: int = 0,
    clean: Callable[[str], str] | None = None,
    **fields: Any,
) -> Judge:
    return Judge(model, load_rubrics() if rubrics is None else rubrics, asking(**fields), sample=sample, clean=clean)


def judged(one: Judge, dimensions: Sequence[str] = ("TC",), run: Transcript = RUN) -> list[AnyResult]:
    return list(asyncio.run(one.judge(run, dimensions)))


def scripted(script: Any, dimensions: Sequence[str] = ("TC",), run: Transcript = RUN, **fields: Any) -> list[AnyResult]:
    """The results of a judge over a script that is used up."""
    model = ScriptedModel(script, context_window=fields.pop("context_window", 200_000))
    results = judged(judge(model, **fields), dimensions, run)
    asyncio.run(model.aclose())
    return results


def usage(n: int = 100) -> TokenUsage:
    return TokenUsage(input_tokens=n, output_tokens=n // 10, cache_read_tokens=7 * n)
