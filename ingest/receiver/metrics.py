"""The receiver's figures for Prometheus, in a registry of their own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from gpa.errors import SpoolError
from gpa.ingest.spool.adding import Stored
from gpa.ingest.spool.batch import Batch, Signal
from gpa.ingest.spool.spool import Spool

_SECONDS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """Counters that requests go through."""

    def __init__(self, registry: CollectorRegistry, spool: Spool, in_flight: Callable[[], int]) -> None:
        self.registry = registry
        self._requests = Counter(
            "gpa_receiver_requests",
            "Export requests answered, by HTTP status or gRPC code.",
            ("transport", "signal", "code"),
            registry=registry,
        )
        self._records = Counter(
            "gpa_receiver_records",
            "Spans and log records: stored, duplicate (already there), refused, ignored (a log record of no span).",
            ("signal", "outcome"),
            registry=registry,
        )
        self._bytes = Counter(
            "gpa_receiver_bytes", "Bytes of request bodies as they came.", ("transport", "signal"), registry=registry
        )
        self._seconds = Histogram(
            "gpa_receiver_acknowledgement_seconds",
            "From the whole request being there to the batch being on disk.",
            ("transport",),
            buckets=_SECONDS,
            registry=registry,
        )
        registry.register(_SpoolFigures(spool, in_flight))

    def answered(self, transport: str, signal: Signal, code: str) -> None:
        """Count a request by how it was answered."""
        self._requests.labels(transport, signal, code).inc()

    def stored(
        self, transport: str, signal: Signal, batch: Batch, stored: Stored, *, size: int, seconds: float
    ) -> None:
        """Count what an acknowledged request brought."""
        for outcome, count in (
            ("stored", stored.spans + stored.logs),
            ("duplicate", stored.duplicates),
            ("refused", stored.refused),
            ("ignored", batch.ignored),
        ):
            if count:
                self._records.labels(signal, outcome).inc(count)
        self._bytes.labels(transport, signal).inc(size)
        self._seconds.labels(transport).observe(seconds)


class _SpoolFigures(Collector):
    """Looked up when they are asked for."""

    def __init__(self, spool: Spool, in_flight: Callable[[], int]) -> None:
        self._spool = spool
        self._in_flight = in_flight

    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily(
            "gpa_receiver_in_flight_bytes", "Bytes of requests being read or stored.", value=self._in_flight()
        )
        memory = _resident_bytes()
        if memory:
            yield GaugeMetricFamily("gpa_resident_memory_bytes", "Memory of this process.", value=memory)
        try:
            status = self._spool.status()
        except SpoolError:  # the database is away: what could be said of it is old
            return
        yield GaugeMetricFamily("gpa_spool_open_traces", "Traces not evaluated yet.", value=status.open_traces)
        yield GaugeMetricFamily(
            "gpa_spool_ready_traces", "Of these, the ones known to be complete.", value=status.ready_traces
        )
        yield GaugeMetricFamily("gpa_spool_bytes", "Bytes of stored batches.", value=status.bytes)
        yield GaugeMetricFamily("gpa_spool_pending_bytes", "Bytes not on disk yet.", value=status.pending_bytes)
        yield CounterMetricFamily("gpa_spool_commits", "Transactions on disk.", value=status.commits)
        yield CounterMetricFamily("gpa_spool_commit_seconds", "Time they took.", value=status.commit_s)

    def describe(self) -> Iterator[Metric]:
        return iter(())


def _resident_bytes() -> int:
    """What Linux says this process holds in memory, 0 elsewhere."""
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
