"""What each model call did: said, wrote code, called tools, was told, gave the answer.

Agents act in two ways that traces record differently: by tool calls in a model's output, and by code that a framework
runs (then the calls are steps of their own, or nowhere). Code stands in the text, or in an argument of a call to a tool
that runs it. Checks ask about acts, so that they need not know which.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from typing import Any

from msgspec import Struct

from gpa.ingest.dialects.call import Message
from gpa.ingest.tool_calls import Fault, ToolCall, faults, tool_calls
from gpa.ingest.transcript import Step, Transcript

TOOL_ROLES = frozenset({"tool", "function", "tool-response", "tool_response", "tool_result"})
_RESULT_START = re.compile(
    r"\s*(?:\[?observations?\b|call id:|error:|execution logs:|results?:|tool (?:result|output))", re.IGNORECASE
)
_FENCE = re.compile(r"```[ \t]*([\w+-]*)[^\n]*\n(.*?)(?:```|\Z)", re.DOTALL)
_CODE_TAG = re.compile(r"<(code|python|execute)>\s*(.*?)(?:</\1>|\Z)", re.DOTALL)
_NOT_CODE = frozenset({"json", "markdown", "md", "text", "txt", "diff", "patch", "yaml", "xml", "html", "csv"})
_LITERALS = re.compile(
    r"""\"\"\".*?(?:\"\"\"|\Z)|'''.*?(?:'''|\Z)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\#[^\n]*""", re.DOTALL
)
_CALLED = re.compile(r"(?<![\w.])([A-Za-z_]\w*)\s*\(")
_FINISHES = re.compile(
    r"^(?:final_?answer|finish|finali[sz]e|submit(?:_\w+)?|task_complete|attempt_completion|complete_task|terminate|done"
    r"|give_final_\w+|final_(?:result|response|output))$",
    re.IGNORECASE,
)
_SENT_AS = frozenset({"code", "script", "source", "command", "cmd"})
"""Arguments by which code is sent to a tool that runs it; `code` may also be a currency, `source` a page."""
_PYTHON = re.compile(
    r"""^[ \t]*(?:import[ \t]+\w | from[ \t]+[\w.]+[ \t]+import\b
      | (?:async[ \t]+)?(?:def|class|for|while|with)[ \t][^\n]*:
      | [A-Za-z_][\w.]*(?:\(|(?:\[[^\]\n]*\])?[ \t]*[-+*/|&]?=(?!=)))""",
    re.VERBOSE | re.MULTILINE,
)
_COMMAND = re.compile(r"[\w./~-]+(?:=\S*)?[ \t]+\S")
MAX_CODE = 60_000
"""Characters of code that are looked at."""


class Act(Struct, frozen=True, dict=True):
    """One model call of an agent, as a decision."""

    step: Step
    said: str
    """All text it put out, reasoning that is recorded apart excepted."""
    code: str
    """Code it wrote for the framework, or sent to a tool, to run; empty when none."""
    prose: str
    """What it said outside that code."""
    told: str
    """Results of earlier calls or code that its input brings for the first time."""
    calls: tuple[ToolCall, ...]
    """Calls it asked for, or that its code made."""
    delegated: tuple[str, ...]
    """Labels of the sub-agent steps that ran because of it."""
    planning: bool
    """Whether it states a plan, or takes stock for one, without acting."""
    unread: bool
    """Whether it was to act, but what it put out could not be read as an action."""
    command: str = ""
    """Shell commands it sent to a tool."""

    @property
    def label(self) -> str:
        """Label of its step."""
        return self.step.label

    @cached_property
    def bare(self) -> str:
        """The code without its comments and literals."""
        return _LITERALS.sub(" ", self.code)

    @property
    def asks(self) -> bool:
        """Whether it asks for its calls by the model's own means; its code, if any, then stands in their arguments."""
        return any(call.asked for call in self.calls)

    @cached_property
    def coded(self) -> frozenset[str]:
        """Names that its code calls."""
        return frozenset(call.tool for call in self.calls if not call.asked) | frozenset(_CALLED.findall(self.bare))

    @cached_property
    def names(self) -> frozenset[str]:
        """Names it calls: of tools, or of whatever its code calls."""
        return frozenset(call.tool for call in self.calls) | self.coded

    @cached_property
    def finishes(self) -> bool:
        """Whether it hands over the answer by calling the tool that exists for this.

        Code that a tool runs cannot: what it calls `done` or `submit` is its own.
        """
        return any(finishes(name) for name in ({call.tool for call in self.calls} if self.asks else self.names))

    @property
    def opening(self) -> str:
        """How it begins, to be quoted: what it says, else what it calls with."""
        said = self.said.strip()
        return (said or next((call.key for call in self.calls if call.asked), ""))[:300]

    @property
    def acts(self) -> bool:
        """Whether it does anything besides talking."""
        return bool(self.calls or self.code)


def finishes(tool: str) -> bool:
    """Whether a tool of this name only hands over the agent's answer."""
    return _FINISHES.match(tool) is not None


class Conduct(Struct, frozen=True):
    """The acts of a whole transcript."""

    acts: dict[str, Act]
    """By label, in order."""
    by_agent: dict[str, list[Act]]
    told_of: dict[str, Act]
    """By the label of a failed step: the act whose input tells of it, where there is one."""
    order: dict[str, int]


