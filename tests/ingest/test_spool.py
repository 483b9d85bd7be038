"""The spool: what is acknowledged is there, once, until it is evaluated; in a file and in PostgreSQL."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gpa.errors import SpoolError
from gpa.ingest.completion import Patience
from gpa.ingest.spans import Event, LogRecord, Span
from gpa.ingest.spool import Ready, Spool, SpoolLimits, batch_of, open_spool

SECOND = 1_000_000_000
PATIENCE = Patience()
TRACE = "0af7651916cd43dd8448eb211c80319c"
OTHER = "1af7651916cd43dd8448eb211c80319c"


def span(number: int, parent: int | None = None, *, trace: str = TRACE, **fields: Any) -> Span:
    parent_id = None if parent is None else f"{parent:016x}"
    return Span(trace, f"{number:016x}", parent_id, f"span {number}", start_ns=number, end_ns=number + 1, **fields)


def log(number: int, text: str, *, trace: str = TRACE) -> LogRecord:
    return LogRecord(trace, f"{number:016x}", Event("event", 5, {}, text))


class Clock:
    """A time that passes when it is told to."""

    def __init__(self) -> None:
        self.now_ns = 1_800_000_000 * SECOND

    def __call__(self) -> int:
        return self.now_ns

    def passes(self, seconds: float) -> None:
        self.now_ns += int(seconds * SECOND)


Open = Callable[..., Spool]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["file", "postgresql"])
def opened(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Open]:
    """Opens the same spool again and again."""
    location = tmp_path / "spool" if request.param == "file" else request.getfixturevalue("postgres")
    made: list[Spool] = []

    def again(**limits: int) -> Spool:
        for spool in made:
            spool.close()
        made.append(open_spool(location, limits=SpoolLimits(**limits), clock=clock))
        return made[-1]

    yield again
    for spool in made:
        spool.close()


def one(spool: Spool, patience: Patience = PATIENCE) -> Ready:
    (ready,) = spool.complete(patience)
    return ready


def numbers(spool: Spool, ready: Ready) -> list[int]:
    return [int(span.span_id, 16) for span in spool.read(ready).trace.spans]


def test_a_trace_comes_out_as_it_went_in(opened: Open, clock: Clock) -> None:
    odd = {"big": 2**63, "text": "é\x00\n", "nested": [1.5, None, {"a": b"\xff"}], "half": "x"}
    sent = [span(2, 1, attributes=odd), span(1, resource={"service.name": "s"}, attributes={"session.id": "S"})]
    spool = opened()
    spool.append(batch_of(sent[:1]))
    spool.append(batch_of([*sent[1:], log(2, "said")]))
    clock.passes(10)
    arrived = spool.read(one(spool))
    root, child = arrived.trace.spans
    assert (root, child.attributes, child.events) == (sent[1], odd, (Event("event", 5, {}, "said"),))
    assert (arrived.session, arrived.notes, arrived.trace.warnings) == ("S", (), ())


@pytest.mark.parametrize(
    ("values", "held"),
    [
        pytest.param({"n": 2**64}, {"n": "18446744073709551616"}, id="integer beyond 64 bits"),
        pytest.param({"t": "half \ud800"}, {"t": "half \ufffd"}, id="half of a surrogate pair"),
        pytest.param({"k\ud800": 1}, {"k\ufffd": 1}, id="in a key"),
        pytest.param({"s": {1}}, {"s": [1]}, id="a set"),
        pytest.param({"c": 1j}, {"c": "1j"}, id="a number of no format"),
    ],
)
def test_what_messagepack_cannot_hold_is_kept_as_text(tmp_path: Path, values: Any, held: Any) -> None:
    with open_spool(tmp_path / "spool") as spool:
        events = (Event("e", 1, values),)
        spool.append(batch_of([span(1, attributes=values, events=events), log(1, "x")]))
        arrived = spool.trace(TRACE)
        assert arrived is not None
        assert arrived.trace.spans[0].attributes == held
        assert arrived.trace.spans[0].events[0].attributes == held


def test_what_is_sent_twice_is_stored_once(opened: Open, clock: Clock) -> None:
    spool = opened()
    batch = batch_of([span(1), span(2, 1), log(1, "a"), span(3, trace=OTHER)])
    first = spool.append(batch)
    again = spool.append(batch)
    part = spool.append(batch_of([span(2, 1), span(4, 1), span(4, 1), log(1, "a"), log(1, "b")]))
    assert (first.spans, first.logs, first.duplicates) == (3, 1, 0)
    assert (again.spans, again.logs, again.duplicates) == (0, 0, 4)
    assert (part.spans, part.logs, part.duplicates) == (1, 1, 3)
    clock.passes(10)
    readies = {ready.trace_id: ready for ready in spool.complete(PATIENCE)}
    assert (readies[TRACE].spans, readies[TRACE].logs, readies[OTHER].spans) == (3, 2, 1)
    assert numbers(spool, readies[TRACE]) == [1, 2, 4]
    assert spool.read(readies[TRACE]).trace.warnings == ()


def test_a_span_that_changed_is_merged_not_dropped(opened: Open, clock: Clock) -> None:
    spool = opened()
    spool.append(batch_of([span(1, attributes={"a": 1})]))
    stored = spool.append(batch_of([span(1, attributes={"b": 2})]))
    clock.passes(10)
    (only,) = spool.read(one(spool)).trace.spans
    assert (stored.spans, only.attributes) == (1, {"a": 1, "b": 2})


def test_a_repeated_span_does_not_reopen_a_trace(opened: Open, clock: Clock) -> None:
    spool = opened()
    spool.append(batch_of([span(1)]))
    clock.passes(10)
    spool.evaluated(one(spool))
    spool.append(batch_of([span(1)]))
    clock.passes(10_000)
    assert spool.complete(PATIENCE) == []


def test_late_spans_reopen_a_trace_as_its_next_revision(opened: Open, clock: Clock) -> None:
    spool = opened()
    spool.append(batch_of([span(1)]))
    clock.passes(10)
    first = one(spool)
    spool.append(batch_of([span(2, 1)]))  # while the first revision is evaluated
    clock.passes(10)
    assert spool.complete(PATIENCE) == []
    assert numbers(spool, first) == [1]
    spool.evaluated(first)
    second = one(spool)
    assert (first.revision, second.revision, numbers(spool, second)) == (1, 2, [1, 2])
    spool.evaluated(second)
    spool.evaluated(first)  # told twice, late: changes nothing
    clock.passes(10_000)
    assert spool.complete(PATIENCE) == []
    spool.append(batch_of([span(3, 1)]))
    clock.passes(10)
    assert one(spool).revision == 3


def test_a_trace_is_handed_out_once_until_its_lease_ends(opened: Open, clock: Clock) -> None:
    spool = opened()
    spool.append(batch_of([span(1)]))
    clock.passes(10)
    (first,) = spool.complete(PATIENCE, lease_s=100)
    assert spool.complete(PATIENCE) == []
    clock.passes(100)
    assert spool.complete(PATIENCE) == [first]
    spool.release(first, again_s=30)
    assert spool.complete(PATIENCE) == []
    clock.passes(30)
    assert spool.complete(PATIENCE) == [first]


def test_a_restart_continues_where_it_stopped(tmp_path: Path, clock: Clock) -> None:
    def again() -> Spool:
        return open_spool(tmp_path / "spool", clock=clock)

    with again() as spool:
        spool.append(batch_of([span(1), span(2, 9, trace=OTHER)]))
        clock.passes(10)
        taken = one(spool)
    with again() as spool:
        assert one(spool) == taken
        spool.evaluated(taken)
    with again() as spool:
        assert spool.complete(PATIENCE) == []
        spool.append(batch_of([span(9, trace=OTHER)]))
        clock.passes(10)
        assert one(spool).trace_id == OTHER


def test_two_receivers_may_share_a_database(postgres: str, clock: Clock) -> None:
    with open_spool(postgres, clock=clock) as mine, open_spool(postgres, clock=clock) as theirs:
        traces = [f"{number:032x}" for number in range(1, 41)]
        halves = [
            threading.Thread(target=spool.append, args=(batch_of([span(place, place - 1 or None, trace=trace)]),))
            for place, spool in ((1, mine), (2, theirs))
            for trace in traces
        ]
        for half in halves:
            half.start()
        for half in halves:
            half.join()
        clock.passes(10)
        handed = [*mine.complete(PATIENCE, limit=15), *theirs.complete(PATIENCE), *mine.complete(PATIENCE)]
        assert sorted(ready.trace_id for ready in handed) == traces
        assert {ready.spans for ready in handed} == {2}


def test_what_a_dead_process_had_taken_is_handed_out_by_others(postgres: str, clock: Clock) -> None:
    with open_spool(postgres, clock=clock) as dying, open_spool(postgres, clock=clock) as other:
        dying.alive_s = other.alive_s = 1e6  # both are silent from here on
        dying.append(batch_of([span(1)]))
        clock.passes(10)
        taken = one(dying)
        assert other.complete(PATIENCE) == []
        clock.passes(60)
        with open_spool(postgres, clock=clock) as fresh:
            assert fresh.complete(PATIENCE) == [taken]


def test_what_a_process_that_ends_had_taken_is_free_at_once(postgres: str, clock: Clock) -> None:
    with open_spool(postgres, clock=clock) as other:
        with open_spool(postgres, clock=clock) as ending:
            ending.append(batch_of([span(1)]))
            clock.passes(10)
            taken = one(ending)
            assert other.complete(PATIENCE) == []
        assert other.complete(PATIENCE) == [taken]


def test_what_another_receiver_removed_is_room_again(postgres: str, clock: Clock) -> None:
    limits = SpoolLimits(spool_bytes=100)
    with open_spool(postgres, clock=clock) as other, open_spool(postgres, limits=limits, clock=clock) as full:
        full.append(batch_of([span(1, attributes={"t": "x" * 200})]))
        clock.passes(10)
        other.evaluated(one(other))
        assert other.prune(keep_s=0) == 1
        assert full.refusal() == "the spool is full"
        assert full.prune(keep_s=0) == 0
        assert full.refusal() is None


def test_a_batch_cannot_be_called_back(tmp_path: Path) -> None:
    with open_spool(tmp_path / "spool") as spool:
        with spool._database.writing():
            waiting = spool.submit(batch_of([span(1)]))
            assert not waiting.cancel()
        assert waiting.result(20).spans == 1


def test_sessions_group_traces(opened: Open, clock: Clock) -> None:
    spool = opened()
    named = {"gen_ai.conversation.id": "c1", "session.id": "other"}
    spool.append(batch_of([span(1, attributes=named), span(1, trace=OTHER, resource={"session.id": "c1"})]))
    clock.passes(10)
    for ready in spool.complete(PATIENCE):
        spool.evaluated(ready, spool.read(ready).session)
    assert sorted(spool.session("c1")) == [TRACE, OTHER]
    assert spool.session("other") == []


@pytest.mark.parametrize("name", ["a\x00b", "\x00", "long " * 10_000], ids=["NUL", "nothing else", "long"])
def test_a_name_of_a_session_that_a_database_cannot_hold_costs_no_evaluation(
    opened: Open, clock: Clock, name: str
) -> None:
    spool = opened()
    spool.append(batch_of([span(1, attributes={"session.id": name})]))
    clock.passes(10)
    ready = one(spool)
    session = spool.read(ready).session
    spool.evaluated(ready, session)
    assert (spool.complete(PATIENCE), spool.status().open_traces) == ([], 0)
    assert session is None or spool.session(session) == [TRACE]


def test_log_records_wait_for_their_spans(opened: Open, clock: Clock) -> None:
    spool = opened()
    spool.append(batch_of([log(1, "early")]))
    clock.passes(100_000)
    assert (spool.complete(PATIENCE), spool.trace(TRACE)) == ([], None)
    spool.append(batch_of([span(1)]))
    clock.passes(10)
    ready = one(spool)
    assert (ready.spans, ready.logs, spool.read(ready).trace.spans[0].events[0].body) == (1, 1, "early")


def test_a_trace_over_its_limit_is_complete_and_takes_no_more(opened: Open, clock: Clock) -> None:
    spool = opened(trace_records=3)
    stored = spool.append(batch_of([span(number, 99) for number in range(5)]))
    assert (stored.spans, stored.refused) == (3, 2)
    assert stored.message == f"trace {TRACE} has more than 3 spans and log records"
    ready = one(spool)
    assert (ready.why, ready.spans) == ("full", 3)
    spool.evaluated(ready)
    assert spool.append(batch_of([span(7)])).refused == 1
    assert spool.complete(PATIENCE) == []


def test_a_full_spool_refuses_until_traces_are_evaluated_and_removed(opened: Open, clock: Clock) -> None:
    spool = opened(spool_bytes=1000)
    text = "".join(f"{number:05}" for number in range(2000))
    spool.append(batch_of([span(1, attributes={"t": text})]))
    with pytest.raises(SpoolError, match="the spool is full") as full:
        spool.append(batch_of([span(1, trace=OTHER)]))
    assert full.value.retry_s
    assert spool.refusal() == "the spool is full"
    assert spool.prune(keep_s=1e6) == 0
    clock.passes(10)
    spool.evaluated(one(spool))
    assert spool.prune(keep_s=1e6) == 1  # young, but room is needed
    assert spool.append(batch_of([span(1, trace=OTHER)])).spans == 1
    assert (spool.refusal(), spool.status().bytes < 1000) == (None, True)


def test_removed_traces_leave_nothing_and_take_no_more(opened: Open, clock: Clock) -> None:
    spool = opened()
    spool.append(batch_of([span(1), log(1, "x"), log(9, "lonely", trace=OTHER)]))
    clock.passes(10)
    spool.evaluated(one(spool))
    clock.passes(100)
    assert (spool.prune(keep_s=200), spool.prune(keep_s=50), spool.prune(keep_s=50)) == (0, 2, 0)
    assert (spool.trace(TRACE), spool.trace(OTHER), spool.status().bytes) == (None, None, 0)
    stored = spool.append(batch_of([span(2, 1), span(1, trace=OTHER)]))
    assert (stored.spans, stored.refused) == (1, 1)
    assert stored.message == f"trace {TRACE} was evaluated and removed before these spans came"


def test_too_many_waiting_batches_are_refused_not_kept(tmp_path: Path) -> None:
    with open_spool(tmp_path / "spool", limits=SpoolLimits(pending_bytes=1)) as spool:
        with spool._database.writing():  # someone else writes: nothing can be stored meanwhile
            first = spool.submit(batch_of([span(1)]))
            with pytest.raises(SpoolError, match="too many batches wait to be stored"):
                spool.submit(batch_of([span(2)]))
        assert first.result(10).spans == 1
        assert spool.append(batch_of([span(2)])).spans == 1


def test_a_full_disk_refuses_and_recovers(tmp_path: Path) -> None:
    text = "".join(f"{number:07}" for number in range(40_000))
    with open_spool(tmp_path / "spool") as spool:
        spool.append(batch_of([span(1)]))
        connection = spool._database._writer  # type: ignore[attr-defined]  # SQLite's
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(SpoolError, match="the disk is full") as full:
            spool.append(batch_of([span(2, 1, attributes={"t": text})]))
        assert full.value.retry_s
        connection.execute(f"PRAGMA max_page_count = {pages + 10_000}")
        assert spool.append(batch_of([span(2, 1, attributes={"t": text})])).spans == 1


def test_a_nearly_full_disk_is_not_filled(tmp_path: Path) -> None:
    with (
        open_spool(tmp_path / "spool", limits=SpoolLimits(free_bytes=1 << 60)) as spool,
        pytest.raises(SpoolError, match="the disk is nearly full"),
    ):
        spool.append(batch_of([span(1)]))


def test_a_closed_spool_says_so(tmp_path: Path) -> None:
    spool = open_spool(tmp_path / "spool")
    waiting = [spool.submit(batch_of([span(number)])) for number in range(20)]
    spool.close()
    assert [future.result(0).spans for future in waiting] == [1] * 20
    with pytest.raises(SpoolError, match="the spool is closed"):
        spool.submit(batch_of([span(1)]))
