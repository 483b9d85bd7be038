"""Rows of Phoenix's spans dataframe, from JSON Lines or parquet: columns `context.span_id`, `attributes.<key>`.

What a trip through pandas does to spans: message lists come un-flattened, whole numbers as floats with NaN or null
where a column has no value, times as milliseconds or without zone, and users stringify columns before saving, so any
cell may hold JSON text.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from gpa.ingest.formats.format import Format, Note
from gpa.ingest.formats.openinference import flatten
from gpa.ingest.formats.parts import events_of, links_of
from gpa.ingest.formats.phoenix import with_kind
from gpa.ingest.formats.values import (
    SPAN_DIGITS,
    TRACE_DIGITS,
    derived_id,
    dict_of,
    epoch_ns,
    hex_id,
    load_json,
    shown,
    status_of,
    text_of,
)
from gpa.ingest.spans import Attributes, Span

_PREFIX = "attributes."
_INDEX = "__index_level_0__"
"""The column parquet gives to an index without a name: Phoenix indexes spans by span id."""
_LISTS = frozenset(
    {"input_messages", "output_messages", "tools", "documents", "input_documents", "output_documents"}
    | {"embeddings", "prompts", "choices", "tags", "annotations", "evaluations"}
)
"""Last parts of attributes that OpenInference defines as lists: their text is JSON someone made of the list."""


def _matches(value: Any) -> bool:
    if isinstance(value, list):
        value = value[0] if value else None
    return isinstance(value, dict) and ("context.span_id" in value or "context.trace_id" in value)


def _read(value: Any, note: Note) -> Iterator[Span]:
    for row in value if isinstance(value, list) else [value]:
        if not isinstance(row, dict):
            note(f"skipped an entry of type {type(row).__name__} among the rows (expected an object)")
            continue
        span = row_span(row, note)
        if span is not None:
            yield span


def row_span(row: dict[str, Any], note: Note) -> Span | None:
    """The span of one row, or None, with a note, when it names no trace."""
    trace_id = hex_id(row.get("context.trace_id"), TRACE_DIGITS)
    if trace_id is None:
        note(f"skipped row {shown(row.get('name'))}: context.trace_id is missing or not hex")
        return None
    span_id = hex_id(row.get("context.span_id"), SPAN_DIGITS) or hex_id(row.get(_INDEX), SPAN_DIGITS)
    if span_id is None:  # pandas drops the index, which is the span id, in `to_json(orient="records")`
        note("a row has no context.span_id (the dataframe was saved without its index): its children cannot be found")
        span_id = derived_id(SPAN_DIGITS, trace_id, row.get("name"), row.get("start_time"), row.get("end_time"))
    return Span(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=hex_id(row.get("parent_id"), SPAN_DIGITS),
        name=text_of(row.get("name")),
        start_ns=epoch_ns(row.get("start_time")),
        end_ns=epoch_ns(row.get("end_time")),
        status=status_of(row.get("status_code")),
        status_message=text_of(_present(row.get("status_message"))),
        attributes=with_kind(flatten(_attributes(row)), row.get("span_kind")),
        events=events_of(_present(row.get("events"))),
        links=links_of(_present(row.get("links"))),
        resource=dict_of(_present(row.get("resource"))),
    )


def _attributes(row: dict[str, Any]) -> Attributes:
    found: Attributes = {}
    whole = load_json(row.get("attributes"))  # a column for all of them, in frames other than Phoenix's own
    if isinstance(whole, dict):
        found.update(whole)
    for column, cell in row.items():
        if not column.startswith(_PREFIX):
            continue
        value = _present(cell)
        if value is None:
            continue
        key = column[len(_PREFIX) :]
        if isinstance(value, str) and ("." not in key or key.rpartition(".")[2] in _LISTS):
            value = load_json(value)
        elif isinstance(value, float) and value.is_integer() and ".token_count." in key:
            value = int(value)
        found[key] = value
    return found


def _present(cell: Any) -> Any:
    """The cell, or None for NaN: pandas' mark of a missing value."""
    return None if isinstance(cell, float) and math.isnan(cell) else cell


FORMAT = Format(
    name="phoenix-dataframe",
    about="Phoenix spans dataframe as JSON Lines (parquet is read too)",
    matches=_matches,
    read=_read,
)
