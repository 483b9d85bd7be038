"""What is left of a workflow when its rules have decided: the calls in order, and which of them may change places.

The effects of all rules that apply are taken together, so that the order of rules matters only where two say the same
thing about the same tool.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from gpa.plans.located import Located
from gpa.plans.settings import Settings

Signature: TypeAlias = tuple[tuple[str, int], ...]
"""Parameters, each with the place of its value among those of all references."""


class Effect(Struct, frozen=True):
    """An action of a rule that applies."""

    action: str
    targets: tuple[str, ...]
    signature: Signature = ()


class Whole(Struct, frozen=True):
    """A workflow before any rule."""

    name: str
    position: Mapping[str, int]
    """The tools in canonical order, and their places."""
    signatures: Mapping[str, Signature]
    soft_ordering: tuple[tuple[str, ...], ...]
    last: bool
    """Whether the workflow ends the user's sequence."""


PlannedCall: TypeAlias = tuple[str, str | None, int, Signature]
"""Tool, and its signature; where that is one parameter, as mostly, the parameter and the place of its value instead."""


class Plan(Struct, frozen=True):
    """A workflow after its rules."""

    calls: tuple[PlannedCall, ...]
    blocks: tuple[tuple[int, ...], ...]
    notes: tuple[str, ...] = ()
    errors: tuple[Located, ...] = ()
    plain: bool = True
    """Whether there is nothing but calls."""


def pruned(whole: Whole, effects: Sequence[Effect], settings: Settings) -> Plan:
    """What the effects leave: `override_trajectory` beats `skip` and `end_after`; `override_params` always hold."""
    by_action: dict[str, list[Effect]] = {}
    for effect in effects:
        by_action.setdefault(effect.action, []).append(effect)
    overrides = by_action.get("override_trajectory", [])
    notes: list[str] = []
    errors: list[Located] = []
    if overrides:
        tools = _overriding(whole, overrides[-1], settings, notes, errors)
    else:
        tools = _surviving(whole, by_action, settings)
    dropped = () if whole.last else settings.drop_intermediate_close
    tools = [tool for tool in tools if tool not in dropped] if dropped else tools
    if not tools:
        notes.append(f"{whole.name}: no call is left")
    position = {tool: at for at, tool in enumerate(tools)}
    permuted = () if overrides and not settings.permute_overrides else whole.soft_ordering
    # A block that lost a member keeps its order. What is left out only to keep the case open is not missed.
    kept = (block for block in permuted if all(tool in position or tool in dropped for tool in block))
    blocks = [tuple(sorted([position[tool] for tool in block if tool in position])) for block in kept]
    several = tuple(block for block in blocks if len(block) > 1)
    signatures = _signatures(whole, by_action.get("override_params", ()), settings)
    calls = tuple([_planned(tool, signatures.get(tool, ())) for tool in tools])
    return Plan(calls, several, tuple(notes), tuple(errors), not (several or notes or errors))


def _planned(tool: str, signature: Signature) -> PlannedCall:
    return (tool, *signature[0], ()) if len(signature) == 1 else (tool, None, 0, signature)


def _overriding(whole: Whole, effect: Effect, settings: Settings, notes: list[str], errors: list[Located]) -> list[str]:
    """The tools of the trajectory that takes the place of the steps, those that are no steps as the settings say."""
    tools = []
    for tool in effect.targets:
        if tool in whole.position:
            tools.append(tool)
            continue
        if settings.undeclared_override == "error":
            message = "the trajectory calls a tool that is no step"
            errors.append(Located(workflow=whole.name, step=tool, field="override_trajectory", message=message))
        elif settings.undeclared_override == "include":
            tools.append(tool)
        done = "dropped from" if settings.undeclared_override == "drop" else "kept in"
        notes.append(f"{whole.name}: {tool} is no step; {done} the overriding trajectory")
    return tools


def _surviving(whole: Whole, effects: Mapping[str, Sequence[Effect]], settings: Settings) -> list[str]:
    skipped = {tool for effect in effects.get("skip", ()) for tool in effect.targets}
    ends = [tool for effect in effects.get("end_after", ()) for tool in effect.targets]
    if not settings.end_at_skipped:
        ends = [tool for tool in ends if tool not in skipped]
    # Of several ends the earliest counts; the package takes the one whose rule is written last.
    last = min([whole.position[tool] for tool in ends], default=len(whole.position))
    return [tool for tool, at in whole.position.items() if at <= last and tool not in skipped]


def _signatures(whole: Whole, effects: Sequence[Effect], settings: Settings) -> Mapping[str, Signature]:
    if not effects:
        return whole.signatures
    signatures = dict(whole.signatures)
    replaced: set[str] = set()
    for effect in effects:
        for tool in effect.targets:
            before = signatures[tool] if settings.merge_overrides and tool in replaced else ()
            signatures[tool] = tuple({**dict(before), **dict(effect.signature)}.items())
            replaced.add(tool)
    return signatures
