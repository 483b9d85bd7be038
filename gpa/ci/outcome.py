"""What every output for CI is made from: a run, what it is held against, and how strict the gate is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from gpa.evaluation import Located
from gpa.judges.verdict import GRAVITY, Severity
from gpa.locations import Location, Recorded, findings
from gpa.regression import Regression

FailOn = Literal["regression", "new", "new-medium", "new-high", "any", "medium", "high"]
"""What fails a run: a dimension that got worse; findings at least that grave, new ones or any."""
FAIL_ON: tuple[FailOn, ...] = get_args(FailOn)
NEEDS_BASELINE: tuple[FailOn, ...] = ("regression", "new", "new-medium", "new-high")
UNDER = 2.0
"""The score from which a trace passes in JUnit XML when no `--fail-under` says another."""

_LEAST: dict[FailOn, Severity] = {
    "new": "LOW",
    "new-medium": "MEDIUM",
    "new-high": "HIGH",
    "any": "LOW",
    "medium": "MEDIUM",
    "high": "HIGH",
}


@dataclass(frozen=True)
class Outcome:
    """A run as CI sees it."""

    run: Recorded
    regression: Regression | None = None
    """Against the baseline, when there is one."""
    fail_under: float | None = None
    fail_on: tuple[FailOn, ...] = ()
    artifact: str | None = None
    """The file or folder of traces, relative to the checkout: where CI systems show findings."""

    @property
    def findings(self) -> tuple[Located, ...]:
        """Every finding of the run, the gravest first."""
        return findings(self.run.evaluation.results)

    def goal(self, trace_id: str) -> str:
        """What the user asked for in that trace; empty where it is not known."""
        traced = self.run.traces.get(trace_id)
        return traced.goal if traced is not None else ""

    def reasons(self) -> tuple[str, ...]:
        """Why the gate is shut, one line each; empty when it is open."""
        return (*_means_below(self), *(line for rule in self.fail_on for line in _broken(rule, self)))


def _at_least(found: tuple[Located, ...], severity: Severity) -> tuple[Located, ...]:
    """The findings that are at least that grave."""
    return tuple(one for one in found if GRAVITY[one.finding.severity] >= GRAVITY[severity])


def step_of(location: Location | None) -> str:
    """The step of a finding in words: `tool pay_invoice of invoice_clerk [s4]`; empty where it is not known."""
    if location is None:
        return ""
    agent = f" of {location.agent}" if location.agent and location.kind != "agent" else ""
    return f"{location.kind} {location.name}{agent} [{location.label}]"


def _means_below(outcome: Outcome) -> list[str]:
    limit = outcome.fail_under
    if limit is None:
        return []
    rows = outcome.run.evaluation.summary()
    return [
        f"{row.dimension} {row.name}: mean {_apart(row.mean, limit)[0]} is below {limit:.15g}"
        for row in rows
        if row.mean is not None and row.mean < limit
    ]


def _apart(one: float, other: float) -> tuple[str, str]:
    """Two different figures with as many digits as it takes to see that, two at the least."""
    for digits in range(2, 17):
        shown = f"{one:.{digits}f}", f"{other:.{digits}f}"
        if shown[0] != shown[1]:
            return shown
    return repr(one), repr(other)


def _broken(rule: FailOn, outcome: Outcome) -> list[str]:
    regression = outcome.regression
    if rule == "regression":
        worse = regression.worse if regression is not None else ()
        return [
            f"{change.dimension} {change.name} got worse: {' -> '.join(_apart(change.before, change.after))}"
            for change in worse
            if change.before is not None and change.after is not None
        ]
    if rule in NEEDS_BASELINE:
        found = _at_least(regression.new if regression is not None else (), _LEAST[rule])
        new = "new "
    else:
        found, new = _at_least(outcome.findings, _LEAST[rule]), ""
    if not found:
        return []
    sort = "" if _LEAST[rule] == "LOW" else " of severity HIGH" if _LEAST[rule] == "HIGH" else " of MEDIUM or HIGH"
    return [f"{len(found)} {new}finding{'s' * (len(found) != 1)}{sort}"]
