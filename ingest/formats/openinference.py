"""OpenInference attributes put back into their flat form: `llm.input_messages.0.message.role`.

Phoenix stores attributes as a tree and hands out parts of it as lists and objects. Everything that reads
OpenInference expects the flat keys the instrumentations wrote (OpenInference specification, "flattening").
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpa.ingest.spans import Attributes

_WHOLE = frozenset(
    {"metadata", "variables", "parameters", "invocation_parameters", "json_schema", "arguments", "vector", "value"}
)
"""Last parts of keys whose value is one document, never a branch (Phoenix: `JSON_STRING_ATTRIBUTES`)."""


def flatten(attributes: Attributes) -> Attributes:
    """The attributes with every object and list of objects spread over dotted, zero-based keys; unset members left out.

    The same dict when there is nothing to do. Lists of plain values stay lists.
    """
    if not any(isinstance(value, dict | list) or value is None for value in attributes.values()):
        return attributes
    return dict(_leaves(attributes))


def _leaves(attributes: Attributes) -> Iterator[tuple[str, Any]]:
    """A stack, not recursion: attributes may nest deeper than Python calls can."""
    stack: list[tuple[str, Any]] = list(reversed(attributes.items()))
    while stack:
        key, value = stack.pop()
        if value is None:
            continue
        # The GenAI conventions' lists are values, not branches.
        whole = key.rpartition(".")[2] in _WHOLE or (isinstance(value, list) and key.startswith("gen_ai."))
        if isinstance(value, dict) and value and not whole:
            stack.extend((f"{key}.{part}", inner) for part, inner in reversed(value.items()))
        elif isinstance(value, list) and not whole and any(isinstance(item, dict) for item in value):
            stack.extend((f"{key}.{index}", item) for index, item in reversed(list(enumerate(value))))
        else:
            yield key, value
