"""The seven metrics and the one-shot comparison: the worked examples, each rule on a plan that breaks it, the edges."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.errors import InputError, UsageError
from gpa.plans.one_shot import RATINGS, compare, f_score, rating, similarity
from gpa.plans.palette import load_palette, phrases_in
from gpa.plans.plan import Plan
from gpa.plans.plan_reading import read_plan, try_plan
from gpa.plans.scoring import METRICS, Deduction, Judged, Metric, MetricScore, score_plan

PALETTE = load_palette(Path(__file__).parents[2] / "fixtures/plans/contact_centre.toml")

FETCH = "T2S([], 'Fetch interaction_ids of calls last week')"
WHY = "RAG((1), 'Why do customers call?')"
GOOD = {
    "1": {"step": FETCH, "depends_on": []},
    "2": {"step": WHY, "depends_on": [1]},
    "3": {"query": "LLM('Summarise (2) to answer (query)')", "depends_on": [2]},
}


def read(steps: dict[str, Any]) -> Plan:
    plan, _ = try_plan(steps)
    assert plan is not None
    return plan


def metric(steps: dict[str, Any] | Plan, name: Metric, **options: Any) -> MetricScore:
    plan = steps if isinstance(steps, Plan) else read(steps)
    return next(one for one in score_plan(plan, PALETTE, **options).metrics if one.metric == name)


def chain(*calls: str) -> dict[str, Any]:
    return {str(n): {"step": call, "depends_on": [n - 1] if n > 1 else []} for n, call in enumerate(calls, 1)}


def test_a_good_plan_loses_nothing_by_the_rules_and_its_answer_stays_unjudged() -> None:
    found = score_plan(read(GOOD), PALETTE)
    assert found.deductions == ()
    assert list(found.missing) == ["query_adherence", "tool_usage_completeness"]
    assert found.score == 100


def test_the_score_is_the_sum_of_points() -> None:
    plan = read(chain("LLM('a (query)')", "LLM('b (1)')", "LLM('c (2)')", "LLM('d (3)')"))
    judged = [
        Judged("tool_prompt_alignment", "m", (Deduction("1", "tool_prompt_alignment", "no"),)),
        Judged("query_adherence", "m", adherence=0.5),
        Judged("redundancy", "m", (Deduction("2", "redundancy", "no"),)),
    ]
    found = score_plan(plan, PALETTE, reference=plan, judged=judged)
    assert {one.metric: one.points for one in found.metrics} == {
        "tool_prompt_alignment": 15,
        "format": 20,
        "step_executability": 15,
        "query_adherence": 7.5,
        "dependencies": 10,
        "redundancy": 7.5,
        "tool_usage_completeness": 10,
    }
    assert found.score == 85.0
    equal = score_plan(plan, PALETTE, reference=plan, judged=judged, points=dict.fromkeys(METRICS, 1.0))
    assert equal.score == pytest.approx(85.714, abs=1e-3)


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        pytest.param(
            {"1": {"step": FETCH, "depends_on": []}, "2": {"step": "LLM('Summarise')", "depends_on": [1]}},
            "depends on step 1 and has no placeholder for it",
            id="no placeholder",
        ),
        pytest.param(chain(FETCH, "T2S((1, 2), 'Count calls')"), "found (1, 2)", id="two in one"),
        pytest.param(
            chain(FETCH, "LLM('Merge (tool 7) and (1)')"), "(tool 7) names no earlier step", id="unknown step"
        ),
        pytest.param(chain("LLM('Answer the query')"), "'the query' without (query)", id="the query"),
        pytest.param({"1": {"step": "LLM('Answer (query)", "depends_on": []}}, "not balanced", id="quotes"),
        pytest.param({"1": {"step": "Just think", "depends_on": []}}, "calls no tool", id="no tool"),
    ],
)
def test_a_step_that_is_not_well_formed_fails_format(steps: dict[str, Any], said: str) -> None:
    found = metric(steps, "format")
    assert said in " / ".join(one.reason for one in found.deductions)
    assert found.share < 1


def test_numbers_in_prose_are_no_placeholders() -> None:
    assert metric(chain("LLM('List the top (5) reasons for (query)')"), "format").deductions == ()


def test_a_prompt_outside_its_tool_fails_alignment() -> None:
    found = metric(chain("RAG([], 'Calls longer than ten minutes')", "SQL((1), 'count')"), "tool_prompt_alignment")
    assert [one.step for one in found.deductions] == ["1", "2"]
    assert found.deductions[0].reason == "RAG cannot filter by duration ('longer than')"


def test_more_than_three_triggers_cannot_be_executed() -> None:
    three = "T2S([], 'Call drivers, moments and sentiment')"
    four = "T2S([], 'Call driver, moments, sentiment and duration')"
    assert metric(chain(three), "step_executability").share == 1
    assert metric(chain(four), "step_executability").share == 0
    assert metric(chain(four.replace("T2S([], ", "LLM(")), "step_executability").share == 1


def test_a_result_used_without_a_dependency_costs_its_step() -> None:
    steps = {**GOOD, "3": {"query": "LLM('Merge (tool 1) and (2) for (query)')", "depends_on": [2]}}
    found = metric(steps, "dependencies")
    assert [(one.step, one.reason) for one in found.deductions] == [
        ("3", "uses the result of step 1 without depending on it")
    ]


def test_steps_that_lead_nowhere_are_redundant() -> None:
    steps = {
        "1": {"step": FETCH, "depends_on": []},
        "2": {"step": WHY, "depends_on": [1]},
        "3": {"step": "LLM('Answer (query)')", "depends_on": []},
    }
    found = metric(steps, "redundancy")
    assert [one.step for one in found.deductions] == ["1", "2"]
    assert found.points == pytest.approx(10 / 3)


def test_the_same_filter_twice_is_redundant_and_another_is_not() -> None:
    again = chain("T2S([], 'Calls of last week')", "T2S((1), 'Calls of last week')", "LLM('Say (2) for (query)')")
    other = chain("T2S([], 'Calls of last week')", "T2S((1), 'Calls with low scores')", "LLM('Say (2) for (query)')")
    assert [one.step for one in metric(again, "redundancy").deductions] == ["2"]
    assert metric(other, "redundancy").deductions == ()


PAIR = chain("RAG([], 'Why do they call?')", "T2S([], 'Why do they call?')", "LLM('Merge (1) and (2)')")


@pytest.mark.parametrize(
    ("calls", "points"),
    [
        pytest.param(("RAG([], 'Why do they call?')", "LLM('Say (1)')"), 5, id="one of two"),
        pytest.param(tuple(one["step"] for one in PAIR.values()), 10, id="both"),
        pytest.param(("RAG([], 'Something else entirely')", "LLM('Say (1)')"), 10, id="neither"),
    ],
)
def test_a_prompt_the_reference_gives_to_two_tools_goes_to_both_or_neither(
    calls: tuple[str, ...], points: float
) -> None:
    assert metric(chain(*calls), "tool_usage_completeness", reference=read(PAIR)).points == points


def test_a_reference_without_pairs_gives_all_points_or_none_to_give() -> None:
    full = score_plan(read(GOOD), PALETTE, reference=read(GOOD))
    left_out = score_plan(read(GOOD), PALETTE, reference=read(GOOD), no_pairs="exclude")
    assert "tool_usage_completeness" not in full.missing
    assert "tool_usage_completeness" in left_out.missing


def test_a_plan_that_cannot_be_read_has_no_points() -> None:
    plan, problems = try_plan("no plan at all")
    found = score_plan(plan, PALETTE, problems=problems)
    assert found.score == 0
    assert "expected a plan" in found.deductions[0].reason


def test_what_nobody_judged_is_neither_points_nor_a_zero() -> None:
    found = score_plan(read(GOOD), PALETTE, judged=[Judged("query_adherence", "m", adherence=0.0, explanation="off")])
    assert next(one for one in found.metrics if one.metric == "query_adherence").points == 0
    # Effectiveness has 55 of its 70 points; efficiency, of which one metric is missing, all of its 30.
    assert found.score == pytest.approx(85)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"judged": [Judged("redundancy", "m"), Judged("redundancy", "n")]}, "found two"),
        ({"judged": [Judged("query_adherence", "m", adherence=0.7)]}, "expected 0, 0.5 or 1"),
        ({"points": {"format": 1.0}}, "points: expected a number"),
    ],
    ids=["twice", "adherence", "points"],
)
def test_judgements_that_contradict_themselves_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        score_plan(read(GOOD), PALETTE, **options)


@given(st.lists(st.sampled_from([FETCH, WHY, "LLM('x (1)", "T2S((1, 2), 'a')", "nothing"]), min_size=1, max_size=6))
def test_every_share_stays_between_nothing_and_all(calls: list[str]) -> None:
    for one in score_plan(read(chain(*calls)), PALETTE).metrics:
        assert 0 <= one.share <= 1
        assert one.points == pytest.approx(one.out_of * one.share)


@pytest.mark.parametrize(
    ("sizes", "f1", "name"),
    [
        ((6, 6, 6), 1.0, "Extremely Good"),
        ((5, 6, 5), 0.9091, "Very Good"),
        ((4, 6, 4), 0.8, "Good"),
        ((2, 4, 2), 0.6667, "Acceptable"),
        ((6, 4, 3), 0.6, "Bad"),
        ((2, 4, 1), 0.3333, "Very Bad"),
    ],
)
def test_the_rating_follows_from_how_many_steps_match(sizes: tuple[int, int, int], f1: float, name: str) -> None:
    assert f_score(*sizes) == pytest.approx(f1, abs=1e-4)
    assert rating(f_score(*sizes)) == name


@pytest.mark.parametrize(
    ("f1", "name"), tuple(zip((0.95, 0.85, 0.75, 0.60, 0.45, 0.30), RATINGS[1:], strict=True)), ids=str
)
def test_an_f1_at_a_bound_has_the_lower_rating(f1: float, name: str) -> None:
    assert rating(f1) == name


def test_a_plan_matches_itself() -> None:
    found = compare(read(GOOD), read(GOOD), PALETTE)
    assert (found.f1, found.rating, found.buckets, found.differences) == (1.0, "Extremely Good", ("A+", "A", "B"), ())


def test_steps_match_however_they_are_numbered_unless_numbers_matter() -> None:
    swapped = {
        "1": {"step": "T2S([], 'Count calls of last week')", "depends_on": []},
        "2": {"step": FETCH, "depends_on": []},
        "3": {"step": "LLM('Merge (1) and (2)')", "depends_on": [1, 2]},
    }
    reference = {
        "1": {"step": FETCH, "depends_on": []},
        "2": {"step": "T2S([], 'Count calls of last week')", "depends_on": []},
        "3": {"step": "LLM('Merge (2) and (1)')", "depends_on": [2, 1]},
    }
    assert compare(read(swapped), read(reference), PALETTE).f1 == 1.0
    assert compare(read(swapped), read(reference), PALETTE, strict_index=True).f1 < 1


def test_a_step_that_needs_other_steps_does_not_match() -> None:
    other = {**GOOD, "3": {"query": "LLM('Summarise (2) to answer (query)')", "depends_on": [2, 1]}}
    found = compare(read(other), read(GOOD), PALETTE)
    assert found.matches == (("1", "1"), ("2", "2"))
    assert ("3", "is like step 3 but needs other steps and is not well formed") in [
        (one.step, one.reason) for one in found.differences
    ]
    # Looked at by itself, the plan lists what it uses; it is a placeholder that is missing.
    assert found.dependencies == 1
    assert found.placeholders == pytest.approx(2 / 3)


def test_pairs_that_a_model_names_are_taken_where_the_tools_agree() -> None:
    plan = read(chain("RAG([], 'What makes people phone us?')"))
    reference = read(chain("RAG([], 'Why do customers call?')"))
    assert compare(plan, reference, PALETTE).f1 == 0
    assert compare(plan, reference, PALETTE, matches=[("1", "1"), ("1", "9")]).f1 == 1
    other = read(chain("T2S([], 'Why do customers call?')"))
    assert compare(plan, other, PALETTE, matches=[("1", "1")]).f1 == 0


def test_a_plan_that_cannot_be_read_is_extremely_bad() -> None:
    found = compare(None, read(GOOD), PALETTE)
    assert (found.rating, found.f1, found.buckets) == ("Extremely Bad", 0.0, ())


def test_the_example_of_six_steps_has_four_hops() -> None:
    needs = {"1": [], "2": [1], "3": [2], "4": [3], "5": [3], "6": [4, 5]}
    plan = read_plan(
        {n: {"step": f"LLM('{' '.join(f'({d})' for d in deps)}')", "depends_on": deps} for n, deps in needs.items()}
    )
    assert (plan.hops(), plan.sinks) == (4, ("6",))


def test_phrases_are_found_in_nearly_the_same_words() -> None:
    assert phrases_in("Show the call driver by moment", ("call drivers", "moments", "sentiment")) == (
        "call drivers",
        "moments",
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "expected a palette of tools"),
        ('{"tools": [{"name": "a"}, {"name": "A"}]}', "more than once"),
        ('{"tools": [{"title": "a"}]}', "expected a palette"),
    ],
    ids=["cut", "twice", "field"],
)
def test_a_palette_that_is_none_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "palette.json"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        load_palette(path)


def test_references_of_a_form_without_depends_on_declare_themselves() -> None:
    bare = [{"tool": "RAG", "args": {"q": "Why?"}}, {"tool": "LLM", "args": {"text": "$0"}}]
    assert metric(read_plan(bare), "dependencies").deductions == ()
    brackets = {"1": {"step": FETCH, "depends_on": []}, "2": {"step": "LLM('Say (1)')", "depends_on": []}}
    assert [one.step for one in metric(brackets, "dependencies").deductions] == ["2"]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("LLM((1), 'Summarise')", "LLM sees only its prompt: (1) stands outside it"),
        ("T2S([], 'Count the calls in (1)')", "T2S takes results as an argument: (1) stands inside the prompt"),
    ],
    ids=["a language model", "a query"],
)
def test_placeholders_stand_where_the_tool_looks_for_them(call: str, said: str) -> None:
    assert said in [one.reason for one in metric(chain(FETCH, call), "format").deductions]


def test_a_tool_of_one_question_is_asked_one() -> None:
    found = metric(chain("RAG([], 'Why do they call? And who?')"), "step_executability")
    assert [one.reason for one in found.deductions] == ["asks RAG 2 questions, expected one"]


def test_a_text_that_had_to_be_mended_costs_one_step() -> None:
    plan, _ = try_plan(json.dumps(chain("LLM('a (query)')", "LLM('(1)')")).removesuffix("}"))
    assert plan is not None
    found = metric(plan, "format")
    assert found.share == 0.5
    assert found.deductions[0].step == ""


def test_a_metric_that_was_judged_in_vain_is_missing_with_its_reason() -> None:
    found = score_plan(read(GOOD), PALETTE, failed={"redundancy": "refusal: no"})
    assert found.missing["redundancy"] == "refusal: no"
    assert found.metric("redundancy") is None
    assert found.score == 100


def test_without_completeness_the_others_of_its_group_share_its_points() -> None:
    steps = {**GOOD, "4": {"step": "LLM('Also (query)')", "depends_on": []}}
    said = [Judged("query_adherence", "m", adherence=1.0)]
    found = score_plan(read(steps), PALETTE, reference=read(GOOD), judged=said, no_pairs="exclude")
    redundancy = found.metric("redundancy")
    assert redundancy is not None
    assert redundancy.share == 0.25
    assert found.score == pytest.approx(70 + 30 * (10 + 2.5) / 20)


def test_two_plans_of_equal_rank_are_compared_both_ways() -> None:
    one, other = read(GOOD), read(dict(list(GOOD.items())[:2]))
    there, back = compare(one, other, PALETTE), compare(other, one, PALETTE)
    found = similarity(there, back)
    assert (there.precision, back.precision) == (back.recall, there.recall)
    assert found.f1 == pytest.approx(0.8)
    assert (found.rating, found.adjudicate) == ("Good", True)
    misformed = read({"1": {"step": "LLM('Answer the query')", "depends_on": []}})
    alike = similarity(compare(misformed, misformed, PALETTE), compare(misformed, misformed, PALETTE))
    assert (alike.f1, alike.well_formed, alike.rating) == (1.0, False, "Extremely Bad")
