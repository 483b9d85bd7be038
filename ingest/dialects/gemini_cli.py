"""Gemini CLI: GenAI attributes whose content is what the program passed around.

A tool span's input is the scheduler's request and its output the completed call; older versions write both to
`input-json` and `output-json`. Facts: docs/conventions.md C14.
"""

from __future__ import annotations

from typing import Any

from gpa.ingest.dialects import chat
from gpa.ingest.dialects.attributes import word
from gpa.ingest.dialects.call import Call, Message
from gpa.ingest.dialects.json_text import recover
from gpa.ingest.dialects.semconv import INPUT, OUTPUT
from gpa.ingest.spans import Span


def read(span: Span) -> Call | None:
    """The call of a Gemini CLI span as far as it differs from the conventions, or None."""
    if not span.scope.name.startswith("gemini-cli"):
        return None
    attributes = span.attributes
    given, cut = recover(attributes.get(INPUT, attributes.get("input-json")))
    said, cut_too = recover(attributes.get(OUTPUT, attributes.get("output-json")))
    notes = ("truncated: the recorded input or output was cut",) if cut or cut_too else ()
    if attributes.get("gen_ai.operation.name") == "tool_call" or (isinstance(given, dict) and "callId" in given):
        return _tool(span, given, said, notes)
    if "input-json" not in attributes and "output-json" not in attributes:
        return None
    return Call(input=chat.messages(given), output=chat.messages(said, "assistant"), notes=notes)


def _tool(span: Span, given: Any, said: Any, notes: tuple[str, ...]) -> Call:
    request = given if isinstance(given, dict) else {}
    name = word(span.attributes, "gen_ai.tool.name") or word(request, "name")
    call_id = word(span.attributes, "gen_ai.tool.call_id", "gen_ai.tool.call.id") or word(request, "callId")
    error = ""
    if isinstance(said, dict) and isinstance(response := said.get("response"), dict):
        failed = said.get("status") == "error"
        said = response.get("responseParts", response)
        told = chat.messages(said, "tool")
        result = "\n".join(message.text for message in told)
        error = result if failed else ""
    else:
        result = chat.result_text(said)
    return Call(
        kind="tool",
        operation="tool_call",
        name=name,
        input=(Message("assistant", "", name, call_id, chat.arguments(request.get("args", given))),),
        output=(Message("tool", result, name, call_id),) if said is not None else (),
        error=error,
        hidden=given is None and said is None,
        notes=notes,
    )
