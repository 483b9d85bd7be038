"""What breaks costs only itself, and no result cites what is not there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gpa.evaluation import Progress, evaluate
from gpa.ingest.spans import Span, Trace
from gpa.judges.model import Outcome, Reply, Request, ScriptedModel
from gpa.judges.verdict import DIMENSIONS, Failure, NotApplicable, Verdict
from gpa.judging import Judging
from gpa.store import open_store
from tests.gpa.judging.runs import A, B, kinds, live
from tests.judges.replies import QUOTE, RUN, answer, finding, reply
from tests.servers.messages import Answer, MessagesService

ALL = tuple(DIMENSIONS)


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


def test_an_answer_that_is_cut_off_is_a_failure_with_its_cost(service: MessagesService) -> None:
    service.model = lambda _params: Answer('{"findings": [', "max_tokens")
    evaluation = live(service, [A])
    assert {one.error_type for one in evaluation.results if isinstance(one, Failure)} == {"max_tokens"}
    assert all((one.cost_usd or 0) > 0 for one in evaluation.results)
