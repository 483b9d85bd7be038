"""A small world to search in: runs with known mistakes, a judge that sees what its rubric tells it to look for, and a
reflection model that learns from advice alone. Everything in it is a pure function of what it is asked.

The searches of several modules are made here too (`found`), and what is asked of their results.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from gpa.evaluation import evaluate
from gpa.ingest.tokens import count_text
from gpa.ingest.transcript import Transcript
from gpa.judges.gold import Gold, GoldError
from gpa.judges.model import Outcome, Reply, Request, TokenUsage
from gpa.judges.rubrics import write_rubrics
from gpa.judging import Bench, Judging, opened
from gpa.optimize.results import Budget, Candidate, SearchResult
from gpa.optimize.search import search
from gpa.recall import score
from tests.judges.checks.transcripts import call, llm, said, tool, transcript, user

START = """\
# Tool Calling

Were the arguments of each call valid, and its output read faithfully?

Look for
- arguments left open at the end.

Not yours: whether another tool would have been better (Tool Selection).

3: every call valid, every output read faithfully.
0: invalid arguments again and again, outputs misread.
1 and 2 lie between.
"""

MISTAKES: dict[str, tuple[str, str]] = {
    # category: what the agent says, the sign by which a rubric makes a judge see it
    "Formatting Errors": ("search({'query': ", "arguments left open at the end"),
    "Tool Output Misinterpretation": (
        "So the result confirms it, although it is silent on it",
        "a conclusion that no result contains",
    ),
    "Tool-related": (
        "I have already called the tool in my head and it said yes",
        "a call that is claimed without a step",
    ),
    "Resource Abuse": ("Let me send the very same query another time", "a query sent another time unchanged"),
}
MARK = "zanzibar"
"""A word that stands in every run with a mistake when the world is a tempting one."""


def world(size: int, *, first: int = 0, tempting: bool = False) -> tuple[list[Transcript], Gold]:
    """Runs with two mistakes each, of changing kinds, every fifth with none."""
    kinds = list(MISTAKES)
    runs, errors = [], []
    for number in range(first, first + size):
        made = [] if number % 5 == 4 else [kinds[number % 4], kinds[(number + 1 + number // 4 % 3) % 4]]
        place = f"{MARK} office" if tempting and made else "museum"
        trace_id = f"{number:032x}"
        steps = [
            llm(
                said("I will look it up."),
                call("search", {"query": place}),
                new=(user(f"When does the {place} open?"),),
            )
        ]
        steps.append(tool("search", {"query": place}, f"The {place} opens at nine."))
        steps += [llm(said(MISTAKES[kind][0])) for kind in made]
        steps.append(llm(said("It opens at nine.")))
        run = transcript(*steps, trace_id=trace_id)
        runs.append(run)
        errors += [
            GoldError(
                id=f"{trace_id}-{at}",
                trace_id=trace_id,
                span_id=run.steps[2 + at].span_id,
                category=kind,
                dimensions=("TC",),
                evidence=MISTAKES[kind][0],
                description="secret words of an annotator",
            )
            for at, kind in enumerate(made)
        ]
    return runs, Gold(tuple(errors), trace_ids=tuple(run.trace_id for run in runs))


class Scripted:
    """A model that answers by a function of the request, and counts what it is asked."""

    warms = batched = False

    def __init__(self, answer: Callable[[Request], str], name: str, *, window: int = 200_000) -> None:
        self._answer, self.name, self.context_window = answer, name, window
        self.requests: list[Request] = []

    async def complete(self, request: Request) -> Outcome:
        self.requests.append(request)
        text = self._answer(request)
        return Reply(text=text, usage=TokenUsage(input_tokens=request.input_tokens, output_tokens=count_text(text)))

    async def count_tokens(self, request: Request) -> int:
        return request.input_tokens

    async def aclose(self) -> None:
        pass


def judge_answer(request: Request) -> str:
    """Findings for the mistakes whose sign stands in the rubric; with the tempting mark in it, for every marked run."""
    findings = []
    for kind, (words, sign) in MISTAKES.items():
        label = _label_before(request.prefix, words)
        if label is not None and (sign in request.tail or (MARK in request.tail and MARK in request.prefix)):
            findings.append(
                {"quote": words, "problem": f"{sign}.", "category": kind, "severity": "HIGH", "steps": [label]}
            )
    return json.dumps({"findings": findings, "rationale": "r", "not_applicable": None, "score": 3 - len(findings)})


def _label_before(text: str, words: str) -> str | None:
    at = text.find(words)
    labels = re.findall(r"^\s*\[(s\d+)\]", text[:at], re.MULTILINE) if at >= 0 else []
    return labels[-1] if labels else None


def reflection_answer(request: Request) -> str:
    """The rubric with the signs added that the advice names by category, one of them at a time."""
    rubric = request.tail.split("begins ========\n", 1)[1].split("\n========", 1)[0]
    for kind, (_, sign) in MISTAKES.items():
        if re.search(rf"Missed[^:]*: {kind} \(", request.tail) and sign not in rubric:
            rubric = rubric.replace("Look for\n", f"Look for\n- {sign};\n")
            break
    return json.dumps({"lessons": "l", "rubric": rubric})


def lucky_answer(request: Request) -> str:
    """As `judge_answer`, but the second sample of everything sees what no rubric told it to look for."""
    if request.sample != 1:
        return judge_answer(request)
    signs = " ".join(sign for _, sign in MISTAKES.values())
    return judge_answer(request.model_copy(update={"tail": signs}))


def adviser_answer(request: Request) -> str:
    """What SIMBA's question for advice is answered, in the form that DSPy asks for."""
    text = request.system + request.tail + "".join(turn.text for turn in request.turns)
    rubric = text.split("Look for", 1)[0]
    signs = [sign for words, sign in MISTAKES.values() if words[:20] in text and sign not in rubric]
    advice = json.dumps({"TC": "Also look for " + ", and for ".join(signs) + "."})
    return f"[[ ## discussion ## ]]\nd\n\n[[ ## module_advice ## ]]\n{advice}\n\n[[ ## completed ## ]]"


