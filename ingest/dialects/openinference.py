"""OpenInference spans: Phoenix, smolagents, LangChain, OpenAI Agents, CrewAI and thirty more.

Lists are flattened into numbered keys (`gpa.ingest.dialects.flat`). Model calls are read from their flat messages
(`openinference_llm`); all other spans from `input.value` and `output.value`. Facts: docs/conventions.md C4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpa.ingest.dialects import chat, smolagents
from gpa.ingest.dialects.attributes import word
from gpa.ingest.dialects.call import Call, Kind, Message, Tool
from gpa.ingest.dialects.failure import failure
from gpa.ingest.dialects.flat import Columns, Fields, flatten, in_order, items, nested
from gpa.ingest.dialects.json_text import structure
from gpa.ingest.dialects.langchain import origin
from gpa.ingest.dialects.openinference_llm import SAID, SENT, flat_lists, model, model_call, offered, usage
from gpa.ingest.dialects.openinference_messages import REDACTED, messages
from gpa.ingest.dialects.payload import CUT, answer, conversation, document, documents, is_cut, passage, tool_exchange
from gpa.ingest.spans import Span

_KINDS: dict[str, Kind] = {
    "LLM": "llm",
    "AGENT": "agent",
    "TOOL": "tool",
    "RETRIEVER": "retrieval",
    "RERANKER": "retrieval",
    "EMBEDDING": "retrieval",
}
_TELLTALE = frozenset(
    (
        "input.value",
        "output.value",
        "llm.model_name",
        "llm.token_count.prompt",
        "llm.input_messages",
        "openinference",
        "llm",
    )
)
_NESTED = (
    "llm",
    "openinference",
    "input",
    "output",
    "tool",
    "agent",
    "graph",
    "retrieval",
    "session",
    "reranker",
    "embedding",
)
_AGENT_SUFFIXES = (".run", ".arun", "._execute_core", ".query", ".kickoff")
_DOCUMENTS = ("retrieval.documents", "reranker.output_documents", "embedding.embeddings")
_QUERIES = ("reranker.query", "embedding.text")


def read(span: Span) -> Call | None:
    """The call an OpenInference span records, or None for a span of another convention."""
    attributes = span.attributes
    recorded = attributes.get("openinference.span.kind")
    if recorded is None:
        if not span.scope.name.startswith("openinference.") and attributes.keys().isdisjoint(_TELLTALE):
            return None
        if any(isinstance(attributes.get(key), dict) for key in _NESTED):
            attributes = _unnested(attributes)
            recorded = attributes.get("openinference.span.kind")
    operation = recorded.upper() if isinstance(recorded, str) else _guess(attributes)
    kind = _KINDS.get(operation, "other")
    if kind == "llm":
        return model_call(span, attributes, operation)
    if kind == "tool":
        return _tool_call(span, attributes, operation)
    if kind == "retrieval":
        return _retrieval(span, attributes, operation)
    return _wrapper(span, attributes, operation)


def _unnested(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes whose namespaces some backend turned into objects, dotted again."""
    dotted = dict(attributes)
    for key in _NESTED:
        if isinstance(inner := attributes.get(key), dict):
            del dotted[key]
            dotted |= {f"{key}.{name}": value for name, value in flatten(inner)}
    return dotted


def _guess(attributes: Mapping[str, Any]) -> str:
    """The kind of a span that lost it to the attribute limit: the oldest goes first (docs/conventions.md H7)."""
    if "tool.name" in attributes:
        return "TOOL"
    if "llm.model_name" in attributes or "llm.token_count.prompt" in attributes or "llm.input_messages" in attributes:
        return "LLM"
    return "LLM" if any(key.startswith("llm.input_messages.") for key in attributes) else ""


def _tool_call(span: Span, attributes: Mapping[str, Any], operation: str) -> Call:
    name = word(attributes, "tool.name") or span.name
    call_id = word(attributes, "tool.id", "tool_call.id", "message.tool_call_id")
    given, returned = attributes.get("input.value"), attributes.get("output.value")
    definition = _definition(attributes, name, given)
    hidden = REDACTED in (given, returned) or (given is None and returned is None)
    if given is None and definition is None:
        given = structure(attributes.get("tool.parameters"))
    parameters = definition.parameters if definition else None
    sent, said, error = tool_exchange(name, given, returned, call_id=call_id, parameters=parameters)
    run = origin(attributes, "metadata")
    if "tool.name" not in attributes and span.name.startswith("handoff to "):
        operation = "handoff"
    return Call(
        kind="tool",
        operation=operation,
        name=name,
        agent=word(attributes, "agent.name") or run.agent,
        description=word(attributes, "tool.description"),
        input=() if given == REDACTED else sent,
        output=() if returned == REDACTED else said,
        tools=(definition,) if definition else (),
        conversation_id=word(attributes, "session.id") or run.thread,
        error=failure(span) or error,
        hidden=hidden,
        notes=(CUT,) if is_cut(given) else (),
    )


