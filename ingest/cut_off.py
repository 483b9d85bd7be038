"""A JSON document that was cut off -> the part of it that is whole, as a document.

A crash, a full disk or a copy of a file still being written cuts the last export batch anywhere. The spans before
the cut are whole; the one at the cut is left out, because half a span would pass for a short one.
"""

from __future__ import annotations

import re

# The look-ahead: before Python 3.11.4 a possessive group that fails half-way loses its place (gh-100061).
_TOKEN = re.compile(rb'"(?:[^"\\\n]++|(?=\\[^\n])(?s:..))*+"|[\[\]{}]')
_LISTS = frozenset(
    f'"{key}"'.encode()
    for key in (
        *("resourceSpans", "resource_spans", "batches", "resourceLogs", "resource_logs"),
        *("scopeSpans", "scope_spans", "instrumentationLibrarySpans", "scopeLogs", "scope_logs"),
        *("spans", "logRecords", "log_records", "child_spans"),
        *("data", "observations", "runs", "post", "patch"),
    )
)
"""Keys of lists whose elements mean something without the ones after them."""
_WRAPPERS = frozenset({b'"result"', b'"trace"', b'"data"'})
"""Keys of objects, at the top, that hold such lists."""
_OPEN_LIST = 0x5B
_CLOSERS = {0x7B: b"}", _OPEN_LIST: b"]"}


def whole_part(data: bytes) -> bytes | None:
    """The document up to its last whole element, closed; None when there is no whole element in a list of spans."""
    # Of each open bracket: which it is, whether it holds spans (or lists of them), where its last whole element ends.
    kinds: list[int] = []
    holds: list[bool] = []
    ends: list[int] = []
    key, key_end = b"", 0
    for token in _TOKEN.finditer(data):
        first = data[token.start()]
        if first in _CLOSERS:
            named = key if key and data[key_end : token.start()].strip() == b":" else b""
            kinds.append(first)
            holds.append(_holds(first, named, kinds, holds))
            ends.append(0)
        elif first == 0x22:
            key, key_end = token.group(), token.end()
            continue
        elif kinds:
            kinds.pop(), holds.pop(), ends.pop()
            if ends:
                ends[-1] = token.end()
        key = b""
    for depth in reversed(range(len(kinds))):
        if kinds[depth] == _OPEN_LIST and holds[depth] and ends[depth]:
            return data[: ends[depth]] + b"".join(_CLOSERS[kind] for kind in reversed(kinds[: depth + 1]))
    return None


def _holds(kind: int, named: bytes, kinds: list[int], holds: list[bool]) -> bool:
    """Whether the bracket opened last holds spans, or lists of them, in its turn."""
    if len(kinds) == 1:
        return True  # the document itself
    if not holds[-1]:
        return False
    if kinds[-2] == _OPEN_LIST:
        return kind != _OPEN_LIST or len(kinds) == 2  # an element; Zipkin has lists in its list
    return named in (_LISTS if kind == _OPEN_LIST else _WRAPPERS) and (kind == _OPEN_LIST or len(kinds) == 2)
