"""Evaluations by LLM judges: resumed, repeated, bounded, by file and by batch; what breaks costs only itself."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from gpa.errors import GpaError, InputError, StoreError, UsageError
from gpa.evaluation import Evaluation, Progress, evaluate
from gpa.forecast import aforecast
from gpa.ingest.spans import Span, Trace
from gpa.ingest.transcript import Transcript
from gpa.judges.model import Outcome, Reply, ReplyError, Request, ScriptedModel
from gpa.judges.verdict import DIMENSIONS, Failure, NotApplicable, Verdict
from gpa.judging import Judging, default_cache
from gpa.store import open_store
from tests.gpa.answers import varied
from tests.gpa.killed_evaluations import measure
from tests.judges.checks.transcripts import call, llm, said, tool, transcript
from tests.judges.replies import QUOTE, RUN, answer, finding, reply
from tests.servers.messages import Answer, MessagesService, messages_service

ROOT = Path(__file__).parents[2]
SONNET = "anthropic/claude-sonnet-5-5"
ALL = tuple(DIMENSIONS)


@pytest.fixture(autouse=True)
def own_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")


@pytest.fixture
def service() -> Iterator[MessagesService]:
    with messages_service() as serving:
        yield serving


def run_of(name: str) -> Transcript:
    return transcript(llm(said(f"I am {name}.")), tool("search", {"query": name}, "nothing"), trace_id=name * 32)


A, B = run_of("a"), run_of("b")


def live(
    service: MessagesService, traces: Sequence[Any] = (A, B), *, store: Path | None = None, **options: Any
) -> Evaluation:
    judging = Judging(base_url=service.url, **options)
    return evaluate(traces, model=SONNET, store=store, judging=judging)


def kinds(evaluation: Evaluation) -> list[tuple[str, str, str]]:
    return [
        (one.trace_id[:1], one.judge, one.error_type if isinstance(one, Failure) else one.type)
        for one in evaluation.results
    ]


# results


def test_a_model_judges_every_dimension_in_place_of_the_checks() -> None:
    script = {code: reply(finding(), score=1) for code in ALL} | {"PA": reply(score=None, not_applicable="no plan")}
    evaluation = evaluate(RUN, model=ScriptedModel(script))
    assert [(one.judge, one.type, one.model) for one in evaluation.results] == [
        (code, "not_applicable" if code == "PA" else "verdict", "scripted/model") for code in ALL
    ]
    assert {finding.span_ids for one in evaluation.results if isinstance(one, Verdict) for finding in one.findings} == {
        ("span3",)
    }
    assert evaluation.spending is not None
    assert (evaluation.spending.paid, evaluation.spending.unpriced) == (7, 7)


def test_samples_are_results_of_their_own_in_order() -> None:
    script = {f"{RUN.trace_id}/TC/{sample}": reply(score=sample) for sample in range(3)}
    evaluation = evaluate(RUN, model=ScriptedModel(script), dimensions=["TC"], judging=Judging(samples=3))
    assert [(one.sample, one.score) for one in evaluation.results if isinstance(one, Verdict)] == [
        (0, 0),
        (1, 1),
        (2, 2),
    ]


def test_one_request_fills_all_verdicts_in_single_mode() -> None:
    model = ScriptedModel({"all": json.dumps({code: answer(score=3) for code in ALL})})
    evaluation = evaluate(RUN, model=model, judging=Judging(mode="single"))
    assert len(model.requests) == 1
    assert [one.type for one in evaluation.results] == ["verdict"] * 7


def test_rubrics_of_ones_own_are_judged_and_summed_up_under_their_title(tmp_path: Path) -> None:
    (tmp_path / "tone.md").write_text("# Tone of Voice\n\nIs it kind?\n")
    (tmp_path / "TC.md").write_text("# Tools, our way\n\nAre they called?\n")
    model = ScriptedModel({code: reply(score=3) for code in ("TC", "tone")})
    judging = Judging(rubrics=tmp_path)
    evaluation = evaluate(RUN, model=model, dimensions=["tone", "TC"], judging=judging)
    assert [(row.dimension, row.name, row.mean) for row in evaluation.summary()] == [
        ("TC", "Tools, our way", 3.0),
        ("tone", "Tone of Voice", 3.0),
    ]
    assert any("Is it kind?" in request.tail for request in model.requests)
    everything = ScriptedModel([reply()] * 8)
    assert len(evaluate(RUN, model=everything, judging=judging).results) == 8


def test_notes_and_examples_go_with_every_request(tmp_path: Path) -> None:
    notes, examples = tmp_path / "notes.md", tmp_path / "gold.jsonl"
    notes.write_text("Two agents share a notebook.")
    examples.write_text('{"evidence": "it is said", "description": "it is not"}\n')
    model = ScriptedModel([reply()] * 2)
    judging = Judging(agent_notes=notes, examples=examples)
    evaluate(RUN, model=model, dimensions=["LC", "EE"], judging=judging)
    assert all("Two agents share a notebook." in request.system for request in model.requests)
    assert all("it is not" in request.tail for request in model.requests)


def test_findings_of_the_checks_are_confirmed_or_rejected_and_told_apart() -> None:
    bad = call("search", {"query": "q", "page": 1}, "c1")
    steps = [llm(bad), tool("search", {}, error="TypeError: no argument 'page'", call_id="c1")] * 3
    run = transcript(*steps, llm(said("The search failed.")))
    leads = [{"id": "c1", "decision": "confirm", "reason": "so it is"}]
    script = {"TC": reply(leads=leads)}
    evaluation = evaluate(run, model=ScriptedModel(script), dimensions=["TC"], judging=Judging(with_checks=True))
    [verdict] = evaluation.results
    assert isinstance(verdict, Verdict)
    assert [finding.check is not None for finding in verdict.findings] == [True]


def test_secrets_do_not_leave_unless_told_to_and_are_counted() -> None:
    run = transcript(llm(said("Write to jane.doe@example.com.")))
    for redact, sent, counts in ((True, False, (("E-mail Address", 1),)), (False, True, ())):
        model = ScriptedModel([reply()])
        evaluation = evaluate(run, model=model, dimensions=["LC"], judging=Judging(redact=redact))
        assert ("jane.doe@example.com" in model.requests[0].prefix) is sent
        assert evaluation.spending is not None
        assert evaluation.spending.redactions == counts


# resuming


def test_the_next_run_asks_only_for_what_failed(tmp_path: Path) -> None:
    store = tmp_path / "gpa.db"
    overloaded = ReplyError(error_type="overloaded", message="busy")
    first = ScriptedModel({"LC": reply(score=1), "TC": overloaded})
    evaluation = evaluate(RUN, model=first, dimensions=["LC", "TC"], store=store)
    assert [one.type for one in evaluation.results] == ["verdict", "failure"]
    assert evaluation.exit_code() == 3
    second = evaluate(RUN, model=ScriptedModel({"TC": reply(score=2)}), dimensions=["LC", "TC"], store=store)
    assert [one.score for one in second.results if isinstance(one, Verdict)] == [1, 2]
    assert (second.reused, second.exit_code()) == (1, 0)
    with open_store(store) as opened:
        assert sorted(one.type for one in opened.results()) == ["verdict", "verdict"]


@pytest.mark.parametrize(
    ("change", "reused"),
    [
        ({}, 1),
        ({"samples": 2}, 1),
        ({"effort": "high"}, 0),
        ({"mode": "single"}, 0),
        ({"with_checks": True}, 0),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_a_result_is_reused_when_the_same_was_asked(tmp_path: Path, change: dict[str, Any], reused: int) -> None:
    evaluate(RUN, model=ScriptedModel([reply()]), dimensions=["LC"], store=tmp_path / "gpa.db")
    judging = Judging(**change)
    asked = judging.samples - reused
    replies = [json.dumps({"LC": answer(leads=[])}) if judging.mode == "single" else reply(leads=[])] * asked
    again = evaluate(RUN, model=ScriptedModel(replies), dimensions=["LC"], store=tmp_path / "gpa.db", judging=judging)
    assert again.reused == reused
    assert {one.type for one in again.results} == {"verdict"}


def test_another_model_judges_anew(tmp_path: Path) -> None:
    for name in ("scripted/one", "scripted/two"):
        model = ScriptedModel([reply()], name=name)
        assert evaluate(RUN, model=model, dimensions=["LC"], store=tmp_path / "gpa.db").reused == 0


def test_without_a_store_answers_are_kept_all_the_same_and_not_paid_twice(service: MessagesService) -> None:
    first = live(service)
    assert first.spending is not None
    assert first.spending.paid == 14
    assert default_cache().exists()
    assert default_cache().parent.stat().st_mode & 0o077 == 0
    second = live(service)
    assert second.spending is not None
    assert (second.spending.paid, second.spending.from_cache, second.spending.cost_usd) == (0, 14, 0.0)
    assert second.results == first.results
    third = live(service, cache=None)
    assert third.spending is not None
    assert third.spending.paid == 14


def test_a_model_given_as_an_object_has_no_memory_unless_one_is_named(tmp_path: Path) -> None:
    evaluate(RUN, model=ScriptedModel([reply()]), dimensions=["LC"])
    assert not default_cache().exists()
    judging = Judging(cache=tmp_path / "answers.db")
    evaluate(RUN, model=ScriptedModel([reply()]), dimensions=["LC"], judging=judging)
    evaluate(RUN, model=ScriptedModel([]), dimensions=["LC"], judging=judging)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_runs_pay_for_every_request_once_plus_those_under_way(tmp_path: Path) -> None:
    traces = str(ROOT / "fixtures" / "traces" / "openinference-smolagents")
    found = measure(traces, tmp_path, requests=28, kills=4, seed=3, concurrency=3)
    assert found.killed >= 2
    assert found.requests == len(found.results) == 28
    assert found.twice <= found.killed * 3
    assert found.results == found.uninterrupted
    assert found.paid_afterwards == 0


# money


def test_a_run_stops_before_the_request_that_could_cost_too_much_and_goes_on_with_more(
    service: MessagesService, tmp_path: Path
) -> None:
    store = tmp_path / "gpa.db"
    service.model = lambda _params: Answer(reply(rationale="so it is " * 2_000))  # some 4,500 tokens: 5 cents
    poor = live(service, store=store, max_cost=0.25, max_tokens=8_000, concurrency=1)
    assert poor.spending is not None
    assert 0.1 < poor.spending.cost_usd <= 0.25
    refused = [one for one in poor.results if isinstance(one, Failure)]
    assert {one.error_type for one in refused} == {"budget"}
    assert len(refused) == poor.spending.refused > 0
    paid = poor.spending.paid
    rich = live(service, store=store, max_tokens=8_000)
    assert rich.spending is not None
    assert rich.spending.paid + paid == 14
    assert rich.exit_code() == 0


def test_a_rehearsal_says_what_the_run_asks_and_touches_nothing(service: MessagesService, tmp_path: Path) -> None:
    def rehearsed() -> tuple[int, int, int]:
        forecast = asyncio.run(aforecast([A, B], model=SONNET, store=tmp_path / "gpa.db"))
        total = forecast.judges.get("")
        return (0 if total is None else total.requests, forecast.stored, forecast.cached)

    assert rehearsed() == (14, 0, 0)
    assert not service.attempts
    assert not list(tmp_path.iterdir())
    live(service, [A])
    assert rehearsed() == (7, 0, 7)
    live(service, [A], store=tmp_path / "gpa.db")
    assert rehearsed() == (7, 7, 0)


@pytest.mark.parametrize(("mode", "questions", "finals"), [("panel", 7, 7), ("single", 1, 7)])
def test_a_rehearsal_counts_the_final_scores_of_traces_in_parts(mode: str, questions: int, finals: int) -> None:
    long = transcript(*(llm(said(f"{number} " + "word " * 1500)) for number in range(12)))
    judging = Judging.model_validate({"mode": mode, "context_window": 40_000, "max_tokens": 2_000})
    forecast = asyncio.run(aforecast(long, model=SONNET, judging=judging))
    assert (forecast.in_parts, forecast.finals) == (questions, finals)
    assert forecast.judges[""].requests > questions


def test_a_model_without_a_price_has_no_cost_in_a_rehearsal() -> None:
    forecast = asyncio.run(aforecast([A], model="ollama/small", judging=Judging(mode="single")))
    assert forecast.unpriced == ("ollama/small",)
    assert forecast.judges[""].usd.plain is None
    assert forecast.judges["all"].requests == 1


# files


def requests_in(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def respond(path: Path, requests: Sequence[dict[str, Any]], text: str | None = None) -> Path:
    """A file of responses to these requests."""
    with path.open("w") as file:
        for request in requests:
            said = varied(request["params"]).text if text is None else text
            message = {
                "type": "message",
                "content": [{"type": "text", "text": said}],
                "stop_reason": "end_turn",
                "usage": {"input_tokens": 10, "output_tokens": 5, "service_tier": "batch"},
            }
            result = {"type": "succeeded", "message": message}
            file.write(json.dumps({"custom_id": request["custom_id"], "result": result}) + "\n")
    return path


def test_by_file_the_results_are_those_of_a_live_run(tmp_path: Path) -> None:
    evaluate([A, B], model=SONNET, judging=Judging(requests_to=tmp_path / "q.jsonl"))
    answers = respond(tmp_path / "a.jsonl", requests_in(tmp_path / "q.jsonl"))
    by_file = evaluate([A, B], model=SONNET, judging=Judging(responses_from=(answers,)))
    with messages_service(model=varied) as service:
        by_wire = live(service)
    assert [(one.judge, getattr(one, "score", None), getattr(one, "findings", None)) for one in by_file.results] == [
        (one.judge, getattr(one, "score", None), getattr(one, "findings", None)) for one in by_wire.results
    ]
    assert by_file.spending is not None
    assert by_file.spending.unanswered == 0
    assert by_file.spending.cost_usd == pytest.approx(14 * (10 * 2 + 5 * 10) / 1e6 / 2)


def test_what_the_responses_lack_is_written_down_until_nothing_is_left(tmp_path: Path) -> None:
    """A run too long for the window needs a second round, whose requests rest on the answers of the first."""
    long = transcript(*(llm(said(f"{number} " + "word " * 1500)) for number in range(12)))

    def round_of(*answers: Path, to: str) -> tuple[Evaluation, list[dict[str, Any]]]:
        judging = Judging(requests_to=tmp_path / to, responses_from=answers, context_window=24_000, max_tokens=2_000)
        evaluation = evaluate(long, model=SONNET, dimensions=["GF"], judging=judging, store=tmp_path / "gpa.db")
        return evaluation, requests_in(tmp_path / to)

    evaluation, parts = round_of(to="q1.jsonl")
    assert len(parts) > 1
    assert kinds(evaluation) == [("t", "GF", "missing")]
    first = respond(tmp_path / "a1.jsonl", parts, reply(score=1))
    evaluation, final = round_of(first, to="q2.jsonl")
    assert len(final) == 1
    assert "final" in final[0]["custom_id"]
    assert kinds(evaluation) == [("t", "GF", "missing")]
    second = respond(tmp_path / "a2.jsonl", final, reply(score=2))
    evaluation, nothing = round_of(first, second, to="q3.jsonl")
    assert nothing == []
    assert [one.score for one in evaluation.results if isinstance(one, Verdict)] == [2]
    with open_store(tmp_path / "gpa.db") as store:
        assert [one.type for one in store.results()] == ["verdict"]


def test_requests_are_the_same_bytes_on_every_run(tmp_path: Path) -> None:
    for name in ("one.jsonl", "two.jsonl"):
        evaluate(
            str(ROOT / "fixtures" / "traces"),
            model=SONNET,
            judging=Judging(requests_to=tmp_path / name, concurrency=5 if name == "one.jsonl" else 1),
        )
    one, two = ((tmp_path / name).read_bytes().splitlines() for name in ("one.jsonl", "two.jsonl"))
    assert sorted(one) == sorted(two)
    assert len(one) % 7 == 0


# batches


def test_a_batch_is_picked_up_by_the_next_run_and_asked_once(tmp_path: Path) -> None:
    seen: list[tuple[str, str, int, int]] = []

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with messages_service(polls_until_ended=3) as service:
        judging = Judging(base_url=service.url, batch=True, poll_s=0.01)
        with pytest.raises(KeyboardInterrupt):
            evaluate([A, B], model=SONNET, judging=judging, on_batch=stop)
        assert len(service.batches) == 1
        evaluation = evaluate([A, B], model=SONNET, judging=judging, on_batch=lambda *one: seen.append(one))
        assert len(service.batches) == 1
        assert service.paid.total() == 14
    assert [one.type for one in evaluation.results] == ["verdict"] * 14
    assert seen[-1][1:] == ("ended", 14, 14)
    assert evaluation.spending is not None
    assert evaluation.spending.paid == 14


# what breaks


class Unreadable(Trace):
    """A trace over which there is a bug in the code that flattens it."""

    def walk(self) -> Iterator[tuple[Span, int]]:
        raise RuntimeError("no such branch")


def test_a_trace_that_cannot_be_flattened_costs_its_own_results_only(tmp_path: Path) -> None:
    spans = [Span(trace_id="c" * 32, span_id="1" * 16, name="chat")]
    seen: list[Progress] = []
    evaluation = evaluate(
        [A, Unreadable("c" * 32, spans), B],
        model=ScriptedModel([reply()] * 2),
        dimensions=["LC"],
        store=tmp_path / "gpa.db",
        progress=seen.append,
    )
    assert kinds(evaluation) == [("a", "LC", "verdict"), ("c", "LC", "RuntimeError"), ("b", "LC", "verdict")]
    assert evaluation.exit_code() == 3
    assert len(seen) == 3
    with open_store(tmp_path / "gpa.db") as store:
        assert [one.trace_id[0] for one in store.results()] == ["a", "b"]


def test_the_checks_too_go_on_after_a_trace_that_cannot_be_flattened() -> None:
    spans = [Span(trace_id="c" * 32, span_id="1" * 16, name="chat")]
    assert kinds(evaluate([Unreadable("c" * 32, spans), A], dimensions=["LC"])) == [
        ("c", "LC", "RuntimeError"),
        ("a", "LC", "verdict"),
    ]


def test_a_refused_key_fails_every_judgement_and_is_tried_once(service: MessagesService, monkeypatch: Any) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "invalid")
    evaluation = live(service, [A], concurrency=1)
    assert {one.error_type for one in evaluation.results if isinstance(one, Failure)} == {"authentication"}
    assert evaluation.exit_code() == 3


class Adversary:
    """A model that replies whatever the test wants."""

    name, context_window, warms, batched = "adverse/model", 200_000, False, False

    def __init__(self, replies: Sequence[str]) -> None:
        self._replies, self._next = replies, 0

    async def complete(self, request: Request) -> Outcome:  # noqa: ARG002 - the protocol's name
        self._next += 1
        return Reply(text=self._replies[self._next % len(self._replies)])

    async def count_tokens(self, request: Request) -> int:
        return request.input_tokens

    async def aclose(self) -> None:
        pass


STEPS = st.lists(
    st.one_of(
        st.sampled_from(["s1", "[s2]", "span1", "span2", "s1, s2", "S01", "s99", "s-1", "step 2", "\u0000", "s1s2"]),
        st.text(max_size=8),
    ),
    max_size=4,
)
QUOTES = st.one_of(st.sampled_from([QUOTE, "The museum opens at nine", "span3", "[s1]", ""]), st.text(max_size=40))
FINDINGS = st.builds(lambda steps, quote: finding(steps=steps, quote=quote), STEPS, QUOTES)
REPLIES = st.one_of(
    st.lists(FINDINGS, max_size=3).map(lambda found: reply(*found)),
    st.lists(FINDINGS, max_size=2).map(lambda found: json.dumps({code: answer(*found) for code in ALL})),
    st.text(max_size=30),
)


@settings(max_examples=60)
@given(st.lists(REPLIES, min_size=1, max_size=6), st.sampled_from(["panel", "single"]))
def test_no_span_id_in_any_result_that_is_not_in_its_trace(replies: list[str], mode: str) -> None:
    judging = Judging.model_validate({"mode": mode})
    evaluation = evaluate([RUN, A], model=Adversary(replies), judging=judging)
    assert len(evaluation.results) == 14
    spans = {run.trace_id: {span for step in run.steps for span in step.span_ids} for run in (RUN, A)}
    for one in evaluation.results:
        if isinstance(one, Verdict):
            assert {span for found in one.findings for span in found.span_ids} <= spans[one.trace_id]
        else:
            assert isinstance(one, Failure | NotApplicable)


# options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"batch": True, "requests_to": "q.jsonl"},
            "--batch: contradicts --requests-to, with which nothing is sent",
        ),
        (
            {"max_cost": 1, "responses_from": ("a.jsonl",)},
            "--max-cost: contradicts --responses-from, with which nothing is sent",
        ),
        (
            {"base_url": "http://127.0.0.1", "responses_from": ("a.jsonl",)},
            "--base-url: contradicts --responses-from, with which nothing is sent",
        ),
        (
            {"batch": True, "cache": None},
            "--batch: contradicts --no-cache: the cache remembers which batch is out",
        ),
    ],
)
def test_options_that_contradict_each_other(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as error:
        Judging(**options)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("model", "options", "kind", "message"),
    [
        ("ollama/x", {"batch": True}, UsageError, "--batch: expected an anthropic/ model, found ollama/x (it has no"),
        (SONNET, {"max_cost": -1.0}, UsageError, "--max-cost: expected an amount of USD that is not negative"),
        (
            "anthropic/claude-new-9",
            {"max_cost": 1.0},
            UsageError,
            "--max-cost: expected a price for anthropic/claude-new-9, found none in the table of",
        ),
        (SONNET, {"concurrency": 0}, UsageError, "--concurrency: expected a number above 0, found 0"),
        (SONNET, {"agent_notes": "no.md"}, InputError, "no.md: expected notes on the agent, found: No such file"),
        (SONNET, {"examples": "no.jsonl"}, InputError, "no.jsonl: expected a file of examples, found: No such file"),
        (SONNET, {"prices": "no.toml"}, InputError, "no.toml: expected a TOML file of prices, found: No such file"),
        (SONNET, {"rubrics": "no"}, UsageError, "no: expected a folder with rubrics (TC.md, ...), found none"),
        (SONNET, {"responses_from": ("no.jsonl",)}, InputError, "no.jsonl: expected a file of response lines, found"),
        (SONNET, {"requests_to": "no/q.jsonl"}, InputError, "no/q.jsonl: expected a place to write requests to"),
        (SONNET, {"cache": "README.md"}, StoreError, "README.md: expected a response cache (SQLite)"),
    ],
    ids=[
        "batch",
        "negative bound",
        "no price",
        "concurrency",
        "notes",
        "examples",
        "prices",
        "rubrics",
        "responses",
        "requests",
        "cache",
    ],
)
def test_what_cannot_be_opened_is_said_before_anything_is_asked(
    model: str, options: dict[str, Any], kind: type[GpaError], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    with pytest.raises(kind) as error:
        evaluate(A, model=model, judging=Judging(**options))
    assert str(error.value).startswith(message)


def test_no_key_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(UsageError) as error:
        evaluate(A, model=SONNET)
    assert str(error.value) == f"{SONNET}: expected an API key in ANTHROPIC_API_KEY, found none"


@pytest.mark.parametrize(("content", "found"), [(b"  \n", "an empty file"), (b"\xff", "other bytes at 0")])
def test_notes_that_are_none(tmp_path: Path, content: bytes, found: str) -> None:
    (tmp_path / "notes.md").write_bytes(content)
    with pytest.raises(InputError, match=found):
        evaluate(A, model=ScriptedModel([]), judging=Judging(agent_notes=tmp_path / "notes.md"))


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(ValidationError):
        Judging(temperature=0)  # type: ignore[call-arg]


def test_a_dimension_without_a_rubric_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^dimensions: expected some of LC EE PQ PA TS TC GF, found 'tone'$"):
        evaluate(A, model=ScriptedModel([]), dimensions=["tone"])


def test_an_answer_that_is_cut_off_is_a_failure_with_its_cost(service: MessagesService) -> None:
    service.model = lambda _params: Answer('{"findings": [', "max_tokens")
    evaluation = live(service, [A])
    assert {one.error_type for one in evaluation.results if isinstance(one, Failure)} == {"max_tokens"}
    assert all((one.cost_usd or 0) > 0 for one in evaluation.results)
