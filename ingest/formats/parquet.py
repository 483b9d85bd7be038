"""Phoenix's spans dataframe saved as parquet. The only module that imports pyarrow, and only when it is used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gpa.errors import FormatError, InputError
from gpa.ingest.formats.dataframe import row_span
from gpa.ingest.formats.format import Note
from gpa.ingest.spans import Span

if TYPE_CHECKING:
    import pyarrow as pa

MAGIC = b"PAR1"
"""The first four bytes of a parquet file."""
_BATCH_ROWS = 256
"""Rows held at once: one row of an LLM span may hold a megabyte."""


def read_parquet(data: bytes, note: Note) -> Iterator[Span]:
    """Yields the span of each row, a batch of rows at a time.

    Raises:
        InputError: pyarrow is not installed.
        FormatError: the bytes are no parquet file, or it has no column `context.trace_id`.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        message = "parquet needs pyarrow: pip install 'agent-gpa[parquet]'"
        raise InputError(message) from error
    try:
        file = parquet.ParquetFile(pa.BufferReader(data))
        columns = file.schema_arrow.names
    except (pa.ArrowException, OSError) as error:
        message = f"not a readable parquet file: {_first_line(error)}"
        raise FormatError(message) from error
    if "context.trace_id" not in columns:
        message = f"expected a Phoenix spans dataframe with a column 'context.trace_id', found {columns[:8]}"
        raise FormatError(message)
    try:
        for batch in file.iter_batches(batch_size=_BATCH_ROWS):
            for row in _rows(batch):
                span = row_span(row, note)
                if span is not None:
                    yield span
    except (pa.ArrowException, OSError) as error:
        message = f"parquet file broken after its header: {_first_line(error)}"
        raise FormatError(message) from error


def _rows(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """Rows as dicts. Times become integers first: Python's datetime cannot hold their nanoseconds."""
    import pyarrow as pa

    columns: dict[str, list[Any]] = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.timestamp("ns", column.type.tz)).cast(pa.int64())  # noqa: PLW2901
        columns[name] = column.to_pylist()
    for index in range(batch.num_rows):
        yield {name: cells[index] for name, cells in columns.items()}


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]
