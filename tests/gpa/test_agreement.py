"""Every statistic equals that of scikit-learn, scipy or krippendorff, and is None where those are not defined."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics

from gpa import agreement as own
from gpa.agreement import Decisions, Interval

SIZE = 4
SCORE = st.integers(0, SIZE - 1)
PAIRS = st.lists(st.tuples(SCORE, SCORE), max_size=25)
UNITS = st.lists(st.lists(SCORE, max_size=5), max_size=12)
LABELS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=25)


def same(found: float | None, expected: float | None) -> None:
    """Both undefined, or equal."""
    undefined = expected is None or math.isnan(expected)
    assert (found is None) == undefined, (found, expected)
    if found is not None and expected is not None:
        assert math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9), (found, expected)


def quietly(function: Callable[..., float], *args: object, **options: object) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(function(*args, **options))


def columns(pairs: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    return [one for one, _ in pairs], [other for _, other in pairs]


@given(PAIRS)
@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_kappa_is_scikit_learns(weights: own.Weights | None, pairs: list[tuple[int, int]]) -> None:
    expected = None
    if pairs:
        labels = list(range(SIZE))
        expected = quietly(metrics.cohen_kappa_score, *columns(pairs), weights=weights, labels=labels)
        # Raters who both say one thing only: chance alone agrees always.
        expected = None if len({value for pair in pairs for value in pair}) == 1 else expected
    same(own.cohen_kappa(own.confusion(pairs, SIZE), weights), expected)


@given(UNITS)
@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_alpha_is_krippendorffs(level: own.Level, units: list[list[int]]) -> None:
    expected = None
    counts = np.array([[unit.count(value) for value in range(SIZE)] for unit in units if len(unit) > 1])
    if len(counts) and (counts.sum(axis=0) > 0).sum() > 1:
        domain = np.array(list(range(SIZE)))
        expected = krippendorff.alpha(value_counts=counts, value_domain=domain, level_of_measurement=level)
    same(own.alpha(units, SIZE, level), expected)


@given(PAIRS)
def test_correlation_is_scipys(pairs: list[tuple[int, int]]) -> None:
    expected = quietly(lambda x, y: stats.pearsonr(x, y)[0], *columns(pairs)) if len(pairs) > 1 else None
    same(own.pearson(own.confusion(pairs, SIZE)), expected)


@given(LABELS)
def test_phi_and_jaccard_are_scikit_learns(pairs: list[tuple[int, int]]) -> None:
    one, other = columns(pairs)
    counts = own.confusion(pairs, 2)
    varies = len(set(one)) == 2 == len(set(other))
    same(own.phi(counts), quietly(metrics.matthews_corrcoef, one, other) if varies else None)
    same(own.jaccard(counts), quietly(metrics.jaccard_score, one, other) if 1 in (*one, *other) else None)


@given(LABELS, st.sampled_from((1.0, 2.0)))
def test_precision_recall_f_and_accuracy_are_scikit_learns(pairs: list[tuple[int, int]], beta: float) -> None:
    truth, said = columns(pairs)
    counts = own.confusion(pairs, 2)
    decisions = Decisions(tp=counts[1][1], fp=counts[0][1], fn=counts[1][0], tn=counts[0][0])
    same(own.precision(decisions), metrics.precision_score(truth, said) if 1 in said else None)
    same(own.recall(decisions), metrics.recall_score(truth, said) if 1 in truth else None)
    same(own.f_score(decisions, beta), metrics.fbeta_score(truth, said, beta=beta) if 1 in (*truth, *said) else None)
    same(own.accuracy(decisions), metrics.accuracy_score(truth, said) if pairs else None)


@given(PAIRS)
def test_shares_of_agreeing_scores(pairs: list[tuple[int, int]]) -> None:
    counts = own.confusion(pairs, SIZE)
    one, other = columns(pairs)
    same(own.agreement(counts), metrics.accuracy_score(one, other) if pairs else None)
    same(own.agreement(counts, 1), sum(abs(a - b) <= 1 for a, b in pairs) / len(pairs) if pairs else None)
    same(own.normalised_error(counts), metrics.mean_absolute_error(one, other) / 3 if pairs else None)
    three = [(0, 1, 1, 2)[score] for score in range(SIZE)]
    expected = metrics.accuracy_score([three[a] for a in one], [three[b] for b in other]) if pairs else None
    same(own.agreement(own.merged(counts, three)), expected)


@given(st.integers(0, 60).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total))))
def test_wilson_is_scipys(share: tuple[int, int]) -> None:
    count, total = share
    found = own.wilson(count, total)
    if not total:
        assert found is None
        return
    expected = stats.binomtest(count, total).proportion_ci(method="wilson")
    assert found is not None
    same(found.low, expected.low)
    same(found.high, expected.high)


@given(st.integers(0, 40), st.integers(0, 40))
def test_mcnemar_is_the_binomial_test(lost: int, won: int) -> None:
    same(own.mcnemar(lost, won), stats.binomtest(lost, lost + won).pvalue if lost + won else None)


def test_mcnemar_of_many_is_close_to_the_binomial_test() -> None:
    assert own.mcnemar(520, 580) == pytest.approx(stats.binomtest(520, 1100).pvalue, abs=1e-3)


@settings(max_examples=25)
@given(st.lists(st.integers(-3, 3), max_size=9))
def test_sign_flips_are_scipys_permutation_test(differences: list[int]) -> None:
    expected = None
    if any(differences):
        values = (np.array([*differences, 0.0, 0.0]),)  # scipy wants two values, and zeros change nothing
        expected = stats.permutation_test(values, np.sum, permutation_type="samples", n_resamples=np.inf).pvalue
    same(own.sign_flip(differences), expected)


def test_many_sign_flips_are_drawn_and_close_to_the_exact_test() -> None:
    differences = [1.0] * 14 + [-1.0] * 6
    assert own.sign_flip(differences) == pytest.approx(stats.binomtest(6, 20).pvalue, abs=0.02)
    assert own.sign_flip(differences) == own.sign_flip(differences)
    assert own.sign_flip([0.5] * 1_000) == pytest.approx(0, abs=1e-3)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=9))
def test_deviation_is_numpys(values: list[int]) -> None:
    same(own.deviation(values), float(np.std(values)))


VECTORS = st.lists(st.integers(-3, 3), min_size=3, max_size=3)


@given(VECTORS, VECTORS)
def test_cosine_is_scikit_learns(one: list[int], other: list[int]) -> None:
    same(own.cosine(one, other), float(metrics.pairwise.cosine_similarity([one], [other])[0][0]))


def mean(sums: Sequence[float]) -> float | None:
    return sums[0] / sums[1] if sums[1] else None


def test_the_bootstrap_is_close_to_scipys() -> None:
    values = [0, 0, 1, 1, 1, 2, 3, 3, 3, 3, 0, 2, 1, 3, 0, 0, 1, 2, 2, 1]
    found = own.bootstrap([(value, 1) for value in values], mean)
    drawn = stats.bootstrap((values,), np.mean, n_resamples=4000, method="percentile", rng=np.random.default_rng(1))
    assert found is not None
    assert found.low == pytest.approx(drawn.confidence_interval.low, abs=0.06)
    assert found.high == pytest.approx(drawn.confidence_interval.high, abs=0.06)
    assert found == own.bootstrap([(value, 1) for value in values], mean)


def test_grouped_units_give_about_the_same_interval() -> None:
    values = [number % 7 == 0 for number in range(3_000)]
    found = own.bootstrap([(value, 1) for value in values], mean)
    expected = own.wilson(sum(values), len(values))
    assert found is not None
    assert expected is not None
    assert found.low == pytest.approx(expected.low, abs=0.003)
    assert found.high == pytest.approx(expected.high, abs=0.003)


@pytest.mark.parametrize(
    ("units", "expected"),
    [
        pytest.param([], None, id="no unit"),
        pytest.param([(1, 1)], None, id="one unit"),
        pytest.param([(1, 1), (0, 0), (0, 0)], None, id="mostly undefined"),
        pytest.param([(1, 1)] * 9, Interval(1.0, 1.0), id="all the same"),
    ],
)
def test_where_there_is_no_interval(units: list[tuple[int, int]], expected: Interval | None) -> None:
    assert own.bootstrap(units, mean) == expected


def test_a_clustered_rate_has_the_wider_interval() -> None:
    alike = own.clustered_rate([(1, 1)] * 9)
    assert alike.interval == own.wilson(9, 9)
    lumped = own.clustered_rate([(10, 10), (0, 10)] * 5)
    plain = own.wilson(50, 100)
    assert lumped.interval is not None
    assert plain is not None
    assert lumped.interval.low < plain.low
    assert lumped.interval.high > plain.high
    assert own.clustered_rate([]) == own.Rate(None, 0, 0, None)
