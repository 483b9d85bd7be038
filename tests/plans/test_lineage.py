"""Lineages of plans: tags, differences, figures; plans in words; what agents of a trace planned, in order."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.ingest.assembly import read_traces
from gpa.ingest.transcript import Plan as Stated
from gpa.ingest.transcript import Transcript, transcribe
from gpa.plans.lineage import TITLES, Diagnosis, Lineage, Remark, Revision, Tag, plan_diff, plan_key, read_tag
from gpa.plans.palette import Palette, PaletteTool
from gpa.plans.plan import Plan
from gpa.plans.plan_reading import read_plan
from gpa.plans.prose import read_prose
from gpa.plans.replans import replans

TRAIL = Path(__file__).parents[3] / "shared" / "data" / "trail" / "gaia" / "traces"
PALETTE = Palette(
    (
        PaletteTool("search", "finds pages", triggers=("topics", "prices"), max_triggers=1),
        PaletteTool("visit", "reads a page"),
    )
)


def plan_of(steps: dict[str, list[int]]) -> Plan:
    return read_plan(
        {key: {"step": f"search('{key}')" if int(key) % 2 else f"visit('{key}')", "depends_on": needs}
         for key, needs in steps.items()}
    )  # fmt: skip


# Tags


@pytest.mark.parametrize("tag", TITLES)
def test_a_tag_is_read_from_its_code_and_from_its_title(tag: Tag) -> None:
    assert read_tag(tag) == read_tag(TITLES[tag]) == read_tag(f" {TITLES[tag].lower()}.") == tag


@pytest.mark.parametrize("text", ["", "INCORRECT", "CHANGE", "NOCHANGE COMPLEXPROMPT", "..."])
def test_anything_else_is_no_tag(text: str) -> None:
    assert read_tag(text) is None


def test_only_a_lone_nochange_leaves_a_step_as_it_is() -> None:
    assert Diagnosis((Remark("a", "NOCHANGE"), Remark("b", "NOCHANGE"))).is_clean
    assert not Diagnosis((Remark("a", "NOCHANGE"), Remark("b", "COMPLEXPROMPT"))).is_clean
    assert not Diagnosis(()).is_clean


# Differences


def test_the_order_in_which_dependencies_are_listed_makes_no_other_plan() -> None:
    one, other = plan_of({"1": [], "2": [], "3": [1, 2]}), plan_of({"1": [], "2": [], "3": [2, 1]})
    assert plan_key(one) == plan_key(other)
    assert plan_key(one) != plan_key(plan_of({"1": [], "2": [], "3": [1]}))


def test_a_diff_names_the_steps_that_changed_and_no_others() -> None:
    diff = plan_diff(plan_of({"1": [], "2": [1], "3": [2]}), plan_of({"1": [], "2": [], "3": [2]}), ("a", "b"))
    assert [line[:4] for line in diff.splitlines()] == ["--- ", "+++ ", "@@ -", '-"2"', '+"2"']
    assert plan_diff(plan_of({"1": []}), plan_of({"1": []})) == ""


@given(st.lists(st.sampled_from("ab"), min_size=1, max_size=4), st.lists(st.sampled_from("ab"), min_size=1, max_size=4))
def test_plans_have_a_diff_exactly_when_their_keys_differ(one: list[str], other: list[str]) -> None:
    first, second = (
        {str(n): {"step": f"search('{w}')", "depends_on": []} for n, w in enumerate(p, 1)} for p in (one, other)
    )
    before, after = read_plan(first), read_plan(second)
    assert (plan_diff(before, after) == "") == (plan_key(before) == plan_key(after)) == (one == other)


# Figures


def test_the_figures_of_a_lineage() -> None:
    first, second = plan_of({"1": [], "2": [1], "3": [2]}), plan_of({"1": []})
    revisions = (Revision("", 1), Revision("", 1), Revision("", 3))
    meta = Lineage((first, second, first, second), revisions, "max_passes", 3).meta
    assert (meta.distinct_plans, meta.passes, meta.accepted_per_pass) == (2, 3, (2, 0, 1))
    assert (meta.steps, meta.tools, meta.hops) == ((3, 1), (2, 1), (2, 0))


# Plans in words


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("Plan:\n1. Look it up.\n2. Answer.", ["Look it up.", "Answer."]),
        ("1) one\n2) two", ["one", "two"]),
        ("Step 1: one\nStep 2: two", ["one", "two"]),
        ("**1.** one\n**2.** two", ["one", "two"]),
        ("- one\n* two\n\u2022 three", ["one", "two", "three"]),
        ("- one [completed]\n- two [in_progress]", ["one", "two"]),
        ("1. one\n   goes on\n2. two", ["one goes on", "two"]),
        ("1. one:\n   - a\n   - b\n2. two", ["one: - a - b", "two"]),
        ("## 1. Facts\nGiven: x\n\n## 2. Plan\n1. one\n2. two\n3. three\n<end_plan>", ["one", "two", "three"]),
        ("1. fact\n\n1. one\n2. two\n\nThat is all.", ["one", "two"]),
        ("3. three\n4. four", ["three", "four"]),
    ],
)
def test_a_list_in_words_is_a_plan(text: str, items: list[str]) -> None:
    plan = read_prose(text)
    assert plan is not None
    assert [step.instruction for step in plan] == items
    assert [step.id for step in plan] == [str(number) for number in range(1, len(items) + 1)]
    assert [(one.step, one.basis) for step in plan for one in step.dependencies] == [
        (str(number), "order") for number in range(1, len(items))
    ]


@pytest.mark.parametrize("text", ["", "I will look it up and answer.", "-1 degrees", "1.5 litres of it"])
def test_a_text_without_a_list_is_none(text: str) -> None:
    assert read_prose(text) is None


@pytest.mark.parametrize(
    ("item", "tool"),
    [
        ("Use the search tool", "search"),
        ("Use `Search` for it", "search"),
        ("research the matter", ""),
        ("search_web for it", ""),
        ("search, then visit", ""),
    ],
)
def test_a_step_in_words_has_a_tool_where_it_names_exactly_one(item: str, tool: str) -> None:
    plan = read_prose(f"1. {item}", ["search", "visit"])
    assert plan is not None
    assert plan.steps[0].tool == tool


@given(st.text(alphabet="1.-#*) \nab\t", max_size=80))
def test_no_text_makes_it_fail(text: str) -> None:
    plan = read_prose(text, ["a"])
    assert plan is None or all(step.instruction.strip() for step in plan)


# What agents planned


def transcript(*stated: tuple[str, str, str]) -> Transcript:
    return Transcript(
        "t1", "goal", (), (), tuple(Stated(label, agent, text, replan=False) for label, agent, text in stated)
    )


def structured(*prompts: str) -> str:
    steps = {}
    for number, prompt in enumerate(prompts, 1):
        needs = [number - 1] if number > 1 else []
        steps[str(number)] = {"step": f"search('{prompt}{f' ({number - 1})' * bool(needs)}')", "depends_on": needs}
    return json.dumps(steps)


def test_each_agent_has_a_lineage_of_its_own_and_a_repeated_plan_counts_once() -> None:
    first, second = structured("topics and prices"), structured("topics", "prices")
    run = transcript(("s1", "a", first), ("s2", "b", second), ("s3", "a", first), ("s4", "a", second))
    one, other = replans(run, PALETTE)
    assert (one.agent, [version.label for version in one.versions], one.restated) == ("a", ["s1", "s4"], 1)
    assert (other.agent, len(other.versions), other.lineage.revisions) == ("b", 1, ())
    assert (one.lineage.status, one.lineage.meta.distinct_plans, one.lineage.meta.steps) == ("replanned", 2, (1, 2))
    (revision,) = one.lineage.revisions
    assert revision.step == "s4"
    assert revision.diff.splitlines()[:2] == ["--- s1", "+++ s4"]
    # asks for two kinds of things at once at first: a deduction of the rules, gone in the second plan
    judged = [version.score.metric("step_executability") for version in one.versions]
    assert [score.share for score in judged if score is not None] == [0.0, 1.0]


def test_a_plan_in_words_is_not_held_to_a_form_it_does_not_use() -> None:
    (one,) = replans(transcript(("s1", "a", "1. Use search for topics\n2. Read")), PALETTE)
    (version,) = one.versions
    assert version.in_words
    assert {score.metric for score in version.score.metrics} == {"tool_prompt_alignment", "step_executability"}
    assert version.score.missing["format"] == "the plan is stated in words: it names no results"


def test_a_plan_in_words_that_names_no_tool_has_nothing_to_score() -> None:
    (one,) = replans(transcript(("s1", "a", "1. Think\n2. Answer")), PALETTE)
    assert one.versions[0].score.score is None


def test_words_are_compared_as_words_and_a_change_of_form_as_steps() -> None:
    words = "1. Look\n2. Answer"
    run = transcript(("s1", "a", words), ("s2", "a", "1. Look\n2. Ask\n3. Answer"), ("s3", "a", structured("x")))
    (one,) = replans(run, PALETTE)
    first, second = (revision.diff.splitlines()[3:] for revision in one.lineage.revisions)
    assert first == ["+Ask"]
    assert second[0].startswith('-"1": {')


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("I shall see.", "it is neither steps nor a list"),
        (json.dumps({"1": {"step": "search('x')", "depends_on": [2]}}), "found '2'"),
    ],
)
def test_what_is_no_plan_is_said_and_no_version(text: str, why: str) -> None:
    (one,) = replans(transcript(("s1", "a", text)), PALETTE)
    assert one.versions == ()
    assert one.unread[0].label == "s1"
    assert why in one.unread[0].why


@pytest.mark.skipif(not TRAIL.is_dir(), reason="the recordings are not here")
def test_real_agents_that_replan_have_lineages() -> None:
    found = [one for trace in read_traces([str(TRAIL)]) for one in replans(transcribe(trace), PALETTE)]
    assert max(len(one.versions) for one in found) > 2
    assert all(len(one.lineage.revisions) == len(one.versions) - 1 for one in found if one.versions)
    assert not [one.unread for one in found if one.unread]
