"""The trajectory a trace holds: the tool calls of its agents, and the spans that each stands in."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from gpa.ingest.tool_calls import ToolCall as RecordedCall
from gpa.ingest.tool_calls import tool_calls
from gpa.ingest.transcript import Transcript
from gpa.plans.calls import ToolCall, Trajectory
from gpa.plans.executed import named_arguments


class Observed(Struct, frozen=True):
    """What the agents of a trace did."""

    trajectory: Trajectory
    span_ids: tuple[tuple[str, ...], ...]
    """For each call the spans that hold it: the model call that decided on it, then the tool's own."""
    end: str
    """The span in which the trace's last word was said: where a call that never came is missing."""
    left_out: tuple[str, ...] = ()
    """Names of calls that are none of the user's tools: hand-overs to agents, interpreters around other calls, and
    tools that were asked to be passed over."""
    calls: tuple[RecordedCall, ...] = ()
    """The calls of the trajectory as the trace records them, with what became of each."""


def observed(transcript: Transcript, *, known: Collection[str] = (), ignore: Collection[str] = ()) -> Observed:
    """The trajectory of a transcript, in the order the calls were asked for or run.

    Args:
        transcript: Of one trace.
        known: Tools of the gold trajectories. A call of another name that only holds other calls (a sub-agent, a code
            interpreter) is left out.
        ignore: Tools to pass over.
    """
    calls = tool_calls(transcript)
    wrappers = _around(transcript, {call.ran for call in calls if call.ran})
    kept: list[RecordedCall] = []
    left_out: list[str] = []
    for call in calls:
        wraps = call.tool not in known and (call.ran in wrappers or _kind(transcript, call.ran) == "agent")
        if wraps or call.tool in ignore:
            left_out.append(call.tool)
        else:
            kept.append(call)
    return Observed(
        trajectory=tuple(_named(transcript, call) for call in kept),
        span_ids=tuple(_spans(transcript, call) for call in kept),
        end=end_of(transcript),
        left_out=tuple(dict.fromkeys(left_out)),
        calls=tuple(kept),
    )


def _around(transcript: Transcript, ran: Collection[str]) -> set[str]:
    """Of these steps the ones that others of them ran inside."""
    parents = {step.label: step.parent for step in transcript.steps}
    found: set[str] = set()
    for label in ran:
        above = parents.get(label, "")
        while above and above not in found:
            if above in ran:
                found.add(above)
            above = parents.get(above, "")
    return found


def _kind(transcript: Transcript, label: str) -> str:
    return transcript.step(label).kind if label else ""


def _named(transcript: Transcript, call: RecordedCall) -> ToolCall:
    """The call, with the name of its agent instead of the key of that agent's run."""
    agent = transcript.agent(call.agent)
    return ToolCall(call.tool, named_arguments(call.arguments), agent.name if agent else call.agent)


def _spans(transcript: Transcript, call: RecordedCall) -> tuple[str, ...]:
    return tuple(dict.fromkeys(span for label in call.labels if (span := transcript.span_id(label))))


def end_of(transcript: Transcript) -> str:
    """The span of the last model call, else of the last step; empty when there is none."""
    last = next((step for step in reversed(transcript.steps) if step.kind == "llm"), None)
    last = last or next(reversed(transcript.steps), None)
    return last.span_id if last else ""
