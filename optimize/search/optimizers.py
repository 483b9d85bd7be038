"""DSPy's optimisers, each told how to work with rubrics: instructions only, within the budget, guarded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from gpa.errors import UsageError
from gpa.judges.model import Client
from gpa.optimize.proposal import Lesson, question, shown
from gpa.optimize.results import Optimizer
from gpa.optimize.search.engine import Bridge
from gpa.optimize.search.program import dspy, example, metric, program, quiet, reflecting
from gpa.optimize.trials import Texts, Trials

THREADS = 64
"""Evaluations that wait at a time; how many are sent is the client's business."""
SIMBA_CANDIDATES = 3
MIPRO_CANDIDATES = 6

Run = Callable[[], None]


def gepa(trials: Trials, reflection: Client, bridge: Bridge, *, seed: int, minibatch: int) -> Run:
    """Evolution by reflection: a proposal is made from the advice on a few runs, tried on them, then on all of dev.

    `cache_evaluation` stays off, in so many words: gepa 0.1.4 takes scores for the minibatch from it by the *number* of
    an example, so that a candidate gets dev scores it never earned. Our own log makes repeats free.
    """
    task = trials.task
    step = 2 * minibatch + len(task.dev)
    _afford(trials, len(task.dev) + step, f"{len(task.dev)} for the start and {step} for a step")
    stop = _Stop(trials, step)
    optimiser = dspy.GEPA(
        metric=metric(trials),
        max_metric_calls=task.budget.max_calls,
        reflection_minibatch_size=minibatch,
        instruction_proposer=_Proposer(trials, reflection, bridge),
        use_merge=len(task.dimensions) > 1,  # only a program of several texts can be merged
        num_threads=_threads(trials),
        failure_score=0.0,
        perfect_score=1.0,
        log_dir=None,  # it would hold a pickle
        seed=seed,
        gepa_kwargs={"frontier_type": "hybrid", "stop_callbacks": [stop], "cache_evaluation": False},
    )

    def run() -> None:
        with quiet(trials, bridge, reflecting(trials, bridge, reflection)):
            train, dev = _examples(trials, reflection, minibatch)
            optimiser.compile(program(trials, bridge), trainset=train, valset=dev)

    return run


def simba(trials: Trials, reflection: Client, bridge: Bridge, *, seed: int, minibatch: int) -> Run:
    """Rules written from runs that went well once and badly once; without demonstrations, which no rubric can hold."""
    task = trials.task
    size = min(len(task.train), max(minibatch, 4))
    step = size * (2 * SIMBA_CANDIDATES + 1)
    last = (SIMBA_CANDIDATES + 1) * (len(task.train) + len(task.dev)) + len(task.dev)
    _afford(trials, step + last, f"{step} for a step and {last} to compare what comes of it")
    steps = (task.budget.max_calls - last) // step
    optimiser = dspy.SIMBA(
        metric=_number(trials),
        bsize=size,
        num_candidates=SIMBA_CANDIDATES,
        max_steps=steps,
        max_demos=0,
        prompt_model=None,
        num_threads=_threads(trials),
    )

    def run() -> None:
        lm = reflecting(trials, bridge, reflection)
        optimiser.prompt_model = lm
        with quiet(trials, bridge, lm):
            train, dev = _examples(trials, reflection, minibatch)
            start = program(trials, bridge)
            _evaluate(start, dev, trials)
            found = optimiser.compile(start, trainset=train, seed=seed)
            for one in found.candidate_programs:  # the best on the training traces first
                _evaluate(one["program"], dev, trials)

    return run


def miprov2(trials: Trials, reflection: Client, bridge: Bridge, *, seed: int, minibatch: int) -> Run:
    """Instructions proposed all at once and combined by Bayesian search; without demonstrations."""
    if find_spec("optuna") is None:
        raise UsageError("--optimizer miprov2 needs optuna, which is not installed: pip install optuna")
    task = trials.task
    _afford(trials, 3 * len(task.dev), f"{len(task.dev)} for the start and for each of two trials")
    count = task.budget.max_calls // len(task.dev) - 1

    def run() -> None:
        lm = reflecting(trials, bridge, reflection)
        with quiet(trials, bridge, lm):
            train, dev = _examples(trials, reflection, minibatch)
            optimiser = dspy.MIPROv2(
                metric=_number(trials),
                prompt_model=lm,
                task_model=lm,
                auto=None,
                num_candidates=min(MIPRO_CANDIDATES, count),
                max_bootstrapped_demos=0,
                max_labeled_demos=0,
                num_threads=_threads(trials),
                seed=seed,
            )
            optimiser.compile(
                program(trials, bridge),
                trainset=train,
                valset=dev,
                num_trials=count,
                max_bootstrapped_demos=0,
                max_labeled_demos=0,
                minibatch=False,
                program_aware_proposer=False,
                data_aware_proposer=False,
                fewshot_aware_proposer=False,
                provide_traceback=False,
            )

    return run


