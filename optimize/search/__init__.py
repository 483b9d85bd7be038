"""A search for better rubrics by DSPy's optimisers: the one door to DSPy, which is loaded only when a search begins.

```
DSPy optimiser (in a thread) -> Program: a predictor a dimension -> JudgeAdapter -> Trials -> Judge -> Door -> Client
                             -> proposer or ModelEngine ----------------------------------------------> Door -> Client
```

The optimiser changes instructions, and an instruction *is* a rubric. What a judge is asked is made by `Judge` itself,
so that a rubric is tuned on the very bytes that `gpa evaluate --rubrics` will send.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpa.errors import UsageError
from gpa.ingest.transcript import Transcript
from gpa.judges.gold import Gold
from gpa.judges.matching import Matcher, matcher_named
from gpa.judges.rubrics import digest
from gpa.judging import Bench
from gpa.optimize.door import Door
from gpa.optimize.log import Log
from gpa.optimize.proposal import instructions
from gpa.optimize.results import Budget, Guard, Objective, Optimizer, SearchResult, Step, Stopped, accept
from gpa.optimize.trials import Task, Trials, fingerprint

__all__ = ["search"]


async def search(
    dimensions: Sequence[str],
    *,
    train: Sequence[Transcript],
    dev: Sequence[Transcript],
    gold: Gold,
    bench: Bench,
    reflection: Bench,
    budget: Budget,
    guard: Guard = accept,
    matcher: Matcher | str = "fuzzy",
    meta: Bench | None = None,
    optimizer: Optimizer = "gepa",
    objective: Objective = "recall",
    seed: int = 0,
    minibatch: int = 3,
    log: Path | None = None,
    step: Step | None = None,
) -> SearchResult:
    """Rubrics for these dimensions that catch more, or agree better, than the ones of the bench.

    Await it in the event loop that the benches were opened in. Cancelled once (Ctrl-C under `asyncio.run`), it ends
    and gives the best so far.

    Args:
        dimensions: What to optimise. Several are one program with one score; a search for each is the better choice
            where they do not share a budget.
        train: Traces that the reflection model may see.
        dev: Traces that candidates are chosen by; the model never sees them.
        gold: What people found in them.
        bench: The judges, `gpa.judging.opened(model, judging)`, with as many samples as agreement is asked of.
        reflection: The model that rewrites rubrics, opened likewise.
        budget: What the search may take; the benches should have no `max_cost` of their own.
        guard: Refuses proposals.
        matcher: `"exact"`, `"fuzzy"`, or a matcher.
        meta: Let this model match findings to errors instead.
        optimizer: DSPy's; GEPA knows what went wrong, the others only how well it went.
        objective: `recall`, or `consistency` of repeated samples without losing recall.
        seed: The same seed and answers give the same search.
        minibatch: Training traces that a proposal is made from and first tried on.
        log: Folder that makes the search resumable.
        step: Told about everything that happens.

    Raises:
        UsageError: DSPy is missing or another one than expected; traces, gold, budget or log folder do not fit.
        StoreError: The log cannot be read or written.
    """
    from gpa.optimize.search import engine

    offline = any(one is not None and one.files is not None for one in (bench, reflection, meta))
    task = Task(
        tuple(dict.fromkeys(dimensions)),
        tuple(train),
        tuple(dev),
        gold,
        matcher_named(matcher) if isinstance(matcher, str) else matcher,
        None if meta is None else meta.client,
        objective,
        guard,
        budget,
        step,
    )
    _check(task, bench)
    if minibatch < 1:
        raise UsageError(f"--minibatch: expected at least 1 trace, found {minibatch}")
    settings = _settings(task, bench, reflection, optimizer=optimizer, seed=seed, minibatch=minibatch)
    if optimizer != "gepa":
        settings["max_calls"] = budget.max_calls  # they plan by it
    with Log(log, settings) as opened:
        door = Door(
            bench.prices, opened, max_cost_usd=budget.max_cost_usd, max_seconds=budget.max_seconds, offline=offline
        )
        trials = Trials(bench, door, task)
        optimise = engine.prepared(
            trials, reflection.client, optimizer=optimizer, seed=seed, minibatch=min(minibatch, len(train))
        )
        await _run(optimise, door)
    return _result(trials, door)


async def _run(optimise: Any, door: Door) -> None:
    """Let the optimiser run in a thread to its end, or to the first cancellation."""
    thread = asyncio.get_running_loop().run_in_executor(None, optimise.run)
    try:
        while not thread.done():
            try:
                await asyncio.wait({thread})
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if door.stopped is not None or task is None:
                    raise
                task.uncancel()
                door.halt("interrupted", "stopped by hand")
    finally:
        await optimise.aclose()
        await door.aclose()
    if door.error is not None:
        raise door.error
    error = thread.exception()
    # Once the search is halted an optimiser may complain of anything.
    if error is not None and door.stopped in {None, "calls", "perfect"}:
        raise error


def _check(task: Task, bench: Bench) -> None:
    for code in task.dimensions:
        if code not in bench.rubrics:
            raise UsageError(f"dimensions: expected some of {' '.join(bench.rubrics)}, found {code!r}")
    if not task.dimensions:
        raise UsageError("dimensions: expected at least one to optimise, found none")
    if bench.asking.mode != "panel":
        raise UsageError("--mode: expected panel (a request a dimension), since one rubric is changed at a time")
    train = {one.trace_id for one in task.train}
    dev = {one.trace_id for one in task.dev}
    for name, traces in (("train", train), ("dev", dev)):
        if not traces:
            raise UsageError(f"{name}: expected at least one trace, found none")
        unknown = sorted(traces - task.gold.by_trace.keys())
        if unknown:
            raise UsageError(f"{name}: expected annotated traces, found no gold for {unknown[0]}")
    if train & dev:
        raise UsageError(f"train and dev: expected different traces, found {min(train & dev)} in both")
    if task.objective == "consistency" and len(bench.judges) < 2:
        raise UsageError("--objective consistency: expected at least 2 samples (--samples K), found 1")
    if not any(code in error.dimensions for code in task.dimensions for one in (*train, *dev)
               for error in task.gold.by_trace[one]):  # fmt: skip
        raise UsageError(f"gold: expected errors of {' '.join(task.dimensions)} in the traces, found none")


def _settings(
    task: Task, bench: Bench, reflection: Bench, *, optimizer: Optimizer, seed: int, minibatch: int
) -> dict[str, Any]:
    """All that decides a search besides the answers; not the budget, which may grow from one start to the next."""
    return {
        "dimensions": list(task.dimensions),
        "optimizer": optimizer,
        "objective": task.objective,
        "seed": seed,
        "minibatch": minibatch,
        "model": bench.client.name,
        "reflection model": reflection.client.name,
        "samples": len(bench.judges),
        "rubrics": digest(*(f"{code}\n{rubric.text}" for code, rubric in bench.rubrics.items())),
        "questions": digest(bench.asking.model_dump_json()),
        "redaction": bool(bench.redactors),
        "train": fingerprint(task.train),
        "dev": fingerprint(task.dev),
        "gold": digest(*(error.model_dump_json() for error in task.gold.errors)),
        "matcher": task.matcher.name if task.meta is None else f"meta-judge {task.meta.name}",
        "reflection": digest(instructions()),
    }


def _result(trials: Trials, door: Door) -> SearchResult:
    candidates = tuple(trials.candidates.values())
    best = trials.best
    stopped: Stopped = door.stopped or "finished"
    return SearchResult(
        dimensions=trials.task.dimensions,
        candidates=candidates,
        best=0 if best is None else best.number,
        rejected=tuple(trials.rejected),
        stopped=stopped,
        message=door.message or "the optimiser came to its end",
        calls=trials.calls,
        proposals=trials.proposals,
        cost_usd=door.cost_usd,
        paid=door.paid,
        replayed=door.replayed,
        from_cache=door.from_cache,
        unpriced=door.unpriced,
        unanswered=tuple(door.unanswered.values()),
        seconds=door.seconds,
    )
