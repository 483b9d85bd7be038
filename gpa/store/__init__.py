"""Results and transcripts on disk, written as they arrive, so that a run that was killed goes on where it stopped.

One SQLite file by default (write-ahead log: others may read while a run writes), any database SQLAlchemy knows by
URL. A result is found again by its resume key: transcript hash, judge, rubric hash, model, sample. Failures are
kept and shown, but never found again: they are judged anew. Of results that differ in rubric or transcript alone, those
that the last run gave stand, whether it made them or took them from here (`order`).

A live evaluation (`gpa serve`) may judge a trace several times, because spans came late: each time it is another
transcript, with a higher revision. All are kept; what is read back are the results of the newest. `outbox` holds what
has still to be announced to a backend. Both tables were added after the first release: a store without them is one
that no live evaluation has written to, and older versions pass over them.
"""

from __future__ import annotations

from gpa.store.opening import is_store, open_store
from gpa.store.packing import transcript_hash
from gpa.store.store import Arrival, Kept, Key, Store
from gpa.store.tables import SCHEMA

__all__ = ("SCHEMA", "Arrival", "Kept", "Key", "Store", "is_store", "open_store", "transcript_hash")
