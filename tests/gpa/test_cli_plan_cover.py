"""`gpa plan cover`, `narrow` and `lint`: traces and files, by rules, by wire, by requests in files, how they end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpa.evaluation import Evaluation
from gpa.judges.verdict import Verdict
from gpa.store import open_store
from tests.gpa import command_line
from tests.gpa.command_line import Ran
from tests.plans.analysed import PLANNED, Call, otlp
from tests.plans.revenue import COLUMNS, QUESTION, READ, TOOLS
from tests.servers.messages import Answer, MessagesService, messages_service

pytestmark = pytest.mark.usefixtures("own_caches")

SONNET = "anthropic/claude-sonnet-5-5"
UNASKED: Call = ("detect_anomalies", {"column": "revenue"})
A, B = "a" * 32, "b" * 32


def gpa(*arguments: object) -> Ran:
    return command_line.gpa("plan", *arguments)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Two traces (one does too much, one asks something else), plans, requirements, columns."""
    lines = [otlp(PLANNED, [*PLANNED, UNASKED]), otlp(PLANNED[:1], PLANNED[:1], goal="Sing.", trace_id=B)]
    (tmp_path / "traces.jsonl").write_bytes(b"".join(lines))
    (tmp_path / "asked.json").write_text(json.dumps(READ))
    (tmp_path / "by_goal.json").write_text(json.dumps({QUESTION: READ}))
    (tmp_path / "columns.json").write_text(json.dumps(COLUMNS))
    steps = [{"id": n, "tool": tool, "arguments": arguments} for n, (tool, arguments) in enumerate(PLANNED, 1)]
    rows = [{"id": "good", "query": QUESTION, "plan": steps}, {"id": "short", "query": QUESTION, "plan": steps[:2]}]
    (tmp_path / "plans.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path


def cover(files: Path, *arguments: object, of: str = "traces.jsonl", asked: str | None = "by_goal.json") -> Ran:
    known = ("--requirements", files / asked) if asked else ()
    return gpa("cover", files / of, "--tools", TOOLS, *known, *arguments)


# traces


def test_plans_and_calls_of_traces_are_held_against_what_was_asked_for(files: Path) -> None:
    done = cover(files)
    assert done.code == 0, done.err
    assert "1 of 2 have requirements and can be looked at." in done.out
    assert f"{B}: what was asked for is not known" in done.out
    assert f"{A} done\n  Remove unjustified steps: detect_anomalies" in done.out
    assert f"{A} EE MEDIUM at 000000000000000b 000000000000000c\n  detect_anomalies serves nothing" in done.out


def test_results_merge_with_those_of_other_judges(files: Path) -> None:
    store, lines = files / "gpa.db", files / "results.jsonl"
    assert command_line.gpa("evaluate", files / "traces.jsonl", "--store", store).code == 0
    for _ in range(2):
        assert cover(files, "--store", store, "--jsonl", lines).code == 0
    results = Evaluation.load(lines).results
    assert {result.model for result in results} == {"coverage"}
    scored = {(one.trace_id, one.judge): one.score for one in results if isinstance(one, Verdict)}
    assert scored == {(A, "PQ"): 3, (A, "PA"): 3, (A, "EE"): 1}
    with open_store(store) as opened:
        models = {result.model for result in opened.results()}
    assert models == {"checks", "coverage"}


def test_everything_is_in_the_json(files: Path) -> None:
    done = cover(files, "--json", "--types", files / "columns.json")
    row, other = done.json["traces"]
    assert row["plans"][0] | {"steps": [], "covered": {}} == {
        "label": "s2",
        "span_id": "0000000000000002",
        "agent": "analyst",
        "coverage": 1.0,
        "unjustified_rate": 0.0,
        "ok": True,
        "covered": {},
        "missing": [],
        "unjustified": [],
        "unknown": [],
        "out_of_order": [],
        "unfounded": [],
        "payload": [],
        "steps": [],
    }
    assert (row["done"]["unjustified"], row["done"]["unjustified_rate"]) == (["5"], 0.2)
    assert row["done"]["steps"][4] == {
        "id": "5",
        "tool": "detect_anomalies",
        "span_ids": ["000000000000000b", "000000000000000c"],
    }
    assert "not known" in other["problem"]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        pytest.param((), 0, id="as it is"),
        pytest.param(("--gate",), 1, id="gate"),
        pytest.param(("--fail-under", "2"), 1, id="below"),
        pytest.param(("--fail-under", "1"), 0, id="above"),
        pytest.param(("--gate", "--ignore", "detect_anomalies"), 0, id="gate and nothing to mend"),
    ],
)
def test_the_exit_code_says_how_it_ended(files: Path, options: tuple[str, ...], code: int) -> None:
    assert cover(files, *options).code == code


