"""Gold is split by trace: all of it, once, about as asked for in every stratum."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.errors import UsageError
from gpa.judges.gold import IMPACTS, Gold, GoldError, HumanScore
from gpa.split import split

IMPACT = st.sampled_from(IMPACTS)
TRACES = st.lists(st.lists(IMPACT, max_size=3), max_size=30)


def made(traces: list[list[str]]) -> Gold:
    errors = [
        GoldError.model_validate({"id": f"{t}-{n}", "trace_id": str(t), "category": "x", "impact": impact})
        for t, impacts in enumerate(traces)
        for n, impact in enumerate(impacts)
    ]
    ids = tuple(str(number) for number in range(len(traces)))
    return Gold(tuple(errors), tuple(HumanScore(trace_id=t, judge="TC", score=1) for t in ids), ids)


@given(TRACES, st.floats(0.1, 0.9), st.integers())
def test_every_trace_goes_to_one_side_with_all_that_is_its(traces: list[list[str]], share: float, seed: int) -> None:
    gold = made(traces)
    dev, test = split(gold, share=share, seed=seed)
    assert sorted((*dev.trace_ids, *test.trace_ids)) == sorted(gold.trace_ids)
    assert len(dev.trace_ids) == int(len(traces) * share + 0.5)
    for part in (dev, test):
        assert set(part.errors) == {error for error in gold.errors if error.trace_id in part.trace_ids}
        assert {score.trace_id for score in part.scores} == set(part.trace_ids)


@given(TRACES, st.integers())
def test_each_stratum_is_halved(traces: list[list[str]], seed: int) -> None:
    dev, test = split(made(traces), seed=seed)
    for impact in IMPACTS:
        graver = IMPACTS[IMPACTS.index(impact) + 1 :]
        of = [
            sum(
                impact in {e.impact for e in errors} and not {e.impact for e in errors} & set(graver) for errors in part
            )
            for part in (dev.by_trace.values(), test.by_trace.values())
        ]
        assert abs(of[0] - of[1]) <= 1


def test_the_order_of_the_gold_does_not_matter_but_the_seed_does() -> None:
    gold = made([["HIGH"], ["LOW"], [], ["MEDIUM"]] * 10)
    turned = Gold(gold.errors[::-1], gold.scores, gold.trace_ids[::-1])
    assert set(split(gold)[0].trace_ids) == set(split(turned)[0].trace_ids)
    assert set(split(gold, seed=1)[0].trace_ids) != set(split(gold)[0].trace_ids)


def test_a_share_of_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^share: expected a number between 0 and 1, found 1$"):
        split(made([]), share=1)
