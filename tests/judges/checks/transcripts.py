"""Small transcripts for the tests of the checks, put together by hand from the types."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from gpa.ingest.agents import Agent
from gpa.ingest.dialects.call import Message, Tool
from gpa.ingest.history import Run
from gpa.ingest.transcript import Plan, Step, Transcript

SEARCH = Tool(
    "search",
    "Look a thing up.",
    {
        "type": "object",
        "properties": {
            "query": {"type": "string"},
            "limit": {"type": "integer"},
            "mode": {"type": "string", "enum": ["web", "news"]},
        },
        "required": ["query"],
        "additionalProperties": False,
    },
)

DESK = Tool("search_desk", "Ask the people who can search the internet.", {"task": {"type": "string"}})
FINAL = Tool("final_answer", "Hand over the answer.", {"answer": {"type": "string"}})


def user(text: str) -> Message:
    return Message("user", text)


def said(text: str) -> Message:
    return Message("assistant", text)


def call(tool: str, arguments: Any = None, call_id: str = "") -> Message:
    return Message("assistant", tool_name=tool, arguments={} if arguments is None else arguments, tool_call_id=call_id)


def result(text: str, call_id: str = "") -> Message:
    return Message("tool", text, tool_call_id=call_id)


def coded(text: str, code: str) -> Message:
    return Message("assistant", f"{text}\n\n```py\n{code}\n```")


def llm(
    *output: Message, new: tuple[Message, ...] = (), agent: str = "main", finish: str = "", parent: str = ""
) -> Step:
    return Step("", "", (), parent, agent, "llm", "model", messages=new, output=output, finish_reason=finish)


def tool(
    name: str,
    arguments: Any = None,
    output: str = "",
    *,
    error: str = "",
    call_id: str = "",
    agent: str = "main",
    parent: str = "",
) -> Step:
    return Step(
        "",
        "",
        (),
        parent,
        agent,
        "tool",
        name,
        messages=(call(name, arguments, call_id),),
        output=(result(output, call_id),) if output else (),
        error=error,
        status="error" if error else "ok",
    )


def transcript(
    *steps: Step,
    tools: tuple[Tool, ...] = (),
    system: str = "",
    plans: tuple[Plan, ...] = (),
    trace_id: str = "t" * 32,
    goal: str = "the goal",
) -> Transcript:
    """The steps labelled `s1`, `s2`, ... with span ids `span1`, ...; every agent has the tools and instructions."""
    instructions = (Message("system", system),) if system else ()
    labelled = tuple(
        replace(
            step,
            label=f"s{n}",
            span_id=f"span{n}",
            span_ids=(f"span{n}",),
            history=(Run("@", 0, len(instructions)), Run("", 0, len(step.messages))) if step.kind == "llm" else (),
        )
        for n, step in enumerate(steps, 1)
    )
    keys = dict.fromkeys(step.agent for step in steps if step.agent)
    agents = tuple(Agent(name=key, system=instructions, tools=tools) for key in keys)
    return Transcript(trace_id, goal, agents, labelled, plans)
