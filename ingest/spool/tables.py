"""The spool's tables, and the statements on them that several steps share.

A trace has a number; its records (the light index: ids and digests, no content) and parts (content, as it came) hang on
that number, so that what belongs together lies together on disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from msgspec import Struct

from gpa.errors import SpoolError
from gpa.ingest.spool.database import Database, Transaction

SCHEMA = 1

IDLE = 0
"""All there is was evaluated."""
OPEN = 1
"""The root is in; whether a parent is missing was not looked up since the last span."""
WHOLE = 2
"""The root is in and no parent is missing."""
WAITING = 3
"""The root or a parent is missing."""
FULL = 4
"""Over a limit on the size of a trace."""
LONELY = 5
"""Log records whose spans did not come."""
REMOVED = 6
"""Evaluated, old, and only this row is left."""
UNEVALUATED = (OPEN, WHOLE, WAITING, FULL)

_CHUNK = 500
"""Parameters in one statement."""
_T = TypeVar("_T")


class Held(Struct):
    """What is known of a trace while records are added to it."""

    number: int
    spans: int
    logs: int
    bytes: int
    arrivals: int
    seen: int
    opened_ns: int
    last_ns: int
    rooted: int
    state: int

    @property
    def records(self) -> int:
        """Spans and log records."""
        return self.spans + self.logs


_HELD = "number, spans, logs, bytes, arrivals, seen, opened_ns, last_ns, rooted, state"


def create(database: Database) -> None:
    """Make the tables when they are not there.

    Raises:
        SpoolError: they are of another version, or the file is another program's.
    """
    with database.writing() as transaction:
        if database.one_at_a_time:
            transaction.execute(database.one_at_a_time)
        for statement in _statements(database):
            transaction.execute(statement)
        found = transaction.execute("SELECT version FROM spool_schema")
        if not found:
            transaction.execute("INSERT INTO spool_schema (version) VALUES (?)", (SCHEMA,))
        elif found[0][0] != SCHEMA:
            raise SpoolError(f"{database.name}: expected a spool of version {SCHEMA}, found version {found[0][0]}")


def _statements(database: Database) -> Iterator[str]:
    binary, number, clustered = database.bytes_type, database.number_type, database.clustered
    yield "CREATE TABLE IF NOT EXISTS spool_schema (version INTEGER NOT NULL)"
    yield f"""CREATE TABLE IF NOT EXISTS spool_traces (
        number {number}, trace_id TEXT NOT NULL UNIQUE, state INTEGER NOT NULL DEFAULT {LONELY},
        first_ns BIGINT NOT NULL, opened_ns BIGINT NOT NULL, last_ns BIGINT NOT NULL,
        spans INTEGER NOT NULL DEFAULT 0, logs INTEGER NOT NULL DEFAULT 0, bytes BIGINT NOT NULL DEFAULT 0,
        arrivals INTEGER NOT NULL DEFAULT 0, seen INTEGER NOT NULL DEFAULT 0, revision INTEGER NOT NULL DEFAULT 0,
        rooted INTEGER NOT NULL DEFAULT 0, leased_ns BIGINT NOT NULL DEFAULT 0, leased_by TEXT NOT NULL DEFAULT '',
        session TEXT)"""
    yield "CREATE INDEX IF NOT EXISTS spool_traces_last ON spool_traces (state, last_ns)"
    yield "CREATE INDEX IF NOT EXISTS spool_traces_opened ON spool_traces (state, opened_ns)"
    yield "CREATE INDEX IF NOT EXISTS spool_traces_leased ON spool_traces (leased_by) WHERE leased_ns > 0"
    yield "CREATE TABLE IF NOT EXISTS spool_owners (owner TEXT PRIMARY KEY, alive_ns BIGINT NOT NULL)"
    yield "CREATE INDEX IF NOT EXISTS spool_traces_session ON spool_traces (session) WHERE session IS NOT NULL"
    yield f"""CREATE TABLE IF NOT EXISTS spool_records (
        trace BIGINT NOT NULL, signal SMALLINT NOT NULL, span_id {binary} NOT NULL, digest {binary} NOT NULL,
        parent_id {binary}, PRIMARY KEY (trace, signal, span_id, digest)) {clustered}"""
    yield f"""CREATE TABLE IF NOT EXISTS spool_parts (
        trace BIGINT NOT NULL, arrival INTEGER NOT NULL, signal SMALLINT NOT NULL, codec SMALLINT NOT NULL,
        body {binary} NOT NULL, PRIMARY KEY (trace, arrival))"""


def held(transaction: Transaction, trace_ids: Sequence[str], *, now_ns: int, for_update: str) -> dict[str, Held]:
    """The traces with these ids, new ones made, all locked; sorted ids keep two receivers from a deadlock."""
    transaction.many(
        "INSERT INTO spool_traces (trace_id, first_ns, opened_ns, last_ns) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (trace_id) DO NOTHING",
        [(trace_id, now_ns, now_ns, now_ns) for trace_id in trace_ids],
    )
    found: dict[str, Held] = {}
    for chunk in chunks(trace_ids):
        query = (
            f"SELECT trace_id, {_HELD} FROM spool_traces"  # noqa: S608 - names of columns and placeholders only
            f" WHERE trace_id IN ({marks(chunk)}) ORDER BY trace_id"
        )
        for trace_id, *values in transaction.execute(query + for_update, chunk):
            found[trace_id] = Held(*values)
    return found


def chunks(values: Sequence[_T]) -> Iterable[Sequence[_T]]:
    """The values, so many at a time as one statement may have parameters."""
    return (values[at : at + _CHUNK] for at in range(0, len(values), _CHUNK))


def marks(values: Sequence[object]) -> str:
    """As many placeholders as there are values."""
    return ", ".join("?" * len(values))
