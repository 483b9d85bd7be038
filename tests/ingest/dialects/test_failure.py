"""The error of a span is told by its status, by an exception event, or by nobody."""

from __future__ import annotations

import pytest

from gpa.ingest.dialects.failure import failure
from gpa.ingest.spans import Event, Span, Status

RAISED = Event("exception", attributes={"exception.type": "TimeoutError", "exception.message": "10 s"})
ESCAPED = Event("exception", attributes={"exception.type": "TimeoutError", "exception.escaped": "True"})
RECOVERED = Event("agent.step_recovery", attributes={"message": "tool failed", "severity": "expected"})


@pytest.mark.parametrize(
    ("status", "message", "events", "attributes", "expected"),
    [
        ("error", "", (RAISED,), {}, "TimeoutError: 10 s"),
        ("error", "TimeoutError: 10 s\nTraceback", (RAISED,), {}, "TimeoutError: 10 s"),
        ("error", "upstream 503", (), {}, "upstream 503"),
        ("error", "", (), {"error.type": "rate_limit"}, "rate_limit"),
        ("error", "", (), {}, "error"),
        ("ok", "", (RAISED,), {}, ""),
        ("unset", "", (ESCAPED,), {}, "TimeoutError"),
        ("ok", "", (RECOVERED,), {}, "tool failed"),
        ("ok", "", (), {}, ""),
        ("error", "", (Event("exception", attributes={"exception.type": 5, "exception.message": None}),), {}, "5"),
    ],
    ids=[
        "exception event",
        "event before description",
        "description",
        "attribute",
        "nothing but the status",
        "a handled exception is no error",
        "an escaped exception is one",
        "smolagents recovery",
        "no error",
        "wrong types",
    ],
)
def test_error(
    status: Status, message: str, events: tuple[Event, ...], attributes: dict[str, str], expected: str
) -> None:
    assert (
        failure(Span("t", "s", status=status, status_message=message, events=events, attributes=attributes)) == expected
    )
