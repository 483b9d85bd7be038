"""Each tool call of a transcript, once, with what became of it.

A call can be recorded up to three times: asked for in a model's output, run as a tool (or sub-agent) step, and
answered by a tool message in a later input. This module joins the three; what calls a tool from code (a code agent)
has only the second.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from gpa.ingest.dialects.call import Message
from gpa.ingest.error_reports import error_in
from gpa.ingest.history import canonical
from gpa.ingest.transcript import Step, Transcript

_TOOL_ROLES = frozenset({"tool", "function", "tool-response", "tool_response", "tool_result"})


class ToolCall(Struct, frozen=True):
    """One call of a tool. Labels are empty where the trace does not record that side of it."""

    tool: str
    """The name the model called, else the name of the step."""
    arguments: Any
    """As the model wrote them (a dict, or text that is not a JSON object), else as the tool step recorded them."""
    key: str
    """Canonical text of the arguments: equal for equal arguments."""
    agent: str
    asked: str = ""
    """Label of the LLM step whose output holds the call."""
    ran: str = ""
    """Label of the tool or agent step that ran it."""
    before: str = ""
    """Label of the last LLM step of the agent before the call ran: it wrote the code that makes an unasked call."""
    answered: bool = False
    """Whether a result or an error is recorded."""
    result: str = ""
    error: str = ""
    """Why it failed, empty when it did not (or the trace does not say)."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The steps that hold the call, the one that decided on it first."""
        return tuple(label for label in (self.asked or self.before, self.ran) if label)


class _Open:
    """A call while its sides are still being joined."""

    __slots__ = (
        "agent",
        "answered",
        "arguments",
        "asked",
        "before",
        "call_id",
        "error",
        "key",
        "ran",
        "result",
        "tool",
    )

    def __init__(self, message: Message, step: Step, agent: str, *, before: str, asked: str = "") -> None:
        self.tool = message.tool_name or step.name
        self.arguments = message.text if message.arguments is None else message.arguments
        self.key = canonical(self.arguments).strip() if self.arguments else ""
        self.agent = agent
        self.call_id = message.tool_call_id
        self.asked = asked
        self.ran = ""
        self.before = before
        self.answered = False
        self.result = ""
        self.error = ""

    def done(self) -> ToolCall:
        return ToolCall(
            tool=self.tool,
            arguments=self.arguments,
            key=self.key,
            agent=self.agent,
            asked=self.asked,
            ran=self.ran,
            before=self.before,
            answered=self.answered,
            result=self.result,
            error=self.error,
        )


class Fault(Struct, frozen=True):
    """Something that failed, told once: at the innermost step that reports it."""

    label: str
    """The step that failed."""
    cause: str
    """The LLM step that asked for it, empty when none did."""
    agent: str
    text: str
    call: ToolCall | None = None

    @property
    def words(self) -> str:
        """All that was recorded of it: a status can say less than what the tool gave back."""
        result = self.call.result if self.call else ""
        return self.text if not result or result in self.text else f"{self.text}\n{result}"


def tool_calls(transcript: Transcript) -> tuple[ToolCall, ...]:
    """Every tool call, in the order they were asked for or run; joined once per transcript."""
    memo: dict[str, Any] = transcript.__dict__
    if "tool_calls" not in memo:
        joining = _Joining(transcript)
        for step in transcript.steps:
            if step.kind == "llm":
                joining.llm(step)
            elif step.kind in {"tool", "retrieval"}:
                joining.tool(step)
            elif step.kind == "agent":
                joining.delegation(step)
        memo["tool_calls"] = tuple(call.done() for call in joining.found)
    return memo["tool_calls"]  # type: ignore[no-any-return]


def faults(transcript: Transcript) -> tuple[Fault, ...]:
    """Every failed tool call and every other failed step, each error once, in order of time."""
    memo: dict[str, Any] = transcript.__dict__
    if "faults" not in memo:
        memo["faults"] = tuple(_faults(transcript))
    return memo["faults"]  # type: ignore[no-any-return]


def _text(messages: tuple[Message, ...]) -> str:
    return "\n".join(message.text for message in messages if message.text)


