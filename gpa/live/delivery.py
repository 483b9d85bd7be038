"""Results in the store -> a backend: what is still to be announced stands in the store's outbox until it was taken.

So nothing is lost when the backend is away or the process is killed, and no queue grows in memory: the outbox holds a
few bytes beside results that are kept anyway. A backend may get an event twice (killed between its answer and our
note of it); `log.record.uid` is the same both times. What a backend refuses again and again although it takes
others is given up, counted and said.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from gpa.errors import StoreError
from gpa.judges.verdict import DIMENSIONS
from gpa.store import Store
from gpa.telemetry.events import Event, events_of_kept
from gpa.telemetry.sending import Sender

BATCH = 16
"""Traces whose events are sent together while all goes well; after a failure they are sent one by one."""
POLL_S = 0.5
LONGEST_PAUSE_S = 60.0
REFUSALS = 5
"""Times a trace's events may fail while others get through."""
_log = logging.getLogger(__name__)


class _Waiting(NamedTuple):
    """A line of the outbox."""

    number: int
    transcript_hash: str
    model: str


class Delivery:
    """Sends what is in the outbox, in a thread of its own; evaluation never waits for it."""

    def __init__(
        self,
        store: Store,
        sender: Sender,
        *,
        names: Mapping[str, str] = DIMENSIONS,
        clean: Callable[[str], str] = str,
        poll_s: float = POLL_S,
        longest_pause_s: float = LONGEST_PAUSE_S,
    ) -> None:
        self._store, self._sender, self._names, self._clean = store, sender, dict(names), clean
        self._poll_s, self._longest_pause_s = poll_s, longest_pause_s
        self._failed: set[int] = set()
        """Lines that failed since one got through: they wait until the others have been tried."""
        self._refusals: Counter[int] = Counter()
        self._failures = 0
        """In a row."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="gpa-delivery", daemon=True)
        self.sent = 0
        """Events that the backend took."""
        self.given_up = 0
        """Announcements (the results of one evaluator on one trace) that it refused."""
        self.why = ""
        """What went wrong the last time; empty while all goes well."""

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def close(self, timeout_s: float = 5.0) -> int:
        """Stop, after one more attempt at what is waiting; how much is left for the next start."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout_s)
        self._sender.stop()  # it may be waiting for a backend that is away
        if self._thread.is_alive():
            self._thread.join(timeout_s)
        try:
            return self._store.waiting()
        except StoreError:  # it is away, and the next start sends whatever there is
            return 0

    def step(self) -> bool:
        """Send one batch; whether there was anything and it got through."""
        batch = self._next()
        if not batch:
            self._failed.clear()
            return False
        events: list[Event] = []
        try:
            events = self._events(batch)
            why = "" if self._sender.send(events) else self._sender.why
        except Exception as error:  # noqa: BLE001 - what cannot be read or sent must not hold up the others
            why = str(error) or type(error).__name__
            if not isinstance(error, StoreError) and why != self.why:
                _log.exception("%d evaluations could not be sent", len(batch))
        if why:
            self._not_sent(batch, why)
            return False
        self._store.announced(line.number for line in batch)
        self.sent += len(events)
        self._got_through()
        return True

    def _next(self) -> list[_Waiting]:
        """The next lines to send: those that have not failed yet, one by one after a failure."""
        size = 1 if self._failures else BATCH
        while True:
            lines = [_Waiting(*line) for line in self._store.to_announce(BATCH + len(self._failed))]
            found = [line for line in lines if line.number not in self._failed][:size]
            if found or not self._failed:
                return found
            self._failed.clear()  # all have been tried: from the start again

    def _events(self, batch: Sequence[_Waiting]) -> list[Event]:
        models: dict[str, set[str]] = {}
        for line in batch:
            models.setdefault(line.transcript_hash, set()).add(line.model)
        events: list[Event] = []
        for kept in self._store.kept(list(models), whole=True, superseded=True):
            events += events_of_kept(kept, models[kept.transcript_hash], names=self._names, clean=self._clean)
        return events

    def _not_sent(self, batch: Sequence[_Waiting], why: str) -> None:
        self._failures += 1
        if why != self.why and not self._stop.is_set():
            _log.warning("%s: %s; tried again until it is taken", self._sender.endpoint, why)
        self.why = why
        if len(batch) == 1:
            self._failed.add(batch[0].number)

    def _got_through(self) -> None:
        if self._failures and self.why:
            _log.warning("%s: takes events again", self._sender.endpoint)
        self._failures, self.why = 0, ""
        # The backend is there: what failed did so by itself.
        self._refusals.update(self._failed)
        refused = [number for number in self._failed if self._refusals[number] >= REFUSALS]
        self._failed.clear()
        if refused:
            self._store.announced(refused)
            self.given_up += len(refused)
            for number in refused:
                del self._refusals[number]
            _log.error("%s refused the events of %d evaluations; given up", self._sender.endpoint, len(refused))

    def _run(self) -> None:
        while True:
            try:
                if self.step():
                    continue
            except StoreError as error:
                self._failures += 1
                self.why = str(error)
            if self._stop.is_set():
                return
            self._stop.wait(min(self._longest_pause_s, self._poll_s * 2 ** min(self._failures, 10)))
