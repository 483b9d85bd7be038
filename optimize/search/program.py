"""A judge as a DSPy program: one predictor a dimension, whose instruction is the rubric.

DSPy's own adapters put field names, types and an output form of theirs around an instruction, so what they tune is a
prompt that nobody will use. `JudgeAdapter` asks nothing itself: it hands the instruction, as a rubric, to the very
`Judge` that an evaluation runs, re-asks, parts of long transcripts and final scores included. Other predictors (those
with which some optimisers write instructions) speak to the reflection model, through `ModelEngine`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple

import dspy
from dspy.lm15 import Message, Response, TextPart, Usage
from dspy.lm15 import Request as DspyRequest
from dspy.teleprompt import bootstrap
from dspy.teleprompt import utils as teleprompt_utils
from dspy.utils import parallelizer
from dspy.utils.callback import BaseCallback
from gepa.api import optimize as gepa_optimize
from gepa.core import engine as gepa_engine

from gpa.judges.model import Client, Outcome, Reply, ReplyError, Request, Turn
from gpa.optimize.proposal import judgement
from gpa.optimize.search.engine import Bridge
from gpa.optimize.trials import Texts, Trials

__all__ = ["Run", "dspy", "example", "gepa_optimize", "metric", "program", "quiet", "reflecting"]

NOTHING = {"recall": 0.0, "precision": 0.0, "localisation": 0.0}
MAX_TOKENS = 16_000
"""Of an answer to another optimiser's own question."""


class Run(str):
    """A transcript as an input of a predictor: its text is what a reflection model may see of it."""

    __slots__ = ("rollout", "texts", "trace_id")
    trace_id: str
    texts: Texts
    """The candidate it is judged by; empty before it is."""
    rollout: int
    """Number of the repetition that an optimiser asks for."""

    @classmethod
    def of(cls, text: str, trace_id: str, texts: Texts = (), rollout: int = 0) -> Run:
        """The run of a trace."""
        run = cls(text)
        run.trace_id, run.texts, run.rollout = trace_id, texts, rollout
        return run

    def __deepcopy__(self, _memo: object) -> Run:
        return self

    def __reduce__(self) -> Any:
        return Run.of, (str(self), self.trace_id, self.texts, self.rollout)


class Judged(NamedTuple):
    """Whose judgement a prediction is."""

    texts: Texts
    trace_id: str
    rollout: int


class Said(str):
    """A judgement as text, which is all of it that optimisers show to a model, and whose it is."""

    __slots__ = ("judged",)
    judged: Judged

    @classmethod
    def of(cls, text: str, judged: Judged) -> Said:
        """The judgement of a candidate on a run."""
        said = cls(text)
        said.judged = judged
        return said


class JudgeProgram(dspy.Module):  # type: ignore[misc] # dspy has no types
    """Judges a run in each dimension, and counts it as one metric call."""

    def __init__(self, trials: Trials, bridge: Bridge) -> None:
        super().__init__()
        self.codes = trials.task.dimensions
        for code, text in zip(self.codes, trials.start, strict=True):
            setattr(self, code, dspy.Predict(dspy.Signature("run: str -> judgement: str", text)))
        self._backstage = _Backstage(trials, bridge)

    def forward(self, run: Run) -> Any:
        """The judgements, and whose they are."""
        predictors = [getattr(self, code) for code in self.codes]
        texts = tuple(predictor.signature.instructions for predictor in predictors)
        lm = predictors[0].lm or dspy.settings.lm
        judged = Judged(texts, run.trace_id, int(lm.kwargs.get("rollout_id") or 0))
        asked = Run.of(str(run), run.trace_id, texts, judged.rollout)
        trials, bridge = self._backstage.trials, self._backstage.bridge

        async def begin() -> None:
            trials.begin(*judged)

        async def finish() -> None:
            trials.finish(*judged)

        bridge.wait(begin)
        said = {code: predictor(run=asked).judgement for code, predictor in zip(self.codes, predictors, strict=True)}
        bridge.wait(finish)
        return dspy.Prediction(**{code: Said.of(text, judged) for code, text in said.items()})


