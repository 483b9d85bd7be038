"""What Microsoft's Agent Framework adds to the GenAI conventions: the spans of its workflows.

Its messages are read by `semconv`. Every message is recorded a second time as a log event; attributes come first in the
reading order, so it is not counted twice. AutoGen's runtime spans are told apart here too.
Facts: docs/conventions.md C10.
"""

from __future__ import annotations

from gpa.ingest.dialects.attributes import word
from gpa.ingest.dialects.call import Call
from gpa.ingest.spans import Span

_WORKFLOW = {
    "workflow.build": ("workflow.name", "workflow.id"),
    "workflow.run": ("workflow.name", "workflow.id"),
    "executor.process": ("executor.id",),
    "edge_group.process": ("edge_group.type",),
    "message.send": ("message.type",),
}


def read(span: Span) -> Call | None:
    """The step of a workflow, named after its executor or workflow; None for any other span."""
    operation, _, rest = span.name.partition(" ")
    if operation in _WORKFLOW:
        name = word(span.attributes, *_WORKFLOW[operation]) or rest
        if name or span.scope.name == "agent_framework":
            return Call(operation=operation, name=name, description=word(span.attributes, "workflow.description"))
    if operation == "autogen" and rest:
        return Call(operation=rest.partition(" ")[0], name=span.name)
    return None
