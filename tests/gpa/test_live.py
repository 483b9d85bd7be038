"""Complete traces judged as they come: once per revision, kept before the spool lets go, by a model as policy says."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from gpa.errors import StoreError, UsageError
from gpa.evaluation import Evaluation, evaluate
from gpa.ingest.assembly import read_traces
from gpa.ingest.completion import Patience
from gpa.ingest.files import read_spans
from gpa.ingest.spans import LogRecord, Span, Trace
from gpa.ingest.spool import Ready, Spool, batch_of, open_spool
from gpa.ingest.transcript import Transcript, transcribe
from gpa.judges.model import Reply, ReplyError, ScriptedModel, TokenUsage
from gpa.judges.verdict import AnyResult, Failure
from gpa.judging import Judging
from gpa.live.assessing import Assessor
from gpa.live.evaluating import Evaluator
from gpa.live.policy import Policy, sampled
from gpa.live.serving import Live, opened, until
from gpa.live.settings import Evaluating
from gpa.store import Arrival, Store, open_store
from gpa.telemetry.sending import Endpoint
from tests.judges.replies import reply
from tests.servers.otlp import backend, values

TRACES = Path(__file__).parents[2] / "fixtures" / "traces" / "openinference-smolagents"
INVOICE = TRACES / "invoice_payment.traces.jsonl"
TRAVEL = TRACES / "travel_desk.traces.jsonl"
AT_ONCE = Patience(quiet_s=0, patience_s=0)
INVOICE_ID, TRAVEL_ID = "b2df3a500320dfc65169120523737361", "096c23de2944d610e2963b49a7bf9739"
"""The checks find errors in the first and nothing in the second."""


def spans_of(*paths: Path) -> list[Span | LogRecord]:
    return list(read_spans(paths))


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Live]:
    """Receives these items, evaluates until nothing is left, and closes everything, as a process would that ends."""

    def run(items: Sequence[Span | LogRecord] = (), **settings: Any) -> Live:
        async def main() -> Live:
            known: dict[str, Any] = {"store": tmp_path / "gpa.db", "patience": AT_ONCE, "jobs": 0} | settings
            async with opened(Evaluating(**known)) as live:
                live.spool.append(batch_of(items))
                await until(live, asyncio.Event(), until_idle=True)
                if live.delivery is not None:
                    live.delivery.close()
                return live

        return asyncio.run(main())

    return run


def results_in(tmp_path: Path) -> tuple[AnyResult, ...]:
    return Evaluation.load(tmp_path / "gpa.db").results


def plain(results: Sequence[AnyResult]) -> list[str]:
    return sorted(result.model_dump_json() for result in results)


def test_what_arrives_in_pieces_is_judged_as_the_file_is(run: Callable[..., Live], tmp_path: Path) -> None:
    live = run(spans_of(INVOICE, TRAVEL)[::-1])
    assert live.evaluator.counts.traces == 2
    assert plain(results_in(tmp_path)) == plain(evaluate([INVOICE, TRAVEL]).results)


def test_a_late_span_makes_a_revision_and_its_results_are_the_ones_shown(
    run: Callable[..., Live], tmp_path: Path
) -> None:
    items = spans_of(INVOICE)
    run(items[:-3])
    early = results_in(tmp_path)
    live = run(items[-3:])
    assert live.evaluator.counts.revised == 1
    assert plain(results_in(tmp_path)) == plain(evaluate(INVOICE).results) != plain(early)
    with open_store(tmp_path / "gpa.db", must_exist=True) as store:
        (kept,) = store.newest(10)
        assert (kept.trace_id, kept.revision) == (INVOICE_ID, 2)
        assert [one.revision for one in store.kept(superseded=True)] == [1, 2]
        assert [transcript.trace_id for transcript in store.transcripts()] == [INVOICE_ID]


def test_a_span_sent_again_changes_nothing(run: Callable[..., Live], tmp_path: Path) -> None:
    items = spans_of(INVOICE)
    run(items)
    before = results_in(tmp_path)
    assert run(items).evaluator.counts.traces == 0
    assert results_in(tmp_path) == before


@pytest.mark.parametrize("kept", [False, True], ids=["handed out", "results kept"])
def test_a_process_that_ended_in_between_leaves_nothing_undone_and_nothing_done_twice(
    kept: bool, run: Callable[..., Live], tmp_path: Path
) -> None:
    spool = open_spool(tmp_path / "gpa.db.spool")
    spool.append(batch_of(spans_of(INVOICE)))
    (ready,) = spool.complete(AT_ONCE)
    with open_store(tmp_path / "gpa.db", live=True) as store:
        if kept:
            checked = asyncio.run(Assessor(0, dimensions=["TC"]).assess(spool.read(ready).trace))
            arrival = Arrival(ready.revision, "", announce=True)
            store.save(checked.transcript, checked.transcript_hash, checked.results, arrival)
            store.announced(number for number, _, _ in store.to_announce(9))  # and sent
        spool.close()
        with backend() as there:
            live = run((), dimensions=["TC"], endpoint=Endpoint(there.url))
            sent = [values(record)["gpa.evaluation.kind"] for record in there.records]
        assert live.evaluator.counts.traces == 1
        assert sum(live.evaluator.counts.results.values()) == (0 if kept else 1)
        assert sent.count("verdict") == (0 if kept else 1)
        assert store.waiting() == 0
        assert [one.revision for one in store.kept(superseded=True)] == [1]
    assert plain(results_in(tmp_path)) == plain(evaluate(INVOICE, dimensions=["TC"]).results)


def test_a_trace_is_put_back_while_the_store_is_away(tmp_path: Path) -> None:
    class Away(Store):
        times = 2

        def save(self, *given: Any) -> None:
            if self.times:
                self.times -= 1
                raise StoreError("the database is away")
            super().save(*given)

    class Impatient:
        """A spool that hands out again at once."""

        def __init__(self, spool: Spool) -> None:
            self.complete, self.read, self.evaluated = spool.complete, spool.read, spool.evaluated
            self._spool = spool

        def release(self, ready: Ready, *, again_s: float = 60.0) -> None:
            assert again_s > 0
            self._spool.release(ready, again_s=0)

    with open_store(tmp_path / "gpa.db", live=True) as store, open_spool(tmp_path / "spool") as spool:
        away = Away(store._engine, "gpa.db")
        spool.append(batch_of(spans_of(INVOICE)))
        evaluator = Evaluator(Impatient(spool), away, Assessor(0, dimensions=["TC"]), patience=AT_ONCE)
        asyncio.run(evaluator.run(asyncio.Event(), until_idle=True))
        counts = evaluator.counts
        assert (counts.traces, counts.postponed, counts.last_error) == (1, 2, "")
        assert [result.judge for result in store.results()] == ["TC"]


def test_a_spool_that_was_lost_does_not_make_an_older_revision_count(run: Callable[..., Live], tmp_path: Path) -> None:
    items = spans_of(INVOICE)
    run(items[:-3])
    run(items[-3:-1], spool=tmp_path / "gpa.db.spool")
    run(items, spool=tmp_path / "another.spool")
    assert plain(results_in(tmp_path)) == plain(evaluate(INVOICE).results)
    with open_store(tmp_path / "gpa.db", must_exist=True) as store:
        assert [one.revision for one in store.kept(superseded=True)] == [1, 2, 3]


def test_a_trace_that_breaks_its_reader_costs_its_own_results_only(
    run: Callable[..., Live], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(trace: Trace) -> Transcript:
        if trace.trace_id == INVOICE_ID:
            raise ValueError("a bug")
        return transcribe(trace)

    monkeypatch.setattr("gpa.live.assessing.transcribe", breaks)
    run(spans_of(INVOICE, TRAVEL), dimensions=["TC"])
    kinds = {result.trace_id: result.type for result in results_in(tmp_path)}
    assert kinds == {INVOICE_ID: "failure", TRAVEL_ID: "verdict"}


def test_a_process_of_its_own_gives_the_same_and_may_die(tmp_path: Path) -> None:
    (trace,) = read_traces(INVOICE)
    here, there = Assessor(0, dimensions=["TC"]), Assessor(1, dimensions=["TC"])

    async def main() -> None:
        first = await there.assess(trace)
        assert first == await here.assess(trace)
        assert there._pool is not None
        (worker,) = there._pool._processes
        os.kill(worker, signal.SIGKILL)
        assert await there.assess(trace) == first

    try:
        asyncio.run(main())
    finally:
        there.close()


# -- models ------------------------------------------------------------------------------------------------------------


def asked(run: Callable[..., Live], script: Any, items: Sequence[Any], **settings: Any) -> tuple[Live, list[str]]:
    """What came of it, and the traces that the model was asked about."""
    model = ScriptedModel(script, name="anthropic/claude-sonnet-5-5")
    known: dict[str, Any] = {"dimensions": ["TC"], "judging": Judging(cache=None)} | settings
    live = run(items, model=model, **known)
    return live, [request.trace_id for request in model.requests]


def test_a_model_judges_after_the_checks_and_both_are_kept(run: Callable[..., Live], tmp_path: Path) -> None:
    live, traces = asked(run, [reply()], spans_of(INVOICE))
    assert traces == [INVOICE_ID]
    assert [result.model for result in results_in(tmp_path)] == ["checks", "anthropic/claude-sonnet-5-5"]
    assert live.evaluator.counts.results["TC", "verdict", "anthropic/claude-sonnet-5-5"] == 1


@pytest.mark.parametrize(
    ("policy", "traces", "skipped"),
    [
        (Policy(), [INVOICE_ID, TRAVEL_ID], {}),
        (Policy(when="checks found something"), [INVOICE_ID], {"checks found nothing": 1}),
        (Policy(when="never"), [], {"never": 2}),
        (Policy(sample_rate=0), [], {"not sampled": 2}),
    ],
    ids=["always", "checks found something", "never", "none sampled"],
)
def test_the_policy_says_which_traces_it_is_asked_about(
    policy: Policy, traces: list[str], skipped: dict[str, int], run: Callable[..., Live]
) -> None:
    live, found = asked(run, [reply() for _ in traces], spans_of(INVOICE, TRAVEL), policy=policy)
    assert sorted(found) == sorted(traces)
    assert live.evaluator.counts.skipped == skipped


@given(st.text(max_size=40), st.floats(0, 1), st.floats(0, 1))
def test_a_trace_in_a_share_is_in_every_larger_one(trace_id: str, one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert sampled(trace_id, low) <= sampled(trace_id, high)
    assert sampled(trace_id, 1)
    assert not sampled(trace_id, 0)


def test_the_share_is_about_as_large_as_asked_for_whatever_bits_collectors_sampled_by() -> None:
    kept = [f"{number:016x}{0:016x}" for number in range(10_000)]  # as a collector's sampling by the last bits leaves
    assert 900 < sum(sampled(trace_id, 0.1) for trace_id in kept) < 1100


def test_the_days_budget_holds_over_restarts_and_is_new_the_next_day(run: Callable[..., Live], tmp_path: Path) -> None:
    million = Reply(text=reply(), usage=TokenUsage(input_tokens=1_000_000), model="anthropic/claude-sonnet-5-5")
    judging = Judging(cache=None, max_cost=1.0)
    first, traces = asked(run, [million], spans_of(INVOICE), judging=judging)
    assert traces == [INVOICE_ID]
    spending = first.spending()
    assert spending is not None
    assert spending.cost_usd > 1
    _, traces = asked(run, [], spans_of(TRAVEL), judging=judging)
    assert traces == []
    budget = [result for result in results_in(tmp_path) if isinstance(result, Failure)]
    assert [result.error_type for result in budget] == ["budget"]


def test_a_model_that_cannot_be_reached_is_asked_again_before_that_is_the_result(tmp_path: Path) -> None:
    away = ReplyError(error_type="transport", message="no route")
    model = ScriptedModel([away, reply()], name="anthropic/claude-sonnet-5-5")

    async def main() -> None:
        settings = Evaluating(
            store=tmp_path / "gpa.db",
            patience=AT_ONCE,
            jobs=0,
            dimensions=["TC"],
            model=model,
            judging=Judging(cache=None),
        )
        async with opened(settings) as live:
            releases: list[float] = []
            release = live.spool.release

            def at_once(ready: Ready, *, again_s: float = 0.0) -> None:
                releases.append(again_s)
                release(ready, again_s=0)

            live.spool.release = at_once  # type: ignore[method-assign]  # for this test
            live.spool.append(batch_of(spans_of(INVOICE)))
            await until(live, asyncio.Event(), until_idle=True)
            assert releases == [60.0]

    asyncio.run(main())
    assert [result.type for result in results_in(tmp_path)] == ["verdict", "verdict"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dimensions": ["XX"]}, "dimensions: expected some of LC EE PQ PA TS TC GF, found 'XX'"),
        ({"dimensions": []}, "dimensions: expected some of LC EE PQ PA TS TC GF, found none"),
        ({"self_telemetry": True}, "--self-telemetry: needs --otlp URL, where it goes"),
        ({"judging": Judging()}, "judging: expected a model, found none"),
    ],
    ids=["unknown", "none", "nowhere", "no model"],
)
def test_settings_that_contradict_are_refused(settings: dict[str, Any], message: str, run: Callable[..., Live]) -> None:
    with pytest.raises(UsageError) as raised:
        run((), **settings)
    assert str(raised.value) == message


def test_a_store_of_an_older_version_gets_what_it_lacks_and_keeps_what_it_has(
    run: Callable[..., Live], tmp_path: Path
) -> None:
    evaluate(TRAVEL, store=tmp_path / "gpa.db", dimensions=["TC"])
    with sqlite3.connect(tmp_path / "gpa.db") as old:
        old.execute("DROP TABLE arrivals")
        old.execute("DROP TABLE outbox")
    old.close()
    assert [result.trace_id for result in results_in(tmp_path)] == [TRAVEL_ID]
    run(spans_of(INVOICE), dimensions=["TC"])
    assert [result.trace_id for result in results_in(tmp_path)] == [TRAVEL_ID, INVOICE_ID]


def _turn(number: int, session: str | None, *, late: str = "") -> list[Span]:
    """A trace, in a session or in none; with a late span its next revision."""
    trace_id, named = f"{number:032x}", {} if session is None else {"session.id": session}
    span = Span(trace_id, f"{number:016x}", None, "chat", attributes={"gen_ai.operation.name": "chat", **named})
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": late}
    more = Span(trace_id, f"{number + 99:016x}", span.span_id, late, attributes=attributes)
    return [span, more] if late else [span]


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_a_session_has_its_traces_as_they_came_each_in_its_newest_revision(
    database: str, request: pytest.FixtureRequest, run: Callable[..., Live], tmp_path: Path
) -> None:
    location = tmp_path / "gpa.db" if database == "sqlite" else request.getfixturevalue("postgres")
    for number, session in ((1, "a" * 300), (2, "b"), (3, "a" * 256), (4, None)):
        run(_turn(number, session), store=location)
    run(_turn(1, None, late="search"), store=location)
    with open_store(location) as store:
        found = store.session("a" * 256, 9)
        assert [(one.trace_id[-1], one.revision) for one in found] == [("1", 2), ("3", 1)]
        assert all(one.results for one in found)
        assert [one.trace_id[-1] for one in store.session("a" * 256, 1)] == ["3"]
        assert store.session("c", 9) == []


def test_the_traces_of_a_session_are_found_by_indexes_in_a_store_of_an_older_version_too(
    run: Callable[..., Live], tmp_path: Path
) -> None:
    run(_turn(1, "a"))
    with sqlite3.connect(tmp_path / "gpa.db") as old:
        old.execute("DROP INDEX ix_arrivals_session")
    old.close()
    queries: list[tuple[str, Any]] = []
    with open_store(tmp_path / "gpa.db", live=True) as store:
        sa.event.listen(
            store._engine, "before_cursor_execute", lambda _c, _u, query, values, *_: queries.append((query, values))
        )
        assert len(store.session("a", 9)) == 1
    with sqlite3.connect(tmp_path / "gpa.db") as connection:
        steps = [
            step[-1] for query, values in queries for step in connection.execute(f"EXPLAIN QUERY PLAN {query}", values)
        ]
    connection.close()
    assert any("ix_arrivals_session" in step for step in steps)
    assert [step for step in steps if step.startswith("SCAN")] == []


def test_two_receivers_share_a_database_and_each_trace_is_judged_by_one(postgres: str) -> None:
    items = spans_of(*sorted(TRACES.iterdir()))

    async def main() -> list[int]:
        settings = Evaluating(store=postgres, dimensions=["TC"], patience=AT_ONCE, jobs=0)
        async with opened(settings) as one, opened(settings) as other:
            one.spool.append(batch_of(items[::2]))
            other.spool.append(batch_of(items[1::2]))
            stop = asyncio.Event()
            await asyncio.gather(*(until(live, stop, until_idle=True) for live in (one, other)))
            return [live.evaluator.counts.traces for live in (one, other)]

    assert sum(asyncio.run(main())) == 4
    results = Evaluation.load(postgres).results
    assert plain(results) == plain(evaluate(TRACES, dimensions=["TC"]).results)
