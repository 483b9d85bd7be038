"""Tool calls, and code that an agent ran of which the trace records no call: each such piece of code is one call.

Code agents act by programs. What a program calls is recorded where tools have spans of their own; a program that only
computes, or calls what is not traced, shows in the answer alone that the agent is told next.
"""

from __future__ import annotations

import re

from gpa.ingest.error_reports import error_in
from gpa.ingest.tool_calls import ToolCall, tool_calls
from gpa.ingest.transcript import Step, Transcript

CODE = "code"
"""What such a call is named in place of a tool."""

_TOOL_ROLES = frozenset({"tool", "function", "tool-response", "tool_response", "tool_result"})
_TOLD = re.compile(
    r"\s*(?:\[?observations?\b|call id:|error:|execution logs:|results?:|tool (?:result|output))", re.IGNORECASE
)
_FENCED = re.compile(
    r"```[ \t]*(?:py|python|python3|js|javascript|bash|sh)[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL | re.IGNORECASE
)
_TAGGED = re.compile(r"<(code|python|execute)>\s*(.*?)(?:</\1>|\Z)", re.DOTALL)
_MAX_TEXT = 60_000


def acts(transcript: Transcript) -> tuple[ToolCall, ...]:
    """Every tool call, and every piece of code that ran without one, in the order of the trace."""
    calls = tool_calls(transcript)
    acting = {call.asked or call.before for call in calls}
    place = {step.label: at for at, step in enumerate(transcript.steps)}
    latest: dict[str, Step] = {}
    found: list[ToolCall] = []
    for step in transcript.steps:
        if step.kind != "llm":
            continue
        earlier = latest.get(step.agent)
        if earlier is not None and earlier.label not in acting:
            found += [one for one in (_ran(earlier, step),) if one is not None]
        latest[step.agent] = step
    if not found:
        return calls
    return tuple(sorted((*calls, *found), key=lambda call: place.get(call.ran or call.asked or call.before, -1)))


def _ran(step: Step, following: Step) -> ToolCall | None:
    """The code of a model call as a call, when the agent's next input holds what it printed."""
    code = _code("\n".join(message.text for message in step.output if not message.tool_name))
    if not code:
        return None
    for message in following.messages:
        if message.role in _TOOL_ROLES or (message.role == "user" and _TOLD.match(message.text)):
            return ToolCall(
                tool=CODE,
                arguments={"code": code},
                key=code,
                agent=step.agent,
                asked=step.label,
                answered=True,
                result=message.text or "no output",
                error=error_in(message.text),
            )
    return None


def _code(text: str) -> str:
    found = [match[1] for match in _FENCED.finditer(text[:_MAX_TEXT])]
    found = found or [match[2] for match in _TAGGED.finditer(text[:_MAX_TEXT])]
    return "\n".join(found).strip()
