"""A store with everything a report has to show: recorded traces, what checks and a model say of them, hostile text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from gpa.evaluation import evaluate
from gpa.ingest.transcript import Transcript
from gpa.judges.verdict import AnyResult, Failure, Finding, NotApplicable, Severity, Usage, Verdict
from gpa.store import open_store, transcript_hash
from tests.judges.checks.transcripts import call, llm, said, tool, transcript, user

FIXTURES = Path(__file__).parents[2] / "fixtures" / "traces"
MODEL = "anthropic/claude-sonnet-5-5"
INVOICE = "b2df3a500320dfc65169120523737361"
"""Trace of the fixtures in which an invoice is said to be paid and is not."""

MARKUP = '<img src=x onerror="alert(1)"><b>bold</b></script><script>alert(2)</script>'
LINK = "[here](javascript:alert(3)) javascript:alert(4)"
REORDERED = "access\u202e nimda \u2066is\u2069 granted\u200b"
LONG_LINE = "x" * 500_000 + " needle " + "y" * 500_000
HOSTILE = "d" * 32
"""Trace in which every text tries to be more than a text."""


def hostile() -> Transcript:
    """That trace."""
    made = transcript(
        llm(
            said(f"{MARKUP} {LINK}"),
            call("search", {"query": MARKUP}),
            new=(user(f"{MARKUP}\n{REORDERED}"),),
            agent=MARKUP,
        ),
        tool("search", {"query": MARKUP}, LONG_LINE, agent=MARKUP),
        tool("</script><script>alert(5)</script>", {"a": "\u202e"}, error=f"{MARKUP} \x1b[31mred\x00", agent=MARKUP),
        llm(said("]]>--></noscript></style><svg onload=alert(6)>"), agent=MARKUP),
        trace_id=HOSTILE,
        goal=f"{MARKUP} {REORDERED}",
    )
    steps = tuple(replace(step, start_ns=(n + 1) * 10**9, duration_ns=10**9) for n, step in enumerate(made.steps))
    return replace(made, steps=steps, warnings=(MARKUP,), final_answer=MARKUP)


def hostile_results() -> list[AnyResult]:
    """Judgements of it whose own words are no better."""
    findings = (
        Finding(span_ids=("span1",), quote=MARKUP, problem=f"{MARKUP} {REORDERED}", category=MARKUP, severity="HIGH"),
        Finding(span_ids=("span2",), quote="needle", problem="deep inside", category="Tool-related", severity="LOW"),
    )
    common: dict[str, Any] = {"trace_id": HOSTILE, "model": MODEL, "cost_usd": 0.01}
    return [
        Verdict(judge="LC", score=0, rationale=MARKUP, findings=findings, **common),
        Failure(judge="EE", error_type=MARKUP, message=LINK, **common),
    ]


def model_results(span: str) -> list[AnyResult]:
    """What a model says of the invoice: findings of its own, a confirmed check, one without ground, one taken back."""
    own = Finding(
        span_ids=(span,),
        quote="is paid: 418.60",
        problem="The invoice is reported as paid although both attempts failed.",
        category="Goal Deviation",
        severity="HIGH",
    )
    nowhere = own.model_copy(
        update={"span_ids": (), "quote": "", "problem": "The supplier was never told.", "severity": "LOW"}
    )
    confirmed = own.model_copy(update={"check": "claimed-success", "category": "Tool-related", "quote": "paid"})
    invented = own.model_copy(update={"quote": "the moon is made of cheese", "grounded": False, "severity": "MEDIUM"})
    muted = own.model_copy(update={"problem": "Not polite. (muted: no rule)", "severity": "LOW"})
    common: dict[str, Any] = {
        "trace_id": INVOICE,
        "model": MODEL,
        "rubric_hash": "r1",
        "usage": Usage(input_tokens=2_000, output_tokens=300),
        "cost_usd": 0.012,
    }
    return [
        Verdict(
            judge="GF", score=0, rationale="Nothing was paid.", findings=(own, nowhere), suppressed=(muted,), **common
        ),
        Verdict(judge="TC", score=1, rationale="Two failed calls.", findings=(confirmed, invented), **common),
        NotApplicable(judge="PA", reason="no plan in the trace", **common),
    ]


def write_store(path: Path, *, traces: Path = FIXTURES / "openinference-smolagents") -> Path:
    """The store: recorded traces judged by checks, the invoice by a model too, and the hostile trace."""
    evaluate(traces, store=path)
    with open_store(path) as store:
        [invoice] = [one for one in store.transcripts() if one.trace_id == INVOICE]
        answer = next(step.span_id for step in reversed(invoice.steps) if step.kind == "llm")
        store.save(invoice, transcript_hash(invoice), model_results(answer))
        trap = hostile()
        store.save(trap, transcript_hash(trap), hostile_results())
    return path


def talk(trace_id: str, *, steps: int = 1, text: str = "Hello.") -> Transcript:
    """A transcript of model calls that say something."""
    return transcript(*(llm(said(f"{text} {n}")) for n in range(steps)), trace_id=trace_id)


def finding(severity: Severity = "HIGH", **fields: Any) -> Finding:
    """A finding at the first step."""
    known = {"span_ids": ("span1",), "quote": "q", "problem": "p", "category": "Tool-related", "severity": severity}
    return Finding(**{**known, **fields})


def verdict(judge: str, *findings: Finding, score: int = 1, **fields: Any) -> Verdict:
    """What the checks say of the trace `t`."""
    known = {"trace_id": "t", "model": "checks", "rationale": "r"}
    return Verdict(judge=judge, score=score, findings=findings, **{**known, **fields})
