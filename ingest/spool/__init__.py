"""Received spans, safe on disk until their traces are complete and evaluated: SQLite by default, PostgreSQL by URL."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from gpa.ingest.spool.adding import SpoolLimits, Stored
from gpa.ingest.spool.batch import Batch, batch_of
from gpa.ingest.spool.database import open_database
from gpa.ingest.spool.spool import Arrived, Ready, Spool, SpoolStatus

__all__ = (
    "Arrived",
    "Batch",
    "Ready",
    "Spool",
    "SpoolLimits",
    "SpoolStatus",
    "Stored",
    "batch_of",
    "open_spool",
)


def open_spool(
    location: str | Path, *, limits: SpoolLimits | None = None, clock: Callable[[], int] = time.time_ns
) -> Spool:
    """The spool at a path (a SQLite file) or `postgresql://` URL, made when it is not there.

    Args:
        location: a file of the spool's own, or a database, where its tables are named `spool_*`.
        limits: how much is kept.
        clock: nanoseconds since 1970; decides what is quiet and what is old.

    Raises:
        SpoolError: it cannot be opened, or is something else.
    """
    database = open_database(location)
    try:
        return Spool(database, limits or SpoolLimits(), clock)
    except BaseException:  # raised again
        database.close()
        raise
