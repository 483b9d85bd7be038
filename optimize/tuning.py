"""A whole run: portions, a search a dimension, the held-out traces judged with the start and with what came of it.

Nothing here knows DSPy or files of results: `search` does the searching, `output` the writing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Literal, NamedTuple

from gpa.errors import UsageError
from gpa.evaluation import Progress as Judged
from gpa.ingest.transcript import Transcript
from gpa.judges.gold import Gold
from gpa.judges.model import Ledger, Request
from gpa.judges.rubrics import digest
from gpa.judging import Bench, Judging, opened
from gpa.optimize.guards import guard_of
from gpa.optimize.heldout import HeldOut, held_out
from gpa.optimize.log import Log
from gpa.optimize.output import SEARCH, Tuned, unsearched
from gpa.optimize.portions import SHARES, Portions, apportion, same_tasks
from gpa.optimize.results import Budget, Objective, Optimizer, Progress, SearchResult

MAX_CALLS = 150
"""Traces judged in a search of one dimension, where nothing else is asked for."""
MINIBATCH = 3
HELD_OUT = "held-out"
"""Folder, in that of the run, of the log of what judging the held-out traces was answered."""
SAMPLES = 3
"""Of each judgement, where consistency is the target and no other number is asked for."""

MatcherName = Literal["fuzzy", "exact", "meta"]
OnStep = Callable[[str, Progress], None]
"""Told of the dimension and how far its search is."""
OnJudged = Callable[[Judged], None]
"""Told of each held-out trace that was judged."""


@dataclass(frozen=True)
class Plan:
    """What is to be done."""

    model: str
    """That judges."""
    reflection_model: str
    """That proposes rubrics."""
    out: Path
    judging: Judging
    """How the judge is asked; its `max_cost` is not used."""
    reflecting: Judging
    """The same for the reflection model and the meta-judge."""
    dimensions: tuple[str, ...] = ()
    """All that have gold errors in every portion, when empty."""
    optimizer: Optimizer = "gepa"
    objective: Objective = "recall"
    matcher: MatcherName = "fuzzy"
    meta_model: str | None = None
    """Of the meta-judge; the reflection model when None."""
    max_calls: int = MAX_CALLS
    max_cost: float | None = None
    max_minutes: float | None = None
    minibatch: int = MINIBATCH
    seed: int = 0
    shares: tuple[float, ...] = SHARES
    given: Mapping[str, Collection[str]] = field(default_factory=dict)
    """Portions chosen by hand."""


class Done(NamedTuple):
    """What came of it."""

    tuned: Tuned
    unanswered: tuple[Request, ...]
    """Requests without an answer in the files of responses: the run stops here until they have one."""
    interrupted: bool


def portions_of(transcripts: Sequence[Transcript], gold: Gold, plan: Plan) -> Portions:
    """The portions of a plan. Raises what `apportion` raises."""
    available = {transcript.trace_id for transcript in transcripts}
    return apportion(gold, available, shares=plan.shares, seed=plan.seed, given=plan.given)


def dimensions_of(portions: Portions, gold: Gold, plan: Plan, known: Collection[str]) -> tuple[str, ...]:
    """The dimensions to search: those asked for, or all with gold errors in every portion.

    Raises `UsageError` for one that has no rubric, or no gold error to learn from, to choose by, or to be measured on.
    """
    held = {
        name: {code for error in gold.of(ids).errors for code in error.dimensions}
        for name, ids in portions.named().items()
    }
    for code in plan.dimensions:
        if code not in known:
            raise UsageError(f"--dimensions: expected some of {' '.join(known)}, found {code!r}")
        for name, codes in held.items():
            if code not in codes:
                raise UsageError(f"--dimensions: expected gold errors of {code} in every portion, found none in {name}")
    found = plan.dimensions or tuple(code for code in known if all(code in codes for codes in held.values()))
    if not found:
        raise UsageError("--gold: expected errors of some dimension in every portion, found none: annotate more traces")
    return tuple(dict.fromkeys(found))


async def tune(
    transcripts: Sequence[Transcript],
    gold: Gold,
    plan: Plan,
    *,
    on_step: OnStep | None = None,
    on_judged: OnJudged | None = None,
) -> Done:
    """The searches of a plan, and the held-out comparison where they came to an end.

    Raises:
        UsageError: Options that cannot be met, portions that overlap, no `dspy`, a log folder of another search.
        InputError, FormatError, StoreError: A file that is named cannot be used.
    """
    portions = portions_of(transcripts, gold, plan)
    by_id = {transcript.trace_id: transcript for transcript in transcripts}
    async with AsyncExitStack() as stack:
        bench = await stack.enter_async_context(opened(plan.model, plan.judging))
        reflection = await stack.enter_async_context(opened(plan.reflection_model, plan.reflecting))
        meta = None if plan.matcher != "meta" else reflection
        if meta is not None and plan.meta_model not in {None, plan.reflection_model}:
            meta = await stack.enter_async_context(opened(str(plan.meta_model), plan.reflecting))
        dimensions = dimensions_of(portions, gold, plan, bench.rubrics)
        run = _Run(plan, gold, portions, by_id, bench, reflection, meta, dimensions)
        await run.search(on_step)
        compared, missing = await run.compare(on_judged)
        left = {one.custom_id: one for search in run.searches for one in search.unanswered}
        left |= {one.custom_id: one for one in missing}
        return Done(run.tuned(compared), tuple(left.values()), run.interrupted)


@dataclass
class _Run:
    """A run under way: the models are open, the money is counted."""

    plan: Plan
    gold: Gold
    portions: Portions
    by_id: Mapping[str, Transcript]
    bench: Bench
    reflection: Bench
    meta: Bench | None
    dimensions: tuple[str, ...]
    searches: list[SearchResult] = field(default_factory=list)
    interrupted: bool = False
    why_not: str = ""
    """Why held-out traces are not judged."""
    reserve: float = 0.0
    """Money put aside for them."""
    held_out_usd: float = 0.0
    """What judging them cost in earlier starts."""
    started: float = field(default_factory=monotonic)

    async def search(self, on_step: OnStep | None) -> None:
        """Search dimension after dimension, as far as answers, time and money last."""
        from gpa.optimize.search import search

        await self._check_money()
        asking = self.bench.asking
        guard = guard_of(self.bench.rubrics.values(), self.gold, also_known=(asking.frame, asking.notes))
        train, dev = (self._transcripts(ids) for ids in (self.portions.train, self.portions.dev))
        gold = self.gold.of((*self.portions.train, *self.portions.dev))  # a search knows nothing of the others
        for number, code in enumerate(self.dimensions):
            result = await search(
                [code],
                train=train,
                dev=dev,
                gold=gold,
                bench=self.bench,
                reflection=self.reflection,
                budget=self._budget(len(self.dimensions) - number),
                guard=guard,
                matcher="fuzzy" if self.plan.matcher == "meta" else self.plan.matcher,
                meta=self.meta,
                optimizer=self.plan.optimizer,
                objective=self.plan.objective,
                seed=self.plan.seed,
                minibatch=self.plan.minibatch,
                log=self.plan.out / SEARCH / code,
                step=None if on_step is None else _telling(on_step, code),
            )
            self.searches.append(result)
            if result.stopped in {"interrupted", "unanswered", "model"}:
                self.interrupted = result.stopped == "interrupted"
                self.why_not = result.message
                return

    async def compare(self, on_judged: OnJudged | None) -> tuple[HeldOut | None, tuple[Request, ...]]:
        """The held-out traces judged by the start and by what was found; or the requests still to be answered."""
        if self.why_not:
            return None, ()
        with self._log() as log:
            return await self._compare(log, on_judged)

    async def _compare(self, log: Log, on_judged: OnJudged | None) -> tuple[HeldOut | None, tuple[Request, ...]]:
        self.held_out_usd = log.paid_usd
        offered = [one.unanswered for one in (self.bench, self.meta) if one is not None]
        before = [len(requests) for requests in offered]
        if self.plan.max_cost is not None:
            left = Ledger(self.bench.prices, max_cost_usd=max(0.0, self.plan.max_cost - self._spent()))
            for bench in (self.bench, self.meta):  # one purse: what the judge spends the meta-judge has not
                if bench is not None:
                    bench.client.ledger = left
        tuned = {**self.bench.rubrics, **self.tuned(None).rubrics}
        try:
            compared = await held_out(
                self.bench,
                self.bench.rubrics,
                tuned,
                self._transcripts(self.portions.held_out),
                self.gold,
                dimensions=self.dimensions,
                log=log,
                matcher="fuzzy" if self.plan.matcher == "meta" else self.plan.matcher,
                meta=None if self.meta is None else self.meta.client,
                concurrency=self.plan.judging.concurrency,
                progress=on_judged,
            )
        except asyncio.CancelledError:  # Ctrl-C: what the search found is worth keeping
            self.interrupted, self.why_not = True, "interrupted"
            return None, ()
        missing = tuple(one for requests, start in zip(offered, before, strict=True) for one in requests[start:])
        if compared is None:
            self.why_not = "their answers are not in the files of responses yet"
        return compared, () if compared is not None else missing

    def tuned(self, compared: HeldOut | None) -> Tuned:
        """What came of it so far."""
        plan, rubrics = self.plan, self.bench.rubrics
        folder = plan.judging.rubrics
        own = sorted(path.stem for path in folder.glob("*.md")) if folder is not None else []
        twins = same_tasks(self.portions, self.by_id.values())
        notes = [f"Gold {self.gold.version}; seed {plan.seed}; judge {plan.model}; reflection {plan.reflection_model}."]
        if twins:
            notes.append(
                f"{twins} held-out traces have, word for word, the task of a trace that was tuned on: their figures may"
                " flatter."
            )
        left = [code for code in self.dimensions if code not in {c for one in self.searches for c in one.dimensions}]
        if left:
            notes.append(f"Not searched: {', '.join(left)}.")
        return Tuned(
            start=rubrics,
            searches=tuple(self.searches),
            portions=self.portions,
            portions_table=self.portions.table(self.gold, self.dimensions),
            settings=self._settings(),
            held_out=compared,
            why_not=self.why_not,
            notes=tuple(notes),
            kept=unsearched(rubrics, self.dimensions, own),
            frame=self.bench.asking.frame if "frame" in own else None,
        )

    def _settings(self) -> dict[str, object]:
        plan, asking = self.plan, self.bench.asking
        return {
            "model": plan.model,
            "reflection_model": plan.reflection_model,
            "meta_model": None if self.meta is None else self.meta.client.name,
            "dimensions": list(self.dimensions),
            "optimizer": plan.optimizer,
            "objective": plan.objective,
            "matcher": plan.matcher,
            "seed": plan.seed,
            "minibatch": plan.minibatch,
            "samples": len(self.bench.judges),
            "max_calls": plan.max_calls,
            "max_cost_usd": plan.max_cost,
            "max_minutes": plan.max_minutes,
            "gold": self.gold.version,
            "asking": digest(asking.model_dump_json()),
        }

    def _budget(self, searches_left: int) -> Budget:
        """An even share of the money that is left; time is everybody's."""
        plan = self.plan
        cost = None
        if plan.max_cost is not None:
            cost = max(0.0001, plan.max_cost - self._spent() - self.reserve) / searches_left
        seconds = None
        if plan.max_minutes is not None:
            seconds = max(0.001, plan.max_minutes * 60 - (monotonic() - self.started))
        return Budget(plan.max_calls, cost, seconds)

    def _spent(self) -> float:
        return self.held_out_usd + sum(search.cost_usd for search in self.searches)

    def _log(self) -> Log:
        """The log of the held-out traces. Requests say themselves what they ask, so that it fits every start."""
        return Log(self.plan.out / HELD_OUT, {"of": "held-out traces"})

    async def _check_money(self) -> None:
        """Put aside what judging the held-out traces twice will cost: without it nobody knows whether it helped."""
        if self.plan.max_cost is None:
            return
        from gpa.optimize.expense import held_out_usd

        for bench in (self.bench, self.reflection, self.meta):
            if bench is not None and bench.prices.of(bench.client.name) is None:
                raise UsageError(
                    f"--max-cost: expected a price for {bench.client.name}, found none in the table of"
                    f" {bench.prices.date} (give one with --prices FILE)"
                )
        if (self.plan.out / HELD_OUT).is_dir():
            with self._log() as log:
                self.held_out_usd = log.paid_usd
        held = self._transcripts(self.portions.held_out)
        self.reserve = await held_out_usd(held, self.plan, self.dimensions) or 0.0
        if self.reserve >= self.plan.max_cost:
            raise UsageError(
                f"--max-cost: expected more than the ${self.reserve:.2f} that judging the held-out traces with both"
                f" rubrics takes, found {self.plan.max_cost:g}"
            )

    def _transcripts(self, ids: Sequence[str]) -> list[Transcript]:
        return [self.by_id[trace_id] for trace_id in ids]


def _telling(on_step: OnStep, code: str) -> Callable[[Progress], None]:
    return lambda progress: on_step(code, progress)
