"""`gpa trajectory`: traces and model outputs against gold, with findings at spans that go where all results go."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpa.evaluation import Evaluation
from gpa.judges.verdict import NotApplicable, Verdict
from tests.gpa.command_line import gpa

TRACES = Path(__file__).parents[2] / "fixtures/traces/otel-genai-planner"
WHOLE = TRACES / "whole_plan.traces.jsonl"
KITTIWAKE = [
    ("find_berth", {"boat": "Kittiwake"}),
    ("berth_owner", {"berth": "B-17"}),
    ("owner_phone", {"owner": "Ragnhild Moe"}),
    ("send_text", {"phone": "+47 55 01 02 03", "text": "Your boat Kittiwake takes water."}),
]
WORKFLOW = {
    "agent": "tell_owner",
    "steps": [
        "find_berth(boat = user_provided_info['boat']) -> berth",
        "berth_owner(berth = berth)",
        "berth_fee(boat = user_provided_info['boat'])",
        "owner_phone(owner = owner)",
        "send_text(phone = phone, text = text)",
    ],
    "soft_ordering": [],
    "conditionals": [
        {
            "if": [{"field": "wants_fee", "operator": "==", "value": False}],
            "then": [{"action": "skip", "target": "berth_fee"}],
        }
    ],
}
USER = {
    "customer_id": "harbour_office",
    "agent_sequence": ["tell_owner"],
    "berth": "B-17",
    "owner": "Ragnhild Moe",
    "phone": "+47 55 01 02 03",
    "text": "Your boat Kittiwake takes water.",
    "wants_fee": False,
    "user_provided_info": {"boat": "Kittiwake"},
}


def google(*calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"google": [[{"tool_name": tool, "tool_input": arguments} for tool, arguments in calls]]}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "gold.json").write_text(json.dumps({"harbour_office": google(*KITTIWAKE)}))
    (tmp_path / "workflows").mkdir()
    (tmp_path / "workflows/tell_owner.json").write_text(json.dumps(WORKFLOW))
    (tmp_path / "users.json").write_text(json.dumps([USER]))
    return tmp_path


BY = ("--match-by", "gen_ai.agent.name")


def test_a_trace_that_did_what_its_workflow_asks_for(files: Path) -> None:
    done = gpa("trajectory", WHOLE, "--workflow", files / "workflows", "--users", files / "users.json", *BY, "--json")
    assert done.code == 0, done.err
    [row] = json.loads(done.out)["traces"]
    assert (row["matches_gold"], row["differences"], row["workflow"]) == (True, [], "tell_owner")


def test_gold_from_a_workflow_and_from_a_file_say_the_same(files: Path) -> None:
    compiled = gpa(
        "trajectory", TRACES, "--workflow", files / "workflows", "--users", files / "users.json", *BY, "--json"
    )
    given = gpa("trajectory", TRACES, "--gold", files / "gold.json", *BY, "--json")
    one, other = (
        {row["trace_id"]: row["metrics"] for row in json.loads(done.out)["traces"]} for done in (compiled, given)
    )
    assert one == other
    assert len(one) == 6


def test_a_call_that_the_conditions_rule_out_is_told_as_such(files: Path) -> None:
    done = gpa("trajectory", TRACES, "--workflow", files / "workflows", "--users", files / "users.json", *BY, "--json")
    tags = {(found["tag"], found["tool"]) for row in json.loads(done.out)["traces"] for found in row["differences"]}
    assert ("wrong_condition", "berth_fee") in tags
    assert ("extra_tool", "find_mooring") in tags


def test_differences_stand_at_spans_of_the_trace(files: Path) -> None:
    calls = [*KITTIWAKE[:1], ("berth_owner", {"berth": "B-18"}), *KITTIWAKE[2:], ("close", {})]
    (files / "gold.json").write_text(json.dumps({"harbour_office": google(*calls)}))
    lines = files / "results.jsonl"
    done = gpa("trajectory", WHOLE, "--gold", files / "gold.json", *BY, "--jsonl", lines)
    assert done.code == 0, done.err
    results = {result.judge: result for result in Evaluation.load(lines).results}
    recorded = {
        span["spanId"]: span
        for line in WHOLE.read_text().splitlines()
        for resource in json.loads(line)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    }
    calling, adherence = results["TC"], results["PA"]
    assert isinstance(calling, Verdict)
    assert isinstance(adherence, Verdict)
    [bad] = calling.findings
    assert [recorded[span]["name"] for span in bad.span_ids] == ["chat scripted-model-1", "execute_tool berth_owner"]
    assert (bad.check, bad.severity, calling.score) == ("trajectory-bad-param", "HIGH", 1)
    assert bad.problem == "bad_param: berth_owner: berth: expected 'B-18', found 'B-17'"
    [missing] = adherence.findings
    assert recorded[missing.span_ids[0]]["name"] == "chat scripted-model-1"
    assert missing.problem == "missing_tool: close should have been called"
    assert not getattr(results["EE"], "findings", ())


def test_results_stand_in_a_store_beside_those_of_the_checks(files: Path) -> None:
    store = files / "gpa.db"
    assert gpa("evaluate", WHOLE, "--store", store).code == 0
    for _ in range(2):  # the second time they are taken from the store
        done = gpa("trajectory", WHOLE, "--gold", files / "gold.json", *BY, "--store", store, "--json")
        assert done.code == 0, done.err
        assert json.loads(done.out)["traces"][0]["matches_gold"]
    models = [result.model for result in Evaluation.load(store).results]
    assert models.count("trajectory") == 3
    assert models.count("checks") == 7


def test_other_gold_is_other_results(files: Path) -> None:
    store = files / "gpa.db"
    gpa("trajectory", WHOLE, "--gold", files / "gold.json", *BY, "--store", store)
    (files / "gold.json").write_text(json.dumps({"harbour_office": google(*KITTIWAKE[:2])}))
    gpa("trajectory", WHOLE, "--gold", files / "gold.json", *BY, "--store", store)
    scores = [result.score for result in Evaluation.load(store).results if isinstance(result, Verdict)]
    assert sorted(scores) == [1, 3, 3, 3, 3, 3]


def test_a_trace_of_somebody_else_is_not_applicable(files: Path) -> None:
    (files / "gold.json").write_text(json.dumps({"somebody": google(*KITTIWAKE)}))
    lines = files / "results.jsonl"
    done = gpa("trajectory", WHOLE, "--gold", files / "gold.json", *BY, "--jsonl", lines)
    assert done.code == 0
    assert "no gold trajectory of harbour_office" in done.out
    assert all(isinstance(result, NotApplicable) for result in Evaluation.load(lines).results)


def test_broken_users_are_all_told_and_the_others_are_compared(files: Path) -> None:
    broken = {**USER, "customer_id": "b", "agent_sequence": ["no_such"]}
    (files / "users.json").write_text(json.dumps([broken, USER, {"agent_sequence": []}, 5]))
    (files / "workflows/other.json").write_text(
        '{"agent": "x", "steps": ["a("], "soft_ordering": 5, "conditionals": []}'
    )
    done = gpa("trajectory", WHOLE, "--workflow", files / "workflows", "--users", files / "users.json", *BY, "--json")
    assert done.code == 2
    assert len(done.err.splitlines()) >= 5
    assert all(line.startswith("gpa: ") for line in done.err.splitlines())
    assert json.loads(done.out)["traces"][0]["matches_gold"]


def test_broken_gold_is_all_told_and_exits_2(files: Path) -> None:
    (files / "gold.json").write_text(json.dumps({"a": {"google": [[{}, 5]]}, "b": 1}))
    done = gpa("trajectory", WHOLE, "--gold", files / "gold.json")
    assert done.code == 2
    assert len(done.err.splitlines()) == 3


def test_a_tool_can_be_passed_over(files: Path) -> None:
    (files / "gold.json").write_text(json.dumps({"harbour_office": google(*KITTIWAKE[:3])}))
    done = gpa("trajectory", WHOLE, "--gold", files / "gold.json", *BY, "--ignore", "send_text", "--json")
    assert json.loads(done.out)["traces"][0]["matches_gold"]


def test_traces_are_matched_by_their_ids_when_nothing_else_is_said(files: Path) -> None:
    trace_id = json.loads(WHOLE.read_text().splitlines()[0])["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["traceId"]
    (files / "gold.json").write_text(json.dumps({trace_id: google(*KITTIWAKE)}))
    done = gpa("trajectory", WHOLE, "--gold", files / "gold.json", "--json")
    assert json.loads(done.out)["traces"][0]["matches_gold"]


def test_a_score_below_the_threshold_exits_1(files: Path) -> None:
    (files / "gold.json").write_text(json.dumps({"harbour_office": google(("other", {}))}))
    assert gpa("trajectory", WHOLE, "--gold", files / "gold.json", *BY, "--fail-under", 2).code == 1


def test_what_models_printed_is_cleaned_compared_and_counted(files: Path) -> None:
    said = [
        f"{tool}({', '.join(f'{name}={value!r}' for name, value in arguments.items())})"
        for tool, arguments in KITTIWAKE
    ]
    outputs = files / "outputs.jsonl"
    texts = [
        json.dumps([[{"tool_name": t, "tool_input": a} for t, a in KITTIWAKE]]),
        "```\n[[" + ", ".join(said) + ",]]\n```",
        "no",
    ]
    outputs.write_text("".join(json.dumps({"user": "harbour_office", "output": text}) + "\n" for text in texts))
    done = gpa("trajectory", "--outputs", outputs, "--gold", files / "gold.json", "--json")
    assert done.code == 0, done.err
    tables = json.loads(done.out)["tables"]
    [row] = tables["matches"]["rows"]
    assert (row["outputs"], row["exact match"]["count"], row["no prediction"]) == (3, 2, 1)
    counts = {one["reason"]: one["outputs"] for one in tables["cleaning"]["rows"] if one["outputs"]}
    assert counts.pop("initial fail") == 2
    assert counts == dict.fromkeys(
        ["recovered", "unrecovered", "single quotes", "markdown fences", "invalid commas", "incorrect format"], 1
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((WHOLE,), "give the gold trajectories either by --workflow (and --users) or by --gold"),
        ((WHOLE, "--workflow", "w"), "--workflow needs --users FILE: trajectories depend on a user's data"),
        ((WHOLE, "--gold", "g", "--users", "u"), "--users belongs to --workflow"),
        (("--gold", "g"), "expected PATH... of traces, or --outputs FILE of model outputs"),
        ((WHOLE, "--gold", "g", "--outputs", "o"), "expected PATH... of traces, or --outputs FILE of model outputs"),
        ((WHOLE, "--gold", "no-such.json"), "no-such.json: cannot be read: No such file or directory"),
    ],
)
def test_options_that_do_not_go_together(arguments: tuple[object, ...], message: str) -> None:
    done = gpa("trajectory", *arguments)
    assert (done.code, done.err) == (2, f"gpa: {message}\n")
