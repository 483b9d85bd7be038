"""A receiver under load that is killed at random moments, and what its spool holds afterwards.

Senders over gRPC and HTTP keep a batch until it is acknowledged and send it again when it was not, as SDKs do. A second
thread of the receiver takes complete traces and notes them in a table of results. To print the figures at full size:

    python -m tests.ingest.receiver.killed_receivers 20
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from http.client import HTTPException
from pathlib import Path
from typing import Any, NamedTuple

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from gpa.ingest.completion import Patience
from gpa.ingest.spool import open_spool
from tests.ingest.receiver.receiving import PROTOBUF, exporting, post

ROOT = Path(__file__).parents[3]
PATIENCE = Patience(quiet_s=0.3, patience_s=1.0)


class Figures(NamedTuple):
    """What came of it."""

    kills: int
    acknowledged: int
    """Spans, each counted once."""
    sent_again: int
    """Batches of which it was not known whether they had arrived."""
    lost: int
    doubled: int
    unknown: int
    """Spans in the spool that nobody sent."""
    traces: int
    unevaluated: int
    """Traces of which the last revision is not in the table of results."""
    revisions_missing: int
    reevaluated: int
    """Revisions that were handed out again although their result was safe and noted in the spool."""


def serve(folder: Path, http: str, grpc_at: str, location: str) -> None:
    """Receive, and evaluate what is complete, until killed."""
    from gpa.ingest.receiver import start

    results = sqlite3.connect(folder / "results.db", isolation_level=None)
    results.execute("PRAGMA journal_mode = WAL")
    results.execute("PRAGMA synchronous = FULL")
    results.execute("CREATE TABLE IF NOT EXISTS results (trace TEXT, revision INTEGER, spans INTEGER, noted INTEGER)")
    with open_spool(location) as spool, start(spool, http=http, grpc=grpc_at):
        print("ready", flush=True)  # noqa: T201 - run by hand
        while True:
            for ready in spool.complete(PATIENCE):
                spans = len(spool.read(ready).trace.spans)
                known = results.execute(
                    "SELECT noted FROM results WHERE trace = ? AND revision = ?", (ready.trace_id, ready.revision)
                ).fetchall()
                if not known:
                    results.execute("INSERT INTO results VALUES (?, ?, ?, 0)", (ready.trace_id, ready.revision, spans))
                spool.evaluated(ready)
                results.execute(
                    "UPDATE results SET noted = noted + 1 WHERE trace = ? AND revision = ?",
                    (ready.trace_id, ready.revision),
                )
            time.sleep(0.05)


class Sender(threading.Thread):
    """Sends batches of several traces, each until it is acknowledged."""

    def __init__(self, number: int, url: str, address: str, ended: threading.Event) -> None:
        super().__init__()
        self.acknowledged: Counter[tuple[str, str]] = Counter()
        self.sent_again = 0
        self._random = random.Random(number)
        self._number = number
        self._url = url
        self._address = address
        self._ended = ended
        self._made = 0

    def run(self) -> None:
        while not self._ended.is_set():
            for body, spans in self._batches():
                while not self._send(body):
                    self.sent_again += 1
                    time.sleep(0.05)
                self.acknowledged.update(spans)

    def _batches(self) -> list[tuple[bytes, list[tuple[str, str]]]]:
        """Four traces in three batches: children first, the root in the last."""
        requests = [ExportTraceServiceRequest() for _ in range(3)]
        spans: list[list[tuple[str, str]]] = [[], [], []]
        for request in requests:
            request.resource_spans.add().scope_spans.add()
        for _ in range(4):
            self._made += 1
            trace_id = (self._number + 1 << 32 | self._made).to_bytes(16, "big")
            for place in range(1, 31):
                batch = 2 if place == 1 else self._random.randrange(3)
                span = requests[batch].resource_spans[0].scope_spans[0].spans.add(name=f"span {place}")
                span.trace_id = trace_id
                span.span_id = place.to_bytes(8, "big")
                span.parent_span_id = b"" if place == 1 else self._random.randrange(1, place).to_bytes(8, "big")
                span.start_time_unix_nano, span.end_time_unix_nano = place, place + 1
                spans[batch].append((trace_id.hex(), span.span_id.hex()))
        return [(request.SerializeToString(), held) for request, held in zip(requests, spans, strict=True)]

    def _send(self, body: bytes) -> bool:
        if self._number % 2:
            with contextlib.suppress(OSError, HTTPException):  # the server is gone
                return post(self._url, "/v1/traces", body, {"content-type": PROTOBUF}).status == 200
            return False
        with grpc.insecure_channel(self._address, [("grpc.enable_retries", 0)]) as channel:
            try:
                exporting(channel)(body, timeout=10)
            except grpc.RpcError:
                return False
        return True


def measure(
    folder: Path, *, kills: int, senders: int, seed: int, location: str | None = None, evaluated: bool = True
) -> Figures:
    """Kill a receiver so many times under load, then, once all is `evaluated`, count."""
    location = location or str(folder / "spool")
    http, address = _free(), _free()
    ended = threading.Event()
    threads = [Sender(number, f"http://{http}", address, ended) for number in range(senders)]
    moments = random.Random(seed)
    command = [sys.executable, "-m", "tests.ingest.receiver.killed_receivers", str(folder), http, address, location]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    for number in range(kills + 1):
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, env=environment) as process:
            assert process.stdout
            assert process.stdout.readline() == b"ready\n"
            if not number:
                for thread in threads:
                    thread.start()
            time.sleep(moments.uniform(0.05, 1.0))
            if number == kills:
                ended.set()
                for thread in threads:
                    thread.join()
                if evaluated:
                    _until_evaluated(folder, threads)
            process.kill()
    return _figures(folder, location, kills, threads)


def _until_evaluated(folder: Path, threads: list[Sender]) -> None:
    traces = {trace_id for thread in threads for trace_id, _ in thread.acknowledged}
    deadline = time.monotonic() + 60
    with contextlib.closing(sqlite3.connect(folder / "results.db")) as results:
        while time.monotonic() < deadline:
            query = "SELECT COUNT(*) FROM (SELECT trace, MAX(spans) AS spans FROM results GROUP BY trace)"
            if results.execute(f"{query} WHERE spans >= 30").fetchone()[0] == len(traces):
                return
            time.sleep(0.1)


def _figures(folder: Path, location: str, kills: int, threads: list[Sender]) -> Figures:
    acknowledged: Counter[tuple[str, str]] = Counter()
    for thread in threads:
        acknowledged += thread.acknowledged
    with contextlib.closing(sqlite3.connect(folder / "results.db")) as results:
        rows = results.execute("SELECT trace, revision, spans, noted FROM results ORDER BY trace, revision").fetchall()
    revisions: dict[str, list[tuple[int, int, int]]] = {}
    for trace, revision, spans, noted in rows:
        revisions.setdefault(trace, []).append((revision, spans, noted))
    lost = doubled = unknown = unevaluated = missing = 0
    expected: dict[str, set[str]] = {}
    for trace_id, span_id in acknowledged:
        expected.setdefault(trace_id, set()).add(span_id)
    with open_spool(location) as spool:
        for trace_id, span_ids in expected.items():
            with spool._database.reading() as transaction:
                query = "SELECT span_id FROM spool_records JOIN spool_traces ON trace = number WHERE trace_id = ?"
                stored = Counter(bytes(row[0]).hex() for row in transaction.execute(query, (trace_id,)))
            arrived = spool.trace(trace_id)
            there = {span.span_id for span in arrived.trace.spans} if arrived else set()
            lost += len(span_ids - there)
            unknown += len(there - span_ids)
            doubled += sum(count - 1 for count in stored.values())
            doubled += len(arrived.trace.warnings) if arrived else 0
            judged = revisions.get(trace_id, [])
            unevaluated += not judged or judged[-1][1] != len(there)
            missing += [revision for revision, _, _ in judged] != list(range(1, len(judged) + 1))
    return Figures(
        kills,
        len(acknowledged),
        sum(thread.sent_again for thread in threads),
        lost,
        doubled,
        unknown,
        len(expected),
        unevaluated,
        missing,
        sum(row[3] > 1 for row in rows),
    )


def _free() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


def _print_figures(kills: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found: dict[str, Any] = measure(Path(folder), kills=kills, senders=6, seed=7)._asdict()
    print(json.dumps(found, indent=1))  # noqa: T201 - run by hand


if __name__ == "__main__":
    if len(sys.argv) == 2:
        _print_figures(int(sys.argv[1]))
    else:
        serve(Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4])
