"""A `Trace` is a tree whatever the spans say of each other."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.ingest.spans import Event, Link, Scope, Span, Trace


def span(span_id: str, parent_id: str | None = None, start_ns: int = 0, end_ns: int = 9, **fields: Any) -> Span:
    return Span(trace_id="t", span_id=span_id, parent_id=parent_id, start_ns=start_ns, end_ns=end_ns, **fields)


def tree(trace: Trace) -> list[tuple[str, int]]:
    return [(each.span_id, depth) for each, depth in trace.walk()]


TREES: dict[str, tuple[list[Span], list[tuple[str, int]], tuple[str, ...]]] = {
    "empty": ([], [], ()),
    "children before their parent, as exported": (
        [span("c", "b", 3), span("b", "a", 2), span("a", None, 1)],
        [("a", 0), ("b", 1), ("c", 2)],
        (),
    ),
    "siblings by start": (
        [span("a", None, 1), span("c", "a", 3), span("b", "a", 2)],
        [("a", 0), ("b", 1), ("c", 1)],
        (),
    ),
    "an orphan": (
        [span("a", None, 1), span("b", "gone", 2), span("c", "b", 3)],
        [("a", 0), ("b", 0), ("c", 1)],
        ("1 span with a parent that is not in the trace",),
    ),
    "its own parent": ([span("a", "a", 1)], [("a", 0)], ("1 span with itself as parent, made a root",)),
    "a cycle with a tail, cut at its earliest": (
        [span("c", "b", 5), span("b", "c", 4), span("d", "c", 6)],
        [("b", 0), ("c", 1), ("d", 2)],
        ("1 span with a parent among its own descendants, made a root",),
    ),
    "a cycle in which one time is unknown": (
        [span("a", "b", 0), span("b", "a", 4)],
        [("b", 0), ("a", 1)],
        ("1 span with a parent among its own descendants, made a root", "1 span without a start time"),
    ),
    "no times at all": (
        [span("c", "b", end_ns=0), span("x", "a", end_ns=0), span("b", "a", end_ns=0), span("a", None, end_ns=0)],
        [("a", 0), ("x", 1), ("b", 1), ("c", 2)],
        ("4 spans without a start time", "4 spans without an end time"),
    ),
    "something dropped": (
        [span("a", None, 1, dropped=3), span("b", "a", 2, dropped=4)],
        [("a", 0), ("b", 1)],
        ("7 attributes, events or links dropped by the producer",),
    ),
}


@pytest.mark.parametrize(("spans", "expected", "warnings"), TREES.values(), ids=TREES)
def test_a_tree_is_made_and_repairs_are_counted(
    spans: list[Span], expected: list[tuple[str, int]], warnings: tuple[str, ...]
) -> None:
    trace = Trace("t", spans)
    assert tree(trace) == expected
    assert trace.warnings == warnings


def test_a_parent_comes_before_a_child_that_starts_with_it() -> None:
    trace = Trace("t", [span("c", "b", 1), span("b", "a", 1), span("a", None, 1)])
    assert [each.span_id for each in trace.spans] == ["a", "b", "c"]


def test_a_span_without_a_start_comes_after_its_parent_among_spans_that_have_one() -> None:
    trace = Trace("t", [span("x", "b"), span("a", None, 1), span("b", "a", 5), span("c", "a", 9)])
    assert [each.span_id for each in trace.spans] == ["a", "b", "x", "c"]


def test_a_span_cut_out_of_a_cycle_no_longer_names_a_parent() -> None:
    trace = Trace("t", [span("a", "b", 1), span("b", "a", 2)])
    assert [each.parent_id for each in trace.spans] == [None, "a"]


def test_an_orphan_keeps_the_parent_it_recorded() -> None:
    assert Trace("t", [span("a", "gone", 1)]).roots()[0].parent_id == "gone"


def test_equal_duplicates_are_one_span() -> None:
    trace = Trace("t", [span("a", None, 1)] * 3)
    assert trace.spans == (span("a", None, 1),)
    assert trace.warnings == ("2 duplicate spans merged",)


def test_of_different_duplicates_the_later_end_wins_and_the_other_fills_in() -> None:
    early, late = Event("early", 1), Event("late", 2)
    done = span(
        "a", None, 0, 9, name="new", attributes={"k": "new", "n": 1}, events=(late,), links=(Link("t", "l"),), dropped=1
    )
    begun = span(
        "a",
        "p",
        3,
        0,
        name="old",
        kind="client",
        status="error",
        status_message="no",
        attributes={"k": "old", "o": 2},
        events=(early, late),
        resource={"r": 1},
        scope=Scope("lib"),
    )
    merged = span(
        "a",
        "p",
        3,
        9,
        name="new",
        kind="client",
        status="error",
        status_message="no",
        attributes={"k": "new", "o": 2, "n": 1},
        events=(early, late),
        links=(Link("t", "l"),),
        resource={"r": 1},
        scope=Scope("lib"),
        dropped=1,
    )
    for records in ([done, begun], [begun, done]):
        trace = Trace("t", records)
        assert trace.spans == (merged,)
        assert "1 duplicate spans with different content merged" in trace.warnings


def test_duplicates_nested_beyond_python_calls_are_merged() -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    other: list[Any] = []
    for _ in range(5000):
        other = [other]
    trace = Trace("t", [span("a", None, 1, attributes={"k": deep}), span("a", None, 1, attributes={"k": other})])
    assert len(trace.spans) == 1


def test_warnings_that_are_given_come_first() -> None:
    assert Trace("t", [span("a", "a", 1)], warnings=["w"]).warnings[0] == "w"


def test_a_chain_of_ten_thousand_spans_is_walked() -> None:
    spans = [span(f"{n}", f"{n - 1}" if n else None) for n in reversed(range(10_000))]
    assert tree(Trace("t", spans))[-1] == ("9999", 9999)


def test_a_cycle_of_ten_thousand_spans_is_cut_once() -> None:
    spans = [span(f"{n}", f"{(n + 1) % 10_000}", n + 1, n + 2) for n in range(10_000)]
    trace = Trace("t", spans)
    assert trace.warnings == ("1 span with a parent among its own descendants, made a root",)
    assert tree(trace)[-1] == ("1", 9999)


@given(
    st.lists(
        st.builds(
            span,
            span_id=st.sampled_from("abcdefgh"),
            parent_id=st.none() | st.sampled_from("abcdefghi"),
            start_ns=st.integers(0, 5),
            end_ns=st.integers(0, 5),
        )
    )
)
def test_any_spans_make_a_forest_that_holds_each_id_once(spans: list[Span]) -> None:
    trace = Trace("t", spans)
    walked = [each for each, _ in trace.walk()]
    assert sorted(each.span_id for each in walked) == sorted({each.span_id for each in spans})
    assert set(map(id, walked)) == set(map(id, trace.spans))
    for each, depth in trace.walk():
        assert (depth == 0) == (each in trace.roots())
        assert all(child.parent_id == each.span_id for child in trace.children(each))
    known = [each.start_ns for each in trace.spans if each.start_ns]
    assert known == sorted(known)
