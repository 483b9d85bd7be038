"""Whether the difference of two sides of the same traces is chance."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.optimize.pairs import paired, share_test, swap_test

counts = st.tuples(st.integers(0, 4), st.integers(0, 4)).map(lambda pair: (min(pair), max(pair)))
units = st.lists(st.tuples(counts, counts).map(lambda pair: (*pair[0], *pair[1])), min_size=1, max_size=6)


@given(units)
def test_p_is_a_probability_and_the_sides_are_alike(some: list[tuple[int, int, int, int]]) -> None:
    p = share_test(some)
    assert p == share_test([(*unit[2:], *unit[:2]) for unit in some])
    assert p is None or 2 / 2 ** len(some) <= p + 1e-12 <= 1 + 1e-9


@given(units)
def test_the_order_of_traces_does_not_matter(some: list[tuple[int, int, int, int]]) -> None:
    assert len({share_test(list(order)) for order in list(permutations(some))[:6]}) == 1


def test_the_same_reports_differ_by_nothing() -> None:
    assert share_test([(1, 2, 1, 2), (0, 3, 0, 3)]) is None


def test_exact_p_of_a_clear_case() -> None:
    assert share_test([(0, 1, 1, 1)] * 8) == pytest.approx(2 / 2**8)


def test_drawn_p_is_near_the_exact_one() -> None:
    some = [(0, 2, 1, 2), (1, 2, 0, 2), (0, 1, 1, 1)] * 4
    exact, drawn = share_test(some), share_test(some + [(0, 0, 0, 1)] * 1)
    assert exact is not None
    assert drawn is not None
    assert abs(exact - drawn) < 0.15


def test_it_is_the_sign_flip_test_where_totals_are_alike() -> None:
    from gpa.agreement import sign_flip

    some = [(0, 2, 1, 2), (1, 2, 0, 2), (0, 2, 2, 2), (0, 2, 1, 2)]
    assert share_test(some) == sign_flip([unit[2] - unit[0] for unit in some])


def test_what_is_not_defined_has_no_p() -> None:
    assert share_test([(0, 0, 1, 1)]) is None
    assert swap_test([((1.0,), (2.0,))], lambda _sums: None) is None
    assert paired([], lambda sums: sums[0]) == (None, None, None, None)
