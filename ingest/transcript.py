"""A trace flattened into labelled steps that a person or a model can read and cite."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from msgspec import Struct, to_builtins

from gpa.ingest.agents import Agent
from gpa.ingest.dialects.call import Kind, Message, Tool, Usage
from gpa.ingest.history import Run, rebuild
from gpa.ingest.spans import Status, Trace


class Step(Struct, frozen=True, gc=False):
    """One operation of an agent. Times are nanoseconds, `start_ns` since 1970."""

    label: str
    span_id: str
    span_ids: tuple[str, ...]
    """`span_id` first, then the spans of other instrumentations that recorded the same call."""
    parent: str
    """Label of the step this one ran inside, empty for a root."""
    agent: str
    """Key of the agent that did it, empty outside every agent."""
    kind: Kind
    name: str
    operation: str = ""
    messages: tuple[Message, ...] = ()
    """LLM: what the input holds beyond the conversation so far and the agent's system instructions.
    Tool: the call. Others: what went in, as far as no model or tool call shows it."""
    output: tuple[Message, ...] = ()
    history: tuple[Run, ...] = ()
    """LLM: how the whole input is put together again; empty means `messages` is all of it."""
    restated: tuple[tuple[int, Message], ...] = ()
    """Messages of the history that came back in another form: (index in the whole input, as recorded)."""
    left_out: int = 0
    """Messages of the agent's conversation so far that this input no longer holds (trimmed, summarised)."""
    tools: tuple[Tool, ...] | None = None
    """Tool definitions where they differ from what the agent was offered before."""
    error: str = ""
    status: Status = "unset"
    start_ns: int = 0
    duration_ns: int = 0
    usage: Usage | None = None
    model: str = ""
    finish_reason: str = ""
    suppress: tuple[str, ...] = ()
    """What the span's attribute `gpa.suppress` says: checks whose findings here are muted, with reasons."""


class Plan(Struct, frozen=True):
    """A plan an agent stated: an explicit `plan` operation, text labelled as a plan, or a to-do list."""

    label: str
    """The step that states it."""
    agent: str
    text: str
    replan: bool
    """Whether the agent had stated a plan before."""


class Transcript(Struct, frozen=True, dict=True):
    """A trace, flattened: repeated histories removed, every step labelled."""

    trace_id: str
    goal: str
    """What the user asked for, empty when the trace does not hold it."""
    agents: tuple[Agent, ...]
    steps: tuple[Step, ...]
    plans: tuple[Plan, ...] = ()
    final_answer: str = ""
    warnings: tuple[str, ...] = ()

    @cached_property
    def _by_label(self) -> dict[str, Step]:
        return {step.label: step for step in self.steps}

    @cached_property
    def _agents(self) -> dict[str, Agent]:
        return {agent.key: agent for agent in self.agents}

    @cached_property
    def _conversations(self) -> dict[str, tuple[Message, ...]]:
        """Per LLM step its whole input and output; an input only ever refers to earlier steps."""
        whole: dict[str, tuple[Message, ...]] = {}
        for step in self.steps:
            if step.kind == "llm":
                agent = self._agents.get(step.agent)
                given = rebuild(step.history, step.messages, step.restated, agent.system if agent else (), whole)
                whole[step.label] = given + step.output
        return whole

    @cached_property
    def _tools(self) -> dict[str, tuple[Tool, ...]]:
        offered = {agent.key: agent.tools for agent in self.agents}
        at: dict[str, tuple[Tool, ...]] = {}
        for step in self.steps:
            if step.tools is not None:
                offered[step.agent] = step.tools
            at[step.label] = offered.get(step.agent, ())
        return at

    def step(self, label: str) -> Step:
        """The step with this label; `KeyError` when there is none."""
        return self._by_label[label]

    def span_id(self, label: str) -> str | None:
        """The span id behind a label, or None when no step has it."""
        step = self._by_label.get(label)
        return step.span_id if step else None

    def full_input(self, label: str) -> tuple[Message, ...]:
        """The whole input of an LLM step as it was sent, put together again from the transcript alone.

        For other steps: their `messages`. Raises `KeyError` when no step has the label.
        """
        step = self._by_label[label]
        if step.kind != "llm":
            return step.messages
        conversation = self._conversations[label]
        return conversation[: len(conversation) - len(step.output)]

    def agent(self, key: str) -> Agent | None:
        """The agent with this key (`Step.agent`), or None."""
        return self._agents.get(key)

    def tools_of(self, step: Step) -> tuple[Tool, ...]:
        """The tools the step's agent had at that moment; empty when the trace does not say."""
        return self._tools[step.label]

    def render(self, max_tokens: int | None = None) -> str:
        """The transcript as text with labels `[s12]`; see `gpa.ingest.render.render`."""
        from gpa.ingest.render import render

        return render(self, max_tokens=max_tokens)

    def _repr_html_(self) -> str:
        """What a notebook shows: the goal, the steps, and the whole behind a click."""
        from gpa.ingest.html import transcript_html

        return transcript_html(self)

    def to_dict(self) -> dict[str, Any]:
        """The object `gpa transcript --json` prints: plain dicts, lists, texts and numbers."""
        return {
            "trace_id": self.trace_id,
            "goal": self.goal,
            "agents": [
                {
                    "name": agent.name,
                    "instance": agent.instance,
                    "parent": agent.parent or None,
                    "system": "\n\n".join(message.text for message in agent.system),
                    "tools": [to_builtins(tool) for tool in agent.tools],
                }
                for agent in self.agents
            ],
            "steps": [_step_dict(step) for step in self.steps],
            "plans": [to_builtins(plan) for plan in self.plans],
            "final_answer": self.final_answer,
            "warnings": list(self.warnings),
        }


def _step_dict(step: Step) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "label": step.label,
        "span_id": step.span_id,
        "span_ids": list(step.span_ids),
        "parent": step.parent or None,
        "agent": step.agent or None,
        "kind": step.kind,
        "name": step.name,
        "messages": [to_builtins(message) for message in step.messages],
        "output": [to_builtins(message) for message in step.output],
        "error": step.error or None,
        "status": step.status,
        "start_ns": step.start_ns,
        "duration_ns": step.duration_ns,
        "usage": to_builtins(step.usage) if step.usage else None,
    }
    if step.kind == "llm":
        shown["history"] = [to_builtins(run) for run in step.history]
        shown["left_out"] = step.left_out
    if step.tools is not None:
        shown["tools"] = [to_builtins(tool) for tool in step.tools]
    return shown


def transcribe(trace: Trace) -> Transcript:
    """The trace as a transcript; never raises on what a trace may hold, what was lost is in its `warnings`."""
    from gpa.ingest.flatten import flatten

    return flatten(trace)
