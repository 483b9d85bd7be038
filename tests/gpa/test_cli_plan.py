"""`gpa plan score`, `compare`, `weights` and `answers`: by rules, by wire, by files, and how they end."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import pytest

from gpa.agreement import cohen_kappa, concurrences, confusion, fleiss_kappa
from gpa.cli.plan import COMMANDS
from gpa.cli.plan import command as group
from gpa.plan_ratings import among_people, human_place, human_places
from gpa.plans.one_shot import RATINGS
from gpa.plans.plan_files import PlanRow
from tests.gpa import command_line
from tests.gpa.command_line import Ran
from tests.servers.messages import Answer, MessagesService, messages_service

pytestmark = pytest.mark.usefixtures("own_caches")

ROOT = Path(__file__).parents[2]
PALETTE = ROOT / "fixtures/plans/contact_centre.toml"
SONNET = "anthropic/claude-sonnet-5-5"
GOOD = {
    "1": {"step": "T2S([], 'Fetch interaction_ids of calls last week')", "depends_on": []},
    "2": {"step": "RAG((1), 'Why do customers call?')", "depends_on": [1]},
    "3": {"query": "LLM('Summarise (2) to answer (query)')", "depends_on": [2]},
}
LAZY = {**GOOD, "3": {"query": "LLM('Summarise to answer the query')", "depends_on": [2]}}
CYCLE = {"1": {"step": "LLM('(2)')", "depends_on": [2]}, "2": {"step": "LLM('(1)')", "depends_on": [1]}}


def gpa(*arguments: object) -> Ran:
    return command_line.gpa("plan", *arguments)


def lines(folder: Path, *rows: object, name: str = "rows.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """A good plan, one that forgets its placeholders, and one that is none."""
    known = {"query": "Why do customers call?", "reference": GOOD}
    return lines(
        tmp_path,
        {"id": "good", "llm": "large", "plan": GOOD, "is_query_subjective": 0, "rating": 7, **known},
        {"id": "lazy", "llm": "small", "plan": LAZY, "is_query_subjective": 1, "rating": "Acceptable", **known},
        {"id": "none", "llm": "small", "plan": CYCLE, "is_query_subjective": 1, **known},
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_each_subcommand_has_an_example_and_is_in_the_readme(name: str) -> None:
    command = group.get_command(click.Context(group), name)
    assert command is not None
    shown = command.get_help(click.Context(command, info_name=name))
    assert f"gpa plan {name} " in shown.split("Examples:")[1]
    assert f"gpa plan {name}" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(one.help for one in command.params if isinstance(one, click.Option))


# by rules


def test_each_deduction_is_named_and_located(rows: Path) -> None:
    done = gpa("score", rows, "--palette", PALETTE)
    assert done.code == 0, done.err
    assert "lazy: step 3: format: depends on step 2 and has no placeholder for it\n" in done.out
    assert "none: rejected: " in done.out
    assert "depends_on: expected an earlier step, found step 2, which comes later" in done.out


def test_scores_come_as_json_with_means_by_planner_and_kind(rows: Path) -> None:
    found = gpa("score", rows, "--palette", PALETTE, "--json").json
    scores = {plan["id"]: plan["score"] for plan in found["plans"]}
    # Format loses one step of three: 20 / 3 of the 55 points of effectiveness that are judged, of 70.
    assert scores == pytest.approx({"good": 100, "lazy": 70 * (1 - 20 / 3 / 55) + 30, "none": 0})
    assert found["plans"][0]["missing"] == {"query_adherence": "only a model or a person can say"}
    planners = {row["planner"]: row["score"] for row in found["tables"]["planners"]["rows"]}
    assert planners == pytest.approx({"large": 100, "small": scores["lazy"] / 2})
    assert [row["subjectivity"] for row in found["tables"]["by_subjectivity"]["rows"]] == ["objective", "subjective"]


def test_a_rejected_plan_can_be_left_out(rows: Path) -> None:
    found = gpa("score", rows, "--palette", PALETTE, "--rejected", "exclude", "--json").json
    assert [plan["score"] is None for plan in found["plans"]] == [False, False, True]
    assert found["tables"]["metrics"]["rows"][1]["judged"] == 2


def test_points_can_be_given(rows: Path, tmp_path: Path) -> None:
    points = tmp_path / "points.toml"
    points.write_text("[points]\nformat = 0\ntool_prompt_alignment = 40\n")
    found = gpa("score", rows, "--palette", PALETTE, "--points", points, "--json").json
    assert found["plans"][1]["score"] == 100


def test_every_plan_of_a_lineage_is_scored_and_weights_are_learnt_from_them(tmp_path: Path) -> None:
    path = lines(tmp_path, {"id": "q", "lineage": [CYCLE | LAZY, LAZY, GOOD], "reference": GOOD})
    done = gpa("score", path, "--palette", PALETTE, "--lineages", "--json")
    assert [plan["id"] for plan in done.json["plans"]] == ["q#1", "q#2", "q#3"]
    if find_spec("scipy") is None:
        return
    scored = tmp_path / "scores.json"
    scored.write_text(done.out)
    found = gpa("weights", scored, "--no-grid", "--json").json
    assert found["tables"]["triplets"]["rows"]


def test_the_tables_of_the_release_come_out_as_they_went_in(rows: Path, tmp_path: Path) -> None:
    queries, plans = tmp_path / "queries.csv", tmp_path / "plans.csv"
    first = gpa("score", rows, "--palette", PALETTE, "--queries-csv", queries, "--plans-csv", plans, "--json").json
    assert [row["query_id"] for row in csv.DictReader(io.StringIO(plans.read_text()))] == ["good", "lazy", "none"]
    again = gpa("score", plans, "--queries", queries, "--palette", PALETTE, "--json").json
    assert [plan["score"] for plan in again["plans"]] == [plan["score"] for plan in first["plans"]]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["score", "ROWS"], "Missing option '--palette'"),
        (["score", "ROWS", "--palette", PALETTE, "--effort", "low"], "--effort: is about LLM judges; add --model"),
        (["score", "ROWS", "--palette", PALETTE, "--metrics", "format"], "--metrics: is about what the model is asked"),
        (["score", "ROWS", "--palette", PALETTE, "--lineages"], "--lineages: expected rows with a lineage"),
        (["score", "-", "--palette", PALETTE], "<stdin>: expected plans, found an empty file"),
        (["score", "nowhere.json", "--palette", PALETTE], "nowhere.json"),
        (["compare", "ROWS", "nowhere.json", "--palette", PALETTE], "nowhere.json"),
        (["compare", "ROWS", "x", "y", "--palette", PALETTE], "at most one REFERENCE"),
        (["weights", "ROWS"], "expected best, penultimate, antepenultimate or lineage"),
        (["answers", "ROWS"], 'expected "answers" or "scores" by system'),
    ],
    ids=lambda one: " ".join(map(str, one)) if isinstance(one, list) else "",
)
def test_what_cannot_be_done_is_said(rows: Path, arguments: list[object], said: str) -> None:
    done = gpa(*(rows if one == "ROWS" else one for one in arguments))
    assert done.code == 2
    assert said in done.err


def test_below_the_threshold_the_code_is_one(rows: Path) -> None:
    assert gpa("score", rows, "--palette", PALETTE, "--fail-under", 90).code == 1
    assert gpa("compare", rows, "--palette", PALETTE, "--fail-under", 0.9).code == 1


# against a reference


def test_plans_are_rated_bucketed_and_compared_with_people(rows: Path) -> None:
    found = gpa("compare", rows, "--palette", PALETTE, "--json").json
    assert [plan["rating"] for plan in found["plans"]] == ["Extremely Good", "Acceptable", "Extremely Bad"]
    assert found["plans"][1]["f1"] == pytest.approx(2 / 3)
    small = found["tables"]["planners"]["rows"][1]
    assert [small[bucket]["value"] for bucket in ("A+", "A", "B")] == [0, 0, 0.5]
    people = {row["statistic"]: row["value"]["value"] for row in found["tables"]["with_people"]["rows"]}
    assert people == {"same rating": 1, "kappa": 1, "kappa, linear": 1, "kappa, quadratic": 1}


def test_each_difference_is_located(tmp_path: Path) -> None:
    lazy, good = tmp_path / "lazy.json", tmp_path / "good.json"
    lazy.write_text(json.dumps(LAZY))
    good.write_text(json.dumps(GOOD))
    done = gpa("compare", lazy, good, "--palette", PALETTE, "--same", 60)
    assert done.code == 0, done.err
    assert done.out.startswith("Acceptable: F1 0.667 (precision 0.667, recall 0.667)")
    assert "step 3: is like step 3 but has other placeholders and is not well formed" in done.out
    assert "reference step 3: no step of the plan does this" in done.out


def test_two_peoples_plans_are_compared_both_ways(rows: Path) -> None:
    found = gpa("compare", rows, "--palette", PALETTE, "--mutual", "--json").json
    assert [plan["mutual"]["rating"] for plan in found["plans"]] == ["Extremely Good", "Extremely Bad", "Extremely Bad"]
    assert [plan["mutual"]["adjudicate"] for plan in found["plans"]] == [False, True, True]


@pytest.mark.parametrize(
    ("said", "place"),
    [("very good", 1), (7, 0), ("1", 6), ("ExtremelyBad", 6), (8, None), ("fine", None), (None, None)],
)
def test_peoples_ratings_are_names_or_numbers(said: object, place: int | None) -> None:
    assert human_place(PlanRow("r", None, fields={"rating": said})) == place
    assert place is None or 0 <= place < len(RATINGS)


def test_of_several_peoples_ratings_the_middle_one_counts_the_lower_of_two() -> None:
    def rated(*said: object) -> PlanRow:
        return PlanRow("r", None, fields={"rating": list(said)})

    assert human_places(rated("Good", 7, "very bad", "fine")) == (2, 0, 5)
    assert human_place(rated("Good", 7, "very bad")) == 2
    assert human_place(rated("Good", 7)) == 2
    assert human_place(rated()) is None


def test_more_than_two_people_are_compared_with_each_other_by_fleiss_kappa(tmp_path: Path) -> None:
    said = (["Good", "Good", "Bad"], ["Good", "Good", "Good"], ["Bad", "Bad", "Bad"], ["Bad", "Bad", "Good"])
    path = lines(tmp_path, *({"plan": GOOD, "reference": GOOD, "rating": list(one)} for one in said))
    found = gpa("compare", path, "--palette", PALETTE, "--json").json["tables"]["among_people"]
    same, kappa = (row["value"] for row in found["rows"])
    assert (same["count"], same["total"]) == (2, 4)
    assert kappa["value"] == pytest.approx((2 / 3 - 0.5) / 0.5)  # by hand: shares of agreeing pairs 1/3, 1, 1, 1/3


def test_two_people_are_compared_with_each_other_by_cohens_kappa() -> None:
    [table] = among_people([(0, 0), (0, 1), (1, 1), (1, 1)])
    assert [row[0] for row in table.rows] == ["same rating", "kappa", "kappa, linear", "kappa, quadratic"]
    assert among_people([(0,), ()]) == []


# by wire and by files


def judged(params: dict[str, Any]) -> Answer:
    """Faults step 2 for alignment and finds the query half answered."""
    asked = params["messages"][0]["content"][-1]["text"]
    if "# Which steps of the plan" in asked:
        pairs = [{"plan": str(number), "reference": str(number)} for number in (1, 2, 3)]
        return Answer(json.dumps({"explanation": "the same", "pairs": pairs}))
    faults = [{"step": "2", "reason": "the tool cannot"}] if "# Does each step ask its tool" in asked else []
    said: dict[str, Any] = {"explanation": "looked", "faults": faults}
    if "# Would the result of this plan" in asked:
        said["score"] = 0.5
    return Answer(json.dumps(said))


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[MessagesService]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    with messages_service(model=judged) as serving:
        yield serving


def test_a_model_judges_what_rules_cannot_and_is_paid_once(service: MessagesService, rows: Path) -> None:
    command = ["score", rows, "--palette", PALETTE, "--model", SONNET, "--base-url", service.url, "--json"]
    done = gpa(*command)
    assert done.code == 0, done.err
    good = done.json["plans"][0]
    # A third of alignment and half of adherence are lost.
    assert good["score"] == pytest.approx(100 - 20 / 3 - 7.5)
    deductions = {metric["metric"]: metric["deductions"] for metric in good["metrics"] if metric["deductions"]}
    assert deductions["tool_prompt_alignment"] == [{"step": "2", "reason": "the tool cannot", "by": SONNET}]
    assert good["missing"] == {}
    assert (done.json["model"], len(done.json["rubric_hash"])) == (SONNET, 16)
    assert service.paid.total() == 12  # six metrics of two plans; of the third there is nothing to ask
    assert "12 answers paid for ($" in done.err
    again = gpa(*command)
    assert again.out == done.out
    assert "0 answers paid for ($0.0000), 12 from the cache" in again.err


def test_a_batch_is_named_and_answers_like_live_requests(service: MessagesService, rows: Path) -> None:
    command = ["score", rows, "--palette", PALETTE, "--model", SONNET, "--base-url", service.url, "--json"]
    service.polls_until_ended = 0
    batched = gpa(*command, "--batch")
    assert batched.code == 0, batched.err
    assert "gpa: batch msgbatch_0000: ended, 12 of 12 requests done" in batched.err
    assert gpa(*command, "--no-cache").out == batched.out


def test_a_refused_metric_is_missing_with_its_reason_and_the_code_is_three(
    service: MessagesService, rows: Path
) -> None:
    def refusing(params: dict[str, Any]) -> Answer:
        refused = "# Does each step add something" in params["messages"][0]["content"][-1]["text"]
        return Answer("", stop_reason="refusal") if refused else judged(params)

    service.model = refusing
    done = gpa("score", rows, "--palette", PALETTE, "--model", SONNET, "--base-url", service.url, "--json")
    assert done.code == 3
    plan = done.json["plans"][0]
    assert "refusal" in plan["missing"]["redundancy"]
    assert "redundancy" not in [metric["metric"] for metric in plan["metrics"]]


def test_a_model_says_which_steps_match_and_rules_check_the_rest(service: MessagesService, rows: Path) -> None:
    done = gpa("compare", rows, "--palette", PALETTE, "--model", SONNET, "--base-url", service.url, "--json")
    assert done.code == 0, done.err
    found = {plan["id"]: plan for plan in done.json["plans"]}
    assert found["good"]["explanation"] == "the same"
    assert found["lazy"]["matches"] == [{"plan": "1", "reference": "1"}, {"plan": "2", "reference": "2"}]
    assert "has other placeholders" in found["lazy"]["differences"][0]["reason"]


@pytest.mark.parametrize("name", ["score", "compare"])
def test_requests_go_to_a_file_and_answers_come_from_one(
    name: str, rows: Path, tmp_path: Path, answered: Callable[[Path], Path]
) -> None:
    requests = tmp_path / "requests.jsonl"
    command = [name, rows, "--palette", PALETTE, "--model", SONNET, "--json"]
    written = gpa(*command, "--requests-to", requests)
    assert (written.code, written.out) == (0, "")
    count = {"score": 12, "compare": 2}[name]
    assert written.err == f"{count} requests written to {requests}; nothing was sent\n"
    done = gpa(*command, "--responses-from", answered(requests))
    assert done.code == 0, done.err
    assert done.json["plans"][0]["id"] == "good"
    lacking = gpa(*command, "--responses-from", lines(tmp_path, name="empty.jsonl"))
    assert lacking.code == 3


@pytest.mark.parametrize("name", ["score", "compare"])
def test_a_rehearsal_counts_the_requests_that_would_be_sent_and_needs_no_key(
    name: str, rows: Path, tmp_path: Path
) -> None:
    command = [name, rows, "--palette", PALETTE, "--model", SONNET]
    done = gpa(*command, "--dry-run")
    assert (done.code, done.err) == (0, "")
    count = {"score": 12, "compare": 2}[name]
    assert f"  in all: {count} requests, " in done.out
    assert ("  plan-redundancy: 2 requests, " in done.out) == (name == "score")
    assert "No more than $" in done.out
    refused = gpa(*command, "--dry-run", "--requests-to", tmp_path / "requests.jsonl")
    assert (refused.code, refused.err) == (2, "gpa: --dry-run: contradicts --requests-to\n")


@pytest.fixture
def answered(tmp_path: Path) -> Callable[[Path], Path]:
    def answer(requests: Path) -> Path:
        made = []
        for line in requests.read_text().splitlines():
            request = json.loads(line)
            text = judged(request["params"]).text
            content = {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "usage": {}}
            message = {"type": "message", "role": "assistant", "model": "m", "id": "i", **content}
            made.append({"custom_id": request["custom_id"], "result": {"type": "succeeded", "message": message}})
        return lines(tmp_path, *made, name="responses.jsonl")

    return answer


# weights, answers, agreement


@pytest.mark.skipif(find_spec("scipy") is None, reason="needs scipy: pip install 'agent-gpa[stats]'")
def test_weights_are_learnt_rounded_and_written_for_the_scores(tmp_path: Path, rows: Path) -> None:
    metric = {"best": {"tool_prompt_alignment": 1}, "penultimate": {"tool_prompt_alignment": 0.5}}
    other = {"best": {"redundancy": 1}, "penultimate": {"redundancy": 0.5}}
    points = tmp_path / "points.json"
    done = gpa("weights", lines(tmp_path, metric, other), "--points-to", points, "--json")
    assert done.code == 0, done.err
    found = {row["metric"]: row for row in done.json["tables"]["weights"]["rows"]}
    assert found["redundancy"]["learnt"] == pytest.approx(30)
    fit = {row["weights"]: row for row in done.json["tables"]["fit"]["rows"]}
    assert (fit["learnt"]["in order"]["count"], fit["learnt"]["smallest margin"]) == (2, pytest.approx(15))
    assert sum(json.loads(points.read_text())["points"].values()) == 100
    assert gpa("score", rows, "--palette", PALETTE, "--points", points).code == 0


@pytest.mark.skipif(find_spec("scipy") is None, reason="needs scipy: pip install 'agent-gpa[stats]'")
def test_a_ranking_of_planners_is_tried_with_other_weights(tmp_path: Path) -> None:
    metrics = ("tool_prompt_alignment", "format", "step_executability", "query_adherence", "dependencies",
               "redundancy", "tool_usage_completeness")  # fmt: skip
    planners = [{"planner": f"p{n}", **dict.fromkeys(metrics, n / 4)} for n in range(4)]
    triple = {"lineage": [{"format": 0.5}, {"format": 1}]}
    path = lines(tmp_path, *planners, name="planners.jsonl")
    found = gpa("weights", lines(tmp_path, triple), "--no-grid", "--planners", path, "--json").json
    (row,) = found["tables"]["sensitivity"]["rows"]
    assert (row["planners"], row["equal weights"], row["lowest"]) == (4, pytest.approx(1), pytest.approx(1))


def test_answers_that_are_scored_are_decided_and_counted(tmp_path: Path) -> None:
    path = lines(
        tmp_path,
        {"id": "a", "scores": {"R1": [1, 1, 5, 6], "R2": [1, 1, 6, 4], "R3": [1, 1, 6, 4]}, "decision": "r3, r2"},
        {"id": "b", "scores": {"R1": [1, 1, 4, 7], "R2": [0, 1, 9, 7], "R3": [1, 0, 1, 7]}, "decision": "All"},
        {"id": "c", "scores": {"R1": [1, 0, 1, 7], "R2": [1, 0, 1, 7], "R3": [1, 0, 1, 7]}},
    )
    done = gpa("answers", path, "--json")
    assert done.code == 0, done.err
    assert [one["decision"] for one in done.json["questions"]] == ["R2,R3", "R1", "Neither"]
    rates = {row["system"]: row["questions"]["value"] for row in done.json["tables"]["win_rates"]["rows"]}
    assert rates == pytest.approx({"R1": 1 / 3, "R2": 1 / 3, "R3": 1 / 3})
    assert done.json["tables"]["with_people"]["rows"][0]["value"]["count"] == 1


def test_answers_are_scored_by_a_model(service: MessagesService, tmp_path: Path) -> None:
    good, bad = (
        dict(zip(("validity", "consistency", "completeness", "redundancy"), figures, strict=True))
        for figures in ((1, 1, 6, 7), (0, 0, 1, 7))
    )
    service.model = lambda _params: Answer(json.dumps({"rationale": "so", "scores": {"R1": good, "R2": bad}}))
    path = lines(tmp_path, {"id": "a", "query": "How many?", "answers": {"R1": "Ten.", "R2": ""}})
    assert "have no scores; add --model" in gpa("answers", path).err
    done = gpa("answers", path, "--model", SONNET, "--base-url", service.url, "--json")
    assert done.code == 0, done.err
    assert done.json["questions"][0]["decision"] == "R1"
    service.model = lambda _params: Answer("R1 is better.")
    assert gpa("answers", path, "--model", SONNET, "--base-url", service.url, "--no-cache").code == 3


def test_kappa_weighs_how_far_raters_are_apart() -> None:
    raters = zip([1, 2, 3, 4, 5, 6, 7, 7], [1, 2, 3, 4, 5, 6, 6, 5], strict=True)
    counts = confusion([(one - 1, other - 1) for one, other in raters], 7)
    found = [cohen_kappa(counts), cohen_kappa(counts, "linear"), cohen_kappa(counts, "quadratic")]
    assert found == pytest.approx([0.7143, 0.8333, 0.9180], abs=5e-5)


def test_fleiss_kappa_is_that_of_his_paper() -> None:
    table = [
        [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
    ]  # fmt: skip
    units = [concurrences([value for value, n in enumerate(counts) for _ in range(n)], 5) for counts in table]
    assert fleiss_kappa([sum(column) for column in zip(*units, strict=True)]) == pytest.approx(0.210, abs=1e-3)
    assert fleiss_kappa(concurrences([1, 1, 1], 2)) is None
    assert fleiss_kappa(concurrences([1], 2)) is None
