"""The store: what it keeps, what it gives back, and what it refuses to open."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gpa.errors import StoreError
from gpa.ingest.transcript import Transcript
from gpa.judges.verdict import Failure, NotApplicable, Usage, Verdict
from gpa.store import Key, open_store, transcript_hash
from tests.judges.checks.transcripts import call, llm, said, transcript

GIVEN = transcript(llm(said("Hello."), call("x", {"b": 1, "a": [1.5, None, "é"]})), system="Be kind.")
VERDICT = Verdict(
    trace_id=GIVEN.trace_id,
    judge="LC",
    model="checks",
    score=2,
    rationale="r",
    rubric_hash="h",
    usage=Usage(input_tokens=5),
)
NOTHING = NotApplicable(trace_id=GIVEN.trace_id, judge="PA", model="checks", reason="no plan", rubric_hash="h2")
FAILED = Failure(trace_id=GIVEN.trace_id, judge="TC", model="m", error_type="E", message="m", rubric_hash="h")
DIGEST = transcript_hash(GIVEN)


def key(result: Any) -> Key:
    return Key(result.judge, result.rubric_hash, result.model, result.sample)


def test_results_are_found_by_their_key_only(tmp_path: Path) -> None:
    with open_store(tmp_path / "gpa.db") as store:
        store.save(GIVEN, DIGEST, [VERDICT, NOTHING])
        assert store.known(DIGEST, [key(VERDICT), key(NOTHING)]) == {key(VERDICT): VERDICT, key(NOTHING): NOTHING}
        judge, rubric_hash, model, sample = key(VERDICT)
        others = [
            Key("EE", rubric_hash, model, sample),
            Key(judge, "other", model, sample),
            Key(judge, rubric_hash, "other", sample),
            Key(judge, rubric_hash, model, 1),
        ]
        assert store.known(DIGEST, others) == {}
        assert store.known("0" * 32, [key(VERDICT)]) == {}


def test_failures_are_kept_but_judged_anew_and_replaced(tmp_path: Path) -> None:
    with open_store(tmp_path / "gpa.db") as store:
        store.save(GIVEN, DIGEST, [FAILED])
        assert store.known(DIGEST, [key(FAILED)]) == {}
        assert list(store.results()) == [FAILED]
        judged = Verdict(trace_id=GIVEN.trace_id, judge="TC", model="m", score=3, rationale="r", rubric_hash="h")
        store.save(GIVEN, DIGEST, [judged])
        assert list(store.results()) == [judged]


def test_transcripts_come_back_whole(tmp_path: Path) -> None:
    with open_store(tmp_path / "gpa.db") as store:
        store.save(GIVEN, DIGEST, [])
        store.save(GIVEN, DIGEST, [VERDICT])
        assert list(store.transcripts()) == [GIVEN]


def test_what_json_cannot_hold_costs_the_transcript_not_the_results(tmp_path: Path) -> None:
    odd = transcript(llm(said("half \ud800")))
    with open_store(tmp_path / "gpa.db") as store:
        store.save(odd, transcript_hash(odd), [VERDICT])
        assert (list(store.transcripts()), list(store.results())) == ([], [VERDICT])


def test_two_runs_may_write_to_one_store(tmp_path: Path) -> None:
    with open_store(tmp_path / "gpa.db") as one, open_store(tmp_path / "gpa.db") as other:
        one.save(GIVEN, DIGEST, [VERDICT])
        other.save(GIVEN, DIGEST, [VERDICT, NOTHING])
        assert list(one.results()) == [VERDICT, NOTHING]


def test_a_database_url_is_a_location(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'gpa.db'}") as store:
        store.save(GIVEN, DIGEST, [VERDICT])
    with open_store(tmp_path / "gpa.db") as store:
        assert list(store.results()) == [VERDICT]


def test_a_store_may_be_in_postgresql(postgres: str) -> None:
    location = postgres.replace("postgresql://", "postgresql+psycopg://")
    with open_store(location) as store:
        store.save(GIVEN, DIGEST, [FAILED, NOTHING])
    judged = Verdict(trace_id=GIVEN.trace_id, judge="TC", model="m", score=3, rationale="r", rubric_hash="h")
    with open_store(location, must_exist=True) as store:
        store.save(GIVEN, DIGEST, [judged, VERDICT])
        assert list(store.results()) == [judged, NOTHING, VERDICT]
        assert store.known(DIGEST, [key(VERDICT), key(judged)]) == {key(VERDICT): VERDICT, key(judged): judged}
        assert list(store.transcripts()) == [GIVEN]


def _other_database(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER)")


def _other_schema(path: Path) -> None:
    open_store(path).__exit__(None, None, None)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE gpa_store SET schema = 7")


def _half_a_database(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\x00" + b"\xff" * 5000)


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        pytest.param(
            lambda path: path.write_text("{}"),
            "{path}: expected a results store (SQLite), found another kind of file",
            id="text",
        ),
        pytest.param(Path.mkdir, "{path}: expected a results store (a file), found a folder", id="folder"),
        pytest.param(
            _other_database,
            "{path}: expected a results store, found a database with other tables (orders)",
            id="other database",
        ),
        pytest.param(_other_schema, "{path}: expected a results store of schema 1, found schema 7", id="other schema"),
        pytest.param(_half_a_database, "{path}: the store cannot be opened: file is not a database", id="damaged"),
    ],
)
def test_what_is_not_a_store_is_refused_and_left_alone(tmp_path: Path, prepare: Any, message: str) -> None:
    path = tmp_path / "gpa.db"
    prepare(path)
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(StoreError) as error:
        open_store(path)
    assert str(error.value) == message.format(path=path)
    assert before == (path.read_bytes() if path.is_file() else b"")


def test_a_missing_folder_and_a_missing_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"the folder .* does not exist"):
        open_store(tmp_path / "none" / "gpa.db")
    with pytest.raises(StoreError, match="no such results store"):
        open_store(tmp_path / "gpa.db", must_exist=True)
    assert not (tmp_path / "gpa.db").exists()


def test_a_password_never_reaches_a_message() -> None:
    with pytest.raises(StoreError) as error:
        open_store("nosuchdatabase://user:secret@localhost/x")
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("other", "same"),
    [
        pytest.param(replace(GIVEN, warnings=("read with a note",)), True, id="notes"),
        pytest.param(
            transcript(llm(said("Hello."), call("x", {"a": [1.5, None, "é"], "b": 1})), system="Be kind."),
            True,
            id="order of keys",
        ),
        pytest.param(replace(GIVEN, trace_id="other"), False, id="trace"),
        pytest.param(replace(GIVEN, goal="other"), False, id="goal"),
        pytest.param(replace(GIVEN, steps=()), False, id="steps"),
    ],
)
def test_the_hash_is_of_what_is_judged(other: Transcript, same: bool) -> None:
    assert (transcript_hash(other) == DIGEST) is same


def test_what_json_cannot_hold_has_a_hash_too() -> None:
    odd = [
        transcript(llm(said("\ud800"))),
        transcript(llm(said("\ud801"))),
        transcript(llm(call("x", {1: 2}))),
        transcript(llm(call("x", {1: 3}))),
    ]
    assert len({transcript_hash(one) for one in odd}) == 4


def test_nesting_without_end_has_a_hash_too() -> None:
    deep: Any = 1
    for _ in range(5_000):
        deep = {"a": deep}
    odd = transcript(llm(call("x", deep)), llm(said("one")))
    assert transcript_hash(odd) != transcript_hash(transcript(llm(call("x", deep)), llm(said("two"))))
