"""A model that answers from a script, for tests and demonstrations: strict about what it is asked and what is left."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from gpa.errors import GpaError
from gpa.ingest.tokens import count_text
from gpa.judges.model.reply import Outcome, Reply, ReplyError, TokenUsage
from gpa.judges.model.request import Request

Scripted = str | Reply | ReplyError


class ScriptError(GpaError):
    """A question the script has no answer for, or an answer nobody asked for."""


class ScriptedModel:
    """Answers each request with the next reply scripted for it.

    The script is a sequence, taken in the order asked, or a mapping from what a request is: `judge`, `trace_id`,
    `trace_id/judge`, `trace_id/judge/sample` or its `custom_id`; the most specific one that is present counts. A value
    is one reply, or a sequence of replies for successive requests (a question and its re-ask). A text is a complete
    answer whose usage is counted by the offline rule. `requests` holds everything that was asked.
    """

    warms = False
    """No: scripts know no prompt cache."""
    batched = False

    def __init__(
        self,
        script: Sequence[Scripted] | Mapping[str, Scripted | Sequence[Scripted]],
        *,
        name: str = "scripted/model",
        context_window: int = 200_000,
    ) -> None:
        pairs = script.items() if isinstance(script, Mapping) else [("", script)]
        self._script = {
            target: deque([replies] if isinstance(replies, str | Reply | ReplyError) else replies)
            for target, replies in pairs
        }
        self.name, self.context_window = name, context_window
        self.requests: list[Request] = []

    async def complete(self, request: Request) -> Outcome:
        """The next scripted reply; `ScriptError` when there is none."""
        self.requests.append(request)
        targets = _targets(request)
        found = next((target for target in targets if target in self._script), None)
        if found is None or not self._script[found]:
            state = "none" if found is None else f"all replies under {found!r} used"
            raise ScriptError(
                f"expected a scripted reply for request {len(self.requests)} (under {', '.join(map(repr, targets))}),"
                f" found {state}"
            )
        scripted = self._script[found].popleft()
        if not isinstance(scripted, str):
            return scripted
        usage = TokenUsage(input_tokens=request.input_tokens, output_tokens=count_text(scripted))
        return Reply(text=scripted, usage=usage, model=self.name)

    def forget(self, request: Request) -> None:
        """Nothing: no answer is kept. With this it can be asked by judges without a client."""

    async def count_tokens(self, request: Request) -> int:
        """By the offline rule."""
        return request.input_tokens

    async def aclose(self) -> None:
        """Raise `ScriptError` when replies are left: a script longer than the run does not test what it says."""
        left = {target: len(replies) for target, replies in self._script.items() if replies}
        if left:
            counts = ", ".join(f"{count} under {target!r}" for target, count in left.items())
            raise ScriptError(f"expected every scripted reply to be used, found left over: {counts}")


def _targets(request: Request) -> list[str]:
    trace, judge = request.trace_id, request.judge
    return [request.custom_id, f"{trace}/{judge}/{request.sample}", f"{trace}/{judge}", judge, trace, ""]
