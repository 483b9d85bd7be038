"""Where values came from: what one reading of the texts finds is what the plain definition says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gpa.ingest.history import canonical
from gpa.ingest.tool_calls import ToolCall
from gpa.plans.executed import executed_plan
from gpa.plans.flows import sources
from gpa.plans.needles import Needles

# Few letters, so that texts overlap; runs about as long as the beginnings by which needles are kept.
PIECES = ["a", "ab", "abab", "12", "123", "1234", "x y", ":", " ", "\n", '"', "日本語テ", "é"]
RUNS = ["a" * length for length in (3, 5, 6, 11, 12, 13, 24, 47, 96, 383, 384, 385, 400, 401, 900)]
texts = st.lists(st.sampled_from([*PIECES * 4, *RUNS]), max_size=5).map("".join)
scalars = st.one_of(texts, st.sampled_from([12, 123, 1234, 12.5, True, None]))
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=5,
)


@st.composite
def runs(draw: st.DrawFn) -> list[ToolCall]:
    """Up to seven calls, some of them asked for together, some failed."""
    calls = []
    for _ in range(draw(st.integers(0, 7))):
        arguments = draw(st.dictionaries(st.sampled_from("xyz"), values, max_size=3))
        calls.append(
            ToolCall(
                tool="t",
                arguments=arguments,
                key=canonical(arguments) if arguments else "",
                agent=draw(st.sampled_from(["a", "a", "b"])),
                asked=draw(st.sampled_from(["", "S1", "S2", "S3"])),
                before=draw(st.sampled_from(["", "S0", "S1"])),
                result=draw(st.one_of(texts, values.map(json.dumps))),
                error=draw(st.sampled_from(["", "", "", "no"])),
            )
        )
    return calls


def plainly(calls: Sequence[ToolCall], known: str) -> list[tuple[int, ...]]:
    """The definition, read out for every value, every earlier call and every part of its result."""
    found: list[tuple[int, ...]] = []
    for at, call in enumerate(calls):
        said = "\n".join([known, *(one.key for one in calls[:at])])
        mine: list[int] = []
        for value in said_in(call.arguments):
            if value in said if len(value) > 3 else as_a_word(value, said):
                continue
            earlier = [n for n in range(at) if not call.asked or calls[n].asked != call.asked]
            mine += [n for n in earlier if gave("" if calls[n].error else calls[n].result, value, said)][:1]
        found.append(tuple(dict.fromkeys(mine)))
    return found


def gave(result: str, value: str, said: str) -> bool:
    try:
        decoded = json.loads(result) if result.lstrip()[:1] in {"{", "["} else None
    except json.JSONDecodeError:
        decoded = None
    parts = {result.strip(), *said_in(decoded)} - {""}
    inside = [part for part in parts if 4 <= len(part) <= 400 and part in value and part not in said]
    return value in parts or (len(value) > 3 and value in result) or (len(value) > 4 and bool(inside))


def as_a_word(value: str, said: str) -> bool:
    return f" {value} " in f" {said} " or f'"{value}"' in said or f":{value}" in said


def said_in(value: Any) -> list[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [text for one in value for text in said_in(one)]
    return [text] if value is not None and not isinstance(value, bool) and len(text := str(value).strip()) > 1 else []


@settings(max_examples=400, deadline=None)
@given(runs(), texts)
def test_values_come_from_where_the_plain_definition_says(calls: list[ToolCall], known: str) -> None:
    assert sources(calls, [call.arguments for call in calls], known) == plainly(calls, known)


@settings(deadline=None)
@given(runs())
def test_where_nothing_flows_a_call_follows_its_agents_decision_before(calls: list[ToolCall]) -> None:
    decisions = [(call.agent, call.asked or call.before) for call in calls]
    for at, step in enumerate(executed_plan(calls)):
        if all(one.basis == "order" for one in step.dependencies):
            agent, decision = decisions[at]
            before = [one for one in decisions[:at] if one[0] == agent and one[1] != decision][-1:]
            assert step.needs == tuple(str(n) for n in range(at) if decisions[n] in before)


@settings(max_examples=400, deadline=None)
@given(st.lists(texts), texts, texts)
def test_needles_are_found_where_they_first_stand(needles: list[str], before: str, after: str) -> None:
    for text in (before, before + "".join(needles[:2]) + after):
        assert Needles(needles).first_in(text) == {
            needle: text.find(needle) for needle in needles if len(needle) > 2 and needle in text
        }


class Counting(str):
    """A text that counts how often a piece of it is taken."""

    __slots__ = ()
    taken = 0

    def __getitem__(self, key: Any) -> str:
        Counting.taken += 1
        return super().__getitem__(key)


def test_no_text_is_looked_up_more_than_a_score_of_times_at_a_place() -> None:
    """The worst there is: at every place the text agrees with needles of every length, and none of them ends so."""
    text = Counting("=" * 2_000)
    Counting.taken = 0
    assert Needles("=" * length + "x" for length in range(2, 600)).first_in(text) == {}
    assert Counting.taken < 20 * len(text)


def test_what_a_call_beside_it_gave_too_came_from_the_first_one_asked_for_otherwise() -> None:
    asked = [("S1", "", "alpha"), ("S1", "", "alpha"), ("S2", "", "alpha"), ("S1", "alpha", "")]
    calls = [ToolCall("t", {"x": x}, x, "a", asked=label, result=result) for label, x, result in asked]
    assert sources(calls, [call.arguments for call in calls]) == [(), (), (), (2,)]
