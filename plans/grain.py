"""How fine to look at a time axis when the user did not say."""

from __future__ import annotations

from typing import Literal

from gpa.plans.requirements import Grain

Policy = Literal["literal", "span_first"]

_SHORT_DAYS, _LONG_DAYS, _MANY_POINTS = 90, 365, 60


def auto_grain(span_days: float, points: int, *, policy: Policy = "literal") -> Grain:
    """Daily, weekly or monthly for a span of days that holds so many points.

    The rules overlap: a span of 400 days with 100 points is both long and full. `literal` takes the first of them that
    fits (daily below 90 days or above 60 points, weekly up to 365 days, monthly beyond), `span_first` lets the span
    decide alone, which keeps long axes readable. 90 and 365 days are weekly.
    """
    if span_days < _SHORT_DAYS or (policy == "literal" and points > _MANY_POINTS):
        return "daily"
    return "weekly" if span_days <= _LONG_DAYS else "monthly"
