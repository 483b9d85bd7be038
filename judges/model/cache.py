"""Answers paid for, kept in one SQLite file: written before they are used, so that no run pays for them again.

The file outlives `kill -9` and a power cut at any moment (write-ahead log, `synchronous=FULL`): what was lost is what
was under way. Several processes may share it. It also remembers which Message Batches are out
(`gpa.judges.model.batch`). It holds model answers, never requests: what a judge was shown is not written here.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from pydantic import ValidationError

from gpa.errors import StoreError
from gpa.judges.model.reply import Reply

SCHEMA = 1

_TABLES = """
CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, model TEXT NOT NULL, cost_usd REAL, created_at REAL NOT NULL,
    reply BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS batches (number INTEGER PRIMARY KEY, batch_id TEXT UNIQUE, model TEXT NOT NULL,
    requests INTEGER NOT NULL, created_at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS batch_requests (custom_id TEXT PRIMARY KEY, key TEXT NOT NULL,
    number INTEGER NOT NULL REFERENCES batches (number)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS batch_requests_by_number ON batch_requests (number);
"""


class Cache:
    """The response cache of `--cache FILE`; a context manager, or close it yourself."""

    def __init__(self, path: Path | str) -> None:
        self.path = str(path)
        try:
            self._db = sqlite3.connect(self.path, timeout=60.0, isolation_level=None, check_same_thread=False)
            self._open()
        except sqlite3.Error as error:
            raise StoreError(f"{self.path}: expected a response cache (SQLite) or a place for one, {error}") from error

    def _open(self) -> None:
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        tables = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if version not in (0, SCHEMA) or (version == 0 and tables):
            self._db.close()
            raise StoreError(
                f"{self.path}: expected a response cache of schema {SCHEMA}, found another database"
                f" (user_version {version})"
            )
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        if version == 0:
            self._db.executescript(f"BEGIN IMMEDIATE; {_TABLES} PRAGMA user_version = {SCHEMA}; COMMIT;")

    def get(self, key: str) -> Reply | None:
        """The answer to a request (`Request.key`), marked as from the cache; None when it was never answered."""
        row = self._db.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        try:
            return Reply.model_validate_json(row[0]).model_copy(update={"from_cache": True})
        except ValidationError as error:
            raise StoreError(
                f"{self.path}: expected a reply under key {key}, found {error.errors()[0]['msg']}"
            ) from error

    def put(self, key: str, model: str, reply: Reply) -> None:
        """Keep an answer; it is on the disk when this returns."""
        values = (key, model, reply.cost_usd, time.time(), reply.model_dump_json().encode())
        self._db.execute("INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?)", values)

    def forget(self, key: str) -> None:
        """Drop an answer that would not do (bad JSON also after the re-ask), so that the next run asks again."""
        with self._transaction():
            self._db.execute("DELETE FROM replies WHERE key = ?", (key,))
            self._db.execute("DELETE FROM batch_requests WHERE key = ?", (key,))

    def __len__(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM replies").fetchone()[0])

    def spent_usd(self) -> float:
        """What all kept answers cost together, over all runs; those without a known price are not in it."""
        return float(self._db.execute("SELECT total(cost_usd) FROM replies").fetchone()[0])

    # -- Message Batches ---------------------------------------------------------------------------------------------

    def open_batch(self, model: str, requests: Iterable[tuple[str, str]]) -> int:
        """Number of a batch about to be submitted, with its (custom_id, key) pairs; it has no provider's id yet."""
        pairs = list(requests)
        with self._transaction():
            cursor = self._db.execute(
                "INSERT INTO batches (model, requests, created_at) VALUES (?, ?, ?)", (model, len(pairs), time.time())
            )
            number = int(cursor.lastrowid or 0)
            self._db.executemany(
                "INSERT OR REPLACE INTO batch_requests VALUES (?, ?, ?)", ((name, key, number) for name, key in pairs)
            )
        return number

    def name_batch(self, number: int, batch_id: str) -> None:
        """Keep the id the provider gave a batch; from here on a stopped run picks it up."""
        self._db.execute("UPDATE batches SET batch_id = ? WHERE number = ?", (batch_id, number))

    def drop_batch(self, number: int) -> None:
        """Forget a batch that never was, or whose results are gone: its requests are asked anew."""
        with self._transaction():
            self._db.execute("DELETE FROM batch_requests WHERE number = ?", (number,))
            self._db.execute("DELETE FROM batches WHERE number = ?", (number,))

    def drop_batch_request(self, custom_id: str) -> None:
        """Forget that a request is in a batch (it failed there): the next run asks it anew."""
        self._db.execute("DELETE FROM batch_requests WHERE custom_id = ?", (custom_id,))

    def batch_of(self, custom_id: str) -> tuple[int, str | None] | None:
        """Number and provider's id of the batch that holds a request, or None; no id: submitting it was interrupted."""
        row = self._db.execute(
            "SELECT number, batch_id FROM batch_requests JOIN batches USING (number) WHERE custom_id = ?", (custom_id,)
        ).fetchone()
        return None if row is None else (int(row[0]), row[1])

    def batch_origin(self, number: int) -> tuple[float, int]:
        """When a batch was about to be submitted (seconds since 1970), and with how many requests."""
        row = self._db.execute("SELECT created_at, requests FROM batches WHERE number = ?", (number,)).fetchone()
        return float(row[0]), int(row[1])

    def knows_batch(self, batch_id: str) -> bool:
        """Whether a provider's batch id is one of ours."""
        return self._db.execute("SELECT 1 FROM batches WHERE batch_id = ?", (batch_id,)).fetchone() is not None

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
