"""SQLite or PostgreSQL behind one small surface: transactions that are on disk when they end, and reads beside them.

SQL here is what both understand, with `?` for parameters. Each database has one connection that writes, under a lock,
and one that reads, so that reading a large trace does not hold up an acknowledgement. `ingest` knows no SQLAlchemy.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

from gpa.errors import SpoolError

Row = tuple[Any, ...]

RETRY_S = 5.0
"""After which senders and we ourselves try again when the database is full, locked or away."""
_BUSY_S = 10.0
_FULL = 13
"""SQLITE_FULL: what the disk, a quota or `max_page_count` makes of a write (sqlite.org/rescode.html)."""


class Transaction(Protocol):
    """What can be done inside a transaction, or when reading."""

    def execute(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Run one statement and return its rows."""

    def many(self, sql: str, rows: Sequence[Sequence[object]]) -> int:
        """Run one statement for each row and return how many rows it changed in all."""


class Database(Protocol):
    """An open database."""

    name: str
    """For messages: no password in it."""
    folder: Path | None
    """Where its file is, None when it is elsewhere."""
    skip_locked: str
    """What ends a SELECT that takes rows other processes do not hold."""
    for_update: str
    one_at_a_time: str
    """What keeps two processes from making the tables at once, for the length of a transaction."""
    bytes_type: str
    number_type: str
    """Of a column that numbers its rows."""
    clustered: str
    """What ends the definition of a table that is kept in the order of its key."""

    def writing(self) -> AbstractContextManager[Transaction]:
        """A transaction; it is on disk when the block ends. Raises `SpoolError` when that cannot be."""

    def reading(self) -> AbstractContextManager[Transaction]:
        """One view of what is there."""

    def close(self) -> None:
        """Close the connections."""


def open_database(location: str | Path) -> Database:
    """The database at a path (SQLite) or `postgresql://` URL.

    Raises:
        SpoolError: it cannot be opened, or is of a kind not known.
    """
    text = str(location)
    scheme, colon, rest = text.partition("://")
    if not colon or scheme == "sqlite":
        return Sqlite(Path(rest.removeprefix("/") if colon else text).expanduser())
    if scheme.split("+")[0] not in {"postgresql", "postgres"}:
        raise SpoolError(f"expected a path or a postgresql:// URL for the spool, found {scheme}://")
    from gpa.ingest.spool.postgres import Postgres

    return Postgres(f"postgresql://{rest}")


def _locked(path: Path) -> IO[bytes]:
    """A file beside the spool that is locked as long as it is open: what one process took, another must not evaluate.

    Not the spool itself: closing a second handle of that file would drop SQLite's own locks (POSIX, `fcntl`).
    """
    beside = path.with_name(f"{path.name}-lock")
    try:
        file = beside.open("wb")
    except OSError as error:
        raise SpoolError(f"{path}: the spool cannot be opened: {error.strerror or error}") from error
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:  # Windows has no flock
        pass
    except OSError as error:
        file.close()
        raise SpoolError(f"{path}: the spool is in use by another process") from error
    return file


class _SqliteTransaction:
    __slots__ = ("_connection",)

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        return self._connection.execute(sql, parameters).fetchall()

    def many(self, sql: str, rows: Sequence[Sequence[object]]) -> int:
        return self._connection.executemany(sql, rows).rowcount if rows else 0


class Sqlite:
    """A SQLite file in WAL mode, written through at each commit."""

    skip_locked = for_update = one_at_a_time = ""
    bytes_type = "BLOB"
    number_type = "INTEGER PRIMARY KEY"
    clustered = "WITHOUT ROWID"

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self.folder: Path | None = path.parent
        if not path.parent.is_dir():
            raise SpoolError(f"{path}: the folder {path.parent} does not exist")
        self._lock = _locked(path)
        try:
            self._writer = self._connect(path)
            self._reader = self._connect(path)
        except sqlite3.Error as error:
            self._lock.close()
            raise SpoolError(f"{path}: expected a spool (SQLite), found: {error}") from error
        self._writing = threading.Lock()
        self._reading = threading.Lock()

    @staticmethod
    def _connect(path: Path) -> sqlite3.Connection:
        connection = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        # New files only: freed pages go back to the file system in small steps, see `prune`.
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA journal_mode = WAL")
        # Each commit is synced: in WAL mode the default of NORMAL may lose the last ones with the power
        # (sqlite.org/pragma.html#pragma_synchronous).
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA cache_size = -65536")
        connection.execute("PRAGMA wal_autocheckpoint = 4000")
        connection.execute("PRAGMA journal_size_limit = 67108864")
        return connection

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """A transaction; it is on disk when the block ends."""
        connection = self._writer
        with self._writing:
            try:
                connection.execute("BEGIN IMMEDIATE")
                yield _SqliteTransaction(connection)
                connection.execute("COMMIT")
            except sqlite3.Error as error:
                self._undo()
                raise self._error(error) from error
            except BaseException:  # raised again
                self._undo()
                raise

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """One view of what is there."""
        with self._reading:
            try:
                self._reader.execute("BEGIN")
                yield _SqliteTransaction(self._reader)
            except sqlite3.Error as error:
                raise self._error(error) from error
            finally:
                with contextlib.suppress(sqlite3.Error):
                    self._reader.execute("ROLLBACK")

    def close(self) -> None:
        """Close the connections; the last one to close folds the log into the file."""
        with self._reading:
            self._reader.close()
        with self._writing:
            self._writer.close()
        self._lock.close()

    def _undo(self) -> None:
        if self._writer.in_transaction:  # a full disk may have ended the transaction already
            with contextlib.suppress(sqlite3.Error):
                self._writer.execute("ROLLBACK")

    def _error(self, error: sqlite3.Error) -> SpoolError:
        full = getattr(error, "sqlite_errorcode", 0) & 0xFF == _FULL
        return SpoolError(f"{self.name}: {'the disk is full' if full else error}", retry_s=RETRY_S)
