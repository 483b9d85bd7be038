"""An answer without the work that the agent's own plan says it needs.

A plan that gets something from outside the model (see `sources`) was stated, no tool, sub-agent or other source was
consulted with success, and the agent answered all the same. Two things are wrong then, each a check of its own, at
the model call that hands over the answer:

- `skipped-plan` (PA): the planned steps were not done, and the answer came instead.
- `tool-not-used` (TS): the very first act was the answer; no planned or offered tool was so much as tried.

Why: whoever reads the answer takes it for looked up. HIGH, as the answer stands on nothing.

Not flagged: agents without a plan; plans that only reason or compute; agents without tools. Known false alarms: a plan
whose source was in the prompt all the time.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpa.ingest.transcript import Transcript
from gpa.judges.checks.check import Check, Hit
from gpa.judges.checks.sources import Search, looked, offered, searches


def skipped_plan(transcript: Transcript) -> Iterator[Hit]:
    """One hit for each agent that answered in place of doing what it had planned."""
    for search in _unsupported(transcript):
        yield Hit(
            (search.answer.label,),
            quote=search.answer.opening,
            problem=f"answers without having done what [{search.plan.label}] plans: {search.steps[0]}",
            severity="HIGH",
        )


def tool_not_used(transcript: Transcript) -> Iterator[Hit]:
    """One hit for each agent whose first act is an answer that its plan would have a tool for."""
    for search in _unsupported(transcript):
        tools = sorted(search.named) or list(offered(transcript, search.answer))
        if tools and not any(act.acts for act in search.before) and not looked(search.answer, worked=False):
            yield Hit(
                (search.answer.label,),
                quote=search.answer.opening,
                problem=(
                    f"answers at once; of the tools at hand ({', '.join(tools[:6])}) none was used for: "
                    f"{search.steps[0]}"
                ),
                severity="HIGH",
            )


def _unsupported(transcript: Transcript) -> Iterator[Search]:
    for search in searches(transcript):
        if not search.evidence and offered(transcript, search.answer):
            yield search


SKIPPED_PLAN = Check(
    name="skipped-plan",
    about="an answer in place of the planned work",
    category="Goal Deviation",
    dimensions=("PA", "GF"),
    find=skipped_plan,
    why="The agent itself thought the work necessary.",
    confidence="likely",
    severity="HIGH.",
    cited="The answer.",
    false_alarms="A plan whose source was in the request all the time.",
)
TOOL_NOT_USED = Check(
    name="tool-not-used",
    about="an answer at once where the plan needs a tool",
    category="Tool Selection Errors",
    dimensions=("TS",),
    find=tool_not_used,
    why="The means were at hand, and the plan has a use for them.",
    confidence="likely",
    severity="HIGH.",
    cited="The answer.",
    false_alarms="As for `skipped-plan`.",
)