def _definition(attributes: Mapping[str, Any], name: str, given: object) -> Tool | None:
    """The tool's own definition. `tool.parameters` is meant to be its schema; some put the call's arguments there."""
    if schema := attributes.get("tool.json_schema"):
        found = chat.tools([schema])
        if found and found[0].parameters:
            return found[0]
    recorded = attributes.get("tool.parameters")
    if recorded is None:
        recorded = nested(attributes, "tool.parameters")
    parameters = structure(recorded)
    if not isinstance(parameters, dict) or not parameters or parameters == structure(given):
        return None
    description = word(attributes, "tool.description")
    if isinstance(parameters.get("properties"), dict) or parameters.get("type") == "object":
        return Tool(name, description, parameters)
    if all(isinstance(value, dict) and ("type" in value or "description" in value) for value in parameters.values()):
        return Tool(name, description, smolagents.schema(parameters))
    return None


def _retrieval(span: Span, attributes: Mapping[str, Any], operation: str) -> Call:
    found = flat_lists(attributes)
    asked = next((value for key in ("input.value", *_QUERIES) if (value := attributes.get(key)) is not None), None)
    found_documents: list[Message] = []
    for prefix in _DOCUMENTS:
        listed = in_order(items(found, prefix))
        found_documents += [Message("tool", said) for fields in listed if (said := document(_plain(fields)))]
        if found_documents:
            break
    if operation == "EMBEDDING":
        asked = "\n".join(message.text for message in found_documents) if asked is None else asked
        found_documents = []
    run = origin(attributes, "metadata")
    return Call(
        kind="retrieval",
        operation=operation,
        name=span.name,
        agent=word(attributes, "agent.name") or run.agent,
        input=passage(asked, "user") if asked != REDACTED else (),
        output=tuple(found_documents) or (_returned(attributes) if operation != "EMBEDDING" else ()),
        model=model(attributes),
        conversation_id=word(attributes, "session.id") or run.thread,
        usage=usage(attributes),
        error=failure(span),
        hidden=asked == REDACTED,
    )


def _wrapper(span: Span, attributes: Mapping[str, Any], operation: str) -> Call:
    """Agents, chains, guardrails, evaluators: they repeat what their children hold, so little is taken apart."""
    run = origin(attributes, "metadata")
    agent = _agent(span, attributes, operation) or (run.agent or span.name if run.is_agent(span.name) else "")
    given, returned = attributes.get("input.value"), attributes.get("output.value")
    tools: tuple[Tool, ...] = ()
    if smolagents.is_memory_step(given):
        given = None
    if agent:
        found = flat_lists(attributes)
        tools = smolagents.offered(attributes, found) or offered(found)
        sent = smolagents.task(attributes, given) or conversation(given, "user") or _flat(found, SENT, "user")
        said = _flat(found, SAID, "assistant") or answer(returned)
    else:
        sent, said = conversation(given, "user"), conversation(returned, "assistant")
    return Call(
        kind="agent" if agent else "other",
        operation=operation,
        name=agent or span.name,
        agent=agent or word(attributes, "agent.name") or run.agent,
        input=() if given == REDACTED else sent,
        output=() if returned == REDACTED else said,
        tools=tools,
        model=model(attributes),
        conversation_id=word(attributes, "session.id") or run.thread,
        error=failure(span),
        hidden=REDACTED in (given, returned),
    )


def _flat(found: Columns, prefix: str, role: str) -> tuple[Message, ...]:
    return tuple(messages(found, prefix, role))


def _returned(attributes: Mapping[str, Any]) -> tuple[Message, ...]:
    value = attributes.get("output.value")
    return () if value == REDACTED else documents(value)


def _plain(fields: Fields) -> Fields:
    """`document.content` as `content`."""
    return {
        key.partition(".")[2]: value for key, value in fields.items() if key.startswith(("document.", "embedding."))
    }


def _agent(span: Span, attributes: Mapping[str, Any], operation: str) -> str:
    """The name of the agent an AGENT span is, or "" (docs/conventions.md R3)."""
    if operation != "AGENT":
        return ""
    if name := word(attributes, "agent.name", "graph.node.id", "graph.node.name", "agent_name"):
        return name
    if span.scope.name.endswith(".openai_agents") or span.name == "Agent workflow":
        return ""  # OpenAI Agents marks the whole workflow as an agent; the agents inside it have names
    for suffix in _AGENT_SUFFIXES:
        if span.name.endswith(suffix) and len(span.name) > len(suffix):
            return span.name.removesuffix(suffix)
    return span.name or "agent"
