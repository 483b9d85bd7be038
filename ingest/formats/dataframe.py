"""Rows of Phoenix's spans dataframe, from JSON Lines or parquet: columns `context.span_id`, `attributes.<key>`.

What a trip through pandas does to spans: message lists come un-flattened, whole numbers as floats with NaN or null
where a column has no value, times as milliseconds or without zone, and users stringify columns before saving, so any
cell may hold JSON text. `astype(str)` writes what is missing as a word and lists as Python shows them.
"""

from __future__ import annotations

import ast
import json
import math
import warnings
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
_COUNT = ".token_count."
_ROW_FIELDS = frozenset({"parent_id", "start_time", "end_time", "events", "links"})
_MISSING = frozenset({"None", "nan", "NaN", "NaT", "<NA>"})
"""What `astype(str)` makes of a missing value. Where people and models write, it may also be what they wrote."""
_PYTHON = ("[{'", "['", "{'")
"""How a list or dict begins as Python shows it, never as JSON."""
_LONGEST_REPR = 1 << 20
"""Characters; Python's parser takes some hundred bytes for each token of the text."""


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
    if _is_stringified(row):
        row = {column: cell for column, cell in row.items() if cell not in _MISSING}
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
        attributes=with_kind(flatten(_attributes(row, note)), row.get("span_kind")),
        events=events_of(_structure("events", row.get("events"), note)),
        links=links_of(_structure("links", row.get("links"), note)),
        resource=dict_of(_present(row.get("resource"))),
    )


def _is_stringified(row: dict[str, Any]) -> bool:
    """Whether the row went through `astype(str)`: all is text, also what nothing else makes such text of."""
    return all(isinstance(cell, str) for cell in row.values()) and any(
        _COUNT in column or (_is_typed(column) and (cell in _MISSING or cell.startswith(_PYTHON)))
        for column, cell in row.items()
    )


def _is_typed(column: str) -> bool:
    """Whether the column holds ids, times, numbers or lists, never anybody's words."""
    if column.startswith(_PREFIX):
        return _COUNT in column or column.rpartition(".")[2] in _LISTS
    return column in _ROW_FIELDS


def _attributes(row: dict[str, Any], note: Note) -> Attributes:
    found: Attributes = {}
    whole = load_json(row.get("attributes"))  # a column for all of them, in frames other than Phoenix's own
    if isinstance(whole, dict):
        found.update(whole)
    for column, cell in row.items():
        if not column.startswith(_PREFIX):
            continue
        value = _present(cell)
        key = column[len(_PREFIX) :]
        if isinstance(value, str) and ("." not in key or key.rpartition(".")[2] in _LISTS):
            value = _structure(key, value, note)
        elif _COUNT in key:
            value = _count(value)
        if value is not None:
            found[key] = value
    return found


def _structure(column: str, cell: Any, note: Note) -> Any:
    """What a cell of lists or objects holds, also as the text of JSON or of Python; None when it is missing."""
    value = load_json(_present(cell))
    if not isinstance(value, str):
        return value
    if value in _MISSING and column.rpartition(".")[2] in _LISTS | _ROW_FIELDS:
        return None
    if value.startswith(_PYTHON):
        read = _python(value)
        if read is None:
            note(f"column {column} holds a Python object as text that cannot be read back: it stays text")
        return value if read is None else read
    return value


def _python(text: str) -> Any:
    """The list or dict of plain values that Python shows so, or None."""
    if len(text) > _LONGEST_REPR:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "invalid escape sequence": the text is somebody's data
            return json.loads(json.dumps(ast.literal_eval(text)))  # JSON's types only: tuples as lists, keys as text
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _count(value: Any) -> Any:
    """A number of tokens, which pandas made a float or somebody a text, as whole as it was."""
    if isinstance(value, str):
        try:
            value = _present(float(value))  # "nan" too
        except ValueError:
            return None if value in _MISSING else value
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _present(cell: Any) -> Any:
    """The cell, or None for NaN: pandas' mark of a missing value."""
    return None if isinstance(cell, float) and math.isnan(cell) else cell


FORMAT = Format(
    name="phoenix-dataframe",
    about="Phoenix spans dataframe as JSON Lines (parquet is read too)",
    matches=_matches,
    read=_read,
)
