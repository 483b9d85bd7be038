"""`gpa workflow` from the command line: what it prints where, files, errors and exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.gpa import command_line
from tests.gpa.command_line import Ran
from tests.plans.workflows import FIXTURES, TRAVELLER, user

TRAVELLERS = FIXTURES / "users" / "travellers.json"
EMPLOYEES = FIXTURES / "users" / "employees.json"


def gpa(*arguments: object) -> Ran:
    return command_line.gpa("workflow", *arguments, columns=120)


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A folder with a good workflow and two that are wrong, and users for all of them."""
    folder = tmp_path / "workflows"
    folder.mkdir()
    good = {"agent": "good", "steps": ["a(x=top)"], "soft_ordering": [], "conditionals": []}
    (folder / "good.json").write_text(json.dumps(good))
    bad = {**good, "agent": "bad", "steps": ["a(x)", "b(y=)"], "soft_ordering": [["c"]]}
    (folder / "bad.json").write_text(json.dumps(bad))
    (folder / "torn.json").write_text('{"agent": ')
    users: list[Any] = [
        {"customer_id": 1, "agent_sequence": ["good"], "top": 5},
        {"customer_id": 2, "agent_sequence": ["good"]},
        {"customer_id": 3, "agent_sequence": ["bad"], "top": 5},
        {"agent_sequence": ["good"], "top": 5},
        {"customer_id": 4, "agent_sequence": ["good"], "top": 0},
    ]
    (tmp_path / "users.json").write_text(json.dumps(users))
    return folder


def test_every_error_is_said_at_once_and_the_other_users_are_compiled(broken: Path) -> None:
    done = gpa("compile", broken, "--users", broken.parent / "users.json", "--json")
    assert done.code == 2
    made = json.loads(done.out)
    assert {name: one["google"][0][0]["tool_input"] for name, one in made.items()} == {"1": {"x": 5}, "4": {"x": 0}}
    said = done.err.replace(f"{broken.parent}/", "").splitlines()
    assert said[0] == (
        "gpa: workflows/bad.json: workflow bad, step steps[0] a, field steps[0]:"
        " expected parameter=reference, found 'x'"
    )
    assert said[1].startswith("gpa: workflows/bad.json: workflow bad, step steps[1] b, field steps[1]: parameter 'y'")
    assert said[2] == "gpa: workflows/bad.json: workflow bad, field soft_ordering[0][0]: no step is called 'c'"
    assert said[3].startswith("gpa: workflows/torn.json:1:11: expected JSON")
    assert said[4:] == [
        "gpa: users.json[3]: field customer_id: missing; every user needs an id (or choose another id field)",
        "gpa: users.json[1]: user 2, workflow good, step a, field top: the data has no 'top'; needed by a(x)",
        (
            "gpa: users.json[2]: user 3, workflow bad, field agent_sequence[0]: no usable workflow has this name;"
            " there are good"
        ),
        "gpa: 7 errors",
    ]


def test_validate_says_the_same_and_its_json_has_the_places(broken: Path) -> None:
    done = gpa("validate", broken, "--users", broken.parent / "users.json", "--json")
    assert done.code == 2
    found = json.loads(done.out)
    assert [one["name"] for one in found["workflows"]] == ["good"]
    assert found["valid_users"] == 2
    assert len(found["errors"]) == 7
    assert {"file", "user", "workflow", "step", "field", "message"} == found["errors"][0].keys()


def test_validate_lists_workflows_that_are_right_with_what_they_need() -> None:
    done = gpa("validate", FIXTURES, "--users", TRAVELLERS)
    assert done.code == 0
    assert (
        "check_order_status: 4 steps, 0 rules, 0 soft blocks; needs order_status, user_provided_info['order_id']"
        in (done.out.splitlines())
    )
    assert done.out.endswith("1 user is valid\n")
    assert done.err.count("gpa: note:") == 1


