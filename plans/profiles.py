"""Made-up users for workflows: the fields they need, how each is distributed, and a sample that a seed repeats.

What a distribution is, distributions.py says. The seed, unique ids, values on either side of conditions and keys that
are data themselves are ours, the rest follows the package traxgen 0.1.5.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import Any, TypeAlias

from msgspec import UNSET

from gpa.errors import UsageError
from gpa.plans.conditions import ORDERINGS, Comparison, comparisons
from gpa.plans.distributions import Field, distribution, is_number, read_template
from gpa.plans.references import Reference, key_text, parse, parts, resolve
from gpa.plans.users import ID_FIELD, SEQUENCE
from gpa.plans.workflow import Workflow, uses

ATTEMPTS = 1000
"""Draws of an id before we believe that no other is left."""
_LAST = "user_provided_info"
_OTHER = "Other"
_BY_NAME: tuple[tuple[str, dict[str, float]], ...] = (
    (r"date", {"random_date('2025-01-01', '2025-12-31')": 1.0}),
    (r"_id", {"random_int(1000, 9999)": 1.0}),
    (r"amount|paid|price|total|cost", {"random_float(10.0, 1000.0)": 1.0}),
    (r"number", {"random_int(1, 50)": 1.0}),
    (r"preference|type|method|mode|status", {"Option1": 0.5, "Option2": 0.5}),
    (r"", {"Option1": 0.5, "Option2": 0.3, "Option3": 0.2}),
)
_IDS = {"random_int(1000000, 9999999)": 1.0}
"""Of the users themselves: enough that none of them need share one."""

Template: TypeAlias = dict[str, Any]
"""Field -> distribution, as JSON holds it."""


def required_fields(workflows: Iterable[Workflow]) -> list[Reference]:
    """Every reference that a user's data must resolve, each once, sorted; what is inside another comes before it."""
    needed = {part for workflow in workflows for reference, _, _ in uses(workflow) for part in parts(reference)}
    return sorted(needed, key=lambda reference: (len(list(parts(reference))), str(reference)))


def field_template(fields: Iterable[str | Reference]) -> Template:
    """A distribution for each field, guessed from its name: dates, ids, amounts, numbers, kinds, and three options."""
    return {
        str(field): dict(next(guess for word, guess in _BY_NAME if re.search(word, str(field), re.IGNORECASE)))
        for field in fields
    }


def workflow_template(workflows: Sequence[Workflow], *, id_field: str = ID_FIELD) -> Template:
    """A template for users of these workflows: values on either side of each condition, other fields by their names."""
    fields = required_fields(workflows)
    holders = {Reference(field.name, field.keys[:length]) for field in fields for length in range(len(field.keys))}
    template: Template = {SEQUENCE: {workflow.name: 1.0 for workflow in workflows}}
    template |= field_template([field for field in fields if field not in holders])
    template[str(parse(id_field))] = dict(_IDS)
    deciding: dict[str, list[Any]] = {}
    for workflow in workflows:
        for rule in workflow.rules:
            for comparison in comparisons(rule.condition):
                name = str(comparison.field)
                if comparison.compare_to is not None and str(comparison.compare_to) != name:
                    template[name] = {"same_as": str(comparison.compare_to), "probability": 0.5, **template[name]}
                elif comparison.compare_to is None:
                    values = deciding.setdefault(name, [])
                    values += (value for value in _either_side(comparison) if not _among(value, values))
    for name, values in deciding.items():
        if name in template and values:
            template[name] = distribution(values)
    return template


def changed(template: Mapping[str, Any], changes: Mapping[str, Any]) -> Template:
    """The template with other distributions for some fields; one for a whole object replaces those inside it."""
    whole = {str(name) for name in changes}
    kept = {
        name: value for name, value in template.items() if not any(name.startswith(f"{holder}[") for holder in whole)
    }
    return {**kept, **changes}


