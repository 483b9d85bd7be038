"""What smolagents' OpenInference spans hold beyond the convention (docs/conventions.md C4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpa.ingest.dialects.attributes import text, word
from gpa.ingest.dialects.call import Message, Tool
from gpa.ingest.dialects.flat import Columns, in_order, items
from gpa.ingest.dialects.json_text import structure


def is_wrapped_call(value: Mapping[str, Any]) -> bool:
    """Whether this is the record of a Python call: `{"args": [], "sanitize_inputs_outputs": true, "kwargs": {...}}`."""
    return isinstance(value.get("kwargs"), dict) and isinstance(value.get("args"), list) and len(value) <= 3


def call_arguments(value: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The arguments by parameter name; positional ones take the free names in order, else they stay a list `args`."""
    args: list[Any] = value["args"]
    kwargs: dict[str, Any] = value["kwargs"]
    if not args:
        return kwargs
    if len(args) == 1 and isinstance(args[0], dict) and args[0].keys() <= set(names):
        return {**args[0], **kwargs}  # smolagents itself spreads a lone dict over the parameters
    free = [name for name in names if name not in kwargs]
    if len(args) <= len(free):
        return {**dict(zip(free, args, strict=False)), **kwargs}
    return {"args": args, **kwargs}


def schema(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON schema of a tool's `inputs`, `{"query": {"type": "string"}}`; their type `any` is no JSON type."""
    properties = {
        name: {key: value for key, value in one.items() if (key, value) != ("type", "any")}
        for name, one in inputs.items()
    }
    required = [name for name, one in inputs.items() if not one.get("nullable")]
    return {"type": "object", "properties": properties, "required": required}


def is_memory_step(value: object) -> bool:
    """Whether this input is the repr of a step object that has not run yet, which tells nothing."""
    return isinstance(value, str) and value.startswith('{"memory_step": "')


def task(attributes: Mapping[str, Any], value: object) -> tuple[Message, ...]:
    """The task of an agent run, with the additional arguments it was given, or () when there is none."""
    found = structure(value)
    run = found if isinstance(found, dict) else {}
    said = word(run, "task") or word(attributes, "smolagents.task")
    if not said:
        return ()
    extra = run.get("additional_args")
    messages = (Message("user", said),)
    return (*messages, Message("user", f"additional_args: {text(extra)}")) if extra else messages


def offered(attributes: Mapping[str, Any], found: Columns) -> tuple[Tool, ...]:
    """The tools and managed agents of an agent, by name; their parameters are not recorded."""
    names = structure(attributes.get("smolagents.tools_names"))
    tools = [Tool(name) for name in names if isinstance(name, str)] if isinstance(names, list) else []
    tools += [
        Tool(name, text(fields.get("description")))
        for fields in in_order(items(found, "smolagents.managed_agents"))
        if (name := text(fields.get("name")))
    ]
    return tuple(tools)
