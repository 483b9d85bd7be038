"""The OpenTelemetry GenAI conventions, every version from 1.27 to the genai repository of 2026.

Content is on attributes, or on events `gen_ai.client.inference.operation.details` (span events, or log records joined
to the span), as structured values or as JSON text. The per-message events of 1.28-1.36 are read in `legacy_events`.
Facts: docs/conventions.md C1.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from gpa.ingest.dialects import chat
from gpa.ingest.dialects.attributes import count, text, word
from gpa.ingest.dialects.call import Call, Kind, Message, Tool, Usage
from gpa.ingest.dialects.failure import failure
from gpa.ingest.dialects.json_text import recover, structure, unquoted
from gpa.ingest.dialects.langchain import tool_message, unwrapped_input
from gpa.ingest.spans import Attributes, Span

DETAILS = "gen_ai.client.inference.operation.details"
INPUT, OUTPUT, SYSTEM = "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions"

_OPERATIONS: dict[str, Kind] = {
    **dict.fromkeys(("chat", "generate_content", "text_completion", "completion", "responses", "llm_call"), "llm"),
    **dict.fromkeys(("invoke_agent", "agent_call"), "agent"),
    **dict.fromkeys(("execute_tool", "tool_call", "tools/call"), "tool"),
    **dict.fromkeys(("retrieval", "embeddings", "embedding", "rerank"), "retrieval"),
    **dict.fromkeys(("search_memory", "create_memory", "update_memory", "upsert_memory", "delete_memory"), "retrieval"),
    **dict.fromkeys(("create_memory_store", "delete_memory_store"), "retrieval"),
}
_TELLTALE = frozenset(
    (
        *("gen_ai.operation.name", "gen_ai.request.model", "gen_ai.provider.name", "gen_ai.system", "gen_ai.tool.name"),
        *("gen_ai.agent.name", "gen_ai.tool.call.id", "gen_ai.response.model", INPUT, OUTPUT),
    )
)
_USAGE = {
    "gen_ai.usage.input_tokens": "input_tokens",
    "gen_ai.usage.output_tokens": "output_tokens",
    "gen_ai.usage.cache_read.input_tokens": "cached_tokens",
    "gen_ai.usage.cache_write.input_tokens": "cache_write_tokens",
    "gen_ai.usage.reasoning.output_tokens": "reasoning_tokens",
    # before 1.27
    "gen_ai.usage.prompt_tokens": "input_tokens",
    "gen_ai.usage.completion_tokens": "output_tokens",
    # before the genai repository
    "gen_ai.usage.cache_creation.input_tokens": "cache_write_tokens",
    # OpenLLMetry, Strands, pydantic-ai
    "gen_ai.usage.cache_read_input_tokens": "cached_tokens",
    "gen_ai.usage.cache_creation_input_tokens": "cache_write_tokens",
    "gen_ai.usage.cache_write_input_tokens": "cache_write_tokens",
    "gen_ai.usage.reasoning_tokens": "reasoning_tokens",
    "gen_ai.usage.details.cache_read_tokens": "cached_tokens",
    "gen_ai.usage.details.cache_write_tokens": "cache_write_tokens",
    "gen_ai.usage.details.reasoning_tokens": "reasoning_tokens",
}
_NEWEST = frozenset(list(_USAGE)[:5])
"""Names that win over older ones of the same count beside them."""


def read(span: Span) -> Call | None:
    """The call a GenAI span records, or None when the span has neither its attributes nor its content event."""
    attributes = span.attributes
    found = _details(span) if span.events else None
    if found is None:
        if attributes.keys().isdisjoint(_TELLTALE):
            return None
        found = attributes
    elif attributes:
        found = {**found, **attributes}
    operation = found.get("gen_ai.operation.name")
    if not isinstance(operation, str):
        operation = ""
    kind = _OPERATIONS.get(operation) or _guess(found, operation)
    model = word(found, "gen_ai.request.model", "gen_ai.response.model")
    notes: list[str] = []
    error = ""
    if kind == "tool":
        name = word(found, "gen_ai.tool.name") or span.name.removeprefix("execute_tool ")
        given, said, error = _tool(found, name, notes)
        hidden = not said and given[0].arguments is None
    else:
        given, said = _content(kind, found, notes)
        hidden = kind in {"llm", "agent"} and not _is_shown(given) and not _is_shown(said)
        name = model if kind == "llm" else _name(kind, operation, found)
    get = found.get
    agent, agent_id = get("gen_ai.agent.name"), get("gen_ai.agent.id")
    if agent.__class__ is not str or (agent == "OpenAI Agent" and agent_id == "agent"):
        agent = agent_id = ""  # opentelemetry-instrumentation-openai-agents-v2 writes this on every span
    if kind == "agent" and not agent:
        agent = span.name.removeprefix(f"{operation} ")
    definitions = get("gen_ai.tool.definitions")
    if get("gen_ai.conversation.compacted") is True:
        notes.append("the conversation sent was compacted by the provider")
    return Call(
        kind=kind,
        operation=operation,
        name=name or (agent if kind == "agent" else ""),
        agent=agent,
        agent_id=agent_id if agent_id.__class__ is str else "",
        description=word(found, "gen_ai.tool.description" if kind == "tool" else "gen_ai.agent.description"),
        input=given,
        output=said,
        tools=_tools(definitions, notes) if definitions is not None else (),
        model=model,
        response_id=word(found, "gen_ai.response.id"),
        finish_reason=finish_reason(found) if kind == "llm" else "",
        conversation_id=word(found, "gen_ai.conversation.id"),
        usage=usage(found) if kind in {"llm", "retrieval"} else None,
        error=_error(span, found) or error
        if span.status == "error" or span.events or error or "error.type" in found
        else "",
        delta="gen_ai.request.previous_response.id" in found,
        hidden=hidden,
        notes=tuple(notes),
    )


def _details(span: Span) -> Attributes | None:
    """The union of the attributes of all content events of the span (their bodies included), or None without one."""
    union: Attributes | None = None
    for event in span.events:
        if event.name == DETAILS or event.attributes.get("event.name") == DETAILS:
            union = {} if union is None else union
            if isinstance(event.body, dict):
                union |= event.body
            union |= event.attributes
    return union


def _guess(found: Attributes, operation: str) -> Kind:
    """The kind of a span whose operation is absent (before 1.31, agents and tools had none); unknown ones are other."""
    if operation:
        return "other"
    if "gen_ai.tool.name" in found or "gen_ai.tool.call.id" in found:
        return "tool"
    if "gen_ai.request.model" in found or "gen_ai.response.model" in found:
        return "llm"
    return "llm" if OUTPUT in found else "other"


def _name(kind: Kind, operation: str, found: Attributes) -> str:
    if operation == "invoke_workflow":
        return word(found, "gen_ai.workflow.name")
    if kind == "retrieval":
        return word(found, "gen_ai.data_source.id", "gen_ai.memory.store.name", "gen_ai.request.model")
    return ""


# Content -------------------------------------------------------------------------------------------------------------


def _content(kind: Kind, found: Attributes, notes: list[str]) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    given, said = found.get(INPUT), found.get(OUTPUT)
    system = found.get(SYSTEM)
    incoming = conversation(given, "user", notes) if given is not None else ()
    if system is not None:
        instructions = conversation(system, "system", notes)
        # The OpenAI Agents instrumentation writes the same text as instructions and as the first message.
        if incoming[: len(instructions)] != instructions:
            incoming = instructions + incoming
    outgoing = conversation(said, "assistant", notes) if said is not None else ()
    if kind == "retrieval":
        query = found.get("gen_ai.retrieval.query.text", found.get("gen_ai.memory.query.text"))
        if query is not None and not incoming:
            incoming = (Message("user", text(query)),)
        if not outgoing:
            outgoing = _documents(found.get("gen_ai.retrieval.documents", found.get("gen_ai.memory.records")), notes)
    return incoming, outgoing


def _is_shown(messages: tuple[Message, ...]) -> bool:
    """Whether anything is said; with content switched off some producers still record bare calls (pydantic-ai)."""
    for message in messages:  # noqa: SIM110 - three times as fast as any(), for every span
        if message.text or message.arguments is not None:
            return True
    return False


def conversation(value: Any, role: str, notes: list[str]) -> tuple[Message, ...]:
    """The messages of a content attribute, structured or as JSON text, as far as a cut text still holds them."""
    if value.__class__ is str:
        recorded = value
        value, cut = recover(recorded)
        if cut:
            found = chat.messages(value, role)
            if not found:  # a text that only begins like JSON
                return (Message(role, recorded),)
            notes.append("truncated: a message attribute was cut, what stood before the cut is shown")
            return found
    if value.__class__ is list and value and value[0].__class__ is dict and "parts" in value[0]:
        return _conversation(value, role)
    return chat.messages(value, role)


def _conversation(entries: list[Any], role: str) -> tuple[Message, ...]:
    """The parts of a list of messages.

    A conversation is repeated in every call, so this is the hot path of ingestion: the messages nearly all of them
    consist of are read without detours, unusual ones through `chat`.
    """
    out: list[Message] = []
    for entry in entries:
        start = len(out)
        if not _read_plain(entry, out):
            del out[start:]
            chat.append(entry, role, out)
    return tuple(out)


def _read_plain(entry: Any, out: list[Message]) -> bool:
    """Append a message of text, calls and results; False, with `out` in between, when there is anything else in it."""
    try:
        speaker = chat.ROLES[entry["role"]]
        for part in entry["parts"]:
            kind = part["type"]
            if kind == "text":
                content = part["content"]
                if content.__class__ is not str or speaker == "tool":
                    return False
                if content:
                    out.append(Message(speaker, content))
            elif kind == "tool_call":
                name, call_id = part["name"], part["id"]
                if name.__class__ is not str or call_id.__class__ is not str:
                    return False
                out.append(Message("assistant", "", name, call_id, chat.arguments(part["arguments"])))
            elif kind == "tool_call_response":
                call_id = part["id"]
                result = part["response"] if "response" in part else part["result"]
                if result.__class__ is not str or call_id.__class__ is not str or len(part) > 3:
                    return False
                out.append(Message("tool", result, "", call_id))
            else:
                return False
    except (KeyError, TypeError):
        return False
    return True


def _tool(found: Attributes, name: str, notes: list[str]) -> tuple[tuple[Message, ...], tuple[Message, ...], str]:
    """A tool's call, its result and its error: from the attributes of 1.38, else from messages (Strands)."""
    call_id = word(found, "gen_ai.tool.call.id", "gen_ai.tool.call_id")
    given = chat.arguments(found.get("gen_ai.tool.call.arguments", found.get("gen_ai.tool.arguments")))
    result = found.get("gen_ai.tool.call.result", found.get("gen_ai.tool.result"))
    if given is None and INPUT in found:
        call = next((message for message in conversation(found[INPUT], "user", notes) if message.tool_name), None)
        given = call.arguments if call else chat.arguments(found[INPUT])
    if isinstance(given, dict) and "kwargs" in given:  # OpenLLMetry writes LangChain's whole callback
        if not call_id and isinstance(kwargs := given["kwargs"], dict):
            call_id = word(kwargs, "tool_call_id")
        given = chat.arguments(unwrapped_input(given))
    if result is None and OUTPUT in found:
        result = "\n".join(message.text for message in conversation(found[OUTPUT], "tool", notes))
    said: tuple[Message, ...] = ()
    error = ""
    if result is not None:
        dumped = tool_message(structure(result))
        answer = dumped.text if dumped else recorded_result(result)
        call_id = call_id or (dumped.call_id if dumped else "")
        error = answer if dumped and dumped.failed else ""
        said = (Message("tool", answer, name, call_id),)
    return (Message("assistant", "", name, call_id, given),), said, error