OPTIMIZERS: dict[Optimizer, Callable[..., Run]] = {"gepa": gepa, "miprov2": miprov2, "simba": simba}


class _Proposer:
    """GEPA's `ProposalFn`: a new text for a dimension, or none when nothing acceptable came."""

    def __init__(self, trials: Trials, reflection: Client, bridge: Bridge) -> None:
        self._trials, self._reflection, self._bridge = trials, reflection, bridge
        self._asked: dict[str, int] = {}

    def __call__(
        self,
        candidate: Mapping[str, str],
        reflective_dataset: Mapping[str, Sequence[Mapping[str, Any]]],
        components_to_update: Sequence[str],
    ) -> dict[str, str]:
        """New texts by dimension; without one GEPA goes on to the next minibatch."""
        trials = self._trials
        trials.door.close_wave()
        parent: Texts = tuple(candidate[code] for code in trials.task.dimensions)
        texts = {}
        for code in components_to_update:
            lessons = [
                Lesson(one["Inputs"]["run"], one["Generated Outputs"]["judgement"], one["Feedback"])
                for one in reflective_dataset.get(code, ())
            ]
            text = self._proposed(code, parent, lessons) if lessons else None
            if text is not None:
                texts[code] = text
        if texts:
            trials.descend(tuple({**candidate, **texts}[code] for code in trials.task.dimensions), parent)
        return texts

    def _proposed(self, code: str, parent: Texts, lessons: Sequence[Lesson]) -> str | None:
        trials, client = self._trials, self._reflection
        rubric = trials.rubric(code, parent[trials.task.dimensions.index(code)])
        first = question(client.name, rubric, lessons)
        times = self._asked.get(first.key, 0)
        self._asked[first.key] = times + 1
        request = question(client.name, rubric, lessons, sample=times) if times else first

        async def ask() -> str | None:
            return await trials.propose(client, request, code, rubric, parent)

        text = self._bridge.wait(ask)
        trials.door.close_wave()
        return text


class _Stop:
    """GEPA's stopper: before a step that the budget does not cover, at a perfect score, when answers are missing."""

    def __init__(self, trials: Trials, step: int) -> None:
        self._trials, self._step = trials, step

    def __call__(self, _state: object) -> bool:
        """Whether to stop; GEPA asks before each step."""
        trials = self._trials
        trials.door.close_wave()
        best = trials.best
        if best is not None and best.score >= 1.0:
            trials.door.finish("perfect", "every dev trace has the best score there is")
            return True
        if trials.calls + self._step > trials.task.budget.max_calls:
            trials.door.finish("calls", f"another step of up to {self._step} metric calls does not fit the budget")
            return True
        return False


def _examples(trials: Trials, reflection: Client, runs: int) -> tuple[list[Any], list[Any]]:
    """Train and dev traces; of the latter nothing is rendered, for no model that proposes may see it."""
    window = reflection.context_window
    train = [example(one.trace_id, shown(trials.shown[one.trace_id], window, runs)) for one in trials.task.train]
    return train, [example(one.trace_id, "") for one in trials.task.dev]


def _evaluate(candidate: Any, dev: Sequence[Any], trials: Trials) -> None:
    """Judge a candidate on the dev traces, where that is not done."""
    if trials.knows(tuple(predictor.signature.instructions for predictor in candidate.predictors())):
        return
    dspy.Evaluate(devset=list(dev), metric=_number(trials), num_threads=_threads(trials), display_progress=False)(
        candidate
    )
    trials.door.close_wave()


def _number(trials: Trials) -> Callable[..., Any]:
    """The score alone, for optimisers that take no more."""
    told = metric(trials)

    def score(gold: Any, pred: Any, trace: Any = None) -> float:
        return float(told(gold, pred, trace).score)

    return score


def _threads(trials: Trials) -> int:
    return max(2, min(THREADS, max(len(trials.task.dev), len(trials.task.train))))


def _afford(trials: Trials, needed: int, what: str) -> None:
    if trials.task.budget.max_calls < needed:
        raise UsageError(
            f"--max-calls: expected at least {needed} ({what}), found {trials.task.budget.max_calls}"
            " (or take fewer dev traces)"
        )