def test_a_record_with_an_unknown_label_fails_its_own_trace(files: Path) -> None:
    bad = [{"trace_id": B, "requirements": {"analysis": ["forecast"]}}, {"trace_id": A, "requirements": READ}]
    (files / "bad.jsonl").write_text("\n".join(map(json.dumps, bad)))
    done = cover(files, "--json", asked="bad.jsonl")
    assert done.code == 2
    assert "bad.jsonl:1: field analysis: expected total, compare" in done.err
    assert [("problem" in row) for row in done.json["traces"]] == [False, True]


# plans in files


def test_plans_of_a_file_are_held_against_one_set_for_all(files: Path) -> None:
    done = cover(files, "--gate", of="plans.jsonl", asked="asked.json")
    assert done.code == 1
    assert "short planned\n  Missing coverage: analysis.trend, outputs.chart, time=date\n" in done.out


def test_a_row_may_hold_its_own_requirements(files: Path) -> None:
    row = {"id": "own", "plan": [{"tool": "detect_anomalies"}], "requirements": {"analysis": ["anomaly"]}}
    (files / "own.json").write_text(json.dumps(row))
    done = cover(files, "--json", of="own.json", asked="asked.json")
    [plan] = done.json["plans"]
    assert (plan["id"], plan["coverage"]) == ("own", 1.0)


def test_a_plan_from_which_a_step_was_taken_is_covered_as_it_reads(files: Path) -> None:
    steps = [{"id": n, "tool": tool, "arguments": arguments} for n, (tool, arguments) in enumerate(PLANNED, 1)]
    (files / "gap.jsonl").write_text(json.dumps({"id": "gap", "plan": [*steps[:2], steps[3]]}))
    done = cover(files, "--json", of="gap.jsonl", asked="asked.json")
    assert done.json["plans"][0]["missing"] == ["analysis.trend", "outputs.chart", "time"]


def test_a_plan_that_is_none_could_not_be_judged(files: Path) -> None:
    (files / "none.jsonl").write_text('{"id": "x", "plan": "no plan at all"}\n')
    done = cover(files, of="none.jsonl", asked="asked.json")
    assert done.code == 3
    assert "x: " in done.out


