"""Workflows and a user's data -> every valid trajectory. No model, no clock, no chance unless a seed is given.

The rules of a workflow decide once, on the user's data as it is, and then act together: `skip` removes steps,
`end_after` what comes after a step, `override_trajectory` puts another sequence in the place of what is left,
`override_params` other parameters on a call; soft blocks are permuted last. Users whose rules come out alike share all
of this, so that a user costs little more than the look-ups in its data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from operator import itemgetter
from typing import Any

from msgspec import UNSET, Struct, structs

from gpa.plans.calls import GoldSet, ToolCall, Trajectory
from gpa.plans.conditions import Test, bound
from gpa.plans.located import Located, WorkflowError
from gpa.plans.ordering import Block, arrangers, drawn, size
from gpa.plans.pruning import Effect, Plan, Signature, Whole, pruned
from gpa.plans.references import Reference, getter, parse, parts, reader, why_missing
from gpa.plans.settings import TRAXGEN, Settings
from gpa.plans.users import ID_FIELD, User, read_user, unknown_workflows
from gpa.plans.workflow import Action, Workflow, uses

MAX_PLANS = 4096
"""Outcomes of one workflow's rules that are remembered."""


__all__ = ["TRAXGEN", "Rejected", "Settings", "compile_user", "compile_users"]


class Rejected(Struct, frozen=True):
    """A user whose trajectories cannot be made, and why."""

    user: str
    errors: tuple[Located, ...]


def compile_user(
    workflows: Mapping[str, Workflow],
    user: User | Mapping[str, Any],
    *,
    settings: Settings | None = None,
    id_field: str = ID_FIELD,
    external: Mapping[str, Any] | None = None,
) -> GoldSet:
    """Every valid trajectory of one user; raises `WorkflowError` with everything that is in the way."""
    [result] = compile_users(workflows, [user], settings=settings, id_field=id_field, external=external)
    if isinstance(result, Rejected):
        raise WorkflowError(result.errors)
    return result


def compile_users(
    workflows: Mapping[str, Workflow],
    users: Iterable[User | Mapping[str, Any]],
    *,
    settings: Settings | None = None,
    id_field: str = ID_FIELD,
    external: Mapping[str, Any] | None = None,
) -> Iterator[GoldSet | Rejected]:
    """For each user every valid trajectory, or why there is none; one that is wrong stops no other.

    `external` is data that all users share; a user's own field of the same name wins. Values in calls are those of the
    user's data itself, not copies.
    """
    compiler = _Compiler(workflows, settings or Settings(), external or {})
    seen: set[str] = set()
    of_id = getter(parse(id_field))
    for index, given in enumerate(users):
        user = given if type(given) is User else read_user(given, "", of_id, id_field)
        if isinstance(user, list):
            result: GoldSet | Rejected = Rejected(user[0].user, tuple(user))
        elif user.id in seen:
            error = Located(file=user.place, user=user.id, field=id_field, message="the id is that of a user before")
            result = Rejected(user.id, (error,))
        else:
            seen.add(user.id)
            result = compiler.compile(user)
        if type(result) is Rejected and type(given) is not User:
            # The place of a record is told when something is wrong, and not made before: nearly nothing is.
            placed = (structs.replace(error, file=f"users[{index}]") for error in result.errors)
            result = Rejected(result.user, tuple(placed))
        yield result


class _Prepared:
    """A workflow with its references numbered, its conditions bound and its plans remembered."""

    def __init__(self, workflow: Workflow, settings: Settings, *, last: bool) -> None:
        self.workflow, self.settings, self.last = workflow, settings, last
        self.label = settings.agent_label.replace("{workflow}", workflow.name).replace("{agent}", workflow.agent)
        self.uses: dict[Reference, list[tuple[str, str]]] = {}
        for reference, step, purpose in uses(workflow):
            for part in parts(reference):  # the key of a dynamic reference is a reference too
                self.uses.setdefault(part, []).append((step, purpose))
        self.references, self.read = reader(self.uses)
        self.slots = {reference: slot for slot, reference in enumerate(self.references)}
        self.whole = Whole(
            workflow.name,
            {tool: at for at, tool in enumerate(workflow.tools)},
            {step.tool: self._placed(step.parameters) for step in workflow.steps},
            workflow.soft_ordering,
            last,
        )
        self.effects = tuple((self._effects(rule.then), self._effects(rule.otherwise)) for rule in workflow.rules)
        self.tests: tuple[Test, ...] = tuple(
            bound(rule.condition, self.slots, settings.comparing) for rule in workflow.rules
        )
        self._plans: dict[tuple[bool, ...], Plan] = {}

    def _placed(self, parameters: tuple[tuple[str, Reference], ...]) -> Signature:
        return tuple((name, self.slots[reference]) for name, reference in parameters)

    def _effects(self, actions: tuple[Action, ...]) -> tuple[Effect, ...]:
        return tuple(Effect(action.action, action.targets, self._placed(action.parameters)) for action in actions)

    def plan(self, values: list[Any]) -> Plan:
        """What is left for a user with these values."""
        outcomes = tuple([test(values) for test in self.tests])
        if (plan := self._plans.get(outcomes)) is None:
            if len(self._plans) >= MAX_PLANS:
                self._plans.clear()
            both = zip(outcomes, self.effects, strict=True)
            effects = list(chain.from_iterable(then if held else otherwise for held, (then, otherwise) in both))
            plan = self._plans[outcomes] = pruned(self.whole, effects, self.settings)
        return plan

    def calls(self, plan: Plan, values: list[Any]) -> Trajectory:
        """The calls of the plan with these values."""
        label = self.label
        return tuple(
            [
                ToolCall(
                    tool,
                    {name: values[slot]} if name is not None else {key: values[at] for key, at in signature},
                    label,
                )
                for tool, name, slot, signature in plan.calls
            ]
        )

    def missing(self, user: User, data: Mapping[str, Any], values: list[Any]) -> Iterator[Located]:
        """An error for each reference without a value; one inside another is told alone."""
        for reference, places in self.uses.items():
            inner = list(parts(reference))[:-1]
            if values[self.slots[reference]] is UNSET and not any(values[self.slots[part]] is UNSET for part in inner):
                yield self.error(user, data, reference, places)

    def error(
        self, user: User, data: Mapping[str, Any], reference: Reference, places: list[tuple[str, str]]
    ) -> Located:
        """That the reference has no value, with the first place that needs it."""
        needed = [f"{step}({purpose})" if step else purpose for step, purpose in dict.fromkeys(places)]
        more = f" and {len(needed) - 3} more" if len(needed) > 3 else ""
        return Located(
            file=user.place,
            user=user.id,
            workflow=self.workflow.name,
            step=next((step for step, _ in places if step), ""),
            field=str(reference),
            message=f"{why_missing(reference, data)}; needed by {', '.join(needed[:3])}{more}",
        )


