"""Verdicts as events: on the right spans, by the names of the conventions, through the real exporters, never lost."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpa.errors import UsageError
from gpa.ingest.assembly import read_traces
from gpa.ingest.transcript import Transcript, transcribe
from gpa.judges.redact import Redactor
from gpa.judges.scoring import judge
from gpa.judges.verdict import Failure, Finding, NotApplicable, Verdict
from gpa.live.delivery import REFUSALS, Delivery
from gpa.store import Arrival, Store, open_store, transcript_hash
from gpa.telemetry.events import EVENT_NAME, MAX_BODY, About, Event, events_of
from gpa.telemetry.own import recording
from gpa.telemetry.sending import SCOPE, Endpoint, opened, parse_headers
from tests.servers.otlp import Backend, backend, free_port, values

FIXTURE = (
    Path(__file__).parents[2] / "fixtures" / "traces" / "openinference-smolagents" / "invoice_payment.traces.jsonl"
)
TRACE_ID, SPAN_ID = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SEMCONV = {
    "gen_ai.evaluation.name",
    "gen_ai.evaluation.score.value",
    "gen_ai.evaluation.score.label",
    "gen_ai.evaluation.explanation",
    "gen_ai.conversation.id",
    "error.type",
    "log.record.uid",
}
"""Names that OpenTelemetry has given a meaning; all others must be ours."""


@pytest.fixture(scope="module")
def paid() -> Transcript:
    (trace,) = read_traces(FIXTURE)
    return transcribe(trace)


@pytest.fixture
def there() -> Iterator[Backend]:
    with backend() as service:
        yield service


def finding(*span_ids: str, **more: Any) -> Finding:
    known = {"quote": "q", "problem": "p", "category": "Tool-related", "severity": "HIGH", "check": "claimed-success"}
    return Finding(span_ids=span_ids, **(known | more))


def verdict(*findings: Finding, dimension: str = "TC", **more: Any) -> Verdict:
    known: dict[str, Any] = {"trace_id": TRACE_ID, "model": "checks", "score": 1, "rationale": "r", "rubric_hash": "h"}
    return Verdict(judge=dimension, findings=findings, **(known | more))


def test_a_verdict_stands_on_the_span_of_the_first_agent_and_says_who_judged_by_what(paid: Transcript) -> None:
    agent = next(step for step in paid.steps if step.kind == "agent")
    event = events_of([verdict(trace_id=paid.trace_id)], About(paid, "digest", revision=2, session="s-1"))[0]
    assert (event.trace_id, event.span_id, event.severity) == (paid.trace_id, agent.span_id, "INFO")
    said = event.attributes
    assert said["gen_ai.evaluation.name"] == "Tool Calling"
    assert (said["gen_ai.evaluation.score.value"], said["gen_ai.evaluation.score.label"]) == (1.0, "major")
    assert (said["gpa.evaluator.name"], said["gpa.rubric.hash"], said["gpa.evaluation.revision"]) == ("checks", "h", 2)
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", str(said["gpa.evaluator.version"]))
    assert said["gen_ai.conversation.id"] == "s-1"


def test_a_finding_stands_on_the_span_that_holds_the_error_once_for_all_its_dimensions() -> None:
    found = finding(SPAN_ID, "00f067aa0ba902b7")
    events = events_of([verdict(found), verdict(found, dimension="GF"), verdict(finding("aa" * 8), dimension="EE")])
    kinds = [event.attributes["gpa.evaluation.kind"] for event in events]
    assert kinds == ["verdict"] * 3 + ["finding"] * 2
    first = events[3]
    assert (first.trace_id, first.span_id) == (TRACE_ID, SPAN_ID)
    assert first.attributes["gpa.evaluation.dimensions"] == ["TC", "GF"]
    assert first.attributes["gpa.finding.span_ids"] == [SPAN_ID, "00f067aa0ba902b7"]
    assert first.attributes["gen_ai.evaluation.score.label"] == "high"
    assert "gen_ai.evaluation.score.value" not in first.attributes


def test_the_three_outcomes_are_told_apart() -> None:
    about: dict[str, Any] = {"trace_id": TRACE_ID, "judge": "PA", "model": "m"}
    nothing, failed = events_of(
        [
            NotApplicable(reason="no plan", **about),
            Failure(error_type="refusal", message="would not", **about),
        ]
    )
    assert nothing.attributes["gen_ai.evaluation.score.label"] == "not_applicable"
    assert nothing.attributes["gen_ai.evaluation.explanation"] == "no plan"
    assert (failed.attributes["error.type"], failed.severity) == ("refusal", "WARN")
    assert not {"gen_ai.evaluation.score.value", "gen_ai.evaluation.score.label"} & failed.attributes.keys()
    assert "gen_ai.evaluation.score.value" not in nothing.attributes


@pytest.mark.parametrize(
    ("trace_id", "span_id", "context", "kept"),
    [
        (TRACE_ID, SPAN_ID, (TRACE_ID, SPAN_ID), {}),
        (TRACE_ID, "0" * 16, (TRACE_ID, ""), {"gpa.span.id": "0" * 16}),
        (TRACE_ID, "call-1", (TRACE_ID, ""), {"gpa.span.id": "call-1"}),
        ("0" * 32, SPAN_ID, ("", ""), {"gpa.trace.id": "0" * 32, "gpa.span.id": SPAN_ID}),
        ("run-7", "call-1", ("", ""), {"gpa.trace.id": "run-7", "gpa.span.id": "call-1"}),
        (TRACE_ID.upper(), SPAN_ID, ("", ""), {"gpa.trace.id": TRACE_ID.upper(), "gpa.span.id": SPAN_ID}),
    ],
    ids=["hex", "zero-span", "named-span", "zero-trace", "named-trace", "upper-case"],
)
def test_ids_that_otlp_cannot_hold_are_attributes(
    trace_id: str, span_id: str, context: tuple[str, str], kept: dict[str, str]
) -> None:
    event = events_of([verdict(finding(span_id), trace_id=trace_id)])[1]
    assert (event.trace_id, event.span_id) == context
    assert {key: event.attributes[key] for key in ("gpa.trace.id", "gpa.span.id") if key in event.attributes} == kept


def test_an_event_sent_twice_has_the_same_uid_and_no_two_events_share_one(paid: Transcript) -> None:
    results = judge(paid)

    def uids(about: About) -> list[object]:
        return [event.attributes["log.record.uid"] for event in events_of(results, about)]

    once, again = uids(About(paid, "digest", 1)), uids(About(paid, "digest", 1))
    assert once == again
    assert len(set(once)) == len(once)
    assert not set(once) & set(uids(About(paid, "another transcript", 2)))


def test_every_name_is_of_the_conventions_or_ours(paid: Transcript) -> None:
    for event in events_of(judge(paid), About(paid, session="s")):
        assert {name for name in event.attributes if not name.startswith("gpa.")} <= SEMCONV


def test_secrets_do_not_leave() -> None:
    key = "AKIAIOSFODNN7EXAMPLE"
    found = finding(SPAN_ID, quote=f"key {key}", problem=f"shows {key}")
    for event in events_of([verdict(found, rationale=f"it printed {key}")], clean=Redactor()):
        assert key not in f"{event.body}{event.attributes}"
        assert "[REDACTED" in str(event.attributes["gen_ai.evaluation.explanation"])


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_the_real_exporters_deliver_them_with_their_ids(protocol: str, there: Backend, paid: Transcript) -> None:
    url = there.url if protocol != "grpc" else there.grpc
    events = events_of(judge(paid), About(paid, "digest", 1))
    with opened(Endpoint(url, protocol, {"authorization": "Bearer t"})) as sender:
        assert sender.send(events)
    ((path, headers, message),) = there.requests
    assert path == ("/v1/logs" if protocol != "grpc" else "grpc")
    assert headers["authorization"] == "Bearer t"
    (held,) = message.resource_logs
    (scoped,) = held.scope_logs
    assert scoped.scope.name == SCOPE
    assert {pair.key: pair.value.string_value for pair in held.resource.attributes}["service.name"] == "gpa"
    records = there.records
    assert [record.event_name for record in records] == [EVENT_NAME] * len(events)
    assert [(record.trace_id.hex(), record.span_id.hex()) for record in records] == [
        (event.trace_id, event.span_id) for event in events
    ]
    assert [values(record) for record in records] == [event.attributes for event in events]


def test_a_body_is_one_short_line_that_no_terminal_obeys_and_attributes_are_as_they_were_said() -> None:
    said = "\x1b[2J paid\n\u202enot " + "x" * 500
    found = finding(SPAN_ID, problem=said, category=f"Tool\x07 {said}")
    for event in events_of([verdict(found, rationale=said)]):
        assert event.body.isprintable()
        assert len(event.body) <= MAX_BODY
        assert event.attributes["gen_ai.evaluation.explanation"] == said


def test_half_a_character_does_not_cost_the_batch(there: Backend) -> None:
    events = events_of([verdict(finding(SPAN_ID, quote="\ud83d", problem="\udc00 half"), rationale="\ud83d")])
    with opened(Endpoint(there.url)) as sender:
        assert sender.send(events)
    assert len(there.records) == 2


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_a_backend_that_is_away_is_no_exception(protocol: str) -> None:
    event = Event(TRACE_ID, SPAN_ID, 1, "INFO", "b", {})
    with opened(Endpoint(f"127.0.0.1:{free_port()}", protocol), timeout_s=0.3) as sender:
        assert not sender.send([event])
        assert sender.why


@pytest.mark.parametrize(
    ("url", "protocol", "expected", "shown"),
    [
        ("http://h:4318", None, "http://h:4318/v1/logs", "http://h:4318 (http/protobuf)"),
        ("http://h:4318/", None, "http://h:4318/v1/logs", "http://h:4318 (http/protobuf)"),
        ("https://h/otlp", None, "https://h/otlp/v1/logs", "https://h (http/protobuf)"),
        ("https://h/v1/logs", None, "https://h/v1/logs", "https://h (http/protobuf)"),
        ("h:4317", None, "http://h:4317", "http://h:4317 (grpc)"),
        ("https://h:443", "grpc", "https://h:443", "https://h:443 (grpc)"),
        ("http://[::1]:4318", None, "http://[::1]:4318/v1/logs", "http://[::1]:4318 (http/protobuf)"),
        ("http://user:secret@h:4318", None, "http://user:secret@h:4318/v1/logs", "http://h:4318 (http/protobuf)"),
    ],
    ids=str,
)
def test_endpoints(url: str, protocol: str | None, expected: str, shown: str) -> None:
    endpoint = Endpoint(url, protocol)
    assert (endpoint.url, str(endpoint)) == (expected, shown)


@pytest.mark.parametrize("url", ["ftp://h:1", "http://", "http://h:port", "http://[h", ""])
def test_what_is_no_endpoint_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="--otlp: expected a URL such as"):
        Endpoint(url)


def test_headers_are_read_as_the_environment_variable_has_them() -> None:
    assert parse_headers("api-key=a%3Db, X-Org = o,,") == {"api-key": "a=b", "x-org": "o"}
    with pytest.raises(UsageError, match="--headers: expected key=value"):
        parse_headers("api-key")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "gpa.db", live=True) as kept:
        yield kept


def keep(store: Store, transcript: Transcript, trace_id: str) -> None:
    """Results of a trace of this id, to be announced."""
    from msgspec.structs import replace

    one = replace(transcript, trace_id=trace_id)
    store.save(one, transcript_hash(one), judge(one, ["TC"]), Arrival(1, "", announce=True))


def ids(there: Backend) -> list[str]:
    return [record.trace_id.hex() for record in there.records if values(record)["gpa.evaluation.kind"] == "verdict"]


def test_what_waited_while_the_backend_was_away_arrives_once_when_it_is_back(
    store: Store, paid: Transcript, there: Backend
) -> None:
    there.accepts = lambda _: False
    wanted = [f"{number:032x}" for number in range(1, 41)]
    for trace_id in wanted:
        keep(store, paid, trace_id)
    with opened(Endpoint(there.url)) as sender:
        delivery = Delivery(store, sender, poll_s=0.01, longest_pause_s=0.05)
        delivery.start()
        there.wait_for(lambda: len(there.requests) >= 3)
        assert (delivery.sent, store.waiting()) == (0, 40)
        there.accepts = bool
        there.wait_for(lambda: len(ids(there)) >= 40)
        assert delivery.close() == 0
    assert sorted(ids(there)) == wanted
    assert (delivery.given_up, delivery.why) == (0, "")


def test_what_was_not_sent_when_the_process_ended_is_sent_by_the_next(
    store: Store, paid: Transcript, there: Backend
) -> None:
    keep(store, paid, TRACE_ID)
    with opened(Endpoint(f"127.0.0.1:{free_port()}", "http/protobuf"), timeout_s=0.1) as sender:
        assert not Delivery(store, sender).step()
    with opened(Endpoint(there.url)) as sender:
        delivery = Delivery(store, sender)
        assert delivery.step()
        assert not delivery.step()
    assert ids(there) == [TRACE_ID]


def test_what_the_backend_refuses_although_it_takes_others_is_given_up_and_counted(
    store: Store, paid: Transcript, there: Backend
) -> None:
    poison = "ee" * 16
    there.refusal = 400
    there.accepts = lambda message: bytes.fromhex(poison) not in message.SerializeToString()
    with opened(Endpoint(there.url)) as sender:
        delivery = Delivery(store, sender)
        keep(store, paid, poison)
        for number in range(1, 2 * REFUSALS):
            keep(store, paid, f"{number:032x}")
            for _ in range(4):
                delivery.step()
    assert (delivery.given_up, store.waiting()) == (1, 0)
    assert sorted(ids(there)) == [f"{number:032x}" for number in range(1, 2 * REFUSALS)]


@pytest.mark.parametrize(
    "damage",
    ["UPDATE results SET payload = '{' WHERE trace_id = ?", "UPDATE traces SET transcript = x'00' WHERE trace_id = ?"],
    ids=["result", "transcript"],
)
def test_what_cannot_be_read_any_more_holds_nobody_up(
    damage: str, store: Store, paid: Transcript, there: Backend, tmp_path: Path
) -> None:
    damaged = "ee" * 16
    keep(store, paid, damaged)
    with sqlite3.connect(tmp_path / "gpa.db") as database:
        database.execute(damage, (damaged,))
    database.close()
    with opened(Endpoint(there.url)) as sender:
        delivery = Delivery(store, sender)
        for number in range(1, 2 * REFUSALS):
            keep(store, paid, f"{number:032x}")
            for _ in range(4):
                delivery.step()
    assert (delivery.given_up, store.waiting()) == (1, 0)
    assert sorted(ids(there)) == [f"{number:032x}" for number in range(1, 2 * REFUSALS)]


def test_its_own_spans_are_linked_to_what_they_are_about_and_bear_our_scope(there: Backend, paid: Transcript) -> None:
    results = judge(paid)
    with recording(Endpoint(there.url)) as own:
        own.evaluated(paid, results, revision=1, start_ns=1_000, end_ns=2_000)
    traces = [message for path, _, message in there.requests if path == "/v1/traces"]
    (span,) = [
        span for message in traces for held in message.resource_spans for s in held.scope_spans for span in s.spans
    ]
    assert span.name == "gpa.evaluate"
    assert span.trace_id.hex() != paid.trace_id
    linked = {link.span_id.hex() for link in span.links}
    cited = {found.span_ids[0] for one in results if isinstance(one, Verdict) for found in one.findings}
    assert cited <= linked
    assert {link.trace_id.hex() for link in span.links} == {paid.trace_id}
    metrics = [message for path, _, message in there.requests if path == "/v1/metrics"]
    found = {
        m.name for message in metrics for r in message.resource_metrics for s in r.scope_metrics for m in s.metrics
    }
    assert {"gpa.evaluation.duration", "gpa.evaluation.results"} <= found
    scopes = {s.scope.name for message in traces for held in message.resource_spans for s in held.scope_spans}
    assert scopes == {SCOPE}
