"""Attribute values as no producer should write them, for laws that say nothing raises."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.binary(max_size=3)
_NESTED = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)
_TEXTS = st.sampled_from(
    [
        *("{", "[1", '"text"', "null", "NaN", "{'a': 1}", '{"args": [], "kwargs": {}}', '{"task": 3}', "__REDACTED__"),
        *('{"messages": [null, {"role": 3}]}', '[{"message.role": 3}]', '{"choices": [3]}', '{"generations": [[[]]]}'),
        *("[" * 1_500, '{"a":' * 1_500, '{"output": ' * 50 + "1" + "}" * 50, '{"prompts": ["AI: x\nHuman: y"]}'),
        *(
            '{"messages": [{"role": "user", "content": "cut',
            '{"inputs": {"x": 1}}',
            '{"update": {"messages": 3}, "graph": null}',
        ),
    ]
)


def attributes(*keys: str) -> st.SearchStrategy[dict[str, Any]]:
    """Some of these attributes with arbitrary values."""
    return st.dictionaries(st.sampled_from(keys), _NESTED | _TEXTS, max_size=len(keys))
