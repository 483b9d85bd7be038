"""A file is there whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import IO

import pytest

from gpa.ingest.whole import replacing


def test_the_file_is_there_when_the_block_has_ended_well(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    path.write_text("old")
    with replacing(path) as file:
        file.write(b"new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_what_breaks_leaves_everything_as_it_was(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "f.json"
    path.write_text("old")
    with pytest.raises(error), replacing(path) as file:
        _break_off(file, error)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def _break_off(file: IO[bytes], error: type[BaseException]) -> None:
    file.write(b"ne")
    raise error


def test_two_that_write_at_once_mix_nothing(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    with replacing(path) as one:
        one.write(b"one")
        with replacing(path) as other:
            other.write(b"other")
        assert path.read_text() == "other"
    assert path.read_text() == "one"


def test_a_file_may_be_read_by_whoever_may_read_new_files_here(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    with replacing(tmp_path / "whole"):
        pass
    assert (tmp_path / "whole").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_what_cannot_be_written_is_an_os_error_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "none" / "f"):
        pass
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError), replacing(tmp_path / "folder") as file:
        file.write(b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
