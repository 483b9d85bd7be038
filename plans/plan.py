"""A plan: steps with a tool, an instruction or arguments, and the steps whose results they need.

`Plan` is what an agent meant to do (`gpa.plans.plan_reading`), what it did (`gpa.plans.executed`), or what a workflow
asks for. A step is known by its id, which placeholders (`$1`, `{{step1}}`, `(1)`) and dependencies name.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Literal

from msgspec import Struct

from gpa.errors import FormatError
from gpa.plans.placeholders import placeholders
from gpa.plans.tolerant import Repair
from gpa.plans.topology import Topology, hops, sinks, topology

Basis = Literal["declared", "reference", "value", "order"]
"""How a dependency is known: stated by the plan, by a placeholder, by a value that flows, or only by the order."""
KNOWN: tuple[Basis, ...] = ("declared", "reference", "value")
"""All but the order, which proves nothing."""


class Dependency(Struct, frozen=True):
    """A step needs another one's result."""

    step: str
    """Id of the step that is needed."""
    basis: Basis = "declared"


class PlanStep(Struct, frozen=True):
    """One step. Empty fields: the plan does not say."""

    id: str
    tool: str = ""
    instruction: str = ""
    """What is to be done or asked, in words."""
    arguments: dict[str, Any] = {}
    """Values by parameter name, placeholders as written; positional ones under "0", "1", ..."""
    dependencies: tuple[Dependency, ...] = ()
    text: str = ""
    """The step as written where it is a call in code: `T2S((1), 'Fetch ...')`."""
    agent: str = ""
    rationale: str = ""
    satisfies: tuple[str, ...] = ()
    """The requirements it says it serves."""
    place: str = ""
    """Where it stands in what was read: `steps[2]`."""

    @property
    def prompt(self) -> str:
        """What it asks its tool, in words; the call as written where it has none."""
        return self.instruction or self.text

    @property
    def needs(self) -> tuple[str, ...]:
        """Ids of the steps it needs, each once."""
        return tuple(dict.fromkeys(dependency.step for dependency in self.dependencies))

    @property
    def placeholders(self) -> tuple[str, ...]:
        """The names in its placeholders, each once, as written (`1`, `E1`, `step1`)."""
        found = placeholders([self.instruction, self.arguments, self.text])
        return tuple(dict.fromkeys(one.target for one in found))


class Problem(Struct, frozen=True):
    """One thing that is wrong with a plan, and where."""

    step: str
    """Id of the step, or its place when it has none; empty: the plan as a whole."""
    field: str
    message: str
    """What was expected, what was found."""
    where: str = ""
    """The file, or what the plan was called."""

    def __str__(self) -> str:
        place = [f"step {self.step}" if self.step else "", self.field]
        return ": ".join(part for part in (self.where, *place, self.message) if part)


class PlanError(FormatError):
    """A plan that cannot be taken as one; `problems` has everything that is wrong with it."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        super().__init__("; ".join(map(str, problems)))


class Plan(Struct, frozen=True, dict=True):
    """Steps in the order they are to be done. Made by readers, which see to it that ids are unique."""

    steps: tuple[PlanStep, ...]
    repairs: tuple[Repair, ...] = ()
    """Liberties taken to read it."""
    notes: tuple[str, ...] = ()
    """What was taken to mean what, in sentences."""

    @cached_property
    def _by_id(self) -> dict[str, PlanStep]:
        return {step.id: step for step in self.steps}

    def step(self, step_id: str) -> PlanStep:
        """The step with this id; `KeyError` when there is none."""
        return self._by_id[step_id]

    def dependencies(self, bases: tuple[Basis, ...] = (*KNOWN, "order")) -> dict[str, tuple[str, ...]]:
        """Step -> the steps of this plan it needs, by what is known of one of these bases."""
        return {
            step.id: tuple(
                dict.fromkeys(d.step for d in step.dependencies if d.basis in bases and d.step in self._by_id)
            )
            for step in self.steps
        }

    def topology(self, bases: tuple[Basis, ...] = (*KNOWN, "order")) -> Topology:
        """Depth and breadth. Raises `CycleError`; a plan that was read has no cycle."""
        return topology(self.dependencies(bases))

    def hops(self, answers: tuple[str, ...] = ()) -> int:
        """Edges on the longest path that leads to one of these steps; to any when none is named."""
        return hops(self.dependencies(), answers)

    @property
    def sinks(self) -> tuple[str, ...]:
        """Ids of the steps no other step needs."""
        return sinks(self.dependencies())

    def merged(self) -> Plan:
        """The plan with identical steps (tool, instruction, arguments, what they need) taken as one: the PlanDAG."""
        kept: dict[object, PlanStep] = {}
        became: dict[str, str] = {}
        for step in self.steps:
            needed = {
                became.get(one.step, one.step): Dependency(became.get(one.step, one.step), one.basis)
                for one in step.dependencies
            }
            key = (step.tool, step.instruction, _key(step.arguments, became), frozenset(needed))
            first = kept.setdefault(key, _with(step, tuple(needed.values())))
            became[step.id] = first.id
        return Plan(tuple(kept.values()), self.repairs, self.notes)

    def __iter__(self) -> Iterator[PlanStep]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)


def _with(step: PlanStep, dependencies: tuple[Dependency, ...]) -> PlanStep:
    from msgspec.structs import replace

    return replace(step, dependencies=dependencies)


def _key(arguments: dict[str, Any], became: dict[str, str]) -> str:
    from gpa.ingest.history import canonical

    text = canonical(arguments)
    for found in reversed(placeholders(text)):
        if found.target in became:
            text = text[: found.start] + f"${became[found.target]}" + text[found.start + len(found.written) :]
    return text