def test_compile_draws_for_people_and_writes_json_for_machines(tmp_path: Path) -> None:
    shown = gpa("compile", FIXTURES, "--users", EMPLOYEES, "--id-field", "employee_id")
    assert shown.code == 0
    assert "  ╭ ask_for_pto_dates()   any order\n" in shown.out
    assert shown.out.endswith("1 user, 2 trajectories\n")
    path = tmp_path / "gold.json"
    for _ in range(2):
        done = gpa("compile", FIXTURES, "--users", TRAVELLERS, "--format", "tool_only,traxgen", "-o", path)
        assert (done.code, done.out, done.err) == (0, "", "")
    made = json.loads(path.read_text())["1802531"]
    assert list(made) == ["tool_only", "traxgen"]
    assert {len(one) for one in made["tool_only"]} == {17}


def test_data_and_trajectory_keeps_every_record_and_adds_to_those_that_compile(broken: Path) -> None:
    users = broken.parent / "users.json"
    done = gpa(
        "compile", broken / "good.json", "--users", users, "--output-mode", "data_and_trajectory", "--json",
        "--format", "tool_only",
    )  # fmt: skip
    assert done.code == 2
    records = json.loads(done.out)
    assert [one.get("customer_id") for one in records] == [1, 2, 3, 4]
    assert [one.get("ground_truth_trajectories") for one in records] == [
        {"tool_only": [["a"]]}, None, None, {"tool_only": [["a"]]},
    ]  # fmt: skip


def test_settings_reach_the_compiler(tmp_path: Path) -> None:
    path = tmp_path / "user.json"
    cancelled = {"status": "Cancelled", "delay_reason": "Mechanical", "estimated_delay_minutes": 1}
    path.write_text(json.dumps(user(TRAVELLER, "book_flight", "handle_flight_disruption", flight_info=cancelled)))
    start = ["compile", FIXTURES, "--users", path, "--format", "traxgen", "--json"]
    plain = json.loads(gpa(*start).out)["1802531"]["traxgen"]
    assert sum("update_loyalty_points" in line for line in plain[0]) == 1
    like = json.loads(gpa(*start, "--like-traxgen", "--close-tool", "", "--agent-label", "x").out)["1802531"]["traxgen"]
    assert not any("update_loyalty_points" in line for line in like[0])
    assert like[0][0] == "agent: x"
    assert sum("complete_case" in line for line in like[0]) == 2
    assert len(json.loads(gpa(*start, "--fixed-overrides").out)["1802531"]["traxgen"]) == 1
    refused = gpa(*start, "--undeclared-override", "error")
    assert refused.code == 2
    assert "step update_loyalty_points" in refused.err


def test_caps_refuse_or_sample_and_say_so() -> None:
    start = ["compile", FIXTURES, "--users", TRAVELLERS, "--json", "--max-trajectories", 3]
    refused = gpa(*start)
    assert (refused.code, json.loads(refused.out)) == (2, {})
    assert "4 orders: more than max_trajectories 3; raise the cap, or sample" in refused.err
    sampled = gpa(*start, "--sample", "--seed", 4)
    assert sampled.code == 0
    assert len(json.loads(sampled.out)["1802531"]["google"]) == 3
    assert "gpa: note: 3 of 4 trajectories, drawn with seed 4: more than max_trajectories 3" in sampled.err


def test_made_up_users_compile_and_a_template_can_be_edited(tmp_path: Path) -> None:
    users, template = tmp_path / "users.json", tmp_path / "template.json"
    assert gpa("profiles", FIXTURES, "-n", 30, "--seed", 7, "-o", users).code == 0
    assert gpa("compile", FIXTURES, "--users", users, "-o", tmp_path / "gold.json").code == 0
    assert len(json.loads((tmp_path / "gold.json").read_text())) == 30
    assert gpa("profiles", FIXTURES, "--template", "-o", template).code == 0
    edited = {**json.loads(template.read_text()), "agent_sequence": {"book_flight, cancel_flight": 3}}
    template.write_text(json.dumps(edited))
    done = gpa("profiles", FIXTURES, "--distributions", template)
    assert [one["agent_sequence"] for one in json.loads(done.out)] == [["book_flight", "cancel_flight"]] * 3
    template.write_text('{"customer_id": {"x": -1}, "order_id": {}}')
    wrong = gpa("profiles", FIXTURES, "--distributions", template)
    assert (wrong.code, wrong.out) == (2, "")
    assert wrong.err.count(str(template)) == 2


