"""Where a spool can be opened: what is none is told in one line, and one process has a file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from gpa.errors import SpoolError
from gpa.ingest.spool import open_spool


def _text(path: Path) -> None:
    path.write_text("hello " * 200)


def _other_version(path: Path) -> None:
    open_spool(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE spool_schema SET version = 9")
    connection.close()


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        pytest.param(_text, "{path}: expected a spool (SQLite), found: file is not a database", id="text"),
        pytest.param(_other_version, "{path}: expected a spool of version 1, found version 9", id="other version"),
        pytest.param(Path.mkdir, "{path}: expected a spool (SQLite), found: unable to open database file", id="folder"),
    ],
)
def test_what_is_no_spool_is_refused(tmp_path: Path, prepare: Callable[[Path], None], message: str) -> None:
    path = tmp_path / "spool"
    prepare(path)
    with pytest.raises(SpoolError) as error:
        open_spool(path)
    assert str(error.value) == message.format(path=path)


@pytest.mark.parametrize(
    ("location", "message"),
    [
        pytest.param("mysql://user:secret@host/x", "expected a path or a postgresql:// URL", id="other database"),
        pytest.param("/nonexistent/folder/spool", "the folder /nonexistent/folder does not exist", id="no folder"),
        pytest.param("postgresql://user:secret@127.0.0.1:1/x", "postgresql://127.0.0.1/x: ", id="no server"),
    ],
)
def test_where_there_is_no_spool(location: str, message: str) -> None:
    with pytest.raises(SpoolError) as error:
        open_spool(location)
    assert message in str(error.value)
    assert "secret" not in str(error.value)


def test_one_process_has_a_file(tmp_path: Path) -> None:
    with open_spool(tmp_path / "spool"), pytest.raises(SpoolError, match="in use by another process"):
        open_spool(tmp_path / "spool")
    open_spool(tmp_path / "spool").close()
