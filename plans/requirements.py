"""What the user asked for, in a closed vocabulary: metrics, grouping, time, analyses, outputs.

A requirement has an id (`analysis.trend`, `outputs.chart`, `group_by`, `time`) by which plans cite it and coverage
counts it. Labels are those of the capability mapping; anything else is an error that names what is allowed, so that a
model can be asked again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

from msgspec import Struct

from gpa.errors import InputError
from gpa.plans.capabilities import CapabilityMapping
from gpa.plans.located import Located, found, meant

Grain = Literal["unknown", "daily", "weekly", "monthly", "quarterly", "yearly"]
GRAINS: tuple[Grain, ...] = get_args(Grain)

_LISTS = ("metrics", "group_by", "analysis", "outputs", "constraints")
FIELDS = ("metrics", "group_by", "time", "analysis", "outputs", "constraints")
_UNKNOWN = frozenset({"", "unknown", "none", "n/a"})


class TimeAxis(Struct, frozen=True):
    """The column that holds the time, empty when the user asked for none, and how fine to look at it."""

    column: str = ""
    grain: Grain = "unknown"


class Requirements(Struct, frozen=True):
    """What a question asks for; empty fields mean it does not say."""

    metrics: tuple[str, ...] = ()
    group_by: tuple[str, ...] = ()
    time: TimeAxis = TimeAxis()
    analysis: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()

    def ids(self, *, cover_metrics: bool = False) -> tuple[str, ...]:
        """The requirements a plan has to serve: analyses, outputs, `group_by`, `time`; the metrics when asked."""
        return (
            *(f"analysis.{label}" for label in self.analysis),
            *(f"outputs.{label}" for label in self.outputs),
            *(("group_by",) if self.group_by else ()),
            *(("time",) if self.time.column else ()),
            *((f"metrics.{name}" for name in self.metrics) if cover_metrics else ()),
        )


class RequirementsError(InputError):
    """Requirements that are none; `errors` has everything that is wrong."""

    def __init__(self, errors: Iterable[Located]) -> None:
        self.errors = tuple(errors)
        super().__init__("\n".join(map(str, self.errors)))


def read_requirements(value: Any, mapping: CapabilityMapping, *, where: str = "") -> Requirements:
    """The requirements in an object, by the labels of `mapping`.

    Raises:
        RequirementsError: every unknown field, label outside the closed set and value of a wrong type.
    """
    if not isinstance(value, Mapping):
        raise RequirementsError(
            [Located(file=where, message=f"expected an object of requirements, found {found(value)}")]
        )
    errors: list[Located] = []
    for name in value:
        if name not in FIELDS:
            known = f"expected {', '.join(FIELDS)}{meant(str(name), FIELDS)}"
            errors.append(Located(file=where, field=str(name), message=f"{known}, found another field"))
    lists = {name: _texts(value.get(name), name, where, errors) for name in _LISTS}
    for name, allowed in (("analysis", tuple(mapping.analysis)), ("outputs", tuple(mapping.outputs))):
        for label in lists[name]:
            if label not in allowed:
                message = f"expected {', '.join(allowed)}{meant(label, allowed)}, found {found(label)}"
                errors.append(Located(file=where, field=name, message=message))
    time = _time(value.get("time"), where, errors)
    if errors:
        raise RequirementsError(errors)
    return Requirements(time=time, **lists)


def requirements_schema(mapping: CapabilityMapping) -> dict[str, Any]:
    """The JSON schema a model's answer must obey: closed labels, no other fields."""

    def listed(items: dict[str, Any]) -> dict[str, Any]:
        return {"type": "array", "items": items}

    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(FIELDS),
        "properties": {
            "metrics": listed({"type": "string"}),
            "group_by": listed({"type": "string"}),
            "time": {
                "type": "object",
                "additionalProperties": False,
                "required": ["column", "grain"],
                "properties": {"column": {"type": "string"}, "grain": {"type": "string", "enum": list(GRAINS)}},
            },
            "analysis": listed({"type": "string", "enum": list(mapping.analysis)}),
            "outputs": listed({"type": "string", "enum": list(mapping.outputs)}),
            "constraints": listed({"type": "string"}),
        },
    }


def _texts(value: Any, name: str, where: str, errors: list[Located]) -> tuple[str, ...]:
    """A list of texts, each once; null and "unknown" are none."""
    if value is None or (isinstance(value, str) and value.strip().lower() in _UNKNOWN):
        return ()
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list | tuple):
        errors.append(Located(file=where, field=name, message=f"expected a list of texts, found {found(value)}"))
        return ()
    kept: dict[str, None] = {}
    for number, one in enumerate(listed):
        if not isinstance(one, str):
            errors.append(
                Located(file=where, field=f"{name}[{number}]", message=f"expected a text, found {found(one)}")
            )
        elif one.strip().lower() not in _UNKNOWN:
            kept[one.strip()] = None
    return tuple(kept)


def _time(value: Any, where: str, errors: list[Located]) -> TimeAxis:
    if value is None or (isinstance(value, str) and value.strip().lower() in _UNKNOWN):
        return TimeAxis()
    if not isinstance(value, Mapping):
        errors.append(Located(file=where, field="time", message=f"expected column and grain, found {found(value)}"))
        return TimeAxis()
    errors.extend(
        Located(file=where, field=f"time.{name}", message="expected column, grain, found another field")
        for name in value
        if name not in {"column", "grain"}
    )
    column, recorded = value.get("column") or "", value.get("grain") or "unknown"
    if not isinstance(column, str):
        errors.append(Located(file=where, field="time.column", message=f"expected a text, found {found(column)}"))
        column = ""
    grain = next((one for one in GRAINS if one == recorded), None)
    if grain is None:
        message = f"expected {', '.join(GRAINS)}, found {found(recorded)}"
        errors.append(Located(file=where, field="time.grain", message=message))
    return TimeAxis("" if column.strip().lower() in _UNKNOWN else column.strip(), grain or "unknown")