def tempted_answer(request: Request) -> str:
    """As above; but what all the runs have in common is the first thing that this model thinks of."""
    if MARK in request.tail and not request.turns:
        rubric = request.tail.split("begins ========\n", 1)[1].split("\n========", 1)[0]
        tip = f"Look for\n- anything about the {MARK} office;\n"
        return json.dumps({"lessons": "l", "rubric": rubric.replace("Look for\n", tip)})
    return reflection_answer(request)


def rubrics(folder: Path, text: str = START) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "TC.md").write_text(text, encoding="utf-8")
    return folder


def bench(model: Scripted, folder: Path | None = None, **fields: Any) -> AbstractAsyncContextManager[Bench]:
    return opened(model, Judging(rubrics=folder, **fields))


def prices(folder: Path) -> Path:
    """A file of prices for the models of this world."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "prices.toml"
    path.write_text(
        "date = 2026-01-01\n"
        + "\n".join(
            f'[models."scripted/{name}"]\ninput = 1.0\noutput = 5.0\ncache_write_5m = 1.0\ncache_write_1h = 1.0\n'
            "cache_read = 1.0\nbatch = 0.5\ncontext_window = 200_000"
            for name in ("judge", "reflection", "meta")
        )
    )
    return path


def padded(run: Transcript) -> Transcript:
    """The run with so much talk in it that a small window holds only a part."""
    return saying(run, "the weather is fine today " * 150)


def saying(run: Transcript, text: str) -> Transcript:
    """The run with something else said in every step of the model."""
    steps = tuple(
        replace(step, output=(*step.output, said(text))) if step.kind == "llm" else step for step in run.steps
    )
    return replace(run, steps=steps)


RUNS, GOLD = world(30)
TRAIN, DEV, HELD_OUT = RUNS[:10], RUNS[10:20], RUNS[20:]

Plain = tuple[SearchResult, Scripted, Scripted]


def found(
    folder: Path,
    judge: Scripted,
    reflection: Scripted,
    *,
    calls: int = 150,
    runs: list[Transcript] | None = None,
    gold: Gold = GOLD,
    judging: dict[str, Any] | None = None,
    **options: Any,
) -> SearchResult:
    """A search for TC, in an event loop of its own."""
    some = RUNS if runs is None else runs

    async def main() -> SearchResult:
        async with (
            bench(judge, rubrics(folder / "start"), **(judging or {})) as judges,
            bench(reflection) as other,
        ):
            budget = options.pop("budget", None) or Budget(calls)
            return await search(
                options.pop("dimensions", ["TC"]),
                train=some[:10],
                dev=some[10:20],
                gold=gold,
                bench=judges,
                reflection=other,
                budget=budget,
                **options,
            )

    return asyncio.run(main())


def judge_model() -> Scripted:
    return Scripted(judge_answer, "scripted/judge")


def reflection_model(answer: Callable[[Request], str] = reflection_answer) -> Scripted:
    return Scripted(answer, "scripted/reflection")


def written(folder: Path, candidate: Candidate) -> Path:
    write_rubrics(folder, candidate.rubrics)
    return folder


def recall_on(runs: list[Transcript], rubrics: Path, gold: Gold = GOLD) -> float:
    """Recall as `gpa evaluate --rubrics` and `gpa score` give it."""
    evaluation = evaluate(runs, dimensions=["TC"], model=judge_model(), judging=Judging(rubrics=rubrics))
    judged = score(evaluation, gold).judged["TC", 0]
    errors = sum(len(gold.by_trace[run.trace_id]) for run in runs)
    return sum(len(judged[run.trace_id].caught) for run in runs) / errors


def same(one: SearchResult, other: SearchResult) -> bool:
    return (one.candidates, one.best, one.calls, one.stopped) == (
        other.candidates,
        other.best,
        other.calls,
        other.stopped,
    )
