"""`gpa plan refine`: what it prints and writes, by wire and by file, stopped and resumed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gpa.cli import main
from gpa.plans.plan_files import read_rows
from tests.gpa.call_plans import PALETTE, PLAN, SPLIT
from tests.servers.messages import Answer, MessagesService, blocks, messages_service

pytestmark = pytest.mark.usefixtures("own_caches")

MODEL = "anthropic/claude-haiku-5-5"
QUERY = "Why do customers of Graz cancel?"


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[MessagesService]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    with messages_service(model=answered) as serving:
        yield serving


@pytest.fixture
def palette(tmp_path: Path) -> Path:
    path = tmp_path / "tools.toml"
    path.write_text(PALETTE)
    return path


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(PLAN))
    return path


def answered(params: dict[str, Any]) -> Answer:
    """The answer of a model that divides a step at its semicolon."""
    system, *asked = (block["text"] for block in blocks(params))
    text = "\n".join(asked)
    if "You repair one step" in system:
        return Answer(json.dumps({"change0": "one step a figure", "change1": "step 3 takes both", "plan": SPLIT}))
    (step,) = re.findall(r"The step:\n=+ step \w+ begins =+\n(.*)\n", text)
    tag, reason = ("COMPLEXPROMPT", "asks for two figures") if ";" in step else ("NOCHANGE", "all is well")
    return Answer(json.dumps({"remarks": [{"reason": reason, "tag": tag}]}))


def gpa(*args: object) -> Result:
    return CliRunner().invoke(main, list(map(str, args)), catch_exceptions=False, env={"COLUMNS": "200"})


def arguments(plans: Path, palette: Path, *more: object) -> list[object]:
    return ["plan", "refine", plans, "--palette", palette, "--query", QUERY, "--model", MODEL, *more]


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


# by wire


def test_a_plan_is_improved_and_every_plan_on_the_way_is_shown(
    service: MessagesService, plan: Path, palette: Path, tmp_path: Path
) -> None:
    out = tmp_path / "lineage.json"
    result = gpa(*arguments(plan, palette, "--base-url", service.url, "-o", out))
    assert result.exit_code == 0, result.output
    for shown in (
        "2 plans, 2 passes, 5 questions; clean",
        "pass 1, step 1 [COMPLEX PROMPT]",
        "because: asks for two figures",
        "change 0: one step a figure",
        "change 1: step 3 takes both",
        '-"1": {"step": "T2S([], \'Count call drivers; list moments\')"',
        '+"3": {"step": "LLM(\'Answer (query) from (1) and (2)\')"',
        "pass 2: nothing to change in 3 steps",
        "score by the rules: 90.45 -> 100.00 of 100 (by 5 of 7 metrics): step executability 7.5 -> 15.0",
    ):
        assert shown in result.stdout
    (written,) = lines(out)
    assert [list(each) for each in written["lineage"]] == [["1", "2"], ["1", "2", "3"]]
    assert written["plan"] == written["lineage"][-1]
    assert written["meta"] == {
        "distinct_plans": 2, "passes": 2, "accepted_per_pass": [1, 0], "steps": [2, 3], "tools": [2, 2], "hops": [1, 1],
    }  # fmt: skip
    assert (written["status"], written["calls"], written["failures"]) == ("clean", 5, [])
    assert [score["score"] for score in written["scores"]] == pytest.approx([90.455, 100], abs=0.01)
    assert not out.with_name("lineage.json.log").exists()


def test_the_query_reaches_the_optimiser_and_never_the_evaluator(
    service: MessagesService, plan: Path, palette: Path
) -> None:
    gpa(*arguments(plan, palette, "--base-url", service.url))
    assert len(service.asked) == 5
    for params in service.asked:
        system, *asked = (block["text"] for block in blocks(params))
        assert ("Graz" in "".join(asked)) == ("You repair one step" in system)


def test_what_is_written_is_read_by_the_other_plan_commands(
    service: MessagesService, plan: Path, palette: Path, tmp_path: Path
) -> None:
    out = tmp_path / "lineage.json"
    gpa(*arguments(plan, palette, "--base-url", service.url, "-o", out))
    (row,) = read_rows(str(out), on_problem=lambda problem: pytest.fail(str(problem)))
    assert row.plan is not None
    assert (len(row.plan), len(row.lineage), row.query) == (3, 2, QUERY)


def test_many_plans_as_json_lines(service: MessagesService, palette: Path, tmp_path: Path) -> None:
    plans = tmp_path / "plans.jsonl"
    rows: list[dict[str, Any]] = [
        {"id": "a", "query": "Why?", "plan": PLAN},
        {"id": "b", "plan": {"1": {"step": "LLM('Answer (query)')", "depends_on": []}}},
    ]
    plans.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = gpa(*arguments(plans, palette, "--base-url", service.url, "--json"))
    assert result.exit_code == 0, result.output
    first, second = map(json.loads, result.stdout.splitlines())
    assert [(one["id"], one["query"], len(one["lineage"])) for one in (first, second)] == [
        ("a", "Why?", 2),
        ("b", QUERY, 1),
    ]


def test_answers_are_kept_so_a_second_run_pays_nothing(service: MessagesService, plan: Path, palette: Path) -> None:
    first = gpa(*arguments(plan, palette, "--base-url", service.url))
    second = gpa(*arguments(plan, palette, "--base-url", service.url))
    assert (first.stdout, sum(service.paid.values())) == (second.stdout, 5)


def test_a_step_that_cannot_be_judged_is_said_and_exits_3(service: MessagesService, plan: Path, palette: Path) -> None:
    service.model = lambda params: Answer("", "refusal") if "It depends on no" in str(params) else answered(params)
    result = gpa(*arguments(plan, palette, "--base-url", service.url, "--no-cache"))
    assert result.exit_code == 3, result.output
    assert "incomplete (1 of its steps failed in the last pass)" in result.stdout
    assert "pass 1, step 1: the evaluator failed: refusal: the model refused to answer" in result.stdout


def test_a_repair_that_stays_invalid_keeps_the_plan_and_exits_3(
    service: MessagesService, plan: Path, palette: Path
) -> None:
    bad = json.dumps({"change0": "", "change1": "", "plan": [{**SPLIT[0], "depends_on": ["7"]}]})
    service.model = lambda params: Answer(bad) if "You repair one" in str(params["system"]) else answered(params)
    result = gpa(*arguments(plan, palette, "--base-url", service.url, "--json"))
    assert result.exit_code == 3, result.output
    written = json.loads(result.stdout)
    assert (len(written["lineage"]), written["status"]) == (1, "incomplete")
    assert "expected a step of the plan, found '7'" in written["failures"][0]["message"]


@pytest.mark.parametrize(
    ("options", "status"),
    [
        (("--max-passes", "1"), "max_passes"),
        (("--max-edits", "0"), "capped"),
        (("--max-calls", "1"), "budget"),
        (("--max-cost", "0.0000001"), "budget"),
    ],
    ids=["passes", "edits", "calls", "cost"],
)
def test_bounds_stop_it_and_what_there_is_is_given(
    options: tuple[str, ...], status: str, service: MessagesService, plan: Path, palette: Path
) -> None:
    result = gpa(*arguments(plan, palette, "--base-url", service.url, "--json", *options))
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["status"] == status


def restless(rewrite: Callable[[list[str]], list[str]]) -> Callable[[dict[str, Any]], Answer]:
    """A model that finds a fault in every step, and rewrites the prompts of a plan."""

    def model(params: dict[str, Any]) -> Answer:
        system, *asked = (block["text"] for block in blocks(params))
        if "You repair one step" not in system:
            return Answer(json.dumps({"remarks": [{"reason": "so", "tag": "INCORRECT PROMPT"}]}))
        made = rewrite(re.findall(r"LLM\('([^']*)'\)", "\n".join(asked)))
        steps = [{"id": str(at), "step": f"LLM('{one}')", "depends_on": []} for at, one in enumerate(made, 1)]
        return Answer(json.dumps({"change0": "", "change1": "", "plan": steps}))

    return model


@pytest.mark.parametrize(
    ("rewrite", "options", "expected"),
    [
        (lambda steps: [{"x": "y", "y": "x"}[one] for one in steps], (), ("max_passes", 4, 5, 2)),
        (lambda steps: [{"x": "y", "y": "x"}[one] for one in steps], ("--stop-on-repeat",), ("repeated", 2, 2, 2)),
        (lambda steps: steps, (), ("clean", 1, 1, 1)),
        (lambda steps: [*steps, "more"], (), ("capped", 1, 14, 14)),
        (lambda steps: [*steps, "more"], ("--max-edits", "3"), ("capped", 1, 4, 4)),
    ],
    ids=["toggles", "toggles, stopped", "stays the same", "grows", "grows, capped lower"],
)
def test_an_optimiser_that_never_rests_is_stopped_as_specified(
    rewrite: Callable[[list[str]], list[str]],
    options: tuple[str, ...],
    expected: tuple[str, int, int, int],
    service: MessagesService,
    palette: Path,
    tmp_path: Path,
) -> None:
    service.model = restless(rewrite)
    plan = tmp_path / "x.json"
    plan.write_text(json.dumps({"1": {"step": "LLM('x')", "depends_on": []}}))
    result = gpa(*arguments(plan, palette, "--base-url", service.url, "--json", *options))
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    meta = found["meta"]
    people = gpa(*arguments(plan, palette, "--base-url", service.url, *options)).stdout
    aside = {"repeated": "gives a plan that was there before", "clean": "the optimiser left the plan as it is"}
    assert aside.get(found["status"], "pass 1, step 1 [INCORRECT PROMPT]") in people
    assert (found["status"], meta["passes"], len(found["lineage"]), meta["distinct_plans"]) == expected


# stopped and resumed


@pytest.mark.parametrize("at", [2, 5])
def test_killed_at_any_question_it_goes_on_without_paying_twice(
    at: int, service: MessagesService, plan: Path, palette: Path, tmp_path: Path
) -> None:
    whole = gpa(*arguments(plan, palette, "--base-url", service.url, "--no-cache", "--json")).stdout
    service.paid.clear()
    out, numbers = tmp_path / "out.json", count(1)
    process: list[subprocess.Popen[bytes]] = []

    def killing(params: dict[str, Any]) -> Answer:
        if next(numbers) == at:
            process[0].send_signal(signal.SIGKILL)
            process[0].wait()
        return answered(params)

    service.model = killing
    args = list(map(str, arguments(plan, palette, "--base-url", service.url, "--no-cache", "-o", out)))
    process.append(subprocess.Popen([sys.executable, "-m", "gpa", *args], stdout=subprocess.DEVNULL))
    assert process[0].wait(60) == -signal.SIGKILL
    assert not out.exists()
    refused = gpa(*args)
    assert refused.exit_code == 2
    assert "go on with --resume" in refused.stderr
    result = gpa(*args, "--resume")
    assert result.exit_code == 0, result.output
    assert out.read_text() == whole
    assert not out.with_name("out.json.log").exists()
    # The answer to the question at which it was killed never arrived; all others were paid for once.
    assert sorted(service.paid.values()) == [1] * 4 + [2]


def test_interrupted_it_writes_what_there_is_and_goes_on_from_there(
    service: MessagesService, plan: Path, palette: Path, tmp_path: Path
) -> None:
    out, numbers = tmp_path / "out.json", count(1)

    def interrupting(params: dict[str, Any]) -> Answer:
        if next(numbers) == 4:
            os.kill(os.getpid(), signal.SIGINT)
        return answered(params)

    service.model = interrupting
    first = gpa(*arguments(plan, palette, "--base-url", service.url, "--no-cache", "-o", out))
    assert first.exit_code == 130, first.output
    assert f"interrupted; what there is is in {out}, and --resume goes on from there" in first.stderr
    (written,) = lines(out)
    assert (written["status"], len(written["lineage"])) == ("interrupted", 2)
    again = gpa(*arguments(plan, palette, "--base-url", service.url, "--no-cache", "-o", out, "--resume"))
    assert again.exit_code == 0, again.output
    assert lines(out)[0]["status"] == "clean"
    assert sum(service.paid.values()) - len(service.paid) <= 1


def test_a_larger_budget_goes_on_from_the_smaller_one(
    service: MessagesService, plan: Path, palette: Path, tmp_path: Path
) -> None:
    common = arguments(plan, palette, "--base-url", service.url, "--no-cache", "-o", tmp_path / "out.json")
    assert gpa(*common, "--max-calls", "3").exit_code == 0
    assert gpa(*common, "--max-calls", "9", "--resume").exit_code == 0
    assert lines(tmp_path / "out.json")[0]["status"] == "clean"
    assert set(service.paid.values()) == {1}


# by file


def test_it_can_be_driven_by_hand_through_files(plan: Path, palette: Path, tmp_path: Path) -> None:
    requests, responses = tmp_path / "next.jsonl", tmp_path / "answers.jsonl"
    responses.write_text("")
    files = ("--requests-to", requests, "--responses-from", responses)
    for _ in range(5):
        result = gpa(*arguments(plan, palette, *files))
        assert (result.exit_code, result.stdout) == (0, ""), result.output
        assert "1 of 1 plans wait for an answer" in result.stderr
        (asked,) = lines(requests)
        message = {
            "type": "message",
            "content": [{"type": "text", "text": answered(asked["params"]).text}],
            "stop_reason": "end_turn",
        }
        with responses.open("a") as file:
            file.write(
                json.dumps({"custom_id": asked["custom_id"], "result": {"type": "succeeded", "message": message}})
                + "\n"
            )
    result = gpa(*arguments(plan, palette, *files))
    assert result.exit_code == 0, result.output
    assert "2 plans, 2 passes, 5 questions; clean" in result.stdout
    assert lines(requests) == []


def test_answers_that_end_early_give_the_lineage_so_far_and_exit_3(plan: Path, palette: Path, tmp_path: Path) -> None:
    (tmp_path / "none.jsonl").write_text("")
    result = gpa(*arguments(plan, palette, "--responses-from", tmp_path / "none.jsonl"))
    assert result.exit_code == 3
    assert "1 plan, 1 pass, 1 question; waiting (the next question has no answer yet)" in result.stdout


# refused


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda args: [arg for arg in args if arg not in {"--model", MODEL}], "--model: expected the model"),
        (lambda args: [*args, "--resume"], "--resume: expected the file of the run to go on with (-o FILE)"),
        (lambda args: [*args, "-o", "."], ".: expected a file to write to, found a folder"),
        (lambda args: [*args, "--dry-run"], "--dry-run: every question depends on the last answer"),
        (lambda args: [arg for arg in args if arg not in {"--query", QUERY}], "expected a query for the plan"),
    ],
    ids=["no model", "nothing to resume", "folder", "rehearsal", "no query"],
)
def test_what_makes_no_sense_is_refused_before_anything_is_asked(
    change: Callable[[list[object]], list[object]], why: str, service: MessagesService, plan: Path, palette: Path
) -> None:
    result = gpa(*change(arguments(plan, palette, "--base-url", service.url)))
    assert (result.exit_code, service.asked) == (2, [])
    assert why in result.stderr


def test_a_plan_that_is_none_is_said_and_the_others_are_refined(
    service: MessagesService, palette: Path, tmp_path: Path
) -> None:
    plans = tmp_path / "plans.jsonl"
    bad = {"1": {"step": "LLM('x')", "depends_on": [2]}, "2": {"step": "LLM('y')", "depends_on": []}}
    plans.write_text(json.dumps({"id": "bad", "plan": bad}) + "\n" + json.dumps({"id": "good", "plan": PLAN}) + "\n")
    result = gpa(*arguments(plans, palette, "--base-url", service.url))
    assert result.exit_code == 2
    assert "not a valid plan" in result.stderr
    assert "expected an earlier step, found step 2, which comes later" in result.stderr
    assert "good: 2 plans" in result.stdout
