"""What deciding costs: tokens of plans, of observations fed back, and of inputs, over the model calls that decide."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from gpa.ingest.tokens import count_text
from gpa.ingest.tool_calls import ToolCall
from gpa.ingest.transcript import Step, Transcript

_TOOL_ROLES = frozenset({"tool", "function", "tool-response", "tool_response", "tool_result"})
_MIN_RESULT = 12
"""Characters from which a result that stands in a user's message is recognised there."""


class TokenSplit(Struct, frozen=True):
    """Tokens of the model calls that decide. Estimated where the trace does not count them."""

    decisions: int
    input_tokens: int
    """Of all of them together: a history that is sent again is paid again."""
    plan_tokens: int
    """Their outputs."""
    observation_tokens: int
    """Tool results in their inputs, each time they are sent. Always an estimate."""
    estimated: bool
    """Whether any of the first two had to be estimated."""

    @property
    def input_per_decision(self) -> float | None:
        """Mean input of a decision."""
        return self.input_tokens / self.decisions if self.decisions else None


def token_split(transcript: Transcript, labels: Sequence[str], calls: Sequence[ToolCall]) -> TokenSplit:
    """The tokens of the model calls with these labels."""
    given = planned = observed = 0
    estimated = False
    results = [(call, call.result.strip()) for call in calls if len(call.result.strip()) >= _MIN_RESULT]
    for label in labels:
        step = transcript.step(label)
        if step.kind != "llm":
            continue
        usage = step.usage
        whole = transcript.full_input(label)
        told = sum(count_text(message.text) for message in whole if message.role in _TOOL_ROLES)
        if not told:
            said = "\n".join(message.text for message in whole if message.role == "user")
            told = sum(count_text(text) for _, text in results if text in said)
        observed += told
        if usage is None or not (usage.input_tokens or usage.output_tokens):
            estimated = True
            given += sum(count_text(message.text) for message in whole)
            planned += _said(step)
        else:
            given += usage.input_tokens
            planned += usage.output_tokens
    return TokenSplit(len(labels), given, planned, observed, estimated)


def _said(step: Step) -> int:
    return sum(count_text(f"{message.tool_name}{message.arguments or ''}{message.text}") for message in step.output)
