"""`kill -9` at random moments, ten times over: what is paid for twice was under way when the run died, nothing else."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.judges.model import killed_runs
from tests.servers.messages import Answer, fingerprint, messages_service

ROOT = Path(__file__).parents[3]
TRACES, KILLS, SEED, CONCURRENCY = 8, 10, 2, 8


def own_answer(params: dict[str, Any]) -> Answer:
    """Another answer to every request, the same at every time."""
    return Answer(fingerprint(params))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_ten_killed_runs_and_a_last_one_pay_for_every_request_once_plus_those_under_way(tmp_path: Path) -> None:
    cache = str(tmp_path / "cache.db")
    numbers = map(str, (TRACES, KILLS, SEED, CONCURRENCY))
    with messages_service(model=own_answer, delay_s=0.01) as service:
        done = subprocess.run(
            [sys.executable, killed_runs.__file__, service.url, cache, *numbers],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        found = json.loads(done.stdout)
        paid = service.paid
        twice = sum(paid.values()) - len(paid)
        print(f"{found['killed']} runs killed, {len(paid)} requests, {twice} paid for again")  # noqa: T201 - with -s
        assert found["killed"] >= KILLS // 2  # a run that was through before its moment came is not killed
        assert len(paid) == TRACES * 7
        assert twice <= found["killed"] * CONCURRENCY

        asked = killed_runs.requests(TRACES)
        assert found["answers"] == {request.custom_id: fingerprint(request.params()) for request in asked}

        before = sum(paid.values())
        assert asyncio.run(killed_runs.evaluate(service.url, cache, TRACES, CONCURRENCY)) == found["answers"]
        assert sum(paid.values()) == before  # a run over a full cache sends nothing
