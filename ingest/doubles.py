"""One call, many spans: two instrumentations that record the same call become one step with both span ids."""

from __future__ import annotations

from collections.abc import Sequence

from gpa.ingest.agents import Node
from gpa.ingest.dialects.call import Call, Message
from gpa.ingest.history import canonical


def twins(nodes: Sequence[Node]) -> dict[int, int]:
    """For each span that repeats a call of a span around it, the index of the node that stands for both.

    Model calls and tool calls never nest in themselves, so a call directly inside a call of the same kind (wrappers
    between them aside) with the same response id, the same output, or no content of its own to tell it apart is the
    same call, seen by another library (docs/conventions.md H5). A call around *several* others is no call but a loop
    over them: its nodes are left alone.
    """
    inside: dict[int, list[int]] = {}
    around = [-1] * len(nodes)
    """Per node the index of the model or tool call around it, wrappers aside."""
    for index, node in enumerate(nodes):
        parent = node.parent
        if parent >= 0:
            kind = nodes[parent].call.kind
            around[index] = parent if kind in ("llm", "tool") else -1 if kind == "agent" else around[parent]
        outer = around[index]
        if node.call.kind in ("llm", "tool") and outer >= 0 and nodes[outer].call.kind == node.call.kind:
            inside.setdefault(outer, []).append(index)

    stands_for: dict[int, int] = {}
    for outer, inner in inside.items():
        if len(inner) == 1 and _same(nodes[outer].call, nodes[inner[0]].call):
            stands_for[inner[0]] = stands_for.get(outer, outer)
    return stands_for


def merged(outer: Call, inner: Call) -> Call:
    """The richer of two readings of one call, with what only the other one knows."""
    rich, poor = (inner, outer) if _weight(inner) > _weight(outer) else (outer, inner)
    filled = {
        field: getattr(poor, field)
        for field in ("agent", "tools", "model", "response_id", "finish_reason", "usage", "error", "output", "input")
        if not getattr(rich, field) and getattr(poor, field)
    }
    if not filled:
        return rich
    return Call(**{**{field: getattr(rich, field) for field in Call.__struct_fields__}, **filled})


def _same(outer: Call, inner: Call) -> bool:
    if outer.response_id and inner.response_id:
        return outer.response_id == inner.response_id
    if outer.kind == "tool" and outer.name and inner.name and outer.name != inner.name:
        return False
    if not outer.output or not inner.output:
        return True
    return _said(outer.output) == _said(inner.output)


def _said(messages: Sequence[Message]) -> list[str]:
    return [
        f"{m.tool_name}({canonical(m.arguments)})" if m.tool_name and m.role != "tool" else m.text.strip()
        for m in messages
    ]


def _weight(call: Call) -> int:
    """Content, then detail: how much a reading holds."""
    return sum(len(message.text) + 16 for message in (*call.input, *call.output)) + bool(call.usage)
