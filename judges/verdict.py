"""What a judge says: a score with findings, "not applicable", or "could not be judged"; never mixed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from gpa.ingest import html

SCHEMA = 1
"""Version of the result lines."""

Severity = Literal["LOW", "MEDIUM", "HIGH"]
GRAVITY: dict[Severity, int] = {"HIGH": 2, "MEDIUM": 1, "LOW": 0}
"""Higher is graver."""
Dimension = Literal["LC", "EE", "PQ", "PA", "TS", "TC", "GF"]

DIMENSIONS: dict[str, str] = {
    "LC": "Logical Consistency",
    "EE": "Execution Efficiency",
    "PQ": "Plan Quality",
    "PA": "Plan Adherence",
    "TS": "Tool Selection",
    "TC": "Tool Calling",
    "GF": "Goal Fulfillment",
}

CATEGORIES: tuple[str, ...] = (
    "Language-only",
    "Tool-related",
    "Poor Information Retrieval",
    "Incorrect Memory Usage",
    "Tool Output Misinterpretation",
    "Incorrect Problem Identification",
    "Tool Selection Errors",
    "Formatting Errors",
    "Instruction Non-compliance",
    "Tool Definition Issues",
    "Environment Setup Errors",
    "Rate Limiting",
    "Authentication Errors",
    "Service Errors",
    "Resource Not Found",
    "Resource Exhaustion",
    "Timeout Issues",
    "Context Handling Failures",
    "Resource Abuse",
    "Goal Deviation",
    "Task Orchestration",
)
"""TRAIL's 21 error categories (arXiv 2505.08638), a public vocabulary so that results compare."""


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", serialize_by_alias=True)


def _default(value: object) -> bool:
    """Whether a field says nothing: such fields stay out of the lines of results without a score."""
    return value == Usage() or (value is not None and not value)


class Finding(_Line):
    """One error, where it is, and what shows it."""

    span_ids: tuple[str, ...]
    """Spans that hold the error, the one where it starts first. Empty: found, but not localised."""
    quote: str
    problem: str
    category: str
    severity: Severity
    check: str | None = None
    """Name of the check that found it; None for an LLM judge's own finding."""
    grounded: bool = True
    """Whether the quote stands in the trace."""


class Usage(_Line):
    """Tokens a judgement cost, 0 for checks."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


class Verdict(_Line):
    """A dimension of a trace, judged. `score` is 0 (worst) to 3 (nothing to find fault with)."""

    type: Literal["verdict"] = "verdict"
    schema_: int = Field(default=SCHEMA, alias="schema", serialization_alias="schema")
    trace_id: str
    judge: str
    model: str
    """`checks`, or `provider/model`."""
    sample: int = 0
    score: Annotated[int, Field(ge=0, le=3)]
    rationale: str
    findings: tuple[Finding, ...] = ()
    rubric_hash: str = ""
    usage: Usage = Usage()
    cost_usd: float | None = 0.0
    """None: no price of the model is known, so only `usage` says what it took."""
    unresolved: int = 0
    """Labels or ids the judge cited that name no span of the trace; dropped and counted."""
    repaired: int = Field(default=0, exclude_if=_default)
    """Findings placed by their quote, in place of a label that was missing or wrong."""
    suppressed: tuple[Finding, ...] = Field(default=(), exclude_if=_default)
    """Findings a judge took back or a user muted; never counted, can be shown."""

    def _repr_html_(self) -> str:
        """What a notebook shows: score, rationale and findings."""
        rows = [
            (
                html.severity(finding.severity),
                html.text(finding.check or finding.category),
                html.text(finding.problem),
                html.text(finding.quote),
                " ".join(map(html.text, finding.span_ids)),
            )
            for finding in self.findings
        ]
        found = html.table(("severity", "what", "problem", "quote", "spans"), rows) if rows else ""
        name = html.text(f"{self.judge} {DIMENSIONS.get(self.judge, '')}".strip())
        heading = f"<b>{name}: {self.score} of 3</b>, trace {html.text(self.trace_id)}, by {html.text(self.model)}"
        return f"<div>{heading}<p>{html.text(self.rationale, 2_000)}</p>{found}</div>"


class NotApplicable(_Line):
    """The dimension has nothing to judge in this trace (no plan, no tools)."""

    type: Literal["not_applicable"] = "not_applicable"
    schema_: int = Field(default=SCHEMA, alias="schema", serialization_alias="schema")
    trace_id: str
    judge: str
    model: str
    reason: str
    sample: int = Field(default=0, exclude_if=_default)
    rubric_hash: str = Field(default="", exclude=True)
    """Part of the resume key in a store; not of the line."""
    usage: Usage = Field(default=Usage(), exclude_if=_default)
    cost_usd: float | None = Field(default=0.0, exclude_if=_default)


class Failure(_Line):
    """The dimension could not be judged: refusal, overflow, bad output, transport, a bug in a check."""

    type: Literal["failure"] = "failure"
    schema_: int = Field(default=SCHEMA, alias="schema", serialization_alias="schema")
    trace_id: str
    judge: str
    model: str
    error_type: str
    message: str
    sample: int = Field(default=0, exclude_if=_default)
    rubric_hash: str = Field(default="", exclude=True)
    """Part of the resume key in a store; not of the line."""
    usage: Usage = Field(default=Usage(), exclude_if=_default)
    cost_usd: float | None = Field(default=0.0, exclude_if=_default)


AnyResult = Verdict | NotApplicable | Failure
Result = Annotated[AnyResult, Field(discriminator="type")]
RESULT: TypeAdapter[AnyResult] = TypeAdapter(Result)
"""Reads one result line (a decoded object) into its type."""