class _Compiler:
    """Workflows that are prepared when the first user needs them."""

    def __init__(self, workflows: Mapping[str, Workflow], settings: Settings, external: Mapping[str, Any]) -> None:
        self.workflows, self.settings, self.external = workflows, settings, external
        self._prepared: dict[tuple[str, bool], _Prepared] = {}

    def compile(self, user: User) -> GoldSet | Rejected:
        """Every valid trajectory of the user, or why there is none."""
        data = {**self.external, **user.data} if self.external else user.data
        errors: list[Located] = []
        calls: Trajectory = ()
        blocks: tuple[Block, ...] = ()
        notes: tuple[str, ...] = ()
        last = user.sequence[-1] if user.sequence else ""
        for name in user.sequence:
            prepared = self._prepared.get((name, name == last)) or self._prepare(name, last=name == last)
            if prepared is None:
                return Rejected(user.id, tuple(unknown_workflows(user, self.workflows)))
            values = prepared.read(data)
            absent = UNSET in values
            if absent and self.settings.missing == "error":
                errors += prepared.missing(user, data, values)
                continue
            plan = prepared.plan(values)
            if absent:
                errors += self._unresolved(prepared, plan, user, data, values)
            if not plan.plain:
                errors += (structs.replace(error, file=user.place, user=user.id) for error in plan.errors)
                notes += plan.notes
                blocks += tuple([tuple([len(calls) + at for at in block]) for block in plan.blocks])
            calls += prepared.calls(plan, values)
        if errors:
            return Rejected(user.id, tuple(errors))
        if not blocks:
            return GoldSet(user.id, (calls,), user.sequence, 1, (), notes)
        return self._ordered(user, calls, blocks, notes)

    def _prepare(self, name: str, *, last: bool) -> _Prepared | None:
        if name not in self.workflows:
            return None
        prepared = self._prepared[name, last] = _Prepared(self.workflows[name], self.settings, last=last)
        return prepared

    def _unresolved(
        self, prepared: _Prepared, plan: Plan, user: User, data: Mapping[str, Any], values: list[Any]
    ) -> Iterator[Located]:
        """Errors for calls that lack a value; or none, and the references' own texts in the place of the values."""
        references = prepared.references
        if self.settings.missing == "text":
            values[:] = [
                str(reference) if value is UNSET else value for reference, value in zip(references, values, strict=True)
            ]
            return
        for tool, only, place, signature in plan.calls:
            for name, slot in ((only, place),) if only is not None else signature:
                if values[slot] is UNSET:
                    yield prepared.error(user, data, references[slot], [(tool, name)])

    def _ordered(
        self, user: User, calls: Trajectory, blocks: tuple[Block, ...], notes: tuple[str, ...]
    ) -> GoldSet | Rejected:
        settings = self.settings
        total, largest = size(blocks)
        if largest <= settings.max_block and total <= settings.max_trajectories:
            made = tuple([arrange(calls) for arrange in arrangers(len(calls), blocks)])
            return GoldSet(user.id, made, user.sequence, total, blocks, notes)
        over = (
            f"a soft block of {largest} tools, over max_block {settings.max_block}"
            if largest > settings.max_block
            else f"more than max_trajectories {settings.max_trajectories:,}"
        )
        if settings.over_cap == "error":
            workflow = calls[blocks[0][0]].agent if len(user.sequence) > 1 else user.sequence[0]
            message = f"{total:,} orders: {over}; raise the cap, or sample"
            error = Located(file=user.place, user=user.id, workflow=workflow, field="soft_ordering", message=message)
            return Rejected(user.id, (error,))
        sample = drawn(len(calls), blocks, settings.max_trajectories, f"{settings.seed}:{user.id}")
        note = f"{len(sample):,} of {total:,} trajectories, drawn with seed {settings.seed}: {over}"
        made = tuple(itemgetter(*order)(calls) for order in sample)
        return GoldSet(user.id, made, user.sequence, total, blocks, (*notes, note))
