"""What LangChain and LangGraph write into every convention: run metadata, dumped messages, wrapped arguments.

OpenInference, OpenLLMetry, LangSmith, MLflow and Langfuse all serialise the same objects, each with its own wrapping
(docs/conventions.md C3, C4, C11), so the unwrapping lives here once.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from gpa.ingest.dialects.attributes import word
from gpa.ingest.dialects.chat import result_text
from gpa.ingest.dialects.json_text import structure

_LONGEST_REPR = 20_000
_DEEPEST = 6
_KEYS = ("lc_agent_name", "langgraph_node", "thread_id", "ls_integration")
_TELLTALE = ("lc_agent_name", "langgraph_", "thread_id", "ls_integration")
_MCP_RESULT = {"content", "isError", "structuredContent", "meta", "_meta"}


class Origin(NamedTuple):
    """Where in a LangGraph run a span comes from; empty words when the metadata does not say."""

    agent: str = ""
    node: str = ""
    thread: str = ""
    integration: str = ""

    def is_agent(self, name: str) -> bool:
        """Whether the span of this name is the agent itself and not one of its nodes."""
        if name == "LangGraph" or (self.agent and name == self.agent):
            return True
        return self.integration == "langchain_create_agent" and not self.node


NOWHERE = Origin()


def origin(attributes: Mapping[str, Any], prefix: str) -> Origin:
    """The origin told by `prefix` as one attribute (JSON text or an object) or by dotted `prefix.*` attributes."""
    metadata = attributes.get(prefix)
    if isinstance(metadata, str):
        if not any(key in metadata for key in _TELLTALE):
            return NOWHERE
        metadata = structure(metadata)
    if isinstance(metadata, Mapping):
        return Origin(*(word(metadata, key) for key in _KEYS))
    keys = _dotted(prefix)
    if attributes.keys().isdisjoint(keys):
        return NOWHERE
    return Origin(*(word(attributes, key) for key in keys))


@lru_cache(maxsize=8)
def _dotted(prefix: str) -> tuple[str, ...]:
    return tuple(f"{prefix}.{key}" for key in _KEYS)


def literal(value: str) -> dict[str, Any] | None:
    """The dict that a Python repr such as `{'city': 'Paris'}` shows, or None."""
    if value[:1] != "{" or len(value) > _LONGEST_REPR:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "invalid escape sequence": the text is somebody's data
            found = ast.literal_eval(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    return found if isinstance(found, dict) and all(isinstance(key, str) for key in found) else None


def unwrapped_input(value: dict[str, Any]) -> Any:
    """The input inside a callback's record of it: `{"inputs": ..., "tags": ..., "kwargs": ...}` (OpenLLMetry)."""
    if "input_str" in value and ("metadata" in value or "inputs" in value or "tags" in value):
        inputs = value.get("inputs")
        return inputs if isinstance(inputs, dict) and inputs else value["input_str"]
    if "inputs" in value and value.keys() <= {"inputs", "tags", "metadata", "kwargs"}:
        return value["inputs"]
    return value


def unwrapped_output(value: Any) -> Any:
    """The output inside a callback's record of it: `{"outputs": ..., "kwargs": ...}` and a lone `{"output": ...}`."""
    for key in ("outputs", "output"):
        if isinstance(value, dict) and key in value and value.keys() <= {key, "kwargs", "tags", "metadata"}:
            value = structure(value[key])
    return value


def bare_message(value: Any) -> Any:
    """The fields of a message that lost its constructor's marks: `{"kwargs": {"content": ..., "type": "human"}}`."""
    if (
        isinstance(value, dict)
        and value.keys() == {"kwargs"}
        and isinstance(inner := value["kwargs"], dict)
        and "content" in inner
    ):
        return inner
    return value


class ToolMessage(NamedTuple):
    """A tool's result as LangChain dumps it."""

    text: str
    call_id: str = ""
    name: str = ""
    failed: bool = False


def tool_message(value: Any) -> ToolMessage | None:
    """The tool message a value is or wraps, or None.

    Forms: `{"type": "tool", "data": {...}}` (OpenInference), `{"lc": 1, "id": [..., "ToolMessage"], "kwargs": {...}}`,
    the bare fields (MLflow, LangSmith), a `Command` that updates the state with one, and MCP's
    `{"content": [...], "isError": ...}`.
    """
    for _ in range(_DEEPEST):
        value = unwrapped_output(value)
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
            continue
        if not isinstance(value, dict):
            return None
        if "tool_call_id" in value and "content" in value:
            return ToolMessage(
                text=result_text(value["content"]),
                call_id=word(value, "tool_call_id"),
                name=word(value, "name"),
                failed=value.get("status") == "error",
            )
        if isinstance(value.get("content"), list) and value.keys() <= _MCP_RESULT:
            return ToolMessage(text=result_text(value["content"]), failed=value.get("isError") is True)
        inner = value.get("data") if value.get("type") == "tool" else value.get("kwargs")
        if isinstance(inner, dict) and "content" in inner:
            value = {"tool_call_id": "", **inner} if _is_tool(value, inner) else None
        elif isinstance(update := value.get("update"), dict) and "graph" in value:
            messages = update.get("messages")
            value = messages[-1] if isinstance(messages, list) and messages else None
        else:
            return None
    return None


def _is_tool(value: dict[str, Any], inner: dict[str, Any]) -> bool:
    identity = value.get("id")
    named = isinstance(identity, list) and bool(identity) and identity[-1] in ("ToolMessage", "FunctionMessage")
    return named or value.get("type") == "tool" or inner.get("type") == "tool"
