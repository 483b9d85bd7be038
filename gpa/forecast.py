"""What an evaluation would ask and cost, before anything is sent: the run rehearsed with a model that only listens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from gpa.evaluation import Progress, evaluated, llm_run
from gpa.judges.model import Estimate, estimate
from gpa.judges.verdict import AnyResult, Failure
from gpa.judging import Judging, opened
from gpa.sources import Source
from gpa.store import is_store, open_store


@dataclass(frozen=True)
class Forecast:
    """What is left to ask, and what it will cost."""

    traces: int
    judges: Mapping[str, Estimate]
    """By judge (a dimension, or `all` in single mode), and of all together under `""`."""
    names: Mapping[str, str]
    """Titles of the dimensions by code."""
    prices_date: str
    unpriced: tuple[str, ...]
    """Models without a known price: their cost is None."""
    stored: int
    """Results that the store has already; nothing is asked for them."""
    cached: int
    """Answers that the response cache has already."""
    in_parts: int
    """Transcripts that exceed the window, times samples and judges: each is asked about in parts."""
    finals: int
    """Short requests for final scores that those add, at the most; they are in no estimate."""
    left_out: tuple[tuple[str, int], ...] = ()
    """Traces with steps that exceed the window, and how many characters of each no judge would be shown."""
    too_long: int = 0
    """Judgements that will fail: what is to be asked exceeds the window, whatever is left out."""
    unreadable: tuple[str, ...] = ()


async def aforecast(
    traces: Source | Iterable[Source],
    *,
    model: str,
    judging: Judging | None = None,
    dimensions: Iterable[str] | None = None,
    store: str | Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Forecast:
    """What `evaluate` with the same arguments would ask for and cost. No key is needed, no file is made.

    Raises what `evaluate` raises for the same arguments, keys aside.
    """
    judging = judging or Judging()
    async with opened(model, judging, recording=True) as bench:
        run = llm_run(bench, judging, dimensions)
        run.rehearsal = True
        with ExitStack() as stack:
            if store is not None and is_store(store):
                run.store = stack.enter_context(open_store(store, must_exist=True))
            evaluation = await evaluated(traces, run, progress)
        requests = bench.unanswered
        asked = Counter((request.trace_id, request.judge, request.sample) for request in requests)
        in_parts = sum(count > 1 for count in asked.values())
        models = dict.fromkeys(request.model for request in requests) or {model: None}
        return Forecast(
            traces=len(evaluation.trace_ids),
            judges=estimate(requests, bench.prices),
            names=bench.names,
            prices_date=bench.prices.date.isoformat(),
            unpriced=tuple(name for name in models if bench.prices.of(name) is None),
            stored=evaluation.reused,
            cached=bench.client.ledger.from_cache,
            in_parts=in_parts,
            finals=in_parts * (len(run.wanted) if judging.mode == "single" else 1),
            left_out=bench.spending().left_out,
            too_long=exceeding(evaluation.results),
            unreadable=evaluation.unreadable,
        )


def exceeding(results: Iterable[AnyResult]) -> int:
    """How many judgements were not asked for because the question alone exceeds the model's window."""
    return sum(isinstance(one, Failure) and one.error_type == "context_window_exceeded" for one in results)
