"""Where the answers of a run come from: the model itself, Message Batches, files of responses, or nowhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gpa.errors import StoreError, UsageError
from gpa.judges.model import (
    AnthropicModel,
    BatchModel,
    Cache,
    FileModel,
    Model,
    Outcome,
    Prices,
    RecordingModel,
    Reply,
    Request,
    Responses,
    check_spec,
    open_model,
    read_responses,
    window_of,
)
from gpa.judges.model.choice import CLAUDE_PROVIDERS
from gpa.judging.settings import Judging, OnBatch


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
def answer_cache(model: str | Model, judging: Judging, *, create: bool) -> Iterator[Cache | None]:
    """The cache of answers as long as the block lasts; none where answers are not kept, or not yet and not to be."""
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


def live_model(
    model: str | Model, judging: Judging, prices: Prices, cache: Cache | None, on_batch: OnBatch | None
) -> Model:
    """The model itself, or Message Batches of it."""
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


def silent_model(model: str | Model, judging: Judging, prices: Prices) -> Model:
    """A model that answers nothing, with the window of the one named."""
    return RecordingModel(_name(model), context_window=_window(model, judging, prices))


def file_model(model: str | Model, judging: Judging, prices: Prices) -> FileModel:
    """A model that answers what stands in the files of responses."""
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


class Recorder:
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
