"""Complete traces out of the spool: found, leased, read, evaluated, removed. Each function is one transaction."""

from __future__ import annotations

from collections.abc import Sequence

from gpa.ingest.completion import Patience, Reason, completed
from gpa.ingest.spool.database import Database, Row, Transaction
from gpa.ingest.spool.tables import FULL, IDLE, LONELY, OPEN, REMOVED, UNEVALUATED, WAITING, WHOLE, marks

_LOOKED_UP = 500
"""Traces whose parents are looked up in one transaction."""
_REMEMBERED_NS = 30 * 24 * 3600 * 1_000_000_000
"""How long a removed trace is known as such: far longer than any client keeps trying."""
_FREED_PAGES = 2000
ALIVE_S = 5.0
"""How often a process says that it is there."""
_DEAD_NS = 30 * 1_000_000_000
"""Without a word for so long, it is not."""

_MISSING_PARENT = """
    SELECT 1 FROM spool_records AS child WHERE trace = ? AND signal = 0 AND parent_id IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM spool_records AS parent
        WHERE parent.trace = child.trace AND parent.signal = 0 AND parent.span_id = child.parent_id) LIMIT 1"""
_FOUND = "number, trace_id, revision, spans, logs, arrivals, state, first_ns, opened_ns, last_ns"


def alive(database: Database, owner: str, *, now_ns: int) -> None:
    """Note that the process that leases traces under this name is there; what dead ones had leased is free again."""
    with database.writing() as transaction:
        transaction.execute(
            "INSERT INTO spool_owners (owner, alive_ns) VALUES (?, ?)"
            " ON CONFLICT (owner) DO UPDATE SET alive_ns = excluded.alive_ns",
            (owner, now_ns),
        )
        for (dead,) in transaction.execute("SELECT owner FROM spool_owners WHERE alive_ns < ?", (now_ns - _DEAD_NS,)):
            _bury(transaction, dead)


def gone(database: Database, owner: str) -> None:
    """Note that a process leaves: what it had leased is free."""
    with database.writing() as transaction:
        _bury(transaction, owner)


def all_gone(database: Database) -> None:
    """Note that no process is there: whatever was leased is free."""
    with database.writing() as transaction:
        transaction.execute("UPDATE spool_traces SET leased_ns = 0 WHERE leased_ns > 0")
        transaction.execute("DELETE FROM spool_owners")


def _bury(transaction: Transaction, owner: str) -> None:
    transaction.execute("UPDATE spool_traces SET leased_ns = 0 WHERE leased_ns > 0 AND leased_by = ?", (owner,))
    transaction.execute("DELETE FROM spool_owners WHERE owner = ?", (owner,))


def complete(
    database: Database, patience: Patience, limit: int, lease_s: float, *, owner: str, now_ns: int
) -> list[tuple[str, int, int, int, int, Reason, int, int]]:
    """The fields of `Ready` of the traces that are complete and not leased; they are leased then."""
    with database.writing() as transaction:
        _look_up_parents(transaction, database, now_ns - patience.quiet_ns)
        found: dict[int, tuple[Row, Reason]] = {}
        for where, parameters in (
            ("state = ?", (FULL,)),
            ("state = ? AND last_ns <= ?", (WHOLE, now_ns - patience.quiet_ns)),
            ("state IN (?, ?) AND last_ns <= ?", (OPEN, WAITING, now_ns - patience.patience_ns)),
            ("state IN (?, ?) AND opened_ns <= ?", (OPEN, WAITING, now_ns - patience.max_age_ns)),
        ):
            query = (
                f"SELECT {_FOUND} FROM spool_traces"  # noqa: S608 - our own words only
                f" WHERE {where} AND leased_ns <= ? ORDER BY last_ns LIMIT ?"
            )
            rows = transaction.execute(query + database.skip_locked, (*parameters, now_ns, max(0, limit - len(found))))
            for row in rows:
                _, _, _, _, _, _, state, _, opened_ns, last_ns = row
                why = completed(
                    patience,
                    whole=state == WHOLE,
                    full=state == FULL,
                    silent_ns=now_ns - last_ns,
                    age_ns=now_ns - opened_ns,
                )
                if why:
                    found[row[0]] = (row, why)
        until = now_ns + int(lease_s * 1e9)
        transaction.many(
            "UPDATE spool_traces SET leased_ns = ?, leased_by = ? WHERE number = ?",
            [(until, owner, number) for number in found],
        )
    return [
        (trace_id, revision + 1, spans, logs, arrivals, why, first_ns, last_ns)
        for (_, trace_id, revision, spans, logs, arrivals, _, first_ns, _, last_ns), why in found.values()
    ]


