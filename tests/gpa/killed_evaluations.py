"""`gpa evaluate` with LLM judges again and again, each run killed at a random moment, the last one not.

A script of its own: it forks each run, so that all of them share one import of the SDK and the test stays quick.
Usage: killed_evaluations.py URL FOLDER TRACES REQUESTS KILLS SEED CONCURRENCY; prints how many runs were killed. FOLDER
gets the store, the response cache and the last run's result lines. To print the figures at full size:

    python -m tests.gpa.killed_evaluations ../shared/data/trail/gaia/traces
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from gpa.evaluation import evaluate
from gpa.forecast import aforecast
from gpa.judges.model import open_model
from gpa.judging import Judging
from tests.gpa.answers import varied
from tests.judges.model.killed_runs import kept, wait_until
from tests.servers.messages import messages_service

ROOT = Path(__file__).parents[2]
SONNET = "anthropic/claude-sonnet-5-5"


class Figures(NamedTuple):
    """What came of it."""

    killed: int
    """Runs."""
    requests: int
    """Different ones that were paid for."""
    twice: int
    """Answers paid for again."""
    results: list[dict[str, Any]]
    uninterrupted: list[dict[str, Any]]
    """The results of one run that nobody disturbed."""
    paid_afterwards: int
    """By one more run, over what the killed ones left."""


def main(url: str, folder: Path, traces: str, *, requests: int, kills: int, seed: int, concurrency: int) -> None:
    """Fork, wait, kill; then let one run finish."""
    import gpa.cli.evaluate
    import gpa.cli.scores
    import gpa.store  # noqa: F401
    from gpa.cli import main as command

    # Before the forks: the SDK and the patterns of secrets are loaded once for all runs.
    open_model(SONNET, base_url=url)
    asyncio.run(aforecast(traces, model=SONNET, judging=Judging(cache=None)))
    arguments = ["evaluate", traces, "--model", SONNET, "--base-url", url, "--store", str(folder / "gpa.db")]
    arguments += ["--cache", str(folder / "answers.db"), "--jsonl", str(folder / "results.jsonl")]
    arguments += ["--concurrency", str(concurrency)]
    moments = random.Random(seed)
    killed = 0
    for number in range(kills + 1):
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            try:
                command(arguments, standalone_mode=False)
                os._exit(0)
            finally:
                os._exit(1)
        if number < kills:
            answers = str(folder / "answers.db")
            wait_until(answers, kept(answers) + moments.randint(1, requests // kills), child)
            time.sleep(moments.uniform(0, 0.05))
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        killed += os.WIFSIGNALED(status)
    print(json.dumps(killed))  # noqa: T201


def measure(traces: str, folder: Path, *, requests: int, kills: int, seed: int, concurrency: int) -> Figures:
    """Runs over these traces killed so many times, beside one that is not."""

    store, cache = folder / "gpa.db", folder / "answers.db"
    numbers = map(str, (requests, kills, seed, concurrency))
    with messages_service(model=varied, delay_s=0.01) as service:
        done = subprocess.run(
            [sys.executable, __file__, service.url, str(folder), traces, *numbers],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": str(ROOT), "ANTHROPIC_API_KEY": "key"},
        )
        paid = service.paid.copy()
        again = evaluate(traces, model=SONNET, store=store, judging=Judging(base_url=service.url, cache=cache))
        paid_afterwards = (service.paid - paid).total()
    with messages_service(model=varied) as service:
        whole = evaluate(traces, model=SONNET, judging=Judging(base_url=service.url, cache=None))
    lines = (folder / "results.jsonl").read_text().splitlines()
    assert _comparable(map(json.loads, lines)) == _comparable(again.results)
    twice = paid.total() - len(paid)
    return Figures(
        int(done.stdout), len(paid), twice, _comparable(again.results), _comparable(whole.results), paid_afterwards
    )


def _comparable(results: Iterable[Any]) -> list[dict[str, Any]]:
    """In one order, and without what depends on who came first: the first request about a trace pays for the cache."""
    lines = [
        result if isinstance(result, dict) else json.loads(result.model_dump_json(by_alias=True)) for result in results
    ]
    kept = [{name: value for name, value in line.items() if name not in {"usage", "cost_usd"}} for line in lines]
    return sorted(kept, key=lambda line: (line["trace_id"], line["judge"]))


def _print_figures(traces: str) -> None:
    os.environ["ANTHROPIC_API_KEY"] = "of the local server"
    with tempfile.TemporaryDirectory() as folder:
        found = measure(traces, Path(folder), requests=434, kills=10, seed=7, concurrency=8)
    print(f"{found.killed} runs killed, {len(found.results)} results, {found.requests} requests")  # noqa: T201
    print(f"{found.twice} answers paid for again, at most {8 * found.killed} were under way")  # noqa: T201
    print(f"equal to a run that was not killed: {found.results == found.uninterrupted}")  # noqa: T201
    print(f"paid by one more run: {found.paid_afterwards}")  # noqa: T201


if __name__ == "__main__":
    if len(sys.argv) == 2:
        _print_figures(sys.argv[1])
    else:
        _requests, _kills, _seed, _concurrency = map(int, sys.argv[4:])
        main(
            sys.argv[1],
            Path(sys.argv[2]),
            sys.argv[3],
            requests=_requests,
            kills=_kills,
            seed=_seed,
            concurrency=_concurrency,
        )
