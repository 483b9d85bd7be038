"""Runs that end without an answer.

- `no-answer` (GF): the last model call of the agent that was asked failed or put out nothing, so that nobody got an
  answer. Cited is that call.
- `step-limit` (GF, EE): the agent was stopped because it had used up its steps or turns. Cited is the last model call
  before, or the one that is told.
- `answer-refused` (GF): the answer says that there is none ("unable to determine"), although the instructions want one
  whatever happens.

Known false alarms: a run that was still going on when it was exported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpa.ingest.transcript import Step, Transcript
from gpa.judges.checks.acts import conduct
from gpa.judges.checks.check import Check, Hit
from gpa.judges.checks.sources import answer_of

_LIMIT = re.compile(
    r"""\b(?:reached|exceeded|hit|ran\ out\ of|exhausted)\ (?:(?:the|its|your)\ )?
        (?:max(?:imum)?[ _]?)?(?:number\ of\ |allowed\ )?
        (?:steps|turns|iterations|step\ limit|iteration\ limit|turn\ limit|recursion\ limit)\b
      | \bmax(?:imum)?[ _-]?(?:number\ of\ )?(?:steps|turns|iterations)\b[^.\n]{0,20}\b(?:reached|exceeded)
      | \b(?:iteration|step|turn|recursion)\ limit\b[^.\n]{0,20}\b(?:reached|exceeded|of\ \d+\ reached)
      | \bMaxTurnsExceeded\b | \bGraphRecursionError\b | \bAgent\ stopped\ due\ to\ (?:max\ iterations|iteration\ limit)
      | \bgot\ stuck\ and\ failed\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_REFUSES = re.compile(
    r"""\b(?:unable\ to\ (?:determine|answer|find|provide|complete)
      | (?:I\ )?(?:cannot|can['’]t|could\ not|couldn['’]t)\ (?:determine|answer|provide\ (?:an|the)\ answer
        |complete\ (?:the|this)\ task)
      | no\ answer\ (?:found|available)|none\ found)\b""",
    re.VERBOSE | re.IGNORECASE,
)
_MUST = re.compile(
    r"\b(?:fail\w*|cannot|can't|unable|none found|refus\w+|give up"
    r"|giving up)\b[^.\n]{0,80}\b(?:not (?:be )?(?:tolerated|acceptable"
    r"|accepted|allowed|an option)|unacceptable|never)\b|\b(?:do not|don't|never) (?:give up|refuse)\b",
    re.IGNORECASE,
)
_REFUSAL_MAX = 300
_SHORT = 600
"""Characters of a message in which a framework says that it stops the agent."""


def no_answer(transcript: Transcript) -> Iterator[Hit]:
    """A hit at the model call on which the run of the first agent ended."""
    models = [step for step in transcript.steps if step.kind == "llm"]
    if not models or transcript.final_answer.strip():
        return
    last = models[-1]
    if last.agent != models[0].agent or any(step.kind == "agent" and step.output for step in transcript.steps):
        return
    if (last.error or last.status == "error") and not _put_out(last):
        yield Hit(
            (last.label,),
            quote=last.error,
            problem="the run ends on a model call that failed: the user gets no answer",
            severity="HIGH",
        )


def step_limit(transcript: Transcript) -> Iterator[Hit]:
    """One hit for each agent that was stopped at its limit of steps."""
    read = conduct(transcript)
    seen: set[str] = set()
    for act in read.acts.values():
        if act.step.agent in seen or read.by_agent[act.step.agent][0] is act:
            continue
        given = "\n".join(m.text[:_SHORT] for m in act.step.messages if m.role in {"system", "user", "developer"})
        match = _LIMIT.search(given)
        if match:
            seen.add(act.step.agent)
            yield _limit(act.label, match)
    for step in transcript.steps:
        match = _LIMIT.search(step.error[:4_000]) if step.error and step.kind in {"agent", "other"} else None
        acts = read.by_agent.get(step.agent, ())
        if match and acts and step.agent not in seen:
            seen.add(step.agent)
            yield _limit(acts[-1].label, match)


def refusal(transcript: Transcript) -> Iterator[Hit]:
    """A hit at the answer that says there is none, where the instructions do not let it."""
    read = conduct(transcript)
    for acts in read.by_agent.values():
        answer = answer_of(act for act in acts if not act.planning)
        if answer is None or len(answer.said) > _REFUSAL_MAX:
            continue
        match = _REFUSES.search(answer.said)
        if match and _MUST.search(transcript.goal[:8_000]):
            yield Hit(
                (answer.label,),
                quote=answer.said,
                problem="gives no answer, although the request wants one whatever happens",
                severity="HIGH",
            )


def _put_out(step: Step) -> bool:
    return any(message.text.strip() or message.tool_name for message in step.output)


def _limit(label: str, match: re.Match[str]) -> Hit:
    return Hit((label,), quote=match[0], problem="the agent was stopped at its limit of steps", severity="HIGH")


NO_ANSWER = Check(
    name="no-answer",
    about="a run that ends on a failed model call",
    category="Instruction Non-compliance",
    dimensions=("GF",),
    find=no_answer,
    why="The user got nothing.",
    confidence="certain",
    severity="HIGH.",
    cited="The model call that failed.",
    false_alarms="A run that was still going on when it was exported.",
)
STEP_LIMIT = Check(
    name="step-limit",
    about="an agent that was stopped at its limit of steps",
    category="Task Orchestration",
    dimensions=("GF", "EE"),
    find=step_limit,
    why="The work was not done, and what follows is a guess.",
    confidence="certain",
    severity="HIGH.",
    cited="The model call that is told, else the agent's last.",
    false_alarms="An answer that was complete by then.",
)
REFUSAL = Check(
    name="answer-refused",
    about="no answer where the request wants one whatever happens",
    category="Instruction Non-compliance",
    dimensions=("GF",),
    find=refusal,
    why="The request rules it out.",
    confidence="likely",
    severity="HIGH.",
    cited="The answer.",
    false_alarms="A request that cannot be answered, where saying so was right.",
)