@dataclass(frozen=True)
class _Backstage:  # no tuple: DSPy looks through those for predictors
    """What a program works with; copies of the program share it."""

    trials: Trials
    bridge: Bridge

    def __deepcopy__(self, _memo: object) -> _Backstage:
        return self


class JudgeAdapter(dspy.Adapter):  # type: ignore[misc] # dspy has no types
    """Lets `Judge` ask what a predictor's instruction, as a rubric, asks; leaves other predictors to DSPy's own way."""

    def __init__(self, trials: Trials, bridge: Bridge) -> None:
        super().__init__()
        self._trials, self._bridge = trials, bridge
        self._others = dspy.ChatAdapter()

    def __call__(
        self,
        lm: Any,
        lm_kwargs: dict[str, Any],
        signature: Any,
        demos: list[dict[str, Any]],
        inputs: dict[str, Any],
    ) -> Any:
        """One completion: what the judge said, as text."""
        run = inputs.get("run")
        if not isinstance(run, Run) or "judgement" not in signature.output_fields:
            return self._others(lm, lm_kwargs, signature, demos, inputs)
        dimension = self._trials.task.dimensions[run.texts.index(signature.instructions)]
        trial = self._bridge.wait(lambda: self._trials.judge(run.texts, run.trace_id, dimension, run.rollout))
        return [{"judgement": judgement(trial.results[dimension], self._trials.shown[run.trace_id])}]

    async def acall(self, *_: Any, **__: Any) -> Any:
        """Never: optimisers call from threads."""
        raise NotImplementedError

    def format(self, signature: Any, demos: Any, inputs: Any) -> Any:
        """As DSPy would ask another predictor's question."""
        return self._others.format(signature, demos, inputs)

    def parse(self, signature: Any, completion: str) -> Any:
        """As DSPy reads another predictor's answer."""
        return self._others.parse(signature, completion)


class ModelEngine:
    """An engine of `dspy.LM` that asks one of our models, by the door of the search."""

    def __init__(self, trials: Trials, bridge: Bridge, client: Client) -> None:
        self._trials, self._bridge, self._client = trials, bridge, client
        self._asked: dict[str, int] = {}

    def complete(self, request: DspyRequest) -> Response:
        """The answer; a question that is put again is asked again (another sample), so that it can be another one."""
        self._trials.door.close_wave()
        asked = _request(request, self._client.name)
        times = self._asked.get(asked.key, 0)
        self._asked[asked.key] = times + 1
        asked = Request.model_validate({**_fields(asked), "sample": times})
        outcome: Outcome = self._bridge.wait(lambda: self._trials.door.ask(self._client, asked))
        if isinstance(outcome, ReplyError):
            self._trials.door.close_wave()
            raise dspy.LMError(f"{outcome.error_type}: {outcome.message}")
        return _response(outcome, request.model)

    def __deepcopy__(self, _memo: object) -> ModelEngine:
        return self


def _request(request: DspyRequest, model: str) -> Request:
    """A DSPy request in our form: its last user message is the question, what comes before it goes along as text."""
    said = [(message.role, message.text or "") for message in request.messages]
    system = request.system if isinstance(request.system, str) else _text(request.system)
    first = said[0][1] if said else ""
    turns = tuple(
        Turn(role="assistant" if role == "assistant" else "user", text=text or "(no text)") for role, text in said[1:]
    )
    return Request(
        model=model,
        system=system,
        tail=first or "(no text)",
        turns=turns,
        max_tokens=request.config.max_tokens or MAX_TOKENS,
        cache_ttl=None,
        judge="instructions",
    )


def _fields(request: Request) -> dict[str, Any]:
    return {name: getattr(request, name) for name in Request.model_fields}


def _text(parts: Any) -> str:
    return "\n".join(part.text for part in parts or () if isinstance(part, TextPart))


