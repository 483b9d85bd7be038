"""What the tests of OpenInference build spans and messages with."""

from __future__ import annotations

from typing import Any

from gpa.ingest.dialects.call import Call
from gpa.ingest.dialects.openinference import read
from gpa.ingest.spans import Span

KIND = "openinference.span.kind"
IN, OUT = "llm.input_messages", "llm.output_messages"


def reading(attributes: dict[str, Any], name: str = "span", **rest: Any) -> Call:
    """What an OpenInference span of these attributes says."""
    found = read(Span("t", "s", name=name, attributes=attributes, **rest))
    assert found is not None
    return found
