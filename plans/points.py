"""What the metrics are worth, from a file: TOML or JSON with `points` per metric and, if they differ, `budgets`.

```toml
[points]
tool_prompt_alignment = 25
format = 15
[budgets]
effectiveness = 70
```

A metric that is not named keeps its points. Each group's points must add up to its budget (70 for effectiveness and 30
for efficiency unless the file says otherwise), so that a slip in one number is noticed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from gpa.errors import InputError
from gpa.plans.metrics import GROUPS, METRICS, POINTS, Metric
from gpa.plans.toml_or_json import read_value

BUDGETS: Mapping[str, float] = {group: sum(POINTS[name] for name in names) for group, names in GROUPS.items()}
_TOLERANCE = 1e-6
_EXPECTED = "[points] of metrics and [budgets] of groups"


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    points: dict[str, float] = {}
    budgets: dict[str, float] = {}


def load_points(path: str | Path) -> dict[Metric, float]:
    """The points of every metric by a file. Raises `InputError`."""
    path = Path(path).expanduser()
    value = read_value(path, _EXPECTED)
    try:
        file = msgspec.convert(value, _File)
    except msgspec.ValidationError as error:
        raise InputError(f"{path}: expected {_EXPECTED}: {error}") from error
    _known(path, "points", file.points, METRICS)
    _known(path, "budgets", file.budgets, tuple(GROUPS))
    points = {name: float(file.points.get(name, POINTS[name])) for name in METRICS}
    for group, names in GROUPS.items():
        budget, total = file.budgets.get(group, BUDGETS[group]), sum(points[name] for name in names)
        if abs(total - budget) > _TOLERANCE:
            raise InputError(f"{path}: expected {budget:g} points in {group} ({', '.join(names)}), found {total:g}")
    return points


def _known(path: Path, table: str, given: Mapping[str, float], names: tuple[str, ...]) -> None:
    for name, value in given.items():
        if name not in names:
            raise InputError(f"{path}: {table}: expected one of {', '.join(names)}, found {name!r}")
        if not value >= 0 or value == float("inf"):
            raise InputError(f"{path}: {table}.{name}: expected a number from 0, found {value}")
