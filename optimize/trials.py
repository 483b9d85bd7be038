"""Candidates tried on traces: judged through the door, scored once, and counted; what a search has learned so far.

Everything here runs in the event loop of the models. An optimiser, which runs in threads, comes in through `search`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from inspect import cleandoc

from gpa.agreement import alpha
from gpa.ingest.transcript import Transcript
from gpa.judges.gold import Gold
from gpa.judges.judge import Judge
from gpa.judges.matching import Matcher
from gpa.judges.meta import MetaJudge
from gpa.judges.model import Client, Request
from gpa.judges.redact import redacted
from gpa.judges.rubrics import Rubric, digest
from gpa.judges.verdict import AnyResult, Failure, Verdict
from gpa.judging import Bench
from gpa.optimize.door import Asked, Door, Halted
from gpa.optimize.metric import Scored, agreeing, pooled, scored
from gpa.optimize.proposal import proposed
from gpa.optimize.results import Budget, Candidate, Guard, Objective, Progress, Rejection, Step

SCORES = 4
"""0, 1, 2, 3."""


@dataclass(frozen=True)
class Task:
    """What is to be made better, and by what it is measured."""

    dimensions: tuple[str, ...]
    train: tuple[Transcript, ...]
    dev: tuple[Transcript, ...]
    gold: Gold
    matcher: Matcher
    meta: Client | None
    """The model of a meta-judge, in place of the matcher."""
    objective: Objective
    guard: Guard
    budget: Budget
    step: Step | None


@dataclass
class Trial:
    """One candidate on one trace."""

    scored: dict[str, Scored] = field(default_factory=dict)
    """By dimension."""
    results: dict[str, tuple[AnyResult, ...]] = field(default_factory=dict)
    """By dimension, one for each sample."""
    counted: bool = False
    """Whether all dimensions are judged, and it is a metric call."""

    @property
    def whole(self) -> Scored:
        """All dimensions together."""
        return pooled(list(self.scored.values()))


Texts = tuple[str, ...]
"""The texts of the searched dimensions, in their order, as an optimiser holds them (`held`)."""


class Trials:
    """Judges candidates and remembers what came of it."""

    def __init__(self, bench: Bench, door: Door, task: Task) -> None:
        self.task = task
        self.door = door
        self._bench = bench
        self._asked = Asked(door, bench.client)
        self._start = {code: bench.rubrics[code] for code in task.dimensions}
        self._rubrics = {code: {held(rubric.text): rubric} for code, rubric in self._start.items()}
        self._refusals: dict[tuple[str, str], str | None] = {
            (code, held(r.text)): None for code, r in self._start.items()
        }
        self._made: dict[tuple[Texts, int], list[Judge]] = {}
        self._trials: dict[tuple[Texts, str, int], Trial] = {}
        self._parents: dict[Texts, Texts] = {}
        self._dev = tuple(transcript.trace_id for transcript in task.dev)
        clean = bench.redactors[0] if bench.redactors else None
        self._transcripts = {one.trace_id: one for one in (*task.train, *task.dev)}
        self.shown = {name: one if clean is None else redacted(one, clean) for name, one in self._transcripts.items()}
        """Transcripts as they may leave the machine, by trace."""
        self.calls = 0
        self._under_way: set[tuple[Texts, str, int]] = set()
        self.proposals = 0
        self.candidates: dict[Texts, Candidate] = {}
        self.rejected: list[Rejection] = []

    def knows(self, texts: Texts) -> bool:
        """Whether a candidate was judged on every dev trace."""
        return texts in self.candidates

    @property
    def start(self) -> Texts:
        """The texts that the search begins with."""
        return tuple(held(rubric.text) for rubric in self._start.values())

    def rubric(self, dimension: str, text: str) -> Rubric:
        """The rubric whose text an optimiser holds."""
        known = self._rubrics[dimension]
        if text not in known:
            known[text] = self._start[dimension].model_copy(update={"text": f"{text.rstrip()}\n"})
        return known[text]

    def refusal(self, dimension: str, proposed: Rubric) -> str | None:
        """Why a proposed rubric must not be tried, or None; each is looked at once."""
        key = (dimension, held(proposed.text))
        if key not in self._refusals:
            self.proposals += 1
            train = [self.shown[one.trace_id] for one in self.task.train]
            self._refusals[key] = self.task.guard(self._start[dimension], proposed, train)
        return self._refusals[key]

    async def propose(
        self, client: Client, request: Request, dimension: str, rubric: Rubric, parent: Texts
    ) -> str | None:
        """A new text for a dimension that nothing speaks against, asked of the reflection model; else None."""
        made = await proposed(
            lambda one: self.door.ask(client, one),
            request,
            rubric,
            lambda one: self.refusal(dimension, one),
        )
        if self.door.unanswered:
            return None
        for text, fault in made.refused:
            self.reject(dimension, text, fault, parent)
        return None if made.text is None else held(self.rubric(dimension, held(made.text)).text)

    def reject(self, dimension: str, text: str, reason: str, parent: Texts | None) -> None:
        """Remember a proposal that came to nothing, once."""
        if any((one.dimension, one.text, one.reason) == (dimension, text, reason) for one in self.rejected):
            return
        made_from = self.candidates.get(parent) if parent is not None else None
        number = None if made_from is None else made_from.number
        self.rejected.append(Rejection(dimension, text, reason, number, self.calls))
        self._report(f"a proposal for {dimension} was refused: {reason}")

    def descend(self, child: Texts, parent: Texts) -> None:
        """Remember which candidate another one was made from."""
        self._parents.setdefault(child, parent)

    async def judge(self, texts: Texts, trace_id: str, dimension: str, rollout: int) -> Trial:
        """The trial of a candidate on a trace, judged in this dimension too."""
        trial = self._trials.setdefault((texts, trace_id, rollout), Trial())
        if dimension not in trial.scored:
            rubric = self.rubric(dimension, texts[self.task.dimensions.index(dimension)])
            refused = self.refusal(dimension, rubric)
            if refused is None:
                results = await self._results(texts, trace_id, dimension, rollout)
            else:  # an optimiser that has no place for a guard: what it must not propose is worth nothing
                self.reject(dimension, rubric.text, refused, self._parents.get(texts))
                results = (self._refused(dimension, trace_id, refused),)
            trial.results[dimension] = results
            trial.scored[dimension] = await self._scored(results, trace_id)
        return trial

    def begin(self, texts: Texts, trace_id: str, rollout: int) -> None:
        """Make room for a metric call; `Halted` when the budget has none.

        DSPy starts a slow one a second time (`ParallelExecutor`, after 120 s): that is the same call.
        """
        key = (texts, trace_id, rollout)
        if key in self._under_way:
            return
        if self.calls + len(self._under_way) >= self.task.budget.max_calls:
            self.door.finish("calls", "the metric calls are used up")
            raise Halted
        self._under_way.add(key)

    def finish(self, texts: Texts, trace_id: str, rollout: int) -> Scored:
        """Count a metric call; the score of all dimensions. Completes a candidate with its last dev trace."""
        key = (texts, trace_id, rollout)
        trial = self._trials[key]
        trial.counted = True
        whole = trial.whole
        if key not in self._under_way:
            return whole
        self._under_way.remove(key)
        self.calls += 1
        if self.door.unanswered:
            return whole
        event = "judged a trace"
        if texts not in self.candidates and trace_id in self._dev and self._complete(texts):
            candidate = self.candidates[texts] = self._candidate(texts)
            event = f"candidate {candidate.number} scores {candidate.score:.3f} on the dev traces"
        self._report(event)
        return whole

    def trial(self, texts: Texts, trace_id: str, rollout: int) -> Trial:
        """What came of a candidate on a trace."""
        return self._trials[texts, trace_id, rollout]

    @property
    def best(self) -> Candidate | None:
        """The candidate to keep: the best score, then the best localisation, then the earliest.

        For consistency only those count that catch no less than the start, and agreement comes first.
        """
        candidates = list(self.candidates.values())
        if not candidates:
            return None
        if self.task.objective == "consistency":
            floor = candidates[0].caught
            candidates = [one for one in candidates if one.caught >= floor]
            return max(candidates, key=lambda one: (one.objectives["consistency"], one.score, -one.number))
        return max(candidates, key=lambda one: (one.score, one.objectives["localisation"], -one.number))

    def _judges(self, texts: Texts, rollout: int) -> list[Judge]:
        """As `gpa evaluate --rubrics` makes them: all rubrics, those of other dimensions as they are."""
        if (texts, rollout) not in self._made:
            changed = {code: self.rubric(code, text) for code, text in zip(self.task.dimensions, texts, strict=True)}
            judges = self._bench.judges if self.task.objective == "consistency" else self._bench.judges[:1]
            redactors = self._bench.redactors or (None,) * len(judges)
            self._made[texts, rollout] = [
                Judge(
                    self._asked,
                    {**self._bench.rubrics, **changed},
                    self._bench.asking,
                    sample=judge.sample + rollout * len(self._bench.judges),
                    clean=clean,
                )
                for judge, clean in zip(judges, redactors, strict=False)
            ]
        return self._made[texts, rollout]

    async def _results(self, texts: Texts, trace_id: str, dimension: str, rollout: int) -> tuple[AnyResult, ...]:
        judges = self._judges(texts, rollout)
        judged = await asyncio.gather(*(judge.judge(self._transcripts[trace_id], [dimension]) for judge in judges))
        return tuple(result for results in judged for result in results)

    async def _scored(self, results: Sequence[AnyResult], trace_id: str) -> Scored:
        samples = [await self._scored_one(result, trace_id) for result in results]
        if self.task.objective == "recall":
            return pooled(samples)
        return agreeing(samples, [result.score if isinstance(result, Verdict) else None for result in results])

    async def _scored_one(self, result: AnyResult, trace_id: str) -> Scored:
        errors = self.task.gold.by_trace.get(trace_id, ())
        transcript = self.shown[trace_id]
        if self.task.meta is None or not isinstance(result, Verdict):
            return scored(result, errors, self.task.matcher, transcript=transcript)
        # One for each result: a meta-judge keeps what it said by trace and judge, and knows no candidates.
        meta = MetaJudge(Asked(self.door, self.task.meta), [transcript], clean=next(iter(self._bench.redactors), None))
        await meta.ask([result], self.task.gold)
        return scored(result, errors, meta, transcript=transcript, decisions=meta.decisions(result))

    def _refused(self, dimension: str, trace_id: str, why: str) -> Failure:
        return Failure(trace_id=trace_id, judge=dimension, model=self._asked.name, error_type="refused", message=why)

    def _complete(self, texts: Texts) -> bool:
        trials = [self._trials.get((texts, trace_id, 0)) for trace_id in self._dev]
        return all(trial is not None and trial.counted for trial in trials)

    def _candidate(self, texts: Texts) -> Candidate:
        whole = {trace_id: self._trials[texts, trace_id, 0].whole for trace_id in self._dev}
        names = dict.fromkeys(name for one in whole.values() for name in one.objectives)
        return Candidate(
            number=len(self.candidates),
            rubrics={code: self.rubric(code, text) for code, text in zip(self.task.dimensions, texts, strict=True)},
            parents=self._parents_of(texts),
            score=sum(one.score for one in whole.values()) / len(whole),
            objectives={
                name: sum(one.objectives.get(name, 0.0) for one in whole.values()) / len(whole) for name in names
            },
            scores={trace_id: one.score for trace_id, one in whole.items()},
            calls=self.calls,
            caught=sum(one.caught for one in whole.values()),
            errors=sum(one.errors for one in whole.values()),
            localised=sum(one.localised for one in whole.values()),
            groundless=sum(one.groundless for one in whole.values()),
            failed=sum(one.failed for one in whole.values()),
            alpha=self._alpha(texts),
        )

    def _parents_of(self, texts: Texts) -> tuple[int, ...]:
        """The candidate it was made from; of a merged one every candidate that a text of it was new in."""
        made_from = self._parents.get(texts)
        if made_from is not None:
            return (self.candidates[made_from].number,) if made_from in self.candidates else ()
        first = (
            next((one.number for known, one in self.candidates.items() if known[at] == text), None)
            for at, text in enumerate(texts)
        )
        return tuple(dict.fromkeys(number for number in first if number is not None))

    def _alpha(self, texts: Texts) -> float | None:
        if self.task.objective != "consistency":
            return None
        found = []
        for code in self.task.dimensions:
            results = (self._trials[texts, trace_id, 0].results[code] for trace_id in self._dev)
            units = [[one.score for one in some if isinstance(one, Verdict)] for some in results]
            found.append(alpha([unit for unit in units if len(unit) > 1], SCORES, "interval"))
        known = [one for one in found if one is not None]
        return sum(known) / len(known) if known else None

    def _report(self, event: str) -> None:
        if self.task.step is not None:
            self.task.step(
                Progress(
                    calls=self.calls,
                    max_calls=self.task.budget.max_calls,
                    candidates=len(self.candidates),
                    best=self.best,
                    cost_usd=self.door.cost_usd,
                    replayed=self.door.replayed,
                    event=event,
                )
            )


def held(text: str) -> str:
    """A text as a DSPy signature holds it (`inspect.cleandoc` in `SignatureMeta.instructions`); twice is the same."""
    return cleandoc(text.strip())


def fingerprint(transcripts: Sequence[Transcript]) -> str:
    """16 hex digits over the traces and what is shown of them."""
    from gpa.store import transcript_hash

    return digest(*(f"{one.trace_id}\n{transcript_hash(one)}" for one in transcripts))
