"""Secrets and personal data out of everything that leaves the machine, and a count of what was taken out.

What is found becomes `[REDACTED GitHub Token]`: a judge still sees that a secret was there. Texts are redacted whole,
as they were recorded, before anything is rendered or cut: half a secret would not be known for one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from gpa.ingest.agents import Agent
from gpa.ingest.dialects.call import Message, Tool
from gpa.ingest.dialects.json_text import compact
from gpa.ingest.transcript import Step, Transcript
from gpa.judges.secret_patterns import folded, long_runs, patterns

SHORTEST = 8
"""Characters of the shortest text with a secret."""

MAX_PASSES = 8
"""Times a text is gone through while every time uncovers something new: secrets strung together without a blank."""


class Redactor:
    """Takes secrets out of texts; `counts` says how many of which kind so far."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def __call__(self, text: str) -> str:
        """The text with each secret replaced by a word for its kind."""
        passes = MAX_PASSES if len(text) >= SHORTEST else 0
        while passes:
            text, uncovered = self._pass(text)
            passes = passes - 1 if uncovered else 0
        return text

    def _pass(self, text: str) -> tuple[str, bool]:
        """The text without what is found in it, and whether that may have uncovered more."""
        without_case, runs = folded(text), long_runs(text)
        uncovered = False
        for pattern in patterns():
            pieces: list[str] = []
            done = 0
            for match in pattern.matches(text, without_case, runs):
                start, stop = pattern.secret(match)
                secret = text[start:stop]
                if secret.startswith("[REDACTED") or not (pattern.valid is None or pattern.valid(secret)):
                    continue
                quote = _quote(secret)
                pieces += (text[done:start], quote, f"[REDACTED {pattern.kind}]", quote)
                done = stop
                self.counts[pattern.kind] += 1
                # A word that was joined to the secret stands alone now, and may be one of the next kind.
                uncovered |= text[stop : stop + 1].isalnum() or text[start - 1 : start].isalnum()
            if pieces:
                text = "".join((*pieces, text[done:]))
                without_case, runs = folded(text), long_runs(text)
        return text, uncovered


def redacted(transcript: Transcript, clean: Callable[[str], str]) -> Transcript:
    """The transcript with every text that can be shown of it cleaned: names, instructions, tools, messages, errors."""
    known: dict[str, str] = {}

    def cleaned(text: str) -> str:
        if not text:
            return text
        found = known.get(text)
        if found is None:
            found = known[text] = clean(text)
        return found

    def message(one: Message) -> Message:
        return Message(
            cleaned(one.role), cleaned(one.text), cleaned(one.tool_name), one.tool_call_id, arguments(one.arguments)
        )

    def arguments(value: Any) -> Any:
        """As they are, or, when something was found in them, as the JSON text that is shown."""
        if value is None or isinstance(value, str):
            return value and cleaned(value)
        text = compact(value)
        safe = cleaned(text)
        return value if safe == text else safe

    def messages(some: tuple[Message, ...]) -> tuple[Message, ...]:
        return tuple(map(message, some))

    def tool(one: Tool) -> Tool:
        parameters = arguments(one.parameters)
        return Tool(
            cleaned(one.name),
            cleaned(one.description),
            parameters if isinstance(parameters, dict) else {parameters: {}},
        )

    def agent(one: Agent) -> Agent:
        return Agent(
            cleaned(one.name),
            one.instance,
            cleaned(one.parent),
            messages(one.system),
            tuple(map(tool, one.tools)),
            cleaned(one.description),
        )

    def step(one: Step) -> Step:
        return replace(
            one,
            agent=cleaned(one.agent),
            name=cleaned(one.name),
            messages=messages(one.messages),
            output=messages(one.output),
            restated=tuple((index, message(said)) for index, said in one.restated),
            tools=None if one.tools is None else tuple(map(tool, one.tools)),
            error=cleaned(one.error),
        )

    return replace(
        transcript,
        goal=cleaned(transcript.goal),
        agents=tuple(map(agent, transcript.agents)),
        steps=tuple(map(step, transcript.steps)),
        plans=tuple(replace(plan, agent=cleaned(plan.agent), text=cleaned(plan.text)) for plan in transcript.plans),
        final_answer=cleaned(transcript.final_answer),
        warnings=tuple(map(cleaned, transcript.warnings)),
    )


_QUOTE = re.compile(r"\\*[\"']")


def _quote(secret: str) -> str:
    """The quotation mark on both sides of a secret, which stays (with backslashes inside JSON texts), or nothing."""
    quote = _QUOTE.match(secret)
    return quote[0] if quote and secret.endswith(quote[0]) and len(secret) > 2 * len(quote[0]) else ""
