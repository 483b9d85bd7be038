"""Which findings of a run another run has too.

First by signature (sort of error, agent, tool, words without ids and numbers). Judges differ in their words from one
judgement to the next, so what is left may also be the same when the same spans are cited, or when sort and place agree
and the words are alike. One to one: three repeats where there were two are one new finding.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from rapidfuzz import fuzz

from gpa.evaluation import Located
from gpa.locations import Recorded, kind_of, place_of, said, signature, words_of

ALIKE_CHECK = 85
"""Similarity (0-100) from which the words of a check say the same: they come from one template."""
ALIKE_MODEL = 45
"""The same of what a model wrote or quoted, where category and place agree already."""

Cases = Sequence[tuple[Sequence[str], Sequence[str]]]
"""Trace ids of the first run, and of the second, that belong together."""


def told_apart(
    cases: Cases, before: Recorded, earlier: Sequence[Located], after: Recorded, later: Sequence[Located]
) -> tuple[tuple[Located, ...], tuple[Located, ...], tuple[Located, ...]]:
    """The later findings that are new, those that are known, and the earlier ones that are gone.

    In a trace that is in no case a finding is known when the first run has its signature anywhere. Gone is only what is
    missing from a case: what was not run again has not gone away. Without any case the runs are compared as a whole.
    """
    by_trace, later_by_trace = _by_trace(earlier), _by_trace(later)
    new: set[int] = set()
    again = {trace_id for old_ids, _ in cases for trace_id in old_ids}
    left: set[int] = {id(one) for one in earlier if not cases or one.trace_id in again}
    for old_ids, new_ids in cases:
        old = [one for trace_id in old_ids for one in by_trace.get(trace_id, ())]
        for trace_id in new_ids:
            # Each run of a goal is held against all of the first run's.
            found = later_by_trace.pop(trace_id, [])
            partners = _partners(found, before=before, old=old, after=after)
            new.update(id(one) for one in found if id(one) not in partners)
            left.difference_update(id(partner) for partner in partners.values())
    if later_by_trace:
        seen: dict[tuple[str, ...], list[Located]] = defaultdict(list)
        for one in earlier:
            seen[signature(one, before.place(one))].append(one)
        for one in (one for found in later_by_trace.values() for one in found):
            same = seen.get(signature(one, after.place(one)))
            if same is None:
                new.add(id(one))
            else:
                left.difference_update(map(id, same))
    return (
        tuple(one for one in later if id(one) in new),
        tuple(one for one in later if id(one) not in new),
        tuple(one for one in earlier if id(one) in left),
    )


def _by_trace(found: Iterable[Located]) -> dict[str, list[Located]]:
    by_trace: dict[str, list[Located]] = defaultdict(list)
    for one in found:
        by_trace[one.trace_id].append(one)
    return by_trace


def _partners(
    found: Sequence[Located], *, before: Recorded, old: Sequence[Located], after: Recorded
) -> dict[int, Located]:
    """The earlier finding that each is, by its `id`; certain ones are given away before likely ones."""
    free = list(old)
    theirs = {id(other): signature(other, before.place(other)) for other in old}
    partners: dict[int, Located] = {}
    for one in found:
        mine = signature(one, after.place(one))
        same = next((other for other in free if theirs[id(other)] == mine), None)
        if same is not None:
            partners[id(one)] = same
            free = [other for other in free if other is not same]
    for one in found:
        if id(one) not in partners and free:
            best = max(free, key=lambda other: _likeness(one, other, before, after))
            if _likeness(one, best, before, after):
                partners[id(one)] = best
                free = [other for other in free if other is not best]
    return partners


def _likeness(one: Located, other: Located, before: Recorded, after: Recorded) -> float:
    """How sure it is that these are the same, 0 when they are not."""
    if (one.finding.check is None) != (other.finding.check is None):
        return 0.0
    if one.trace_id == other.trace_id and set(one.finding.span_ids) & set(other.finding.span_ids):
        # The same spans of the same trace: a check says the same; models may call one error by two categories.
        same = kind_of(one) == kind_of(other)
        if same or (one.finding.check is None and set(one.dimensions) & set(other.dimensions)):
            return 200.0 if same else 100.0
    if kind_of(one) != kind_of(other) or place_of(after.place(one)) != place_of(before.place(other)):
        return 0.0
    if one.finding.check:
        return fuzz.ratio(words_of(one), words_of(other), score_cutoff=ALIKE_CHECK)
    texts = ((words_of(one), words_of(other)), (said(one.finding.problem), said(other.finding.problem)))
    return max(fuzz.token_sort_ratio(mine, theirs, score_cutoff=ALIKE_MODEL) for mine, theirs in texts)
