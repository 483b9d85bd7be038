"""Checks: deterministic detectors that need no model, true of any framework.

To add one: a module here with a `CHECK`, and its line in `CHECKS`.
"""

from __future__ import annotations

from gpa.judges.checks import (
    claims,
    endings,
    failed_action,
    garbled_result,
    grounding,
    identifiers,
    invented_value,
    limits,
    mandates,
    missing_marker,
    plan_tools,
    repeated_call,
    repeated_plan,
    similar_search,
    tool_arguments,
    tool_errors,
    unacknowledged_error,
    unsupported_answer,
)
from gpa.judges.checks.check import Check

CHECKS: tuple[Check, ...] = (
    tool_arguments.CHECK,
    tool_errors.CHECK,
    repeated_call.CHECK,
    unacknowledged_error.CHECK,
    unacknowledged_error.CLAIMED_SUCCESS,
    missing_marker.CHECK,
    repeated_plan.CHECK,
    failed_action.FAILED,
    failed_action.EXHAUSTED,
    claims.CLAIMED_CALL,
    claims.CLAIMED_WORK,
    claims.SIMULATED_RESULT,
    claims.FROM_MEMORY,
    unsupported_answer.SKIPPED_PLAN,
    unsupported_answer.TOOL_NOT_USED,
    grounding.CHECK,
    mandates.MANDATED_TOOL,
    mandates.FORBIDDEN_IMPORT,
    mandates.TOOL_BYPASSED,
    identifiers.CHECK,
    invented_value.CHECK,
    plan_tools.WITHOUT_TOOLS,
    plan_tools.UNKNOWN_TOOL,
    plan_tools.UNUSED_TOOL,
    similar_search.CHECK,
    limits.CHUNK_LIMIT,
    limits.ANSWER_LENGTH,
    garbled_result.CHECK,
    endings.NO_ANSWER,
    endings.STEP_LIMIT,
    endings.REFUSAL,
)
