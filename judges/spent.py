"""What judgements used and cost, so that the sum over all results is what was paid."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gpa.judges.model import Outcome
from gpa.judges.verdict import Usage


class Spent(NamedTuple):
    """Tokens and USD; the cost is None when the price of something in it is not known."""

    usage: Usage = Usage()
    cost_usd: float | None = 0.0

    def plus(self, other: Spent) -> Spent:
        """Both together."""
        known = self.cost_usd is not None and other.cost_usd is not None
        return Spent(
            Usage(**{name: getattr(self.usage, name) + getattr(other.usage, name) for name in Usage.model_fields}),
            (self.cost_usd or 0.0) + (other.cost_usd or 0.0) if known else None,
        )

    def shared(self, count: int) -> list[Spent]:
        """In so many equal parts, whose sum is the whole."""
        cost = None if self.cost_usd is None else self.cost_usd / count
        totals = {name: divmod(getattr(self.usage, name), count) for name in Usage.model_fields}
        return [
            Spent(Usage(**{name: each + (number < left) for name, (each, left) in totals.items()}), cost)
            for number in range(count)
        ]


def spent(outcomes: Iterable[Outcome]) -> Spent:
    """What these answers, failed ones included, took together."""
    total = Spent()
    for outcome in outcomes:
        usage = outcome.usage.total()
        unpaid = usage == Usage() and outcome.usage.counted
        total = total.plus(Spent(usage, 0.0 if unpaid else outcome.cost_usd))
    return total
