"""Plans that came one after another: what was found wrong with a step, what became of it, and the history they make.

A lineage holds distinct plans, the weakest first, and one revision between each two. It comes of repairing a plan step
by step (`gpa.optimize.lineage`), or of an agent that replans (`gpa.plans.replans`). Source: tool-aware planning,
sections B and C5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import unified_diff
from typing import Any, Literal, get_args

from msgspec import Struct

from gpa.plans.plan import Plan, PlanStep
from gpa.plans.plan_text import plain_plan, step_text
from gpa.plans.topology import CycleError

Tag = Literal["INCORRECTPROMPT", "COMPLEXPROMPT", "INCORRECTTOOL", "REPEATEDDETAIL", "MULTITOOLPROMPT", "NOCHANGE"]
TAGS: tuple[Tag, ...] = get_args(Tag)
NO_CHANGE: Tag = "NOCHANGE"
TITLES: Mapping[Tag, str] = {
    "INCORRECTPROMPT": "INCORRECT PROMPT",
    "COMPLEXPROMPT": "COMPLEX PROMPT",
    "INCORRECTTOOL": "INCORRECT TOOL",
    "REPEATEDDETAIL": "REPEATED DETAIL",
    "MULTITOOLPROMPT": "MULTI-TOOL PROMPT",
    "NOCHANGE": "NO CHANGE",
}
"""The tags as people read them."""

Outcome = Literal["kept", "edited", "same", "repeated", "refused", "failed"]
"""Of a visit to a step: nothing to change; changed; the optimiser gave the same plan, or one that was there before; its
plan was not valid, twice; nobody could say."""
Stage = Literal["evaluator", "optimiser"]
Status = Literal[
    "clean", "max_passes", "capped", "repeated", "budget", "waiting", "interrupted", "incomplete", "replanned"
]
"""Why a lineage ends. `clean`: a whole pass changed nothing. `incomplete`: neither did this one, but some step could
not be judged or repaired. `capped`: too many edits in one pass. `repeated`: the next plan had been there before.
`waiting`: a question has no answer yet. `replanned`: an agent's own plans."""


class Remark(Struct, frozen=True):
    """One thing said of a step."""

    reason: str
    tag: Tag


class Diagnosis(Struct, frozen=True):
    """What is wrong with one step; a lone NOCHANGE where nothing is."""

    remarks: tuple[Remark, ...]

    @property
    def tags(self) -> tuple[Tag, ...]:
        """Each once, in the order given."""
        return tuple(dict.fromkeys(remark.tag for remark in self.remarks))

    @property
    def reasons(self) -> tuple[str, ...]:
        """In the order given."""
        return tuple(remark.reason for remark in self.remarks)

    @property
    def is_clean(self) -> bool:
        """Whether the step is to stay as it is."""
        return self.tags == (NO_CHANGE,)


class Visit(Struct, frozen=True):
    """A look at one step in one pass."""

    pass_number: int
    """Counted from 1."""
    step: str
    outcome: Outcome
    tags: tuple[Tag, ...] = ()


class Revision(Struct, frozen=True):
    """What led from one plan of a lineage to the next."""

    diff: str
    """Unified, a step a line."""
    pass_number: int = 0
    """0 where there were no passes: an agent's own replanning."""
    step: str = ""
    """The step that was repaired, by its id in the plan before; the step of a trace that states the new plan."""
    tags: tuple[Tag, ...] = ()
    reasons: tuple[str, ...] = ()
    change0: str = ""
    """What was done to the step."""
    change1: str = ""
    """What the others needed for it: indices, dependencies, placeholders."""


class StepFailure(Struct, frozen=True):
    """A step that could not be judged or repaired, and why; it was left as it is."""

    pass_number: int
    step: str
    stage: Stage
    error_type: str
    message: str


class LineageMeta(Struct, frozen=True):
    """A lineage in figures. Pairs are of the first and of the last plan."""

    distinct_plans: int
    """Plans that differ from every other one: less than the length where plans come back."""
    passes: int
    accepted_per_pass: tuple[int, ...]
    steps: tuple[int, int]
    tools: tuple[int, int]
    """Different tools."""
    hops: tuple[int | None, int | None]
    """None for a plan whose placeholders go round in a circle."""


class Lineage(Struct, frozen=True):
    """Successive plans; each differs from the one before it."""

    plans: tuple[Plan, ...]
    revisions: tuple[Revision, ...] = ()
    """One less than the plans."""
    status: Status = "clean"
    passes: int = 0
    """Begun."""
    failures: tuple[StepFailure, ...] = ()
    visits: tuple[Visit, ...] = ()
    message: str = ""
    """What is to be said about the status."""

    @property
    def first(self) -> Plan:
        """The plan it began with."""
        return self.plans[0]

    @property
    def last(self) -> Plan:
        """The plan it ended with."""
        return self.plans[-1]

    @property
    def meta(self) -> LineageMeta:
        """Its figures."""
        accepted = [revision.pass_number for revision in self.revisions]
        return LineageMeta(
            distinct_plans=len({plan_key(plan) for plan in self.plans}),
            passes=self.passes,
            accepted_per_pass=tuple(accepted.count(number) for number in range(1, self.passes + 1)),
            steps=(len(self.first), len(self.last)),
            tools=(_tools(self.first), _tools(self.last)),
            hops=(_hops(self.first), _hops(self.last)),
        )


def read_tag(text: str) -> Tag | None:
    """The tag a text names, whatever its case, blanks and signs (`Multi-Tool Prompt`); None when it names none."""
    letters = "".join(filter(str.isalpha, text)).upper()
    return next((tag for tag in TAGS if tag == letters), None)


def plan_key(plan: Plan) -> str:
    """A text that is the same for plans with the same steps; in which order a step lists what it needs says nothing."""
    from gpa.ingest.history import canonical

    return canonical([[step_id, _unordered(step)] for step_id, step in plain_plan(plan).items()])


def plan_diff(
    before: Plan,
    after: Plan,
    names: tuple[str, str] = ("before", "after"),
    line: Callable[[PlanStep], str] = step_text,
) -> str:
    """What differs between two plans as a unified diff, a step a line; empty when nothing does."""
    old, new = ([line(step) for step in plan] for plan in (before, after))
    return "\n".join(unified_diff(old, new, *names, n=0, lineterm=""))


def _unordered(step: dict[str, Any]) -> dict[str, Any]:
    return {**step, "depends_on": sorted(map(str, step["depends_on"]))}


def _tools(plan: Plan) -> int:
    return len({step.tool.casefold() for step in plan if step.tool})


def _hops(plan: Plan) -> int | None:
    try:
        return plan.hops()
    except CycleError:  # an uncertain placeholder may point forward in a plan that is otherwise valid
        return None
