"""The log of a search: what is written is found again, and nothing that is not ours is read or touched."""

from __future__ import annotations

import asyncio
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.errors import StoreError, UsageError
from gpa.judges.model import Client, ErrorType, Outcome, Reply, ReplyError, Request, ScriptedModel
from gpa.optimize.log import ANSWERS, Log

SEARCH = {"seed": 0, "model": "m/1"}
ONE, OTHER = Request(model="m/1", tail="one"), Request(model="m/1", tail="other")
ANSWER = Reply(text="yes", cost_usd=0.25)
REFUSED = ReplyError(error_type="refusal", message="no")
WORLDLY: tuple[ErrorType, ...] = ("transport", "rate_limit", "missing", "budget")


def test_outcomes_are_found_again(tmp_path: Path) -> None:
    with Log(tmp_path / "log", SEARCH) as log:
        assert log.get(ONE) is None
        log.put(ONE, ANSWER)
        log.put(OTHER, REFUSED)
    with Log(tmp_path / "log", SEARCH) as log:
        assert (log.get(ONE), log.get(OTHER)) == (ANSWER, REFUSED)


def test_only_what_says_something_of_the_request_is_kept_by_asking(tmp_path: Path) -> None:
    script = [*(ReplyError(error_type=kind, message="no") for kind in WORLDLY), REFUSED]

    async def main(log: Log) -> list[Outcome]:
        async with Client(ScriptedModel(script, name="m/1")) as client:
            return [await log.ask(client, ONE) for _ in range(len(script) + 1)]

    with Log(tmp_path / "log", SEARCH) as log:
        kinds = [outcome.error_type for outcome in asyncio.run(main(log)) if isinstance(outcome, ReplyError)]
        assert kinds == [*WORLDLY, "refusal", "refusal"]
        log.put(OTHER, ANSWER)
        log.put(Request(model="m/1", tail="third"), ANSWER.model_copy(update={"from_cache": True}))
    with Log(tmp_path / "log", SEARCH) as log:
        assert len(log) == 3
        assert log.paid_usd == ANSWER.cost_usd


def test_without_a_folder_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Log(None, SEARCH) as log:
        log.put(ONE, ANSWER)
        assert log.get(ONE) == ANSWER
    assert not list(tmp_path.iterdir())


@given(cut=st.integers(1, 400))
def test_a_line_that_was_cut_off_is_as_if_it_had_never_begun(
    cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("log")
    with Log(folder / "log", SEARCH) as log:
        log.put(ONE, ANSWER)
        before = (folder / "log" / ANSWERS).stat().st_size
        log.put(OTHER, REFUSED)
    path = folder / "log" / ANSWERS
    whole = path.read_bytes()
    path.write_bytes(whole[: max(before, len(whole) - cut)])
    with Log(folder / "log", SEARCH) as log:
        assert log.get(ONE) == ANSWER
        assert log.get(OTHER) is None
        log.put(OTHER, REFUSED)
    assert path.read_bytes() == whole


def test_a_log_cut_off_in_its_first_line_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / ANSWERS
    path.write_bytes(b'{"marker":"gpa opt')
    with Log(tmp_path, SEARCH) as log:
        log.put(ONE, ANSWER)
    with Log(tmp_path, SEARCH) as log:
        assert log.get(ONE) == ANSWER


FOREIGN: dict[str, tuple[str, bytes, str]] = {
    "another file": ("notes.txt", b"mine", "expected an empty folder or the log of a search, found notes.txt"),
    "gepa's pickle": ("gepa_state.bin", b"\x80\x04.", "found gepa_state.bin"),
    "another log": (ANSWERS, b'{"key":"x"}\n', "expected the log of a search"),
    "a pickle in its place": (ANSWERS, b"\x80\x04cos\nsystem\n(S'true'\ntR.\n", "expected the log of a search"),
    "another schema": (
        ANSWERS,
        b'{"marker":"gpa optimize log","schema":9,"search":{}}\n',
        "expected a log of schema 1",
    ),
}


@pytest.mark.parametrize(("name", "content", "message"), FOREIGN.values(), ids=FOREIGN)
def test_what_is_not_ours_is_refused_and_left_alone(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=message):
        Log(tmp_path, SEARCH)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [(name, content)]


def test_the_log_of_another_search_is_refused_with_what_differs(tmp_path: Path) -> None:
    Log(tmp_path / "log", SEARCH).close()
    with pytest.raises(UsageError, match="model was 'm/1', is 'm/2'"):
        Log(tmp_path / "log", {**SEARCH, "model": "m/2"})


def test_a_broken_line_in_the_middle_is_said_with_its_number(tmp_path: Path) -> None:
    Log(tmp_path / "log", SEARCH).close()
    with (tmp_path / "log" / ANSWERS).open("ab") as file:
        file.write(b"nonsense\n" + orjson.dumps({"key": ONE.key, "outcome": ANSWER.model_dump()}) + b"\n")
    with pytest.raises(StoreError, match=r"answers\.jsonl:2: expected an answer"):
        Log(tmp_path / "log", SEARCH)


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="expected a folder for the log"):
        Log(tmp_path / "file" / "log", SEARCH)
