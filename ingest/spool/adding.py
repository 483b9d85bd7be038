"""Batches -> rows, in one transaction for all batches that wait: what is there already is left out, limits are kept."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from gpa.ingest.spool.batch import Batch, Codec, Part, Signal
from gpa.ingest.spool.bodies import packed
from gpa.ingest.spool.database import Database, Transaction
from gpa.ingest.spool.tables import FULL, LONELY, OPEN, REMOVED, WAITING, Held, chunks, held, marks

SIGNALS: tuple[Signal, ...] = ("spans", "logs")
CODECS: tuple[Codec, ...] = ("protobuf", "records")

_INSERT_RECORD = (
    "INSERT INTO spool_records (trace, signal, span_id, digest, parent_id) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (trace, signal, span_id, digest) DO NOTHING"
)
_INSERT_PART = "INSERT INTO spool_parts (trace, arrival, signal, codec, body) VALUES (?, ?, ?, ?, ?)"
_UPDATE = (
    "UPDATE spool_traces SET opened_ns = ?, last_ns = ?, spans = ?, logs = ?, bytes = ?, arrivals = ?, rooted = ?,"
    " state = ? WHERE number = ?"
)
_CHANGING = ("opened_ns", "last_ns", "spans", "logs", "bytes", "arrivals", "rooted", "state", "number")


class Stored(Struct, frozen=True):
    """What became of a batch."""

    spans: int = 0
    logs: int = 0
    """Records that are on disk now and were not before."""
    duplicates: int = 0
    refused: int = 0
    """Records that were not kept and never will be."""
    message: str = ""
    """Why they were refused, for the sender."""


class SpoolLimits(Struct, frozen=True):
    """How much is kept, of one trace and of all."""

    trace_records: int = 50_000
    """Spans and log records; a trace that has so many is complete, and more are refused."""
    trace_bytes: int = 256 << 20
    """As stored, that is compressed."""
    spool_bytes: int = 16 << 30
    """Of all traces; no more are accepted until some are evaluated and removed."""
    pending_bytes: int = 128 << 20
    """Of batches that are not on disk yet."""
    free_bytes: int = 64 << 20
    """Left on the disk of the file, so that evaluating and removing traces can go on."""


class _RepeatedError(Exception):
    """Some record is there already: the transaction has to begin again and look which."""


def add(database: Database, batches: Sequence[Batch], limits: SpoolLimits, *, now_ns: int) -> tuple[list[Stored], int]:
    """What became of each batch, once all are on disk, and how many bytes they took.

    Raises:
        SpoolError: nothing of them was stored.
    """
    try:
        return _add(database, batches, limits, now_ns, careful=False)
    except _RepeatedError:  # clients send again what was not acknowledged: rare, so the other way is the quick one
        return _add(database, batches, limits, now_ns, careful=True)


def _add(
    database: Database, batches: Sequence[Batch], limits: SpoolLimits, now_ns: int, *, careful: bool
) -> tuple[list[Stored], int]:
    trace_ids = sorted({part.trace_id for batch in batches for part in batch.parts})
    with database.writing() as transaction:
        traces = held(transaction, trace_ids, now_ns=now_ns, for_update=database.for_update)
        before = sum(trace.bytes for trace in traces.values())
        adding = _Adding(transaction, traces, limits, now_ns)
        stored = [adding.batch(batch, careful=careful) for batch in batches]
        adding.finish()
        grown = sum(trace.bytes for trace in traces.values()) - before
    return stored, grown


class _Adding:
    """Rows on their way into one transaction."""

    def __init__(self, transaction: Transaction, traces: dict[str, Held], limits: SpoolLimits, now_ns: int) -> None:
        self._transaction = transaction
        self._traces = traces
        self._limits = limits
        self._now_ns = now_ns
        self._records: list[tuple[int, int, bytes, bytes, bytes | None]] = []
        self._parts: list[tuple[int, int, int, int, bytes]] = []
        self._changed: dict[str, Held] = {}

    def batch(self, batch: Batch, *, careful: bool) -> Stored:
        """Add a batch; `careful` looks up what is there before it adds."""
        counts = [0, 0]
        duplicates = refused = 0
        message = ""
        for part in batch.parts:
            fresh = self._fresh(part) if careful else range(len(part.records))
            kept, why = self._fitting(part, fresh)
            duplicates += len(part.records) - len(fresh)
            refused += len(fresh) - len(kept)
            message = message or why
            if kept:
                self._keep(part, kept)
                counts[SIGNALS.index(part.signal)] += len(kept)
            if careful:
                self._write_records()
        return Stored(counts[0], counts[1], duplicates, batch.refused + refused, batch.message or message)

    def finish(self) -> None:
        """Write what is left."""
        self._write_records()
        self._transaction.many(_INSERT_PART, self._parts)
        self._transaction.many(
            _UPDATE,
            [[getattr(row, name) for name in _CHANGING] for row in self._changed.values()],
        )

    def _write_records(self) -> None:
        if self._transaction.many(_INSERT_RECORD, self._records) != len(self._records):
            raise _RepeatedError
        self._records = []

    def _fresh(self, part: Part) -> Sequence[int]:
        """The places of the records that are not there yet, each once."""
        number, signal = self._traces[part.trace_id].number, SIGNALS.index(part.signal)
        ids = [record.span_id for record in part.records]
        known: set[tuple[bytes, bytes]] = set()
        for chunk in chunks(ids):
            query = (
                "SELECT span_id, digest FROM spool_records"  # noqa: S608 - placeholders only
                f" WHERE trace = ? AND signal = ? AND span_id IN ({marks(chunk)})"
            )
            known.update((row[0], row[1]) for row in self._transaction.execute(query, (number, signal, *chunk)))
        fresh = []
        for place, record in enumerate(part.records):
            key = (record.span_id, record.digest)
            if key not in known:
                known.add(key)
                fresh.append(place)
        return fresh

    def _fitting(self, part: Part, fresh: Sequence[int]) -> tuple[Sequence[int], str]:
        """Those of the fresh records that the limits of their trace leave room for, and why not the others."""
        trace, limits = self._traces[part.trace_id], self._limits
        if trace.state == REMOVED:
            return (), f"trace {part.trace_id} was evaluated and removed before these spans came"
        if trace.bytes >= limits.trace_bytes:
            return (), f"trace {part.trace_id} has {trace.bytes} bytes, the limit is {limits.trace_bytes}"
        room = limits.trace_records - trace.records
        if len(fresh) <= room:
            return fresh, ""
        return fresh[:room], f"trace {part.trace_id} has more than {limits.trace_records} spans and log records"

    def _keep(self, part: Part, kept: Sequence[int]) -> None:
        trace = self._traces[part.trace_id]
        signal = SIGNALS.index(part.signal)
        whole = len(kept) == len(part.records)
        records = part.records if whole else [part.records[at] for at in kept]
        body = packed(part.body(None if whole else kept))
        if trace.arrivals == trace.seen:
            trace.opened_ns = self._now_ns
        trace.arrivals += 1
        trace.bytes += len(body)
        trace.last_ns = max(trace.last_ns, self._now_ns)
        if part.signal == "spans":
            trace.spans += len(records)
            trace.rooted = trace.rooted or int(any(record.parent_id is None for record in records))
        else:
            trace.logs += len(records)
        limits = self._limits
        if trace.records >= limits.trace_records or trace.bytes >= limits.trace_bytes:
            trace.state = FULL if trace.spans else LONELY
        else:
            trace.state = (OPEN if trace.rooted else WAITING) if trace.spans else LONELY
        self._records += [(trace.number, signal, record[0], record[1], record[2]) for record in records]
        self._parts.append((trace.number, trace.arrivals, signal, CODECS.index(part.codec), body))
        self._changed[part.trace_id] = trace
