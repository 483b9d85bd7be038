"""LLM judges made ready for a run: what a user chose becomes a model, a client with its memory, and a judge a sample.

Where answers come from is decided here, once: the model itself, Message Batches, files of responses, or nowhere (the
requests are only written down). The judges cannot tell the difference.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from gpa.errors import InputError, StoreError, UsageError
from gpa.judges.examples import load_examples
from gpa.judges.judge import Judge
from gpa.judges.model import (
    AnthropicModel,
    BatchModel,
    Cache,
    Client,
    FileModel,
    Ledger,
    Limiter,
    Model,
    Outcome,
    Prices,
    RecordingModel,
    Reply,
    Request,
    Responses,
    check_spec,
    load_prices,
    open_model,
    read_responses,
    window_of,
    write_requests,
)
from gpa.judges.model.choice import CLAUDE_PROVIDERS
from gpa.judges.model.limiter import DEFAULT_CONCURRENCY
from gpa.judges.model.request import Effort
from gpa.judges.offered_tools import MAX_TOOLS
from gpa.judges.questions import Asking, Mode
from gpa.judges.redact import Redactor
from gpa.judges.rubrics import Rubric, load_frame, load_rubrics
from gpa.judges.verdict import Usage

OnBatch = Callable[[str, str, int, int], None]
"""Told about a batch whenever it was looked at: its id, its status, requests done, requests in all."""

MAX_NOTES = 100_000
"""Characters of notes on an agent; they go with every request."""
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
    )
    limiter = Limiter(
        concurrency=judging.concurrency,
        requests_per_minute=judging.requests_per_minute,
        tokens_per_minute=judging.tokens_per_minute,
    )
    unanswered: list[Request] = []
    offline = recording or judging.offline
    with _cache(model, judging, create=not recording) as cache:
        files = _files(model, judging, prices) if judging.responses_from else None
        if offline:
            answering: Model = _Recorder(files or _silent(model, judging, prices), unanswered)
        else:
            answering = _live(model, judging, prices, cache, on_batch)
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


def default_cache() -> Path:
    """Where answers are kept unless told otherwise: `gpa/responses.db` in the user's folder of caches."""
    if sys.platform == "win32":
        folder = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        folder = Path.home() / "Library" / "Caches"
    else:  # XDG Base Directory Specification; a relative path is invalid and to be ignored
        named = Path(os.environ.get("XDG_CACHE_HOME", ""))
        folder = named if named.is_absolute() else Path.home() / ".cache"
    return folder / "gpa" / "responses.db"


@contextmanager
def _cache(model: str | Model, judging: Judging, *, create: bool) -> Iterator[Cache | None]:
    path = judging.cache
    if path == "default":
        # A model object may be anything, also a script; and files are to give the same results on every machine.
        path = default_cache() if isinstance(model, str) and not judging.offline else None
        if path is not None and create:
            _make_folder(path.parent)
    if path is None or not (create or path.exists()):
        yield None
        return
    with Cache(path) as cache:
        yield cache


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # answers quote the traces: for the owner's eyes only
    except OSError as error:
        raise StoreError(
            f"{folder}: expected a place for the response cache, found: {error.strerror} (--cache FILE, --no-cache)"
        ) from error


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


def _live(model: str | Model, judging: Judging, prices: Prices, cache: Cache | None, on_batch: OnBatch | None) -> Model:
    name = _name(model)
    if judging.batch and not name.startswith("anthropic/"):  # said before a key is asked for
        raise UsageError(f"--batch: expected an anthropic/ model, found {name} (it has no Message Batches)")
    if isinstance(model, str):
        asked = open_model(model, prices=prices, context_window=judging.context_window, base_url=judging.base_url)
    elif judging.base_url is not None or judging.context_window is not None:
        raise UsageError("base_url, context_window: expected a model by its name, found a model that has its own")
    else:
        asked = model
    if not judging.batch:
        return asked
    if not isinstance(asked, AnthropicModel) or cache is None:
        raise UsageError("batch: expected an AnthropicModel and a cache (it remembers which batch is out)")
    return BatchModel(asked, cache, poll_s=judging.poll_s, on_progress=on_batch)


def _silent(model: str | Model, judging: Judging, prices: Prices) -> Model:
    return RecordingModel(_name(model), context_window=_window(model, judging, prices))


def _files(model: str | Model, judging: Judging, prices: Prices) -> FileModel:
    responses = _merged([read_responses(path) for path in judging.responses_from])
    return FileModel(_name(model), responses, context_window=_window(model, judging, prices))


def _name(model: str | Model) -> str:
    if not isinstance(model, str):
        return model.name
    check_spec(model)
    return model


def _window(model: str | Model, judging: Judging, prices: Prices) -> int:
    """The window that the model would have live, so that the requests are the same; no key is needed to know it."""
    if judging.context_window is not None:
        return judging.context_window
    if not isinstance(model, str):
        return model.context_window
    if model.partition("/")[0] not in CLAUDE_PROVIDERS:
        try:
            return open_model(model, api_key="none needed").context_window
        except UsageError:  # without LiteLLM, whose table has it
            pass
    return window_of(model, prices)


def _merged(read: Sequence[Responses]) -> Responses:
    """Several files as if they were one."""
    first, *others = read
    for other in others:
        first.duplicates += other.duplicates + len(first.outcomes.keys() & other.outcomes.keys())
        first.bad_lines += other.bad_lines
        for custom_id, outcome in other.outcomes.items():
            earlier = first.outcomes.get(custom_id)
            if earlier is None or (isinstance(outcome, Reply) and not isinstance(earlier, Reply)):
                first.outcomes[custom_id] = outcome
    return first


class _Recorder:
    """A model of files (or of nothing), and a list of the requests that still have to be sent to somebody."""

    warms = batched = False

    def __init__(self, model: Model, recorded: list[Request]) -> None:
        self._model, self._recorded = model, recorded
        self.name, self.context_window = model.name, model.context_window

    async def complete(self, request: Request) -> Outcome:
        """The answer in the files; without one, or with one that may be better the next time, the request is noted."""
        outcome = await self._model.complete(request)
        if not isinstance(outcome, Reply) and (outcome.error_type == "missing" or outcome.retryable):
            self._recorded.append(request)
        return outcome

    async def count_tokens(self, request: Request) -> int:
        """By the offline rule."""
        return await self._model.count_tokens(request)

    async def aclose(self) -> None:
        """Close the model."""
        await self._model.aclose()
