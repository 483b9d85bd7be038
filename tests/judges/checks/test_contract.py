"""What every check promises, whatever the transcript holds."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gpa.ingest.assembly import read_traces
from gpa.ingest.dialects.call import Message
from gpa.ingest.history import canonical
from gpa.ingest.transcript import Plan, Step, Transcript, transcribe
from gpa.judges.checks import CHECKS
from gpa.judges.checks.check import Check
from gpa.judges.scoring import judge
from gpa.judges.verdict import CATEGORIES, DIMENSIONS, Failure
from tests.judges.checks.transcripts import SEARCH, call, llm, result, said, tool, transcript, user

FIXTURES = Path(__file__).parents[3] / "fixtures" / "traces"
each_check = pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)


@pytest.fixture(scope="module")
def recorded() -> list[Transcript]:
    return [transcribe(trace) for trace in read_traces([str(FIXTURES)], on_problem=lambda _: None)]


def deep(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = {"a": value}
    return value


NASTY = {
    "nothing": "",
    "control characters": "\x00\x1b[2J\ud800",
    "cut code": "```py\nsearch(",
    "fences": "```" * 500,
    "brackets": "(" * 5_000,
    "one word": "a" * 50_000,
    "a digit a line": "1\n" * 5_000,
    "long plan": "Plan:\n" + "1. Use the `search` tool to find the page\n" * 500,
    "intentions": "I will now ask the search " * 500,
    "open demands": "end your answer with '" * 500,
    "mandates": "You must always use search. " * 500,
    "open list": "only from the following list of modules: [" + "a, " * 900,
    "limits": "500 characters at a time, at most 3 words in the answer",
    "errors": "Error: " * 2_000,
    "numbers": "9" * 3_000 + " 1,2,3,4.5.6 1e999 \u0663\u0664",
    "assumptions": "assuming the file " * 800,
    "escapes": "\\" * 3_000 + '"' * 3_001,
    "recursion": "Traceback (most recent call last)\nRecursionError: maximum recursion depth exceeded",
}
ARGUMENTS = {
    "null": None,
    "list": [],
    "list of lists": [1, {"a": []}],
    "number": 7,
    "NaN": math.nan,
    "cut JSON": "{",
    "deep": deep(200),
    "wrong kinds": {"args": "x", "kwargs": 3},
    "no name": {"": {}},
}


def adversarial() -> Iterator[tuple[str, Transcript]]:
    """Transcripts made to break a reader: empty, long, contradictory, of the wrong types."""
    yield "empty", Transcript("t", "", (), ())
    yield "silent", transcript(llm())
    for name, text in NASTY.items():
        yield (
            name,
            transcript(
                llm(said(text), new=(user(text),)),
                llm(call("search", {"query": text}, "c1"), new=(result(text),)),
                tool("search", {"query": text}, text, error=text, call_id="c1"),
                llm(said(text), new=(Message("system", text), result(text, "c1"))),
                tools=(SEARCH,),
                system=text,
                plans=(Plan("s1", "main", text, replan=False), Plan("s4", "main", text, replan=True)),
            ),
        )
    for name, arguments in ARGUMENTS.items():
        yield (
            f"arguments: {name}",
            transcript(
                llm(call("search", arguments, "c1")),
                tool("search", arguments, "x", call_id="c1"),
                llm(call("final_answer", arguments), new=(result("x", "c1"),)),
                tools=(SEARCH,),
            ),
        )


def huge(steps: int) -> Transcript:
    work: list[Step] = []
    for number in range(steps):
        arguments = {"query": f"the population of town {number % 7} in the year {number}"}
        work += [
            llm(said(f"I will look up {number}"), call("search", arguments, f"c{number}")),
            tool("search", arguments, f"id-{number:06d} has {number} people", call_id=f"c{number}"),
        ]
    return transcript(*work, llm(said("It is 12 345.")), tools=(SEARCH,), system="Answer in at most 50 words.")


def everything(found: Transcript) -> str:
    """All text of a transcript without its white space: quotes may be cut, never reworded."""

    def leaves(value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            for item in value.values():
                yield from leaves(item)
        elif isinstance(value, list):
            for item in value:
                yield from leaves(item)
        elif isinstance(value, str):
            yield value

    texts = [found.goal, *(plan.text for plan in found.plans)]
    messages = [m for agent in found.agents for m in agent.system]
    for step in found.steps:
        messages += [*step.messages, *step.output]
        texts.append(step.error)
    texts += [message.text for message in messages]
    for message in messages:
        texts.append(canonical(message.arguments) if message.arguments is not None else "")
        texts += leaves(message.arguments)
    texts.append("the step's status is error")
    return squeezed("\n".join(texts))


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def promises(check: Check, found: Transcript) -> None:
    before = found.to_dict() if len(found.steps) < 50 else None
    hits = list(check.find(found))
    assert list(check.find(found)) == hits, "not deterministic"
    if before is not None:
        assert repr(found.to_dict()) == repr(before), "changes the transcript"
    text = everything(found) if hits else ""
    labels = {step.label for step in found.steps}
    for hit in hits:
        assert hit.labels, "cites nothing"
        assert set(hit.labels) <= labels, f"cites a step that is not there: {hit.labels}"
        assert len(set(hit.labels)) == len(hit.labels)
        assert hit.problem.strip()
        assert hit.severity in {"LOW", "MEDIUM", "HIGH"}
        assert squeezed(hit.quote) in text, f"quotes what is not there: {hit.quote[:200]!r}"


def test_names_are_unique_and_every_dimension_has_a_check() -> None:
    names = [check.name for check in CHECKS]
    assert len(set(names)) == len(names)
    assert {code for check in CHECKS for code in check.dimensions} == set(DIMENSIONS)


@each_check
def test_each_check_says_what_there_is_to_know(check: Check) -> None:
    assert re.fullmatch(r"[a-z]+(?:-[a-z]+)+", check.name)
    assert check.category in CATEGORIES
    assert check.dimensions
    assert all((check.about, check.why, check.severity, check.cited, check.false_alarms))
    assert f"`{check.name}`" in (check.find.__globals__["__doc__"]) or check.find.__name__ == "find"


@each_check
def test_recordings(check: Check, recorded: list[Transcript]) -> None:
    assert recorded
    for found in recorded:
        promises(check, found)


@pytest.mark.parametrize("found", [pytest.param(found, id=name) for name, found in adversarial()])
def test_adversarial(found: Transcript) -> None:
    for check in CHECKS:
        promises(check, found)


def test_huge() -> None:
    found = huge(1_500)
    for check in CHECKS:
        promises(check, found)


text = st.text(max_size=60) | st.sampled_from(list(NASTY.values())).map(lambda nasty: nasty[:200])
arguments = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(["search", "final_answer", "open_page", "", "x" * 80])
messages = st.lists(
    st.builds(
        Message,
        st.sampled_from(["user", "assistant", "system", "tool", "tool-response", "reasoning", ""]),
        text,
        tool_name=st.just("") | names,
        arguments=arguments,
        tool_call_id=st.sampled_from(["", "c1", "c2"]),
    ),
    max_size=3,
).map(tuple)
steps = st.builds(
    Step,
    st.just(""),
    st.just(""),
    st.just(()),
    st.sampled_from(["", "s1", "s2"]),
    st.sampled_from(["main", "helper", ""]),
    st.sampled_from(["llm", "llm", "tool", "agent", "other", "retrieval"]),
    names,
    messages=messages,
    output=messages,
    error=st.just("") | text,
    status=st.sampled_from(["unset", "ok", "error"]),
)


def nested(found: list[Step]) -> list[Step]:
    """The steps with parents that come before them, as in every transcript."""
    return [
        replace(step, parent=step.parent if step.parent and int(step.parent[1:]) < number else "")
        for number, step in enumerate(found, 1)
    ]


@given(st.lists(steps, max_size=8).map(nested), text, st.booleans())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_transcript_is_judged_and_nothing_breaks(found: list[Step], system: str, planned: bool) -> None:
    plans = tuple(Plan(f"s{n}", step.agent, system, replan=n > 1) for n, step in enumerate(found, 1) if planned)
    judged = transcript(*found, tools=(SEARCH,), system=system, plans=plans)
    for check in CHECKS:
        promises(check, judged)
    assert not any(isinstance(outcome, Failure) for outcome in judge(judged))