def conduct(transcript: Transcript) -> Conduct:
    """Every model call of the transcript as an act; made once per transcript."""
    memo: dict[str, Any] = transcript.__dict__
    if "conduct" not in memo:
        memo["conduct"] = _conduct(transcript)
    return memo["conduct"]  # type: ignore[no-any-return]


def _conduct(transcript: Transcript) -> Conduct:
    calls: defaultdict[str, list[ToolCall]] = defaultdict(list)
    for call in tool_calls(transcript):
        calls[call.asked or call.before].append(call)
    order = {step.label: number for number, step in enumerate(transcript.steps)}
    models = [step for step in transcript.steps if step.kind == "llm"]
    following = _following(models)
    delegated = _delegations(transcript)
    faulty = {fault.cause for fault in faults(transcript) if fault.call is None}
    by_agent: defaultdict[str, list[Act]] = defaultdict(list)
    acts: dict[str, Act] = {}
    for step in models:
        act = _act(step, following.get(step.label), tuple(calls[step.label]), tuple(delegated[step.label]), faulty)
        acts[step.label] = act
        by_agent[step.agent].append(act)
    told_of: dict[str, Act] = {}
    for fault in faults(transcript):
        told = _told(fault, by_agent, order)
        if told is not None:
            told_of[fault.label] = told
    return Conduct(acts=acts, by_agent=dict(by_agent), told_of=told_of, order=order)


def _following(models: list[Step]) -> dict[str, Step]:
    """Per model call the next one of the same agent."""
    following: dict[str, Step] = {}
    last: dict[str, Step] = {}
    for step in models:
        if step.agent in last:
            following[last[step.agent].label] = step
        last[step.agent] = step
    return following


def _delegations(transcript: Transcript) -> defaultdict[str, list[str]]:
    """Per model call the sub-agent steps that ran before the next call of the agent that owns them."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    parents = {agent.key: agent.parent for agent in transcript.agents}
    last: dict[str, str] = {}
    for step in transcript.steps:
        if step.kind == "llm":
            last[step.agent] = step.label
        elif step.kind == "agent":
            above = parents.get(step.agent, "")
            if above in last:
                found[last[above]].append(step.label)
    return found


def _act(
    step: Step, following: Step | None, calls: tuple[ToolCall, ...], delegated: tuple[str, ...], faulty: set[str]
) -> Act:
    said = "\n".join(m.text for m in step.output if m.text and m.role not in TOOL_ROLES and m.role != "reasoning")
    asked = any(call.asked for call in calls)
    code, prose = ("", said) if asked else split_code(said)
    if code and not (calls or delegated or (following is not None and _results(following)) or finishing_call(code)):
        code, prose = "", said  # an answer that shows code, not code that ran
    sent = sent_code(calls) if asked else ("", "")
    code = code or sent[0]
    acting = bool(calls or code)
    unread = not acting and step.label in faulty and not step.error
    return Act(
        step=step,
        said=said,
        code=code[:MAX_CODE],
        prose=prose,
        told=_results(step),
        calls=calls,
        delegated=delegated,
        planning=not acting and not unread and following is not None,
        unread=unread,
        command=sent[1][:MAX_CODE],
    )


def split_code(text: str) -> tuple[str, str]:
    """The code blocks of a text, and the text without them."""
    if "```" not in text and "<" not in text:
        return "", text
    code: list[str] = []

    def take(match: re.Match[str]) -> str:
        if match.re is _FENCE and match[1].lower() in _NOT_CODE:
            return match[0]
        code.append(match[2])
        return "\n"

    prose = _FENCE.sub(take, text) if "```" in text else text
    if not code and "<" in text:
        prose = _CODE_TAG.sub(take, text)
    return "\n".join(code), prose


def sent_code(calls: Iterable[ToolCall]) -> tuple[str, str]:
    """The Python code and the shell commands that calls send to tools which run them."""
    code: list[str] = []
    commands: list[str] = []
    for call in calls:
        for name, text in call.arguments.items() if isinstance(call.arguments, dict) else ():
            if name.lower() in _SENT_AS and isinstance(text, str):
                if _PYTHON.search(text, 0, MAX_CODE):
                    code.append(text)
                elif _COMMAND.match(text.lstrip()):
                    commands.append(text)
    return "\n".join(code), "\n".join(commands)


def instructions(transcript: Transcript, agent: str) -> tuple[Message, ...]:
    """What an agent was told before its first act: its instructions and the request, without what it was shown."""
    found = transcript.agent(agent)
    acts = conduct(transcript).by_agent.get(agent, ())
    given = (*(found.system if found else ()), *(acts[0].step.messages if acts else ()))
    return tuple(m for m in given if m.text and m.role in {"system", "developer", "user"})


def finishing_call(code: str) -> bool:
    """Whether code hands over an answer."""
    return any(finishes(name) for name in _CALLED.findall(_LITERALS.sub(" ", code[:MAX_CODE])))


def _results(step: Step) -> str:
    return "\n".join(
        m.text
        for m in step.messages
        if m.text and (m.role in TOOL_ROLES or (m.role == "user" and _RESULT_START.match(m.text)))
    )


def _told(fault: Fault, by_agent: dict[str, list[Act]], order: dict[str, int]) -> Act | None:
    """The next model call of the agent that asked: what failed shows there first, in what it is told."""
    at = order.get(fault.label, -1)
    if fault.cause and order.get(fault.cause, -1) > at:  # a step that wraps the call: it ended after it
        at = order[fault.cause]
    return next((act for act in by_agent.get(fault.agent, ()) if order[act.label] > at), None)
