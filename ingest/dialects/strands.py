"""What Strands Agents adds to the GenAI conventions.

Its model and agent spans are read by `semconv` and `legacy_events`. Here: tool spans, whose arguments come as a
`gen_ai.tool.message` event and whose result comes as `gen_ai.choice`; and the spans of event-loop cycles, which repeat
what the model and tool spans inside them hold. Facts: docs/conventions.md C8.
"""

from __future__ import annotations

from gpa.ingest.dialects import chat
from gpa.ingest.dialects.attributes import word
from gpa.ingest.dialects.call import Call, Message
from gpa.ingest.dialects.failure import failure
from gpa.ingest.dialects.json_text import recover
from gpa.ingest.dialects.semconv import recorded_result
from gpa.ingest.spans import Span

_CYCLE = "execute_event_loop_cycle"


def read(span: Span) -> Call | None:
    """A tool call told by events, an event-loop cycle, or an agent's system prompt; None for any other span."""
    attributes = span.attributes
    if "event_loop.cycle_id" in attributes and "gen_ai.operation.name" not in attributes:
        return Call(operation=_CYCLE, name=_CYCLE)
    if attributes.get("gen_ai.operation.name") == "execute_tool" and span.events:
        return _tool(span)
    if "gen_ai.agent.tools" in attributes and "gen_ai.tool.definitions" not in attributes:
        return Call(tools=chat.tools(attributes["gen_ai.agent.tools"]))
    return None


def _tool(span: Span) -> Call | None:
    given: Message | None = None
    said: Message | None = None
    notes: tuple[str, ...] = ()
    name = word(span.attributes, "gen_ai.tool.name")
    call_id = word(span.attributes, "gen_ai.tool.call.id")
    for event in span.events:
        if event.name == "gen_ai.tool.message" and "content" in event.attributes:
            found, cut = recover(event.attributes["content"])
            given = Message("assistant", "", name, call_id, chat.arguments(found))
            notes = ("truncated: the tool's arguments were cut",) if cut else notes
        elif event.name == "gen_ai.choice" and "message" in event.attributes:
            said = Message("tool", recorded_result(event.attributes["message"]), name, call_id)
    failed = span.attributes.get("gen_ai.tool.status") == "error"
    if given is None and said is None and not failed:
        return None
    return Call(
        input=(given,) if given else (),
        output=(said,) if said else (),
        error=failure(span) or (said.text if said else "error") if failed else "",
        notes=notes,
    )
