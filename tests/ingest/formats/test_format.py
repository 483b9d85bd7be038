"""What every format of JSON objects holds: it knows its own documents and no others, and no content makes it raise."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpa.ingest.formats import (
    detect,
    flat_spans,
)
from gpa.ingest.formats.format import Format
from gpa.ingest.formats.values import hex_id
from gpa.ingest.spans import Span
from tests.ingest.formats.examples import EXAMPLES

SPECIFIC = {format_ for format_, _ in EXAMPLES.values() if format_ is not flat_spans.FORMAT}
EVERY = pytest.mark.parametrize(("own", "value"), EXAMPLES.values(), ids=EXAMPLES)


def notes() -> list[str]:
    return []


@EVERY
def test_a_document_is_known_to_its_own_format_alone(own: Format, value: Any) -> None:
    """Flat spans are the last resort and may know others' documents, never the reverse."""
    assert own.matches(value)
    assert [other.name for other in SPECIFIC - {own} if other.matches(value)] == []


@EVERY
def test_a_document_is_detected_as_its_own_format(own: Format, value: Any) -> None:
    assert detect(value) is own


@EVERY
def test_a_well_formed_document_is_read_without_a_note(own: Format, value: Any) -> None:
    noted = notes()
    assert list(own.read(copy.deepcopy(value), noted.append))
    assert noted == []


@EVERY
def test_reading_leaves_the_document_as_it_was(own: Format, value: Any) -> None:
    before = copy.deepcopy(value)
    list(own.read(value, notes().append))
    assert value == before


@EVERY
@pytest.mark.parametrize("stranger", [None, True, 0, "text", [], {}, [[]], [None], {"data": []}, {"a": 1}], ids=repr)
def test_no_format_claims_what_says_nothing(own: Format, value: Any, stranger: Any) -> None:
    del value
    assert not own.matches(stranger)


DEEP: list[Any] = []
for _ in range(5_000):
    DEEP = [DEEP]
JUNK = [
    None,
    True,
    0,
    -1,
    1.5,
    float("nan"),
    10**40,
    "",
    "text",
    "\ud800",
    '{"a": ',
    [],
    {},
    [None],
    [[1]],
    {"a": None},
    DEEP,
]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) of a document."""
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from places(value[key])


# Places and junk are drawn as numbers: hypothesis prints what it draws, and cannot print what nests deeply.
CHANGES = st.lists(st.tuples(st.integers(0, 999), st.integers(0, len(JUNK) - 1)), min_size=1, max_size=3)


@EVERY
@settings(max_examples=80, deadline=None)
@given(changes=CHANGES)
def test_wrong_types_anywhere_never_raise(own: Format, value: Any, changes: list[tuple[int, int]]) -> None:
    broken = copy.deepcopy(value)
    for place, junk in changes:
        found = list(places(broken))
        container, key = found[place % len(found)]
        container[key] = JUNK[junk] if JUNK[junk] is DEEP else copy.deepcopy(JUNK[junk])
        if JUNK[junk] is DEEP:
            break
    if not own.matches(broken):
        return
    for read in own.read(broken, notes().append):
        assert hex_id(read.trace_id, 32) == read.trace_id
        assert hex_id(read.span_id, 16) == read.span_id
        if isinstance(read, Span):
            assert read.parent_id is None or hex_id(read.parent_id, 16) == read.parent_id
            assert 0 <= read.start_ns < 2**64
            assert all(isinstance(text, str) for text in (read.name, read.kind, read.status_message, read.scope.name))
            assert read.status in {"unset", "ok", "error"}
            mappings: list[object] = [read.attributes, read.resource, *(event.attributes for event in read.events)]
            assert all(isinstance(mapping, dict) for mapping in mappings)
