"""Workflow and user files: what is read, and everything that is wrong said at once with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.errors import InputError
from gpa.plans.located import Located, WorkflowError
from gpa.plans.users import load_users
from gpa.plans.workflow import read_workflow
from gpa.plans.workflow_files import load_workflows, survey_workflows
from tests.plans.workflows import ALWAYS, NINE, act, rule, when

GOOD: dict[str, Any] = {"agent": "w", "steps": ["a()", "b(x=top)"], "soft_ordering": [], "conditionals": []}


def errors_of(value: Any) -> list[tuple[str, str]]:
    workflow, errors = read_workflow("w", value, file="w.json")
    assert (workflow is None) == bool(errors)
    assert all((error.file, error.workflow) == ("w.json", "w") for error in errors)
    return [(error.field, error.message) for error in errors]


def test_the_nine_workflows_have_their_77_steps_and_one_odd_place() -> None:
    assert sorted(len(workflow.steps) for workflow in NINE.values()) == [4, 4, 5, 8, 8, 9, 12, 13, 14]
    assert len({tool for workflow in NINE.values() for tool in workflow.tools}) == 67
    [note] = [note for workflow in NINE.values() for note in workflow.notes]
    assert note.field == "conditionals[2].then[0].target"
    assert note.message == "'update_loyalty_points' is no step: called without parameters"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param({"agent": 3}, [("agent", "expected a name, found 3")], id="agent"),
        pytest.param(
            {"step": []}, [("step", "no such key in a workflow (did you mean 'steps'?)")], id="key that is not known"
        ),
        pytest.param({"steps": {}}, [("steps", "expected an array of steps, found an object")], id="steps"),
        pytest.param({"steps": []}, [("steps", "expected at least one step, found an empty array")], id="no steps"),
        pytest.param(
            {"steps": ["a()", 5]},
            [("steps[1]", "expected text like tool(parameter=reference), found 5")],
            id="step that is no text",
        ),
        pytest.param(
            {"steps": ["a()", "b(x=top)", "a(x=top)"]},
            [("steps[2]", "tool 'a' is already steps[0]; a tool has one step")],
            id="tool twice",
        ),
        pytest.param(
            {"soft_ordering": [["a", "b"], ["b"]]},
            [("soft_ordering[1]", "'b' is already in soft_ordering[0]; blocks must not overlap")],
            id="overlapping blocks",
        ),
        pytest.param(
            {"soft_ordering": [["a", "a"]]}, [("soft_ordering[0]", "'a' stands in the block 2 times")], id="block twice"
        ),
        pytest.param(
            {"soft_ordering": ["a", ["c", 4]]},
            [
                ("soft_ordering[0]", "expected an array of tools, found 'a'"),
                ("soft_ordering[1][0]", "no step is called 'c'"),
                ("soft_ordering[1][1]", "expected the name of a tool, found 4"),
            ],
            id="members of blocks",
        ),
        pytest.param(
            {"conditionals": [rule(when("x", "=", 1)), {"if": []}, 7]},
            [
                (
                    "conditionals[0].if[0].operator",
                    "expected one of ==, !=, not, <, <=, >, >=, in, not in, contains, not contains, found '='",
                ),
                ("conditionals[1].then", "missing"),
                ("conditionals[2]", "expected an object with if, then and perhaps else, found 7"),
            ],
            id="conditionals",
        ),
        pytest.param(
            {
                "conditionals": [
                    rule(
                        [
                            {"field": "x", "operator": "in", "value": 3},
                            {"field": "x y", "operator": "=="},
                            {"field": "x", "operator": "==", "value": 1, "compare_to": "y"},
                            {"all_of": [], "any_of": [3]},
                        ]
                    )
                ]
            },
            [
                ("conditionals[0].if[0].value", "operator 'in' needs an array, found 3"),
                ("conditionals[0].if[1]", "expected one of value and compare_to, found none"),
                (
                    "conditionals[0].if[1].field",
                    "expected a reference like name, name['key'] or name[other['key']], found 'x y'",
                ),
                ("conditionals[0].if[2]", "expected one of value and compare_to, found both"),
                ("conditionals[0].if[3].any_of", "expected all_of here, found 'any_of'"),
                ("conditionals[0].if[3].all_of", "expected at least one clause, found an empty array"),
            ],
            id="clauses",
        ),
        pytest.param(
            {
                "conditionals": [
                    rule(
                        ALWAYS,
                        {"action": "skipp", "target": "a"},
                        {"action": "skip"},
                        {"action": "skip", "target": "c"},
                        {"action": "end_after", "target": []},
                        {"action": "skip", "target": "a", "params": {}},
                        {"action": "override_params", "target": "a", "params": {"x": 3, "y": "z["}},
                        act("override_trajectory", "a", "b", "a"),
                        "skip",
                    )
                ]
            },
            [
                (
                    "conditionals[0].then[0].action",
                    (
                        "expected one of skip, end_after, override_params, override_trajectory, found 'skipp'"
                        " (did you mean 'skip'?)"
                    ),
                ),
                ("conditionals[0].then[1].target", "missing"),
                ("conditionals[0].then[2].target[0]", "no step is called 'c'"),
                ("conditionals[0].then[3].target", "expected at least one tool, found an empty array"),
                ("conditionals[0].then[4].params", "expected action, target here, found 'params'"),
                ("conditionals[0].then[5].params.x", "expected a reference like name or name['key'], found 3"),
                (
                    "conditionals[0].then[5].params.y",
                    "expected a reference like name, name['key'] or name[other['key']], found 'z['",
                ),
                (
                    "conditionals[0].then[6].target",
                    "'a' stands in it 2 times: a cycle, no order could be right",
                ),
                ("conditionals[0].then[7]", "expected an object with action and target, found 'skip'"),
            ],
            id="actions",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(change: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert errors_of({**GOOD, **change}) == expected


def test_a_step_that_cannot_be_read_does_not_make_the_rules_about_it_wrong() -> None:
    value = {**GOOD, "steps": ["a()", "b(x=)"], "conditionals": [rule(ALWAYS, act("skip", "b"))]}
    workflow, errors = read_workflow("w", value)
    assert workflow is None
    assert [(error.step, error.field) for error in errors] == [("steps[1] b", "steps[1]")]


def test_no_depth_of_clauses_is_too_much_to_say_so() -> None:
    clause: Any = when("x", "==", 1)
    for _ in range(500):
        clause = {"all_of": [clause]}
    [(field, message)] = errors_of({**GOOD, "conditionals": [rule(clause)]})
    assert message == "nested deeper than 32 levels"
    assert field.startswith("conditionals[0].if[0].all_of[0]")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["a", "b(x=top)", "==", "skip", "x['k']", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["agent", "steps", "if", "then", "else", "all_of", "any_of", "field", "operator", "value"])
            | st.sampled_from(["action", "target", "params", "compare_to", "soft_ordering", "conditionals"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(JSON, st.sampled_from(["steps", "soft_ordering", "conditionals", "agent", ""]))
def test_law_any_value_is_a_workflow_or_located_errors(value: Any, key: str) -> None:
    workflow, errors = read_workflow("w", {**GOOD, key: value} if key else value)
    assert (workflow is None) == bool(errors)
    assert all(str(error) for error in errors)


def test_files_hold_one_workflow_several_by_name_or_an_array(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(json.dumps({**GOOD, "agent": "single"}))
    (tmp_path / "several.json").write_text("\ufeff" + json.dumps({"first": GOOD, "second": GOOD}), encoding="utf-8")
    (tmp_path / "list.json").write_text(json.dumps([{**GOOD, "agent": "listed"}]))
    (tmp_path / "notes.txt").write_text("no workflow")
    assert list(load_workflows(tmp_path)) == ["listed", "single", "first", "second"]
    assert list(load_workflows([tmp_path / "one.json", tmp_path / "list.json"])) == ["single", "listed"]


def test_every_error_of_every_file_comes_at_once_and_good_workflows_stay(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"agent": "a",\n  "steps": ["x()",]}')
    (tmp_path / "b.json").write_text(json.dumps({"good": GOOD, "bad": {**GOOD, "steps": "x"}, "worse": 4}))
    (tmp_path / "c.json").write_text(json.dumps({"good": GOOD}))
    (tmp_path / "d.json").write_text('{"agent": "d", ' + json.dumps({**GOOD, "agent": "d"})[1:])
    (tmp_path / "e.json").write_text("[" * 100_000)
    (tmp_path / "f.json").write_bytes(b'{"agent": "\xff"}')
    (tmp_path / "g.json").write_text("3")
    workflows, errors = survey_workflows(tmp_path)
    assert list(workflows) == ["good", "d"]
    short = [str(error).replace(f"{tmp_path}/", "").split(" (")[0] for error in errors]
    assert short[0].startswith("a.json:2:")
    assert sorted(short[1:]) == sorted(
        [
            "b.json: workflow bad, field steps: expected an array of steps, found 'x'",
            "b.json: workflow worse: expected an object with agent, steps, soft_ordering, conditionals, found 4",
            "c.json: workflow good: there is one of this name in " + f"{tmp_path}/b.json".replace(f"{tmp_path}/", ""),
            "d.json: field agent: the key stands twice in one object",
            "e.json: expected JSON in UTF-8: nested too deeply",
            "f.json: expected JSON in UTF-8: 'utf-8' codec can't decode byte 0xff in position 11: invalid start byte",
            "g.json: expected a workflow, found 3",
        ]
    )
    with pytest.raises(WorkflowError) as raised:
        load_workflows(tmp_path)
    assert list(raised.value.errors) == errors
    assert str(raised.value).count("\n") == len(errors) - 1


@pytest.mark.parametrize(
    ("name", "message"), [("none.json", "no such file or folder"), ("", r"no \*\.json in this folder")]
)
def test_paths_without_workflows_are_refused(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_workflows(tmp_path / name)


@pytest.mark.parametrize(
    ("content", "ids", "places"),
    [
        pytest.param('[{"customer_id": 1, "agent_sequence": ["w"]}]', ["1"], [], id="array"),
        pytest.param('{"customer_id": "x", "agent_sequence": "w"}', ["x"], [], id="one object, one name"),
        pytest.param(
            (
                '{"customer_id": 1, "agent_sequence": ["w"]}\n\n'
                '{"customer_id": 2, "agent_sequence": ["w"]}\n{"customer_id\n[3]'
            ),
            ["1", "2"],
            ["users:4", "users:5"],
            id="lines",
        ),
        pytest.param(
            '[3, {"customer_id": true, "agent_sequence": ["w"]}, {"customer_id": 4}, {"customer_id": 5,'
            ' "agent_sequence": ["w", "w"]}, {"customer_id": 6, "agent_sequence": []},'
            ' {"customer_id": 7, "agent_sequence": ["w"]}, {"customer_id": "7", "agent_sequence": ["w"]}]',
            ["7"],
            ["users[0]", "users[1]", "users[2]", "users[3]", "users[4]", "users[6]"],
            id="all that can be wrong",
        ),
        pytest.param("[]", [], ["users"], id="nobody"),
        pytest.param('[{"customer_id": 1,]', [], ["users"], id="no JSON"),
        pytest.param("[" * 100_000, [], ["users"], id="too deep"),
        pytest.param("", [], ["users"], id="empty"),
    ],
)
def test_users_are_read_and_wrong_ones_are_told(
    tmp_path: Path, content: str, ids: list[str], places: list[str]
) -> None:
    path = tmp_path / "users"
    path.write_text(content)
    read = load_users(path)
    assert [one.id for one in read.users] == ids
    assert [error.file.replace(f"{tmp_path}/", "") for error in read.errors] == places


def test_ids_may_stand_inside_an_object(tmp_path: Path) -> None:
    path = tmp_path / "users.json"
    path.write_text('{"profile": {"id": 9}, "agent_sequence": ["w"]}')
    assert [one.id for one in load_users(path, id_field="profile['id']").users] == ["9"]


def test_a_located_error_reads_from_the_file_inwards() -> None:
    error = Located(message="no", file="f", user="7", workflow="w", step="s", field="x")
    assert str(error) == "f: user 7, workflow w, step s, field x: no"
    assert list(error.to_dict()) == ["file", "user", "workflow", "step", "field", "message"]
    assert str(Located(message="no")) == "no"
