"""Every chat payload a producer writes becomes the same sequence of parts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpa.ingest.dialects.call import Message
from gpa.ingest.dialects.chat import messages, role_of
from tests.ingest.dialects.messages import call, result

WEATHER = (
    Message("system", "Be brief."),
    Message("user", "Weather in Oslo?"),
    Message("assistant", "Let me look."),
    call("weather", {"city": "Oslo"}, "c1"),
    result("rain", "c1"),
    Message("assistant", "It rains."),
)
"""One conversation, which every chat dialect below tells in its own way."""

DIALECTS: dict[str, Any] = {
    "OpenAI chat": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Weather in Oslo?"},
        {
            "role": "assistant",
            "content": "Let me look.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "rain"},
        {"role": "assistant", "content": "It rains.", "refusal": None, "tool_calls": None},
    ],
    "OpenAI Responses": [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "input_text", "text": "Weather in Oslo?"}]},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Let me look.", "annotations": []}],
        },
        {"type": "function_call", "id": "fc1", "call_id": "c1", "name": "weather", "arguments": '{"city":"Oslo"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "rain"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It rains."}]},
    ],
    "Anthropic request": {
        "model": "m",
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": "Weather in Oslo?"},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Let me look."},
                    {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Oslo"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "rain"}]}
                ],
            },
            {"role": "assistant", "content": [{"type": "text", "text": "It rains."}]},
        ],
    },
    "Bedrock Converse": [
        {"role": "system", "content": [{"text": "Be brief."}]},
        {"role": "user", "content": [{"text": "Weather in Oslo?"}]},
        {
            "role": "assistant",
            "content": [
                {"text": "Let me look."},
                {"toolUse": {"toolUseId": "c1", "name": "weather", "input": {"city": "Oslo"}}},
            ],
        },
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": "c1", "status": "success", "content": [{"text": "rain"}]}}],
        },
        {"role": "assistant", "content": [{"text": "It rains."}, {"cachePoint": {"type": "default"}}]},
    ],
    "semconv parts": [
        {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]},
        {"role": "user", "parts": [{"type": "text", "content": "Weather in Oslo?"}]},
        {
            "role": "assistant",
            "parts": [
                {"type": "text", "content": "Let me look."},
                {"type": "tool_call", "id": "c1", "name": "weather", "arguments": {"city": "Oslo"}},
                None,
            ],
        },
        {"role": "user", "parts": [{"type": "tool_call_response", "id": "c1", "result": "rain"}]},
        {"role": "assistant", "parts": [{"type": "text", "content": "It rains."}], "finish_reason": "stop"},
    ],
    "AI SDK": {
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Weather in Oslo?"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Let me look."},
                    {"type": "tool-call", "toolCallId": "c1", "toolName": "weather", "input": {"city": "Oslo"}},
                ],
            },
            {
                "role": "tool",
                "content": [{"type": "tool-result", "toolCallId": "c1", "output": {"type": "text", "value": "rain"}}],
            },
            {"role": "assistant", "content": [{"type": "text", "text": "It rains."}]},
        ],
    },
    "LangChain constructors": [
        [
            {"lc": 1, "type": "constructor", "id": ["langchain", "SystemMessage"], "kwargs": {"content": "Be brief."}},
            {
                "lc": 1,
                "type": "constructor",
                "id": ["langchain", "HumanMessage"],
                "kwargs": {"content": "Weather in Oslo?"},
            },
            {
                "lc": 1,
                "type": "constructor",
                "id": ["langchain", "AIMessage"],
                "kwargs": {
                    "content": [
                        {"type": "text", "text": "Let me look."},
                        {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Oslo"}},
                    ],
                    "tool_calls": [{"name": "weather", "args": {"city": "Oslo"}, "id": "c1", "type": "tool_call"}],
                    "additional_kwargs": {
                        "tool_calls": [{"id": "c1", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}}],
                    },
                },
            },
            {
                "lc": 1,
                "type": "constructor",
                "id": ["langchain", "ToolMessage"],
                "kwargs": {"content": "rain", "tool_call_id": "c1"},
            },
            {"lc": 1, "type": "constructor", "id": ["langchain", "AIMessage"], "kwargs": {"content": "It rains."}},
        ]
    ],
    "LangChain dumps in a LangGraph state": {
        "messages": [
            ["system", "Be brief."],
            {"type": "human", "data": {"content": "Weather in Oslo?", "type": "human"}},
            {
                "type": "ai",
                "content": "Let me look.",
                "tool_calls": [{"name": "weather", "args": {"city": "Oslo"}, "id": "c1", "type": "tool_call"}],
            },
            {"type": "tool", "content": "rain", "tool_call_id": "c1", "status": "success"},
            {"type": "AIMessageChunk", "content": "It rains."},
        ]
    },
    "AutoGen": [
        {"type": "SystemMessage", "content": "Be brief."},
        {"type": "UserMessage", "source": "user", "content": "Weather in Oslo?"},
        {"type": "AssistantMessage", "source": "a", "content": "Let me look."},
        {
            "type": "AssistantMessage",
            "source": "a",
            "content": [{"id": "c1", "name": "weather", "arguments": '{"city":"Oslo"}'}],
        },
        {
            "type": "FunctionExecutionResultMessage",
            "content": [{"content": "rain", "call_id": "c1", "is_error": False}],
        },
        {"type": "AssistantMessage", "source": "a", "content": "It rains."},
    ],
}


@pytest.mark.parametrize("payload", DIALECTS.values(), ids=DIALECTS)
@pytest.mark.parametrize("written", [lambda value: value, json.dumps], ids=["structured", "JSON text"])
def test_every_chat_dialect_tells_the_same_conversation(payload: Any, written: Any) -> None:
    assert messages(written(payload)) == WEATHER


def test_gemini_contents_have_no_call_ids() -> None:
    request = {
        "contents": [
            {"role": "user", "parts": [{"text": "Weather?"}]},
            {
                "role": "model",
                "parts": [
                    {"text": "Hm.", "thought": True},
                    {"functionCall": {"name": "weather", "args": {"city": "Oslo"}}},
                ],
            },
            {
                "role": "user",
                "parts": [{"function_response": {"name": "weather", "response": {"result": "rain"}}, "text": None}],
            },
        ],
        "config": {
            "system_instruction": {"role": "user", "parts": [{"text": "Be brief."}]},
            "tools": [{"functionDeclarations": []}],
        },
    }
    assert messages(request) == (
        Message("system", "Be brief."),
        Message("user", "Weather?"),
        Message("reasoning", "Hm."),
        call("weather", {"city": "Oslo"}),
        result("rain", name="weather"),
    )


ANSWER = (Message("assistant", "Hello."),)
RESPONSES: dict[str, Any] = {
    "OpenAI chat completion": {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello."}}],
    },
    "OpenAI text completion": {"choices": [{"text": "Hello.", "finish_reason": "stop"}]},
    "OpenAI response": {
        "object": "response",
        "instructions": "echoed",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "Hello."}], "role": "assistant"}],
    },
    "Anthropic message": {
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "Hello."}],
    },
    "Gemini candidates": {
        "candidates": [{"content": {"parts": [{"text": "Hello."}], "role": "model"}, "finishReason": "STOP"}]
    },
    "Gemini candidates without a role": {"candidates": [{"content": {"parts": [{"text": "Hello."}]}}]},
    "Bedrock Converse": {
        "output": {"message": {"role": "assistant", "content": [{"text": "Hello."}]}},
        "stopReason": "end_turn",
    },
    "Ollama": {"model": "m", "message": {"role": "assistant", "content": "Hello."}, "done": True},
    "LangChain LLMResult": {
        "generations": [
            [{"text": "Hello.", "message": {"lc": 1, "id": ["AIMessage"], "kwargs": {"content": "Hello."}}}]
        ],
        "llm_output": {"token_usage": {}},
    },
    "one message": {"role": "assistant", "content": "Hello."},
    "plain text": "Hello.",
}


@pytest.mark.parametrize("response", RESPONSES.values(), ids=RESPONSES)
def test_every_response_shape_tells_the_answer(response: Any) -> None:
    assert messages(response, "assistant") == ANSWER


@pytest.mark.parametrize(
    "text",
    [
        '{"answer": 4}',
        "[1, 2]",
        '{"type": "file", "size": 3}',
        '{"role": "Researcher", "goal": "find"}',
        '{"cut": [1,',
        "[]ish",
    ],
)
def test_json_that_is_no_chat_stays_the_text_it_was(text: str) -> None:
    assert messages(text, "assistant") == (Message("assistant", text),)


def test_a_structure_that_is_no_chat_is_compact_json() -> None:
    assert messages({"answer": [1, 2]}, "assistant") == (Message("assistant", '{"answer":[1,2]}'),)


@pytest.mark.parametrize(
    ("value", "count"), [(None, 0), ("", 0), ({}, 0), ([], 0), ({"messages": []}, 0), (0, 0), (7, 1)]
)
def test_nothing_is_said_by_empty_values(value: Any, count: int) -> None:
    assert len(messages(value)) == count


@pytest.mark.parametrize(
    ("recorded", "role"),
    [
        ("human", "user"),
        ("AI", "assistant"),
        ("model", "assistant"),
        ("function", "tool"),
        ("developer", "system"),
        ("critic", "critic"),
    ],
)
def test_roles_are_normalised_and_unknown_ones_stay(recorded: str, role: str) -> None:
    assert role_of(recorded) == role