def sample_profiles(
    template: Mapping[str, Any],
    count: int | None = None,
    *,
    seed: int = 0,
    id_field: str = ID_FIELD,
    file: str = "",
    watched: Callable[[Sequence[int]], Iterable[int]] = iter,
) -> list[dict[str, Any]]:
    """As many users as asked for (100 unless said), the same for the same template and seed; more begin alike.

    Whole numbers as weights of `agent_sequence` are exact numbers of users. Ids are unique. `watched` goes over the
    numbers of the users and may show how far it is. Raises `WorkflowError` with everything that is wrong with the
    template.
    """
    fields, sequences = read_template(template, file)
    wanted = sequences.exact
    if wanted and count not in (None, len(wanted)):
        raise UsageError(f"the weights of {SEQUENCE} ask for exactly {len(wanted)} users, the count for {count}")
    identity = parse(id_field)
    ids: set[str] = set()
    profiles = []
    for index in watched(range(len(wanted) if wanted else 100 if count is None else count)):
        chance = Random(f"{seed}:{index}")  # noqa: S311 - a sample that can be repeated, not a secret
        profile: dict[str, Any] = {}
        profile[SEQUENCE] = list(wanted[index] if wanted else sequences.draw(chance)) if sequences.known else []
        for field in fields:
            _place(profile, field.reference, _value(field, fields, profile, chance))
        _make_unique(profile, identity, fields, ids, chance)
        profiles.append(_in_order(profile))
    return profiles


def _value(field: Field, fields: Sequence[Field], profile: Mapping[str, Any], chance: Random) -> Any:
    other = field.same_as
    if other is not None and chance.random() < field.probability:
        value = resolve(other, profile)
        if value is not UNSET:
            return value
    draw = field.draw or next((f.draw for f in fields if f.reference == other), None)
    return draw(chance) if draw is not None else None


def _place(profile: dict[str, Any], reference: Reference, value: Any) -> None:
    """Put the value where the reference looks for it, making objects and arrays on the way."""
    holder: Any = profile
    keys = [reference.name, *(resolve(key, profile) if isinstance(key, Reference) else key for key in reference.keys)]
    for key, following in zip(keys, [*keys[1:], None], strict=True):
        inside: Any = value if following is None else [] if isinstance(following, int) and _is_index(reference) else {}
        if isinstance(holder, list):
            holder.extend([None] * (int(key) + 1 - len(holder)))
            if following is None or holder[int(key)] is None:
                holder[int(key)] = inside
            holder = holder[int(key)]
        else:
            name = key_text(key)
            if following is None:
                holder[name] = value
            holder = holder.setdefault(name, inside)


def _is_index(reference: Reference) -> bool:
    """Whether a whole number is written in the reference; one that comes from data is a key of an object."""
    return any(isinstance(key, int) for key in reference.keys)


def _make_unique(
    profile: dict[str, Any], identity: Reference, fields: Sequence[Field], ids: set[str], chance: Random
) -> None:
    """Draw the id again while another user has it: the package lets the later user replace the earlier one."""
    field = next((field for field in fields if field.reference == identity), None)
    if field is None:
        return
    for _ in range(ATTEMPTS):
        name = str(resolve(identity, profile))
        if name not in ids:
            ids.add(name)
            return
        _place(profile, identity, _value(field, fields, profile, chance))
    raise UsageError(f"{identity}: its distribution has too few values for {len(ids) + 1} users")


def _in_order(profile: dict[str, Any]) -> dict[str, Any]:
    """The sequence, the ids, the rest by name, and last what the user tells the agent."""
    rank = {SEQUENCE: 0, _LAST: 3}
    names = sorted(profile, key=lambda name: (rank.get(name, 1 if name.endswith("_id") else 2), name))
    return {name: profile[name] for name in names}


def _either_side(comparison: Comparison) -> list[Any]:
    """Values for which the comparison holds, and for which it does not."""
    value = comparison.value
    if comparison.operator in {"in", "not in"}:
        return [*(value if isinstance(value, list) else [value]), _OTHER]
    if "contains" in comparison.operator:
        return [[value], []]
    if isinstance(value, bool):
        return [value, not value]
    if is_number(value):
        return [value - 1, value, value + 1] if comparison.operator in ORDERINGS else [value, value + 1]
    return [value, _OTHER]


def _among(value: Any, values: Sequence[Any]) -> bool:
    return any(value == other and type(value) is type(other) for other in values)
