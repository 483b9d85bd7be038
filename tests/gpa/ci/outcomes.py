"""Outcomes for the tests of what CI systems read: real traces, and one that is full of what breaks readers."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from gpa.ci.outcome import FailOn, Outcome
from gpa.evaluation import Evaluation, evaluate
from gpa.ingest.assembly import read_traces
from gpa.ingest.transcript import transcribe
from gpa.judges.verdict import Failure, Finding, NotApplicable, Verdict
from gpa.locations import Location, Recorded, Traced, traced
from gpa.regression import compare

FIXTURES = Path(__file__).parents[3] / "fixtures" / "traces"
HOSTILE = (
    "\x00\x07\x1b[31m \ud800 \ufffe \u202e ]]> <script>alert(1)</script> & \"'|`@here #1 [x](javascript:x) "
    "%0A::error::no\r\n::set-env name=A::b ##[error]no \u2028 é 漢 :smile: https://example.com www.example.com"
)


@cache
def fixtures() -> Recorded:
    """Every trace of the fixtures, judged by the checks."""
    transcripts = [transcribe(trace) for trace in read_traces(str(FIXTURES))]
    return Recorded(evaluate(transcripts), {one.trace_id: traced(one) for one in transcripts})


def hostile() -> Recorded:
    """One trace in which every text is hostile, judged by a model: a score, not applicable, a failure, a muted one."""
    finding = Finding(
        span_ids=("a1", "b2"),
        quote=HOSTILE,
        problem=HOSTILE,
        category=HOSTILE,
        severity="HIGH",
        grounded=False,
    )
    verdict = Verdict(
        trace_id=HOSTILE,
        judge="TC",
        model=HOSTILE,
        score=1,
        rationale=HOSTILE,
        findings=(finding, finding.model_copy(update={"span_ids": ()})),
        suppressed=(finding.model_copy(update={"problem": f"{HOSTILE} (muted)"}),),
    )
    results = (
        verdict,
        NotApplicable(trace_id=HOSTILE, judge="PA", model="m", reason=HOSTILE),
        Failure(trace_id=HOSTILE, judge="LC", model="m", error_type=HOSTILE, message=HOSTILE),
    )
    location = Location("s1", HOSTILE, "tool", HOSTILE)
    return Recorded(Evaluation(results), {HOSTILE: Traced(HOSTILE, HOSTILE, {"a1": location})})


def outcome(
    run: Recorded, *fail_on: FailOn, baseline: Recorded | None = None, fail_under: float | None = None
) -> Outcome:
    """The outcome of a run."""
    regression = None if baseline is None else compare(baseline, run)
    return Outcome(run, regression, fail_under, fail_on, "traces/run.jsonl")


def part(run: Recorded, keep: int) -> Recorded:
    """A baseline: the same run without the findings of every `keep`-th result."""
    results = tuple(
        result.model_copy(update={"findings": (), "score": 3})
        if isinstance(result, Verdict) and number % keep == 0
        else result
        for number, result in enumerate(run.evaluation.results)
    )
    return Recorded(Evaluation(results), run.traces)


EMPTY = Recorded(Evaluation(()))