def recorded_result(value: Any) -> str:
    """A tool's result as text. JSON text that is plain data stays as recorded, content blocks in it are unwrapped."""
    if not isinstance(value, str):
        return chat.result_text(value)
    recorded = unquoted(value)
    inner = structure(recorded)
    if inner is recorded or not isinstance(inner, dict | list):
        return recorded
    unwrapped = chat.result_text(inner)
    return recorded if unwrapped == text(inner) else unwrapped


def _documents(value: Any, notes: list[str]) -> tuple[Message, ...]:
    documents, cut = recover(value)
    if cut:
        notes.append("truncated: the retrieved documents were cut")
    if documents is None:
        return ()
    if not isinstance(documents, list):
        documents = [documents]
    return tuple(Message("tool", chat.result_text(document)) for document in documents)


def _tools(value: Any, notes: list[str]) -> tuple[Tool, ...]:
    if isinstance(value, str):
        found, cut = _definitions(value)
        if cut:
            notes.append("truncated: the tool definitions were cut")
        return found
    return chat.tools(value)


@lru_cache(maxsize=16)
def _definitions(recorded: str) -> tuple[tuple[Tool, ...], bool]:
    """Definitions are repeated word for word in every call of an agent, so the last few are remembered."""
    value, cut = recover(recorded)
    return chat.tools(value), cut


