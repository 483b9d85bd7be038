"""The reference of all checks as Markdown: `docs/checks.md`, which a test holds against this."""

from __future__ import annotations

from collections.abc import Iterator

from gpa.judges.checks import CHECKS
from gpa.judges.checks.check import Check
from gpa.judges.verdict import DIMENSIONS

_HEAD = """# Checks

Checks find errors without a model: they read a transcript and nothing else, know no benchmark, framework or tool by
name, and take what they hold an agent to (instructions, schemas, plans) from the trace itself. This page is made by
`gpa checks --markdown`.

## How they are read

- **Confidence**: *certain* follows from what the trace records, *likely* from its wording, *hint* is worth a look.
- **Severity** follows the rule of each check; nothing else changes it.
- **Where**: the first model call that shows the error; the first repeat and the last for what is repeated. A call that
  is wrong in itself is cited where it was written, a failure of code where the agent is told of it, for code leaves no
  step of its own.
- **One finding for each behaviour**: checks that say the same (category) of the same spans are one finding.

## From findings to scores

Under each dimension a check concerns, LOW counts 0, MEDIUM 1, HIGH 2 points. The score of the dimension is 3 without a
finding, 2 with LOW ones only, 1 from one point on, 0 from four points on. A dimension without anything to judge (no
plan, no tools, no content) is *not applicable*, never a 3; a check that breaks makes its dimensions *failures*.

## Choosing and muting

    gpa evaluate traces/ --checks repeated-call,failed-action    # only these
    gpa evaluate traces/ --skip-checks from-memory               # all but these
    gpa evaluate traces/ --suppress muted.toml                   # findings looked at and muted

A file of muted findings (TOML); `trace_id`, `span_id` and `contains` (in the quote or the problem) are optional:

    [[suppress]]
    check = "missing-marker"      # or "*"
    reason = "the API strips the tag"
    contains = "<end_plan>"

On a span, the attribute `gpa.suppress` (a text or a list of texts, `CHECK: REASON`) mutes findings that cite the span.
Muted findings do not count for the score, are counted in the rationale, and stay in the verdict under `suppressed` with
the reason.

## All checks

"""


def reference() -> str:
    """The whole page."""
    rows = ["| check | flags | dimensions | category | confidence |", "|---|---|---|---|---|"]
    rows += [
        f"| [{c.name}](#{c.name}) | {c.about} | {' '.join(c.dimensions)} | {c.category} | {c.confidence} |"
        for c in CHECKS
    ]
    sections = "\n".join("\n".join(_section(check)) for check in CHECKS)
    return _HEAD + "\n".join(rows) + "\n\n" + sections


def described(check: Check) -> Iterator[tuple[str, str]]:
    """(label, text) of all there is to say about a check."""
    yield "Flags", f"{check.about}."
    yield "Why", check.why
    yield "Dimensions", ", ".join(f"{DIMENSIONS[code]} ({code})" for code in check.dimensions)
    yield "Category", check.category
    yield "Confidence", check.confidence
    yield "Severity", check.severity
    yield "Cited", check.cited
    yield "Known false alarms", check.false_alarms


def _section(check: Check) -> Iterator[str]:
    yield f"### {check.name}"
    yield ""
    for label, text in described(check):
        yield f"- **{label}**: {text}"
    yield ""
