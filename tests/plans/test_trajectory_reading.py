"""Trajectories in every form they are written in, gold files, and what models print."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpa.errors import InputError
from gpa.plans.calls import GoldSet, ToolCall
from gpa.plans.cleaning import clean, counted
from gpa.plans.located import WorkflowError
from gpa.plans.outputs import FORMATS, written
from gpa.plans.tolerant import REASONS
from gpa.plans.trajectory import Values, call, compare_trajectories
from gpa.plans.trajectory_reading import load_gold, read_gold, trajectories_in

A, B = call("a"), call("b", x=1, y="two words")
BOTH = ((A, B), (B, A))


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_written_is_read_again(name: str, tmp_path: Path) -> None:
    file = tmp_path / "gold.json"
    file.write_text(json.dumps({"7": written(GoldSet("7", BOTH), [name])}))
    gold = load_gold(file)["7"]
    assert gold.set.user == "7"
    found = compare_trajectories(gold.set.trajectories, BOTH, values=gold.values)
    assert found.exact_match


@pytest.mark.parametrize(
    "value",
    [
        pytest.param([[{"tool_name": "a", "tool_input": {}}, {"tool_name": "b", "tool_input": {"x": 1}}]], id="Google"),
        pytest.param([{"name": "a"}, {"name": "b", "arguments": {"x": 1}}], id="one trajectory, not a list of them"),
        pytest.param(
            [{"role": "assistant",
              "tool_calls": [{"name": "a", "arguments": {}}, {"name": "b", "arguments": {"x": 1}}]}],
            id="one message, two calls",
        ),
        pytest.param(
            [[{"type": "function", "function": {"name": "a", "arguments": ""}},
              {"type": "function", "function": {"name": "b", "arguments": '{"x": 1}'}}]],
            id="OpenAI",
        ),
        pytest.param({"trajectories": [["a", ["b", {"x": 1}]]]}, id="pairs under a key"),
        pytest.param([{"trajectory": [{"tool": "a"}, {"tool": "b", "args": {"x": 1}}]}], id="objects of trajectories"),
    ],
)  # fmt: skip
def test_one_trajectory_in_many_forms(value: Any) -> None:
    found, problems = trajectories_in(value)
    assert found == ((call("a"), call("b", x=1)),)
    assert problems == ()


def test_lines_without_types_keep_commas_and_agents() -> None:
    found, _ = trajectories_in([["agent: desk", "tool: a(k=v, w, k2=[1, 2])", "agent: back", "tool: b()"]])
    assert found == ((ToolCall("a", {"k": "v, w", "k2": "[1, 2]"}, "desk"), ToolCall("b", {}, "back")),)


@pytest.mark.parametrize(
    ("formats", "values"),
    [({"google": [["a"]]}, "typed"), ({"traxgen": [["tool: a()"]]}, "text"), ({"tool_only": [["a"]]}, "none")],
)
def test_the_format_says_how_parameters_compare(formats: Any, values: Values, tmp_path: Path) -> None:
    file = tmp_path / "gold.json"
    file.write_text(json.dumps({"1": formats}))
    assert load_gold(file)["1"].values == values


def test_json_lines_and_users_with_trajectories_are_gold_files_too(tmp_path: Path) -> None:
    lines = tmp_path / "gold.jsonl"
    lines.write_text('{"user": 1, "trajectories": [["a"]]}\n\n{"trace_id": "ab", "google": [[{"tool_name": "b"}]]}\n')
    assert sorted(load_gold(lines)) == ["1", "ab"]
    users = tmp_path / "users.json"
    users.write_text(json.dumps([{"customer_id": 5, "ground_truth_trajectories": {"google": [[{"tool_name": "a"}]]}}]))
    assert load_gold(users)["5"].set.trajectories == ((A,),)


def test_every_error_is_told_at_once_and_the_others_are_read(tmp_path: Path) -> None:
    file = tmp_path / "gold.json"
    file.write_text(
        json.dumps(
            {
                "a": {"google": [[{"tool_input": {}}, 5, {"tool_name": "t", "tool_input": [1]}]]},
                "b": {"google": []},
                "c": 5,
                "d": {"google": [[{"tool_name": "a"}]]},
            }
        )
    )
    gold, problems = read_gold(file)
    assert list(gold) == ["d"]
    assert [str(one).removeprefix(f"{file}: ") for one in problems] == [
        "user a, field google[0][0]: expected the name of a tool (tool_name, name, tool), found none",
        "user a, field google[0][1]: expected a call (a text or an object), found 5",
        "user a, step t, field google[0][2].tool_input: expected an object of parameters, found an array",
        "user b, field google: expected a trajectory, found none",
        f"user c: {problems[4].message}",
    ]
    assert problems[4].message.endswith("found 5")
    with pytest.raises(WorkflowError, match="user b"):
        load_gold(file)


def test_lines_that_are_no_json_are_told_by_number(tmp_path: Path) -> None:
    file = tmp_path / "gold.jsonl"
    file.write_text('{"user": 1, "trajectories": [["a"]]}\n{"user": \n[]\n{"x": 1}\n')
    gold, problems = read_gold(file)
    assert list(gold) == ["1"]
    assert [one.file.rpartition(":")[2] for one in problems] == ["2", "3", "4"]


@pytest.mark.parametrize(
    ("content", "message"), [(None, "cannot be read"), ("nonsense", "expected JSON or JSON Lines")]
)
def test_a_file_that_is_none(content: str | None, message: str, tmp_path: Path) -> None:
    file = tmp_path / "gold.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(InputError, match=message):
        read_gold(file)


@pytest.mark.parametrize(
    ("text", "outcome", "reasons"),
    [
        pytest.param('[["a", "b(x=1)"]]', "clean", [], id="clean"),
        pytest.param(
            "```json\n[['a', 'b(x=1)'],]\n```",
            "recovered",
            ["markdown_fences", "single_quotes", "invalid_commas"],
            id="fences",
        ),
        pytest.param("result = [[a(), b(x=1)]]\nprint(result)", "recovered", ["hallucinated_code"], id="code"),
        pytest.param("a()\nb(x=1)", "recovered", ["hallucinated_code"], id="calls alone"),
        pytest.param('[["a", "b(x=1)", ...', "recovered", ["ellipses", "cut_off"], id="cut"),
        pytest.param("I cannot do that.", "unrecovered", ["incorrect_format"], id="prose"),
        pytest.param("[[1, 2]]", "unrecovered", ["incorrect_format"], id="no calls"),
    ],
)  # fmt: skip
def test_what_models_print_is_cleaned_and_counted(text: str, outcome: str, reasons: list[str]) -> None:
    found = clean(text)
    assert found.outcome == outcome
    assert set(found.reasons) == set(reasons)
    if outcome != "unrecovered":
        assert [[one.tool for one in trajectory] for trajectory in found.trajectories] == [["a", "b"]]


def test_the_counters_are_over_outputs() -> None:
    counts = counted(map(clean, ['[["a"]]', "[['a']]", "[['a',],]", "no"]))
    assert (counts.outputs, counts.initial_fail, counts.recovered, counts.unrecovered) == (4, 3, 2, 1)
    assert {name: count for name, count in counts.reasons.items() if count} == {
        "single_quotes": 2,
        "invalid_commas": 1,
        "incorrect_format": 1,
    }
    assert set(counts.reasons) == set(REASONS)
