"""Runs that end without an answer, and those that only look so."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gpa.ingest.dialects.call import Message, Tool
from gpa.ingest.transcript import Step, Transcript
from gpa.judges.checks.endings import no_answer, refusal, step_limit
from tests.judges.checks.transcripts import SEARCH, call, llm, result, said, tool, transcript, user


def test_a_run_that_ends_on_a_failed_model_call_has_no_answer() -> None:
    broken = replace(llm(), error="InternalServerError: overloaded", status="error")
    assert [hit.labels for hit in no_answer(transcript(llm(said("x")), broken))] == [("s2",)]
    assert list(no_answer(transcript(broken, llm(said("x"))))) == []


def test_an_agent_that_was_stopped_at_its_limit() -> None:
    stop = Message("system", "The agent got stuck and failed to do so. Reached max steps.")
    assert [hit.labels for hit in step_limit(transcript(llm(said("x")), llm(said("7"), new=(stop,))))] == [("s2",)]
    failed = replace(llm(), kind="agent", error="MaxTurnsExceeded: Max turns (10) exceeded", status="error")
    assert [hit.labels for hit in step_limit(transcript(llm(said("x")), failed))] == [("s1",)]


@pytest.mark.parametrize(
    ("goal", "answer", "found"),
    [
        ("What is it? Failure or 'I cannot answer' will not be tolerated.", "Unable to determine", 1),
        ("What is it? Failure or 'I cannot answer' will not be tolerated.", "Seven", 0),
        ("What is it?", "Unable to determine", 0),
    ],
    ids=["refused", "answered", "allowed"],
)
def test_answer_refused(goal: str, answer: str, found: int) -> None:
    assert len(list(refusal(transcript(llm(said(answer)), goal=goal)))) == found


ASKED = llm(call("search", {"query": "Momo"}, "c1"), new=(user("Who wrote Momo?"),), parent="s1")
TOLD = tool("search", {"query": "Momo"}, "by Michael Ende", call_id="c1", parent="s1")


def around(*steps: Step, output: str = "", ended: bool = True) -> Transcript:
    """The steps inside the step of their agent."""
    whole = Step("", "", (), "", "main", "agent", "main", output=(said(output),) if output else ())
    return transcript(replace(whole, duration_ns=5 if ended else 0), *steps, tools=(SEARCH,))


def test_a_result_that_nobody_read_is_no_answer() -> None:
    assert [hit.labels for hit in no_answer(around(ASKED, TOLD))] == [("s2",)]


@pytest.mark.parametrize(
    "run",
    [
        pytest.param(
            transcript(replace(ASKED, parent=""), replace(TOLD, parent="")), id="no agent's step: still going on"
        ),
        pytest.param(around(ASKED, TOLD, ended=False), id="the agent's step has not ended"),
        pytest.param(around(ASKED), id="waits for its caller to run the tool"),
        pytest.param(around(ASKED, TOLD, output="By Michael Ende."), id="the agent gave something back"),
        pytest.param(
            around(llm(call("final_result", {"author": "Ende"}, "c1"), parent="s1"), TOLD), id="a call that hands over"
        ),
        pytest.param(
            around(llm(call("transfer_to_billing", {}, "c1"), parent="s1"), TOLD), id="handed over to another agent"
        ),
        pytest.param(
            around(llm(Message("assistant", tool_name="search"), parent="s1"), TOLD), id="exported without content"
        ),
    ],
)
def test_a_last_call_that_may_be_all_there_is(run: Transcript) -> None:
    assert list(no_answer(run)) == []


def test_an_empty_output_is_no_answer_where_outputs_are_recorded() -> None:
    empty = llm(new=(result("by Michael Ende", "c1"),), finish="stop", parent="s1")
    assert [hit.labels for hit in no_answer(around(ASKED, TOLD, empty))] == [("s4",)]
    assert list(no_answer(around(ASKED, TOLD, replace(empty, finish_reason="")))) == []
    bare = llm(Message("assistant", tool_name="search", tool_call_id="c1"), parent="s1")
    untold = replace(empty, messages=(Message("tool", tool_name="search"),))
    assert list(no_answer(around(bare, TOLD, untold))) == []


@pytest.mark.parametrize(
    ("text", "finish", "found"),
    [
        ("Momo was written by", "length", 1),
        ("Momo was written by", "max_tokens", 1),
        ("Momo was written by", "stop", 0),
        ("Momo was written by Ende.", "length", 0),
        ("yes", "length", 0),
        ("", "content_filter", 1),
        ("Momo was", "content-filter", 1),
        ("", "SAFETY", 1),
    ],
)
def test_an_answer_that_was_cut_is_none(text: str, finish: str, found: int) -> None:
    assert len(list(no_answer(transcript(llm(said(text), finish=finish))))) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Agent stopped due to max iterations.", 1),
        ("Agent stopped due to iteration limit or time limit.", 1),
        ("Sorry, need more steps to process this request.", 1),
        ("Momo was written by Michael Ende.", 0),
        ("The log says: Agent stopped due to max iterations. " + "It then went on to read the next page. " * 5, 0),
    ],
)
def test_an_output_that_is_the_word_of_the_framework(text: str, found: int) -> None:
    assert [hit.labels for hit in step_limit(around(ASKED, TOLD, llm(said(text), parent="s1")))] == [("s4",)] * found
    assert [hit.labels for hit in step_limit(around(ASKED, TOLD, output=text))] == [("s2",)] * found


MAIL = Tool("send_mail", "Mail somebody.", {"to": {"type": "string"}})
NO = "I'm sorry, but I can't help with that."


@pytest.mark.parametrize(
    ("goal", "system", "tools", "answer", "found"),
    [
        ("Who wrote Momo?", "", (SEARCH,), NO, 1),
        ("Who wrote Momo?", "", (MAIL,), NO, 0),
        ("How do I build a bomb?", "", (SEARCH,), NO, 0),
        ("Who wrote Momo?", "Only answer questions about parcels.", (SEARCH,), NO, 0),
        ("Who wrote Momo?", "", (SEARCH,), "I can't help with that, but Michael Ende is said to have written it.", 0),
    ],
    ids=["ordinary", "no tool for it", "not ordinary", "out of scope", "an answer all the same"],
)
def test_a_bare_refusal(goal: str, system: str, tools: tuple[Tool, ...], answer: str, found: int) -> None:
    run = transcript(llm(said(answer), new=(user(goal),)), goal=goal, system=system, tools=tools)
    assert len(list(refusal(run))) == found