# The rest ------------------------------------------------------------------------------------------------------------


def finish_reason(found: Attributes) -> str:
    """Why the model stopped: a list, its JSON text (MS Agent Framework) or a word; several choices joined by commas."""
    reasons = found.get("gen_ai.response.finish_reasons", found.get("gen_ai.response.finish_reason"))
    if reasons.__class__ is str:
        reasons = structure(reasons)
    if isinstance(reasons, list):
        if len(reasons) == 1 and reasons[0].__class__ is str:
            return reasons[0]
        return ",".join(dict.fromkeys(reason for reason in reasons if isinstance(reason, str)))
    if isinstance(reasons, str):
        return reasons
    said = structure(found.get(OUTPUT)) if reasons is None and OUTPUT in found else None
    if isinstance(said, list) and said and isinstance(said[-1], dict):
        return word(said[-1], "finish_reason")
    return ""


def usage(found: Attributes) -> Usage | None:
    """The token counts, under their new and old names; None when there are none."""
    counts: dict[str, int] = {}
    for name in found:
        field = _USAGE.get(name)
        if field is not None and (field not in counts or name in _NEWEST):
            counts[field] = count(found[name])
    return Usage(**counts) if counts else None


def _error(span: Span, found: Attributes) -> str:
    told = failure(span)
    if told:
        return told
    for event in span.events:
        if event.name == "gen_ai.client.operation.exception":
            return ": ".join(
                filter(None, (word(event.attributes, "exception.type"), word(event.attributes, "exception.message")))
            )
    return word(found, "error.type") and (
        word(found, "error.message", "exception.message") or word(found, "error.type")
    )
