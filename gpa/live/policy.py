"""Which traces LLM judges are asked about: a share of them, on a condition, within a day's budget. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from gpa.judges.verdict import AnyResult, Verdict

When = Literal["always", "checks found something", "never"]
Skipped = Literal["not sampled", "checks found nothing", "never", "budget spent"]


class Policy(BaseModel):
    """When LLM judges are asked; the checks always are."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sample_rate: Annotated[float, Field(ge=0, le=1)] = 1.0
    """Share of the traces, chosen by their ids: every receiver and every restart chooses the same ones."""
    when: When = "always"

    def skips(self, trace_id: str, checked: Sequence[AnyResult]) -> Skipped | None:
        """Why the judges are not asked about a trace that the checks have judged so; None: they are."""
        if self.when == "never":
            return "never"
        if not sampled(trace_id, self.sample_rate):
            return "not sampled"
        if self.when == "checks found something" and not any(
            isinstance(result, Verdict) and result.findings for result in checked
        ):
            return "checks found nothing"
        return None


def sampled(trace_id: str, rate: float) -> bool:
    """Whether a trace is in the share.

    By a hash of its id, not the id's own bits: collectors sample by those, and what is left would be all or nothing.
    """
    drawn = int.from_bytes(blake2b(trace_id.encode("utf-8", "backslashreplace"), digest_size=8).digest(), "big")
    return drawn < rate * 2**64