def test_external_data_is_shared_and_the_users_own_wins(tmp_path: Path) -> None:
    workflow = {"agent": "w", "steps": ["a(x=rate, y=top)"], "soft_ordering": [], "conditionals": []}
    (tmp_path / "w.json").write_text(json.dumps(workflow))
    (tmp_path / "users.json").write_text('[{"customer_id": 1, "agent_sequence": ["w"], "top": 1}]')
    (tmp_path / "external.json").write_text('{"rate": 3, "top": 2}')
    done = gpa(
        "compile",
        tmp_path / "w.json",
        "--users",
        tmp_path / "users.json",
        "--external",
        tmp_path / "external.json",
        "--json",
    )
    assert json.loads(done.out)["1"]["google"] == [[{"tool_name": "a", "tool_input": {"x": 3, "y": 1}}]]


@pytest.mark.parametrize(
    ("form", "begins"),
    [("svg", "<svg "), ("dot", "digraph "), ("mermaid", "---\ntitle: "), ("terminal", "book_flight\n")],
)
def test_draw_writes_each_form(form: str, begins: str, tmp_path: Path) -> None:
    done = gpa("draw", FIXTURES / "book_flight.json", "--as", form)
    assert done.out.startswith(begins)
    suffix = {"svg": ".svg", "dot": ".gv", "mermaid": ".mmd", "terminal": ".txt"}[form]
    assert gpa("draw", FIXTURES / "book_flight.json", "-o", tmp_path / f"b{suffix}").code == 0
    assert (tmp_path / f"b{suffix}").read_text() == done.out


def test_draw_writes_a_file_for_each_into_a_folder(tmp_path: Path) -> None:
    folder = f"{tmp_path}/pictures/"
    assert gpa("draw", FIXTURES, "-o", folder).code == 0
    assert sorted(path.stem for path in Path(folder).iterdir()) == sorted(path.stem for path in FIXTURES.glob("*.json"))
    one = gpa("draw", FIXTURES, "--users", TRAVELLERS, "--user", "1802531", "--trajectory", 2)
    assert one.out.startswith("user 1802531: book_flight, cancel_flight: 4 trajectories, number 2\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compile", FIXTURES], "gpa: --users FILE: trajectories are those of users"),
        (["compile", FIXTURES, "--users", "none.json"], "gpa: none.json: cannot be read (No such file or directory)"),
        (["compile", FIXTURES, "--users", TRAVELLERS, "--format", "xml"], "trajectory formats are tool_only, google"),
        (["validate", "none"], "gpa: none: no such file or folder"),
        (["draw", FIXTURES, "--as", "svg"], "gpa: one SVG holds one drawing, here are 9"),
        (["draw", FIXTURES, "--workflow", "book_fligth"], "no such workflow (did you mean 'book_flight'?)"),
        (["draw", FIXTURES, "--user", "1"], "gpa: --user and --trajectory need --users FILE"),
        (["draw", FIXTURES, "--users", TRAVELLERS, "--user", "1"], "gpa: --user 1: no such user"),
        (["compile", FIXTURES, "--users", TRAVELLERS, "--external", TRAVELLERS], "expected a JSON object"),
    ],
)
def test_usage_errors_are_one_line_and_exit_2(arguments: list[Any], message: str) -> None:
    done = gpa(*arguments)
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("name", ["validate", "compile", "profiles", "draw"])
def test_each_subcommand_has_examples_and_helps(name: str) -> None:
    done = gpa(name, "--help")
    assert done.code == 0
    assert f"gpa workflow {name} " in done.out.split("Examples:")[1]
    from gpa.cli.workflow import command

    assert [option.name for option in command.commands[name].params if getattr(option, "help", "") == ""] == []


def test_what_a_name_holds_cannot_drive_the_terminal(tmp_path: Path) -> None:
    evil = {"agent": "w\x1b[31m", "steps": ["a\x1b[2J()"], "soft_ordering": [], "conditionals": []}
    (tmp_path / "w.json").write_text(json.dumps(evil))
    for command in ("validate", "draw"):
        done = gpa(command, tmp_path / "w.json")
        assert "\x1b" not in done.out + done.err
