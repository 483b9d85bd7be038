"""Results as pandas DataFrames."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpa.errors import UsageError
from gpa.judges.verdict import AnyResult, NotApplicable, Verdict

_RESULTS = (
    "trace_id",
    "judge",
    "model",
    "sample",
    "type",
    "score",
    "findings",
    "rationale",
    "rubric_hash",
    "cost_usd",
)
_FINDINGS = (
    "trace_id",
    "judge",
    "model",
    "sample",
    "severity",
    "category",
    "check",
    "problem",
    "quote",
    "span_ids",
    "grounded",
)


def results_frame(results: Iterable[AnyResult]) -> Any:
    """One row a result; `findings` holds their number."""
    return _frame([_result(result) for result in results], _RESULTS)


def findings_frame(results: Iterable[AnyResult]) -> Any:
    """One row a finding and dimension it stands under; `span_ids` holds a list."""
    rows = [
        {
            "trace_id": verdict.trace_id,
            "judge": verdict.judge,
            "model": verdict.model,
            "sample": verdict.sample,
            **finding.model_dump(),
            "span_ids": list(finding.span_ids),
        }
        for verdict in results
        if isinstance(verdict, Verdict)
        for finding in verdict.findings
    ]
    return _frame(rows, _FINDINGS)


def _frame(rows: list[dict[str, Any]], columns: tuple[str, ...]) -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise UsageError("to_frame() needs pandas, which is not installed: pip install pandas") from error
    return pd.DataFrame(rows, columns=list(columns))


def _result(result: AnyResult) -> dict[str, Any]:
    row: dict[str, Any] = {
        "trace_id": result.trace_id,
        "judge": result.judge,
        "model": result.model,
        "sample": result.sample,
        "type": result.type,
        "rubric_hash": result.rubric_hash,
        "cost_usd": result.cost_usd,
    }
    if isinstance(result, Verdict):
        return row | {"score": result.score, "findings": len(result.findings), "rationale": result.rationale}
    said = result.reason if isinstance(result, NotApplicable) else f"{result.error_type}: {result.message}"
    return row | {"score": None, "findings": 0, "rationale": said}
