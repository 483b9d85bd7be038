"""Findings that people have looked at and muted, each with a reason: they stay in the verdict, and count for nothing.

Two ways. A file (TOML), for what is known about a set of traces:

    [[suppress]]
    check = "missing-marker"          # a name of `gpa checks`, or "*" for every check
    reason = "the API strips the tag" # required
    trace_id = "5dc4cf8d5175f278"     # these three are optional, all that are given must fit
    span_id = "0123456789abcdef"
    contains = "<end_plan>"           # in the quote or the problem

And an attribute `gpa.suppress` on a span, which mutes findings that cite the span: a text, or a list of texts, each the
name of a check (or `*`), a colon and the reason.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from gpa.errors import FormatError, InputError
from gpa.ingest.transcript import Transcript
from gpa.judges.checks import CHECKS
from gpa.judges.verdict import Finding

ANY = "*"
NO_REASON = "no reason given"
_FIELDS = ("check", "reason", "trace_id", "span_id", "contains")


class Suppression(NamedTuple):
    """What is muted, and why. Empty fields fit everything."""

    check: str
    reason: str
    trace_id: str = ""
    span_id: str = ""
    contains: str = ""

    def fits(self, trace_id: str, finding: Finding) -> bool:
        """Whether this finding is meant."""
        return (
            self.check in {ANY, finding.check}
            and self.trace_id in {"", trace_id}
            and (not self.span_id or self.span_id in finding.span_ids)
            and (not self.contains or self.contains in finding.quote or self.contains in finding.problem)
        )


def load_suppressions(path: str | Path) -> tuple[Suppression, ...]:
    """The suppressions of a TOML file.

    Raises `InputError` when it cannot be read, `FormatError` when it is not such a file or names no known check.
    """
    try:
        text = Path(path).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FormatError(f"{path}: expected TOML with [[suppress]] tables: {error}") from error
    entries = content.pop("suppress", [])
    if content or not isinstance(entries, list):
        found = ", ".join(content) or "a single [suppress] table"
        raise FormatError(f"{path}: expected [[suppress]] tables only, found {found}")
    return tuple(_suppression(entry, f"{path}: suppress[{number}]") for number, entry in enumerate(entries))


def inline(transcript: Transcript) -> Iterator[Suppression]:
    """The suppressions that the trace's own spans carry."""
    for step in transcript.steps:
        for mark in step.suppress:
            check, _, reason = mark.partition(":")
            for span_id in step.span_ids or (step.span_id,):
                yield Suppression(check.strip(), reason.strip() or NO_REASON, span_id=span_id)


def muted(finding: Finding, trace_id: str, suppressions: Iterable[Suppression]) -> Finding | None:
    """The finding with the reason why it is muted, or None when it is not."""
    for suppression in suppressions:
        if suppression.fits(trace_id, finding):
            return finding.model_copy(update={"problem": f"{finding.problem} (muted: {suppression.reason})"})
    return None


def _suppression(entry: object, where: str) -> Suppression:
    if not isinstance(entry, dict):
        raise FormatError(f"{where}: expected a table, found {entry!r}")
    unknown = [name for name in entry if name not in _FIELDS]
    if unknown:
        raise FormatError(f"{where}: expected {', '.join(_FIELDS)}, found {unknown[0]}")
    for name, value in entry.items():
        if not isinstance(value, str) or not value.strip():
            raise FormatError(f"{where}.{name}: expected a text, found {value!r}")
    for name in ("check", "reason"):
        if name not in entry:
            raise FormatError(f"{where}: expected a {name}, found none")
    if entry["check"] != ANY and entry["check"] not in {check.name for check in CHECKS}:
        raise FormatError(
            f"{where}.check: expected a name that `gpa checks` lists or {ANY!r}, found {entry['check']!r}"
        )
    values = {name: value.lower() if name in {"trace_id", "span_id"} else value for name, value in entry.items()}
    return Suppression(**values)
