"""The model calls of OpenInference (docs/conventions.md C4): messages, prompts, tools, usage."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from gpa.ingest.dialects import chat
from gpa.ingest.dialects.attributes import count, text, word
from gpa.ingest.dialects.call import Call, Message, Tool, Usage
from gpa.ingest.dialects.failure import failure
from gpa.ingest.dialects.flat import Columns, columns, in_order, items, unflattened
from gpa.ingest.dialects.json_text import structure
from gpa.ingest.dialects.langchain import origin
from gpa.ingest.dialects.openinference_messages import REDACTED, messages
from gpa.ingest.dialects.payload import readable
from gpa.ingest.spans import Span

SENT, SAID = "llm.input_messages", "llm.output_messages"
_LISTS = (SENT, SAID, "llm.tools", "llm.prompts", "llm.choices", "retrieval.documents", "reranker.output_documents")
_LONGEST_SCHEMA = 65_536


def model_call(span: Span, attributes: Mapping[str, Any], operation: str) -> Call:
    """The model call a span of kind LLM records."""
    found = flat_lists(attributes)
    notes: list[str] = []
    sent = _sent(span, attributes, found, notes)
    said = _said(attributes, found, notes)
    run = origin(attributes, "metadata")
    hidden = _redacted(sent) and _redacted(said)
    answered_by = model(attributes)
    return Call(
        kind="llm",
        operation=operation,
        name=answered_by,
        agent=word(attributes, "agent.name") or run.agent,
        input=() if hidden else sent,
        output=() if hidden else said,
        tools=offered(found),
        model=answered_by,
        finish_reason=word(attributes, "llm.finish_reason"),
        conversation_id=word(attributes, "session.id") or run.thread,
        usage=usage(attributes),
        error=failure(span),
        delta=_continues(attributes.get("llm.invocation_parameters")),
        hidden=hidden,
        notes=tuple(notes),
    )


def flat_lists(attributes: Mapping[str, Any]) -> Columns:
    """The span's lists as columns, whether they were flattened or not."""
    found = columns(attributes)
    for key in _LISTS:
        if key in attributes:
            found |= unflattened(key, attributes[key])
    return found


def _sent(span: Span, attributes: Mapping[str, Any], found: Columns, notes: list[str]) -> tuple[Message, ...]:
    sent = messages(found, SENT)
    if not sent:
        return _prompts(attributes, found) or chat.messages(_asked(readable(attributes.get("input.value"), notes)))
    if losses := _losses(found, span.dropped):
        whole = structure(attributes.get("input.value"))
        whole = whole.get("messages") if isinstance(whole, dict) else whole
        # smolagents dumps the reprs of message objects, which are no messages.
        if isinstance(whole, list) and whole and not any(isinstance(entry, str) for entry in whole):
            recorded = chat.messages(whole)
            if len(recorded) >= len(sent):
                return recorded
        notes += losses
    return tuple(sent)


def _losses(found: Columns, dropped: int) -> list[str]:
    """What the attribute limit took of the input, empty when all of it is there (docs/conventions.md H7)."""
    roles = found.get(f"{SENT}.*.message.role", {})
    contents = found.get(f"{SENT}.*.message.content", {})
    if not dropped and len(roles) >= len(contents) and roles and max(roles) + 1 == len(roles):
        return []  # every message has its role and none is missing: the only case that has to be quick
    numbers = items(found, SENT)
    first, last = min(numbers), max(numbers)
    by = "dropped by the producer's attribute limit"
    losses = [f"the first {first} input messages were {by}"] if first else []
    if holes := last + 1 - first - len(numbers):
        losses.append(f"{holes} input messages inside the conversation were {by}")
    if nameless := sum("message.role" not in fields for fields in numbers.values()):
        losses.append(f"the role of {nameless} input messages was {by}")
    return losses


def _said(attributes: Mapping[str, Any], found: Columns, notes: list[str]) -> tuple[Message, ...]:
    if said := messages(found, SAID, "assistant"):
        return tuple(said)
    if choices := items(found, "llm.choices"):
        texts = [text(fields.get("completion.text")) for fields in in_order(choices)]
        return tuple(Message("assistant", choice) for choice in texts if choice)
    if function := structure(attributes.get("llm.function_call")):
        return chat.messages({"role": "assistant", "function_call": function}, "assistant")
    return chat.messages(readable(attributes.get("output.value"), notes), "assistant")


def _prompts(attributes: Mapping[str, Any], found: Columns) -> tuple[Message, ...]:
    """The prompts of a completions call: `llm.prompts.{i}.prompt.text`, before 2025 a list of strings."""
    listed = attributes.get("llm.prompts")
    if prompts := items(found, "llm.prompts"):
        listed = [text(fields.get("prompt.text")) for fields in in_order(prompts)]
    if not isinstance(listed, list):
        return ()
    return tuple(Message("user", prompt) for prompt in listed if isinstance(prompt, str) and prompt)


def _asked(value: Any) -> Any:
    """LlamaIndex records a completion as the Python call it is: `{"args": ["the prompt"]}`."""
    args = value.get("args") if isinstance(value, dict) and value.keys() <= {"args", "kwargs"} else None
    return args[0] if isinstance(args, list) and len(args) == 1 else value


def _redacted(sequence: tuple[Message, ...]) -> bool:
    return not sequence or (sequence[0].text == REDACTED and all(part.text == REDACTED for part in sequence))


def model(attributes: Mapping[str, Any]) -> str:
    """The model that answered, else the one that was asked."""
    return word(
        attributes,
        "llm.response.model_name",
        "llm.model_name",
        "llm.request.model_name",
        "embedding.model_name",
        "reranker.model_name",
    )


def usage(attributes: Mapping[str, Any]) -> Usage | None:
    """The token counts, which some backends turn into text or floats."""
    if "llm.token_count.prompt" not in attributes and "llm.token_count.completion" not in attributes:
        return None
    return Usage(
        input_tokens=count(attributes.get("llm.token_count.prompt")),
        output_tokens=count(attributes.get("llm.token_count.completion")),
        cached_tokens=count(attributes.get("llm.token_count.prompt_details.cache_read")),
        cache_write_tokens=count(attributes.get("llm.token_count.prompt_details.cache_write")),
        reasoning_tokens=count(attributes.get("llm.token_count.completion_details.reasoning")),
    )


def _continues(parameters: object) -> bool:
    """Whether the request names the response it continues, so that its input holds only what is new."""
    if isinstance(parameters, str):
        if "previous_response_id" not in parameters:
            return False
        parameters = structure(parameters)
    return isinstance(parameters, dict) and bool(parameters.get("previous_response_id"))


def offered(found: Columns) -> tuple[Tool, ...]:
    """The tools a call was offered; parsed once, since every call of an agent repeats them."""
    column = found.get("llm.tools.*.tool.json_schema")
    if not column:
        tools = items(found, "llm.tools")
        return chat.tools(in_order(tools)) if tools else ()
    schemas = [column[number] for number in sorted(column)]
    if all(isinstance(schema, str) and len(schema) < _LONGEST_SCHEMA for schema in schemas):
        return _parsed(tuple(schemas))
    return chat.tools(schemas)


@lru_cache(maxsize=256)
def _parsed(schemas: tuple[str, ...]) -> tuple[Tool, ...]:
    return chat.tools(list(schemas))
