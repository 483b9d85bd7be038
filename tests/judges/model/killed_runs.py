"""Judges some traces with 7 judges again and again, each run killed at a random moment, the last one not.

A script of its own: it forks each run, so that all of them share one import of the SDK and the test stays quick.
Usage: killed_runs.py URL CACHE TRACES KILLS SEED CONCURRENCY; prints `{"killed": n, "answers": {custom_id: text}}`.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

import anthropic  # noqa: F401 - loaded before the forks

from gpa.judges.model import Cache, Client, Ledger, Limiter, Reply, Request, load_prices, open_model
from tests.judges.model.asking import SONNET, TRANSCRIPT, ask

JUDGES = ("LC", "EE", "PQ", "PA", "TS", "TC", "GF")


def requests(traces: int) -> list[Request]:
    """What one evaluation asks."""
    return [
        ask(judge, trace_id=f"{trace:032x}", prefix=f"trace {trace}\n{TRANSCRIPT}", tail=f"Judge {judge} of {trace}.")
        for trace in range(traces)
        for judge in JUDGES
    ]


async def evaluate(url: str, cache_path: str, traces: int, concurrency: int) -> dict[str, str]:
    """One run: the answers to every request, through the cache."""
    with Cache(cache_path) as cache:
        model = open_model(SONNET, base_url=url, api_key="key", max_retries=0)
        limiter, ledger = Limiter(concurrency=concurrency), Ledger(load_prices())
        async with Client(model, cache=cache, ledger=ledger, limiter=limiter) as client:
            asked = requests(traces)
            outcomes = await asyncio.gather(*map(client.complete, asked))
    failed = [outcome for outcome in outcomes if not isinstance(outcome, Reply)]
    if failed:
        raise AssertionError(failed[0])
    return {
        request.custom_id: outcome.text
        for request, outcome in zip(asked, outcomes, strict=True)
        if isinstance(outcome, Reply)
    }


def kept(cache_path: str) -> int:
    """Answers in the cache file; no connection stays open, since the next run is forked off this process."""
    if not Path(cache_path).exists():
        return 0
    db = sqlite3.connect(cache_path)
    try:
        return int(db.execute("SELECT count(*) FROM replies").fetchone()[0])
    except sqlite3.OperationalError:  # not there yet
        return 0
    finally:
        db.close()


def wait_until(cache_path: str, answers: int, child: int) -> None:
    """Return when the run has kept so many answers, or is over: a moment within its work, on any machine."""
    while kept(cache_path) < answers and os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        time.sleep(0.002)


def main(url: str, cache_path: str, *, traces: int, kills: int, seed: int, concurrency: int) -> None:
    """Fork, wait, kill; then let one run finish."""
    moments = random.Random(seed)
    killed = 0
    answers_path = Path(tempfile.mkdtemp()) / "answers.json"
    for number in range(kills + 1):
        child = os.fork()
        if child == 0:
            try:
                answers_path.write_text(json.dumps(asyncio.run(evaluate(url, cache_path, traces, concurrency))))
                os._exit(0)
            finally:
                os._exit(1)
        if number < kills:
            wait_until(cache_path, kept(cache_path) + moments.randint(1, traces * len(JUDGES) // kills), child)
            time.sleep(moments.uniform(0, 0.02))
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        killed += os.WIFSIGNALED(status)
    print(json.dumps({"killed": killed, "answers": json.loads(answers_path.read_text())}))  # noqa: T201


if __name__ == "__main__":
    _traces, _kills, _seed, _concurrency = map(int, sys.argv[3:])
    main(sys.argv[1], sys.argv[2], traces=_traces, kills=_kills, seed=_seed, concurrency=_concurrency)
