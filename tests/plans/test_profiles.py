"""Made-up users: distributions, what a seed repeats, and that the users fit their workflows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from gpa.errors import UsageError
from gpa.plans.calls import GoldSet
from gpa.plans.compile import compile_users
from gpa.plans.located import WorkflowError
from gpa.plans.profiles import changed, field_template, required_fields, sample_profiles, workflow_template
from tests.plans.workflows import NINE

ALL = list(NINE.values())


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("user_provided_info['start_date']", {"random_date('2025-01-01', '2025-12-31')": 1.0}),
        ("order_id", {"random_int(1000, 9999)": 1.0}),
        ("booking_info['total_paid']", {"random_float(10.0, 1000.0)": 1.0}),
        ("flight_number", {"random_int(1, 50)": 1.0}),
        ("payment_method['payment_type']", {"Option1": 0.5, "Option2": 0.5}),
        ("address", {"Option1": 0.5, "Option2": 0.3, "Option3": 0.2}),
    ],
)
def test_a_field_is_guessed_from_its_name(field: str, expected: dict[str, float]) -> None:
    assert field_template([field]) == {field: expected}


def test_users_made_up_for_the_nine_workflows_compile_and_reach_both_sides_of_every_rule() -> None:
    profiles = sample_profiles(workflow_template(ALL), 400, seed=1)
    assert len({one["customer_id"] for one in profiles}) == 400
    results = list(compile_users(NINE, profiles))
    assert all(isinstance(result, GoldSet) for result in results)
    called = {call.tool for result in results if isinstance(result, GoldSet) for call in result.trajectories[0]}
    assert called == {tool for workflow in ALL for tool in workflow.tools} | {"update_loyalty_points"}


def test_the_same_seed_gives_the_same_users_and_more_begin_alike() -> None:
    template = workflow_template(ALL)
    few, many = sample_profiles(template, 5, seed=2), sample_profiles(template, 20, seed=2)
    assert many[:5] == few
    assert sample_profiles(template, 5, seed=3) != few


def test_values_stand_on_either_side_of_conditions() -> None:
    template = workflow_template([NINE["handle_flight_disruption"]])
    assert template["flight_info['estimated_delay_minutes']"] == [[359, 1.0], [360, 1.0], [361, 1.0]]
    assert list(template["traveler_info['frequent_traveler_status']"]) == ["Gold", "Platinum", "Diamond", "Other"]
    receipt = workflow_template([NINE["resend_email_receipt"]])
    assert receipt["user_provided_info['order_id']"] == {
        "same_as": "order_id",
        "probability": 0.5,
        "random_int(1000, 9999)": 1.0,
    }


def test_a_key_that_is_data_itself_is_placed_where_it_is_looked_up() -> None:
    [profile] = sample_profiles(workflow_template([NINE["check_product_availability"]]), 1)
    product = profile["user_provided_info"]["product_id"]
    assert list(profile["inventory_info"]) == [str(product)]


def test_fields_stand_in_their_order() -> None:
    [profile] = sample_profiles(workflow_template(ALL), 1)
    names = list(profile)
    assert names[0] == "agent_sequence"
    assert names[1:5] == ["customer_id", "employee_id", "manager_id", "order_id"]
    assert names[5:-1] == sorted(names[5:-1])
    assert names[-1] == "user_provided_info"


def test_generators_stay_in_their_ranges_and_words_become_values() -> None:
    template = {
        "whole": {"random_int(-3, 3)": 1},
        "part": {"random_float(0.5, 0.75)": 1},
        "day": {"random_date('2025-02-27', '2025-03-01')": 1},
        "word": {"TRUE": 1, "false": 1, "null": 1, "5": 1},
        "typed": [[5, 1], [[1, 2], 1], ["a", 0]],
        "copy": {"same_as": "whole"},
        "list[1]": {"x": 1},
    }
    made = sample_profiles(template, 300, seed=0)
    assert {one["whole"] for one in made} == set(range(-3, 4))
    assert all(0.5 <= one["part"] <= 0.75 and round(one["part"], 2) == one["part"] for one in made)
    assert {one["day"] for one in made} == {"2025-02-27", "2025-02-28", "2025-03-01"}
    assert Counter(type(one["word"]) for one in made).keys() == {bool, type(None), str}
    assert {str(one["typed"]) for one in made} == {"5", "[1, 2]"}
    assert all(one["copy"] == one["whole"] for one in made)
    assert made[0]["list"] == [None, "x"]


def test_whole_numbers_as_weights_of_sequences_are_exact_numbers_of_users() -> None:
    template = {"agent_sequence": {"one": 2, "one, two": 3}, "customer_id": {"random_int(1, 99)": 1.0}}
    made = [one["agent_sequence"] for one in sample_profiles(template)]
    assert made == [["one"]] * 2 + [["one", "two"]] * 3
    assert len(sample_profiles({**template, "agent_sequence": {"one": 1.0}}, 7)) == 7
    with pytest.raises(UsageError, match="exactly 5 users, the count for 4"):
        sample_profiles(template, 4)


def test_fault_no_two_users_have_the_same_id() -> None:
    template = {"customer_id": {"random_int(1, 50)": 1.0}}
    assert len({one["customer_id"] for one in sample_profiles(template, 50)}) == 50
    with pytest.raises(UsageError, match="customer_id: its distribution has too few values for 51 users"):
        sample_profiles(template, 51)


def test_everything_that_is_wrong_with_a_template_comes_at_once() -> None:
    template: dict[str, Any] = {
        "a b": {"x": 1},
        "empty": {},
        "list": [["x"]],
        "weight": {"x": -1},
        "zero": {"x": 0},
        "call": {"random_int(1)": 1},
        "range": {"random_int(5, 1)": 1},
        "day": {"random_date('2025-02-30', '2025-03-01')": 1},
        "copy": {"same_as": "none"},
        "copied": {"same_as": "zero", "probability": 2},
        "box": {"x": 1},
        "box['k']": {"x": 1},
        "agent_sequence": {"": 1.0},
    }
    with pytest.raises(WorkflowError) as raised:
        sample_profiles(template, 1, file="d.json")
    fields = [error.field for error in raised.value.errors]
    assert fields == [
        *("a b", "empty", "list", "weight", "zero", "call", "range", "day", "copied", "agent_sequence"),
        *("copy", "box['k']"),
    ]
    assert {error.file for error in raised.value.errors} == {"d.json"}


def test_a_distribution_for_a_whole_object_replaces_those_inside_it() -> None:
    assert changed({"box['k']": 1, "boxes": 2, "x": 3}, {"box": 4, "x": 5}) == {"boxes": 2, "x": 5, "box": 4}


def test_the_fields_that_a_workflow_needs_are_listed_once_inner_ones_first() -> None:
    assert list(map(str, required_fields([NINE["check_product_availability"]]))) == [
        "customer_id",
        "user_provided_info['product_id']",
        "inventory_info[user_provided_info['product_id']]['availability']",
    ]


def test_whoever_watches_sees_the_number_of_every_user() -> None:
    seen: list[int] = []

    def watched(numbers: Sequence[int]) -> Iterator[int]:
        for number in numbers:
            seen.append(number)
            yield number

    template = workflow_template(ALL)
    assert sample_profiles(template, 3, watched=watched) == sample_profiles(template, 3)
    assert seen == [0, 1, 2]
