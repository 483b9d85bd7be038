"""A path or a database URL -> an open store, or a clear word why it is none."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from gpa.errors import StoreError
from gpa.store.packing import cause
from gpa.store.store import Store
from gpa.store.tables import ARRIVALS, METADATA, OUTBOX, SCHEMA, STORE

_BUSY_TIMEOUT_S = 30
_PAUSE_S = 0.02
_SQLITE_MAGIC = b"SQLite format 3\x00"
_ADVISORY_LOCK = 0x677061
"""The letters gpa: a number that other programs are not likely to lock in the same database."""


def open_store(location: str | Path, *, must_exist: bool = False, live: bool = False) -> Store:
    """The store at a path or database URL, made when it is not there.

    For a `live` evaluation it gets the tables of one where it lacks them, and writes are on the disk when they return:
    a trace that is evaluated is deleted elsewhere.

    Raises `StoreError` when the file is something else, has another schema version, or is missing and must not be.
    """
    text = str(location)
    url = _with_driver(text) if "://" in text else f"sqlite:///{Path(text).expanduser()}"
    name = sa.make_url(url).render_as_string(hide_password=True) if "://" in text else text
    if "://" not in text:
        _check_file(Path(text).expanduser(), must_exist=must_exist)
    try:
        # Asked before each use: a connection that a server dropped is made anew instead of failing once.
        more = {"connect_args": {"timeout": _BUSY_TIMEOUT_S}} if url.startswith("sqlite") else {"pool_pre_ping": True}
        engine = sa.create_engine(url, **more)
    except (SQLAlchemyError, ImportError) as error:
        raise StoreError(f"{name}: the store cannot be opened: {cause(error)}") from error
    try:
        with engine.begin() as connection:
            if live or not (must_exist or STORE.name in _tables(connection)):
                _lock(connection)
            _check_schema(connection, name, must_exist=must_exist)
            if live:
                METADATA.create_all(connection, tables=[ARRIVALS, OUTBOX])
                for index in ARRIVALS.indexes:  # one that came after the table
                    index.create(connection, checkfirst=True)
            has_arrivals = ARRIVALS.name in _tables(connection)
        if engine.dialect.name == "sqlite":
            # Only now, on new connections: it changes the file, which might not have been ours.
            engine.dispose()
            sa.event.listen(engine, "connect", _prepare_live if live else _prepare)
    except SQLAlchemyError as error:
        engine.dispose()
        raise StoreError(f"{name}: the store cannot be opened: {cause(error)}") from error
    except StoreError:
        engine.dispose()
        raise
    return Store(engine, name, has_arrivals=has_arrivals)


def _with_driver(url: str) -> str:
    """The URL with the driver that the extra `postgres` installs, where it names none."""
    scheme, _, rest = url.partition("://")
    return f"postgresql+psycopg://{rest}" if scheme in {"postgresql", "postgres"} else url


def is_store(location: str | Path) -> bool:
    """Whether this is a database rather than a file of result lines."""
    if "://" in str(location):
        return True
    try:
        with Path(location).expanduser().open("rb") as file:
            return file.read(len(_SQLITE_MAGIC)) == _SQLITE_MAGIC
    except OSError:
        return False


def _prepare(connection: Any, _record: object) -> None:
    """A write-ahead log, written through at its checkpoints: a crash of the machine can cost the last results only."""
    _write_ahead(connection)
    connection.execute("PRAGMA synchronous = NORMAL")


def _prepare_live(connection: Any, _record: object) -> None:
    """A write-ahead log that is written through at every transaction."""
    _write_ahead(connection)
    connection.execute("PRAGMA synchronous = FULL")


def _write_ahead(connection: Any) -> None:
    """A write-ahead log. To change to it SQLite waits for nobody, whatever its timeout; the first two of a store would
    refuse each other.
    """
    until = time.monotonic() + _BUSY_TIMEOUT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(_PAUSE_S)
        else:
            return


def _check_file(path: Path, *, must_exist: bool) -> None:
    if path.is_dir():
        raise StoreError(f"{path}: expected a results store (a file), found a folder")
    if path.exists() and path.stat().st_size and not is_store(path):
        raise StoreError(f"{path}: expected a results store (SQLite), found another kind of file")
    if must_exist and not path.exists():
        raise StoreError(f"{path}: no such results store")
    if not path.parent.is_dir():
        raise StoreError(f"{path}: the folder {path.parent} does not exist")


def _lock(connection: sa.Connection) -> None:
    """Be the only one that makes tables, to the end of the transaction: several commands may start at once."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_ADVISORY_LOCK)))
    elif connection.dialect.name == "sqlite":
        # Said outright: the driver begins no transaction for CREATE TABLE, so that others see half of the tables.
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def _tables(connection: sa.Connection) -> set[str]:
    return set(sa.inspect(connection).get_table_names())


def _check_schema(connection: sa.Connection, name: str, *, must_exist: bool) -> None:
    tables = _tables(connection)
    if STORE.name in tables:
        found = connection.execute(sa.select(STORE.c.schema)).scalar()
        if found != SCHEMA:
            raise StoreError(f"{name}: expected a results store of schema {SCHEMA}, found schema {found}")
    elif tables & {"results", "traces"} or (tables and connection.dialect.name == "sqlite"):
        shown = ", ".join(sorted(tables)[:5])
        raise StoreError(f"{name}: expected a results store, found a database with other tables ({shown})")
    elif must_exist:
        raise StoreError(f"{name}: expected a results store, found an empty database")
    else:
        METADATA.create_all(connection)
        connection.execute(sa.insert(STORE), {"schema": SCHEMA})
