"""`assert_agent`: what it accepts, what it asserts, and what a failure shows."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpa.errors import UsageError
from gpa.ingest.assembly import read_traces
from gpa.ingest.transcript import transcribe
from gpa.testing import AgentAssertions, assert_agent, excerpt

FIXTURES = Path(__file__).parents[2] / "fixtures" / "traces"
PAYMENT = FIXTURES / "openinference-smolagents" / "invoice_payment.traces.jsonl"
SEAT = FIXTURES / "pydantic-ai" / "seat_change.traces.jsonl"


@pytest.fixture(scope="module")
def payment() -> AgentAssertions:
    return assert_agent(PAYMENT)


HOLDS: dict[str, Callable[[AgentAssertions], Any]] = {
    "no finding of a dimension": lambda agent: agent.no_findings("PQ"),
    "no graver finding": lambda agent: agent.no_findings("EE", severity="==HIGH"),
    "no finding of a check": lambda agent: agent.no_findings(check="repeated-call"),
    "no finding of a category": lambda agent: agent.no_findings(category="Timeout Issues"),
    "a score": lambda agent: agent.score("EE") >= 1,
    "a score, otherwise": lambda agent: (agent.score("ee") < 2, agent.score("EE") == 1, agent.score("LC") != 1),
    "a tool was called": lambda agent: agent.called("pay_invoice").called("pay_invoice", times=2),
    "a tool was not called": lambda agent: agent.not_called("delete_invoice", "refund"),
    "an answer": lambda agent: agent.answered("paid").answered(re.compile(r"\bpaid\b")),
    "counts": lambda agent: agent.at_most(steps=12, model_calls=10, tool_calls=10),
}
FAILS: dict[str, tuple[Callable[[AgentAssertions], Any], str]] = {
    "findings": (lambda agent: agent.no_findings(), "expected no findings with severity >=LOW, found 6 findings"),
    "of a dimension": (
        lambda agent: agent.no_findings("GF"),
        "expected no findings of GF with severity >=LOW, found 1",
    ),
    "at least that grave": (
        lambda agent: agent.no_findings(["LC", "GF"], severity="MEDIUM"),
        "expected no findings of LC GF with severity MEDIUM, found 3 findings",
    ),
    "graver": (lambda agent: agent.no_findings(severity=">MEDIUM"), "found 2 findings"),
    "of a check": (lambda agent: agent.no_findings(check="misread-value"), "found 1 finding"),
    "a score": (lambda agent: agent.score("TC") >= 2, "expected a score of TC Tool Calling >= 2, found 0"),
    "no score": (
        lambda agent: agent.score("PA") >= 2,
        "PA has no score: not applicable to trace b2df3a500320dfc65169120523737361: no plan in the trace",
    ),
    "no call": (
        lambda agent: agent.called("refund"),
        "expected at least one call of refund, found 0; the tools called are: read_invoice, pay_invoice",
    ),
    "other number": (lambda agent: agent.called("pay_invoice", times=1), "expected 1 call of pay_invoice, found 2"),
    "a call": (lambda agent: agent.not_called("pay_invoice"), "expected no call of pay_invoice, found one"),
    "another answer": (lambda agent: agent.answered("refunded"), "expected 'refunded' in the final answer, found "),
    "too many": (lambda agent: agent.at_most(tool_calls=2), "expected at most 2 tool calls, found "),
}


@pytest.mark.parametrize("holds", HOLDS.values(), ids=HOLDS.keys())
def test_what_holds_can_be_chained(payment: AgentAssertions, holds: Callable[[AgentAssertions], Any]) -> None:
    assert holds(payment)


@pytest.mark.parametrize(("fails", "said"), FAILS.values(), ids=FAILS.keys())
def test_what_does_not_hold_says_what_was_found(
    payment: AgentAssertions, fails: Callable[[AgentAssertions], Any], said: str
) -> None:
    with pytest.raises(AssertionError) as raised:
        fails(payment)
    assert said in str(raised.value).splitlines()[0]


def test_a_failure_shows_finding_quote_and_the_steps_around_it(payment: AgentAssertions) -> None:
    with pytest.raises(AssertionError) as raised:
        payment.no_findings(check="misread-value")
    text = str(raised.value)
    assert "HIGH LC TC misread-value\n  DE-77-1034 occurs nowhere before; what was read is DE-77-1043\n" in text
    cited = [line for line in text.splitlines() if line.startswith("> [s")]
    assert [line.partition(" by ")[0] for line in cited] == ["> [s8] llm scripted-model-1"]
    assert re.search(r"^  \[s7\] ", text, re.MULTILINE)
    assert re.search(r"^  \[s9\] ", text, re.MULTILINE)
    assert "[s2]" not in text


def test_an_excerpt_leaves_out_what_is_not_near() -> None:
    [trace] = read_traces(str(PAYMENT))
    text = excerpt(transcribe(trace), ["s3", "s11"], around=0)
    heads = re.findall(r"^[> ] \[(s\d+)\]", text, re.MULTILINE)
    assert heads == ["s3", "s11"]
    assert "\n  ...\n" in text


def test_whatever_holds_traces_is_accepted() -> None:
    [trace] = read_traces(str(SEAT))

    class Held:
        traces = (trace,)

    for run in (str(SEAT), SEAT, trace, transcribe(trace), Held(), [trace], iter([SEAT])):
        assert [one.trace_id for one in assert_agent(run).transcripts] == [trace.trace_id]
    with pytest.raises(UsageError, match="expected a trace, a transcript, a path or the gpa_trace fixture, found int"):
        assert_agent(3)  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="no trace to assert on"):
        assert_agent([])


def test_of_several_traces_each_has_to_hold_it() -> None:
    both = assert_agent([PAYMENT, SEAT])
    assert both.score("TC").values == (0, 1)
    assert float(both.score("TC")) == 0.5
    with pytest.raises(AssertionError, match="expected a score of TC Tool Calling >= 1, found 0"):
        assert both.score("TC") >= 1
    with pytest.raises(AssertionError, match="expected at least one call of pay_invoice, found 0"):
        both.called("pay_invoice")


@pytest.mark.parametrize("severity", ["GRAVE", "<=HIGH", ""])
def test_a_severity_that_is_none_is_an_error(payment: AgentAssertions, severity: str) -> None:
    with pytest.raises(UsageError, match="severity: expected one such as '>=MEDIUM'"):
        payment.no_findings(severity=severity)


def test_a_dimension_that_is_none_is_an_error(payment: AgentAssertions) -> None:
    with pytest.raises(UsageError, match=r"dimension: expected some of .*, found 'XX'"):
        payment.score("XX")