def _look_up_parents(transaction: Transaction, database: Database, before_ns: int) -> None:
    """Find out of the traces that have a root and are quiet whether a parent is missing: once, not at each arrival."""
    query = "SELECT number FROM spool_traces WHERE state = ? AND last_ns <= ? ORDER BY last_ns LIMIT ?"
    quiet = transaction.execute(query + database.skip_locked, (OPEN, before_ns, _LOOKED_UP))
    transaction.many(
        "UPDATE spool_traces SET state = ? WHERE number = ?",
        [(WAITING if transaction.execute(_MISSING_PARENT, number) else WHOLE, *number) for number in quiet],
    )


def parts(database: Database, trace_id: str, arrivals: int | None) -> list[Row]:
    """Signal, codec and stored body of each part of a trace, in order of arrival, up to the given one."""
    query = (
        "SELECT signal, codec, body FROM spool_parts"
        " WHERE trace = (SELECT number FROM spool_traces WHERE trace_id = ?) AND arrival <= ? ORDER BY arrival"
    )
    with database.reading() as transaction:
        return transaction.execute(query, (trace_id, 1 << 30 if arrivals is None else arrivals))


def evaluated(database: Database, traces: Sequence[tuple[str, int, int, str | None]]) -> None:
    """Note for trace ids that a revision, the parts up to an arrival, is evaluated, and the session.

    A trace stays open when there are more parts.
    """
    with database.writing() as transaction:
        transaction.many(
            "UPDATE spool_traces SET revision = ?, seen = ?, leased_ns = 0, session = COALESCE(?, session),"
            " opened_ns = last_ns, state = CASE WHEN arrivals <= ? THEN ? ELSE state END"
            " WHERE trace_id = ? AND revision < ?",
            [
                (revision, arrivals, session, arrivals, IDLE, trace_id, revision)
                for trace_id, revision, arrivals, session in traces
            ],
        )


def release(database: Database, trace_id: str, until_ns: int) -> None:
    """Lease the trace to nobody until then."""
    with database.writing() as transaction:
        transaction.execute(
            "UPDATE spool_traces SET leased_ns = ?, leased_by = '' WHERE trace_id = ?", (until_ns, trace_id)
        )


def session(database: Database, name: str) -> list[str]:
    """The ids of the traces of a session, in order of arrival."""
    query = "SELECT trace_id FROM spool_traces WHERE session = ? ORDER BY first_ns, number"
    with database.reading() as transaction:
        return [row[0] for row in transaction.execute(query, (name,))]


def prune(database: Database, before_ns: int, limit: int) -> tuple[int, int]:
    """How many traces were removed, and the bytes that were theirs; log records without spans go the same way."""
    with database.writing() as transaction:
        query = (
            "SELECT number, bytes, state FROM spool_traces WHERE state IN (?, ?) AND last_ns <= ? ORDER BY last_ns"
            " LIMIT ?"
        )
        rows = transaction.execute(query + database.skip_locked, (IDLE, LONELY, before_ns, limit))
        numbers = [(row[0],) for row in rows]
        transaction.many("DELETE FROM spool_parts WHERE trace = ?", numbers)
        transaction.many("DELETE FROM spool_records WHERE trace = ?", numbers)
        transaction.many(
            "UPDATE spool_traces SET state = ?, bytes = 0 WHERE number = ?",
            [(REMOVED, number) for number, _, state in rows if state == IDLE],
        )
        transaction.many(
            "DELETE FROM spool_traces WHERE number = ?", [(number,) for number, _, state in rows if state == LONELY]
        )
        transaction.execute(
            "DELETE FROM spool_traces WHERE state = ? AND last_ns <= ?", (REMOVED, before_ns - _REMEMBERED_NS)
        )
        if database.folder and rows:
            transaction.execute(f"PRAGMA incremental_vacuum({_FREED_PAGES})")
    return len(rows), sum(row[1] for row in rows)


def counts(database: Database) -> tuple[int, int, int]:
    """Traces not evaluated yet, of these the ones known to be complete, and when the oldest was opened (0: none)."""
    query = (
        "SELECT state, COUNT(*), MIN(opened_ns) FROM spool_traces"  # noqa: S608 - placeholders only
        f" WHERE state IN ({marks(UNEVALUATED)}) GROUP BY state"
    )
    with database.reading() as transaction:
        rows = transaction.execute(query, UNEVALUATED)
    ready = sum(count for state, count, _ in rows if state in {WHOLE, FULL})
    return sum(row[1] for row in rows), ready, min((row[2] for row in rows), default=0)


def total_bytes(database: Database) -> int:
    """Bytes of all stored bodies."""
    with database.reading() as transaction:
        return int(transaction.execute("SELECT COALESCE(SUM(bytes), 0) FROM spool_traces")[0][0])
