"""The meta-judge: what it is asked, how its answer is read, and that failures stay failures."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from gpa.errors import UsageError
from gpa.judges.answer import BadAnswer
from gpa.judges.gold import Gold, GoldError
from gpa.judges.matching import Match
from gpa.judges.meta import SCHEMA, MetaJudge, read_decisions
from gpa.judges.model import (
    Cache,
    Client,
    FileModel,
    RecordingModel,
    ReplyError,
    ScriptedModel,
    read_responses,
    write_requests,
)
from gpa.judges.rubrics import built_in
from gpa.judges.verdict import Finding, Verdict
from tests.judges.checks.transcripts import SEARCH, call, llm, said, tool, transcript

SCENE = transcript(
    llm(call("search", {"query": "a"}, "c1")),
    tool("search", {"query": "a"}),
    llm(said("done")),
    tools=(SEARCH,),
    trace_id="t",
)
SPANS = [step.span_id for step in SCENE.steps]


def error(name: str, span_id: str, *dimensions: str) -> GoldError:
    return GoldError(
        id=name, trace_id="t", span_id=span_id, category="x", dimensions=dimensions, description=f"about {name}"
    )


FIRST, OTHER, SECOND = error("g1", SPANS[0], "TC"), error("g2", SPANS[0], "LC"), error("g3", SPANS[-1], "TC", "LC")
GOLD = Gold((FIRST, OTHER, SECOND), trace_ids=("t",))
FINDING = Finding(span_ids=(SPANS[0],), quote="q", problem="the query is wrong", category="x", severity="LOW")
VERDICT = Verdict(
    trace_id="t", judge="TC", model="m/1", score=1, rationale="and the end is abrupt", findings=(FINDING,)
)


def answer(*entries: tuple[str, int | None, int], passage: str = "the end is abrupt") -> str:
    listed = [
        {"id": name, "passage": passage, "finding": finding, "caught": caught, "look_for": "a sign"}
        for name, finding, caught in entries
    ]
    return "```json\n" + json.dumps({"errors": listed}) + "\n```"


BOTH = answer(("e1", 1, 1), ("e2", None, 1))


def asked(replies: Sequence[str | ReplyError], verdict: Verdict = VERDICT) -> tuple[MetaJudge, ScriptedModel]:
    model = ScriptedModel(replies)

    async def run() -> MetaJudge:
        async with Client(model) as client:
            meta = MetaJudge(client, [SCENE])
            await meta.ask([verdict], GOLD)
            return meta

    return asyncio.run(run()), model


@pytest.mark.parametrize(
    ("reply", "matches"),
    [
        pytest.param(BOTH, [Match(0, 0, True), Match(2, None, False)], id="a finding, and the rationale alone"),
        pytest.param(answer(("e1", None, 0), ("e2", 1, 1)), [Match(2, 0, False)], id="caught at another span"),
        pytest.param(answer(("e1", None, 0), ("e2", None, 0)), [], id="none"),
        pytest.param(
            answer(("e9", 1, 1), ("e1", 1, 1), ("e2", None, 0)), [Match(0, 0, True)], id="an error that is not there"
        ),
    ],
)
def test_matches(reply: str, matches: list[Match]) -> None:
    meta, _ = asked([reply])
    assert meta.match(GOLD.errors, VERDICT) == matches


def test_one_request_holds_transcript_errors_of_the_dimension_and_report() -> None:
    meta, model = asked([BOTH])
    [request] = model.requests
    assert request.system == built_in("meta")
    assert SCENE.render() in request.prefix
    assert "about g1" in request.tail
    assert "about g3" in request.tail
    assert "about g2" not in request.tail
    assert FINDING.problem in request.tail
    assert VERDICT.rationale in request.tail
    assert '"step":"s1"' in request.tail
    assert request.answer_schema == SCHEMA
    assert (request.trace_id, request.judge, request.sample) == ("t", "TC-meta", 0)
    assert [decision.look_for for decision in meta.decisions(VERDICT).values()] == ["a sign", "a sign"]


def test_a_verdict_without_errors_of_its_dimension_asks_nothing() -> None:
    meta, model = asked([], VERDICT.model_copy(update={"judge": "PQ"}))
    assert model.requests == []
    assert meta.match(GOLD.errors, VERDICT.model_copy(update={"judge": "PQ"})) == []


def test_an_answer_that_cannot_be_read_is_asked_for_once_more() -> None:
    meta, model = asked(["no idea", BOTH])
    assert len(model.requests) == 2
    assert "there is no JSON object in it" in model.requests[1].turns[-1].text
    assert len(meta.match(GOLD.errors, VERDICT) or []) == 2


@pytest.mark.parametrize(
    ("replies", "error_type"),
    [
        pytest.param(["no idea", answer(("e1", 1, 1))], "bad_response", id="unreadable twice"),
        pytest.param([ReplyError(error_type="refusal", message="no")], "refusal", id="refused"),
    ],
)
def test_what_was_not_answered_is_no_match_and_no_miss(replies: Sequence[str | ReplyError], error_type: str) -> None:
    meta, _ = asked(replies)
    assert meta.match(GOLD.errors, VERDICT) is None
    assert [failure.error_type for failure in meta.failures.values()] == [error_type]


@pytest.mark.parametrize(
    "passage",
    [
        "and the end is abrupt",
        "the end is  abrupt",
        "the query is wrong",
        "and ... abrupt",
        "q",
    ],
)
def test_words_of_the_report_show_what_was_caught(passage: str) -> None:
    meta, model = asked([answer(("e1", None, 1), ("e2", None, 0), passage=passage)])
    assert meta.match(GOLD.errors, VERDICT) == [Match(0, None, False)]
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("finding", "passage"),
    [
        pytest.param(None, "", id="no words"),
        pytest.param(None, "...", id="an elision"),
        pytest.param(None, "the agent never looked at the result", id="words of nobody"),
        pytest.param(7, "the end is abrupt", id="a finding that is not there"),
        pytest.param(0, "the end is abrupt", id="finding 0"),
    ],
)
def test_caught_by_what_is_not_in_the_report_is_asked_again_and_then_undecided(
    finding: int | None, passage: str
) -> None:
    wrong = answer(("e1", finding, 1), ("e2", None, 0), passage=passage)
    meta, model = asked([wrong, wrong])
    assert "e1 is called caught" in model.requests[1].turns[-1].text
    assert meta.match(GOLD.errors, VERDICT) is None
    mended, _ = asked([wrong, BOTH])
    assert len(mended.match(GOLD.errors, VERDICT) or []) == 2


def test_what_is_not_caught_needs_no_words_of_the_report() -> None:
    meta, _ = asked([answer(("e1", 7, 0), ("e2", None, 0), passage="")])
    assert meta.match(GOLD.errors, VERDICT) == []


def test_words_are_compared_with_the_report_as_it_was_shown() -> None:
    async def run() -> MetaJudge:
        reply = answer(("e1", None, 1), ("e2", None, 0), passage="the [REDACTED] is abrupt")
        async with Client(ScriptedModel([reply])) as client:
            meta = MetaJudge(client, [SCENE], clean=lambda text: text.replace("end", "[REDACTED]"))
            await meta.ask([VERDICT], GOLD)
            return meta

    assert asyncio.run(run()).match(GOLD.errors, VERDICT) == [Match(0, None, False)]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "there is no JSON object in it"),
        ('{"errors": 1}', "there is no list `errors` in the object"),
        ('{"errors": [}', "it is no valid JSON: "),
        (answer(("e1", 1, 2)), "errors.caught: Input should be 0 or 1"),
        (answer(("e1", 1, 1)), "there is no decision on e2"),
    ],
)
def test_bad_answers_are_named(text: str, complaint: str) -> None:
    with pytest.raises(BadAnswer) as error:
        read_decisions(text, [FIRST, SECOND], VERDICT)
    assert str(error.value).startswith(complaint)


def test_without_the_transcript_it_says_what_to_give() -> None:
    meta = MetaJudge(ScriptedModel([]), [])
    with pytest.raises(UsageError, match=r"^the meta-judge needs the transcript of trace t: give the traces"):
        meta.questions([VERDICT], GOLD)


def test_a_long_transcript_is_cut_to_the_window() -> None:
    long = transcript(llm(said("word " * 60_000)), trace_id="t")
    model = RecordingModel("m/small", context_window=30_000)
    [question] = MetaJudge(Client(model), [long]).questions([VERDICT], GOLD)
    assert question.request.input_tokens < 30_000 - 8_000
    assert "left out" in question.request.prefix


def test_what_leaves_is_cleaned() -> None:
    meta = MetaJudge(ScriptedModel([]), [SCENE], clean=lambda text: text.replace("about g1", "[REDACTED]"))
    [question] = meta.questions([VERDICT], GOLD)
    assert "about g1" not in question.request.tail


def test_the_cache_answers_the_second_time(tmp_path: Path) -> None:
    def run(replies: Sequence[str]) -> Sequence[Match] | None:
        async def ask() -> MetaJudge:
            with Cache(tmp_path / "cache.db") as cache:
                async with Client(ScriptedModel(replies), cache=cache) as client:
                    meta = MetaJudge(client, [SCENE])
                    await meta.ask([VERDICT], GOLD)
                    return meta

        return asyncio.run(ask()).match(GOLD.errors, VERDICT)

    assert run([BOTH]) == run([])


def test_requests_and_responses_go_through_files(tmp_path: Path) -> None:
    recording = RecordingModel("anthropic/claude-x", context_window=200_000)
    asyncio.run(MetaJudge(Client(recording), [SCENE]).ask([VERDICT], GOLD))
    assert write_requests(tmp_path / "requests.jsonl", recording.requests) == 1
    custom_id = json.loads((tmp_path / "requests.jsonl").read_text())["custom_id"]
    message = {"type": "message", "content": [{"type": "text", "text": BOTH}], "stop_reason": "end_turn"}
    line = {"custom_id": custom_id, "result": {"type": "succeeded", "message": message}}
    (tmp_path / "responses.jsonl").write_text(json.dumps(line))
    model = FileModel("anthropic/claude-x", read_responses(tmp_path / "responses.jsonl"), context_window=200_000)
    meta = MetaJudge(Client(model), [SCENE])
    asyncio.run(meta.ask([VERDICT], GOLD))
    assert meta.match(GOLD.errors, VERDICT) == [Match(0, 0, True), Match(2, None, False)]
