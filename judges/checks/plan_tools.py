"""Plans and the tools they can be carried out with.

- `plan-without-tools` (PQ): the plan has steps that need a source (see `sources`), names no tool at hand for any of
  them, and the agent then answered without one. Cited is the answer: what was left open in the plan shows there.
- `plan-unknown-tool` (PQ): the plan wants to use a tool or helper by a name that nobody offered.
- `planned-tool-unused` (PA): the plan names tools at hand, the agent gave its answer, and one of them was never called.

Known false alarms: a plan that names a tool as a fallback ("if that fails"), or names what a sub-agent has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpa.ingest.transcript import Transcript
from gpa.judges.checks.acts import conduct, finishes
from gpa.judges.checks.check import Check, Hit
from gpa.judges.checks.sources import answer_of, named, offered, plan_steps, searches

_USES = re.compile(
    r"\b(?:use|using|call|ask|via|with|through|invoke|utili[sz]e|run)\s+(?:of\s+)?(?:the\s+|our\s+|a\s+)?[`'\"*]{0,3}"
    r"([a-z][a-z0-9]*(?:_[a-z0-9]+)+)[`'\"*]{0,3}(?:\(\))?(?=\s+(?:tool|agent|function|team member|helper)\b"
    r"|\s*\(|\s+to\b)",
    re.IGNORECASE,
)
_COMMON = frozenset(
    """
    search agent query fetch check lookup retrieve update create delete write final answer result
    results submit pages visit browse viewer inspect string table value values entry items information
    calculate compute analyze python interpreter execute source image using email
    message report state status
    """.split()  # noqa: SIM905 - easier to read and to add to than forty quoted words
)
_PERHAPS = re.compile(
    r"\b(?:if|unless|otherwise|alternatively|or|optional(?:ly)?|if needed|as needed|when|might|may|could|fallback)\b",
    re.IGNORECASE,
)


def without_tools(transcript: Transcript) -> Iterator[Hit]:
    """One hit for each agent whose plan names no tool where it needs one, and that used none."""
    for search in searches(transcript):
        if not search.named and not search.evidence and offered(transcript, search.answer):
            yield Hit(
                (search.answer.label,),
                quote=search.answer.opening,
                problem=f"the plan of [{search.plan.label}] names no tool for what it needs one for: {search.steps[0]}",
                severity="MEDIUM",
            )


def unknown_tool(transcript: Transcript) -> Iterator[Hit]:
    """One hit for each plan that wants to use a tool that is not there."""
    known = {tool.name.lower() for agent in transcript.agents for tool in agent.tools}
    known |= {agent.name.lower() for agent in transcript.agents}
    known |= {step.name.lower() for step in transcript.steps}
    if not any(agent.tools for agent in transcript.agents):
        return
    for plan in transcript.plans:
        for match in _USES.finditer(plan.text[:12_000]):
            if match[1].lower() not in known:
                yield Hit(
                    (plan.label,),
                    quote=match[0],
                    problem=f"plans to use {match[1]}, which was not offered",
                    severity="MEDIUM",
                )
                break


def unused_tool(transcript: Transcript) -> Iterator[Hit]:
    """One hit for each agent that acted, answered, and never called a tool that a step of its last plan is about."""
    read = conduct(transcript)
    last = {plan.agent: plan for plan in transcript.plans}
    for agent, plan in last.items():
        acts = [act for act in read.by_agent.get(agent, ()) if not act.planning]
        answer = answer_of(acts)
        if answer is None or not any(call for act in acts for call in act.calls if not finishes(call.tool)):
            continue
        tools = offered(transcript, answer)
        called = {name for act in acts for name in act.names}
        done = {word for tool in called for word in _words(tool)}
        steps = [step for step in plan_steps(plan.text) if not _PERHAPS.search(step)]
        for tool in tools:
            about = {word for word in _words(tool) if word not in done}
            step = next((step for step in steps if tool not in called and _about(step, tool, about)), None)
            if step is not None:
                yield Hit(
                    (answer.label,),
                    quote=answer.opening,
                    problem=f"answers without ever calling {tool}, which the plan of [{plan.label}] needs: {step}",
                    severity="MEDIUM",
                )
                break


def _about(step: str, tool: str, words: set[str]) -> bool:
    """Whether a step of a plan names a tool, or begins with or is about what the tool's name says."""
    return bool(named(step, (tool,))) or any(re.search(rf"\b{word}", step, re.IGNORECASE) for word in words)


def _words(tool: str) -> list[str]:
    """The telling words of a tool's name."""
    words = re.split(r"[_\-\s.]+|(?<=[a-z])(?=[A-Z])", tool)
    return [word.lower() for word in words if len(word) >= 5 and word.isalpha() and word.lower() not in _COMMON]


WITHOUT_TOOLS = Check(
    name="plan-without-tools",
    about="a plan that names no tool for what needs one",
    category="Task Orchestration",
    dimensions=("PQ",),
    find=without_tools,
    why="A plan that names no means is answered from memory.",
    confidence="likely",
    severity="MEDIUM.",
    cited="The answer: what the plan left open shows there.",
    false_alarms="Tools so obvious that they need no name.",
)
UNKNOWN_TOOL = Check(
    name="plan-unknown-tool",
    about="a plan for a tool that is not there",
    category="Tool Definition Issues",
    dimensions=("PQ",),
    find=unknown_tool,
    why="The step cannot be carried out.",
    confidence="hint",
    severity="MEDIUM.",
    cited="The step that states the plan.",
    false_alarms="A tool that only a sub-agent has.",
)
UNUSED_TOOL = Check(
    name="planned-tool-unused",
    about="an answer without a tool that the plan names",
    category="Goal Deviation",
    dimensions=("PA", "TS"),
    find=unused_tool,
    why="A step of the plan was left out, and nobody said why.",
    confidence="hint",
    severity="MEDIUM.",
    cited="The answer.",
    false_alarms="A plan that names a tool as a fallback without saying so; a step done by other means.",
)
