"""The compiler rule by rule, and each fault of the public package traxgen 0.1.5 that is not repeated here."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from math import prod
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.errors import UsageError
from gpa.plans.calls import GoldSet, ToolCall
from gpa.plans.compile import TRAXGEN, Rejected, Settings, compile_user, compile_users
from gpa.plans.generate import generate_trajectories
from gpa.plans.located import WorkflowError
from gpa.plans.ordering import count, drawn, orders
from gpa.plans.outputs import FORMATS, formats_named, written
from gpa.plans.workflow_files import read_workflows
from tests.plans.workflows import ALWAYS, FIXTURES, NINE, TRAVELLER, act, gold, lines, rule, tools, user, when, workflow


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        pytest.param([act("skip", "b")], "acde", id="skip"),
        pytest.param([act("skip", "b", "d")], "ace", id="skip several"),
        pytest.param([act("end_after", "c")], "abc", id="end after"),
        pytest.param([act("end_after", "c"), act("skip", "a")], "bc", id="end after and skip"),
        pytest.param([act("end_after", "c"), act("skip", "c")], "ab", id="end after a step that is skipped"),
        pytest.param([act("override_trajectory", "d", "a")], "da", id="override has its own order"),
        pytest.param(
            [act("override_trajectory", "d", "a"), act("skip", "d"), act("end_after", "a")],
            "da",
            id="override beats skip and end after",
        ),
        pytest.param(
            [act("override_trajectory", "d"), act("override_trajectory", "e", "b")], "eb", id="the last override counts"
        ),
        pytest.param([act("skip", *"abcde")], "", id="nothing is left"),
    ],
)
def test_actions_together_leave(actions: list[Any], expected: str) -> None:
    for several in ([rule(ALWAYS, *actions)], [rule(ALWAYS, action) for action in actions]):
        assert tools(gold(workflow("a b c d e", *several))) == [list(expected)]


def test_when_nothing_is_left_the_one_right_trajectory_is_empty() -> None:
    found = gold(workflow("a", rule(ALWAYS, act("skip", "a"))))
    assert found.trajectories == ((),)
    assert found.notes == ("w: no call is left",)


@pytest.mark.parametrize("order", ["cb", "bc"])
def test_fault_of_several_end_after_the_earliest_step_counts_not_the_last_rule(order: str) -> None:
    rules = [rule(ALWAYS, act("end_after", tool)) for tool in order]
    assert tools(gold(workflow("a b c d", *rules))) == [["a", "b"]]


@pytest.mark.parametrize("value", [0, 0.0, False, "", None, [], {}], ids=repr)
def test_fault_falsy_values_are_values(value: Any) -> None:
    [[call]] = gold(workflow("a(x=box['k'],y=top)"), box={"k": value}, top=value).trajectories
    assert call.arguments == {"x": value, "y": value}
    assert type(call.arguments["x"]) is type(value)


def test_fault_a_soft_block_with_steps_between_its_members_loses_none_of_them() -> None:
    found = tools(gold(workflow("a b c d e", soft=[["a", "d"], ["b", "e"]])))
    assert found == [list("abcde"), list("aecdb"), list("dbcae"), list("decab")]


@pytest.mark.parametrize("first", ["one", "two"])
def test_fault_override_params_hold_when_there_are_several_workflows(first: str) -> None:
    changed = rule(ALWAYS, act("override_params", "call", p="box['k']"))
    workflows = {name: workflow("call(x=top) complete_case", changed, name=name)[name] for name in ("one", "two")}
    names = [first, *(name for name in workflows if name != first)]
    record = {"customer_id": 1, "yes": True, "agent_sequence": names, "top": 5, "box": {"k": 6}}
    found = compile_user(workflows, record)
    assert lines(found) == [["call(p=6)", "call(p=6)", "complete_case()"]]


@pytest.mark.parametrize("format_name", FORMATS)
def test_fault_every_format_can_be_written_for_several_workflows(format_name: str) -> None:
    made = written(compile_user(NINE, TRAVELLER), [format_name])[format_name]
    assert len(made) == 4
    assert {len(one) for one in made} == {19 if format_name == "traxgen" else 17}


def test_fault_wrong_input_raises_and_neither_exits_nor_prints(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(WorkflowError) as raised:
        generate_trajectories([{"customer_id": 1, "agent_sequence": ["none"]}], {"w": {"agent": "w"}})
    assert [error.field for error in raised.value.errors] == ["steps", "soft_ordering", "conditionals"]
    assert capsys.readouterr() == ("", "")


def test_fault_external_data_counts_as_data_that_is_there() -> None:
    routine = {"agent": "w", "steps": ["a(x=shared['k'], y=own)"], "soft_ordering": [], "conditionals": []}
    users = [{"customer_id": 7, "agent_sequence": ["w"], "own": 1}]
    external = {"shared": {"k": "v"}, "own": 2}
    made = generate_trajectories(users, {"w": routine}, trajectory_format="google", external_data=external)
    assert made == {"7": {"google": [[{"tool_name": "a", "tool_input": {"x": "v", "y": 1}}]]}}


def test_fault_a_comma_or_an_equals_sign_in_a_key_ends_no_parameter() -> None:
    [[call]] = gold(workflow("a(x=box['b,c=)d'],y=top)"), box={"b,c=)d": 1}, top=2).trajectories
    assert call.arguments == {"x": 1, "y": 2}


def test_later_parameters_replace_earlier_ones_or_join_them() -> None:
    rules = [rule(ALWAYS, act("override_params", "a", **{name: "yes"})) for name in ("p", "q")]
    assert lines(gold(workflow("a(x=yes)", *rules))) == [["a(q=True)"]]
    assert lines(gold(workflow("a(x=yes)", *rules), TRAXGEN)) == [["a(p=True, q=True)"]]


def test_a_tool_that_only_the_override_names_can_be_given_parameters() -> None:
    rules = [rule(ALWAYS, act("override_trajectory", "b", "z")), rule(ALWAYS, act("override_params", "z", p="yes"))]
    assert lines(gold(workflow("a b", *rules))) == [["b()", "z(p=True)"]]


def test_an_undeclared_tool_can_be_an_error() -> None:
    workflows = workflow("a b", rule(ALWAYS, act("override_trajectory", "b", "z")))
    with pytest.raises(WorkflowError, match=r"user 1, workflow w, step z, field override_trajectory: .* no step"):
        gold(workflows, Settings(undeclared_override="error"))


def test_soft_blocks_inside_an_override_are_permuted_unless_said_otherwise() -> None:
    workflows = workflow("a b c", rule(ALWAYS, act("override_trajectory", "c", "b", "a")), soft=[["a", "c"]])
    assert tools(gold(workflows)) == [list("cba"), list("abc")]
    assert tools(gold(workflows, Settings(permute_overrides=False))) == [list("cba")]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param(Settings(), [list("ab"), list("ba")], id="ours: ends at the place of the skipped step"),
        pytest.param(TRAXGEN, [list("abd"), list("bad")], id="traxgen: the rule has no effect"),
    ],
)
def test_an_end_at_a_skipped_step(settings: Settings, expected: list[list[str]]) -> None:
    rules = [rule(ALWAYS, act("end_after", "c"), act("skip", "c"))]
    assert tools(gold(workflow("a b c d", *rules, soft=[["a", "b"]]), settings)) == expected


def test_a_block_that_lost_a_member_keeps_its_order() -> None:
    workflows = workflow("a b c d", rule(ALWAYS, act("skip", "c")), soft=[["a", "b", "c"]])
    assert tools(gold(workflows)) == [list("abd")]


def test_a_closing_step_that_is_left_out_breaks_no_soft_block() -> None:
    workflows = {
        name: workflow("a b complete_case", soft=[["a", "b", "complete_case"]], name=name)[name]
        for name in ("one", "two")
    }
    record = {"customer_id": 1, "agent_sequence": ["one", "two"]}
    assert compile_user(workflows, record).total == 2 * 6


def test_blocks_stand_at_their_positions_in_the_canonical_trajectory() -> None:
    found = compile_user(NINE, TRAVELLER)
    assert found.blocks == ((8, 9), (10, 11))
    assert found.total == 4


class TestCaps:
    WIDE = workflow(" ".join("abcdefgh"), soft=[list("abcdefgh")])

    def test_beyond_a_cap_is_an_error_that_says_how_many(self) -> None:
        with pytest.raises(WorkflowError) as raised:
            gold(self.WIDE)
        [error] = raised.value.errors
        assert (error.user, error.workflow, error.field) == ("1", "w", "soft_ordering")
        assert error.message == "40,320 orders: a soft block of 8 tools, over max_block 6; raise the cap, or sample"

    def test_a_product_of_small_blocks_is_capped_too(self) -> None:
        names = [f"t{number}" for number in range(20)]
        workflows = workflow(" ".join(names), soft=[names[at : at + 4] for at in range(0, 20, 4)])
        with pytest.raises(WorkflowError, match=r"7,962,624 orders: more than max_trajectories 5,000"):
            gold(workflows)

    def test_a_sample_is_said_to_be_one_and_begins_with_the_canonical_order(self) -> None:
        settings = Settings(over_cap="sample", max_trajectories=50, seed=3)
        found = gold(self.WIDE, settings)
        assert found.total == 40320
        assert len(set(map(tuple, tools(found)))) == 50
        assert tools(found)[0] == list("abcdefgh")
        assert found.notes == (
            "50 of 40,320 trajectories, drawn with seed 3: a soft block of 8 tools, over max_block 6",
        )
        assert gold(self.WIDE, settings) == found
        assert gold(self.WIDE, Settings(over_cap="sample", max_trajectories=50, seed=4)) != found

    def test_blocks_beyond_all_counting_are_sampled_without_being_made(self) -> None:
        names = [f"t{number}" for number in range(60)]
        found = gold(workflow(" ".join(names), soft=[names]), Settings(over_cap="sample", max_trajectories=5))
        assert len(found.trajectories) == 5
        assert all(sorted(one) == sorted(names) for one in tools(found))

    def test_a_raised_cap_gives_all(self) -> None:
        found = gold(self.WIDE, Settings(max_block=8, max_trajectories=50_000))
        assert len(found.trajectories) == found.total == 40320


@given(st.lists(st.integers(1, 3), min_size=1, max_size=3), st.randoms(use_true_random=False))
def test_orders_are_distinct_as_many_as_counted_and_drawn_from_the_same_sequence(sizes: list[int], chance: Any) -> None:
    places = list(range(sum(sizes) + 2))
    chance.shuffle(places)
    blocks, at = [], 0
    for size in sizes:
        blocks.append(tuple(sorted(places[at : at + size])))
        at += size
    every = list(orders(len(places), blocks))
    assert len(set(every)) == len(every) == count(blocks)
    assert every[0] == tuple(range(len(places)))
    assert all(sorted(order) == list(range(len(places))) for order in every)
    loose = {slot for block in blocks for slot in block}
    assert all(order[slot] == slot for order in every for slot in range(len(places)) if slot not in loose)
    assert list(drawn(len(places), tuple(blocks), len(every), "s")) == every


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(["skip", "end_after", "keep"])),
    st.lists(st.sampled_from("abcdef"), min_size=2, max_size=4, unique=True),
)
def test_law_what_survives_is_the_same_in_every_trajectory(actions: dict[str, str], block: list[str]) -> None:
    rules = [rule(ALWAYS, act(action, tool)) for tool, action in actions.items() if action != "keep"]
    found = tools(gold(workflow("a b c d e f", *rules, soft=[block])))
    ends = [tool for tool, action in actions.items() if action == "end_after"]
    left = [t for t in "abcdef" if actions.get(t) != "skip" and t <= min(ends, default="z")]
    assert found[0] == left
    assert all(sorted(one) == left for one in found)
    assert len(found) == (prod(range(1, len(block) + 1)) if set(block) <= set(left) else 1)


class TestMissing:
    WORKFLOWS = workflow("a(x=box['k']) b(y=other)", rule(when("flag", "==", None), act("skip", "b")))

    def test_everything_that_is_mentioned_must_be_there(self) -> None:
        with pytest.raises(WorkflowError) as raised:
            gold(self.WORKFLOWS, box={})
        assert [str(error) for error in raised.value.errors] == [
            "users[0]: user 1, workflow w, step a, field box['k']: box has no 'k'; needed by a(x)",
            "users[0]: user 1, workflow w, step b, field other: the data has no 'other'; needed by b(y)",
            "users[0]: user 1, workflow w, field flag: the data has no 'flag'; needed by conditionals[0].if",
        ]

    def test_or_only_what_is_used_and_rules_read_null(self) -> None:
        assert lines(gold(self.WORKFLOWS, Settings(missing="used"), box={"k": 1})) == [["a(x=1)"]]
        with pytest.raises(WorkflowError) as raised:
            gold(self.WORKFLOWS, Settings(missing="used"), flag=1)
        assert [error.field for error in raised.value.errors] == ["box['k']", "other"]

    def test_or_the_text_of_the_reference_stands_for_the_value(self) -> None:
        found = gold(self.WORKFLOWS, Settings(missing="text"), flag=1, other=None)
        assert lines(found) == [["a(x=box['k'])", "b(y=None)"]]

    def test_the_key_that_is_missing_is_told_once(self) -> None:
        with pytest.raises(WorkflowError) as raised:
            gold(workflow("a(x=stock[info['id']]['n'])"), stock={}, info={})
        assert [error.field for error in raised.value.errors] == ["info['id']"]


def test_one_wrong_user_costs_no_other() -> None:
    good, later = user(TRAVELLER), user(TRAVELLER, customer_id=9)
    wrong: list[Any] = [
        user(TRAVELLER, "no_such", customer_id=2),
        {"agent_sequence": ["book_flight"]},
        5,
        user(TRAVELLER, customer_id=3, payment_method={}),
        user(TRAVELLER),
    ]
    results = list(compile_users(NINE, [good, *wrong, later]))
    assert [type(result) for result in results] == [GoldSet, *[Rejected] * 5, GoldSet]
    said = [str(error) for result in results if isinstance(result, Rejected) for error in result.errors]
    assert said[0].startswith(
        "users[1]: user 2, workflow no_such, field agent_sequence[0]: no usable workflow has this name"
    )
    assert said[1:3] == [
        "users[2]: field customer_id: missing; every user needs an id (or choose another id field)",
        "users[3]: expected an object for each user, found 5",
    ]
    assert {error.split(":")[0] for error in said[3:5]} == {"users[4]"}
    assert said[5] == "users[5]: user 1802531, field customer_id: the id is that of a user before"


@pytest.mark.parametrize(
    ("label", "agents"),
    [
        ("{workflow}", ["w"]),
        ("assistant", ["assistant"]),
        ("{agent} of {workflow}", ["The Desk of w"]),
    ],
)
def test_the_agent_of_a_call_is_named(label: str, agents: list[str]) -> None:
    value = {"agent": "The Desk", "steps": ["a()"], "soft_ordering": [], "conditionals": []}
    found = gold(read_workflows({"w": value}), Settings(agent_label=label))
    assert [call.agent for call in found.trajectories[0]] == agents


def test_the_four_formats_have_their_shapes() -> None:
    found = gold(workflow("a b(x=top,y=yes)"), top=None)
    assert written(found, formats_named("tool_only, google,langchain,traxgen")) == {
        "tool_only": [["a", "b"]],
        "google": [[{"tool_name": "a", "tool_input": {}}, {"tool_name": "b", "tool_input": {"x": None, "y": True}}]],
        "langchain": [
            [
                {"role": "assistant", "tool_calls": [{"name": "a", "arguments": {}}]},
                {"role": "assistant", "tool_calls": [{"name": "b", "arguments": {"x": None, "y": True}}]},
            ]
        ],
        "traxgen": [["agent: w", "tool: a()", "tool: b(x=None, y=True)"]],
    }


SCRIPT = """
import hashlib, sys
from gpa.cli.output import json_line
from gpa.plans.compile import Settings, compile_users
from gpa.plans.outputs import FORMATS, written
from gpa.plans.profiles import sample_profiles, workflow_template
from gpa.plans.workflow_files import load_workflows
workflows = load_workflows(sys.argv[1])
users = sample_profiles(workflow_template(list(workflows.values())), 40, seed=5)
made = [json_line([one.user, written(one, FORMATS), one.notes]) for one in compile_users(workflows, users)]
print(hashlib.sha256("".join(made).encode()).hexdigest(), len(made))
"""


def test_the_same_input_gives_the_same_bytes_in_every_process() -> None:
    seen = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT, str(FIXTURES)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(seen) == 1
    assert not seen.pop().startswith(hashlib.sha256(b"").hexdigest())


def test_generate_trajectories_writes_what_it_returns_and_leaves_the_records_alone(tmp_path: Any) -> None:
    routine = {"agent": "w", "steps": ["a()", "b()"], "soft_ordering": [["a", "b"]], "conditionals": []}
    users = [{"customer_id": 1, "agent_sequence": "w"}]
    before = [dict(one) for one in users]
    path = tmp_path / "deep" / "out.json"
    made = generate_trajectories(
        users, {"w": routine}, output_path=path, output_mode="data_and_trajectory", enable_visualization=True
    )
    assert made == {"1": {"tool_only": [["a", "b"], ["b", "a"]]}}
    assert users == before
    assert json.loads(path.read_text()) == [{**users[0], "ground_truth_trajectories": made["1"]}]
    assert len(list((tmp_path / "deep" / "graphs").glob("*.svg"))) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trajectory_format": "xml"}, "trajectory formats are tool_only, google, langchain, traxgen; found 'xml'"),
        ({"trajectory_format": []}, "trajectory formats are .*; found none"),
        ({"output_mode": "print"}, "output_mode is return, trajectory_only, data_and_trajectory; found 'print'"),
        ({"output_mode": "trajectory_only"}, "output_path: missing"),
        ({"enable_visualization": True}, "output_path: missing"),
    ],
    ids=str,
)
def test_generate_trajectories_refuses_options_that_are_none(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        generate_trajectories([], {}, **options)


def test_generate_trajectories_lists_every_user_that_is_wrong_and_takes_a_single_one() -> None:
    routine = {"agent": "w", "steps": ["a(x=top)"], "soft_ordering": [], "conditionals": []}
    users = [{"customer_id": number, "agent_sequence": ["w"]} for number in (1, 2)]
    with pytest.raises(WorkflowError) as raised:
        generate_trajectories(users, {"w": routine})
    assert [(error.user, error.step, error.field) for error in raised.value.errors] == [
        ("1", "a", "top"),
        ("2", "a", "top"),
    ]
    assert generate_trajectories({**users[0], "top": 1}, {"w": routine}) == {"1": {"tool_only": [["a"]]}}


def test_trajectories_that_are_no_permutations_of_one_another_are_written_too() -> None:
    found = GoldSet("1", ((ToolCall("a", {"x": 1}),), (ToolCall("b"), ToolCall("a", {"x": 1}))))
    assert written(found, ["google"])["google"] == [
        [{"tool_name": "a", "tool_input": {"x": 1}}],
        [{"tool_name": "b", "tool_input": {}}, {"tool_name": "a", "tool_input": {"x": 1}}],
    ]
