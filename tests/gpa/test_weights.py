"""Weights of plan metrics: the worked examples, the laws of rounding, and what a ranking does under other weights."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.errors import UsageError
from gpa.weights import BUDGETS, differences, learn, rounded, searched, sensitivity

pytest.importorskip("scipy", reason="needs scipy: pip install 'agent-gpa[stats]'")

TPA, FORMAT, EXECUTABILITY, ADHERENCE = BUDGETS["effectiveness"][1]
DEPENDENCIES, REDUNDANCY, COMPLETENESS = BUDGETS["efficiency"][1]
METRICS = (*BUDGETS["effectiveness"][1], *BUDGETS["efficiency"][1])


def test_two_metrics_in_two_groups_meet_at_the_smaller_budget() -> None:
    found = learn([{TPA: 0.5}, {REDUNDANCY: 0.5}])
    assert (found.method, found.satisfied) == ("margin", 2)
    assert found.margin == pytest.approx(15)
    assert found.weights[REDUNDANCY] == pytest.approx(30)
    assert found.weights[TPA] >= 30 - 1e-6


def test_metrics_of_one_group_share_it_by_how_much_they_tell() -> None:
    found = learn([{TPA: 0.5}, {ADHERENCE: 0.25}, {FORMAT: 0.5}])
    assert found.margin == pytest.approx(8.75)
    assert found.weights[TPA] == pytest.approx(17.5)
    assert found.weights[FORMAT] == pytest.approx(17.5)
    assert found.weights[ADHERENCE] == pytest.approx(35)


def test_where_no_weights_keep_the_order_the_hinge_loss_decides() -> None:
    found = learn([dict.fromkeys(METRICS, -0.5)])
    assert (found.method, found.satisfied) == ("hinge", 0)
    assert found.margin == pytest.approx(-50)


def test_a_margin_of_nothing_is_no_margin() -> None:
    contradiction = [{TPA: 0.5}, {TPA: -0.5}]
    found = learn(contradiction)
    assert found.method == "hinge"


def test_groups_always_have_their_points() -> None:
    for found in (learn([{TPA: 0.5}, {TPA: -0.25, FORMAT: 0.1}]), searched([{TPA: 0.5}, {FORMAT: 0.1}])):
        for points, names in BUDGETS.values():
            assert sum(found.weights[name] for name in names) == pytest.approx(points)


def test_a_hinge_below_one_is_refused() -> None:
    with pytest.raises(UsageError, match="hinge: expected at least 1"):
        learn([{TPA: 0.5}], hinge=0.5)


@pytest.mark.parametrize(
    ("margins", "said"),
    [([], "found none"), ([{"speed": 0.5}], "found speed")],
    ids=["nothing", "unknown metric"],
)
def test_what_cannot_be_learnt_from_is_refused(margins: list[dict[str, float]], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        learn(margins)


def test_the_grid_satisfies_what_the_programme_satisfies() -> None:
    margins = [{TPA: 0.5}, {ADHERENCE: 0.25}, {FORMAT: 0.5}, {REDUNDANCY: 0.1, TPA: -0.02}]
    assert searched(margins).satisfied == learn(margins).satisfied == 4


def test_of_three_plans_each_is_compared_with_the_next() -> None:
    plans = [{TPA: 1.0, FORMAT: 1.0}, {TPA: 0.5, FORMAT: 1.0}, {TPA: 0.5, FORMAT: 0.75}]
    assert differences([plans]) == [{TPA: 0.5, FORMAT: 0.0}, {TPA: 0.0, FORMAT: 0.25}]


@pytest.mark.parametrize(
    ("effectiveness", "efficiency", "step", "expected"),
    [
        ((21.3, 18.4, 16.1, 14.2), (11.2, 9.5, 9.3), 5, (20, 20, 15, 15, 10, 10, 10)),
        ((22.6, 17.6, 17.6, 12.2), (10, 10, 10), 5, (20, 20, 20, 10, 10, 10, 10)),
        ((22.6, 17.6, 17.6, 12.2), (10, 10, 10), 1, (22, 18, 18, 12, 10, 10, 10)),
    ],
    ids=["fives", "tie goes to the first", "ones"],
)
def test_weights_are_rounded_within_their_group(
    effectiveness: tuple[float, ...], efficiency: tuple[float, ...], step: int, expected: tuple[int, ...]
) -> None:
    weights = dict(zip(METRICS, (*effectiveness, *efficiency), strict=True))
    assert tuple(rounded(weights, step=step).values()) == expected


@given(st.lists(st.floats(0, 1), min_size=7, max_size=7), st.sampled_from([1, 2, 5, 10]))
def test_rounding_keeps_sums_and_signs(shares: list[float], step: int) -> None:
    weights: dict[str, float] = {}
    left = iter(shares)
    for points, names in BUDGETS.values():
        raw = {name: next(left) + 0.01 for name in names}
        weights |= {name: points * value / sum(raw.values()) for name, value in raw.items()}
    found = rounded(weights, step=step)
    for points, names in BUDGETS.values():
        assert sum(found[name] for name in names) == points
    assert all(value >= 0 and value % step == 0 for value in found.values())
    assert all(abs(found[name] - weights[name]) <= 2 * step for name in METRICS)


def test_a_step_that_does_not_divide_a_budget_is_refused() -> None:
    with pytest.raises(UsageError, match="expected one that divides 70 points"):
        rounded(dict.fromkeys(METRICS, 10.0), step=4)


def test_a_planner_better_at_everything_ranks_first_under_any_weights() -> None:
    planners = {f"p{n}": dict.fromkeys(METRICS, n / 10) for n in range(5)}
    assert sensitivity(planners, dict.fromkeys(METRICS, 10.0)) == pytest.approx((1, 1, 1, 1))


def test_sensitivity_is_the_same_for_the_same_seed_and_ordered() -> None:
    planners = {f"p{n}": {m: ((n * 7 + k * 5) % 11) / 11 for k, m in enumerate(METRICS)} for n in range(6)}
    weights = dict(zip(METRICS, (20, 20, 15, 15, 10, 10, 10), strict=True))
    found = sensitivity(planners, weights, seed=3)
    assert found == sensitivity(planners, weights, seed=3)
    assert -1 <= found.lowest < found.middle <= found.highest <= 1


def test_one_planner_has_no_ranking() -> None:
    with pytest.raises(UsageError, match="at least two planners, found 1"):
        sensitivity({"p": {}}, {})