class _Joining:
    """The calls found so far, by all that a later record of the same call may be known by."""

    def __init__(self, transcript: Transcript) -> None:
        self.found: list[_Open] = []
        self.before: dict[str, str] = {}
        """Per agent the label of its last LLM step."""
        self._latest: dict[str, list[_Open]] = {}
        """Per agent the calls of that step."""
        self._by_id: dict[str, _Open] = {}
        self._by_key: defaultdict[tuple[str, str, str], deque[_Open]] = defaultdict(deque)
        self._offered = {tool.name for agent in transcript.agents for tool in agent.tools}
        self._parents = {agent.key: agent.parent for agent in transcript.agents}

    def llm(self, step: Step) -> None:
        """Take the results this step was told and the calls it asks for."""
        for message in step.messages:
            if message.role in _TOOL_ROLES:
                self._answer(message, step.agent)
        self.before[step.agent] = step.label
        self._latest[step.agent] = []
        for message in step.output:
            if message.tool_name and message.role not in _TOOL_ROLES:
                call = _Open(message, step, step.agent, before=step.label, asked=step.label)
                self.found.append(call)
                self._latest[step.agent].append(call)
                self._by_key[call.agent, call.tool, call.key].append(call)
                if call.call_id:
                    self._by_id[call.call_id] = call

    def tool(self, step: Step) -> None:
        """Join a tool step to the call it ran, or take it as a call of its own."""
        message = next((m for m in step.messages if m.tool_name or m.arguments is not None), None)
        message = message or Message("assistant", _text(step.messages))
        agent = step.agent if step.agent in self.before else next(reversed(self.before), step.agent)
        run = _Open(message, step, agent, before=self.before.get(agent, ""))
        call = self._asked(run)
        if call is None:
            self.found.append(run)
        _ran(call or run, step)

    def delegation(self, step: Step) -> None:
        """Join a sub-agent's step to the open call of its parent that has its name."""
        name = step.agent.partition("#")[0]
        for call in self._latest.get(self._parents.get(step.agent, ""), ()):
            if not call.ran and call.tool in {step.name, name}:
                _ran(call, step)
                return

    def _asked(self, run: _Open) -> _Open | None:
        """The model's call that is this run: same id; else same name and arguments; else the likeliest open one."""
        call = self._by_id.get(run.call_id) if run.call_id else None
        if call is not None:
            return None if call.ran else call
        queue = self._by_key.get((run.agent, run.tool, run.key))
        while queue:
            call = queue.popleft()
            if not call.ran:
                return call
        pending = [call for call in self._latest.get(run.agent, ()) if not call.ran]
        same_name = next((call for call in pending if call.tool == run.tool), None)
        if same_name is not None or run.tool in self._offered:
            return same_name
        # Some libraries name the step after the tool's class: then equal arguments, or a single candidate, decide.
        same_arguments = next((call for call in pending if call.key == run.key), None)
        return same_arguments or (pending[0] if len(pending) == 1 else None)

    def _answer(self, message: Message, agent: str) -> None:
        """Give a tool message of an input to the call it answers; a tool step's own record goes first."""
        call = self._by_id.get(message.tool_call_id) if message.tool_call_id else None
        if call is None:
            open_calls = (call for call in self._latest.get(agent, ()) if not call.answered)
            call = next((call for call in open_calls if message.tool_name in {"", call.tool}), None)
        if call is not None and not call.answered:
            call.answered = True
            call.result = message.text
            call.error = error_in(message.text)


def _ran(call: _Open, step: Step) -> None:
    call.ran = step.label
    result = _text(step.output)
    failed = bool(step.error) or step.status == "error"
    call.answered = call.answered or bool(step.output) or failed
    call.result = call.result or result
    if failed:
        call.error = step.error or result or "the step's status is error"
    elif step.kind == "tool":
        call.error = call.error or error_in(result)


def _faults(transcript: Transcript) -> Iterator[Fault]:
    calls = tool_calls(transcript)
    by_run = {call.ran: call for call in calls if call.ran}
    unrun: defaultdict[str, list[ToolCall]] = defaultdict(list)
    for call in calls:
        if call.error and not call.ran:
            unrun[call.asked].append(call)
    texts = {step.label: text for step in transcript.steps if (text := _failure(step, by_run.get(step.label)))}
    passed_on = _passed_on(transcript, texts)
    inside = {step.parent: step.label for step in transcript.steps if step.kind == "llm"}
    latest: dict[str, str] = {}
    for step in transcript.steps:
        if step.kind == "llm":
            latest[step.agent] = step.label
            for call in unrun.pop(step.label, ()):
                yield Fault(label=step.label, cause=step.label, agent=call.agent, text=call.error, call=call)
        if step.label not in texts or step.label in passed_on:
            continue
        run = by_run.get(step.label)
        if run is not None:
            cause = run.asked or run.before
        else:
            cause = "" if step.kind == "llm" else inside.get(step.label, latest.get(step.agent, ""))
        yield Fault(
            label=step.label, cause=cause, agent=run.agent if run else step.agent, text=texts[step.label], call=run
        )


def _failure(step: Step, call: ToolCall | None) -> str:
    if call is not None:
        return call.error
    return step.error or ("the step's status is error" if step.status == "error" else "")


def _passed_on(transcript: Transcript, texts: dict[str, str]) -> set[str]:
    """Steps whose error is that of a step inside them: the exception went up, or only the status did."""
    parents = {step.label: step.parent for step in transcript.steps}
    found: set[str] = set()
    for label, text in texts.items():
        core = text.strip().rpartition("\n")[2][:80]
        above = parents.get(label, "")
        while above and above not in found:
            if above in texts and (core in texts[above] or texts[above] == "the step's status is error"):
                found.add(above)
            above = parents.get(above, "")
    return found
