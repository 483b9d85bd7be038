"""Train, dev and held-out share no trace, however they are chosen."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.errors import FormatError, InputError, UsageError
from gpa.judges.gold import Gold, GoldError
from gpa.optimize.portions import Portions, apportion, read_ids, same_tasks
from tests.judges.checks.transcripts import llm, said, transcript


def gold(count: int) -> Gold:
    ids = [f"{number:032x}" for number in range(count)]
    errors = tuple(
        GoldError(id=f"e{at}", trace_id=name, category="Tool-related", dimensions=("TC",), impact="HIGH")
        for at, name in enumerate(ids)
        if at % 3
    )
    return Gold(errors, (), tuple(ids))


GOLD = gold(20)
IDS = GOLD.trace_ids


@given(st.integers(20, 80), st.integers(0, 5), st.tuples(*[st.floats(0.5, 2)] * 3))
def test_every_trace_is_in_one_portion_and_the_seed_decides_which(
    count: int, seed: int, shares: tuple[float, float, float]
) -> None:
    some = gold(count)
    portions = apportion(some, some.trace_ids, shares=shares, seed=seed)
    assert sorted((*portions.train, *portions.dev, *portions.held_out)) == sorted(some.trace_ids)
    assert apportion(some, reversed_(some.trace_ids), shares=shares, seed=seed) == portions


def reversed_(ids: tuple[str, ...]) -> list[str]:
    return list(reversed(ids))


def test_shares_are_kept_to() -> None:
    portions = apportion(gold(100), gold(100).trace_ids, shares=(0.3, 0.3, 0.4))
    assert [len(ids) for ids in portions.named().values()] == [30, 30, 40]


def test_another_seed_is_another_split() -> None:
    assert len({apportion(GOLD, IDS, seed=seed) for seed in range(6)}) > 1


def test_traces_that_are_not_there_are_in_no_portion() -> None:
    portions = apportion(GOLD, IDS[:10])
    assert {trace_id for ids in portions.named().values() for trace_id in ids} == set(IDS[:10])


def test_what_hands_chose_is_kept_and_the_rest_is_shared_out() -> None:
    portions = apportion(GOLD, IDS, given={"held-out": IDS[:4]}, shares=(1, 3, 0))
    assert portions.held_out == IDS[:4]
    assert (len(portions.train), len(portions.dev)) == (4, 12)
    rest = apportion(GOLD, IDS, given={"train": IDS[:4], "dev": IDS[4:8]})
    assert set(rest.held_out) == set(IDS[8:])


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (
            {"train": IDS[:3], "dev": IDS[2:5]},
            f"train and dev: expected different traces, found {IDS[2]} in both",
        ),
        (
            {"dev": IDS[:5], "held-out": IDS},
            f"dev and held-out: expected different traces, found {IDS[0]}, {IDS[1]}, {IDS[2]} and 2 more in both",
        ),
        ({"train": ("ff",)}, "train: expected traces that --gold annotates, found ff"),
        ({"train": IDS, "dev": ()}, "dev: expected at least one annotated trace, found none"),
    ],
    ids=["overlap", "long overlap", "not annotated", "empty"],
)
def test_portions_by_hand_that_are_none_are_refused(chosen: dict[str, tuple[str, ...]], message: str) -> None:
    with pytest.raises(UsageError) as error:
        apportion(GOLD, IDS, given=chosen)
    assert str(error.value) == message


def test_ids_without_a_trace_are_refused() -> None:
    with pytest.raises(UsageError) as error:
        apportion(GOLD, IDS[:10], given={"dev": IDS[9:11]})
    assert str(error.value) == f"dev: expected ids of traces in PATH, found none for {IDS[10]}"


@pytest.mark.parametrize("shares", [(1, 1), (0, 0, 0), (1, -1, 1), (float("nan"), 1, 1), (float("inf"), 1, 1)])
def test_shares_that_are_none_are_refused(shares: tuple[float, ...]) -> None:
    with pytest.raises(UsageError, match="--shares: expected three numbers for train, dev, held-out"):
        apportion(GOLD, IDS, shares=shares)


def test_too_few_traces_for_three_portions_are_refused() -> None:
    with pytest.raises(UsageError, match="expected at least one annotated trace, found none"):
        apportion(gold(2), gold(2).trace_ids)


def test_the_table_counts_traces_and_errors_of_each_portion() -> None:
    portions = Portions(IDS[:3], IDS[3:6], IDS[6:])
    table = portions.table(GOLD, ("TC", "LC"))
    assert table.rows == (("traces", 3, 3, 14), ("TC errors", 2, 2, 9), ("LC errors", 0, 0, 0))


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("0A\n\n# mine\nx-1\n0a\n", ("0a", "x-1")),
        ('{"trace_id": "0A", "category": "x"}\n{"type": "trace", "trace_id": "b"}\n', ("0a", "b")),
    ],
    ids=["bare", "lines"],
)
def test_ids_are_read_from_lists_and_from_gold(text: str, ids: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "ids"
    path.write_text(text)
    assert read_ids(path) == ids


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected trace ids, found none"),
        ("a\nb c\n", ":2: expected a trace id or an object with one, found 'b c'"),
        ("{\n", ":1: expected a JSON object with a trace_id, found"),
        ('{"id": "a"}\n', ":1: expected a JSON object with a trace_id, found"),
    ],
    ids=["empty", "words", "no JSON", "no id"],
)
def test_a_file_without_ids_says_where(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "ids"
    path.write_text(text)
    with pytest.raises((FormatError, InputError)) as error:
        read_ids(path)
    assert message in str(error.value)
    assert str(error.value).startswith(str(path))


def test_a_file_that_is_not_there_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a file of trace ids, found"):
        read_ids(tmp_path / "none")


def test_held_out_traces_with_a_task_that_was_tuned_on_are_counted() -> None:
    goals = {IDS[0]: "Add.", IDS[1]: "Multiply.", IDS[2]: " Add.", IDS[3]: "", IDS[4]: "Divide."}
    runs = [transcript(llm(said("x")), trace_id=trace_id, goal=goal) for trace_id, goal in goals.items()]
    assert same_tasks(Portions(IDS[:1], IDS[1:2], IDS[2:5]), runs) == 1
