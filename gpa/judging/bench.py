"""The judges of a run, opened: one a sample, with what they share, and what they spent."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from gpa.errors import InputError, UsageError
from gpa.judges.examples import load_examples
from gpa.judges.judge import Judge
from gpa.judges.model import (
    Client,
    FileModel,
    Ledger,
    Limiter,
    Model,
    Prices,
    Request,
    Responses,
    load_prices,
    write_requests,
)
from gpa.judges.questions import Asking
from gpa.judges.redact import Redactor
from gpa.judges.rubrics import Rubric, load_frame, load_rubrics
from gpa.judges.verdict import Usage
from gpa.judging.answering import Recorder, answer_cache, file_model, live_model, silent_model
from gpa.judging.settings import Judging, OnBatch

MAX_NOTES = 100_000
"""Characters of notes on an agent; they go with every request."""


@dataclass(frozen=True, slots=True)
class Spending:
    """What the LLM judges of one run asked for, got and paid."""

    model: str
    paid: int = 0
    """Answers paid for in this run, refused and cut-off ones included."""
    from_cache: int = 0
    """Answers that an earlier run paid for."""
    refused: int = 0
    """Requests not sent because of `max_cost`."""
    usage: Usage = field(default_factory=Usage)
    """Of what was paid for in this run."""
    cost_usd: float = 0.0
    unpriced: int = 0
    """Paid answers that no price is known for: `cost_usd` is without them."""
    redactions: tuple[tuple[str, int], ...] = ()
    """Kinds of secret and how many of each were taken out, the commonest first."""
    left_out: tuple[tuple[str, int], ...] = ()
    """Traces with steps that exceed the model's window, and how many characters of each no judge was shown."""
    unanswered: int = 0
    """Requests that were not sent and have no answer in the files of responses, if there are any."""
    unknown: int = 0
    """Response lines that belong to no request of this run."""
    duplicates: int = 0
    bad_lines: tuple[str, ...] = ()
    """Response lines that are none, and where."""


@dataclass(frozen=True)
class Bench:
    """The judges of a run, one a sample, and what they share."""

    judges: tuple[Judge, ...]
    names: dict[str, str]
    """Titles of the dimensions by code, in order."""
    client: Client
    prices: Prices
    rubrics: dict[str, Rubric]
    asking: Asking
    unanswered: list[Request] = field(default_factory=list)
    """Requests that were not sent and that no file answers."""
    files: FileModel | None = None
    redactors: tuple[Redactor, ...] = ()

    def spending(self, *, final: bool = False) -> Spending:
        """What was asked and paid so far; response lines that belong to no request are known when all is done."""
        ledger = self.client.ledger
        found: Counter[str] = Counter()
        for redactor in self.redactors:
            found |= redactor.counts  # every sample sees the same secrets: the most, not the sum
        responses = Responses("") if self.files is None else self.files.responses
        unknown = len(responses.unknown(self.files.asked)) if final and self.files is not None else 0
        return Spending(
            model=self.client.name,
            paid=ledger.paid,
            from_cache=ledger.from_cache,
            refused=ledger.refused,
            usage=ledger.usage.total(),
            cost_usd=ledger.spent_usd,
            unpriced=sum(ledger.unpriced.values()),
            redactions=tuple(found.most_common()),
            left_out=tuple({trace_id: n for judge in self.judges for trace_id, n in judge.left_out.items()}.items()),
            unanswered=len(self.unanswered),
            unknown=unknown,
            duplicates=responses.duplicates,
            bad_lines=tuple(responses.bad_lines),
        )


@asynccontextmanager
async def opened(
    model: str | Model, judging: Judging, *, recording: bool = False, on_batch: OnBatch | None = None
) -> AsyncIterator[Bench]:
    """The judges for a run, as long as the block lasts; at its end the requests to be written down are in their file.

    Args:
        model: `provider/name`, or a model.
        judging: How to ask it.
        recording: Record the requests that no answer is kept for, and send none (a rehearsal).
        on_batch: Told about batches.

    Raises:
        UsageError: The model is unknown, has no key or no price for `max_cost`; a rubric is none.
        InputError: A file of notes, examples, prices or responses cannot be read.
        StoreError: The response cache is none.
    """
    prices = load_prices(judging.prices)
    rubrics = load_rubrics(judging.rubrics)
    asking = Asking(
        frame=load_frame(judging.rubrics),
        notes=_notes(judging.agent_notes),
        examples=() if judging.examples is None else load_examples(judging.examples),
        mode=judging.mode,
        with_checks=judging.with_checks,
        max_tools=judging.max_tools,
        max_tokens=judging.max_tokens,
        effort=judging.effort,
        samples=judging.samples,
    )
    limiter = Limiter(
        concurrency=judging.concurrency,
        requests_per_minute=judging.requests_per_minute,
        tokens_per_minute=judging.tokens_per_minute,
    )
    unanswered: list[Request] = []
    offline = recording or judging.offline
    with answer_cache(model, judging, create=not recording) as cache:
        files = file_model(model, judging, prices) if judging.responses_from else None
        if offline:
            answering: Model = Recorder(files or silent_model(model, judging, prices), unanswered)
        else:
            answering = live_model(model, judging, prices, cache, on_batch)
        ledger = Ledger(prices, max_cost_usd=None if offline else judging.max_cost)
        if ledger.max_cost_usd is not None and prices.of(answering.name) is None:
            raise UsageError(
                f"--max-cost: expected a price for {answering.name}, found none in the table of {prices.date}"
                " (give one with --prices FILE)"
            )
        redactors = tuple(Redactor() for _ in range(judging.samples)) if judging.redact else ()
        async with Client(answering, cache=cache, ledger=ledger, limiter=Limiter() if offline else limiter) as client:
            judges = tuple(
                Judge(client, rubrics, asking, sample=sample, clean=redactors[sample] if redactors else None)
                for sample in range(judging.samples)
            )
            names = {code: rubric.title for code, rubric in rubrics.items()}
            yield Bench(judges, names, client, prices, rubrics, asking, unanswered, files, redactors)
        if judging.requests_to is not None and not recording:
            _write(judging.requests_to, unanswered)


def _notes(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: expected notes on the agent, found: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: expected notes on the agent in UTF-8, found other bytes at {error.start}") from error
    if not text.strip():
        raise InputError(f"{path}: expected notes on the agent, found an empty file")
    if len(text) > MAX_NOTES:
        raise InputError(f"{path}: expected at most {MAX_NOTES:,} characters of notes, found {len(text):,}")
    return text


def _write(path: Path, requests: Sequence[Request]) -> None:
    """Write the requests down; a pipe or a device (`/dev/stdout`) is written to, where a file is replaced."""
    if not path.exists() or path.is_file():
        write_requests(path, requests)
        return
    try:
        with path.open("wb") as stream:
            write_requests(stream, requests)
    except OSError as error:
        raise InputError(f"{path}: expected a place to write requests to, found: {error.strerror}") from error
