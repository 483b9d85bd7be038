"""`gpa serve` under load, killed at random moments: what its store, its spool and its backend hold afterwards.

Senders keep a batch until it is acknowledged; verdicts go to a real OTLP endpoint. To print the figures at full size:

    python -m tests.gpa.killed_serving 20
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from gpa.ingest.spool import open_spool
from gpa.store import open_store
from tests.ingest.receiver.killed_receivers import Sender
from tests.servers.otlp import Backend, backend, free_port, values

ROOT = Path(__file__).parents[2]
DIMENSIONS = ("TC", "GF")


class Figures(NamedTuple):
    """What came of it."""

    kills: int
    acknowledged: int
    """Spans."""
    traces: int
    revisions: int
    """Evaluated in all."""
    lost_spans: int
    """Acknowledged, and in neither the spool nor a transcript."""
    unevaluated: int
    """Traces whose newest transcript lacks spans or results."""
    twice: int
    """Revisions with the same transcript, and results that stand twice."""
    gaps: int
    """Traces whose revisions are not 1, 2, ..."""
    events_missing: int
    """Results that the backend never got."""
    events_again: int
    """Events it got more than once (same `log.record.uid`)."""


def measure(folder: Path, *, kills: int, senders: int, seed: int) -> Figures:
    """Kill it so many times, let it finish, and count."""
    http, grpc = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
    ended = threading.Event()
    threads = [Sender(number, f"http://{http}", grpc, ended) for number in range(senders)]
    moments = random.Random(seed)
    with backend() as there:
        command = [sys.executable, "-m", "gpa", "serve", "--http", http, "--grpc", grpc, "--quiet", "0.3"]
        command += ["--patience", "1", "--store", str(folder / "gpa.db"), "--dimensions", ",".join(DIMENSIONS)]
        command += ["--otlp", there.url]
        for number in range(kills + 1):
            with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ, cwd=ROOT) as process:
                assert process.stderr is not None
                assert any("judged by" in line for line in process.stderr)
                if not number:
                    for thread in threads:
                        thread.start()
                time.sleep(moments.uniform(0.05, 2.0))
                if number == kills:
                    ended.set()
                    for thread in threads:
                        thread.join()
                    _until_done(f"http://{http}")
                process.kill()
        return _figures(folder, kills, threads, there)


def _until_done(url: str) -> None:
    """Until nothing is open and nothing is still to be sent."""
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        with urllib.request.urlopen(f"{url}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        names = "gpa_spool_open_traces|gpa_export_waiting|gpa_evaluation_under_way"
        left = re.findall(rf"^(?:{names}) (\S+)$", text, re.MULTILINE)
        if len(left) == 3 and not any(map(float, left)):
            return
        time.sleep(0.2)


def _figures(folder: Path, kills: int, threads: list[Sender], there: Backend) -> Figures:
    expected: dict[str, set[str]] = {}
    for thread in threads:
        for trace_id, span_id in thread.acknowledged:
            expected.setdefault(trace_id, set()).add(span_id)
    with open_store(folder / "gpa.db", must_exist=True) as store:
        every = store.kept(whole=True, superseded=True)
    revisions: dict[str, list[int]] = {}
    newest = {}
    results = 0
    twice = gaps = lost = unevaluated = 0
    for kept in sorted(every, key=lambda one: one.revision):
        revisions.setdefault(kept.trace_id, []).append(kept.revision)
        newest[kept.trace_id] = kept
        results += len(kept.results)
        twice += len(kept.results) - len({result.judge for result in kept.results})
    with open_spool(folder / "gpa.db.spool") as spool:
        for trace_id, span_ids in expected.items():
            arrived = spool.trace(trace_id)
            found = {span.span_id for span in arrived.trace.spans} if arrived else set()
            lost += len(span_ids - found)
            last = newest.get(trace_id)
            shown = (
                {one for step in last.transcript.steps for one in step.span_ids} if last and last.transcript else set()
            )
            judged = {result.judge for result in last.results} if last else set()
            unevaluated += not (span_ids <= shown and judged == set(DIMENSIONS))
            gaps += revisions.get(trace_id) != list(range(1, len(revisions.get(trace_id, ())) + 1))
    uids = Counter(values(record)["log.record.uid"] for record in there.records)
    verdicts = {
        values(record)["log.record.uid"]
        for record in there.records
        if values(record)["gpa.evaluation.kind"] == "verdict"
    }
    return Figures(
        kills=kills,
        acknowledged=sum(map(len, expected.values())),
        traces=len(expected),
        revisions=len(every),
        lost_spans=lost,
        unevaluated=unevaluated,
        twice=twice,
        gaps=gaps,
        events_missing=results - len(verdicts),
        events_again=sum(count - 1 for count in uids.values()),
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as _folder:
        print(json.dumps(measure(Path(_folder), kills=int(sys.argv[1]), senders=4, seed=7)._asdict(), indent=1))  # noqa: T201 - run by hand
