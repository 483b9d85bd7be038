"""Numbers in other notations, and numbers that are others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.judges.checks.figures import Given, figures, values


@pytest.mark.parametrize(
    ("told", "said", "known"),
    [
        pytest.param("1234.5 EUR", "1.234,50 EUR", True, id="continental separators"),
        pytest.param("1.234,50 EUR", "1,234.50 EUR", True, id="English separators"),
        pytest.param("12345678", "12\u00a0345\u00a0678", True, id="blanks that do not break"),
        pytest.param("population 291940", "0.29 million", True, id="a scale"),
        pytest.param("population 291940", "0.31 million", False, id="a scale, another value"),
        pytest.param("1234567890 USD", "$1.23 billion", True, id="billions"),
        pytest.param("3.5 million", "3,500,000", True, id="a scale in what was told"),
        pytest.param("118.237", "118.2", True, id="rounded"),
        pytest.param("118.237", "118.3", False, id="rounded wrongly"),
        pytest.param("total_cents 129900", "$1,299.00", True, id="cents"),
        pytest.param("12 C", "53.6 F", True, id="degrees"),
        pytest.param("12 C", "54.6 F", False, id="other degrees"),
        pytest.param("height 2469 m", "8,100 ft", True, id="feet"),
        pytest.param("2469 visitors", "8,100 ft", False, id="feet of nothing measured"),
        pytest.param("90 kg", "198.4 lb", True, id="pounds"),
        pytest.param("from 09:15 to 11:20", "125 minutes", True, id="a span of time"),
        pytest.param("from 09:15 to 11:20", "135 minutes", False, id="another span"),
        pytest.param("from 09:15 to 11:20", "125 metres", False, id="no time"),
        pytest.param("[10,20,40]", "the sum 70", True, id="a sum of a list"),
        pytest.param("on 24.10.2022", "24 October 2022", True, id="a date in its parts"),
        pytest.param("1234", "1235", False, id="another number"),
    ],
)
def test_a_value_is_known_in_every_notation(told: str, said: str, known: bool) -> None:
    found = list(figures(said))
    assert found
    assert all(Given(told).holds(figure) for figure in found) is known


@pytest.mark.parametrize("text", ["24.10.2022", "2022-10-24", "12/05/2024", "10:05", "v1.24", "1.22.3", "A-17", "7"])
def test_dates_times_versions_and_digits_are_no_figures(text: str) -> None:
    assert list(figures(f"It is {text} there.")) == []


def test_a_mean_is_known_where_means_are_spoken_of() -> None:
    (mean,) = figures("23.33")
    assert Given("10, 20, 40", means=True).holds(mean)
    assert not Given("10, 20, 40").holds(mean)


@given(st.floats(min_value=10, max_value=1e9))
def test_separators_and_digits_change_no_value(value: float) -> None:
    english = f"{value:,.2f}"
    continental = english.translate(str.maketrans(",.", ".,"))
    (figure,) = figures(continental)
    assert Given(english).holds(figure)
    assert next(values(english)) == round(value, 2)
