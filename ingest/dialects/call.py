"""What a span says in terms of agents: the common shape every attribute convention is read into.

One `Message` is one *part* of a conversation: an assistant turn that says something and calls two
tools is three messages. Producers split and join turns at will (one output message with text and a
call comes back as two input messages), so only the sequence of parts can be compared between calls.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

Kind = Literal["agent", "llm", "tool", "retrieval", "other"]


class Message(Struct, frozen=True, gc=False):
    """One part of a conversation.

    A text part has a role and text. A tool call is role `assistant` with `tool_name` and `arguments`
    (a dict when the recorded JSON is an object, else the recorded text). A tool result is role `tool` with
    text. Thinking is role `reasoning`. Roles are normalised (`human` -> `user`, `ai` and `model` -> `assistant`,
    `function` -> `tool`); unknown ones stay as recorded.
    """

    role: str
    text: str = ""
    tool_name: str = ""
    tool_call_id: str = ""
    arguments: Any = None


class Tool(Struct, frozen=True, gc=False):
    """A tool an agent was offered; `parameters` is its JSON schema, or {} when the trace does not say."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = {}


class Usage(Struct, frozen=True, gc=False, omit_defaults=True):
    """Token counts of one model call, 0 when not recorded."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0


class Call(Struct, frozen=True, gc=False):
    """One span, read. Empty fields mean the span does not say."""

    kind: Kind = "other"
    operation: str = ""
    """The convention's own word for the operation (`chat`, `plan`, `create_agent`, `CHAIN`...)."""
    name: str = ""
    """What to show for the step when better than the span name: the tool's, agent's or model's name."""
    agent: str = ""
    """Name of the agent this span belongs to (LLM and tool spans) or is (agent spans)."""
    agent_id: str = ""
    description: str = ""
    """An agent's or tool's own description."""
    input: tuple[Message, ...] = ()
    """LLM: the whole conversation sent, system messages first. Tool: one `assistant` message with `tool_name` and
    `arguments`. Others: what went in, as messages or one `user` text."""
    output: tuple[Message, ...] = ()
    """LLM: what the model said and called. Tool: one `tool` message with the result. Others: what came out."""
    tools: tuple[Tool, ...] = ()
    model: str = ""
    response_id: str = ""
    finish_reason: str = ""
    conversation_id: str = ""
    usage: Usage | None = None
    error: str = ""
    """An error the attributes report (tool status, level ERROR, `error.type`) even where the span status does not."""
    delta: bool = False
    """The input holds only what is new by design (`previous_response_id`): what is absent was not removed."""
    hidden: bool = False
    """This is a model, tool or agent call whose content the producer did not export."""
    notes: tuple[str, ...] = ()
    """What was lost or cut on the way, for the transcript's warnings."""
    placeholder: bool = False
    """Not an operation (a pending-span marker, a merged duplicate): no step is made of it."""
