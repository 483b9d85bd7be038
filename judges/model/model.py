"""What every model can do, whoever provides it; judges know nothing else of models."""

from __future__ import annotations

from typing import Protocol

from gpa.judges.model.reply import Outcome
from gpa.judges.model.request import Request


class Model(Protocol):
    """Answers requests. A failure to answer is a value (`ReplyError`), so that one bad request never stops a run."""

    @property
    def name(self) -> str:
        """`provider/model`, as `Request.model` and the results carry it."""

    @property
    def context_window(self) -> int:
        """Tokens of input and output together that one request may have."""

    @property
    def warms(self) -> bool:
        """Whether requests that share a prefix are cheaper after the first of them has been answered."""

    @property
    def batched(self) -> bool:
        """Whether answers come from Message Batches: at half the price, and all at once, however many are asked."""

    async def complete(self, request: Request) -> Outcome:
        """The answer, or why there is none."""

    async def count_tokens(self, request: Request) -> int:
        """Input tokens of a request: the provider's count where it offers one, else the estimate."""

    async def aclose(self) -> None:
        """Give back connections; strict models complain here about what was not used."""
