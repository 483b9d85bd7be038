"""The spool: batches on disk before they are acknowledged, complete traces out of it, whatever happens in between.

One thread writes. It takes all batches that wait, stores them in one transaction and only then says so (group commit):
an acknowledgement costs one sync of the disk, shared by everyone who waited. What cannot be stored is refused at once,
so that senders keep it: nothing here grows with what they send.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Self

from msgspec import Struct

from gpa.errors import SpoolError
from gpa.ingest.assembly import with_logs
from gpa.ingest.completion import Patience, Reason
from gpa.ingest.spans import Span, Trace
from gpa.ingest.spool import handing_out
from gpa.ingest.spool.adding import CODECS, SIGNALS, SpoolLimits, Stored, add
from gpa.ingest.spool.batch import Batch
from gpa.ingest.spool.bodies import records_of
from gpa.ingest.spool.database import RETRY_S, Database
from gpa.ingest.spool.tables import create

_GROUP_BYTES = 32 << 20
_GROUP_BATCHES = 256
_LOOK_S = 1.0
"""How often the free space of the disk and the figures of `status` are looked up."""
_CROWDED = 0.8
"""Of `spool_bytes`: from there on evaluated traces are removed whatever their age."""
_RECORD_BYTES = 200
"""What a record costs in memory beside its bytes."""
_SESSION_KEYS = ("gen_ai.conversation.id", "session.id")
_SESSION_CHARACTERS = 256
"""Of a session's name: it is looked up by an index, which holds no long ones."""
_log = logging.getLogger(__name__)


class Ready(Struct, frozen=True):
    """A complete trace: what to evaluate, and as which revision."""

    trace_id: str
    revision: int
    spans: int
    logs: int
    arrivals: int
    """How many parts belong to this revision; later ones to the next."""
    why: Reason
    first_ns: int
    last_ns: int
    """When its first and last part arrived."""


class Arrived(Struct, frozen=True):
    """A trace as it was put together."""

    trace: Trace
    session: str | None
    notes: tuple[str, ...] = ()
    """What was repaired or left out while it was decoded."""


class SpoolStatus(Struct, frozen=True):
    """Figures for a page and for metrics."""

    open_traces: int
    """With spans that were not evaluated yet, those under way included."""
    ready_traces: int
    """Of these, the ones known to be complete."""
    oldest_open_ns: int
    """When the first part of the oldest of them arrived, 0 when there is none."""
    bytes: int
    pending_bytes: int
    commits: int
    commit_s: float


