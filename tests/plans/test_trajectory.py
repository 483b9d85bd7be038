"""Metrics of trajectories: the worked examples, and an independent computation on random ones."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpa.plans.calls import ToolCall, Trajectory
from gpa.plans.trajectory import METRICS, Likeness, Values, call, compare_trajectories, likeness, prepared, value_key

A, B, C, D = call("a"), call("b", x=1), call("c", x=1, y=2), call("d")
GOLD = (A, B, C, D)
PA, PB, PC = call("a"), call("b"), call("c")


@pytest.mark.parametrize(
    ("gold", "predicted", "exact", "count", "tool", "parameter", "overlap", "prefix", "similarity"),
    [
        pytest.param([GOLD], [(A, C, B, D)], 0, 100, (1, 1, 1), (1, 1, 1), (25, 25), (25, 25), 0.625, id="E1"),
        pytest.param(
            [GOLD],
            [(A, B, call("c", x=1, y=9), D)],
            0,
            100,
            (1, 1, 1),
            (2 / 3, 2 / 3, 2 / 3),
            (100, 50),
            (100, 50),
            2 / 3,
            id="E2",
        ),
        pytest.param(
            [GOLD], [(A, call("z"), B, C)], 0, 100, (0.75, 0.75, 0.75), (1, 1, 1), (50, 50), (25, 25), 0.625, id="E3"
        ),
        pytest.param(
            [(PA, PB, PC), (PB, PA, PC)],
            [(PB, PA, PC)],
            0,
            50,
            (1, 1, 1),
            (1, 1, 1),
            (100, 100),
            (100, 100),
            1,
            id="E4",
        ),
        pytest.param(
            [(PA, B, PC)],
            [(PA, B, B, PC)],
            0,
            100,
            (0.75, 1, 6 / 7),
            (0.5, 1, 2 / 3),
            (200 / 3, 200 / 3),
            (200 / 3, 200 / 3),
            0.7143,
            id="E5",
        ),
        pytest.param(
            [(PA, PB, PC), (PB, PA, PC)],
            [(PB, PA, PC), (PA, PB, PC)],
            1,
            100,
            (1, 1, 1),
            (1, 1, 1),
            (100, 100),
            (100, 100),
            1,
            id="E6",
        ),
    ],
)
def test_the_worked_examples(
    gold: list[Trajectory],
    predicted: list[Trajectory],
    exact: int,
    count: float,
    tool: tuple[float, ...],
    parameter: tuple[float, ...],
    overlap: tuple[float, ...],
    prefix: tuple[float, ...],
    similarity: float,
) -> None:
    found = compare_trajectories(gold, predicted)
    assert found.exact_match == bool(exact)
    assert found.count_agreement == count
    expected = (*tool, *parameter, *overlap, *prefix)
    assert [found.mean(metric) for metric in METRICS] == pytest.approx(expected)
    assert found.mean("similarity") == pytest.approx(similarity, abs=5e-5)


def test_the_right_one_of_several_orders_is_chosen() -> None:
    found = compare_trajectories([(PA, PB, PC), (PB, PA, PC)], [(PB, PA, PC)])
    assert [(pair.gold, pair.predicted) for pair in found.pairs] == [(1, 0)]
    assert found.any_gold
    assert (found.unmatched_gold, found.unmatched_predicted) == (1, 0)


def test_a_correct_trace_is_gold_although_the_sets_differ() -> None:
    found = compare_trajectories([(PA, PB), (PB, PA)], [(PA, PB)])
    assert found.any_gold
    assert not found.exact_match


def test_nothing_predicted_is_said_and_scores_0() -> None:
    found = compare_trajectories([GOLD], [])
    assert found.no_prediction
    assert (found.exact_match, found.any_gold, found.count_agreement, found.mean("tool_f1")) == (False, False, 0, 0)


@pytest.mark.parametrize(
    ("gold", "predicted", "f1"),
    [
        pytest.param((), (), 1.0, id="both empty"),
        pytest.param((A,), (), 0.0, id="nothing done"),
        pytest.param((), (A,), 0.0, id="nothing to do"),
    ],
)
def test_empty_trajectories(gold: Trajectory, predicted: Trajectory, f1: float) -> None:
    found = likeness(prepared(gold), prepared(predicted))
    assert found.tool_f1 == f1


def test_trajectories_that_occur_twice_count_once() -> None:
    found = compare_trajectories([(A,), (A,)], [(A,), (A,), (A,)])
    assert found.exact_match
    assert (found.gold, found.predicted) == (1, 1)


@pytest.mark.parametrize(
    ("one", "other", "values", "same"),
    [
        (5, 5.0, "typed", True),
        (5, "5", "typed", False),
        (5, "5", "text", True),
        (True, 1, "typed", False),
        (True, "True", "text", True),
        (None, "None", "typed", False),
        ({"a": 1, "b": [2.0]}, {"b": [2], "a": 1}, "typed", True),
        ([1, 2], (1, 2), "typed", True),
        ([1, 2], [2, 1], "typed", False),
        (0, False, "typed", False),
        ("", None, "typed", False),
        (10**30, 10**30, "typed", True),
        (float("inf"), float("inf"), "typed", True),
    ],
)
def test_which_values_are_the_same(one: Any, other: Any, values: Values, same: bool) -> None:
    assert (value_key(one, values) == value_key(other, values)) is same


def test_parameters_are_not_looked_at_where_gold_has_none() -> None:
    assert compare_trajectories([(call("a"),)], [(call("a", x=1),)], values="none").exact_match


# An independent computation: other data structures, other algorithms, every assignment tried.

calls = st.builds(
    ToolCall,
    st.sampled_from("abc"),
    st.dictionaries(st.sampled_from("xyz"), st.sampled_from([0, 1, "1", None, False, [1]]), max_size=2),
)
trajectories = st.lists(calls, max_size=5).map(tuple)


def multiset_scores(gold: list[object], predicted: list[object]) -> tuple[float, float, float]:
    if not gold and not predicted:
        return 1.0, 1.0, 1.0
    rest = list(gold)
    hits = 0
    for item in predicted:
        if item in rest:
            rest.remove(item)
            hits += 1
    precision = hits / len(predicted) if predicted else 0.0
    recall = hits / len(gold) if gold else 0.0
    return precision, recall, 2 * precision * recall / (precision + recall) if hits else 0.0


def naive_run(one: Sequence[object], other: Sequence[object]) -> int:
    best = 0
    for start in range(len(one)):
        for stop in range(start + 1, len(one) + 1):
            piece = list(one[start:stop])
            if any(list(other[at : at + len(piece)]) == piece for at in range(len(other))):
                best = max(best, len(piece))
    return best


def naive_prefix(one: Sequence[object], other: Sequence[object]) -> int:
    length = 0
    while length < min(len(one), len(other)) and one[length] == other[length]:
        length += 1
    return length


def naive(gold: Trajectory, predicted: Trajectory) -> list[float]:
    def steps(trajectory: Trajectory) -> list[tuple[str, dict[str, str]]]:
        return [(one.tool, {name: repr(value) for name, value in one.arguments.items()}) for one in trajectory]

    def parameters(trajectory: Trajectory) -> list[object]:
        return [(one.tool, name, repr(value)) for one in trajectory for name, value in one.arguments.items()]

    tools = [[one.tool for one in trajectory] for trajectory in (gold, predicted)]
    if steps(gold) == steps(predicted):
        return [1.0] * 6 + [100.0] * 4
    share = 100 / len(gold) if gold else 0.0
    return [
        *multiset_scores(list(tools[0]), list(tools[1])),
        *multiset_scores(parameters(gold), parameters(predicted)),
        share * naive_run(*tools),
        share * naive_run(steps(gold), steps(predicted)),
        share * naive_prefix(*tools),
        share * naive_prefix(steps(gold), steps(predicted)),
    ]


def naive_similarity(values: Sequence[float]) -> float:
    return (values[2] + values[5] + values[7] / 100 + values[9] / 100) / 4


@given(trajectories, trajectories)
def test_a_pair_equals_an_independent_computation(gold: Trajectory, predicted: Trajectory) -> None:
    found = likeness(prepared(gold), prepared(predicted))
    expected = naive(gold, predicted)
    assert [getattr(found, metric) for metric in METRICS] == pytest.approx(expected)
    assert found.similarity == pytest.approx(naive_similarity(expected))


def unlike(one: Trajectory) -> str:
    return repr([(step.tool, sorted((name, repr(value)) for name, value in step.arguments.items())) for step in one])


sets = st.lists(trajectories, min_size=1, max_size=4, unique_by=unlike)


@given(sets, sets)
def test_the_alignment_is_the_best_of_all_assignments(gold: list[Trajectory], predicted: list[Trajectory]) -> None:
    found = compare_trajectories(gold, predicted)
    table = [[naive(one, other) for other in predicted] for one in gold]
    short, long = sorted((range(len(gold)), range(len(predicted))), key=len)
    best = 0.0
    for chosen in permutations(long, len(short)):
        edges = zip(short, chosen, strict=True)
        pairs = [(row, column) if len(gold) <= len(predicted) else (column, row) for row, column in edges]
        best = max(best, sum(naive_similarity(table[row][column]) for row, column in pairs))
    assert sum(pair.likeness.similarity for pair in found.pairs) == pytest.approx(best)
    assert len(found.pairs) == len(short)
    assert found.exact_match == ({*map(unlike, gold)} == {*map(unlike, predicted)})
    assert found.matches_any == len({*map(unlike, gold)} & {*map(unlike, predicted)})
    assert found.count_agreement == pytest.approx(100 * len(predicted) / len(gold))
    for number, metric in enumerate(METRICS):
        means = fmean(table[pair.gold][pair.predicted][number] for pair in found.pairs)
        assert found.mean(metric) == pytest.approx(means)


@settings(max_examples=10)
@given(st.lists(trajectories, min_size=8, max_size=14, unique_by=unlike), st.randoms(use_true_random=False))
def test_the_alignment_of_many_equals_scipys(gold: list[Trajectory], random: Any) -> None:
    linear_sum_assignment = pytest.importorskip(
        "scipy.optimize", reason="needs scipy: pip install 'agent-gpa[stats]'"
    ).linear_sum_assignment
    predicted = [tuple(random.sample(one, len(one))) for one in gold[:9]]
    found = compare_trajectories(gold, predicted)
    distinct = list({unlike(one): one for one in predicted}.values())
    table = [[naive_similarity(naive(one, other)) for other in distinct] for one in gold]
    rows, columns = linear_sum_assignment(table, maximize=True)
    best = sum(table[row][column] for row, column in zip(rows, columns, strict=True))
    assert sum(pair.likeness.similarity for pair in found.pairs) == pytest.approx(best)


def test_every_metric_is_a_field() -> None:
    assert set(METRICS) == set(Likeness.__struct_fields__)
