"""Why the gate is shut, in words that show it."""

from __future__ import annotations

import pytest

from gpa.ci.outcome import Outcome
from gpa.evaluation import Evaluation
from gpa.judges.verdict import Verdict
from gpa.locations import Recorded


def scored(*scores: int) -> Recorded:
    return Recorded(
        Evaluation(
            tuple(
                Verdict(trace_id=f"t{number}", judge="LC", model="checks", score=score, rationale="r")
                for number, score in enumerate(scores)
            )
        )
    )


@pytest.mark.parametrize(
    ("run", "limit", "said"),
    [
        pytest.param(scored(1, 1), 2, "mean 1.00 is below 2", id="far"),
        pytest.param(scored(*[3] * 20, *[2] * 23), 2.47, "mean 2.465 is below 2.47", id="near"),
        pytest.param(scored(2, 2, 1), 1.6666667, "mean 1.66666667 is below 1.6666667", id="very near"),
        pytest.param(scored(2), 2.0000001, "mean 2.0000000 is below 2.0000001", id="a limit of many digits"),
    ],
)
def test_a_mean_and_its_limit_are_shown_with_the_digits_that_tell_them_apart(
    run: Recorded, limit: float, said: str
) -> None:
    assert Outcome(run, fail_under=limit).reasons() == (f"LC Logical Consistency: {said}",)
