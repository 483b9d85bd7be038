"""A long run in parts: every step in exactly one, within the budget, and each part makes sense alone."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.ingest.agents import Agent
from gpa.ingest.dialects.call import Message, Tool
from gpa.ingest.render import to_tokens
from gpa.ingest.segments import outline, segments
from gpa.ingest.tokens import count_text
from gpa.ingest.transcript import Plan, Step, Transcript


def step(number: int, kind: str = "llm", parent: str = "", **fields: object) -> Step:
    label = f"s{number}"
    return Step(label, f"{number:016x}", (f"{number:016x}",), parent, "desk", kind, f"step {number}", **fields)  # type: ignore[arg-type]


def said(text: str) -> tuple[Message, ...]:
    return (Message("assistant", text),)


def run(*steps: Step, instructions: str = "Be kind.") -> Transcript:
    agent = Agent("desk", 1, "", (Message("system", instructions),), (Tool("look", "Looks up."),))
    return Transcript(
        "ab" * 16, "Find the opening hours.", (agent,), steps, (Plan("s1", "desk", "1. look 2. say", False),)
    )


def full(part: str) -> list[str]:
    """Labels of the steps that stand in a part in full."""
    body = re.split(r"\nPart \d+ of \d+: steps s\d+ to s\d+ in full\.\n", part)
    assert len(body) == 2
    heads = [line for line in body[1].split("\n") if line.startswith("[s") and "gave back: " not in line]
    return [label for line in heads for label in re.findall(r"\[(s\d+)\]", line)]


WORDS = "lorem ipsum dolor "
LONG = run(*(step(n, output=said(f"{n} says " + WORDS * (n % 7 * 20))) for n in range(1, 60)))


def test_a_run_that_fits_is_one_part_and_its_rendering() -> None:
    assert segments(LONG, 1_000_000) == [LONG.render()]


@pytest.mark.parametrize("budget", [900, 2_000, 6_000])
def test_every_step_stands_in_full_in_one_part(budget: int) -> None:
    parts = segments(LONG, budget)
    assert len(parts) > 1
    assert [label for part in parts for label in full(part)] == [step.label for step in LONG.steps]
    assert all(count_text(part) <= budget for part in parts)


def test_every_part_holds_what_one_needs_to_know() -> None:
    for number, part in enumerate(segments(LONG, 3_000), 1):
        assert part.startswith(
            f"trace {'ab' * 16}\nagent desk\n  instructions:\nBe kind.\n  tools:\n  look(): Looks up.\n"
        )
        assert (
            "Goal: Find the opening hours.\nPlan of desk in s1: 1. look 2. say\nOutline of the whole run:\n[s1] llm"
            in part
        )
        outlined = part.split("Outline of the whole run:\n")[1].split("\nPart ")[0]
        assert re.findall(r"^\[(s\d+)\]", outlined, re.MULTILINE) == [step.label for step in LONG.steps]
        assert f"\nPart {number} of " in part


def test_steps_that_fit_are_not_cut() -> None:
    parts = segments(LONG, 3_000)
    for step_ in LONG.steps:
        text = step_.output[0].text.strip()
        assert sum(text in part.split(" in full.\n")[1] for part in parts) >= 1


def test_a_step_longer_than_a_part_is_cut_inside_and_says_so() -> None:
    parts = segments(run(step(1, output=said("short")), step(2, output=said("x" * 100_000)), step(3)), 2_000)
    assert [full(part) for part in parts] == [["s1"], ["s2"], ["s3"]]
    assert re.search(r"x{500} \[\.\.\. \d\d,\d{3} characters left out \.\.\.\] x{500}", parts[1])
    assert all(count_text(part) <= 2_000 for part in parts)


def test_what_is_cut_is_told_by_step() -> None:
    cuts: list[tuple[str, int]] = []
    steps = (step(1, output=said("short")), step(2, output=said("x" * 100_000)))
    parts = segments(run(*steps), 2_000, on_cut=lambda label, count: cuts.append((label, count)))
    [(label, count)] = cuts
    assert label == "s2"
    assert abs(sum(part.count("x" * 10) for part in parts) * 10 + count - 100_000) < 200
    segments(LONG, 3_000, on_cut=lambda label, count: cuts.append((label, count)))
    assert len(cuts) == 1


def test_a_step_of_very_many_texts_is_cut_too() -> None:
    many = tuple(Message("user", f"{n} " + "y" * 300) for n in range(500))
    parts = segments(run(step(1, messages=many), step(2)), 3_000)
    assert all(count_text(part) <= 3_000 for part in parts)
    assert "characters left out" in parts[0]


def test_instructions_tools_and_plans_longer_than_a_part_are_cut() -> None:
    whole = run(*LONG.steps, instructions="z" * 200_000)
    parts = segments(whole, 2_000)
    assert all(count_text(part) <= 2_000 for part in parts)
    assert [label for part in parts for label in full(part)] == [step.label for step in LONG.steps]


def test_long_arguments_are_cut_as_other_texts_are() -> None:
    call = Message("assistant", "", "write", "", {"content": "w" * 50_000})
    parts = segments(run(step(1, "tool", messages=(call,)), step(2)), 1_500)
    assert all(count_text(part) <= 1_500 for part in parts)


def test_text_of_other_scripts_counts_for_what_it_is() -> None:
    whole = run(*(step(n, output=said("開館時間は九時から五時まで。" * 40)) for n in range(1, 20)))
    parts = segments(whole, 2_000)
    assert all(count_text(part) <= 2_000 for part in parts)
    assert [label for part in parts for label in full(part)] == [step.label for step in whole.steps]


def test_references_point_into_the_same_part() -> None:
    result = "The museum opens at nine and closes at five, on Mondays it stays closed all day. " * 3
    steps = []
    for n in range(1, 41, 2):
        steps.append(step(n, "tool", output=(Message("tool", f"{n} {result}"),)))
        steps.append(step(n + 1, messages=(Message("tool", f"{n} {result}"),)))
    for part in segments(run(*steps), 2_000):
        shown = set(full(part))
        assert set(re.findall(r"\(as in (s\d+)\)", part)) <= shown


def test_what_an_agent_gave_back_stands_in_the_part_of_the_agent() -> None:
    agent = step(1, "agent", output=said("all done"))
    parts = segments(run(agent, *(step(n, parent="s1", output=said(WORDS * 100)) for n in range(2, 12))), 2_000)
    assert [("[s1] gave back: all done" in part) for part in parts] == [True] + [False] * (len(parts) - 1)


def test_an_outline_gives_up_excerpts_before_steps() -> None:
    rich, poor = outline(LONG, 10_000), outline(LONG, 900)
    assert "[s6] llm step 6 by desk: 6 says lorem" in rich
    assert "[s6] llm step 6 by desk\n" in poor
    for lines in (rich, poor):
        assert re.findall(r"^\[(s\d+)\]", lines, re.MULTILINE) == [step.label for step in LONG.steps]


def test_an_outline_without_room_says_how_much_is_missing() -> None:
    lines = outline(LONG, 100)
    assert count_text(lines) <= 100
    assert "characters left out" in lines
    assert lines.endswith("\n")


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["agent", "llm", "tool", "retrieval", "other"]),
        st.text(max_size=30),
        st.integers(0, 400),
        st.booleans(),
    ),
    min_size=1,
    max_size=25,
)


@given(STEPS, st.integers(700, 3_000))
def test_no_run_loses_a_step_or_bursts_its_budget(drawn: list[tuple[str, str, int, bool]], budget: int) -> None:
    steps = tuple(
        step(
            n,
            kind,
            f"s{n - 1}" if nested and n > 1 else "",
            messages=(Message("user", text * times),),
            output=said(text),
        )
        for n, (kind, text, times, nested) in enumerate(drawn, 1)
    )
    parts = segments(run(*steps), budget)
    assert all(count_text(part) <= budget for part in parts)
    if len(parts) > 1:
        assert [label for part in parts for label in full(part)] == [one.label for one in steps]


@given(st.text(max_size=300), st.integers(30, 200))
def test_a_text_is_cut_to_its_tokens_with_the_mark(text: str, limit: int) -> None:
    cut = to_tokens(text, limit)
    assert count_text(cut) <= limit
    assert cut == text or "characters left out" in cut
