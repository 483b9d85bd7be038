"""What a user chooses about LLM judges: how they are asked, what they may cost, where answers come from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from gpa.errors import UsageError
from gpa.judges.model.limiter import DEFAULT_CONCURRENCY
from gpa.judges.model.request import Effort
from gpa.judges.offered_tools import MAX_TOOLS
from gpa.judges.questions import Mode

OnBatch = Callable[[str, str, int, int], None]
"""Told about a batch whenever it was looked at: its id, its status, requests done, requests in all."""

POLL_S = 30.0

UserPath = Annotated[Path, AfterValidator(Path.expanduser)]


class Judging(BaseModel):
    """How LLM judges are asked, what they may cost, and where their answers come from.

    Raises `UsageError` for options that contradict each other.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    mode: Mode = "panel"
    """`panel`: one request a dimension; `single`: one for all, at about a seventh of the cost."""
    rubrics: UserPath | None = None
    """Folder of Markdown rubrics that replace ours or add dimensions."""
    agent_notes: UserPath | None = None
    """File that describes the agent's architecture."""
    examples: UserPath | None = None
    """File of gold errors to show as examples."""
    samples: Annotated[int, Field(ge=1)] = 1
    """Verdicts per trace and dimension."""
    with_checks: bool = False
    """Hand the findings of the checks to the judges, to confirm or reject."""
    max_tools: Annotated[int, Field(ge=1)] = MAX_TOOLS
    """Tools of one agent that judges are shown in full; of others, beside those that were used, the names."""
    redact: bool = True
    """Take secrets and personal data out of everything that is sent."""
    effort: Effort | None = None
    max_tokens: Annotated[int, Field(ge=1)] = 16_000
    """Of one answer, thinking included."""
    context_window: Annotated[int, Field(ge=1)] | None = None
    """Tokens of input and output together; known for most models."""
    base_url: str | None = None
    """Server to ask in place of the provider's own."""
    max_cost: float | None = None
    """USD that this run may spend."""
    concurrency: int = DEFAULT_CONCURRENCY
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    cache: UserPath | Literal["default"] | None = "default"
    """File that keeps answers, so that none is paid for twice; by default `default_cache()` for a model given by name,
    and none where answers come from files or requests go to one."""
    prices: UserPath | None = None
    batch: bool = False
    """Ask by Message Batches: half the price, answers within a day."""
    poll_s: float = POLL_S
    """Seconds between two looks at a batch."""
    responses_from: tuple[UserPath, ...] = ()
    """Files of responses to take in place of asking."""
    requests_to: UserPath | None = None
    """File for the requests that have no answer yet; nothing is sent."""

    @property
    def offline(self) -> bool:
        """Whether nothing is sent."""
        return self.requests_to is not None or bool(self.responses_from)

    def model_post_init(self, _context: object) -> None:
        """Refuse what contradicts itself."""
        files = "--requests-to" if self.requests_to is not None else "--responses-from"
        contradictions = {
            "--batch": self.batch and self.offline,
            "--max-cost": self.max_cost is not None and self.offline,
            "--base-url": self.base_url is not None and self.offline,
        }
        for option, contradicts in contradictions.items():
            if contradicts:
                raise UsageError(f"{option}: contradicts {files}, with which nothing is sent")
        if self.batch and self.cache is None:
            raise UsageError("--batch: contradicts --no-cache: the cache remembers which batch is out")
