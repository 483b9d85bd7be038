"""Answers are kept across processes, dropped on request, and never read from someone else's database."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from gpa.errors import StoreError
from gpa.judges.model import Cache, Reply, TokenUsage

REPLY = Reply(text="{}", model="claude-x", id="msg_1", usage=TokenUsage(input_tokens=3), cost_usd=0.25)


def test_answer_outlives_the_process_that_paid_for_it(tmp_path: Path) -> None:
    with Cache(tmp_path / "cache.db") as cache:
        assert cache.get("k") is None
        cache.put("k", "anthropic/claude-x", REPLY)
    with Cache(tmp_path / "cache.db") as cache:
        assert cache.get("k") == REPLY.model_copy(update={"from_cache": True})
        assert len(cache) == 1
        assert cache.spent_usd() == 0.25


def test_two_processes_may_share_a_file(tmp_path: Path) -> None:
    with Cache(tmp_path / "cache.db") as one, Cache(tmp_path / "cache.db") as other:
        one.put("k", "m", REPLY)
        assert other.get("k") is not None


def test_forgotten_answer_is_gone_also_from_the_batch_that_gave_it(tmp_path: Path) -> None:
    with Cache(tmp_path / "cache.db") as cache:
        cache.put("k", "m", REPLY)
        cache.open_batch("m", [("id-1", "k"), ("id-2", "other")])
        cache.forget("k")
        assert cache.get("k") is None
        assert cache.batch_of("id-1") is None
        assert cache.batch_of("id-2") == (1, None)


def test_every_commit_reaches_the_disk(tmp_path: Path) -> None:
    with Cache(tmp_path / "cache.db") as cache:
        pragmas = [cache._db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
    assert pragmas == ["wal", 2]


def test_another_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE treasure (x)")
    db.close()
    with pytest.raises(StoreError, match="expected a response cache of schema 1, found another database"):
        Cache(path)
    db = sqlite3.connect(path)
    assert [row[0] for row in db.execute("SELECT name FROM sqlite_master")] == ["treasure"]
    db.close()


def test_file_that_is_no_database_is_a_store_error(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database " * 100)
    with pytest.raises(StoreError, match="expected a response cache"):
        Cache(path)
    with pytest.raises(StoreError, match="expected a response cache"):
        Cache(tmp_path / "missing" / "cache.db")


def test_damaged_row_is_a_store_error_not_an_answer(tmp_path: Path) -> None:
    with Cache(tmp_path / "cache.db") as cache:
        cache._db.execute("INSERT INTO replies VALUES ('k', 'm', 0, 0, '{}')")
        with pytest.raises(StoreError, match="expected a reply under key k"):
            cache.get("k")
