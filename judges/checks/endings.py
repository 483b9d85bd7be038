"""Runs that end without an answer.

- `no-answer` (GF): the agent that was asked handed nothing over. Its last model call failed, or put out nothing though
  its outputs are recorded; or it was cut in mid-sentence by the token limit, or taken away by a filter; or it called a
  tool, and nobody read what that brought, although the agent's own step has ended. Cited is that call.
- `step-limit` (GF, EE): the agent was stopped because it had used up its steps or turns. Cited is the last model call
  before, or the one that is told, or whose whole output says so.
- `answer-refused` (GF): the answer says that there is none ("unable to determine"), although the instructions want one
  whatever happens; or it is nothing but a refusal, although a tool at hand could have told (`means.py`), the request
  names nothing that is commonly refused, and no instruction speaks of refusing or of words like these.

A trace that ends early says nothing: an agent's step is recorded when it ends, so a run that still goes on, or waits
for its caller to run a tool or to approve one, has no such step around a call that was carried out. Agents that hand
over to another one, and traces without content, are not accused.

Known false alarms: an agent whose last deed is its answer, and whose own step records no output.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gpa.ingest.dialects.call import Message
from gpa.ingest.transcript import Step, Transcript
from gpa.judges.checks.acts import Act, conduct, finishes, instructions
from gpa.judges.checks.check import Check, Hit
from gpa.judges.checks.means import at_hand, request
from gpa.judges.checks.replies import at_limit, filtered, mid_sentence
from gpa.judges.checks.sources import answer_of

_LIMIT = re.compile(
    r"""\b(?:reached|exceeded|hit|ran\ out\ of|exhausted)\ (?:(?:the|its|your)\ )?
        (?:max(?:imum)?[ _]?)?(?:number\ of\ |allowed\ )?
        (?:steps|turns|iterations|step\ limit|iteration\ limit|turn\ limit|recursion\ limit)\b
      | \bmax(?:imum)?[ _-]?(?:number\ of\ )?(?:steps|turns|iterations)\b[^.\n]{0,20}\b(?:reached|exceeded)
      | \b(?:iteration|step|turn|recursion)\ limit\b[^.\n]{0,20}\b(?:reached|exceeded|of\ \d+\ reached)
      | \bMaxTurnsExceeded\b | \bGraphRecursionError\b | \bAgent\ stopped\ due\ to\ (?:max\ iterations|iteration\ limit)
      | \bgot\ stuck\ and\ failed\b | \bneed\ more\ steps\ to\ process\ this\ request\b
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
_BARE_REFUSAL = re.compile(
    r"\W*(?:(?:I['’]?m|I am|we are)?\s*(?:very |so )?sorry,?\s*(?:but )?)?(?:I|we) "
    r"(?:cannot|can['’]?t|can not|am unable to|am not able to|won['’]?t) "
    r"(?:help|assist|comply|do|fulfil+|answer|respond)(?: (?:you|with|to|that|this|your|request|question)){0,5}\W*",
    re.IGNORECASE,
)
_REFUSED_ANYWAY = re.compile(
    r"\b(?:weapons?|bombs?|explosi\w+|kill\w*|murder\w*|suicid\w*|poison\w*|drugs?|meth|hack\w*|malware|virus\w*|exploit\w*"
    r"|phish\w*|passwords?|credentials?|secrets?|steal\w*|fraud\w*|launder\w*|counterfeit\w*|illegal\w*|porn\w*|nude\w*|sex\w*"
    r"|racis\w*|terror\w*|home address|social security|credit card|diagnos\w*|lyrics|system prompt"
    r"|ignore (?:all|your|the|previous))\b",
    re.IGNORECASE,
)
"""What models refuse with good reason, or for reasons of their makers."""
_MAY_REFUSE = re.compile(
    r"\b(?:sorry|refuse|decline|reject|only (?:answer|help|respond|discuss|talk|assist)|can(?:not|['’]t) help"
    r"|(?:do not|don['’]t|never) (?:answer|help|discuss|respond|talk)|out of scope|off.?topic)\b",
    re.IGNORECASE,
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
_NOTHING_ELSE = 120
"""Characters of an output that says nothing but this."""
_HEAD = 8_000
_HANDS_OVER = re.compile(r"(?:^|_)(?:transfer|hand_?off|handover|delegate|escalate)(?:_|$)", re.IGNORECASE)


def no_answer(transcript: Transcript) -> Iterator[Hit]:
    """A hit at the model call on which the run of the first agent ended."""
    models = [step for step in transcript.steps if step.kind == "llm"]
    if not models or models[-1].agent != models[0].agent:
        return
    last = models[-1]
    handed_over = transcript.final_answer.strip() or any(s.kind == "agent" and _put_out(s) for s in transcript.steps)
    problem = "" if handed_over else _nothing(transcript, last, models[:-1])
    problem = problem or _broken_off(last)
    if problem:
        yield Hit((last.label,), quote=last.error or _text(last)[-200:], problem=problem, severity="HIGH")


def _nothing(transcript: Transcript, last: Step, before: list[Step]) -> str:
    """Why the last model call of a run hands nothing over, or nothing."""
    calls = [message.tool_name for message in last.output if message.tool_name]
    if not _put_out(last):
        if last.error or last.status == "error":
            return "the run ends on a model call that failed: the user gets no answer"
        if last.finish_reason and _content(last.messages) and any(_content(step.output) for step in before):
            return "the run ends on an empty output: the user gets no answer"
        return ""
    over = _text(last) or not _content(last.output) or any(finishes(name) or _HANDS_OVER.search(name) for name in calls)
    if calls and not over and _ended_after(transcript, last):
        return f"the run ends on a call of {calls[-1]}, the result of which is never read: the user gets no answer"
    return ""


def _broken_off(last: Step) -> str:
    """How the provider broke the last output off, or nothing."""
    if any(message.tool_name for message in last.output):
        return ""
    if filtered(last):
        return "the answer was taken away by the provider's filter"
    if at_limit(last) and _text(last) and mid_sentence(_text(last)):
        return "the answer breaks off in mid-sentence: the token limit was reached"
    return ""


def _ended_after(transcript: Transcript, last: Step) -> bool:
    """Whether a tool ran after this model call inside an agent's step that holds both, and has ended."""
    around = {step.label for step in _around(transcript, last) if step.kind == "agent" and step.duration_ns > 0}
    at = conduct(transcript).order[last.label]
    return any(
        step.kind == "tool" and any(outer.label in around for outer in _around(transcript, step))
        for step in transcript.steps[at + 1 :]
    )


def _around(transcript: Transcript, step: Step) -> Iterator[Step]:
    """The steps a step ran inside, the nearest first."""
    seen = {step.label}
    while step.parent and step.parent not in seen:
        seen.add(step.parent)
        step = transcript.step(step.parent)
        yield step


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
        acts = read.by_agent.get(step.agent, [])
        match = _stopped(step, acts[-1].label) if acts and step.agent not in seen else None
        if match:
            seen.add(step.agent)
            yield _limit(acts[-1].label, match)


def _stopped(step: Step, last: str) -> re.Match[str] | None:
    """What says that the agent was stopped: an error around it, or the whole of its last output or of one around it."""
    if step.kind in {"agent", "other"} and step.error:
        return _LIMIT.search(step.error[:4_000])
    if step.kind in {"agent", "other"} or step.label == last:
        text = _text(step)
        return _LIMIT.search(text) if len(text) <= _NOTHING_ELSE else None
    return None


def refusal(transcript: Transcript) -> Iterator[Hit]:
    """A hit at the answer that says there is none, where the instructions do not let it."""
    read = conduct(transcript)
    for acts in read.by_agent.values():
        answer = answer_of(act for act in acts if not act.planning)
        if answer is None or len(answer.said) > _REFUSAL_MAX:
            continue
        if _REFUSES.search(answer.said) and _MUST.search(transcript.goal[:_HEAD]):
            problem = "gives no answer, although the request wants one whatever happens"
            yield Hit((answer.label,), quote=answer.said, problem=problem, severity="HIGH")
        elif _BARE_REFUSAL.fullmatch(answer.said) and _ordinary(transcript, answer):
            problem = "refuses a request that a tool at hand could have served"
            yield Hit((answer.label,), quote=answer.said, problem=problem, severity="MEDIUM")


def _ordinary(transcript: Transcript, answer: Act) -> bool:
    """Whether nothing in the request or the instructions gives a reason to refuse, and the means were there."""
    given = "\n".join(message.text[:_HEAD] for message in instructions(transcript, answer.step.agent))
    asked = request(transcript, answer)
    return (
        not _MAY_REFUSE.search(given)
        and not _REFUSED_ANYWAY.search(asked)
        and not filtered(answer.step)
        and at_hand(transcript, answer)
    )


def _put_out(step: Step) -> bool:
    return any(message.text.strip() or message.tool_name for message in step.output)


def _text(step: Step) -> str:
    return "\n".join(m.text for m in step.output if m.text and m.role != "reasoning").strip()


def _content(messages: Iterable[Message]) -> bool:
    """Whether the trace holds what messages say: some exports keep only that there were any."""
    return any(message.text.strip() or message.arguments is not None for message in messages)


def _limit(label: str, match: re.Match[str]) -> Hit:
    return Hit((label,), quote=match[0], problem="the agent was stopped at its limit of steps", severity="HIGH")


NO_ANSWER = Check(
    name="no-answer",
    about="a run that ends without an answer",
    category="Instruction Non-compliance",
    dimensions=("GF",),
    find=no_answer,
    why="The user got nothing.",
    confidence="likely",
    severity="HIGH.",
    cited="The agent's last model call.",
    false_alarms="An agent whose last deed is its answer, and whose own step records no output.",
    version=2,
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
    version=2,
)
REFUSAL = Check(
    name="answer-refused",
    about="no answer where the request wants one whatever happens, or could have been served",
    category="Instruction Non-compliance",
    dimensions=("GF",),
    find=refusal,
    why="The request rules it out, or nothing stood in its way.",
    confidence="likely",
    severity="HIGH; MEDIUM for a bare refusal of what could have been served.",
    cited="The answer.",
    false_alarms=(
        "A request that cannot be answered, or ought not to be in words the check does not know, where saying so was "
        "right."
    ),
    version=2,
)
