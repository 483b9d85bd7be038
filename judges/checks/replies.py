"""What shows on a reply before it is read: whether it asks back, and whether it was cut."""

from __future__ import annotations

import re

from gpa.ingest.transcript import Step

_AROUND = " \t\r\n*_`~\"'”’»)]>"
_FILTERED = re.compile(
    r"content[_-]?filter|safety|recitation|prohibited|blocklist|guardrail|\brefusal\b", re.IGNORECASE
)
"""The finish reasons of OpenAI, Gemini, Bedrock, Anthropic and the Vercel SDK for this."""
_QUESTION = ("?", "\uff1f", "\u061f")
_ENDS = (*_QUESTION, *".!…:;\u3002\uff01\u0964)]}>»\"'”’`*_|~$")


def asks_back(text: str) -> bool:
    """Whether a reply ends in a question: then it is no answer yet."""
    return text.rstrip(_AROUND).endswith(_QUESTION)


def at_limit(step: Step) -> bool:
    """Whether the output ended because the tokens allowed were used up."""
    reason = step.finish_reason.lower()
    return "length" in reason or "max_tokens" in reason


def filtered(step: Step) -> bool:
    """Whether a filter of the provider took the output away."""
    return _FILTERED.search(step.finish_reason) is not None


def mid_sentence(text: str) -> bool:
    """Whether a text stops where no sentence ends; a word or two are a whole answer."""
    return len(text.split(None, 3)) > 2 and not text.rstrip().endswith(_ENDS)
