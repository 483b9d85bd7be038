"""How traces are judged as they come, and where a receiver listens: plain values, filled by the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gpa.ingest.completion import Patience
from gpa.live.policy import Policy
from gpa.telemetry.sending import Endpoint

if TYPE_CHECKING:
    from gpa.ingest.receiver import Tls
    from gpa.judges.model import Model
    from gpa.judging import Judging


@dataclass(frozen=True)
class Evaluating:
    """How traces are judged; the same for `gpa serve` and `gpa evaluate --follow`."""

    store: str | Path = "gpa.db"
    spool: str | Path | None = None
    """The store's name with `.spool` when None; a database URL is shared."""
    dimensions: Sequence[str] | None = None
    checks: Sequence[str] | None = None
    skip_checks: Sequence[str] = ()
    suppress: str | Path | None = None
    jobs: int = 1
    """Processes that run the checks; 0: this one."""
    model: str | Model | None = None
    judging: Judging | None = None
    """Its `max_cost` is a day's."""
    policy: Policy = field(default_factory=Policy)
    patience: Patience = field(default_factory=Patience)
    endpoint: Endpoint | None = None
    """Where verdicts are sent as events."""
    self_telemetry: bool = False
    redact: bool = True
    """Take secrets out of what is sent to the endpoint."""
    keep_s: float = 24 * 3600.0
    """How long spans of evaluated traces are kept: late ones are joined to them."""
    drain_s: float = 10.0

    @property
    def spool_location(self) -> str:
        """Where spans are kept until they are evaluated."""
        if self.spool is not None:
            return str(self.spool)
        return str(self.store) if "://" in str(self.store) else f"{self.store}.spool"


@dataclass(frozen=True)
class Listening:
    """Where a receiver listens and who may come in."""

    http: str | None = "127.0.0.1:4318"
    grpc: str | None = "127.0.0.1:4317"
    tokens: Sequence[str] = ()
    tls: Tls | None = None
    insecure: bool = False
