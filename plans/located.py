"""Where in workflows, users or trajectories something is wrong; errors are collected and raised together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

import msgspec

from gpa.errors import InputError

_TEXT = 80
"""Characters of a found value that a message repeats."""


class Located(msgspec.Struct, frozen=True, kw_only=True):
    """One error or note with its place; what does not apply is empty."""

    message: str
    file: str = ""
    user: str = ""
    workflow: str = ""
    step: str = ""
    """The tool of the step, with its place in the list where it has one: `steps[3] notify_payroll`."""
    field: str = ""
    """The path of keys in the file (`conditionals[0].then[1].target`), or the reference that does not resolve."""

    def __str__(self) -> str:
        named = (("user", self.user), ("workflow", self.workflow), ("step", self.step), ("field", self.field))
        place = ", ".join(f"{name} {value}" for name, value in named if value)
        return ": ".join(part for part in (self.file, place, self.message) if part)

    def to_dict(self) -> dict[str, str]:
        """Every field, the empty ones too: a reader need not ask which there are."""
        return {name: getattr(self, name) for name in ("file", "user", "workflow", "step", "field", "message")}


class WorkflowError(InputError):
    """Everything that is wrong, found in one go."""

    def __init__(self, errors: Iterable[Located]) -> None:
        self.errors = tuple(errors)
        """In the order of the files."""
        super().__init__("\n".join(map(str, self.errors)))


class Problems:
    """Collects what is wrong (`errors`) and what is only odd (`notes`) in one workflow of one file."""

    def __init__(self, file: str = "", workflow: str = "") -> None:
        self.file, self.workflow = file, workflow
        self.errors: list[Located] = []
        self.notes: list[Located] = []

    def error(self, field: str, message: str, *, step: str = "") -> None:
        """Something that has to be mended."""
        self.errors.append(self._located(field, message, step))

    def note(self, field: str, message: str, *, step: str = "") -> None:
        """Something that is allowed, but perhaps not meant."""
        self.notes.append(self._located(field, message, step))

    def _located(self, field: str, message: str, step: str) -> Located:
        return Located(file=self.file, workflow=self.workflow, step=step, field=field, message=message)


def found(value: Any) -> str:
    """The value as a message shows it: JSON's name of its type where it is no text, and never all of a long text."""
    if isinstance(value, str):
        return repr(value if len(value) <= _TEXT else value[: _TEXT - 1] + "…")
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list | tuple):
        return "an array" if value else "an empty array"
    return repr(value)[:_TEXT]


def shown(value: Any) -> str:
    """The value as Python writes it, where the value matters more than its type; never all of a long one."""
    text = repr(value)
    return text if len(text) <= _TEXT else text[: _TEXT - 1] + "…"


def meant(name: str, known: Sequence[str]) -> str:
    """` (did you mean 'x'?)` when a known name is close, else nothing."""
    close = get_close_matches(name[:_TEXT], known, n=1, cutoff=0.7)
    return f" (did you mean {close[0]!r}?)" if close else ""
