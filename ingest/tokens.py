"""How long a text is for a model, without asking one: the one rule behind every budget and estimate."""

from __future__ import annotations

CHARS_PER_TOKEN = 3.0
"""ASCII characters per token. English prose has about 4, JSON and code about 3, and newer tokenizers make about 30%
more tokens of the same text than older ones: rather a high estimate."""


def count_text(text: str) -> int:
    """Estimated tokens of a text: one per `CHARS_PER_TOKEN` ASCII characters, one per any other character."""
    if text.isascii():
        return int(len(text) / CHARS_PER_TOKEN + 0.999)
    ascii_count = len(text.encode("ascii", "ignore"))
    return len(text) - ascii_count + int(ascii_count / CHARS_PER_TOKEN + 0.999)
