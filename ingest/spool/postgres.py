"""The spool in PostgreSQL, for receivers that share it or have no disk of their own. The only module with psycopg."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpa.errors import SpoolError
from gpa.ingest.spool.database import RETRY_S, Row, Transaction

if TYPE_CHECKING:
    import psycopg

_CONNECT_S = 5
_STATEMENT_MS = 30_000


class _PostgresTransaction:
    __slots__ = ("_cursor",)

    def __init__(self, cursor: psycopg.Cursor[Any]) -> None:
        self._cursor = cursor

    def execute(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        self._cursor.execute(_placed(sql), parameters)
        return self._cursor.fetchall() if self._cursor.description else []

    def many(self, sql: str, rows: Sequence[Sequence[object]]) -> int:
        if not rows:
            return 0
        self._cursor.executemany(_placed(sql), rows)
        return self._cursor.rowcount


class _Link:
    """A connection that is made anew after it broke, but no more often than every few moments."""

    def __init__(self, url: str, name: str) -> None:
        self._url = url
        self._name = name
        self._lock = threading.Lock()
        self._connection: psycopg.Connection[Any] | None = None
        self._refused = 0.0

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        import psycopg

        with self._lock:
            connection = self._open()
            try:
                with connection.transaction(), connection.cursor() as cursor:
                    yield _PostgresTransaction(cursor)
            except psycopg.Error as error:
                if connection.closed or connection.broken:
                    self._connection = None
                raise SpoolError(f"{self._name}: {_line(error)}", retry_s=RETRY_S) from error

    def _open(self) -> psycopg.Connection[Any]:
        import psycopg

        if self._connection and not self._connection.closed:
            return self._connection
        now = time.monotonic()
        if now < self._refused:
            raise SpoolError(f"{self._name}: the database is away", retry_s=RETRY_S)
        try:
            self._connection = psycopg.connect(
                self._url,
                autocommit=True,
                connect_timeout=_CONNECT_S,
                application_name="gpa spool",
                # What is acknowledged is on the server's disk, whatever the server's default is.
                options=f"-c synchronous_commit=on -c statement_timeout={_STATEMENT_MS}",
                # A server that vanished without a word is noticed: libpq, "Connection Parameters".
                keepalives_idle=10,
                keepalives_interval=5,
                keepalives_count=3,
                tcp_user_timeout=15_000,
            )
        except psycopg.Error as error:
            self._refused = time.monotonic() + 1.0
            raise SpoolError(f"{self._name}: {_line(error)}", retry_s=RETRY_S) from error
        return self._connection

    def close(self) -> None:
        with self._lock:
            if self._connection:
                self._connection.close()
                self._connection = None


class Postgres:
    """A PostgreSQL database; a lost connection is made anew."""

    skip_locked = " FOR UPDATE SKIP LOCKED"
    for_update = " FOR UPDATE"
    one_at_a_time = f"SELECT pg_advisory_xact_lock({0x6770615F73706F6F})"  # "gpa_spoo": any number that is ours
    bytes_type = "BYTEA"
    number_type = "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
    clustered = ""
    folder: Path | None = None

    def __init__(self, url: str) -> None:
        try:
            from psycopg.conninfo import conninfo_to_dict
        except ImportError as error:
            raise SpoolError("a spool in PostgreSQL needs psycopg: pip install 'agent-gpa[postgres]'") from error
        from psycopg import ProgrammingError

        try:
            known = conninfo_to_dict(url)
        except ProgrammingError as error:
            raise SpoolError("expected a URL like postgresql://user@host/database for the spool") from error
        self.name = f"postgresql://{known.get('host', '')}/{known.get('dbname', '')}"
        self._writer = _Link(url, self.name)
        self._reader = _Link(url, self.name)
        self.writing = self._writer.transaction
        self.reading = self._reader.transaction

    def close(self) -> None:
        """Close the connections."""
        self._writer.close()
        self._reader.close()


@lru_cache(maxsize=256)
def _placed(sql: str) -> str:
    """Psycopg's placeholders; our statements hold no other question or percent sign."""
    return sql.replace("?", "%s")


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