def _response(reply: Reply, model: str) -> Response:
    usage = Usage(input_tokens=reply.usage.prompt_tokens, output_tokens=reply.usage.output_tokens)
    message = Message(role="assistant", parts=(TextPart(reply.text or " "),))
    return Response(id=reply.id or None, model=model, message=message, finish_reason="stop", usage=usage)


def reflecting(trials: Trials, bridge: Bridge, client: Client) -> Any:
    """The reflection model as a `dspy.LM`, without DSPy's cache and retries: ours do that."""
    engine = ModelEngine(trials, bridge, client)
    return dspy.LM("gpa/reflection", engine=engine, cache=False, num_retries=0)


def program(trials: Trials, bridge: Bridge) -> Any:
    """The judge as a program, at the start rubrics."""
    return JudgeProgram(trials, bridge)


def example(trace_id: str, text: str) -> Any:
    """A trace as an example. It holds the run and nothing else: what people found in it never reaches DSPy."""
    return dspy.Example(run=Run.of(text, trace_id)).with_inputs("run")


def metric(trials: Trials) -> Callable[..., Any]:
    """The score of a prediction, the same with and without a predictor's name, with that predictor's advice."""

    def scored(
        _example: Any, pred: Any, trace: Any = None, pred_name: str | None = None, pred_trace: Any = None
    ) -> Any:
        del trace, pred_trace
        said = next((one for one in pred.values() if isinstance(one, Said)), None) if pred is not None else None
        if said is None:  # an optimiser's stand-in for a prediction that was never made
            return dspy.Prediction(score=0.0, feedback="There is no judgement.", objective_scores=dict(NOTHING))
        trial = trials.trial(*said.judged)
        whole = trial.whole
        told = trial.scored.get(pred_name or "", whole)
        return dspy.Prediction(score=whole.score, feedback=told.feedback, objective_scores=dict(whole.objectives))

    return scored


class _Waves(BaseCallback):  # type: ignore[misc] # dspy has no types
    """Ends the search before the next evaluation when the last one had requests without an answer."""

    def __init__(self, trials: Trials) -> None:
        self._trials = trials

    def on_evaluate_start(self, call_id: str, instance: Any, inputs: Mapping[str, Any]) -> None:
        """Close the wave before this one."""
        del call_id, instance, inputs
        self._trials.door.close_wave()


@contextmanager
def quiet(trials: Trials, bridge: Bridge, lm: Any) -> Iterator[None]:
    """DSPy set up for a search in this thread: nothing on the screen, nothing on the disk, nothing for the process."""
    with ExitStack() as stack:
        for name in ("dspy", "gepa"):
            logger = logging.getLogger(name)
            stack.callback(logger.setLevel, logger.level)
            logger.setLevel(logging.CRITICAL + 1)
        # Progress bars and printed lines, some of them on stdout, where results are; no option turns them off.
        _replace(stack, gepa_engine, "tqdm", _NoBar)
        for module in (parallelizer, bootstrap):
            _replace(stack, module, "tqdm", SimpleNamespace(tqdm=_NoBar))
        for module in (bootstrap, teleprompt_utils):
            _replace(stack, module, "print", _no_print)
        stack.enter_context(dspy.context(lm=lm, adapter=JudgeAdapter(trials, bridge), callbacks=[_Waves(trials)]))
        yield


def _replace(stack: ExitStack, module: Any, name: str, value: object) -> None:
    """Set a name of a module until the stack closes."""
    if name in vars(module):
        stack.callback(setattr, module, name, vars(module)[name])
    else:
        stack.callback(delattr, module, name)
    setattr(module, name, value)


def _no_print(*_: Any, **__: Any) -> None:
    """Nothing."""


class _NoBar:
    """A progress bar that is none."""

    _instances: ClassVar[set[Any]] = set()
    """DSPy clears it (`dspy.utils.parallelizer`)."""

    def __init__(self, over: Iterable[Any] = (), *_: Any, **__: Any) -> None:
        self._over = over

    def __iter__(self) -> Iterator[Any]:
        return iter(self._over)

    def update(self, *_: Any) -> None:
        """Nothing."""

    def set_description(self, *_: Any) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""
