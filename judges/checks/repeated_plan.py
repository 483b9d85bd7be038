"""A replan that repeats the plan that has just failed.

Flags: something failed after an agent stated a plan, and its next plan is the same, step for step, in nearly the
same words. Why: a replan has to answer what triggered it; the same steps will meet the same obstacle.

"The same": as many steps, and a similarity (rapidfuzz `ratio` of the normalised steps, numbers and bullets taken
off) of at least 92 of 100. A to-do list is rewritten to tick things off, so it counts only when nothing in it
changed.

Known false alarms: a failure that had nothing to do with the plan, after which going on as planned was right.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator

from rapidfuzz import fuzz

from gpa.ingest.planning import to_do_list
from gpa.ingest.tool_calls import faults
from gpa.ingest.transcript import Plan, Step, Transcript
from gpa.judges.checks.check import Check, Hit

_SIMILAR = 92.0
_OPENING = 60
_COMPARED = 6_000
"""Characters of a plan that are compared."""
_BULLET = re.compile(r"^\s*(?:[-*•+]|\d+[.)]|#+|\[[ xX]?\])\s*")
_TICKED = re.compile(
    r"(?:\[(?:pending|in.?progress|completed?|done|todo|cancelled|blocked)\]\s*$|^\s*[-*]\s*\[[ xX]\])",
    re.IGNORECASE | re.MULTILINE,
)


def find(transcript: Transcript) -> Iterator[Hit]:
    """One hit for each replan that repeats the plan before it."""
    if len(transcript.plans) < 2:
        return
    order = {step.label: number for number, step in enumerate(transcript.steps)}
    failed: defaultdict[str, list[int]] = defaultdict(list)
    for fault in faults(transcript):
        failed[fault.agent].append(order[fault.label])
    previous: dict[str, Plan] = {}
    for plan in transcript.plans:
        if not _states(transcript.step(plan.label), plan.text):
            continue
        last = previous.get(plan.agent)
        previous[plan.agent] = plan
        if last is None or last.label == plan.label:
            continue
        start, stop = order.get(last.label, -1), order.get(plan.label, -1)
        between = failed[plan.agent][bisect_right(failed[plan.agent], start) : bisect_left(failed[plan.agent], stop)]
        if between and _same(last.text, plan.text):
            failure = transcript.steps[between[0]].label
            yield Hit(
                (plan.label, last.label),
                quote=plan.text,
                problem=f"the plan of [{last.label}] is stated again although [{failure}] failed in between",
                severity="MEDIUM",
            )


def _states(step: Step, text: str) -> bool:
    """Whether the plan is this step's own: one that its input quotes is another step's, with the task around it."""
    own = "\n".join(message.text for message in step.output)
    return step.kind != "llm" or text[:_OPENING].strip() in own or any(to_do_list(message) for message in step.output)


def _same(one: str, other: str) -> bool:
    if _TICKED.search(one) or _TICKED.search(other):
        return one.strip() == other.strip()
    left, right = _steps(one), _steps(other)
    return (
        bool(left)
        and len(left) == len(right)
        and fuzz.ratio("\n".join(left), "\n".join(right), score_cutoff=_SIMILAR) > 0
    )


def _steps(text: str) -> list[str]:
    lines = (" ".join(_BULLET.sub("", line).lower().split()) for line in text[:_COMPARED].splitlines())
    return [line for line in lines if line]


CHECK = Check(
    name="repeated-plan",
    about="a replan that repeats the failed plan",
    category="Task Orchestration",
    dimensions=("PQ",),
    find=find,
    why="A replan has to answer what triggered it; the same steps meet the same obstacle.",
    confidence="certain",
    severity="MEDIUM.",
    cited="The step that states the plan again, then the one that stated it first.",
    false_alarms="A failure that had nothing to do with the plan.",
)
