"""Which system answered best: the worked examples and the gates."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from gpa.answers import ALL, NEITHER, Answer, decision, win_rates


@pytest.mark.parametrize(
    ("answers", "best"),
    [
        pytest.param(((1, 1, 5, 6), (1, 1, 6, 4), (1, 1, 6, 4)), "R2,R3", id="two share"),
        pytest.param(((1, 1, 4, 7), (0, 1, 7, 7), (1, 0, 1, 7)), "R1", id="gates"),
        pytest.param(((1, 0, 7, 7), (1, 0, 7, 7), (1, 0, 7, 7)), NEITHER, id="none consistent"),
        pytest.param(((1, 1, 5, 5), (1, 1, 5, 5), (1, 1, 5, 5)), ALL, id="all alike"),
        pytest.param(((1, 1, 5, 5), (1, 1, 5, 6), (1, 1, 4, 7)), "R2", id="redundancy breaks ties"),
        pytest.param(((1, 1, 5, 5),), "R1", id="one system"),
    ],
)
def test_the_best_standing_answer_wins(answers: tuple[tuple[int, int, int, int], ...], best: str) -> None:
    assert decision({f"R{n}": Answer.of(*scores) for n, scores in enumerate(answers, 1)}) == best


def test_an_invalid_answer_has_the_lowest_scores_and_nothing_superfluous() -> None:
    answer = Answer.of(0, 1, 6, 3)
    assert (answer.consistency, answer.completeness, answer.redundancy) == (0, 1, 7)


def test_a_score_outside_its_scale_is_refused() -> None:
    with pytest.raises(ValidationError):
        Answer.of(1, 1, 8, 1)


def test_win_rates_count_shared_wins_for_each() -> None:
    made = ["R1", "R1,R3", "R2", NEITHER]
    assert shares(made, "R1", "R2", "R3") == {"R1": 0.5, "R2": 0.25, "R3": 0.25}
    assert shares([ALL], "R1", "R2") == {"R1": 1.0, "R2": 1.0}
    assert shares([], "R1") == {"R1": None}


def shares(made: list[str], *systems: str) -> dict[str, float | None]:
    return {system: found.value for system, found in win_rates(made, systems).items()}
