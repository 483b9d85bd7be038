"""GitLab's code quality report: a JSON array of findings, compared by fingerprint between branches.

Source: GitLab documentation, "Code Quality", report format (a part of CodeClimate's specification).
"""

from __future__ import annotations

import json
from typing import Any

from gpa.ci.outcome import Outcome, step_of
from gpa.ingest.plain import one_line, plain
from gpa.judges.verdict import Severity
from gpa.locations import fingerprints, kind_of

_SEVERITIES: dict[Severity, str] = {"HIGH": "critical", "MEDIUM": "major", "LOW": "minor"}
_MAX_TEXT = 500


def code_quality(outcome: Outcome) -> bytes:
    """The report as JSON, UTF-8."""
    found = outcome.findings
    prints = fingerprints(found, outcome.run)
    entries: list[dict[str, Any]] = []
    for located, fingerprint in zip(found, prints, strict=True):
        where = step_of(outcome.run.place(located)) or f"trace {located.trace_id}"
        text = f"{' '.join(located.dimensions)}: {located.finding.problem} ({where})"
        entries.append(
            {
                "description": one_line(text, _MAX_TEXT),
                "check_name": plain(kind_of(located)),
                "fingerprint": fingerprint,
                "severity": _SEVERITIES[located.finding.severity],
                # A path and a line are required, and a trace has no line.
                "location": {"path": plain(outcome.artifact or f"traces/{located.trace_id}"), "lines": {"begin": 1}},
            }
        )
    return json.dumps(entries, ensure_ascii=False, indent=1).encode("utf-8") + b"\n"
