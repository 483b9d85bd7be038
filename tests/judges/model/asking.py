"""Requests as the judges make them: one shared transcript, one rubric each."""

from __future__ import annotations

from typing import Any

from gpa.judges.model import Request

SONNET = "anthropic/claude-sonnet-5-5"
TRANSCRIPT = "[s1] user: find the cheapest flight to Oslo and book it.\n" * 100
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"rationale": {"type": "string"}, "score": {"type": "integer"}},
    "required": ["rationale", "score"],
    "additionalProperties": False,
}
ANSWER = '{"rationale": "nothing to report", "score": 3}'


def ask(judge: str = "LC", **fields: Any) -> Request:
    """A request of one judge for one trace, with anything else changed."""
    defaults: dict[str, Any] = {
        "model": SONNET,
        "system": "You judge agents.",
        "prefix": TRANSCRIPT,
        "tail": f"Judge {judge} now.",
        "answer_schema": SCHEMA,
        "max_tokens": 1_000,
        "trace_id": "0af7651916cd43dd8448eb211c80319c",
        "judge": judge,
    }
    return Request(**{**defaults, **fields})