class Spool:
    """An open spool. Its methods may be called from any thread."""

    alive_s = handing_out.ALIVE_S
    """How often it tells others that share the database that it is there."""

    def __init__(self, database: Database, limits: SpoolLimits, clock: Callable[[], int] = time.time_ns) -> None:
        create(database)
        self.name = database.name
        self.limits = limits
        self._database = database
        self._clock = clock
        self._waiting: deque[tuple[Batch, int, Future[Stored]]] = deque()
        self._wake = threading.Condition()
        self._pending_bytes = 0
        self._closed = False
        self._commits = 0
        self._commit_s = 0.0
        self._looked = 0.0
        self._low = False
        self._counts: tuple[int, int, int] | None = None
        self._counted = 0.0
        self._owner = uuid.uuid4().hex
        if database.folder:  # one process has the file: what it had taken when it ended is to be done again
            handing_out.all_gone(database)
        handing_out.alive(database, self._owner, now_ns=clock())
        self._said_alive = time.monotonic()
        self._bytes = handing_out.total_bytes(database)
        self._thread = threading.Thread(target=self._write, name="gpa-spool", daemon=True)
        self._thread.start()

    def submit(self, batch: Batch) -> Future[Stored]:
        """A future that is done when the batch is on disk, and fails with `SpoolError` when it is not stored.

        Raises:
            SpoolError: there is no room just now, neither in memory nor on disk.
        """
        future: Future[Stored] = Future()
        future.set_running_or_notify_cancel()  # nobody calls a batch back: the writer's thread would end over it
        if not batch.parts:
            future.set_result(Stored(refused=batch.refused, message=batch.message))
            return future
        size = batch.size + _RECORD_BYTES * batch.records
        with self._wake:
            if self._closed:
                raise SpoolError(f"{self.name}: the spool is closed", retry_s=RETRY_S)
            if self._bytes >= self.limits.spool_bytes:
                limit = self.limits.spool_bytes
                raise SpoolError(f"the spool is full: {self._bytes} bytes, the limit is {limit}", retry_s=30.0)
            if self._pending_bytes and self._pending_bytes + size > self.limits.pending_bytes:
                raise SpoolError("too many batches wait to be stored", retry_s=1.0)
            if self._disk_is_low():
                raise SpoolError(f"{self.name}: the disk is nearly full", retry_s=30.0)
            self._pending_bytes += size
            self._waiting.append((batch, size, future))
            self._wake.notify()
        return future

    def append(self, batch: Batch, *, timeout_s: float | None = 60.0) -> Stored:
        """What became of the batch; it is on disk when this returns.

        Raises:
            SpoolError: it is not.
            TimeoutError: it is not known yet.
        """
        return self.submit(batch).result(timeout_s)

    def complete(self, patience: Patience, *, limit: int = 64, lease_s: float = 900.0) -> list[Ready]:
        """The traces that became complete, longest quiet first; each is leased to the caller.

        A trace is handed out again, as the same revision, when it was neither `evaluated` nor `release`d at the end of
        the lease or of the process: at once from a file, which one process has; from a shared database when the process
        was not heard of for 30 s.
        """
        rows = handing_out.complete(self._database, patience, limit, lease_s, owner=self._owner, now_ns=self._clock())
        return [Ready(*row) for row in rows]

    def read(self, ready: Ready) -> Arrived:
        """The trace as it was when it was handed out, log records joined to their spans."""
        return self._read(ready.trace_id, ready.arrivals)

    def trace(self, trace_id: str) -> Arrived | None:
        """All there is of a trace now, None when there is nothing."""
        arrived = self._read(trace_id, None)
        return arrived if arrived.trace.spans else None

    def evaluated(self, ready: Ready, session: str | None = None) -> None:
        """Note that this revision is evaluated and its results are safe. Spans that came since make the next one."""
        self.evaluated_all([(ready, session)])

    def evaluated_all(self, outcomes: Sequence[tuple[Ready, str | None]]) -> None:
        """Note several traces with their sessions in one transaction: a sync of the disk each is what costs."""
        rows = [(ready.trace_id, ready.revision, ready.arrivals, session) for ready, session in outcomes]
        handing_out.evaluated(self._database, rows)

    def release(self, ready: Ready, *, again_s: float = 60.0) -> None:
        """Give a trace back that could not be evaluated; it is handed out again after so long."""
        handing_out.release(self._database, ready.trace_id, self._clock() + int(again_s * 1e9))

    def session(self, session: str) -> list[str]:
        """The ids of the evaluated traces of a session, in order of arrival."""
        return handing_out.session(self._database, session)

    def prune(self, *, keep_s: float, limit: int = 200) -> int:
        """How many evaluated traces older than `keep_s` were removed, at most `limit`; call again until it is 0.

        Spans that come for a removed trace are refused. When the spool is nearly full, any evaluated trace counts as
        old.
        """
        crowded = self._bytes > _CROWDED * self.limits.spool_bytes or self._disk_is_low()
        before_ns = self._clock() - int((0 if crowded else keep_s) * 1e9)
        removed, freed = handing_out.prune(self._database, before_ns, limit)
        # Others that share the database add and remove too: what is there is asked for when nothing is left to do.
        shared = self._database.folder is None and removed < limit
        total = handing_out.total_bytes(self._database) if shared else None
        with self._wake:
            self._bytes = max(0, self._bytes - freed) if total is None else total
        return removed

    def status(self) -> SpoolStatus:
        """Figures, at most a second old."""
        now = time.monotonic()
        counts = self._counts
        if counts is None or now - self._counted > _LOOK_S:
            counts = self._counts = handing_out.counts(self._database)
            self._counted = now
        return SpoolStatus(*counts, self._bytes, self._pending_bytes, self._commits, self._commit_s)

    def refusal(self) -> str | None:
        """Why a batch would be refused just now, None when it would not be."""
        with self._wake:
            if self._closed:
                return "the spool is closed"
            if self._bytes >= self.limits.spool_bytes or self._disk_is_low():
                return "the spool is full"
        try:
            with self._database.reading() as transaction:
                transaction.execute("SELECT 1")
        except SpoolError as error:
            return str(error)
        return None

    def close(self) -> None:
        """Store what waits, then close."""
        with self._wake:
            if self._closed:
                return
            self._closed = True
            self._wake.notify()
        self._thread.join()
        with contextlib.suppress(SpoolError):
            handing_out.gone(self._database, self._owner)
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read(self, trace_id: str, arrivals: int | None) -> Arrived:
        notes: dict[str, None] = {}
        rows = handing_out.parts(self._database, trace_id, arrivals)
        named = [(SIGNALS[signal], CODECS[codec], bytes(body)) for signal, codec, body in rows]

        def note(text: str) -> None:
            notes[text] = None

        spans, logs = records_of(named, note)
        trace = with_logs(trace_id, spans, logs)
        return Arrived(trace, session_of(trace.spans), tuple(notes))

    def _disk_is_low(self) -> bool:
        now = time.monotonic()
        if self._database.folder and now - self._looked > _LOOK_S:
            self._looked = now
            self._low = shutil.disk_usage(self._database.folder).free < self.limits.free_bytes
        return self._low

    def _write(self) -> None:
        while True:
            with self._wake:
                if not (self._waiting or self._closed):
                    self._wake.wait(self.alive_s)
                group = self._next_group()
                if not group and self._closed:
                    return
            if group:
                self._store(group)
                with self._wake:
                    self._pending_bytes -= sum(size for _, size, _ in group)
            self._say_alive()

    def _say_alive(self) -> None:
        """Others that share the database hand out what we have taken when they do not hear of us."""
        now = time.monotonic()
        if not self._database.folder and now - self._said_alive >= self.alive_s:
            self._said_alive = now
            with contextlib.suppress(SpoolError):
                handing_out.alive(self._database, self._owner, now_ns=self._clock())

    def _next_group(self) -> list[tuple[Batch, int, Future[Stored]]]:
        group: list[tuple[Batch, int, Future[Stored]]] = []
        total = 0
        while self._waiting and total < _GROUP_BYTES and len(group) < _GROUP_BATCHES:
            entry = self._waiting.popleft()
            total += entry[1]
            group.append(entry)
        return group

    def _store(self, group: Sequence[tuple[Batch, int, Future[Stored]]]) -> None:
        started = time.perf_counter()
        try:
            stored, grown = add(self._database, [batch for batch, _, _ in group], self.limits, now_ns=self._clock())
        except Exception as error:  # noqa: BLE001 - whatever it is, nobody is told that these are stored
            if not isinstance(error, SpoolError):
                _log.exception("a batch could not be stored")
                error = SpoolError(f"{self.name}: {error}", retry_s=RETRY_S)
            for _, _, future in group:
                future.set_exception(error)
            return
        self._commits += 1
        self._commit_s += time.perf_counter() - started
        with self._wake:
            self._bytes += grown
        for (_, _, future), outcome in zip(group, stored, strict=True):
            future.set_result(outcome)


def session_of(spans: Sequence[Span]) -> str | None:
    """The conversation or session that the spans name, on themselves or their resource.

    Source: GenAI semantic conventions, `gen_ai.conversation.id`; session conventions, `session.id`.
    """
    for key in _SESSION_KEYS:
        for span in spans:
            value = span.attributes.get(key) or span.resource.get(key)
            if value and isinstance(value, str | int):
                # PostgreSQL holds no NUL in a text.
                return str(value)[:_SESSION_CHARACTERS].replace("\x00", "") or None
    return None
