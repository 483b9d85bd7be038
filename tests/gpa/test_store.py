"""The store: what it keeps, what it gives back, and what it refuses to open."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gpa.errors import StoreError
from gpa.ingest.transcript import Transcript
from gpa.judges.verdict import Failure, NotApplicable, Usage, Verdict
from gpa.locations import latest
from gpa.store import Arrival, Key, Store, open_store, transcript_hash
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
OTHER = VERDICT.model_copy(update={"rubric_hash": "of other checks", "score": 3})


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


def taken_again(store: Store) -> None:
    store.save(GIVEN, DIGEST, [VERDICT, NOTHING])
    store.save(GIVEN, DIGEST, [OTHER])
    assert set(latest(store.results())) == {OTHER, NOTHING}
    store.put_last(DIGEST, [VERDICT, NOTHING])


def judged_again(store: Store) -> None:
    failed = FAILED.model_copy(update={"judge": VERDICT.judge, "model": VERDICT.model})
    store.save(GIVEN, DIGEST, [failed, NOTHING])
    store.save(GIVEN, DIGEST, [OTHER])
    store.save(GIVEN, DIGEST, [VERDICT])


def of_an_earlier_transcript(store: Store) -> None:
    store.save(GIVEN, DIGEST, [VERDICT, NOTHING])
    store.save(replace(GIVEN, goal="other"), "0" * 32, [OTHER])
    store.put_last(DIGEST, [VERDICT, NOTHING])
    assert [one.goal for one in store.transcripts()] == ["other", GIVEN.goal]


LAST = pytest.mark.parametrize("run", [taken_again, judged_again, of_an_earlier_transcript])


@LAST
def test_what_the_last_run_says_stands_wherever_it_came_from(tmp_path: Path, run: Callable[[Store], None]) -> None:
    with open_store(tmp_path / "gpa.db") as store:
        run(store)
        assert set(latest(store.results())) == {VERDICT, NOTHING}
        assert set(latest(one for kept in store.kept() for one in kept.results)) == {VERDICT, NOTHING}


@LAST
def test_what_the_last_run_says_stands_in_postgresql_too(postgres: str, run: Callable[[Store], None]) -> None:
    with open_store(postgres) as store:
        run(store)
        assert set(latest(store.results())) == {VERDICT, NOTHING}


def test_results_that_stand_already_are_left_where_they_are(tmp_path: Path) -> None:
    with open_store(tmp_path / "gpa.db") as store, sqlite3.connect(tmp_path / "gpa.db") as other:
        store.save(GIVEN, DIGEST, [VERDICT, NOTHING])
        store.save(GIVEN, DIGEST, [OTHER])
        version = other.execute("PRAGMA data_version").fetchone()
        store.put_last(DIGEST, [OTHER, NOTHING])
        assert list(store.results()) == [VERDICT, NOTHING, OTHER]
        assert other.execute("PRAGMA data_version").fetchone() == version


def test_results_taken_again_are_no_news_and_cost_nothing_again(tmp_path: Path) -> None:
    paid = VERDICT.model_copy(update={"model": "m", "cost_usd": 0.5})
    with open_store(tmp_path / "gpa.db", live=True) as store:
        store.save(GIVEN, DIGEST, [paid], Arrival(1, "", announce=True))
        store.save(GIVEN, DIGEST, [paid.model_copy(update={"rubric_hash": "other"})])
        store.announced(number for number, _, _ in store.to_announce(9))
        with sqlite3.connect(tmp_path / "gpa.db") as file:
            file.execute("UPDATE results SET created = '2025-01-01T00:00:00+00:00'")
        before = store.newest(9)
        store.put_last(DIGEST, [paid])
        assert (store.waiting(), store.spent_usd("2025-01-02")) == (0, 0.0)
        assert [one._replace(results=()) for one in store.newest(9)] == [one._replace(results=()) for one in before]


@pytest.mark.parametrize("live", [False, True], ids=["a run", "a receiver"])
def test_a_new_store_may_be_opened_by_several_at_once(tmp_path: Path, live: bool) -> None:
    for number in range(10):
        opened_at_once(str(tmp_path / f"{number}.db"), live=live)


def test_a_new_store_in_postgresql_may_be_opened_by_several_at_once(postgres: str) -> None:
    opened_at_once(postgres)


def opened_at_once(location: str, *, live: bool = False) -> None:
    start = threading.Barrier(4)

    def write(_: int) -> None:
        start.wait()
        with open_store(location, live=live) as store:
            store.save(GIVEN, DIGEST, [VERDICT, NOTHING])

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, range(4)))
    with open_store(location, must_exist=True) as store:
        assert list(store.results()) == [VERDICT, NOTHING]


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
