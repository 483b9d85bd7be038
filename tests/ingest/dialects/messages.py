"""The messages that tests of the dialects expect."""

from __future__ import annotations

from typing import Any

from gpa.ingest.dialects.call import Message


def call(name: str, arguments: Any, call_id: str = "") -> Message:
    """An assistant's call of a tool."""
    return Message("assistant", "", name, call_id, arguments)


def result(text: str, call_id: str = "", name: str = "") -> Message:
    """What a tool gave back."""
    return Message("tool", text, name, call_id)
