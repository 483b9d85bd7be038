"""Reads OpenTelemetry traces of LLM agents; says how well goal, plan and action went, and which spans hold each error.

```python
import gpa

for result in gpa.evaluate("traces/").results:
    print(result)
```

Names are loaded when first used, so that `import gpa` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpa.errors import FormatError, GpaError, InputError, StoreError, UsageError
    from gpa.evaluation import Evaluation, Progress, Summary, aevaluate, evaluate
    from gpa.ingest.agents import Agent
    from gpa.ingest.assembly import read_traces
    from gpa.ingest.capture import capture
    from gpa.ingest.dialects.call import Message
    from gpa.ingest.files import read_spans
    from gpa.ingest.problems import Problem
    from gpa.ingest.spans import Event, Span, Trace
    from gpa.ingest.transcript import Plan, Step, Transcript, transcribe
    from gpa.judges.gold import Gold, GoldError, HumanScore, load_gold
    from gpa.judges.verdict import Failure, Finding, NotApplicable, Verdict
    from gpa.judging import Judging, Spending
    from gpa.plans.compile import compile_user, compile_users
    from gpa.plans.horizon import Horizon, measure_horizon
    from gpa.plans.trajectory import compare_trajectories
    from gpa.plans.users import load_users
    from gpa.plans.workflow_files import load_workflows
    from gpa.recall import score
    from gpa.report import write_report
    from gpa.scored import Scored
    from gpa.testing import assert_agent

_MODULES = {
    "gpa.errors": ("FormatError", "GpaError", "InputError", "StoreError", "UsageError"),
    "gpa.evaluation": ("Evaluation", "Progress", "Summary", "aevaluate", "evaluate"),
    "gpa.ingest.agents": ("Agent",),
    "gpa.ingest.assembly": ("read_traces",),
    "gpa.ingest.capture": ("capture",),
    "gpa.ingest.dialects.call": ("Message",),
    "gpa.ingest.files": ("read_spans",),
    "gpa.ingest.problems": ("Problem",),
    "gpa.ingest.spans": ("Event", "Span", "Trace"),
    "gpa.ingest.transcript": ("Plan", "Step", "Transcript", "transcribe"),
    "gpa.judges.gold": ("Gold", "GoldError", "HumanScore", "load_gold"),
    "gpa.judges.verdict": ("Failure", "Finding", "NotApplicable", "Verdict"),
    "gpa.judging": ("Judging", "Spending"),
    "gpa.plans.compile": ("compile_user", "compile_users"),
    "gpa.plans.horizon": ("Horizon", "measure_horizon"),
    "gpa.plans.trajectory": ("compare_trajectories",),
    "gpa.plans.users": ("load_users",),
    "gpa.plans.workflow_files": ("load_workflows",),
    "gpa.recall": ("score",),
    "gpa.report": ("write_report",),
    "gpa.scored": ("Scored",),
    "gpa.testing": ("assert_agent",),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "Agent",
    "Evaluation",
    "Event",
    "Failure",
    "Finding",
    "FormatError",
    "Gold",
    "GoldError",
    "GpaError",
    "Horizon",
    "HumanScore",
    "InputError",
    "Judging",
    "Message",
    "NotApplicable",
    "Plan",
    "Problem",
    "Progress",
    "Scored",
    "Span",
    "Spending",
    "Step",
    "StoreError",
    "Summary",
    "Trace",
    "Transcript",
    "UsageError",
    "Verdict",
    "aevaluate",
    "assert_agent",
    "capture",
    "compare_trajectories",
    "compile_user",
    "compile_users",
    "evaluate",
    "load_gold",
    "load_users",
    "load_workflows",
    "measure_horizon",
    "read_spans",
    "read_traces",
    "score",
    "transcribe",
    "write_report",
]


def __getattr__(name: str) -> Any:
    """The public name, imported from the module that owns it."""
    if name == "__version__":
        from importlib.metadata import version

        return version("agent-gpa")
    if name not in _HOMES:
        raise AttributeError(f"module 'gpa' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return sorted(__all__)
