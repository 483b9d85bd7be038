"""What a search needs of DSPy, found or refused, and the bridge from an optimiser's threads to the event loop.

DSPy itself is imported by `program` and `optimizers`, which are loaded from here.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from gpa.errors import UsageError
from gpa.judges.model import Client
from gpa.optimize.door import Door, Halted
from gpa.optimize.results import Optimizer
from gpa.optimize.trials import Trials

INSTALL = "pip install 'agent-gpa[optimize]'"
GEPA_PARAMETERS = frozenset(
    {
        "max_metric_calls",
        "reflection_minibatch_size",
        "instruction_proposer",
        "use_merge",
        "num_threads",
        "failure_score",
        "perfect_score",
        "log_dir",
        "seed",
        "gepa_kwargs",
    }
)
"""What `dspy.GEPA` is called with."""
GEPA_EXTRAS = frozenset({"frontier_type", "stop_callbacks", "cache_evaluation"})
"""What `gepa.optimize` is called with besides, by way of `gepa_kwargs`."""

T = TypeVar("T")


class Bridge:
    """Runs coroutines of the event loop for threads that wait for them."""

    def __init__(self, door: Door) -> None:
        self.door = door
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._open = True
        self._pending: set[Future[Any]] = set()

    def wait(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The coroutine's result; `Halted` when the search is over, then it is not even made."""
        with self._lock:
            self.door.check()
            if not self._open:
                raise Halted
            future = asyncio.run_coroutine_threadsafe(make(), self._loop)
            self._pending.add(future)
        try:
            return future.result()
        except Exception as error:  # DSPy makes a score of 0 of any: a fault of ours must end the search instead
            self.door.fail(error)
            raise Halted from error
        finally:
            with self._lock:
                self._pending.discard(future)

    async def aclose(self) -> None:
        """Let no thread in any more, and wait for those that are."""
        with self._lock:
            self._open = False
            pending = [asyncio.wrap_future(future) for future in self._pending]
        await asyncio.gather(*pending, return_exceptions=True)


class Optimisation:
    """An optimiser ready to run in a thread."""

    def __init__(self, bridge: Bridge, run: Callable[[], None]) -> None:
        self._bridge, self._run = bridge, run

    def run(self) -> None:
        """Run to the end, or until the search is halted."""
        try:
            self._run()
            self._bridge.door.close_wave()
        except Halted:
            return

    async def aclose(self) -> None:
        """Wait for the threads that are still in the loop."""
        await self._bridge.aclose()


def prepared(trials: Trials, reflection: Client, *, optimizer: Optimizer, seed: int, minibatch: int) -> Optimisation:
    """The optimiser for these trials.

    Raises:
        UsageError: DSPy is not installed, or not the one this is written for; the budget is too small for a step.
    """
    check_dspy()
    from gpa.optimize.search import optimizers

    bridge = Bridge(trials.door)
    run = optimizers.OPTIMIZERS[optimizer]
    return Optimisation(bridge, run(trials, reflection, bridge, seed=seed, minibatch=minibatch))


def check_dspy() -> None:
    """Raise a `UsageError` unless DSPy is there and its GEPA takes what it will be given."""
    try:
        from gpa.optimize.search import program
    except ImportError as error:
        if (error.name or "").partition(".")[0] in {"dspy", "gepa"}:
            raise UsageError(f"optimising needs dspy, which is not installed: {INSTALL}") from error
        raise
    check_signatures(program.dspy.GEPA, program.gepa_optimize, program.dspy.__version__)


def check_signatures(gepa: Callable[..., Any], optimize: Callable[..., Any], version: str) -> None:
    """Raise a `UsageError` unless both can be called the way they will be."""
    for function, needed in ((gepa, GEPA_PARAMETERS), (optimize, GEPA_EXTRAS)):
        lacking = sorted(needed - inspect.signature(function).parameters.keys())
        if lacking:
            raise UsageError(
                f"expected a dspy whose GEPA takes {', '.join(lacking)} (3.4.1 does), found dspy {version}: {INSTALL}"
            )
