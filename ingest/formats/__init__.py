"""Every format that is read, told apart by content: `detect` asks each in turn, the most specific first."""

from __future__ import annotations

from typing import Any

from gpa.ingest.formats import (
    console,
    datadog,
    dataframe,
    flat_spans,
    jaeger,
    javascript,
    langfuse,
    langsmith,
    mlflow,
    openai_agents,
    otlp,
    otlp_json,
    parquet,
    phoenix,
    trail,
    zipkin,
)
from gpa.ingest.formats.format import Format

PARQUET = Format(
    name="parquet",
    about="Phoenix dataframe saved as parquet (needs pyarrow)",
    matches=lambda value: isinstance(value, bytes) and value.startswith(parquet.MAGIC),
    read=parquet.read_parquet,
)

FORMATS: tuple[Format, ...] = (
    otlp_json.FORMAT,
    otlp.FORMAT,
    PARQUET,
    jaeger.FORMAT,
    zipkin.FORMAT,
    console.FORMAT,
    javascript.FORMAT,
    phoenix.FORMAT,
    dataframe.FORMAT,
    trail.FORMAT,
    langfuse.FORMAT,
    langsmith.FORMAT,
    mlflow.FORMAT,
    datadog.FORMAT,
    openai_agents.FORMAT,
    flat_spans.FORMAT,  # asks least, so it comes last
)


def detect(value: Any) -> Format | None:
    """The format of a decoded JSON document, or of the bytes of a binary one; None when no format knows it."""
    for found in FORMATS:
        if found.matches(value):
            return found
    return None
