"""The loop over a plan's steps: in which order it looks, when it stops, and what it keeps of the way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.errors import UsageError
from gpa.optimize.lineage import INVALID, Evaluate, Fault, Limits, Progress, Proposal, Repair, refine
from gpa.plans.lineage import Diagnosis, Lineage, Remark, Tag, plan_key
from gpa.plans.plan import Plan, PlanStep
from gpa.plans.plan_reading import read_plan
from gpa.plans.plan_text import step_text

CLEAN = Diagnosis((Remark("nothing", "NOCHANGE"),))


def plan_of(*prompts: str) -> Plan:
    return read_plan(
        [{"id": str(n), "step": f"LLM('{prompt}')", "depends_on": []} for n, prompt in enumerate(prompts, 1)]
    )


def prompts(plan: Plan) -> list[str]:
    return [step.instruction for step in plan]


def wrong(tag: Tag = "COMPLEXPROMPT") -> Diagnosis:
    return Diagnosis((Remark("because", tag),))


class Script:
    """Evaluator and optimiser by rules: which prompts are at fault, and what a plan becomes. Keeps what was asked."""

    def __init__(
        self, faulty: Callable[[str], Diagnosis | Fault], rewrite: Callable[[list[str], int], list[str] | Fault]
    ) -> None:
        self.faulty, self.rewrite = faulty, rewrite
        self.asked: list[str] = []

    async def evaluate(self, step: PlanStep, _needed: tuple[PlanStep, ...]) -> Diagnosis | Fault:
        self.asked.append(step.instruction)
        return self.faulty(step.instruction)

    async def repair(self, plan: Plan, step: PlanStep, _diagnosis: Diagnosis) -> Proposal | Fault:
        made = self.rewrite(prompts(plan), [one.id for one in plan].index(step.id))
        return made if isinstance(made, Fault) else Proposal(plan_of(*made), "did it", "none")

    def run(self, plan: Plan, limits: Limits | None = None) -> Lineage:
        return asyncio.run(refine(plan, self.evaluate, self.repair, limits))


def at_fault(*faulty: str) -> Callable[[str], Diagnosis | Fault]:
    return lambda prompt: wrong() if prompt in faulty else CLEAN


def split(steps: list[str], at: int) -> list[str]:
    return [*steps[:at], *steps[at].split("+"), *steps[at + 1 :]]


def toggled(steps: list[str], at: int) -> list[str]:
    return [*steps[:at], {"x": "y", "y": "x"}[steps[at]], *steps[at + 1 :]]


# The termination cases of tool-aware planning, h.7


def test_a_step_that_asks_too_much_is_split_and_the_next_pass_is_clean() -> None:
    script = Script(at_fault("a+b"), split)
    lineage = script.run(plan_of("a+b", "c"))
    assert [prompts(plan) for plan in lineage.plans] == [["a+b", "c"], ["a", "b", "c"]]
    assert (lineage.passes, lineage.status) == (2, "clean")
    # the length changed, so the same place is looked at again; then the whole plan once more
    assert script.asked == ["a+b", "a", "b", "c", "a", "b", "c"]
    (revision,) = lineage.revisions
    assert (revision.pass_number, revision.step, revision.tags) == (1, "1", ("COMPLEXPROMPT",))
    assert (revision.reasons, revision.change0, revision.change1) == (("because",), "did it", "none")
    assert revision.diff.splitlines() == [
        "--- plan 1",
        "+++ plan 2",
        "@@ -1,2 +1,3 @@",
        *(f"-{step_text(step)}" for step in lineage.first),
        *(f"+{step_text(step)}" for step in lineage.last),
    ]


def test_a_plan_that_toggles_for_ever_stops_after_four_passes_with_five_plans() -> None:
    lineage = Script(at_fault("x", "y"), toggled).run(plan_of("x"))
    assert [prompts(plan) for plan in lineage.plans] == [["x"], ["y"], ["x"], ["y"], ["x"]]
    assert (lineage.passes, lineage.status) == (4, "max_passes")
    assert lineage.meta.distinct_plans == 2
    assert lineage.meta.accepted_per_pass == (1, 1, 1, 1)


def test_an_optimiser_that_gives_the_same_plan_ends_it_after_one_pass() -> None:
    lineage = Script(at_fault("a"), lambda steps, _at: steps).run(plan_of("a", "b"))
    assert (len(lineage.plans), lineage.passes, lineage.status) == (1, 1, "clean")
    assert [(visit.step, visit.outcome) for visit in lineage.visits] == [("1", "same"), ("2", "kept")]


@pytest.mark.parametrize(("limits", "edits"), [(Limits(), 13), (Limits(max_edits=4), 4), (Limits(max_edits=0), 0)])
def test_a_plan_that_always_grows_stops_by_the_cap(limits: Limits, edits: int) -> None:
    lineage = Script(lambda _prompt: wrong(), lambda steps, _at: [*steps, "more"]).run(plan_of("a"), limits)
    assert (len(lineage.revisions), lineage.passes, lineage.status) == (edits, 1, "capped")
    assert lineage.message == f"{edits} edits in pass 1, and step 1 wants another"


def test_as_many_edits_as_the_cap_allows_are_no_reason_to_stop() -> None:
    lineage = Script(at_fault("x"), lambda steps, at: [*steps[:at], "done", *steps[at + 1 :]]).run(
        plan_of("x", "x"), Limits(max_edits=2)
    )
    assert (len(lineage.revisions), lineage.status) == (2, "clean")


# Other stops


def test_a_plan_that_was_there_before_ends_it_where_that_is_asked_for() -> None:
    lineage = Script(at_fault("x", "y"), toggled).run(plan_of("x"), Limits(stop_on_repeat=True))
    assert [prompts(plan) for plan in lineage.plans] == [["x"], ["y"]]
    assert (lineage.status, lineage.visits[-1].outcome) == ("repeated", "repeated")
    assert lineage.meta.distinct_plans == len(lineage.plans)


def test_a_plan_that_shrinks_is_looked_at_again_at_the_same_place() -> None:
    script = Script(at_fault("drop"), lambda steps, at: steps[:at] + steps[at + 1 :])
    lineage = script.run(plan_of("drop", "drop", "keep"))
    assert prompts(lineage.last) == ["keep"]
    assert script.asked == ["drop", "drop", "keep", "keep"]


def test_dropping_the_last_step_ends_the_pass() -> None:
    lineage = Script(at_fault("drop"), lambda steps, at: steps[:at]).run(plan_of("keep", "drop"))
    assert (prompts(lineage.last), lineage.status) == (["keep"], "clean")


# Failures


def test_a_step_that_cannot_be_judged_stays_and_is_no_clean_one() -> None:
    broken = Fault("refusal", "no")
    script = Script(lambda prompt: broken if prompt == "odd" else CLEAN, split)
    lineage = script.run(plan_of("a", "odd", "c"))
    assert script.asked == ["a", "odd", "c"]
    assert (lineage.status, lineage.passes, len(lineage.plans)) == ("incomplete", 1, 1)
    assert [visit.outcome for visit in lineage.visits] == ["kept", "failed", "kept"]
    (failure,) = lineage.failures
    assert (failure.step, failure.stage, failure.error_type) == ("2", "evaluator", "refusal")


def test_a_repair_that_is_never_valid_keeps_the_plan_and_goes_on() -> None:
    made: list[list[str] | Fault] = [Fault(INVALID, "no plan"), ["a", "better"]]
    script = Script(at_fault("a", "b"), lambda _steps, at: made[at])
    lineage = script.run(plan_of("a", "b"), Limits(max_passes=1))
    assert prompts(lineage.last) == ["a", "better"]
    assert [(visit.step, visit.outcome) for visit in lineage.visits] == [("1", "refused"), ("2", "edited")]
    assert [(one.stage, one.error_type) for one in lineage.failures] == [("optimiser", INVALID)]


@pytest.mark.parametrize("stage", ["evaluator", "optimiser"])
def test_a_fault_that_says_so_ends_everything_with_what_there_is(stage: str) -> None:
    over = Fault("budget", "no money", "budget")
    evaluate = (lambda _: over) if stage == "evaluator" else at_fault("a")
    lineage = Script(evaluate, lambda _steps, _at: over).run(plan_of("a"))
    assert (lineage.status, lineage.message, lineage.failures) == ("budget", "no money", ())


def test_cancelled_it_gives_the_lineage_so_far() -> None:
    script = Script(at_fault("a+b"), split)

    async def stopped() -> Lineage:
        async def evaluate(step: PlanStep, needed: tuple[PlanStep, ...]) -> Diagnosis | Fault:
            if step.instruction == "b":
                task.cancel()
                await asyncio.sleep(0)
            return await script.evaluate(step, needed)

        task = asyncio.ensure_future(refine(plan_of("a+b", "c"), evaluate, script.repair))
        return await task

    lineage = asyncio.run(stopped())
    assert (lineage.status, len(lineage.plans), len(lineage.revisions)) == ("interrupted", 2, 1)


@pytest.mark.parametrize("limits", [Limits(max_passes=0), Limits(max_edits=-1)])
def test_limits_that_allow_nothing_are_refused(limits: Limits) -> None:
    with pytest.raises(UsageError, match="expected at least one pass"):
        Script(at_fault(), split).run(plan_of("a"), limits)


# What the two are given


def test_the_evaluator_sees_the_step_and_what_it_depends_on_in_the_order_of_the_plan() -> None:
    plan = read_plan(
        {
            "1": {"step": "RAG([], 'one')", "depends_on": []},
            "2": {"step": "RAG([], 'two')", "depends_on": []},
            "3": {"step": "LLM('three (1)')", "depends_on": [1]},
            "4": {"step": "LLM('four (3) (2)')", "depends_on": [3, 2]},
        }
    )
    seen: dict[str, list[str]] = {}

    async def evaluate(step: PlanStep, needed: tuple[PlanStep, ...]) -> Diagnosis | Fault:
        seen[step.id] = [one.id for one in needed]
        return CLEAN

    asyncio.run(refine(plan, evaluate, Script(at_fault(), split).repair))
    assert seen == {"1": [], "2": [], "3": ["1"], "4": ["2", "3"]}


def test_progress_is_told_before_each_step() -> None:
    script, told = Script(at_fault("a+b"), split), list[Progress]()
    asyncio.run(refine(plan_of("a+b"), script.evaluate, script.repair, on_step=told.append))
    assert told == [
        Progress(1, 1, 1, 1),
        Progress(1, 1, 2, 2),
        Progress(1, 2, 2, 2),
        Progress(2, 1, 2, 2),
        Progress(2, 2, 2, 2),
    ]


# Laws

RULE = st.dictionaries(st.sampled_from("abc"), st.lists(st.sampled_from("abc"), max_size=3), max_size=3)


@given(
    start=st.lists(st.sampled_from("abc"), min_size=1, max_size=4),
    rule=RULE,
    max_passes=st.integers(1, 4),
    max_edits=st.none() | st.integers(0, 6),
    stop_on_repeat=st.booleans(),
)
def test_whatever_the_optimiser_does_it_ends_and_neighbours_differ(
    start: list[str], rule: dict[str, list[str]], max_passes: int, max_edits: int | None, *, stop_on_repeat: bool
) -> None:
    def rewrite(steps: list[str], at: int) -> list[str]:
        return [*steps[:at], *rule[steps[at]], *steps[at + 1 :]][:30] or ["a"]

    script = Script(lambda prompt: wrong() if prompt in rule else CLEAN, rewrite)
    evaluate: Evaluate = script.evaluate
    repair: Repair = script.repair
    limits = Limits(max_passes, max_edits, stop_on_repeat)
    lineage = asyncio.run(refine(plan_of(*start), evaluate, repair, limits))
    keys = [plan_key(plan) for plan in lineage.plans]
    assert all(one != other for one, other in pairwise(keys))
    assert len(lineage.revisions) == len(keys) - 1
    assert lineage.passes <= max_passes
    assert sum(lineage.meta.accepted_per_pass) == len(lineage.revisions)
    assert lineage.first == plan_of(*start)
    if stop_on_repeat:
        assert len(set(keys)) == len(keys)
    if lineage.status == "clean":
        last = [visit for visit in lineage.visits if visit.pass_number == lineage.passes]
        assert all(visit.outcome in {"kept", "same"} for visit in last)
        assert len(last) == len(lineage.last)
    else:
        assert lineage.status in {"max_passes", "capped", "repeated"}