@pytest.mark.parametrize(
    ("options", "asked", "said"),
    [
        pytest.param((), None, "expected --requirements FILE, or --model NAME", id="nothing asked"),
        pytest.param(
            ("--store", "x.db"), "asked.json", "are about traces; for plans in files there is --gate", id="store"
        ),
        pytest.param(("--cache", "x"), "asked.json", "--cache: is about LLM judges; add --model", id="model option"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    files: Path, options: tuple[str, ...], asked: str | None, said: str
) -> None:
    done = cover(files, *options, of="plans.jsonl", asked=asked)
    assert (done.code, said in done.err) == (2, True), done.err


# requirements from a model


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[MessagesService]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    with messages_service(model=lambda _params: Answer(json.dumps(READ))) as serving:
        yield serving


def with_model(files: Path, *arguments: object, asked: str | None = None) -> Ran:
    return cover(files, "--model", SONNET, "--types", files / "columns.json", "--json", *arguments, asked=asked)


def test_a_model_writes_down_what_the_file_does_not_have(files: Path, service: MessagesService) -> None:
    done = with_model(files, "--base-url", service.url, asked="by_goal.json")
    assert done.code == 0, done.err
    assert len(service.asked) == 1
    assert "Sing." in service.asked[0]["messages"][0]["content"][0]["text"]
    assert [row["requirements"]["analysis"] for row in done.json["traces"]] == [READ["analysis"]] * 2
    assert "1 answers paid for" in done.err


def test_an_answer_is_paid_for_once(files: Path, service: MessagesService) -> None:
    one, other = (with_model(files, "--base-url", service.url) for _ in range(2))
    assert one.json == other.json
    assert service.paid.total() == 2
    assert "2 from the cache" in other.err


def test_a_label_outside_the_set_is_asked_for_again_over_the_wire(files: Path, service: MessagesService) -> None:
    def model(params: dict[str, Any]) -> Answer:
        first = len(params["messages"]) == 1
        return Answer(json.dumps({**READ, "analysis": ["forecast"]} if first else READ))

    service.model = model
    done = with_model(files, "--base-url", service.url)
    assert (done.code, service.paid.total()) == (0, 4)
    assert "unknown requirement, asked again: field analysis: expected total" in done.err


def test_what_cannot_be_extracted_is_a_failure_and_never_full_coverage(files: Path, service: MessagesService) -> None:
    service.model = lambda _params: Answer(json.dumps({**READ, "analysis": ["forecast"]}))
    done = with_model(files, "--base-url", service.url)
    assert (done.code, service.paid.total()) == (3, 6)
    assert all("'forecast' (asked 3 times)" in row["problem"] for row in done.json["traces"])


def test_a_rehearsal_says_what_it_would_cost_and_covers_nothing(files: Path) -> None:
    done = with_model(files, "--dry-run")
    assert (done.code, done.err) == (0, "")
    assert "  in all: 2 requests, " in done.out
    assert "coverage" not in done.out


def test_requests_and_responses_go_by_files(files: Path) -> None:
    requests, responses = files / "requests.jsonl", files / "responses.jsonl"
    written = with_model(files, "--requests-to", requests)
    assert (written.code, written.out) == (0, "")
    assert "2 requests written to" in written.err
    asked = [json.loads(line) for line in requests.read_text().splitlines()]
    assert all(one["params"]["output_config"]["format"]["schema"]["additionalProperties"] is False for one in asked)
    message = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-5-5",
        "stop_reason": "end_turn",
        "content": [{"type": "text", "text": json.dumps(READ)}],
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    answers = [{"custom_id": one["custom_id"], "result": {"type": "succeeded", "message": message}} for one in asked]
    responses.write_text("\n".join(map(json.dumps, answers)))
    done = with_model(files, "--responses-from", responses)
    assert done.code == 0, done.err
    assert done.json["traces"][0]["missing"] == []
    half = files / "half.jsonl"
    half.write_text(json.dumps(answers[0]))
    partly = with_model(files, "--responses-from", half)
    assert partly.code == 3
    assert sum("problem" in row for row in partly.json["traces"]) == 1


# narrow and lint


def test_the_tools_for_requirements_are_shown_with_why(files: Path) -> None:
    done = gpa("narrow", "--tools", TOOLS, "--requirements", files / "asked.json", "--types", files / "columns.json")
    assert done.code == 0, done.err
    assert "0 of 5 needed capabilities were not found by the first search: a miss rate of 0.000." in done.out
    assert "aggregate" in done.out
    assert gpa("narrow", "--tools", TOOLS, "--requirements", files / "asked.json").out.count("missing capability") == 1


def test_many_sets_of_requirements_give_a_miss_rate_each(files: Path) -> None:
    rows = [{"id": "one", "requirements": READ}, {"id": "two", "requirements": {"analysis": ["anomaly"]}}]
    (files / "many.jsonl").write_text("\n".join(map(json.dumps, rows)))
    done = gpa("narrow", "--tools", TOOLS, "--requirements", files / "many.jsonl", "--json")
    assert [(one["name"], one["left_rate"]) for one in done.json["offers"]] == [("one", 0.0), ("two", 0.0)]


def test_a_question_alone_is_searched_for_by_its_words() -> None:
    done = gpa("narrow", "--tools", TOOLS, "--question", "find outliers", "--json")
    assert done.json["offers"][0]["narrowed"]["tools"][0] == "detect_anomalies"
    assert done.json["notes"] == [
        "No requirements are known: the tools are those that the words of the question bring."
    ]


def test_a_model_reads_the_question(service: MessagesService) -> None:
    done = gpa(
        *("narrow", "--tools", TOOLS, "--question", QUESTION, "--model", SONNET, "--base-url", service.url, "--json")
    )
    assert done.code == 0, done.err
    assert len(done.json["offers"][0]["needed"]) == 6


def test_a_template_comes_first_and_has_to_be_of_the_registry(files: Path) -> None:
    template = files / "template.json"
    template.write_text('["plot_bar"]')
    known = ("--tools", TOOLS, "--requirements", files / "asked.json", "--template", template)
    assert gpa("narrow", *known, "--json").json["offers"][0]["narrowed"]["tools"][0] == "plot_bar"
    template.write_text('["sing"]')
    done = gpa("narrow", *known)
    assert (done.code, "found 'sing'" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        pytest.param((), "expected either --requirements FILE or --question TEXT", id="nothing"),
        pytest.param(("--requirements", "a", "--model", SONNET), "--model: reads requirements", id="model"),
        pytest.param(("--question", "a", "--index-cache", "x"), "belong to --index embeddings", id="cache"),
        pytest.param(("--question", "a", "--cap", "7"), "7 is not in the range 8<=x<=12", id="cap"),
    ],
)
def test_narrow_refuses_options_that_make_no_sense(options: tuple[str, ...], said: str) -> None:
    done = gpa("narrow", "--tools", TOOLS, *options)
    assert (done.code, said in done.err) == (2, True), done.err


def test_lint_is_content_with_our_registry_and_says_what_is_wrong_with_another(files: Path) -> None:
    done = gpa("lint", TOOLS)
    assert (done.code, done.out.splitlines()[-1]) == (0, "11 tools, mapping version 1: nothing to mend")
    other = files / "tools.json"
    other.write_text('[{"name": "agregate", "capabilities": ["agregate"]}]')
    done = gpa("lint", other, "--json")
    assert done.code == 1
    assert "analysis.total: no tool has any of aggregate" in done.json["problems"]


def test_lint_wants_another_version_of_a_mapping_that_changed(files: Path) -> None:
    import msgspec

    from gpa.plans.capabilities import load_mapping

    old = msgspec.to_builtins(load_mapping())
    (files / "old.json").write_text(json.dumps({**old, "core": []}))
    done = gpa("lint", TOOLS, "--against", files / "old.json")
    assert done.code == 1
    assert "version: expected another one than 1" in done.out
