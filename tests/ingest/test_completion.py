"""When a trace counts as complete: the rule by itself, and the spool, which asks the database, against it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpa.ingest.completion import Patience, completed
from gpa.ingest.spans import Span
from gpa.ingest.spool import SpoolLimits, batch_of, open_spool

SECOND = 1_000_000_000
PATIENCE = Patience(quiet_s=10, patience_s=900, max_age_s=3600)
TRACE = "a" * 32


@pytest.mark.parametrize(
    ("whole", "full", "silent_s", "age_s", "why"),
    [
        pytest.param(True, False, 9.9, 9.9, None, id="nothing missing, not yet quiet"),
        pytest.param(True, False, 10, 10, "whole", id="nothing missing, quiet"),
        pytest.param(False, False, 10, 10, None, id="something missing, quiet"),
        pytest.param(False, False, 899, 899, None, id="something missing, quiet for some time"),
        pytest.param(False, False, 900, 900, "quiet", id="something missing, quiet for long"),
        pytest.param(False, False, 1, 3600, "old", id="something missing, never quiet"),
        pytest.param(True, False, 1, 3600, "old", id="nothing missing, never quiet"),
        pytest.param(False, True, 0, 0, "full", id="over a limit"),
    ],
)
def test_a_trace_is_complete_when(whole: bool, full: bool, silent_s: float, age_s: float, why: str | None) -> None:
    found = completed(PATIENCE, whole=whole, full=full, silent_ns=int(silent_s * SECOND), age_ns=int(age_s * SECOND))
    assert found == why


def spans_of(tree: list[int | None]) -> list[Span]:
    """A span for each entry, which is the place of its parent; one of nobody is missing."""
    return [
        Span(TRACE, f"{place + 1:016x}", None if parent is None else f"{parent + 1:016x}")
        for place, parent in enumerate(tree)
    ]


@settings(max_examples=40)
@given(
    arrivals=st.lists(
        st.tuples(st.integers(0, 1200), st.lists(st.one_of(st.none(), st.integers(0, 7)), min_size=1, max_size=4)),
        min_size=1,
        max_size=4,
    ),
    then_s=st.integers(0, 4000),
)
def test_the_spool_follows_the_rule(arrivals: list[tuple[int, list[int | None]]], then_s: int) -> None:
    now = [1_000_000 * SECOND]
    with tempfile.TemporaryDirectory() as folder:
        limits = SpoolLimits(trace_records=8)
        with open_spool(Path(folder, "spool"), limits=limits, clock=lambda: now[0]) as spool:
            tree: list[int | None] = []
            first = 0
            for wait_s, grown in arrivals:
                now[0] += wait_s * SECOND
                first = first or now[0]
                fresh = spans_of([*tree, *grown])[len(tree) :]
                tree += grown
                stored = spool.append(batch_of(fresh))
                assert stored.spans + stored.refused == len(fresh)
            last = now[0]
            now[0] += then_s * SECOND
            there = spans_of(tree)[:8]
            ids = {span.span_id for span in there}
            rooted = any(span.parent_id is None for span in there)
            whole = rooted and all(span.parent_id is None or span.parent_id in ids for span in there)
            # What is refused is no sign of life.
            if len(tree) - len(arrivals[-1][1]) >= 8:
                return
            full = len(there) == 8
            expected = completed(PATIENCE, whole=whole, full=full, silent_ns=now[0] - last, age_ns=now[0] - first)
            found = [ready.why for ready in spool.complete(PATIENCE)]
            assert found == ([expected] if expected else [])
