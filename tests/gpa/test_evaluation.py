"""Traces in, results out: order, resuming, summing up, lines, exit codes."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from gpa.errors import InputError, UsageError
from gpa.evaluation import Evaluation, Progress, aevaluate, evaluate
from gpa.ingest.assembly import read_traces
from gpa.ingest.transcript import Transcript, transcribe
from gpa.judges.result_lines import result_line
from gpa.judges.verdict import DIMENSIONS, AnyResult, Failure, Finding, NotApplicable, Verdict
from gpa.judging import Judging
from gpa.locations import latest
from tests.judges.checks.transcripts import SEARCH, call, llm, said, tool, transcript

FINDING = Finding(span_ids=("a1",), quote="q", problem="p", category="Formatting Errors", severity="LOW", check="c")


def verdict(score: int, judge: str = "LC", *findings: Finding, trace_id: str = "t1") -> Verdict:
    return Verdict(trace_id=trace_id, judge=judge, model="checks", score=score, rationale="r", findings=findings)


NA = NotApplicable(trace_id="t1", judge="PA", model="checks", reason="no plan in the trace")
FAILED = Failure(trace_id="t1", judge="LC", model="checks", error_type="KeyError", message="m")


def bad(trace_id: str) -> Transcript:
    """Three calls with an argument the tool does not have."""
    steps = [
        step
        for n in range(3)
        for step in (
            llm(call("search", {"query": "a", "page": n}, f"c{n}")),
            tool(
                "search",
                {},
                error=f"TypeError: search() got an unexpected keyword argument 'page' {n}",
                call_id=f"c{n}",
            ),
        )
    ]
    return transcript(*steps, llm(said("The search failed.")), tools=(SEARCH,), trace_id=trace_id)


def good(trace_id: str) -> Transcript:
    return transcript(llm(said("Hello.")), trace_id=trace_id)


def test_results_come_in_the_order_of_traces_and_dimensions() -> None:
    evaluation = evaluate([bad("b"), good("a")], dimensions=["TC", "LC"])
    assert [(r.trace_id, r.judge, r.type) for r in evaluation.results] == [
        ("b", "LC", "verdict"),
        ("b", "TC", "verdict"),
        ("a", "LC", "verdict"),
        ("a", "TC", "not_applicable"),
    ]
    assert evaluation.trace_ids == ("b", "a")


def test_all_dimensions_unless_some_are_named() -> None:
    assert [result.judge for result in evaluate(good("a")).results] == list(DIMENSIONS)


def test_inside_a_running_loop_and_awaited_it_is_the_same() -> None:
    async def both() -> tuple[Evaluation, Evaluation]:
        return evaluate(good("a")), await aevaluate(good("a"))

    called, awaited = asyncio.run(both())
    assert called == awaited


def test_errors_reach_the_caller_from_inside_a_running_loop() -> None:
    async def wrong() -> None:
        evaluate(good("a"), dimensions=["XX"])

    with pytest.raises(UsageError):
        asyncio.run(wrong())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dimensions": ["LC", "lc"]}, "dimensions: expected some of LC EE PQ PA TS TC GF, found 'lc'"),
        ({"dimensions": []}, "dimensions: expected some of LC EE PQ PA TS TC GF, found none"),
        ({"model": "sonnet"}, "--model: expected provider/name, such as anthropic/claude-sonnet-5-5, found 'sonnet'"),
        ({"judging": Judging()}, "judging: expected a model (model='provider/name'), found checks"),
        (
            {"model": "a/b", "skip_checks": ["from-memory"]},
            "skip_checks: expected no model (it is about the checks), found one",
        ),
        ({"jobs": 0}, "jobs: expected at least 1, found 0"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as error:
        evaluate([good("a")], **options)
    assert str(error.value) == message


def test_what_is_no_trace_is_said_so() -> None:
    with pytest.raises(UsageError, match=r"^traces: expected paths, Trace or Transcript objects, found int$"):
        evaluate([5])  # type: ignore[list-item]


def test_progress_tells_each_trace_once() -> None:
    seen: list[Progress] = []
    evaluate([good("a"), good("b")], dimensions=["LC"], progress=seen.append)
    assert [(p.done, p.total, p.trace_id, len(p.results), p.reused) for p in seen] == [
        (1, 2, "a", 1, 0),
        (2, 2, "b", 1, 0),
    ]


def test_total_is_unknown_while_traces_stream_in() -> None:
    seen: list[Progress] = []
    evaluate((good(name) for name in "ab"), dimensions=["LC"], progress=seen.append)
    assert [progress.total for progress in seen] == [None, None]


class TestStore:
    def test_a_second_run_reuses_everything(self, tmp_path: Path) -> None:
        first = evaluate([bad("a"), good("b")], store=tmp_path / "gpa.db")
        second = evaluate([bad("a"), good("b")], store=tmp_path / "gpa.db")
        assert (first.reused, second.reused) == (0, 14)
        assert second.results == first.results

    def test_a_run_that_was_killed_goes_on(self, tmp_path: Path) -> None:
        def killed(progress: Progress) -> None:
            if progress.done == 2:
                raise KeyboardInterrupt

        given = [good(name) for name in "abcde"]
        with pytest.raises(KeyboardInterrupt):
            evaluate(given, dimensions=["LC", "EE"], store=tmp_path / "gpa.db", progress=killed)
        assert evaluate(given, dimensions=["LC", "EE"], store=tmp_path / "gpa.db").reused == 4

    def test_a_changed_trace_and_a_new_dimension_are_judged_anew(self, tmp_path: Path) -> None:
        evaluate([good("a")], dimensions=["LC"], store=tmp_path / "gpa.db")
        changed = transcript(llm(said("Good bye.")), trace_id="a")
        assert evaluate([changed], dimensions=["LC"], store=tmp_path / "gpa.db").reused == 0
        assert evaluate([good("a")], dimensions=["LC", "EE"], store=tmp_path / "gpa.db").reused == 1

    def test_loads_what_was_stored(self, tmp_path: Path) -> None:
        evaluation = evaluate([bad("a"), good("b")], store=tmp_path / "gpa.db")
        assert Evaluation.load(tmp_path / "gpa.db").results == evaluation.results


class TestSummary:
    def test_means_are_over_scores_alone(self) -> None:
        rows = Evaluation((verdict(1, "LC", FINDING), verdict(2, trace_id="t2"), FAILED, NA)).summary()
        assert [(r.dimension, r.name, r.mean, r.scored, r.not_applicable, r.failed, r.findings) for r in rows] == [
            ("LC", "Logical Consistency", 1.5, 2, 0, 1, 1),
            ("PA", "Plan Adherence", None, 0, 1, 0, 0),
        ]

    def test_the_worst_come_first_and_once_for_all_their_dimensions(self) -> None:
        grave = FINDING.model_copy(update={"severity": "HIGH"})
        worst = Evaluation((verdict(2, "LC", FINDING), verdict(1, "LC", grave), verdict(1, "TC", grave))).worst()
        assert [(one.trace_id, one.dimensions, one.finding) for one in worst] == [
            ("t1", ("LC", "TC"), grave),
            ("t1", ("LC",), FINDING),
        ]

    def test_the_worst_can_be_limited(self) -> None:
        evaluation = Evaluation((verdict(2, "LC", FINDING),))
        assert evaluation.worst(0) == evaluation.worst(at_least="MEDIUM") == ()


@pytest.mark.parametrize(
    ("results", "unreadable", "fail_under", "code"),
    [
        pytest.param((verdict(0),), (), None, 0, id="judged"),
        pytest.param((verdict(2),), (), 2.0, 0, id="at the threshold"),
        pytest.param((verdict(3, "EE"), verdict(1)), (), 1.5, 1, id="one dimension below"),
        pytest.param((NA,), (), 3.0, 0, id="nothing scored"),
        pytest.param((verdict(3), FAILED), (), None, 3, id="one failed"),
        pytest.param((verdict(0), FAILED), (), 1.0, 1, id="below and failed"),
        pytest.param((verdict(0), FAILED), ("x: broken",), 1.0, 2, id="unreadable"),
    ],
)
def test_exit_code(
    results: tuple[AnyResult, ...], unreadable: tuple[str, ...], fail_under: float | None, code: int
) -> None:
    assert Evaluation(results, unreadable=unreadable).exit_code(fail_under) == code


def test_a_threshold_that_is_no_number_is_refused() -> None:
    with pytest.raises(UsageError, match="fail_under: expected a number from 0 to 3, found nan"):
        Evaluation((verdict(0),)).exit_code(float("nan"))


def test_the_store_tells_the_last_run_also_where_it_took_the_results_from_there(tmp_path: Path) -> None:
    store = tmp_path / "gpa.db"
    whole = evaluate([bad("b"), good("a")], store=store)
    part = evaluate([bad("b"), good("a")], store=store, checks=["repeated-call"])
    assert told(store) == set(part.results) != set(whole.results)
    again = evaluate([bad("b"), good("a")], store=store)
    assert (again.reused, told(store)) == (len(whole.results), set(whole.results))


def told(store: Path) -> set[AnyResult]:
    return set(latest(Evaluation.load(store).results))


class TestLines:
    def test_a_verdict_has_the_documented_keys_in_order(self) -> None:
        line = json.loads(result_line(verdict(1, "LC", FINDING)))
        assert " ".join(line) == (
            "type schema trace_id judge model sample score rationale findings rubric_hash usage cost_usd unresolved"
        )
        assert " ".join(line["findings"][0]) == "span_ids quote problem category severity check grounded"

    def test_results_without_a_score_have_the_documented_lines(self) -> None:
        assert json.loads(result_line(NA)) == {
            "type": "not_applicable",
            "schema": 1,
            "trace_id": "t1",
            "judge": "PA",
            "model": "checks",
            "reason": "no plan in the trace",
        }
        assert " ".join(json.loads(result_line(FAILED))) == "type schema trace_id judge model error_type message"

    def test_suppressed_findings_are_written_when_there_are_some(self) -> None:
        assert "suppressed" in json.loads(result_line(verdict(1).model_copy(update={"suppressed": (FINDING,)})))

    def test_written_and_read_back_they_are_the_same(self, tmp_path: Path) -> None:
        evaluation = Evaluation((verdict(1, "LC", FINDING), NA, FAILED))
        evaluation.to_jsonl(tmp_path / "results.jsonl")
        assert Evaluation.load(tmp_path / "results.jsonl") == evaluation

    def test_they_go_to_text_and_binary_streams(self) -> None:
        text, binary = io.StringIO(), io.BytesIO()
        evaluation = Evaluation((NA,))
        evaluation.to_jsonl(text)
        evaluation.to_jsonl(binary)
        assert text.getvalue().encode() == binary.getvalue() == result_line(NA)

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            (
                "[1",
                "expected a result (a JSON object), found invalid JSON: unexpected end of data: {place}",
            ),
            (
                "5",
                "expected a result, found the line: Input should be a valid dictionary or object to {purpose}",
            ),
            ('{"type":"verdict"}', "expected a result, found verdict.trace_id: Field required"),
        ],
        ids=["not JSON", "not an object", "incomplete"],
    )
    def test_a_line_that_is_no_result(self, tmp_path: Path, line: str, message: str) -> None:
        path = tmp_path / "results.jsonl"
        path.write_bytes(result_line(NA) + line.encode())
        with pytest.raises(InputError) as error:
            Evaluation.load(path)
        said = message.format(place="line 1 column 3 (char 2)", purpose="extract fields from")
        assert str(error.value) == f"{path}:2: {said}"

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"results.jsonl: cannot be read: No such file or directory$"):
            Evaluation.load(tmp_path / "results.jsonl")


class TestFrame:
    def test_has_a_row_for_each_result(self) -> None:
        pytest.importorskip("pandas")
        frame = Evaluation((verdict(1, "LC", FINDING), NA)).to_frame()
        assert frame["score"].iloc[0] == 1
        assert list(frame["rationale"]) == ["r", "no plan in the trace"]

    def test_says_what_is_missing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "pandas", None)
        with pytest.raises(UsageError, match="pip install pandas"):
            Evaluation(()).to_frame()


RECORDINGS = Path(__file__).parents[3] / "shared" / "data" / "trail" / "gaia" / "traces"


@pytest.mark.skipif(not RECORDINGS.is_dir(), reason="recordings are not part of the project")
def test_recordings_are_judged_without_a_failure_and_every_cited_span_exists() -> None:
    transcripts = {trace.trace_id: transcribe(trace) for trace in read_traces(RECORDINGS)}
    evaluation = evaluate(transcripts.values())
    assert len(evaluation.results) == len(transcripts) * len(DIMENSIONS)
    for result in evaluation.results:
        assert not isinstance(result, Failure)
        if isinstance(result, Verdict):
            spans = {step.span_id for step in transcripts[result.trace_id].steps}
            assert all(finding.span_ids and spans.issuperset(finding.span_ids) for finding in result.findings)
            assert result.unresolved == 0
